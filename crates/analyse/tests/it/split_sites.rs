//! Sites at which waves may split: programs of which each needs a rule.

use warpbound_analyse::split_sites::{
    FoundSite, ObstacleReason, SiteContext, SiteVerdict, find_sites,
};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Dependence, ThreadCfg};
use warpbound_base::Family;
use warpbound_ir::{Code, OpIndex, text};

/// Lines of a program, with the addresses of operations from 0 in steps of 4.
fn parse(lines: &[&str]) -> Code {
    let numbered = lines.iter().enumerate();
    let body = numbered.map(|(at, line)| format!("{:#06x}: {line}\n", at * 4));
    let mut code = text::parse("program.ir", &body.collect::<String>()).expect("a program");
    code.family = Family::Gcn3;
    code
}

fn sites_in(lines: &[&str], context: &SiteContext) -> Vec<FoundSite> {
    let code = parse(lines);
    let thread = ThreadCfg::build(&code, &Limits::default()).expect("a graph");
    let dependence = Dependence::compute(&thread);
    find_sites(&code, &thread, &dependence, context).expect("in time")
}

/// Operation, verdict and merge point of each site.
fn answers(lines: &[&str]) -> Vec<(u32, SiteVerdict, Option<u32>)> {
    let found = sites_in(lines, &SiteContext::default());
    let answers = found.iter().map(|site| {
        let point = site.merge_point.map(|at| at.0);
        (site.at.0, site.verdict(), point)
    });
    answers.collect()
}

/// Obstacles of a site: operation and reason, to splits that run apart, and to splits that merge.
fn obstacles(lines: &[&str], at: u32) -> [Vec<(u32, ObstacleReason)>; 2] {
    let found = sites_in(lines, &SiteContext::default());
    let site = found.iter().find(|site| site.at == OpIndex(at));
    let site = site.expect("a site");
    [&site.apart, &site.merged].map(|list| {
        let pairs = list.iter().map(|obstacle| (obstacle.at.0, obstacle.reason));
        pairs.collect()
    })
}

const COMPARE: &str = "S106 = ballot.low(lt_u(R0, 7)), S107 = ballot.high(lt_u(R0, 7))";
const AND_SAVEEXEC: &str =
    "warp S2 = S126, S3 = S127, S126 = and(S126, S106), S127 = and(S127, S107) set_active M1";
const XOR: &str = "warp S2 = xor(S126, S2), S3 = xor(S127, S3)";
const ANDN2_SAVEEXEC: &str = "warp S2 = S126, S3 = S127, S126 = and(S2, not(S126)), \
                              S127 = and(S3, not(S127)) set_active M1";
const RESTORE: &str = "warp S126 = or(S126, S2), S127 = or(S127, S3) set_active M1";

/// If and else, as LLVM 15 and later write it: the splits merge after the second arm, where all lanes are active.
#[test]
fn both_arms_are_sites_that_merge_after_the_second() {
    let lines = [
        COMPARE,
        AND_SAVEEXEC,
        XOR,
        "if !M1 jump 0x0014",
        "R1 = 4",
        ANDN2_SAVEEXEC,
        "if !M1 jump 0x0020",
        "R1 = 5",
        RESTORE,
        "store global[R3:R2] = R1",
        "exit",
    ];
    let verdict = SiteVerdict::SplitsAndMerges;
    assert_eq!(
        answers(&lines),
        [(3, verdict, Some(9)), (6, verdict, Some(9))]
    );
    let found = sites_in(&lines, &SiteContext::default());
    let arms = found.first().map(|site| site.arms.each_ref().map(Vec::len));
    // The second arm: the block of the join, the arm itself, the block of the merge point.
    assert_eq!(arms, Some([1, 3]));
}

/// The second arm without a branch of its own.
#[test]
fn a_short_second_arm_is_passed_before_the_merge_point() {
    let lines = [
        COMPARE,
        AND_SAVEEXEC,
        XOR,
        "if !M1 jump 0x0014",
        "R1 = 4",
        ANDN2_SAVEEXEC,
        "R1 = 5",
        RESTORE,
        "store global[R3:R2] = R1",
        "exit",
    ];
    let verdict = SiteVerdict::SplitsAndMerges;
    assert_eq!(answers(&lines), [(3, verdict, Some(8))]);
}

/// The idiom of earlier compilers: s_or_saveexec and s_xor in place of s_andn2_saveexec.
#[test]
fn the_older_idiom_is_a_site() {
    let lines = [
        COMPARE,
        AND_SAVEEXEC,
        XOR,
        "if !M1 jump 0x0014",
        "R1 = 4",
        "warp S2 = S126, S3 = S127, S126 = or(S2, S126), S127 = or(S3, S127) set_active M1",
        "warp S126 = xor(S126, S2), S127 = xor(S127, S3) set_active M1",
        "if !M1 jump 0x0024",
        "R1 = 5",
        RESTORE,
        "store global[R3:R2] = R1",
        "exit",
    ];
    let first = answers(&lines).first().copied();
    assert_eq!(first, Some((3, SiteVerdict::SplitsAndMerges, Some(10))));
}

