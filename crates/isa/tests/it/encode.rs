//! Words are encoded as they are decoded: fields, typed operands, targets.

use warpbound_base::{CodeAddr, Family};
use warpbound_isa::nvidia::{
    EncodeError, FieldRole, InstrFields, Modifier, NewOperand, Opcode, OperandMismatch,
    SassProgram, WordBuilder, encode, with_register_target_offset, with_target,
};
use warpbound_isa::{Arch, Axis, SpecialReg, TargetStyle};

use super::recorded;

/// Text of a word in the first slot of a group.
fn text(arch: Arch, word: u64) -> String {
    let code = [[0; 8], word.to_le_bytes(), [0; 8], [0; 8]].concat();
    let program = SassProgram::decode(arch, &code).expect("a group");
    let instr = program.instrs.first().expect("three slots");
    program
        .text(instr, TargetStyle::Hex)
        .unwrap_or_else(|| "!".to_owned())
}

fn reg(number: u8) -> NewOperand {
    NewOperand::reg(number)
}

fn pred(number: u8) -> NewOperand {
    NewOperand::pred(Some(number))
}

const PT: NewOperand = NewOperand::pred(None);

fn int(number: i64) -> NewOperand {
    NewOperand::int(number)
}

/// Builds a word for sm_61 and compares its text.
fn builds(expected: &str, opcode: Opcode, modifiers: &[Modifier], operands: &[NewOperand]) {
    let builder = WordBuilder::new(Arch::Sm61, opcode)
        .modifiers(modifiers)
        .operands(operands)
        .at(CodeAddr(8));
    let word = builder.build().map(|word| text(Arch::Sm61, word as u64));
    assert_eq!(word.as_deref(), Ok(expected));
}

