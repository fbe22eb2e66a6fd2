use super::*;

type Warp = ConvergenceBarriers<u32>;
type Step<'a> = (ControlTransfer<'a, u32>, Mask);

/// Warp of four lanes at point 0.
fn warp() -> Warp {
    Warp::new(0, 0b1111, DivergenceOrder::TakenFirst)
}

/// Applies a transfer at the running point, whose next point is the one after it.
fn apply(warp: &mut Warp, (transfer, taken): Step<'_>) -> Result<bool, TransferError> {
    let (at, _) = warp.running().expect("a group");
    warp.apply(&transfer, taken, at + 1)
}

#[test]
fn lanes_wait_for_all_that_opened_the_barrier() {
    let mut warp = warp();
    apply(&mut warp, (ControlTransfer::OpenBarrier(3), 0b1111)).expect("opens");
    assert_eq!(
        apply(&mut warp, (ControlTransfer::Jump(10), 0b0011)),
        Ok(true)
    );
    assert_eq!(warp.running(), Some((10, 0b0011)));
    // These lanes wait at point 10, and the others run.
    apply(&mut warp, (ControlTransfer::JoinBarrier(3), 0b0011)).expect("waits");
    assert_eq!(warp.running(), Some((2, 0b1100)));
    apply(&mut warp, (ControlTransfer::Jump(10), 0b1100)).expect("jumps");
    apply(&mut warp, (ControlTransfer::JoinBarrier(3), 0b1100)).expect("opens");
    assert_eq!(warp.running(), Some((11, 0b1111)));
}

#[test]
fn lanes_that_break_or_exit_are_not_waited_for() {
    for leaves in [ControlTransfer::BreakBarrier(0), ControlTransfer::Exit] {
        let mut warp = warp();
        apply(&mut warp, (ControlTransfer::OpenBarrier(0), 0b1111)).expect("opens");
        apply(&mut warp, (ControlTransfer::Jump(10), 0b0001)).expect("jumps");
        apply(&mut warp, (ControlTransfer::JoinBarrier(0), 0b0001)).expect("waits");
        assert_eq!(warp.running(), Some((2, 0b1110)));
        let ends = leaves == ControlTransfer::Exit;
        apply(&mut warp, (leaves, 0b1110)).expect("leaves");
        let first = if ends { (11, 0b0001) } else { (3, 0b1110) };
        assert_eq!(warp.running(), Some(first));
    }
}

#[test]
fn a_barrier_in_a_register_is_the_same_later() {
    let mut warp = warp();
    apply(&mut warp, (ControlTransfer::OpenBarrier(6), 0b1111)).expect("opens");
    let saved: Vec<u32> = (0..4).map(|lane| warp.barrier_in(6, lane)).collect();
    apply(&mut warp, (ControlTransfer::SaveBarrier(6), 0b1111)).expect("saves");
    assert_eq!(warp.barrier_in(6, 0), 0);
    // A callee opens and passes a barrier of its own.
    apply(&mut warp, (ControlTransfer::OpenBarrier(6), 0b1111)).expect("opens");
    apply(&mut warp, (ControlTransfer::JoinBarrier(6), 0b1111)).expect("passes");
    let write = ControlTransfer::WriteBarrier {
        register: 6,
        values: &saved,
    };
    apply(&mut warp, (write, 0b1111)).expect("writes");
    apply(&mut warp, (ControlTransfer::Jump(20), 0b0100)).expect("jumps");
    apply(&mut warp, (ControlTransfer::JoinBarrier(6), 0b0100)).expect("waits");
    assert_eq!(warp.running(), Some((6, 0b1011)));
}

#[test]
fn all_lanes_meet_and_lanes_that_wait_for_each_other_are_let_go_or_reported() {
    let mut warp = warp();
    apply(&mut warp, (ControlTransfer::OpenBarrier(0), 0b1111)).expect("opens");
    apply(&mut warp, (ControlTransfer::Jump(10), 0b0011)).expect("jumps");
    // Two lanes wait for all four, of whom two wait at the barrier for these.
    apply(&mut warp, (ControlTransfer::Meet(None), 0b0011)).expect("waits");
    apply(&mut warp, (ControlTransfer::JoinBarrier(0), 0b1100)).expect("passes alone");
    assert_eq!(warp.running(), Some((3, 0b1100)));
    apply(&mut warp, (ControlTransfer::Exit, 0b1100)).expect("ends");
    assert_eq!(warp.running(), Some((11, 0b0011)));
    // Lanes that wait for all others at two places wait for ever.
    apply(&mut warp, (ControlTransfer::Jump(30), 0b0001)).expect("jumps");
    apply(&mut warp, (ControlTransfer::Meet(None), 0b0001)).expect("waits");
    let meets = apply(&mut warp, (ControlTransfer::Meet(None), 0b0010));
    assert_eq!(meets, Err(TransferError::WaitsForEver));
}

#[test]
fn lanes_that_spin_let_waiting_lanes_go_on() {
    let mut warp = warp();
    apply(&mut warp, (ControlTransfer::OpenBarrier(0), 0b1111)).expect("opens");
    apply(&mut warp, (ControlTransfer::Jump(10), 0b0001)).expect("jumps");
    apply(&mut warp, (ControlTransfer::JoinBarrier(0), 0b0001)).expect("waits");
    apply(&mut warp, (ControlTransfer::Yield, 0b1110)).expect("yields");
    assert_eq!(warp.running(), Some((11, 0b0001)));
}

