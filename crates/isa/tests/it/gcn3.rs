//! GCN3: comparison with recorded output of LLVM's disassembler (`cargo xtask disasm-compare --gfx803 --record`), and
//! effects against lists of their own.

use warpbound_base::CodeAddr;
use warpbound_isa::amd::{GcnFlow, GcnInstr, GcnOpcode, GcnProgram, form_patterns, scalar};
use warpbound_isa::{Reg, RegisterKind, TargetStyle};

static RECORDED: &str = include_str!("../data/gcn3.txt");

struct Answer {
    word: u64,
    bytes: u8,
    text: Option<&'static str>,
}

/// Recorded answers: those of words of our kernels, and of random words.
fn answers() -> [Vec<Answer>; 2] {
    let (own, random) = RECORDED.split_once("\n\n").expect("two parts");
    [own, random].map(|part| {
        let lines = part.lines().filter(|line| !line.starts_with('#'));
        let answer = |line: &'static str| {
            let columns: Vec<&str> = line.splitn(3, ' ').collect();
            let [word, bytes, text] = columns.try_into().expect("three columns");
            Answer {
                word: u64::from_str_radix(word, 16).expect("a word"),
                bytes: bytes.parse().expect("a number"),
                text: Some(text).filter(|text| *text != "!"),
            }
        };
        lines.map(answer).collect()
    })
}

fn decode(word: u64) -> GcnInstr {
    GcnInstr::decode(CodeAddr(0), word as u32, Some((word >> 32) as u32))
}

#[test]
fn text_is_that_of_the_disassembler() {
    let all = answers();
    let mut instructions = 0;
    for Answer { word, bytes, text } in all.iter().flatten() {
        let instr = decode(*word);
        assert_eq!(
            instr.text(TargetStyle::Hex).as_deref(),
            *text,
            "{word:016x}"
        );
        assert_eq!(instr.bytes, *bytes, "{word:016x}");
        instructions += usize::from(text.is_some());
    }
    // Each form is among them.
    assert!(instructions > form_patterns().count(), "{instructions}");
}

#[test]
fn words_of_kernels_are_encoded_as_compilers_encode_them() {
    let [own, _] = answers();
    assert!(own.len() > 200, "{}", own.len());
    // At an address where backward branches stay in the code.
    let addr = CodeAddr(0x10_0000);
    for Answer { word, bytes, .. } in own {
        let second = (bytes == 8).then_some((word >> 32) as u32);
        let instr = GcnInstr::decode(addr, word as u32, second);
        let view = instr.view().expect("an instruction");
        assert_eq!(view.encode(addr), Some((word, bytes)), "{word:016x}");
    }
}

#[test]
fn words_are_encoded_to_the_same_instruction() {
    let addr = CodeAddr(0x10_0000);
    for Answer { word, .. } in answers().iter().flatten() {
        let read = |word: u64| GcnInstr::decode(addr, word as u32, Some((word >> 32) as u32));
        let Some(view) = read(*word).view() else {
            continue;
        };
        let (again, bytes) = view.encode(addr).expect("it was read from a word");
        let instr = read(again);
        assert_eq!(instr.view(), Some(view), "{word:016x}");
        assert_eq!(instr.bytes, bytes);
    }
}

/// v_add_f32_e64 v0, v1, v2; v_mov_b32_e32 v3, 0x7e000280, whose literal is an instruction; s_endpgm.
const MIXED: [u32; 5] = [
    0xd101_0000,
    0x0002_0501,
    0x7e06_02ff,
    0x7e00_0280,
    0xbf81_0000,
];

fn addresses(program: &GcnProgram) -> Vec<u32> {
    program.instrs.iter().map(|instr| instr.addr.0).collect()
}

#[test]
fn an_instruction_of_8_bytes_is_passed_as_a_whole() {
    let code: Vec<u8> = MIXED.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = GcnProgram::decode(&code).expect("whole dwords");
    assert_eq!(addresses(&program), [0, 8, 16]);
    let texts: Vec<_> = program
        .instrs
        .iter()
        .map(|i| i.text(TargetStyle::Hex))
        .collect();
    let expected = [
        "v_add_f32_e64 v0, v1, v2",
        "v_mov_b32_e32 v3, 0x7e000280",
        "s_endpgm",
    ];
    assert_eq!(texts, expected.map(|text| Some(text.to_owned())));
    // The fault that this catches: dwords one by one.
    let pairs = MIXED
        .iter()
        .zip(MIXED.iter().skip(1).map(Some).chain([None]));
    let stepped = pairs.map(|(first, second)| {
        let instr = GcnInstr::decode(CodeAddr(0), *first, second.copied());
        instr.text(TargetStyle::Hex)
    });
    assert_ne!(stepped.collect::<Vec<_>>(), texts);
}

#[test]
fn code_may_end_inside_an_instruction() {
    let code: Vec<u8> = MIXED.iter().flat_map(|word| word.to_le_bytes()).collect();
    for length in 0..=code.len() {
        match GcnProgram::decode(&code[..length]) {
            Ok(program) => {
                assert!(length.is_multiple_of(4));
                let bytes: usize = program.instrs.iter().map(|i| usize::from(i.bytes)).sum();
                assert_eq!(bytes, length);
            }
            Err(_) => assert!(!length.is_multiple_of(4)),
        }
    }
    // A word of 8 bytes without its second half is no instruction.
    assert_eq!(GcnInstr::decode(CodeAddr(0), MIXED[0], None).form, None);
    assert_eq!(GcnInstr::decode(CodeAddr(0), MIXED[2], None).form, None);
}

