//! Reads, writes and control flow of error-prone instructions, checked by hand.
//! Words and spellings were checked with NVIDIA's disassembler.

use warpbound_base::CodeAddr;
use warpbound_isa::instr::{
    BranchTarget, CcTest, Effects, InstrFlow, MemorySpace, StackToken, ValueSource,
};
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, Axis, Reg, SpecialReg};

const NOP: u64 = 0x50b0_0000_0007_0f00;

/// Decodes one word at address 8 of sm_61 code.
fn effects(word: u64) -> Effects {
    let program = program(&[word]);
    program.effects(&program.instrs[0])
}

fn program(words: &[u64]) -> SassProgram {
    let mut code = Vec::new();
    for group in words.chunks(3) {
        code.extend(0x001f_8000_fc00_07e0_u64.to_le_bytes());
        for slot in 0..3 {
            code.extend(group.get(slot).unwrap_or(&NOP).to_le_bytes());
        }
    }
    SassProgram::decode(Arch::Sm61, &code).expect("whole groups")
}

/// `R0-R3 P0 CC` for lists of cells.
fn cells(list: &[Reg]) -> String {
    let names: Vec<String> = list.iter().map(Reg::to_string).collect();
    names.join(" ")
}

#[track_caller]
fn check(word: u64, reads: &str, writes: &str) -> Effects {
    let found = effects(word);
    assert_eq!(cells(&found.reads), reads, "reads of {word:016x}");
    assert_eq!(cells(&found.writes), writes, "writes of {word:016x}");
    found
}

#[test]
fn memory_widths_and_wide_addresses() {
    // LDG.E.64 R2, [R4+0x10]
    let load = check(0xeed5_2000_0107_0402, "R4 R5", "R2 R3");
    assert_eq!(load.source, ValueSource::Memory);
    let access = load.access.expect("a load");
    assert_eq!(
        (access.space, access.loads, access.stores),
        (MemorySpace::Global, true, false)
    );
    // LDG.128 R8, [R4]: a 32-bit address
    check(0xeed6_0000_0007_0408, "R4", "R8 R9 R10 R11");
    // LDG.E R8, [RZ]
    check(0xeed4_2000_0007_ff08, "", "R8");
    // STG.E.128 [R4], R8
    let store = check(0xeede_2000_0007_0408, "R4 R5 R8 R9 R10 R11", "");
    let access = store.access.expect("a store");
    assert_eq!((access.loads, access.stores), (false, true));
    // LDS.U.128 R8, [R4]
    let shared = check(0xef4e_1000_0007_0408, "R4", "R8 R9 R10 R11");
    assert_eq!(shared.access.map(|a| a.space), Some(MemorySpace::Shared));
    // STL.128 [RZ], R252: the register file ends at R254
    check(0xef56_0000_0007_fffc, "R252 R253 R254", "");
    // LDC.64 R2, c[0x3][R3+0x8]
    let constant = check(0xef95_0030_0087_0302, "R3", "R2 R3");
    assert_eq!(
        constant.access.map(|a| a.space),
        Some(MemorySpace::Constant)
    );
}

#[test]
fn double_precision_takes_pairs() {
    // DADD R2.CC, R4, R6
    check(0x5c70_8000_0067_0402, "R4 R5 R6 R7", "R2 R3 CC");
    // DFMA R2, R4, R6, R8
    check(0x5b70_0400_0067_0402, "R4 R5 R6 R7 R8 R9", "R2 R3");
    // DSET.F.AND R0, R0, c[0x0][0x0], P0: one result register
    check(0x4900_0000_0007_0000, "R0 R1 P0", "R0");
}

#[test]
fn conversions_take_pairs_on_the_wide_side_only() {
    // F2F.F64.F32 R2, R6
    check(0x5ca8_0000_0067_0b02, "R6", "R2 R3");
    // F2F.F32.F64 R2, R6
    check(0x5ca8_0000_0067_0e02, "R6 R7", "R2");
    // I2F.F32.U64 R2, R6
    check(0x5cb8_0000_0067_0e02, "R6 R7", "R2");
    // F2I.S64.F32 R2, R6
    check(0x5cb0_0000_0067_1b02, "R6", "R2 R3");
    // I2I.???7.INVALID7 R2, R6: no compiler emits it, but the disassembler counts pairs
    check(0x5ce0_0000_0067_3f02, "R6 R7", "R2 R3");
    // I2I.S32.S32 R2, R6
    check(0x5ce0_0000_0067_3a02, "R6", "R2");
}

