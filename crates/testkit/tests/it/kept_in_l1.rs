//! Bounds in cycles of launches whose loads stay in the L1 cache of each SM, and of launches where they do not (SOUNDNESS
//! 20.3).

use warpbound_audit::audit::PathOrder;
use warpbound_bounds::cycles::CycleInputs;
use warpbound_cycles::AccessDirection;
use warpbound_isa::instr::MemorySpace;
use warpbound_machine::{GpuModel, Parameter};

use crate::wide_launches::Subject;

/// Launch of a kernel of `kernels/limits/kept_in_l1.cu`.
fn walk(kernel: &str) -> Subject {
    let folder = "limits/kept_in_l1";
    let mut subject =
        Subject::of_files(&format!("{folder}.sm_90.cubin"), &format!("{folder}.toml"));
    subject.launch.kernel = Some(kernel.to_owned());
    subject
}

/// Machine where a load from the L2 cache takes far longer than one from the L1 cache.
fn machine(sms: u64) -> GpuModel {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    base.with(Parameter::L2Hit, 20_000)
        .with(Parameter::L1Hit, 32)
        .with(Parameter::SmCount, sms)
}

/// Slowest of the runs of a launch, which are within their bound.
fn slowest(subject: &Subject, machine: &GpuModel) -> u64 {
    let found = subject.compare(machine.clone(), PathOrder::TakenFirst);
    let found = found.expect("it suits the kernel");
    assert_eq!(found.refused, None);
    assert!(found.exceeded.is_empty(), "{:?}", found.exceeded);
    found.worst.map_or(0, |(worst, _)| worst)
}

/// Takes all loads from global memory for ones that stay in the L1 cache.
fn keep(inputs: &mut CycleInputs) {
    inputs.sectors_of_l1 = Some(64);
    for limits in inputs.accesses.values_mut() {
        let is_load = limits.direction == AccessDirection::Load;
        for space in &mut limits.spaces {
            space.stays_in_l1 = is_load && space.space == MemorySpace::Global;
        }
    }
}

/// Takes no load for one that stays.
fn lose(inputs: &mut CycleInputs) {
    inputs.sectors_of_l1 = None;
    for space in inputs
        .accesses
        .values_mut()
        .flat_map(|limits| &mut limits.spaces)
    {
        space.stays_in_l1 = false;
    }
}

#[test]
fn lines_that_stay_are_waited_for_once() {
    let subject = walk("walk_again");
    for sms in [1, 2, 3] {
        let machine = machine(sms);
        let worst = slowest(&subject, &machine);
        let bound = subject.planted_bound(&machine, |_| {});
        let of_misses = subject.planted_bound(&machine, lose);
        assert!(worst <= bound, "{worst} {bound}");
        assert!(3 * bound < of_misses, "{bound} {of_misses}");
        // Each sector is missing once in an SM, and some run waits for most of them one after the other.
        let planted = subject.planted_bound(&machine, |inputs| inputs.sectors_of_l1 = Some(8));
        assert!(planted < worst, "{planted} {worst}");
    }
}

/// A cache of too few lines.
#[test]
fn lines_that_a_small_cache_loses_are_waited_for_again() {
    let subject = walk("walk_again");
    for (sets, lines) in [(4, 8), (1, 12)] {
        let machine = machine(1)
            .with(Parameter::L1Sets, sets)
            .with(Parameter::L1Bytes, 128 * lines);
        let worst = slowest(&subject, &machine);
        assert_eq!(
            subject.planted_bound(&machine, |_| {}),
            subject.planted_bound(&machine, lose)
        );
        let planted = subject.planted_bound(&machine, keep);
        assert!(planted < worst, "{sets} {lines}: {planted} {worst}");
    }
}

#[test]
fn loads_that_need_not_stay_wait_each_time() {
    let machine = machine(2);
    for kernel in [
        "walk_and_count",
        "walk_and_fence",
        "walk_volatile",
        "walk_streaming",
    ] {
        let subject = walk(kernel);
        slowest(&subject, &machine);
        assert_eq!(
            subject.planted_bound(&machine, |_| {}),
            subject.planted_bound(&machine, lose),
            "{kernel}"
        );
    }
    let subject = walk("walk_volatile");
    let planted = subject.planted_bound(&machine, keep);
    let worst = slowest(&subject, &machine);
    assert!(planted < worst, "{planted} {worst}");
}