fn scalar_register(number: u8) -> Reg {
    Reg {
        kind: RegisterKind::Scalar,
        number,
    }
}

/// Scalar operations that leave SCC alone (AMD, "Graphics Core Next Architecture, Generation 3", tables of SOP1, SOP2
/// and SOPK): moves, selections, products, masks, reversals, searches, extensions, single bits, transfers of control
/// and state.
fn leaves_scc(name: &str) -> bool {
    const PREFIXES: [&str; 20] = [
        "s_mov",
        "s_cmov",
        "s_cselect",
        "s_mul_i32",
        "s_mulk_i32",
        "s_bfm",
        "s_brev",
        "s_ff0",
        "s_ff1",
        "s_flbit",
        "s_sext",
        "s_bitset",
        "s_getpc",
        "s_setpc",
        "s_swappc",
        "s_rfe",
        "s_cbranch",
        "s_getreg",
        "s_setreg",
        "s_set_gpr",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[test]
fn scalar_operations_write_scc_but_for_those_that_leave_it() {
    use warpbound_isa::amd::GcnUnit;
    let scc = scalar_register(scalar::SCC);
    let mut writers = 0;
    for (value, _) in form_patterns() {
        let instr = decode(value);
        let (Some(opcode), Some(GcnUnit::Scalar)) = (instr.opcode(), instr.unit()) else {
            continue;
        };
        // The product with a constant: sources differ, and whoever reads SCC after it must not rely on its value.
        let is_disputed = opcode == GcnOpcode::SMulkI32;
        let writes = instr.effects().writes.contains(&scc);
        assert_eq!(
            writes,
            is_disputed || !leaves_scc(opcode.name()),
            "{opcode}"
        );
        writers += usize::from(writes);
    }
    assert_eq!(writers, 89);
}

#[test]
fn effects_of_forms_that_are_easily_forgotten() {
    let vector = Reg::vector;
    let reads = |word: u64, registers: &[Reg]| {
        let effects = decode(word).effects();
        registers
            .iter()
            .all(|register| effects.reads.contains(register))
    };
    let writes = |word: u64, registers: &[Reg]| {
        let effects = decode(word).effects();
        registers
            .iter()
            .all(|register| effects.writes.contains(register))
    };
    let pair = |first: u8| [scalar_register(first), scalar_register(first + 1)];
    // v_cmpx_eq_u32_e32 vcc, v1, v2; v_cmp_eq_u32_e64 s[4:5], v1, v2.
    assert!(writes(0x7db4_0501, &pair(scalar::VCC)) && writes(0x7db4_0501, &pair(scalar::EXEC)));
    assert!(writes(0x0002_0501_d0ca_0004, &pair(4)));
    // v_add_u32_e32 writes VCC, v_addc_u32_e32 reads it too.
    assert!(writes(0x3200_0501, &pair(scalar::VCC)));
    assert!(reads(0x3800_0501, &pair(scalar::VCC)));
    // s_and_saveexec_b64 s[4:5], vcc.
    let saves = 0xbe84_206a;
    assert!(writes(saves, &pair(4)) && writes(saves, &pair(scalar::EXEC)));
    assert!(reads(saves, &pair(scalar::EXEC)) && reads(saves, &pair(scalar::VCC)));
    // v_mac_f32, SDWA that keeps a part, DPP: the destination is read.
    assert!(reads(0x2c00_0501, &[vector(0)]));
    assert!(reads(0x0606_1401_0200_04f9, &[vector(0)]));
    assert!(reads(0xff00_e401_0200_04fa, &[vector(0)]));
    // ds_read_b32 reads M0; buffer_load_dword with tfe writes a dword more.
    assert!(reads(0x0500_0001_d86c_0000, &[scalar_register(scalar::M0)]));
    assert!(writes(0x0081_0500_e050_0000, &[vector(5), vector(6)]));
    // v_readlane_b32, v_readfirstlane_b32 and v_writelane_b32 are executed for the wave.
    for word in [0x0000_0501_d289_0004, 0x7e08_0501, 0x0000_0201_d28a_0004] {
        assert!(decode(word).effects().is_warp_scope, "{word:x}");
    }
    assert!(!decode(0x2c00_0501).effects().is_warp_scope);
    // Data of atomic operations are written with glc only.
    let atomic = |glc: u64| decode(0x0500_0301_dd08_0000 | glc << 16).effects();
    assert!(!atomic(0).writes.contains(&vector(5)) && atomic(1).writes.contains(&vector(5)));
}

#[test]
fn control_flow() {
    let flow = |word: u64| decode(word).effects().flow;
    let target = |addr: u32| warpbound_isa::BranchTarget::Code(CodeAddr(addr));
    assert_eq!(flow(0xbf82_0003), GcnFlow::Jump(target(16)));
    assert!(matches!(flow(0xbf88_0001), GcnFlow::Branch(_, to) if to == target(8)));
    assert_eq!(flow(0xbe9e_1e1c), GcnFlow::Call { link: 30, to: 28 });
    assert_eq!(flow(0xbe80_1d1e), GcnFlow::Indirect { from: 30 });
    assert_eq!(flow(0xbf81_0000), GcnFlow::Exit);
    assert!(decode(0xbf8a_0000).effects().barrier);
    // Traps, GDS, groups that are not aligned, numbers of later generations, dwords that are no instruction.
    for word in [
        0xbf92_0002,
        0x0000_0001_d86d_0000,
        0xbe84_207d,
        0xbe80_00eb,
        0xffff_ffff,
    ] {
        assert_eq!(flow(word), GcnFlow::Unsupported, "{word:x}");
    }
}