#[test]
fn carries() {
    // IADD.X R2.CC, R4, R6
    check(0x5c10_8800_0067_0402, "R4 R6 CC", "R2 CC");
    // IADD R2.CC, R4, R6
    check(0x5c10_8000_0067_0402, "R4 R6", "R2 CC");
    // SHF.L.W.X R2, R4, R6, R9
    check(0x5bfe_0480_0067_0402, "R4 R6 R9 CC", "R2");
    // IADD3.X R2, R3, R4, R5
    check(0x5cc1_0280_0047_0302, "R3 R4 R5 CC", "R2");
    // XMAD.MRG.X R2, R3, R4, R5
    check(0x5b00_02e0_0047_0302, "R3 R4 R5 CC", "R2");
    // LEA.HI P1, R2.CC, R3, R4, R5
    check(0x5bd9_8280_0047_0302, "R3 R4 R5", "R2 P1 CC");
    // ISETP.F.U32.X.AND P1, P2, R4, R5, P3
    check(0x5b60_0980_0057_040a, "R4 R5 P3 CC", "P1 P2");
}

#[test]
fn atomics() {
    // ATOM.E.CAS R2, [R4], R6, R7
    let cas = check(0xeef1_0000_0067_0402, "R4 R5 R6 R7", "R2");
    assert_eq!(cas.source, ValueSource::Lane);
    let access = cas.access.expect("an access");
    assert!(access.loads && access.stores);
    // ATOM.E.CAS.64 R2, [R4], R6, R8
    check(0xeef3_0000_0067_0402, "R4 R5 R6 R7 R8 R9", "R2 R3");
    // ATOM.E.ADD.U64 R2, [R4], R6
    check(0xed05_0000_0067_0402, "R4 R5 R6 R7", "R2 R3");
    // RED.E.ADD.S64 [R4], R2
    check(0xebf9_0000_0057_0402, "R2 R3 R4 R5", "");
    // ATOMS.CAS.64 R2, [R4], R6, R8
    check(0xee50_0000_0067_0402, "R4 R6 R7 R8 R9", "R2 R3");
}

#[test]
fn results_that_are_not_a_function_of_the_operands() {
    // SHFL.IDX P1, R2, R4, R6, R9
    let shuffle = check(0xef11_0480_0067_0402, "R4 R6 R9", "R2 P1");
    assert_eq!(shuffle.source, ValueSource::Lane);
    // VOTE.ALL P2, !P3
    let vote = check(0x50d8_4580_0007_00ff, "P3", "P2");
    assert_eq!(vote.source, ValueSource::Uniform);
    // VOTE.ALL R5, PT, PT
    check(0x50d8_e380_0007_0005, "", "R5");
    // S2R R2, SR_TID.X
    let special = check(0xf0c8_0000_0217_0002, "", "R2");
    assert_eq!(
        special.source,
        ValueSource::Special(SpecialReg::ThreadIndex(Axis::X))
    );
    // B2R.RESULT R6, P3
    let result = check(0xf0b8_6001_0007_ff06, "", "R6 P3");
    assert_eq!(result.source, ValueSource::Lane);
    // MUFU.RCP R1, R2
    let rcp = check(0x5080_0000_0047_0201, "R2", "R1");
    assert_eq!(rcp.source, ValueSource::Function);
}

