//! Random programs: what lanes find against the divergence analysis.

use warpbound_analyse::Launch;
use warpbound_analyse::thread::Limits;
use warpbound_driver::Flow;
use warpbound_simt::warp::Model;
use warpbound_testkit::divergence::Claims;
use warpbound_testkit::execute::{RunSeed, mix};
use warpbound_testkit::generate::{exotic, structured, unstructured};

#[test]
fn what_is_claimed_uniform_is_so_where_lanes_meet() {
    let (mut programs, mut tested) = ([0, 0, 0], 0);
    // Where lanes may miss each other, nothing is claimed; that it matters shows that the rest is a claim.
    let (mut problems, mut elsewhere) = (Vec::new(), [0, 0]);
    for program in 0..1_000u64 {
        let seed = mix(&[17, program]);
        let mut rng = fastrand::Rng::with_seed(seed);
        let (kind, code) = match rng.u8(0..4) {
            0 => ("unstructured", unstructured(&mut rng)),
            1 => ("exotic", exotic(&mut rng)),
            _ => ("structured", structured(&mut rng)),
        };
        let launch = Launch {
            warp_width: 8,
            ..Launch::default()
        };
        let model = Model {
            may_diverge: true,
            ..Model::default()
        };
        let Ok(flow) = Flow::run(&code, &launch, &model, &Limits::default()) else {
            continue;
        };
        let claims = Claims::run(&code, launch, &flow);
        let (values, presence) = claims.rest_on();
        for (count, holds) in programs.iter_mut().zip([true, values, presence]) {
            *count += usize::from(holds);
        }
        for run in 0..6 {
            let run = RunSeed {
                seed: mix(&[seed, run]),
                lanes: 255,
                fall_through_first: None,
                max_steps: 1_500,
                fault: None,
            };
            let broken = claims.check(run);
            tested += broken.tested;
            let parts = [(values, broken.values), (presence, broken.presence)];
            for ((claimed, found), count) in parts.into_iter().zip(&mut elsewhere) {
                let name = |what: &String| format!("{kind} {seed:#x} run {:#x}: {what}", run.seed);
                match claimed {
                    true => problems.extend(found.iter().take(2).map(name)),
                    false => *count += usize::from(!found.is_empty()),
                }
            }
        }
    }
    println!(
        "{programs:?} programs (all, values claimed, presence claimed), {tested} claims tested, \
         broken elsewhere in {elsewhere:?} runs"
    );
    let shown = &problems[..problems.len().min(10)];
    assert!(
        problems.is_empty(),
        "{} problems: {shown:#?}",
        problems.len()
    );
    assert!(
        programs[1] * 2 > programs[0],
        "too few programs: {programs:?}"
    );
    assert!(tested > 10_000, "too few claims: {tested}");
}