#[test]
fn special_registers_and_moves() {
    use Opcode::{Cs2r, Ldc, Mov, Mov32i, S2r, Sel};
    for (register, name) in [
        (SpecialReg::LaneId, "SR_LANEID"),
        (SpecialReg::ThreadIndex(Axis::Y), "SR_TID.Y"),
        (SpecialReg::BlockIndex(Axis::X), "SR_CTAID.X"),
        (SpecialReg::VirtualId, "SR_VIRTID"),
        (SpecialReg::LanesBelow, "SR_LTMASK"),
    ] {
        let operands = [reg(3), NewOperand::special(register)];
        builds(&format!("S2R R3, {name}"), S2r, &[], &operands);
    }
    let clock = NewOperand::special(SpecialReg::ClockLow);
    builds("CS2R R7, SR_CLOCKLO", Cs2r, &[], &[reg(7), clock]);
    builds("MOV R1, R2", Mov, &[], &[reg(1), reg(2)]);
    builds("MOV R1, RZ", Mov, &[], &[reg(1), NewOperand::zero()]);
    let constant = NewOperand::constant(0, 0x20);
    builds("MOV R1, c[0x0][0x20]", Mov, &[], &[reg(1), constant]);
    builds("MOV R1, -0x5", Mov, &[], &[reg(1), int(-5)]);
    builds(
        "MOV32I R1, 0xdeadbeef",
        Mov32i,
        &[],
        &[reg(1), int(0xdead_beef)],
    );
    builds(
        "SEL R1, R2, R3, !P4",
        Sel,
        &[],
        &[reg(1), reg(2), reg(3), NewOperand::not_pred(Some(4))],
    );
    let at = NewOperand::constant_at(3, 2, 0x10);
    builds("LDC R0, c[0x3][R2+0x10]", Ldc, &[], &[reg(0), at]);
    let at = NewOperand::constant_at(4, 255, 8);
    builds(
        "LDC.64 R2, c[0x4][0x8]",
        Ldc,
        &[Modifier::B64],
        &[reg(2), at],
    );
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table: one row per instruction")]
fn arithmetic() {
    use Modifier::{Hi, Mrg, Psl, U32, X};
    use Opcode::{Flo, Iadd, Iadd32i, Imnmx, Iscadd, Lea, Lop, Lop32i, Popc, Shl, Xmad};
    let cc = reg(4).setting_cc();
    builds(
        "IADD R1, R2, -R3",
        Iadd,
        &[],
        &[reg(1), reg(2), reg(3).negated()],
    );
    builds("IADD R4.CC, R4, 0x1", Iadd, &[], &[cc, reg(4), int(1)]);
    builds(
        "IADD.X R5, R5, RZ",
        Iadd,
        &[X],
        &[reg(5), reg(5), NewOperand::zero()],
    );
    builds(
        "IADD32I R4.CC, R4, 0x12345",
        Iadd32i,
        &[],
        &[cc, reg(4), int(0x12345)],
    );
    builds(
        "IADD32I.X R5, R5, -0x1",
        Iadd32i,
        &[X],
        &[reg(5), reg(5), int(-1)],
    );
    builds(
        "IMNMX.U32 R1, R2, R3, !PT",
        Imnmx,
        &[U32],
        &[reg(1), reg(2), reg(3), NewOperand::not_pred(None)],
    );
    let and = [Modifier::And];
    builds(
        "LOP.AND R1, R2, ~R3",
        Lop,
        &and,
        &[reg(1), reg(2), reg(3).inverted()],
    );
    builds(
        "LOP.AND.NZ P2, R1, R2, 0x1f",
        Lop,
        &[Modifier::And, Modifier::Nz],
        &[pred(2), reg(1), reg(2), int(31)],
    );
    builds(
        "LOP32I.OR R1, R2, 0x80000000",
        Lop32i,
        &[Modifier::Or],
        &[reg(1), reg(2), int(0x8000_0000)],
    );
    builds("POPC R1, R2", Popc, &[], &[reg(1), reg(2)]);
    builds("FLO.U32 R1, R2", Flo, &[U32], &[reg(1), reg(2)]);
    builds("SHL R1, R2, 0x5", Shl, &[], &[reg(1), reg(2), int(5)]);
    builds(
        "ISCADD R1, R2, R3, 0x3",
        Iscadd,
        &[],
        &[reg(1), reg(2), reg(3), int(3)],
    );
    builds(
        "LEA R4.CC, R2, R3, 0x2",
        Lea,
        &[],
        &[cc, reg(2), reg(3), int(2)],
    );
    builds(
        "LEA.HI.X R5, R2, R6, RZ, 0x2",
        Lea,
        &[Hi, X],
        &[reg(5), reg(2), reg(6), NewOperand::zero(), int(2)],
    );
    builds(
        "XMAD R1, R2, R3, R4",
        Xmad,
        &[],
        &[reg(1), reg(2), reg(3), reg(4)],
    );
    builds(
        "XMAD.MRG R1, R2, R3.H1, RZ",
        Xmad,
        &[Mrg],
        &[
            reg(1),
            reg(2),
            reg(3).part(warpbound_isa::nvidia::Part::H1),
            NewOperand::zero(),
        ],
    );
    builds(
        "XMAD.PSL R1, R2, 0x10, R4",
        Xmad,
        &[Psl],
        &[reg(1), reg(2), int(16), reg(4)],
    );
}

#[test]
fn votes_predicates_and_comparisons() {
    use Modifier::{All, And, Any, Eq, Lt, Ne, U32};
    use Opcode::{Isetp, P2r, Psetp, R2p, Vote};
    builds("VOTE.ALL R1, PT, PT", Vote, &[All], &[reg(1), PT, PT]);
    builds(
        "VOTE.ANY R1, P0, P2",
        Vote,
        &[Any],
        &[reg(1), pred(0), pred(2)],
    );
    builds(
        "VOTE.ANY P0, !P2",
        Vote,
        &[Any],
        &[pred(0), NewOperand::not_pred(Some(2))],
    );
    builds(
        "ISETP.LT.U32.AND P0, PT, R1, R2, PT",
        Isetp,
        &[Lt, U32, And],
        &[pred(0), PT, reg(1), reg(2), PT],
    );
    builds(
        "ISETP.NE.AND P1, P2, R1, 0x7f, !P3",
        Isetp,
        &[Ne, And],
        &[
            pred(1),
            pred(2),
            reg(1),
            int(0x7f),
            NewOperand::not_pred(Some(3)),
        ],
    );
    builds(
        "ISETP.EQ.AND P1, PT, R1, c[0x0][0x8], PT",
        Isetp,
        &[Eq, And],
        &[pred(1), PT, reg(1), NewOperand::constant(0, 8), PT],
    );
    builds(
        "PSETP.AND.AND P0, PT, P1, !P2, PT",
        Psetp,
        &[And, And],
        &[pred(0), PT, pred(1), NewOperand::not_pred(Some(2)), PT],
    );
    let all = NewOperand::all_preds();
    builds(
        "P2R R1, PR, RZ, 0x7f",
        P2r,
        &[],
        &[reg(1), all, NewOperand::zero(), int(0x7f)],
    );
    builds("R2P PR, R1, 0x7f", R2p, &[], &[all, reg(1), int(0x7f)]);
}

#[test]
fn memory_and_barriers() {
    use Modifier::{Add, B64, Cas, E, Sync, U64};
    use Opcode::{Atoms, Bar, Depbar, Ldg, Lds, Membar, Red, Stg, Sts};
    builds(
        "RED.E.ADD [R2+0x10], R4",
        Red,
        &[E, Add],
        &[NewOperand::memory(2, 16), reg(4)],
    );
    builds(
        "RED.E.ADD.U64 [R2], R4",
        Red,
        &[E, Add, U64],
        &[NewOperand::memory(2, 0), reg(4)],
    );
    builds(
        "ATOMS.ADD R1, [R2+0x40], R3",
        Atoms,
        &[Add],
        &[reg(1), NewOperand::memory(2, 64), reg(3)],
    );
    builds(
        "ATOMS.ADD RZ, [0x100], R3",
        Atoms,
        &[Add],
        &[NewOperand::zero(), NewOperand::memory(255, 0x100), reg(3)],
    );
    let pair = NewOperand::new(warpbound_isa::OperandValue::RegPair(Some(4)));
    builds(
        "ATOMS.CAS R1, [R2], R4, R5",
        Atoms,
        &[Cas],
        &[reg(1), NewOperand::memory(2, 0), pair],
    );
    builds(
        "LDS.64 R2, [R4+-0x8]",
        Lds,
        &[B64],
        &[reg(2), NewOperand::memory(4, -8)],
    );
    builds(
        "STS [R4], R2",
        Sts,
        &[],
        &[NewOperand::memory(4, 0), reg(2)],
    );
    builds(
        "LDG.E R1, [R2]",
        Ldg,
        &[E],
        &[reg(1), NewOperand::memory(2, 0)],
    );
    builds(
        "STG.E [R2+0x4], R1",
        Stg,
        &[E],
        &[NewOperand::memory(2, 4), reg(1)],
    );
    builds("BAR.SYNC 0x0", Bar, &[Sync], &[int(0)]);
    builds("BAR.SYNC 0x1, 0x40", Bar, &[Sync], &[int(1), int(0x40)]);
    builds("MEMBAR.CTA", Membar, &[Modifier::Cta], &[]);
    builds(
        "DEPBAR.LE SB5, 0x1",
        Depbar,
        &[Modifier::Le],
        &[NewOperand::word("SB5"), int(1), NewOperand::word("")],
    );
}

#[test]
fn control_flow() {
    use Opcode::{Bra, Cal, Exit, Jmp, Nop, Pbk, Ret, Ssy, Sync};
    let target = NewOperand::target(CodeAddr(0x128));
    builds("BRA 0x128", Bra, &[], &[target]);
    builds("SSY 0x128", Ssy, &[], &[target]);
    builds("PBK 0x128", Pbk, &[], &[target]);
    builds("CAL 0x128", Cal, &[], &[target]);
    let far = NewOperand::new(warpbound_isa::OperandValue::Target(
        warpbound_isa::BranchTarget::Absolute(0x128),
    ));
    builds("JMP 0x128", Jmp, &[], &[far]);
    for (opcode, name) in [(Exit, "EXIT"), (Nop, "NOP"), (Ret, "RET"), (Sync, "SYNC")] {
        builds(name, opcode, &[], &[]);
    }
    let guarded = WordBuilder::new(Arch::Sm61, Exit).guard(3, true).build();
    assert_eq!(text(Arch::Sm61, guarded.expect("EXIT") as u64), "@!P3 EXIT");
}

/// Words that NVIDIA's compiler wrote, as a check of bits that no field names.
#[test]
fn words_of_the_compiler() {
    let word = |opcode| WordBuilder::new(Arch::Sm61, opcode);
    for (expected, builder) in [
        (0xe300_0000_0007_000f_u64, word(Opcode::Exit)),
        (0x50b0_0000_0007_0f00, word(Opcode::Nop)),
        (0xf0f8_0000_0007_000f, word(Opcode::Sync)),
        (
            0xf0a8_1b80_0007_0000,
            word(Opcode::Bar)
                .modifier(Modifier::Sync)
                .operands(&[int(0)]),
        ),
        (
            0x4c98_0780_0087_0001,
            word(Opcode::Mov).operands(&[reg(1), NewOperand::constant(0, 0x20)]),
        ),
        (
            0xf0c8_0000_0257_0000,
            word(Opcode::S2r)
                .operands(&[reg(0), NewOperand::special(SpecialReg::BlockIndex(Axis::X))]),
        ),
    ] {
        assert_eq!(
            builder.build().map(|word| format!("{word:016x}")),
            Ok(format!("{expected:016x}"))
        );
    }
}

#[test]
fn errors_name_the_operand() {
    let at = |index, mismatch, opcode| EncodeError::Operand {
        opcode,
        index,
        mismatch,
    };
    let build = |opcode, modifiers: &[Modifier], operands: &[NewOperand]| {
        let builder = WordBuilder::new(Arch::Sm61, opcode).modifiers(modifiers);
        builder.operands(operands).build()
    };
    let low = -(1 << 19);
    let range = OperandMismatch::Range {
        low,
        high: -low - 1,
    };
    assert_eq!(
        build(Opcode::Iadd, &[], &[reg(0), reg(1), int(1 << 19)]),
        Err(at(2, range, Opcode::Iadd))
    );
    assert_eq!(
        build(Opcode::Iadd, &[], &[reg(0), pred(1), int(1)]),
        Err(at(1, OperandMismatch::Kind, Opcode::Iadd))
    );
    assert_eq!(
        build(Opcode::Mov, &[], &[reg(0), NewOperand::constant(0, 2)]),
        Err(at(1, OperandMismatch::Multiple { of: 4 }, Opcode::Mov))
    );
    let memory = NewOperand::memory(3, 0);
    assert_eq!(
        build(Opcode::Ldg, &[Modifier::E], &[reg(0), memory]),
        Err(at(1, OperandMismatch::Alignment { of: 2 }, Opcode::Ldg))
    );
    assert_eq!(
        build(Opcode::Bra, &[], &[NewOperand::target(CodeAddr(8))]),
        Err(at(0, OperandMismatch::NoAddress, Opcode::Bra))
    );
    assert_eq!(
        build(Opcode::Iadd, &[], &[reg(0), reg(1)]),
        Err(EncodeError::TooFewOperands {
            opcode: Opcode::Iadd,
            given: 2
        })
    );
    assert!(matches!(
        build(Opcode::Iadd, &[Modifier::Hi], &[reg(0), reg(1), reg(2)]),
        Err(EncodeError::Modifiers { .. })
    ));
    assert!(matches!(
        build(
            Opcode::Lop,
            &[Modifier::And],
            &[reg(0), reg(1).negated(), reg(2)]
        ),
        Err(EncodeError::Operand {
            index: 1,
            mismatch: OperandMismatch::Modifier,
            ..
        })
    ));
    let guarded = WordBuilder::new(Arch::Sm61, Opcode::Ssy).guard(0, false);
    assert_eq!(
        guarded.build(),
        Err(EncodeError::Unguarded {
            opcode: Opcode::Ssy
        })
    );
    let half = WordBuilder::new(Arch::Sm50, Opcode::Hadd2);
    assert!(matches!(half.build(), Err(EncodeError::NoForm { .. })));
}

#[test]
fn targets_are_changed() {
    let (arch, addr) = (Arch::Sm61, CodeAddr(8));
    let branch = WordBuilder::new(arch, Opcode::Bra)
        .guard(2, true)
        .operands(&[NewOperand::target(CodeAddr(0x100))])
        .at(addr);
    let branch = branch.build().expect("a branch");
    let moved = with_target(arch, branch, CodeAddr(0x28), CodeAddr(8)).expect("near");
    // The text is that of address 8: the offset of -0x28 leads below it.
    assert_eq!(
        WordBuilder::of_word(arch, moved, 0, CodeAddr(0x28)).map(|builder| builder.build()),
        Some(Ok(moved))
    );
    assert_eq!(with_target(arch, moved, addr, CodeAddr(0x100)), Ok(branch));
    assert!(matches!(
        with_target(arch, branch, addr, CodeAddr(0x0100_0000)),
        Err(EncodeError::TargetRange { .. })
    ));
    let exit = WordBuilder::new(arch, Opcode::Exit).build().expect("EXIT");
    assert_eq!(
        with_target(arch, exit, addr, addr),
        Err(EncodeError::NoTarget { word: exit })
    );
    // BRX R2 -0x30.
    let indirect = 0xe25f_ffff_fd07_020f;
    assert_eq!(text(arch, indirect as u64), "BRX R2 -0x30");
    let other = with_register_target_offset(arch, indirect, -0x48).expect("near");
    assert_eq!(text(arch, other as u64), "BRX R2 -0x48");
}

/// Every recorded word, on each architecture that has it, is put together from its fields, and from its operands.
#[test]
fn recorded_words_are_encoded() {
    let mut words = 0;
    let mut wrong = Vec::new();
    for line in recorded::lines() {
        for arch in Arch::of_family(Family::Maxwell) {
            let Some(fields) = InstrFields::decode(arch, line.word) else {
                continue;
            };
            words += 1;
            if encode(&fields) != line.word {
                wrong.push(format!(
                    "{arch} {:016x}: fields {:016x}",
                    line.word,
                    encode(&fields)
                ));
            }
            let reuse = line.reuse as u8;
            let addr = CodeAddr(line.address);
            let builder = WordBuilder::of_word(arch, line.word, reuse, addr).expect("decodes");
            let again = builder.build_slot().map(|built| {
                let second = WordBuilder::of_word(arch, built.word, built.reuse, addr);
                second.map(|second| format!("{second:?}"))
            });
            if again != Ok(Some(format!("{builder:?}"))) {
                wrong.push(format!(
                    "{arch} {:016x} {}: {again:?}",
                    line.word, line.text
                ));
            }
        }
    }
    assert!(words > 20_000, "{words} words");
    let count = wrong.len();
    wrong.truncate(20);
    assert!(
        wrong.is_empty(),
        "{count} of {words}:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_field_that_is_set_changes_the_fields_that_share_its_bits() {
    // IADD R0, R1, -R2: the sign is a bit of the field that also stands for `.PO`.
    let word = 0x5c11_0000_0027_0100;
    let mut fields = InstrFields::decode(Arch::Sm61, word).expect("IADD");
    let (sign, _) = (0..)
        .zip(fields.fields())
        .find(|(_, (role, width, value))| {
            matches!(role, FieldRole::OperandModifier(_)) && *width == 1 && *value == 1
        })
        .expect("a sign");
    assert!(fields.set(sign, 0));
    assert_eq!(text(Arch::Sm61, encode(&fields) as u64), "IADD R0, R1, R2");
    assert!(!fields.set(sign, 2));
    assert_eq!(
        InstrFields::decode(Arch::Sm61, encode(&fields)),
        Some(fields)
    );
}

/// Random numbers with a fixed sequence (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Words of every row with random operands and modifiers: what the builder makes of the decoded operands decodes to the
/// same ones.
#[test]
fn operands_of_every_form_are_built() {
    let mut random = Random(19);
    let table = warpbound_isa::nvidia::table(Arch::Sm61);
    let (mut built, mut rows) = (0, 0);
    for (id, form) in table.forms().filter(|(_, form)| form.is_instruction()) {
        let mut words_of_row = 0;
        for arch in Arch::ALL
            .iter()
            .copied()
            .filter(|arch| form.exists_on(*arch))
        {
            for number in 0..60 {
                let mut bits = random.next();
                if number % 2 == 1 {
                    bits &= random.next() & random.next();
                }
                let word = form.value | u128::from(bits) & !form.mask;
                if table.find(arch, word) != Some(id) {
                    continue;
                }
                let (reuse, addr) = (random.next() as u8 & 7, CodeAddr(0x0040_0008));
                let builder = WordBuilder::of_word(arch, word, reuse, addr).expect("decodes");
                let again = builder.build_slot().unwrap_or_else(|error| {
                    panic!("{arch} {word:016x} {}: {error}", form.mnemonic())
                });
                let second = WordBuilder::of_word(arch, again.word, again.reuse, addr);
                assert_eq!(second.as_ref(), Some(&builder), "{arch} {word:016x}");
                let fields = InstrFields::decode_slot(arch, word, reuse).expect("decodes");
                assert_eq!(encode(&fields), word);
                words_of_row += 1;
            }
        }
        built += words_of_row;
        rows += usize::from(words_of_row > 0);
    }
    assert!(built > 40_000 && rows > 380, "{built} words of {rows} rows");
}