#[test]
fn predicate_moves() {
    // R2P PR, R4, 0x15: P0, P2, P4
    check(0x38f0_0000_0157_0400, "R4", "P0 P2 P4");
    // R2P PR, R4, R6: the mask is unknown, so old values count as read
    check(
        0x5cf0_0000_0067_0400,
        "R4 R6 P0 P1 P2 P3 P4 P5 P6",
        "P0 P1 P2 P3 P4 P5 P6",
    );
    // R2P PR, R4.B1, 0x15: byte selected
    check(
        0x38f0_0200_0157_0400,
        "R4 P0 P1 P2 P3 P4 P5 P6",
        "P0 P1 P2 P3 P4 P5 P6",
    );
    // R2P CC, R4, 0x15: part of the condition code
    check(0x38f0_0100_0157_0400, "R4 CC", "CC");
    // P2R R5, PR, RZ, 0x7f
    check(0x38e8_0000_07f7_ff05, "P0 P1 P2 P3 P4 P5 P6", "R5");
    // P2R R5, CC, RZ, 0x7f
    check(0x38e8_0100_07f7_ff05, "CC", "R5");
    // CSET.EQ.AND R5, CC, P1
    check(0x5098_0080_0007_0205, "P1 CC", "R5");
    // CSETP.EQ.AND P1, P2, CC, P3
    check(0x50a0_0180_0007_020a, "P3 CC", "P1 P2");
    // PSET.AND.AND R5, P1, P2, !P3
    check(0x5088_0580_4007_1005, "P1 P2 P3", "R5");
    // PSETP.AND.AND P1, P2, PT, P2, P3
    check(0x5090_0180_4007_700a, "P2 P3", "P1 P2");
}

#[test]
fn partial_writes_read_the_old_value() {
    // HADD2.MRG_H0 R2, R3, R4
    check(0x5d14_0000_0047_0302, "R2 R3 R4", "R2");
    // MOV R2, R3
    assert_eq!(
        check(0x5c98_0780_0037_0002, "R3", "R2").source,
        ValueSource::Function
    );
    // MOV R2, R3, 0x5: only lanes 0 and 2 of each quad
    assert_eq!(
        check(0x5c98_0280_0037_0002, "R2 R3", "R2").source,
        ValueSource::Lane
    );
    // FFMA32I R2, R3, 1, R2
    check(0x0c03_f800_0007_0302, "R2 R3", "R2");
}

#[test]
fn textures_and_surfaces() {
    // TEX R8, R4, R6, 0x0, 2D, 0xb: three components
    let tex = check(0xc038_0005_a067_0408, "R4 R5 R6 R7 R8 R9", "R8 R9 R10");
    assert_eq!(tex.source, ValueSource::Lane);
    // TEX R8, R4, R6, 0x0, 2D, 0x0: a mask without a component is shown as one
    check(0xc038_0000_2067_0408, "R4 R5 R6 R7 R8 R9", "R8");
    // TEXS RZ, R8, R4, R6, 0x0, 2D, RG
    check(0xd830_000f_f067_0408, "R4 R5 R6 R7", "R8 R9");
    // TEXS R12, R8, R4, R6, 0x0, 2D, RGB: two registers and one
    check(0xd820_0000_c067_0408, "R4 R5 R6 R7", "R8 R9 R12");
    // TEXS RZ, R8, R4, R6, 0x0, 2D, R
    check(0xd820_000f_f067_0408, "R4 R5 R6 R7", "R8");
    // SULD.P.1D.RG.IGN R2, [R3], R4
    let surface = check(0xeb00_0200_0037_0302, "R3 R4 R5 R6", "R2 R3");
    assert_eq!(surface.access.map(|a| a.space), Some(MemorySpace::Surface));
}

#[test]
fn barriers() {
    // BAR.RED.AND R4, R5, P3
    let reduce = check(0xf0a8_018a_0057_0400, "R4 R5 P3", "");
    assert!(reduce.barrier);
    // BAR.SYNC 0x0
    let sync = check(0xf0a8_1b80_0007_0000, "", "");
    assert!(sync.barrier && sync.flow == InstrFlow::Next);
    // MEMBAR.CTA
    assert!(!check(0xef9d_0000_0007_0000, "", "").barrier);
}