#[test]
fn lanes_that_went_elsewhere_miss_at_a_barrier_of_the_block() {
    let mut warp = warp();
    assert!(!warp.misses_lanes(0b1111));
    assert!(
        warp.misses_lanes(0b0111),
        "a lane whose condition does not hold"
    );
    apply(&mut warp, (ControlTransfer::Jump(10), 0b0011)).expect("jumps");
    assert!(warp.misses_lanes(0b0011));
    // Lanes that have exited are not missing.
    apply(&mut warp, (ControlTransfer::Exit, 0b0011)).expect("exits");
    assert!(!warp.misses_lanes(0b1100));
}

/// Waits for a set of lanes, to execute the code before point 25 with them.
fn gather(lanes: Option<Mask>) -> ControlTransfer<'static, u32> {
    ControlTransfer::Gather { lanes, after: 25 }
}

#[test]
fn groups_that_gather_execute_code_once_and_go_on_as_they_came() {
    let mut warp = warp();
    apply(&mut warp, (ControlTransfer::Jump(20), 0b0011)).expect("jumps");
    apply(&mut warp, (gather(Some(0b0111)), 0b0011)).expect("waits");
    // A lane that is not waited for comes with another one, and a third exits.
    assert_eq!(warp.running(), Some((1, 0b1100)));
    apply(&mut warp, (ControlTransfer::Exit, 0b1000)).expect("exits");
    apply(&mut warp, (ControlTransfer::Jump(20), 0b0100)).expect("jumps");
    apply(&mut warp, (gather(Some(0b0111)), 0b0100)).expect("comes");
    assert_eq!(warp.running(), Some((21, 0b0111)));
    apply(&mut warp, (ControlTransfer::Jump(24), 0b0111)).expect("jumps");
    assert_eq!(
        apply(&mut warp, (ControlTransfer::Scatter, 0b0111)),
        Ok(true)
    );
    assert_eq!(warp.running(), Some((25, 0b0011)));
    apply(&mut warp, (ControlTransfer::Exit, 0b0011)).expect("exits");
    assert_eq!(warp.running(), Some((25, 0b0100)));
    // A second time there is nothing to split.
    apply(&mut warp, (ControlTransfer::Scatter, 0b0100)).expect("goes on");
    assert_eq!(warp.running(), Some((26, 0b0100)));
}

#[test]
fn lanes_that_exit_are_not_waited_for_by_lanes_that_gather() {
    let mut warp = warp();
    apply(&mut warp, (ControlTransfer::Jump(20), 0b0110)).expect("jumps");
    apply(&mut warp, (gather(None), 0b0110)).expect("waits");
    apply(&mut warp, (ControlTransfer::Exit, 0b1001)).expect("exits");
    assert_eq!(warp.running(), Some((21, 0b0110)));
    // Lanes that diverge in the code leave it one after the other.
    apply(&mut warp, (ControlTransfer::Jump(24), 0b0010)).expect("jumps");
    apply(&mut warp, (ControlTransfer::Scatter, 0b0010)).expect("leaves");
    assert_eq!(warp.running(), Some((25, 0b0010)));
    apply(&mut warp, (ControlTransfer::Exit, 0b0010)).expect("exits");
    assert_eq!(warp.running(), Some((22, 0b0100)));
    apply(&mut warp, (ControlTransfer::Jump(24), 0b0100)).expect("jumps");
    apply(&mut warp, (ControlTransfer::Scatter, 0b0100)).expect("leaves");
    assert_eq!(warp.running(), Some((25, 0b0100)));
}

#[test]
fn lanes_that_gather_at_two_points_are_reported() {
    for (elsewhere, expected) in [
        (Some(30), TransferError::GathersApart),
        (None, TransferError::WaitsForEver),
    ] {
        let mut warp = warp();
        apply(&mut warp, (ControlTransfer::Jump(20), 0b0011)).expect("jumps");
        apply(&mut warp, (gather(None), 0b0011)).expect("waits");
        let last = match elsewhere {
            Some(to) => {
                apply(&mut warp, (ControlTransfer::Jump(to), 0b1100)).expect("jumps");
                gather(None)
            }
            None => ControlTransfer::Meet(None),
        };
        assert_eq!(apply(&mut warp, (last, 0b1100)), Err(expected));
    }
}

#[test]
fn code_that_ends_elsewhere_is_not_in_the_model() {
    let mut warp = warp();
    apply(&mut warp, (gather(None), 0b1111)).expect("gathers at once");
    assert_eq!(warp.running(), Some((1, 0b1111)));
    let elsewhere = apply(&mut warp, (ControlTransfer::Scatter, 0b1111));
    assert_eq!(elsewhere, Err(TransferError::NotInModel));
    apply(&mut warp, (ControlTransfer::Jump(24), 0b1111)).expect("jumps");
    let part = apply(&mut warp, (ControlTransfer::Scatter, 0b0011));
    assert_eq!(part, Err(TransferError::NotInModel));
    assert_eq!(
        apply(&mut warp, (ControlTransfer::Scatter, 0b1111)),
        Ok(false)
    );
    assert_eq!(warp.running(), Some((25, 0b1111)));
}

#[test]
fn lanes_at_a_barrier_let_lanes_go_that_gather() {
    let mut warp = warp();
    apply(&mut warp, (ControlTransfer::OpenBarrier(0), 0b1111)).expect("opens");
    apply(&mut warp, (ControlTransfer::Jump(20), 0b0011)).expect("jumps");
    apply(&mut warp, (gather(None), 0b0011)).expect("waits");
    // These lanes come to the code later.
    apply(&mut warp, (ControlTransfer::JoinBarrier(0), 0b1100)).expect("passes alone");
    assert_eq!(warp.running(), Some((3, 0b1100)));
    apply(&mut warp, (ControlTransfer::Jump(20), 0b1100)).expect("jumps");
    apply(&mut warp, (gather(None), 0b1100)).expect("comes");
    assert_eq!(warp.running(), Some((21, 0b1111)));
}
