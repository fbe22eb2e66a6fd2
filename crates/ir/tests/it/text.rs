//! Code as text: every kernel of the repository survives printing and parsing, damaged texts give errors with a place,
//! and every construct has its text.

use std::path::{Path, PathBuf};

use warpbound_base::{CodeAddr, Named};
use warpbound_ir::float::convert::{IntegerType, IntegralRounding};
use warpbound_ir::float::gcn::{GcnFloat, GcnFunction, GcnMode};
use warpbound_ir::float::single::Scale;
use warpbound_ir::float::special::SpecialFunction;
use warpbound_ir::float::{Comparison, FloatOp, Flush, Format, Rounding};
use warpbound_ir::{Cell, Code, ControlEffect, Expr, Meaning, OpScope, WordHalf, lift, text};
use warpbound_isa::{Arch, Program, Reg, RegisterKind, amd, mini, nvidia};
use warpbound_load::{Image, Isa, Kernel};

/// Files with an extension below `kernels`.
fn files(extension: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let (mut folders, mut found) = (vec![root], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn decode(isa: Isa, kernel: &Kernel) -> Program {
    match isa {
        Isa::Sm(sm) => {
            let arch = Arch::from_sm(sm.number.into()).expect("a supported architecture");
            let program = nvidia::SassProgram::decode(arch, kernel.code());
            Program::Nvidia(program.expect("it decodes"))
        }
        Isa::Gfx(_) => {
            let program = amd::GcnProgram::decode(kernel.code());
            Program::Amd(program.expect("it decodes"))
        }
        Isa::MiniSimt => {
            let program = mini::Program::decode(kernel.code(), kernel.first_line);
            Program::Mini(program.expect("it parses"))
        }
    }
}

/// Applies `work` to the code of each kernel and device function of the files with an extension.
fn for_each_code(extension: &str, mut work: impl FnMut(&str, &Code)) {
    for path in files(extension) {
        let contents = std::fs::read(&path).expect("a file");
        let image = Image::parse(&contents).expect("it loads");
        // Kernels of other GPUs are only listed.
        if !image.isa().is_supported() {
            continue;
        }
        let kernels = image.kernels().expect("they are supported");
        for kernel in kernels.iter().chain(image.device_functions()) {
            let name = format!("{} {}", path.display(), kernel.name);
            let code = lift(kernel, &decode(image.isa(), kernel)).expect("it lifts");
            work(&name, &code);
        }
    }
}

/// Returns the first operation, or part other than operations, in which two codes differ.
fn difference(a: &Code, b: &Code) -> String {
    let ops = a.ops.iter().zip(&b.ops).find(|(a, b)| a != b);
    match ops {
        Some((a, b)) => format!("{a:?}\n{b:?}"),
        None => format!(
            "{:?}\n{:?}",
            Code {
                ops: Vec::new(),
                ..a.clone()
            },
            Code {
                ops: Vec::new(),
                ..b.clone()
            }
        ),
    }
}

fn check_round_trip(name: &str, code: &Code) -> String {
    let printed = text::print(code);
    match text::parse(name, &printed) {
        Ok(parsed) => assert!(parsed == *code, "{name}: {}", difference(code, &parsed)),
        Err(diagnostic) => assert_eq!(diagnostic.to_string(), "no error"),
    }
    printed
}

/// Fails if a part is left out that the meaning does not imply.
#[test]
fn gpu_kernels_survive() {
    let (mut codes, mut ops) = (0, 0);
    for_each_code("cubin", |name, code| {
        check_round_trip(name, code);
        codes += 1;
        ops += code.ops.len();
    });
    assert!(
        codes > 800 && ops > 150_000,
        "{codes} codes, {ops} operations"
    );
}

#[test]
fn mini_simt_programs_survive() {
    let mut codes = 0;
    for_each_code("msimt", |name, code| {
        check_round_trip(name, code);
        codes += 1;
    });
    assert!(codes >= 21, "{codes} codes");
}

/// Constructs of the format, most of which no kernel of the repository has, as they are printed.
const CONSTRUCTS: &str = r#"entry 0x0010
group 32
function 0x0008 "first"
function 0x0010 "a \"quoted\" name \\ and \u{7}"
bank 2 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
bank 2 "20ff"
bank 3 ""
external_word c[4][0x18] "vprintf"
address_word low "table" + 0x20
address_word high "table" - 0x8000000000000000
agreed R0, P6, CC
0x0008:  if never  nop
0x0010:  if !P0 & cc(2)  R4 = add(R2, 0xffffffff), CC = select(P1, special.thread_x, tid)
0x0018:  if never & cc(31)  trap
0x0020:  if cc(0)  R1 = c[32][R255]  value(load.constant)
0x0028:  ?
0x0030:  ?lane(R3, R3)
0x0038:  R9, R8 = ?load.attribute()  barrier(yes)
0x0040:  P0 = ?special.255(R1)
0x0048:  P1 = ?uniform(P0)
0x0050:  load generic[R0]
0x0058:  R0, _ = load.s16 local[R1:add(R0, 0x100)]  reads(R1)  writes(R0, R1)
0x0060:  store.u8 shared[0] = R1, R2
0x0068:  _, P3 = shuffle.butterfly(R1, 16, 31)
0x0070:  R1, _ = vote.same(eq(P0, 0))
0x0078:  _, R2 = atomic.compare_swap.u64 global[R1:R0] = R3, R4, R5, R6
0x0080:  atomic.add.f16x2_ftz shared[R0] = R3  value(lane)
0x0088:  0:R3 = texture_size handle(R0) level(0)
0x0090:  0:R4, 3:R6 = texture.gather2.2d_layered handle(1) at(R1, R2) layer(R3) level(0) offsets(R4, R5)
0x0098:  surface.reduce.max.s64.1d.words.clamp handle(R0) at(R1) operands(R2, R3)
0x00a0:  R2, _ = surface.load.3d.words.trap handle(R0) at(R1, R2, R3)
0x00a8:  surface.store.1d_layered.u16.zero handle(R0) at(R1) layer(2) values(R4)
0x00b0:  barrier.arrive number(R0) threads(64)  barrier(no)
0x00b8:  barrier.reduce.count number(0) threads(0) predicate(P0)
0x00c0:  R0, P0 = barrier_result
0x00c8:  R0 = f64.fma.zero.high(R0, R1, R2, R3, R4, R5), R1 = lut.128(R0, R1, R2)
0x00d0:  R0 = convert.s64.f32.up.abs.neg(R0, R1)
0x00d8:  push longjmp 0x0008
0x00e0:  call external "vprintf"
0x00e8:  if R3  branch invalid "outside" reconvergence end
0x00f0:  nop  reconverge
0x00f8:  indirect absolute _ - 0x10
0x0100:  reads()  indirect relative R1 + 0x0
0x0108:  ?  exit
0x0110:  unsupported "RTT"
0x0118:  warp  S3 = add(S2, 0x104), M1 = 255
0x0120:  if !S103  warp  M7, S0 = ?load.constant(S4, M0)
0x0128:  if M1  warp  set_active M0
0x0130:  warp  ?uniform()  set_active M6
0x0138:  if S3  R0 = add(R1, S2), S2 = lut.150(M1, R0, S0)
0x0140:  warp  ?
0x0148:  warp  barrier.wait number(S3) threads(0)
0x0150:  set_active M1
0x0158:  if M1  branch 0x0160 reconvergence 0x0160
0x0160:  reconverge
0x0162:  R4, R5 = load shared[R2 second_half(0xfffffff8)]
0x0164:  R1 = atomic.reverse_sub.u32 generic[0 buffer(S4, S5, S6, S7) index(R3) offset(0)] = R2
0x0166:  atomic.masked_or.u64 shared[R2] = R3, R4, R5, R6
0x0168:  end
0x0170:  meet lanes(R1)  collective 0x0178
0x0178:  meet all  release
0x0180:  part
0x0188:  if group  ask lanes(not(R2))  jump 0x0170
"#;

#[test]
fn constructs_are_printed_as_they_are_parsed() {
    let text = CONSTRUCTS;
    let code = text::parse("constructs", text).expect("they parse");
    assert_eq!(text::print(&code), text);
    assert_eq!(code.constants[0].1.len(), 34);
    assert_eq!(code.functions[1].name, "a \"quoted\" name \\ and \u{7}");
    assert_eq!(code.address_words[1].addend, i64::MIN);
    assert!(code.ops[0].condition.is_never() && code.ops[0].meaning.is_some());
    assert_eq!(code.ops[4].meaning, None);
    let at = |addr| &code.ops[code.at(CodeAddr(addr)).expect("an operation").index()];
    let masks = [0, 1].map(|number| {
        Cell::of(Reg {
            kind: RegisterKind::Mask,
            number,
        })
    });
    assert_eq!(at(0x118).scope, OpScope::Warp);
    assert!(at(0x118).writes.contains(&masks[1]));
    assert_eq!(at(0x128).control, ControlEffect::SetActive(masks[0]));
    assert_eq!(at(0x128).condition.guard, Some(masks[1]));
    assert_eq!(at(0x150).scope, OpScope::Lane);
    assert_eq!(code.entry.0, 1);
}

#[test]
fn the_example_of_the_documentation_parses() {
    let source = include_str!("../../src/text.rs");
    let example = source.split("```").nth(1).expect("an example");
    let lines: Vec<&str> = example.split("\n//!").skip(1).collect();
    let code = text::parse("text.rs", &lines.join("\n")).expect("it parses");
    assert_eq!(code.ops.len(), 8);
    check_round_trip("text.rs", &code);
}

#[test]
fn spelling_is_free_where_it_has_no_meaning() {
    let text =
        "\n ; a comment\n0x1: if P0 R1=ADDED;\n16:exit ; \"".replace("ADDED", "add ( 0x2,R3 )");
    let code = text::parse("free", &text).expect("it parses");
    assert_eq!(
        text::print(&code),
        "0x0001:  if P0  R1 = add(2, R3)\n0x0010:  exit\n"
    );
}

/// Every floating-point operation with every choice of modifiers, in a program of one operation.
#[test]
fn floating_point_operations_have_names() {
    let mut checked = 0;
    for op in float_ops() {
        for half in [WordHalf::Low, WordHalf::High] {
            let operands = vec![Expr::Const(1); op.words()];
            let value = Expr::Float(op, operands.into(), half);
            let text = format!("0x0000:  R0 = {value}\n");
            let code = text::parse("operation", &text).expect("it parses");
            let meaning = code.ops[0].meaning.clone();
            assert_eq!(meaning, Some(Meaning::set(Cell::gpr(0), value)));
            checked += 1;
        }
    }
    assert!(checked > 2000, "{checked} operations");
}

fn float_ops() -> Vec<FloatOp> {
    let mut ops = vec![
        FloatOp::SaturateSingle,
        FloatOp::MinDouble,
        FloatOp::MaxDouble,
        FloatOp::SaturateHalf,
        FloatOp::AddBfloat,
        FloatOp::MulBfloat,
        FloatOp::FmaBfloat,
        FloatOp::ReduceAngle,
        FloatOp::ReduceTurns,
        FloatOp::ReduceExponent,
        FloatOp::NeedsSlowPath,
    ];
    ops.extend(SpecialFunction::ALL.map(FloatOp::Special));
    ops.extend(Comparison::ALL.map(FloatOp::CompareDouble));
    for flush in [Flush::Keep, Flush::Ftz, Flush::Fmz] {
        ops.extend(Comparison::ALL.map(|c| FloatOp::CompareSingle(c, flush)));
        ops.extend(Comparison::ALL.map(|c| FloatOp::CompareHalf(c, flush)));
        ops.extend([
            FloatOp::MinSingle(flush),
            FloatOp::MaxSingle(flush),
            FloatOp::AddHalf(flush),
            FloatOp::MulHalf(flush),
            FloatOp::FmaHalf(flush),
            FloatOp::AddSinglesToHalf(flush),
            FloatOp::MulSinglesToHalf(flush),
            FloatOp::FmaSinglesToHalf(flush),
            FloatOp::WidenHalf(flush),
        ]);
        for rounding in Rounding::ALL {
            ops.extend(Scale::ALL.map(|scale| FloatOp::MulSingle(scale, rounding, flush)));
            ops.push(FloatOp::AddSingle(rounding, flush));
            ops.push(FloatOp::FmaSingle(rounding, flush));
        }
    }
    for rounding in Rounding::ALL {
        ops.extend([
            FloatOp::AddDouble(rounding),
            FloatOp::MulDouble(rounding),
            FloatOp::FmaDouble(rounding),
            FloatOp::SingleToBfloat(rounding),
        ]);
    }
    ops.extend(conversions());
    ops.extend(gcn_ops());
    ops
}

/// Functions of GCN3's vector ALU.
fn gcn_ops() -> Vec<FloatOp> {
    let formats = [Format::Half, Format::Single, Format::Double];
    let plain = GcnFunction::ALL.iter().map(|(function, _)| *function);
    let mut functions: Vec<GcnFunction> = plain.collect();
    functions.extend(Comparison::ALL.map(GcnFunction::Compare));
    functions.extend(formats.map(GcnFunction::Convert));
    let mut ops = Vec::new();
    for function in functions {
        for format in formats {
            for rounding in Rounding::ALL {
                ops.extend([0, 1, 2, 3].map(|flushes| {
                    FloatOp::Gcn(GcnFloat {
                        function,
                        format,
                        mode: GcnMode {
                            rounding,
                            flush_operands: flushes & 1 != 0,
                            flush_results: flushes & 2 != 0,
                        },
                    })
                }));
            }
        }
    }
    ops
}

fn conversions() -> Vec<FloatOp> {
    let formats = [Format::Half, Format::Single, Format::Double];
    let mut ops = Vec::new();
    for (flush, flag) in [Flush::Keep, Flush::Ftz, Flush::Fmz]
        .into_iter()
        .flat_map(|flush| [(flush, false), (flush, true)])
    {
        for from in formats {
            for to in formats {
                ops.extend(Rounding::ALL.map(|rounding| FloatOp::ToFormat {
                    from,
                    to,
                    rounding,
                    flush,
                    saturate: flag,
                }));
            }
            for integral in IntegralRounding::ALL {
                ops.push(FloatOp::ToIntegral {
                    format: from,
                    integral,
                    flush,
                    saturate: flag,
                });
                ops.extend(IntegerType::ALL.map(|to| FloatOp::ToInteger {
                    from,
                    to,
                    integral,
                    flush,
                }));
            }
        }
    }
    for (to, rounding) in formats
        .into_iter()
        .flat_map(|to| Rounding::ALL.map(|rounding| (to, rounding)))
    {
        for (absolute, negate) in [(false, false), (false, true), (true, false), (true, true)] {
            ops.extend(IntegerType::ALL.map(|from| FloatOp::FromInteger {
                from,
                to,
                rounding,
                absolute,
                negate,
            }));
        }
    }
    ops
}

/// Texts with one mistake, and the diagnostic.
const MISTAKES: [(&str, &str); 22] = [
    (
        "0x0: R1 = add(R2)",
        "x.ir: line 1, column 17: `add` is no operation of 1 operands; operations are those that `warpbound disasm --ir` prints",
    ),
    (
        "0x0: jump 0x8",
        "x.ir: line 1, column 11: no line has the address 0x0008; name an operation of this text, or write invalid \"TEXT\"",
    ),
    (
        "0x8: exit\n0x8: exit",
        "x.ir: line 2, column 1: the address is not above that of the operation before; order the lines by address",
    ),
    (
        "0x0: exit exit",
        "x.ir: line 1, column 11: the line goes on after its end; remove the rest, or make it a comment with `;`",
    ),
    (
        "0x0: R256 = 1",
        "x.ir: line 1, column 6: `R256` is no cell, operation or control effect; operations are those that `warpbound disasm --ir` prints",
    ),
    (
        "0x0: R1 = 0x100000000",
        "x.ir: line 1, column 11: 4294967296 is too large for a word; write a number, decimal or hexadecimal (0x…)",
    ),
    (
        "exit",
        "x.ir: line 1, column 1: `exit` begins no line; lines begin with an address, family, entry, group, function, bank, external_word, address_word or agreed",
    ),
    (
        "0x0: exit %",
        "x.ir: line 1, column 11: a sign that the format does not have; comments begin with `;`",
    ),
    (
        "function 0x0 \"a",
        "x.ir: line 1, column 14: a text without a closing quotation mark; comments begin with `;`",
    ),
    (
        "0x0: R1, R2 = 3",
        "x.ir: line 1, column 15: an assignment has one destination; assign to one cell: CELL = EXPRESSION, CELL = EXPRESSION",
    ),
    (
        "0x0: if cc(32) exit",
        "x.ir: line 1, column 12: no such test of the condition code; tests are 0 to 31",
    ),
    (
        "0x0: R0 = f64.add.ftz(R0, R1, R2, R3)",
        "x.ir: line 1, column 37: `f64.add.ftz` is no operation of 4 operands; operations are those that `warpbound disasm --ir` prints",
    ),
    (
        "0x0: warp S3 = add(S3, R1)",
        "x.ir: line 1, column 6: an operation of the warp names R1, which each lane has; read it with `from_lane`, or remove `warp`",
    ),
    (
        "0x0: if P0 warp S3 = 1",
        "x.ir: line 1, column 12: an operation of the warp names P0, which each lane has; read it with `from_lane`, or remove `warp`",
    ),
    (
        "0x0: if S3 & cc(2) warp S3 = 1",
        "x.ir: line 1, column 20: an operation of the warp names CC, which each lane has; read it with `from_lane`, or remove `warp`",
    ),
    (
        "0x0: warp indirect relative R0 + 0x0",
        "x.ir: line 1, column 6: an operation of the warp names R0, which each lane has; read it with `from_lane`, or remove `warp`",
    ),
    (
        "0x0: S3 = 1 warp",
        "x.ir: line 1, column 13: `warp` is no control effect; control effects are jump, branch, reconverge, set_active, indirect, call, push, pop, linked_call, linked_indirect, return, open_barrier, join_barrier, break_barrier, save_barrier, write_barrier, release, collective, free_jump, exit, end and unsupported",
    ),
    (
        "0x0: set_active S3",
        "x.ir: line 1, column 17: S3 is no mask register; mask registers are M0 to M7",
    ),
    (
        "0x0: set_active",
        "x.ir: line 1, column 16: the end of the line in place of a cell; cells are R0 to R255, P0 to P7, CC, M0 to M7 and S0 to S129",
    ),
    (
        "0x0: if S130 exit",
        "x.ir: line 1, column 9: `S130` in place of a cell; cells are R0 to R255, P0 to P7, CC, M0 to M7 and S0 to S129",
    ),
    (
        "0x0: branch 0x0",
        "x.ir: line 1, column 16: no reconvergence point; write reconvergence ADDRESS or reconvergence end",
    ),
    (
        "0x0: R0 = special.thread",
        "x.ir: line 1, column 11: `special.thread` is no expression; expressions are numbers, cells, tid, special.NAME, c[BANK][ADDRESS] and NAME(EXPRESSION, …)",
    ),
];

#[test]
fn mistakes_have_a_place_and_a_remedy() {
    let deep = format!("0x0: R0 = {}1", "neg(".repeat(70));
    let too_deep = "x.ir: line 1, column 267: the expression has more than 64 levels; compute a part of it in another operation";
    for (text, message) in MISTAKES.into_iter().chain([(deep.as_str(), too_deep)]) {
        let diagnostic = text::parse("x.ir", text).expect_err(text);
        assert_eq!(diagnostic.to_string(), message);
    }
}

/// Truncated and mutated texts parse or give a diagnostic, and a text that parses survives printing.
#[test]
fn damaged_texts() {
    let text = CONSTRUCTS;
    let bytes = text.as_bytes();
    let (mut accepted, mut refused) = (0, 0);
    let mut check = |damaged: &[u8]| {
        let damaged = String::from_utf8_lossy(damaged);
        match text::parse("damaged", &damaged) {
            Ok(code) => {
                accepted += 1;
                check_round_trip("damaged", &code);
            }
            Err(diagnostic) => {
                refused += 1;
                let position = diagnostic.location.position.expect("a place");
                assert!(position.starts_with("line "), "{position}");
                assert!(diagnostic.hint.is_some(), "{}", diagnostic.message);
            }
        }
    };
    for end in 0..bytes.len() {
        check(&bytes[..end]);
    }
    let mut state = 1u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let signs = b"R0_x9 ()[],:=!?&+-;\"\\.\n\xff";
    for _ in 0..20_000 {
        let mut damaged = bytes.to_vec();
        for _ in 0..=random(3) {
            let (at, from) = (random(damaged.len()), random(bytes.len()));
            match random(4) {
                0 => damaged[at] = signs[random(signs.len())],
                1 => drop(damaged.remove(at)),
                2 => damaged.insert(at, signs[random(signs.len())]),
                _ => {
                    let piece = &bytes[from..(from + random(30)).min(bytes.len())];
                    damaged.splice(at..at, piece.iter().copied());
                }
            }
        }
        check(&damaged);
    }
    assert!(accepted > 500 && refused > 5000, "{accepted} {refused}");
}
