//! Host programs of Klashtorny's table, without time.

use warpbound_base::Diagnostic;
use warpbound_launch::{GlobalMemory, LaunchFile};
use warpbound_query::Session;
use warpbound_runs::RunOptions;
use warpbound_testkit::kernels::{HOST_PROGRAMS, HostProgram};

fn session(program: &HostProgram) -> Session {
    let file = format!("{}.gfx803.co", program.source);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
    let contents = std::fs::read(format!("{folder}/{file}")).expect("it is there");
    Session::open(&file, &contents).expect("it loads")
}

fn execute(session: &Session, launch: &LaunchFile) -> Result<GlobalMemory, Diagnostic> {
    let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
    let run =
        warpbound_runs::execute(session, kernel, launch, &RunOptions::default(), &mut |_| {})?;
    Ok(run.memory)
}

/// Runs a program with an input; returns the number of its launches.
fn launches(program: &HostProgram, input: usize) -> u64 {
    let (session, mut launches) = (session(program), 0);
    let run = program.run(input, &mut |launch| {
        launches += 1;
        execute(&session, launch)
    });
    let run = run.map_err(|d| format!("{} {input}: {d}", program.name));
    assert_eq!(run.map(|_| ()), Ok(()));
    launches
}

#[test]
fn small_inputs_have_the_right_results() {
    assert_eq!(HOST_PROGRAMS.len(), 14);
    for program in HOST_PROGRAMS {
        assert!(launches(program, 0) > 0, "{}", program.name);
    }
}

#[test]
fn hosts_repeat_launches_as_often_as_the_input_needs() {
    let of = |name: &str, input: usize| {
        let program = HOST_PROGRAMS.iter().find(|program| program.name == name);
        launches(program.expect("it is in the table"), input)
    };
    // Two launches a column; the anti-diagonals of 4 x 4 tiles; 3 launches and 10 merges; a level has two launches.
    assert_eq!(of("gaussian", 0), 2 * 15);
    assert_eq!(of("nw", 1), 7);
    assert_eq!(of("hybridsort", 1), 1 + 3 + 5);
    assert!(of("bfs", 0) > 10);
}

#[test]
fn a_wrong_result_is_an_error() {
    let program = HOST_PROGRAMS.iter().find(|program| program.name == "nw");
    let program = program.expect("it is in the table");
    let session = session(program);
    let run = program.run(0, &mut |launch| {
        let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
        let mut memory = warpbound_runs::execute(
            &session,
            kernel,
            launch,
            &RunOptions::default(),
            &mut |_| {},
        )?
        .memory;
        let mut buffers = memory.buffers().iter();
        let scores = buffers.find(|buffer| buffer.name == "scores");
        let scores = scores.expect("it is a parameter").address;
        memory.write(scores + 4 * 100, &[0xff; 4]);
        Ok(memory)
    });
    assert!(run.is_err(), "the score was changed");
}