#[test]
fn control_flow() {
    let flow = |word| effects(word).flow;
    let code = |addr| BranchTarget::Code(CodeAddr(addr));
    // BRA 0x108; the base is the position after the instruction at 8
    assert_eq!(flow(0xe240_0000_0f87_000f), InstrFlow::Branch(code(0x108)));
    // BRA -0x7e8
    assert_eq!(
        flow(0xe24f_ffff_8007_000f),
        InstrFlow::Branch(BranchTarget::Outside)
    );
    // BRA c[0xa][0x24]
    assert_eq!(
        flow(0xe240_00a0_0247_002f),
        InstrFlow::Branch(BranchTarget::Constant {
            bank: 10,
            offset: 0x24
        })
    );
    // JMP 0x10
    assert_eq!(
        flow(0xe210_0000_0107_000f),
        InstrFlow::Branch(BranchTarget::Absolute(0x10))
    );
    // BRX R4 with offset 0; JMX R4
    assert_eq!(
        flow(0xe250_0000_0007_040f),
        InstrFlow::Indirect {
            base: Some(Reg::vector(4)),
            anchor: 16,
            relative: true
        }
    );
    assert_eq!(
        flow(0xe200_0000_0007_040f),
        InstrFlow::Indirect {
            base: Some(Reg::vector(4)),
            anchor: 0,
            relative: false
        }
    );
    // SSY, PBK, PCNT, PRET, CAL
    assert_eq!(
        flow(0xe290_0000_00c0_0000),
        InstrFlow::Push(StackToken::Sync, code(0x1c))
    );
    assert_eq!(
        flow(0xe2a0_0000_0010_0000),
        InstrFlow::Push(StackToken::Brk, code(0x11))
    );
    assert_eq!(
        flow(0xe2b0_0000_0010_0000),
        InstrFlow::Push(StackToken::Cont, code(0x11))
    );
    assert_eq!(
        flow(0xe270_0000_0080_0040),
        InstrFlow::Push(StackToken::Ret, code(0x18))
    );
    assert_eq!(flow(0xe260_0000_0b00_0040), InstrFlow::Call(code(0xc0)));
    // SYNC, BRK, RET, EXIT, KIL
    assert_eq!(
        flow(0xf0f8_0000_0007_000f),
        InstrFlow::Pop(StackToken::Sync)
    );
    assert_eq!(flow(0xe340_0000_0007_000f), InstrFlow::Pop(StackToken::Brk));
    assert_eq!(flow(0xe320_0000_0007_000f), InstrFlow::Pop(StackToken::Ret));
    assert_eq!(flow(0xe300_0000_0007_000f), InstrFlow::Exit);
    assert_eq!(flow(0xe330_0000_0007_000f), InstrFlow::Exit);
    // BPT.TRAP ends the launch: nothing follows it.
    assert_eq!(flow(0xe3a0_0000_0007_00c0), InstrFlow::Exit);
}

#[test]
fn conditions() {
    // SYNC CC.EQ
    assert_eq!(effects(0xf0f8_0000_0007_0002).cc_test, CcTest(2));
    assert_eq!(effects(0xf0f8_0000_0007_000f).cc_test, CcTest::TRUE);
    // @!P0 BRA
    let guard = effects(0xe240_0000_0f08_000f).guard;
    assert_eq!((guard.pred, guard.negated), (Some(0), true));
    // SSY has no guard: its bits 19:16 are unused
    assert!(effects(0xe290_0000_00c0_0000).guard.is_always());
    assert!(effects(0xe30f_0000_000f_000f).guard.is_never());
}

#[test]
fn condition_code_tests_of_every_branch_like_form() {
    let code = |addr| BranchTarget::Code(CodeAddr(addr));
    for (word, flow) in [
        // BRA, JMP
        (0xe240_0000_0007_0000, InstrFlow::Branch(code(0x10))),
        (
            0xe210_0000_0107_0000,
            InstrFlow::Branch(BranchTarget::Absolute(0x10)),
        ),
        // RET, LONGJMP, BRK, CONT, SYNC
        (0xe320_0000_0007_0000, InstrFlow::Pop(StackToken::Ret)),
        (0xe310_0000_0007_0000, InstrFlow::Pop(StackToken::LongJmp)),
        (0xe340_0000_0007_0000, InstrFlow::Pop(StackToken::Brk)),
        (0xe350_0000_0007_0000, InstrFlow::Pop(StackToken::Cont)),
        (0xf0f8_0000_0007_0000, InstrFlow::Pop(StackToken::Sync)),
        // KIL, EXIT, EXIT.KEEPREFCOUNT
        (0xe330_0000_0007_0000, InstrFlow::Exit),
        (0xe300_0000_0007_0000, InstrFlow::Exit),
        (0xe300_0000_0007_0020, InstrFlow::Exit),
    ] {
        for test in 0..32 {
            let found = effects(word | test);
            assert_eq!(found.cc_test, CcTest(test as u8), "{word:016x}");
            // CSM_TA .. FCSM_MX are not tests of the condition code.
            let known = !(24..=29).contains(&test);
            let expected = if known { flow } else { InstrFlow::Unsupported };
            assert_eq!(found.flow, expected, "{word:016x} test {test}");
            assert!(found.reads.is_empty() && found.writes.is_empty());
        }
        // @!P2
        let guard = effects(word & !0xf_0000 | 0xa_000f).guard;
        assert_eq!((guard.pred, guard.negated), (Some(2), true));
    }
}

