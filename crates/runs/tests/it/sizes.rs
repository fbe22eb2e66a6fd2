//! Launches that a GPU refuses are not run.

use std::path::Path;

use warpbound_launch::{LaunchFile, LaunchSet};
use warpbound_query::Session;
use warpbound_runs::{
    RunHooks, RunOptions, TimedOptions, execute, execute_set, simulate, simulate_set,
};

fn session(name: &str) -> Session {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built");
    let contents = std::fs::read(kernels.join(name)).expect("a file");
    Session::open(name, &contents).expect("it loads")
}

fn timed(session: &Session) -> TimedOptions {
    TimedOptions::new(session.own_gpu_model().expect("a machine"))
}

/// Returns the errors of a launch set of `matmul_int` that has matrices of one element, without time and with time.
fn errors_of_set(repeated: &str) -> [Option<String>; 2] {
    let buffers = ["a", "b", "product"].map(|name| format!("{{ buffer = \"{name}\" }}"));
    let text = format!(
        "[[launch]]\nkernel = \"matmul_int\"\n{repeated}\n\
         param = [{}, {{ type = \"s32\", value = 1 }}]\n{}",
        buffers.join(", "),
        ["a", "b", "product"]
            .map(|name| format!("[[buffer]]\nname = \"{name}\"\ntype = \"s32\"\nshape = [1]\n"))
            .concat()
    );
    let set = LaunchSet::parse("set", &text, &|_| Ok(Vec::new())).expect("a set");
    let session = session("matmul_int.sm_61.cubin");
    let mut launches = 0;
    let executed = execute_set(&session, &set, &RunOptions::default(), &mut |_| {
        launches += 1
    });
    let simulated = simulate_set(&session, &set, &timed(&session), &mut |_| launches += 1);
    let errors = [executed.err(), simulated.err()].map(|error| Some(error?.to_string()));
    assert!(launches == 0 || errors == [None, None], "{launches} ran");
    errors
}

/// A round that is too large is refused before the first one runs, with its number and the axis.
#[test]
fn rounds_of_sets() {
    for (repeated, message) in [
        (
            "grid = [1, 65534]\nblock = [1]\nrepeat = 4\ngrid_step = [0, 1]",
            "launch matmul_int: round 3: grid has 65536 elements in y, at most 65535",
        ),
        (
            "grid = [1, 65536]\nblock = [1]\nrepeat = 4\ngrid_step = [0, -9]",
            "launch matmul_int: round 1: grid has 65536 elements in y, at most 65535",
        ),
        (
            "grid = [1]\nblock = [2, 2, 65]\nrepeat = 4",
            "launch matmul_int: block has 65 elements in z, at most 64",
        ),
    ] {
        for error in errors_of_set(repeated) {
            let error = error.expect("it is too large");
            assert!(error.contains(message), "{error}");
        }
    }
    let fits = "grid = [1]\nblock = [1]\nrepeat = 4\ngrid_step = [1, 2]";
    assert_eq!(errors_of_set(fits), [None, None]);
}

/// A run with time refuses the blocks that a run without time refuses: both begin with the same state.
#[test]
fn limits_of_the_kernel_hold_with_time() {
    let session = session("reduction.gfx803.co");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/launches");
    let text = std::fs::read_to_string(folder.join("reduction.reduction_tree.0.toml"));
    let files = |name: &str| Ok(std::fs::read(folder.join(name)).unwrap_or_default());
    let launch = LaunchFile::parse("launch", &text.expect("a text"), &files);
    let launch = LaunchFile {
        block: [1024, 1, 1],
        ..launch.expect("a launch")
    };
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let kernel = kernel.expect("a kernel");
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| {},
    };
    let options = RunOptions::default();
    let executed = execute(&session, kernel, &launch, &options, &mut |_| ());
    let simulated = simulate(&session, kernel, &launch, &timed(&session), hooks);
    let executed = executed.expect_err("too many threads").to_string();
    let simulated = simulated.expect_err("too many threads").to_string();
    let attribute = "(amdgpu_flat_work_group_size)";
    assert!(executed.contains(attribute) || executed.contains("requires blocks"));
    assert_eq!(simulated, executed);
}
