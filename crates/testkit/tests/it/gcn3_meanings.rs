//! Every scalar and vector opcode of GCN3, in random words on random waves: meanings and effects compared with the
//! references.

use warpbound_ir::{Cell, Expr, Meaning};
use warpbound_isa::amd::GcnEffects;
use warpbound_isa::{Reg, RegisterKind};
use warpbound_testkit::instructions::gcn3_campaign::{Comparisons, compare_encoding};

/// Inputs of each mnemonic in an encoding: lanes of vector instructions, executions of scalar ones.
const INPUTS: u64 = 10_000;

fn compared(encoding: &str) -> Comparisons {
    compare_encoding(encoding, 17, INPUTS, &|_, _, _| ())
}

/// Compares an encoding, of which `least` mnemonics at least have a meaning and a reference.
fn check(encoding: &str, least: usize) {
    let all = compared(encoding);
    let differences: Vec<&String> = all.values().flat_map(|found| &found.differences).collect();
    assert!(differences.is_empty(), "{differences:#?}");
    let with_both = all.iter().filter(|(_, found)| found.inputs > 0);
    let with_both: Vec<_> = with_both.collect();
    assert!(with_both.len() >= least, "{encoding}: {}", with_both.len());
    for ((_, name), found) in with_both {
        // Its meaning is known for few constants only, which random words rarely have.
        if name == "v_alignbyte_b32" {
            continue;
        }
        assert!(
            found.inputs >= INPUTS,
            "{encoding} {name}: {} inputs",
            found.inputs
        );
    }
}

#[test]
fn sop2() {
    check("SOP2", 42);
}

#[test]
fn sopk() {
    check("SOPK", 18);
}

#[test]
fn sop1() {
    check("SOP1", 39);
}

#[test]
fn sopc() {
    check("SOPC", 18);
}

#[test]
fn vop2() {
    check("VOP2", 52);
}

#[test]
fn vop1() {
    check("VOP1", 71);
}

#[test]
fn vopc() {
    check("VOPC", 198);
}

#[test]
fn vop3() {
    check("VOP3", 374);
}

/// First difference in an encoding with a fault in some instructions.
fn with_fault(
    encoding: &str,
    name: &str,
    fault: impl Fn(&mut Meaning, &mut GcnEffects),
) -> Option<String> {
    let change = |text: &str, meaning: &mut Meaning, effects: &mut GcnEffects| {
        if text.starts_with(name) {
            fault(meaning, effects);
        }
    };
    let all = compare_encoding(encoding, 17, 500, &change);
    let mut differences = all.into_values().flat_map(|found| found.differences);
    differences.next()
}

fn drop_write(effects: &mut GcnEffects, number: u8) {
    let register = Reg {
        kind: RegisterKind::Scalar,
        number,
    };
    effects.writes.retain(|other| *other != register);
}

#[track_caller]
fn assert_found(found: Option<String>, message: &str) {
    let found = found.unwrap_or_default();
    assert!(found.contains(message), "{found:?}");
}

/// Planted fault: v_add_u32 writes no carry.
#[test]
fn dropped_carry_is_found() {
    let found = with_fault("VOP2", "v_add_u32", |meaning, _| {
        if let Meaning::Set(writes) = meaning {
            for (cell, value) in writes.iter_mut() {
                if !cell.is_per_lane() {
                    *value = Expr::Const(0);
                }
            }
        }
    });
    assert_found(found, "scalar 10");
}

/// Planted fault: v_cmpx does not write EXEC.
#[test]
fn cmpx_without_exec_is_found() {
    let found = with_fault("VOPC", "v_cmpx_lt_u32", |meaning, effects| {
        if let Meaning::Set(writes) = meaning {
            writes.retain(|(cell, _)| !Cell::EXEC_WORDS.contains(cell));
        }
        drop_write(effects, 126);
        drop_write(effects, 127);
    });
    assert_found(found, "is written, and not among the writes");
}

/// Planted fault: SCC of s_quadmask_b64 is dropped.
#[test]
fn dropped_scc_of_quadmask_is_found() {
    let found = with_fault("SOP1", "s_quadmask_b64", |meaning, effects| {
        if let Meaning::Set(writes) = meaning {
            writes.retain(|(cell, _)| *cell != Cell::scalar(128));
        }
        drop_write(effects, 128);
    });
    assert_found(found, "Scalar 128 is written, and not among the writes");
}

/// Planted fault: the carry that v_addc_u32 reads is not among its reads.
#[test]
fn dropped_read_is_found() {
    let found = with_fault("VOP2", "v_addc_u32", |_, effects| {
        let is_vcc =
            |register: &Reg| register.kind == RegisterKind::Scalar && register.number / 2 == 53;
        effects.reads.retain(|register| !is_vcc(register));
    });
    assert_found(found, "depends on a register that is not among the reads");
}
