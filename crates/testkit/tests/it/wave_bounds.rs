//! Bounds in cycles of waves: random programs, and programs in which a rule that is left out makes the bound too small.

use warpbound_query::{CacheState, SplitOptions};

use warpbound_bounds::CycleInputs;
use warpbound_isa::amd::GcnClass;
use warpbound_machine::GpuModel;
use warpbound_testkit::cycle_bounds::{
    ComparedCycles, CycleSubject, RunSetup, WAVE_MACHINES, compare_wave_program, starts,
};
use warpbound_testkit::wave_programs::{KERNEL, WaveProgram, wave_program};
use warpbound_timing::IssueKind;

const ENDPGM: u32 = 0xbf81_0000;

/// Compares the runs of some words after the prologue with their bound, whose inputs are changed.
fn compare(words: &[u32], change: &dyn Fn(&mut CycleInputs)) -> ComparedCycles {
    let mut words = words.to_vec();
    words.push(ENDPGM);
    let program = WaveProgram::with_prologue(&words);
    let machine = GpuModel::built_in("gem5-apu").expect("it comes with the tool");
    let session = program.session();
    let subject = CycleSubject {
        session: &session,
        kernel: KERNEL,
        launches: vec![program.launch(0)],
        loops: Vec::new(),
        machine: &machine,
        caches: CacheState::Warm,
        splitting: SplitOptions::default(),
    };
    let setups: Vec<RunSetup> = starts(CacheState::Warm)
        .iter()
        .flat_map(|&start| RunSetup::selections(&machine, start, &[1]))
        .collect();
    let found = subject.compare(&machine, &setups, change);
    found.expect("a program with a bound")
}

/// Asserts that a fault in the inputs of a bound is found, and that there is none without it.
fn assert_found(words: &[u32], fault: &dyn Fn(&mut CycleInputs)) {
    let found = compare(words, &|_| {});
    assert!(found.violations.is_empty(), "{:?}", found.violations);
    let found = compare(words, fault);
    assert!(
        !found.violations.is_empty(),
        "the fault is not found: at most {} cycles, bound {} ({})",
        found.worst,
        found.counted,
        found.terms
    );
}

/// Random programs on both machines: no run exceeds its bound.
#[test]
fn random_programs_keep_their_bounds() {
    let machines = WAVE_MACHINES.map(|name| GpuModel::built_in(name).expect("a machine"));
    let mut runs = 0;
    for seed in 0..24 {
        let found = compare_wave_program(&wave_program(seed), &machines);
        let found = found.expect("each program has a bound");
        assert!(
            found.violations.is_empty(),
            "{seed}: {:?}",
            found.violations
        );
        runs += found.runs;
    }
    assert!(runs >= 24 * 20, "{runs}");
}

/// Multiplications at a quarter of the rate, taken for those of the full rate.
#[test]
fn quarter_rate_as_full_is_found() {
    // v_mul_lo_u32 v8, v8, v9.
    let words = [0xd285_0008, 0x0002_1308].repeat(80);
    assert_found(&words, &|inputs| {
        let quarter = |class| class == GcnClass::Quarter;
        for facts in inputs
            .wave_facts
            .iter_mut()
            .filter(|facts| quarter(facts.class))
        {
            facts.class = GcnClass::Full;
        }
    });
}

/// Scalar registers that vector instructions write, taken to be present at once.
#[test]
fn vector_results_in_scalar_registers_are_late() {
    // v_readfirstlane_b32 s16, v8; s_add_u32 s16, s16, s16.
    let words = [0x7e20_0508, 0x8010_1010].repeat(80);
    assert_found(&words, &|inputs| {
        let is_vector = |kind| kind == IssueKind::Vector;
        for facts in inputs
            .wave_facts
            .iter_mut()
            .filter(|facts| is_vector(facts.kind))
        {
            facts.writes.retain(|cell| cell.is_per_lane());
        }
    });
}

/// Jumps taken for branches that are not taken.
#[test]
fn taken_branches_are_found() {
    // s_branch over s_nop 0.
    let words = [0xbf82_0001, 0xbf80_0000].repeat(100);
    assert_found(&words, &|inputs| {
        for facts in &mut inputs.wave_facts {
            facts.branches = false;
        }
    });
}

