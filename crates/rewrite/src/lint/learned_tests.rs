//! Planted faults in control words of compiled code from Volta on, and the table of required distances.

use warpbound_analyse::ThreadCfg;
use warpbound_base::{CodeAddr, Family};
use warpbound_isa::Program;
use warpbound_isa::nvidia::{Arch, ControlWord, SassProgram};
use warpbound_load::{Image, Isa};

use super::{ControlHazard, RegisterUse, learned, lint};

/// Folder of the cubins.
const WIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/wide/");

/// Certain finding: hazard, address of the instruction that comes too early, address of the earlier one.
type Found = (ControlHazard, u32, u32);

/// Findings in the first kernel of a file after control words were changed; the change takes an address.
fn found(file: &str, change: &dyn Fn(u32, &mut ControlWord)) -> Vec<Found> {
    let data = std::fs::read(format!("{WIDE}{file}")).unwrap();
    let image = Image::parse(&data).unwrap();
    let Isa::Sm(sm) = image.isa() else {
        panic!("{file}");
    };
    let arch = Arch::from_sm(sm.number.into()).unwrap();
    let kernel = &image.kernels().unwrap()[0];
    let mut code = kernel.code().to_vec();
    for (at, slot) in (0..).zip(code.as_chunks_mut::<16>().0) {
        let word = u128::from_le_bytes(*slot);
        let mut control = ControlWord::of_field(word);
        change(16 * at, &mut control);
        *slot = control.in_word(word).to_le_bytes();
    }
    let program = Program::Nvidia(SassProgram::decode(arch, &code).unwrap());
    let code = warpbound_ir::lift(kernel, &program).unwrap();
    let Program::Nvidia(program) = &program else {
        panic!("{file}");
    };
    let cfg = ThreadCfg::build(&code, &Default::default()).unwrap();
    let addr = |at: warpbound_ir::OpIndex| {
        let CodeAddr(addr) = code.ops[at.index()].addr;
        addr
    };
    let findings = lint(&code, program, &cfg).findings;
    let certain = findings.iter().filter(|finding| !finding.is_possible);
    certain
        .map(|finding| (finding.hazard, addr(finding.at), addr(finding.producer)))
        .collect()
}

/// Findings in `nested_divergent` of `nested_loops.sm_90.cubin`.
fn nested(change: &dyn Fn(u32, &mut ControlWord)) -> Vec<Found> {
    found("nested_loops.sm_90.cubin", change)
}

/// No finding in the kernels in the repository, which NVIDIA's compiler wrote, and a number for most of the reads.
#[test]
fn compiled_code_has_no_findings() {
    for chip in ["sm_75", "sm_87", "sm_90", "sm_120"] {
        for source in [
            "nested_loops",
            "atomics",
            "backprop",
            "bitonic_sort",
            "f64_division",
        ] {
            let file = format!("{source}.{chip}.cubin");
            assert_eq!(found(&file, &|_, _| {}), [], "{file}");
        }
    }
}

/// `SHF R3` at 0x50 is read by `LEA.HI` after 4 cycles; after 3 it is too early.
#[test]
fn a_stall_below_the_required_distance_is_found() {
    let lowered = |addr, control: &mut ControlWord| {
        if addr == 0x50 {
            control.usched -= 1;
        }
    };
    assert_eq!(
        nested(&lowered),
        [(ControlHazard::ReadTooEarly, 0x60, 0x50)]
    );
}

/// `ISETP` at 0x120 waits for the scoreboard of the `LDG R13` at 0x100.
#[test]
fn a_removed_wait_is_found() {
    let without = |addr, control: &mut ControlWord| {
        if addr == 0x120 {
            control.wait_mask = 0;
        }
    };
    let found = nested(&without);
    let expected = (ControlHazard::ResultNotAwaited, 0x120, 0x100);
    assert!(found.contains(&expected), "{found:?}");
}

/// The wait of the `ISETP` at 0x120 says nothing if `LDG R13` sets no scoreboard.
#[test]
fn a_result_without_a_scoreboard_is_found() {
    let without = |addr, control: &mut ControlWord| {
        if addr == 0x100 {
            control.write_sb = None;
        }
    };
    let found = nested(&without);
    let expected = (ControlHazard::ResultNotAwaited, 0x120, 0x100);
    assert!(found.contains(&expected), "{found:?}");
}

/// A wait for a scoreboard that nothing sets is harmless.
#[test]
fn a_wait_for_nothing_is_allowed() {
    let with = |addr, control: &mut ControlWord| {
        if addr == 0x50 {
            control.wait_mask |= 1 << 5;
        }
    };
    assert_eq!(nested(&with), []);
}