#[test]
fn stack_and_call_forms_have_neither_guard_nor_test() {
    let code = BranchTarget::Code(CodeAddr(0x30));
    let constant = BranchTarget::Constant {
        bank: 2,
        offset: 0x20,
    };
    for (word, token) in [
        (0xe290_0000_0200_0000, StackToken::Sync),
        (0xe2a0_0000_0200_0000, StackToken::Brk),
        (0xe2b0_0000_0200_0000, StackToken::Cont),
        (0xe270_0000_0200_0000, StackToken::Ret),
        (0xe280_0000_0200_0000, StackToken::LongJmp),
    ] {
        // Neither the bits of a guard nor those of a test have a meaning here.
        for junk in [0, 0xf_0000, 0x4_0000, 0x7, 0xf] {
            let found = effects(word | junk);
            assert!(found.guard.is_always());
            assert_eq!(found.cc_test, CcTest::TRUE);
            assert_eq!(found.flow, InstrFlow::Push(token, code));
        }
        // From a constant: SSY c[0x2][0x20]
        assert_eq!(
            effects(word | 0x20_0000_0020).flow,
            InstrFlow::Push(token, constant)
        );
    }
    // PEXIT 0x30 has no constant form
    let exit = effects(0xe230_0000_0200_0000);
    assert!(exit.guard.is_always());
    assert_eq!(exit.flow, InstrFlow::Push(StackToken::Exit, code));
    // CAL 0x30, CAL.NOINC 0x30, CAL c[0x2][0x20], JCAL 0x20, JCAL c[0x2][0x20]
    for (word, target) in [
        (0xe260_0000_0200_0040, code),
        (0xe260_0000_0200_0000, code),
        (0xe260_0020_0200_0060, constant),
        (0xe220_0000_0200_0040, BranchTarget::Absolute(0x20)),
        (0xe220_0020_0200_0060, constant),
    ] {
        let found = effects(word);
        assert!(found.guard.is_always());
        assert_eq!(found.cc_test, CcTest::TRUE);
        assert_eq!(found.flow, InstrFlow::Call(target), "{word:016x}");
    }
}

#[test]
fn branches_in_all_their_variants() {
    let has = |word, modifier| {
        let program = program(&[word]);
        let spelling = program.spelling(&program.instrs[0]);
        spelling
            .expect("an instruction")
            .modifiers
            .contains(&modifier)
    };
    // BRA.U: the promise of uniformity is a modifier, the flow is that of BRA
    let uniform = 0xe240_0000_0007_008f;
    assert!(has(uniform, ".U"));
    assert_eq!(
        effects(uniform).flow,
        InstrFlow::Branch(BranchTarget::Code(CodeAddr(0x10)))
    );
    // @P1 BRA CC.NE, 0x18 depends on both
    let both = effects(0xe240_0000_0081_0005);
    assert_eq!(
        (both.guard.pred, both.guard.negated, both.cc_test),
        (Some(1), false, CcTest(5))
    );
    assert_eq!(
        both.flow,
        InstrFlow::Branch(BranchTarget::Code(CodeAddr(0x18)))
    );
    // BRA.U CC.EQ, c[0x0][0x4]: test and constant target together
    let constant = effects(0xe240_0000_0047_00a2);
    assert_eq!(constant.cc_test, CcTest(2));
    assert_eq!(
        constant.flow,
        InstrFlow::Branch(BranchTarget::Constant { bank: 0, offset: 4 })
    );
    // BRX CC.EQ, R4 -0x8 reads its register
    let indirect = effects(0xe250_0fff_ff87_0402);
    assert_eq!(cells(&indirect.reads), "R4");
    assert_eq!(
        indirect.flow,
        InstrFlow::Indirect {
            base: Some(Reg::vector(4)),
            anchor: 8,
            relative: true
        }
    );
    // BRX RZ 0x10
    assert!(matches!(
        effects(0xe250_0000_0107_ff0f).flow,
        InstrFlow::Indirect {
            base: None,
            anchor: 0x20,
            ..
        }
    ));
    // BRX c[0xa][R4+0x10], JMX c[0x0][R4+0x10]: the target is not followed, the reads are complete
    for word in [0xe250_00a0_0107_042f, 0xe200_0000_0107_042f] {
        let found = check(word, "R4", "");
        assert_eq!(found.flow, InstrFlow::Unsupported);
        assert_eq!(found.cc_test, CcTest::TRUE);
    }
    // BRA.LMT, BRX.LMT, JMP.LMT, JMX.LMT depend on the call depth
    for word in [
        0xe240_0000_0007_004f,
        0xe240_00a0_0247_006f,
        0xe250_0000_0107_044f,
        0xe210_0000_0107_004f,
        0xe200_0000_0107_044f,
    ] {
        assert!(has(word, ".LMT"));
        assert_eq!(effects(word).flow, InstrFlow::Unsupported, "{word:016x}");
    }
}