/// Scalar loads of two dwords, taken to count once.
#[test]
fn scalar_loads_of_two_dwords_count_twice() {
    // s_load_dwordx2 s[16:17], s[8:9], 64 n; s_waitcnt lgkmcnt(1).
    let words: Vec<u32> = (0..30)
        .flat_map(|n| [0xc006_0404, 64 * n, 0xbf8c_017f])
        .collect();
    assert_found(&words, &|inputs| {
        for facts in &mut inputs.wave_facts {
            facts.raises.lgkm = facts.raises.lgkm.min(1);
        }
    });
}

/// Bank conflicts of LDS, ignored.
#[test]
fn bank_conflicts_are_found() {
    // v_lshlrev_b32 v3, 6, v0; ds_read_b32 v8, v3; s_waitcnt lgkmcnt(0).
    let mut words = vec![0x2406_0086];
    words.extend([0xd86c_0000, 0x0800_0003].repeat(80));
    words.push(0xbf8c_007f);
    assert_found(&words, &|inputs| {
        let limits = inputs.accesses.values_mut();
        for space in limits.flat_map(|limits| &mut limits.spaces) {
            space.conflicts = 0;
        }
    });
}

/// Conflicts of the second of two accesses of an instruction, ignored.
#[test]
fn conflicts_of_both_accesses_of_an_instruction_are_found() {
    // v_lshlrev_b32 v3, 6, v0; ds_read2_b32 v[8:9], v3 offset1:1; s_waitcnt lgkmcnt(0).
    let mut words = vec![0x2406_0086];
    words.extend([0xd86e_0100, 0x0800_0003].repeat(80));
    words.push(0xbf8c_007f);
    assert_found(&words, &|inputs| {
        let limits = inputs.accesses.values_mut();
        for space in limits.flat_map(|limits| &mut limits.spaces) {
            space.conflicts /= 2;
        }
    });
}

/// Conflicts of banks of one byte, of which lanes that read four words side by side have more than of banks of words.
#[test]
fn conflicts_by_byte_are_found() {
    // v_lshlrev_b32 v3, 4, v0; ds_read_b128 v[8:11], v3; s_waitcnt lgkmcnt(0).
    let mut words = vec![0x2406_0084];
    words.extend([0xd9fe_0000, 0x0800_0003].repeat(80));
    words.push(0xbf8c_007f);
    assert_found(&words, &|inputs| {
        let limits = inputs.accesses.values_mut();
        for space in limits.flat_map(|limits| &mut limits.spaces) {
            // For each of four words and each half of the wave, lanes in four rows of the banks of words.
            space.conflicts = space.conflicts.min(24);
        }
    });
}

/// Programs whose time is known to the cycle: a wave begins in the first turn of its SIMD after the start of its group.
#[test]
fn least_programs_keep_their_bounds() {
    // s_nop 0.
    for nops in [0, 1, 5] {
        let mut code = vec![0xbf80_0000; nops];
        code.push(ENDPGM);
        let program = WaveProgram {
            seed: 0,
            code,
            loops: Vec::new(),
            threads: 64,
        };
        for name in WAVE_MACHINES {
            let machine = GpuModel::built_in(name).expect("it comes with the tool");
            let session = program.session();
            let subject = CycleSubject {
                session: &session,
                kernel: KERNEL,
                launches: vec![program.launch(0)],
                loops: Vec::new(),
                machine: &machine,
                caches: CacheState::Warm,
                splitting: SplitOptions::default(),
            };
            let setups: Vec<RunSetup> = starts(CacheState::Warm)
                .iter()
                .flat_map(|&start| RunSetup::selections(&machine, start, &[1]))
                .collect();
            let found = subject.compare(&machine, &setups, &|_| {});
            let found = found.expect("a program with a bound");
            let text = format!("{nops} on {name}: {:?}", found.violations);
            assert!(found.violations.is_empty(), "{text}");
        }
    }
}