/// A branch that is never taken, and one that is always taken back to a loop whose counter the wave keeps (planted fault: a
/// constant branch as a site). A split without lanes would leave the loop early, or go the way that no run goes.
#[test]
fn a_constant_branch_is_no_site() {
    let lines = [
        COMPARE,
        AND_SAVEEXEC,
        "if !M1 jump 0x0028",
        "warp S4 = 0",
        "warp S4 = add(S4, 1)",
        "R1 = add(R1, S4)",
        "warp S128 = eq(S4, 3)",
        "if S128 jump 0x0028",
        "if M1 jump 0x0010",
        "R1 = 0",
        RESTORE,
        "store global[R3:R2] = R1",
        "exit",
    ];
    let found = answers(&lines);
    let verdicts: Vec<_> = found
        .iter()
        .map(|(at, verdict, _)| (*at, *verdict))
        .collect();
    assert_eq!(
        verdicts.get(1),
        Some(&(8, SiteVerdict::Refused)),
        "{found:?}"
    );
}

/// If without else, with operations in the arm and after the join.
fn if_then(arm: &[&'static str], tail: &[&'static str]) -> Vec<&'static str> {
    let target = [
        "if !M1 jump 0x0010",
        "if !M1 jump 0x0014",
        "if !M1 jump 0x0018",
    ];
    let before = [COMPARE, AND_SAVEEXEC, target[arm.len()]];
    let mut lines = before.to_vec();
    lines.push("R1 = 4");
    lines.extend(arm);
    lines.push(RESTORE);
    lines.extend(tail);
    lines.extend(["store global[R3:R2] = R1", "exit"]);
    lines
}

/// Kinds of the obstacles to splits that run apart, and to splits that merge.
fn reasons(lines: &[&str]) -> [Vec<(u32, String)>; 2] {
    obstacles(lines, 2).map(|list| {
        let texts = list
            .into_iter()
            .map(|(at, reason)| (at, reason.to_string()));
        texts.collect()
    })
}

/// A mask of the whole wave is not that of a split: masks are no data after splits that run apart. The merged wave
/// has all lanes.
#[test]
fn masks_are_no_data() {
    let compare = "S8 = ballot.low(lt_u(R1, 7))";
    let [apart, merged] = reasons(&if_then(&[], &[compare, "R1 = popc(S8)"]));
    let expected = "a lane reads a scalar register: a mask of lanes";
    assert_eq!((apart, merged), (vec![(6, expected.to_owned())], vec![]));
    // The own bit of a mask is that of the lane.
    let select = "S9 = ballot.high(lt_u(R1, 7)), S8 = ballot.low(lt_u(R1, 7))";
    let own_bit = "R1 = and(funnel_right(S8, S9, special.lane), 1)";
    let [apart, merged] = reasons(&if_then(&[], &[select, own_bit]));
    assert_eq!((apart, merged), (vec![], vec![]));
}

/// A scalar register that the arm writes: the split that skips the arm has not written it, the other one has, and gives it
/// to the merged wave.
#[test]
fn scalars_of_an_arm_are_those_of_the_split_in_it() {
    let [apart, merged] = reasons(&if_then(&["warp S9 = 1"], &["R1 = S9"]));
    let expected = "a lane reads a scalar register: written in code that a split may skip";
    assert_eq!((apart, merged), (vec![(6, expected.to_owned())], vec![]));
}

/// Values of other lanes are those from before the split. In the arm, all active lanes are of one split.
#[test]
fn lanes_of_others_are_not_read() {
    let read = "R1 = from_lane(R1, 3)";
    let [apart, merged] = reasons(&if_then(&[], &[read]));
    assert_eq!((apart.len(), merged.len()), (1, 0), "{apart:?}");
    assert_eq!(reasons(&if_then(&[read], &[])), [vec![], vec![]]);
}

/// A barrier in the arm: the split that skips it does not arrive. After the join, all splits do.
#[test]
fn barriers_in_arms_are_obstacles() {
    let barrier = "barrier.wait number(0) threads(0)";
    let [apart, merged] = reasons(&if_then(&[barrier], &[]));
    assert_eq!((apart.len(), merged.len()), (1, 1), "{apart:?} {merged:?}");
    assert_eq!(reasons(&if_then(&[], &[barrier])), [vec![], vec![]]);
}

/// A branch on VCC after the join: without lanes VCC is 0, whatever the whole wave finds.
#[test]
fn branches_on_other_masks_are_obstacles() {
    let compare = "S106 = ballot.low(lt_u(R1, 7)), S107 = ballot.high(lt_u(R1, 7))";
    let [apart, merged] = reasons(&if_then(&[], &[compare, "if M0 jump 0x001c"]));
    assert_eq!((apart.len(), merged.len()), (1, 0), "{apart:?}");
}