#[test]
fn system_forms() {
    // RTT.TERMINATE, SAM, RAM, BPT.CAL, SETCRSPTR R4, SETLMEMBASE R4
    for word in [
        0xe360_0000_0007_0001,
        0xe370_0000_0000_0000,
        0xe380_0000_0000_0000,
        0xe3a0_0000_0007_0040,
        0xe2e0_0000_0007_0400,
        0xe2f0_0000_0007_0400,
    ] {
        assert_eq!(effects(word).flow, InstrFlow::Unsupported, "{word:016x}");
    }
    // IDE.EN, NOP, NOP CC.EQ, DEPBAR, MEMBAR.GL, LEPC R2, BAR.SYNC, BAR.ARV, BAR.SYNCALL
    for word in [
        0xe390_0000_0007_0000,
        NOP,
        0x50b0_0000_0007_0200,
        0xf0f0_0000_0007_0000,
        0xef98_0000_0007_0100,
        0x50d0_0000_0007_0002,
        0xf0a8_1b80_0007_0000,
        0xf0a8_1b81_0007_0000,
        0xf0a8_0384_0ff0_0000,
    ] {
        assert_eq!(effects(word).flow, InstrFlow::Next, "{word:016x}");
        assert_eq!(effects(word).barrier, word >> 48 == 0xf0a8);
    }
    // @P3 BAR.SYNC R4, R5
    let barrier = check(0xf0a8_0380_0053_0400, "R4 R5", "");
    assert_eq!(barrier.guard.pred, Some(3));
}

#[test]
fn an_unknown_word_claims_nothing() {
    let unknown = effects(0xffff_ffff_ffff_ffff);
    assert_eq!(unknown.flow, InstrFlow::Unsupported);
    assert!(unknown.writes.is_empty());
    let program = program(&[u64::MAX]);
    assert_eq!(program.instrs[0].form, None);
    assert_eq!(program.mnemonic(&program.instrs[0]), None);
}

#[test]
fn addresses_are_canonical() {
    let program = program(&[NOP; 6]);
    let index = |addr| program.index_of(CodeAddr(addr));
    assert_eq!(index(0x00), Some(0));
    assert_eq!(index(0x08), Some(0));
    assert_eq!(index(0x18), Some(2));
    assert_eq!(index(0x20), Some(3));
    assert_eq!(index(0x28), Some(3));
    assert_eq!(index(0x24), None);
    assert_eq!(index(0x40), None);
    assert_eq!(program.next(4), Some(5));
    assert_eq!(program.next(5), None);
    assert_eq!(program.instrs[3].addr, CodeAddr(0x28));
}

#[test]
fn truncated_code_is_an_error() {
    assert!(SassProgram::decode(Arch::Sm61, &[0; 40]).is_err());
    assert!(SassProgram::decode(Arch::Sm61, &[]).is_ok_and(|p| p.instrs.is_empty()));
}