/// Without scoreboards for sources, some register is written while a store may still read it.
#[test]
fn an_overwritten_source_is_found() {
    for chip in ["sm_75", "sm_87", "sm_90", "sm_120"] {
        let without = |_, control: &mut ControlWord| control.read_sb = None;
        let files = ["bitonic_sort", "backprop", "f64_division", "atomics"];
        let found: Vec<Found> = files
            .iter()
            .flat_map(|source| found(&format!("{source}.{chip}.cubin"), &without))
            .collect();
        let is_source = |(hazard, ..): &Found| *hazard == ControlHazard::SourceOverwritten;
        assert!(found.iter().any(is_source), "{chip}: {found:?}");
    }
}

/// `IMAD.IADD R11` at 0x200 is read by `IMAD.WIDE` at 0x1c0 in the next iteration: after 23 cycles, and with stall counts of
/// 1 after 3 of 4. Fails if the back edge is not followed.
#[test]
fn a_hazard_of_the_next_iteration_is_found() {
    let lowered = |addr, control: &mut ControlWord| {
        if (0x200..=0x220).contains(&addr) {
            control.usched = 17;
        }
    };
    let found = nested(&lowered);
    let expected = (ControlHazard::ReadTooEarly, 0x1c0, 0x200);
    assert!(found.contains(&expected), "{found:?}");
}

/// `ISETP P0` at 0x210 decides the branch at 0x220 after 13 cycles; after 12 it is too early, although an operand could be
/// read after 4.
#[test]
fn a_predicate_that_decides_a_branch_too_early_is_found() {
    let lowered = |addr, control: &mut ControlWord| {
        if addr == 0x210 {
            control.usched -= 1;
        }
    };
    assert_eq!(
        nested(&lowered),
        [(ControlHazard::ReadTooEarly, 0x220, 0x210)]
    );
}

/// Distances that others publish: for Ampere and Ada in Mesa's NAK (`sm80_instr_latencies.rs`), for an H200 the latencies
/// of our experiments (`machine/nvidia/h200.toml`).
const PUBLISHED: &[(&str, &str, &str, &[Arch], u8)] = &[
    ("alu", "alu", "R", AMPERE, 4),
    ("alu", "dual", "R", AMPERE, 4),
    ("alu", "imad", "R", AMPERE, 5),
    ("alu", "fma", "R", AMPERE, 5),
    ("alu", "fp64", "R", AMPERE, 6),
    ("alu", "lsu", "R", AMPERE, 5),
    ("imad", "imad", "R", AMPERE, 4),
    ("imad", "alu", "R", AMPERE, 5),
    ("fma", "fma", "R", AMPERE, 4),
    ("fma", "dual", "R", AMPERE, 5),
    ("imad", "wide", "R", AMPERE, 4),
    ("imad", "fp64", "R", AMPERE, 6),
    ("half.mma", "wide", "R", AMPERE, 10),
    ("fma", "fma", "R", HOPPER, 4),
    ("imad", "imad", "R", HOPPER, 4),
    ("fp64", "fp64", "R", HOPPER, 8),
];

const AMPERE: &[Arch] = &[Arch::Sm80, Arch::Sm86, Arch::Sm89];
const HOPPER: &[Arch] = &[Arch::Sm90];

/// Learned distances are those that others publish.
#[test]
fn learned_distances_are_the_published_ones() {
    let mut compared = 0;
    for &(producer, user, used, archs, cycles) in PUBLISHED {
        for &arch in archs {
            let distances = learned::distances(arch).unwrap();
            let (from, to) = (distances.class(producer), distances.class(user));
            let used = RegisterUse::named(used).unwrap();
            if let Some(least) = distances.least(from, to, used) {
                compared += 1;
                assert_eq!(least, cycles, "{producer} {user} {} {arch}", used.name());
            }
        }
    }
    assert!(compared >= 30, "{compared}");
}

/// Each row has known classes, a known use, and a number or `-` for each chip.
#[test]
fn each_row_of_the_table_is_read() {
    let mut rows = learned::rows();
    let header = rows.next().unwrap();
    let archs = Arch::of_family(Family::Volta).filter(|arch| ![70, 72, 107].contains(&arch.sm()));
    let numbers: Vec<String> = archs.map(|arch| arch.sm().to_string()).collect();
    assert_eq!(header[3..], numbers);
    for row in rows {
        assert_eq!(row.len(), header.len(), "{row:?}");
        for class in &row[..2] {
            assert!(learned::CLASSES.contains(class), "{row:?}");
        }
        assert!(RegisterUse::named(row[2]).is_some(), "{row:?}");
        for word in row[3..].iter().filter(|word| **word != "-") {
            let (cycles, samples) = word.split_once(':').unwrap();
            assert!(
                cycles.parse::<u8>().is_ok() && samples.parse::<u64>().is_ok(),
                "{row:?}"
            );
        }
    }
}
