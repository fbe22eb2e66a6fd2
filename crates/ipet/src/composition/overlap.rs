//! Resources overlap in runs, and yet their services have to be added. In the run below each resource idles while the
//! other one works, although neither lets a request wait (Lu and Kumar, "Distributed Scheduling Based on Due Dates
//! and Buffer Priorities", 1991).

use super::tests::{Numbers, limit, shape};
use super::*;

/// Resource that serves one warp at a time, with the stages that it serves, the preferred one first.
struct Server {
    stages: [usize; 2],
    /// Stage of the warp under service, and the time at which the service ends.
    busy: Option<(usize, u64)>,
}

/// Returns the time after which all warps have passed four stages. The first and the last stage, short and long, are
/// at one resource; the two stages between them, long and short, are at another.
fn run_of_stages(warps: u64, services: [u64; 4]) -> u64 {
    let mut waiting = [warps, 0, 0, 0, 0];
    let mut servers = [[3, 0], [1, 2]].map(|stages| Server { stages, busy: None });
    let mut now = 0;
    while waiting[4] < warps {
        for server in servers.iter_mut().filter(|server| server.busy.is_none()) {
            let next = server.stages.into_iter().find(|&stage| waiting[stage] > 0);
            if let Some(stage) = next {
                waiting[stage] -= 1;
                server.busy = Some((stage, now + services[stage]));
            }
        }
        let ends = servers.iter().filter_map(|server| Some(server.busy?.1));
        now = ends.min().unwrap_or(now);
        for server in &mut servers {
            if let Some((stage, _)) = server.busy.filter(|(_, end)| *end == now) {
                waiting[stage + 1] += 1;
                server.busy = None;
            }
        }
    }
    now
}

#[test]
fn the_greatest_resource_is_no_bound() {
    const WARPS: u64 = 16;
    let [short, long] = [1, 20];
    let run = run_of_stages(WARPS, [short, long, short, long]);
    let each = short + long;
    let numbers = Numbers {
        path: 2 * each,
        sm: each,
        gpu: each,
        ..Numbers::default()
    };
    let bound = limit(shape(1, WARPS, 1, (1, 1)), BlockChain::OneWarp, numbers);
    let of_one_resource = 2 * each + WARPS * each;
    assert!(
        of_one_resource < run && run <= bound,
        "{of_one_resource}, {run}, {bound}"
    );
}
