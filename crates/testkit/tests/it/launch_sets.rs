//! Launch sets: the committed ones against references of their programs, and the rules of execution, each with a fault.

use std::collections::VecDeque;

use warpbound_audit::audit::AuditOptions;
use warpbound_audit::audit_set;
use warpbound_base::Diagnostic;
use warpbound_launch::{
    GlobalMemory, LaunchBuffer, LaunchFile, LaunchSet, SetContents, compare_buffers,
};
use warpbound_machine::GpuModel;
use warpbound_query::{BoundOptions, Session};
use warpbound_runs::{RunOptions, StreamOrder, TimedOptions, execute_set, run_set, simulate_set};

fn folder(name: &str) -> String {
    format!("{}/../../kernels/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn session(source: &str) -> Session {
    let file = format!("{source}.sm_61.cubin");
    let contents = std::fs::read(folder(&format!("built/{file}"))).expect("it is there");
    Session::open(&file, &contents).expect("it loads")
}

fn parse(text: &str) -> LaunchSet {
    let none = |name: &str| Err(Diagnostic::new("no such file").in_file(name));
    LaunchSet::parse("set.toml", text, &none).expect("it can be read")
}

/// Source with the kernels, and the set.
fn committed(name: &str) -> (Session, LaunchSet) {
    let text = std::fs::read_to_string(folder(&format!("sets/{name}.toml"))).expect("it is there");
    (session(name), parse(&text))
}

#[track_caller]
fn buffer<'a>(set: &'a LaunchSet, name: &str) -> &'a LaunchBuffer {
    let found = set.objects.buffers().find(|(other, _)| *other == name);
    found.expect("there is a buffer of this name").1
}

fn ints(bytes: &[u8]) -> Vec<i32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| i32::from_le_bytes(word)).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| f32::from_le_bytes(word)).collect()
}

/// Bytes that the set expects at the end.
#[track_caller]
fn expected<'a>(set: &'a LaunchSet, name: &str) -> &'a [u8] {
    let expect = buffer(set, name).expect.as_ref();
    &expect.expect("it states the end").bytes
}

fn rounds(session: &Session, set: &LaunchSet) -> u64 {
    let run = execute_set(session, set, &RunOptions::default(), &mut |_| ());
    let run = run.expect("it ends");
    assert_eq!(run.unexpected, None);
    run.report.repetitions[0].rounds
}

#[test]
fn bfs_expects_the_distances_of_a_search() {
    let (session, set) = committed("bfs");
    let nodes = ints(&buffer(&set, "nodes").bytes);
    let edges = ints(&buffer(&set, "edges").bytes);
    let mut cost = vec![-1; nodes.len() / 2];
    cost[0] = 0;
    let mut queue = VecDeque::from([0]);
    while let Some(node) = queue.pop_front() {
        let (first, degree) = (nodes[2 * node] as usize, nodes[2 * node + 1] as usize);
        for &target in &edges[first..first + degree] {
            let target = target as usize;
            if cost[target] < 0 {
                cost[target] = cost[node] + 1;
                queue.push_back(target);
            }
        }
    }
    assert_eq!(ints(expected(&set, "cost")), cost);
    let visited: Vec<u8> = cost.iter().map(|&cost| (cost >= 0).into()).collect();
    assert_eq!(expected(&set, "visited"), visited);
    assert!(visited.contains(&0), "some node is not reached");
    let levels = cost.iter().max().copied().unwrap_or(0) as u64;
    assert!(levels > 10, "{levels}");
    // The last round finds no new node.
    assert_eq!(rounds(&session, &set), levels + 1);
}

#[test]
fn gaussian_expects_the_elimination() {
    let (session, set) = committed("gaussian");
    let double = |name: &str| -> Vec<f64> {
        let start = floats(&buffer(&set, name).bytes);
        start.into_iter().map(f64::from).collect()
    };
    let (mut matrix, mut right) = (double("matrix"), double("right"));
    let size = right.len();
    let mut multipliers = vec![0.0; size * size];
    for t in 0..size - 1 {
        for row in t + 1..size {
            let factor = matrix[row * size + t] / matrix[t * size + t];
            multipliers[row * size + t] = factor;
            for column in t..size {
                matrix[row * size + column] -= factor * matrix[t * size + column];
            }
            right[row] -= factor * right[t];
        }
    }
    for (name, end) in [
        ("matrix", &matrix),
        ("right", &right),
        ("multipliers", &multipliers),
    ] {
        let stated = floats(expected(&set, name));
        assert_eq!(stated.len(), end.len());
        for (stated, end) in stated.iter().zip(end) {
            assert!(
                (f64::from(*stated) - end).abs() < 1e-6,
                "{name}: {stated} {end}"
            );
        }
    }
    assert_eq!(rounds(&session, &set), size as u64 - 1);
}

/// First difference from what a set expects, after it is executed with `change`d rounds.
fn unexpected(name: &str, change: impl FnOnce(&mut LaunchSet)) -> Result<(), String> {
    let (session, mut set) = committed(name);
    change(&mut set);
    let run = execute_set(&session, &set, &RunOptions::default(), &mut |_| ());
    let run = run.map_err(|diagnostic| diagnostic.to_string())?;
    match run.unexpected {
        Some(diagnostic) => Err(diagnostic.to_string()),
        None => Ok(()),
    }
}

/// Planted fault: a repetition is executed once too few. The results show it.
#[test]
fn one_round_too_few_is_found() {
    assert_eq!(unexpected("gaussian", |_| ()), Ok(()));
    let fewer = |set: &mut LaunchSet| set.repetitions[0].rounds -= 1;
    let found = unexpected("gaussian", fewer).expect_err("it differs");
    assert!(found.contains(" at the end, not "), "{found}");
    // The search with as many rounds as levels has not seen that there are no more.
    let fewer = |set: &mut LaunchSet| set.repetitions[0].rounds = 17;
    let found = unexpected("bfs", fewer).expect_err("it does not end");
    assert_eq!(
        found,
        "set.toml: repeat levels has not ended after 17 rounds: again[0] is 1; count is the most rounds"
    );
    // Without the condition, a round less than the levels leaves nodes without a distance.
    let fewer = |set: &mut LaunchSet| {
        set.repetitions[0].end = None;
        set.repetitions[0].rounds = 16;
    };
    let found = unexpected("bfs", fewer).expect_err("it differs");
    assert!(found.contains(" at the end, not "), "{found}");
}

/// Executes a set with its kernels; `left` may change memory at the end of each launch.
fn execute(
    session: &Session,
    set: &LaunchSet,
    order: StreamOrder,
    left: &mut dyn FnMut(usize, &LaunchFile, &mut GlobalMemory),
) -> (Vec<usize>, GlobalMemory) {
    let mut launches = Vec::new();
    let mut one = |number: usize, launch: &LaunchFile| {
        launches.push(number);
        let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
        let mut memory =
            warpbound_runs::execute(session, kernel, launch, &RunOptions::default(), &mut |_| ())?
                .memory;
        left(number, launch, &mut memory);
        Ok(Some(memory))
    };
    let end = run_set(set, SetContents::of(set), order, &mut one).expect("it runs");
    (launches, end.memory.expect("a launch ran"))
}

/// Planted fault: each launch finds the buffers as the file gives them. The results show it.
#[test]
fn buffers_that_are_not_carried_over_are_found() {
    for name in ["bfs", "gaussian"] {
        let (session, mut set) = committed(name);
        // Else the search would not end.
        set.repetitions[0].end = None;
        set.repetitions[0].rounds = 20.min(set.repetitions[0].rounds);
        let (_, memory) = execute(&session, &set, StreamOrder::File, &mut |_, _, _| ());
        assert_eq!(
            compare_buffers(&set.objects, &memory).mismatch,
            None,
            "{name}"
        );
        let mut forget = |_, _: &LaunchFile, memory: &mut GlobalMemory| {
            for (number, (_, start)) in set.objects.buffers().enumerate() {
                let address = memory.buffers()[number].address;
                memory.write(address, &start.bytes);
            }
        };
        let (_, memory) = execute(&session, &set, StreamOrder::File, &mut forget);
        let found = compare_buffers(&set.objects, &memory).mismatch;
        assert!(found.is_some(), "{name}");
    }
}

#[test]
fn runs_with_time_have_the_same_results_and_counts() {
    for name in ["bfs", "gaussian"] {
        let (session, set) = committed(name);
        let functional = execute_set(&session, &set, &RunOptions::default(), &mut |_| ());
        let functional = functional.expect("it ends");
        let options = TimedOptions::new(GpuModel::built_in("gtx1080").expect("it is built in"));
        let timed = simulate_set(&session, &set, &options, &mut |_| ());
        let timed = timed.expect("it ends");
        assert_eq!(timed.unexpected, None);
        assert_eq!(timed.memory, functional.memory);
        assert_eq!(timed.report.issued, functional.report.issued);
        assert_eq!(timed.report.repetitions, functional.report.repetitions);
        let time = timed.report.time.expect("a time");
        let launches = timed.report.launches.iter();
        let cycles: u64 = launches
            .map(|launch| {
                let cycles = launch.cycles.expect("cycles");
                let each = cycles.least * launch.executions..=cycles.most * launch.executions;
                assert!(cycles.least > 0 && each.contains(&cycles.total));
                cycles.total
            })
            .sum();
        assert_eq!(time.cycles, cycles);
    }
}

#[test]
fn audits_compare_every_launch_with_one_bound_of_its_kernel() {
    let (session, set) = committed("bfs");
    let options = BoundOptions {
        loop_default: Some(4),
        ..BoundOptions::default()
    };
    let runs = AuditOptions {
        runs: 4,
        ..AuditOptions::default()
    };
    let report = audit_set(&session, &set, &options, &runs, |_| ()).expect("it is audited");
    assert_eq!((report.violations, report.runs), (0, 4));
    assert_eq!(report.kernels.len(), 2);
    assert!(report.checked_elements > 300 && report.unexpected.is_none());
    let mut all = 0;
    for (launch, kernel) in report.launches.iter().zip(&report.kernels) {
        assert!(launch.executions >= 18, "{launch:?}");
        assert_eq!(launch.executions, kernel.runs);
        assert_eq!(launch.warp_instructions, kernel.warp_instructions);
        assert_eq!(launch.worst_simulated, kernel.worst_simulated);
        assert!(launch.worst_simulated.map(u128::from) <= launch.bound);
        all += launch.warp_instructions;
    }
    let once = execute_set(&session, &set, &RunOptions::default(), &mut |_| ());
    assert!(all >= once.expect("it ends").report.issued.warp_instructions);
    // A node has 4 edges at the most, so 3 is a wrong fact, which not the first launch shows.
    let options = BoundOptions {
        loop_default: Some(3),
        ..options
    };
    let report = audit_set(&session, &set, &options, &AuditOptions::default(), |_| ());
    let report = report.expect("it is audited");
    assert_eq!(report.violations, 1, "{}", report.text());
    let finding = &report.kernels[0].findings[0];
    assert!(
        finding.message.contains("<= 3 (--loop-default) broken"),
        "{finding:?}"
    );
}

/// A set of two transpositions of a 2 × 2 matrix in streams; the second one reads what the first writes, or not.
fn two_streams(second: &str, rest: &str) -> LaunchSet {
    let launch = |stream: u32, from: &str, to: &str| {
        format!(
            "[[launch]]\nname = \"{from} to {to}\"\nkernel = \"transpose_naive\"\ngrid = [1]\nblock = [2, 2]\nstream = {stream}\n\
             param = [{{ buffer = \"{from}\" }}, {{ buffer = \"{to}\" }}, {{ name = \"width\", type = \"s32\", value = 2 }}, \
             {{ name = \"height\", type = \"s32\", value = 2 }}]\n"
        )
    };
    let mut text = format!("{rest}\n{}{}", launch(1, "a", "b"), launch(2, second, "c"));
    text.push_str("[[buffer]]\nname = \"a\"\ntype = \"f32\"\nvalues = [1, 2, 3, 4]\n");
    for name in ["b", "c"] {
        text.push_str(&format!(
            "[[buffer]]\nname = \"{name}\"\ntype = \"f32\"\nshape = [4]\n"
        ));
    }
    parse(&text)
}

#[test]
fn streams_are_executed_in_two_orders() {
    let session = session("transpose");
    let set = two_streams("a", "");
    let order = |order| execute(&session, &set, order, &mut |_, _, _| ()).0;
    assert_eq!(order(StreamOrder::File), [0, 1]);
    assert_eq!(order(StreamOrder::Reversed), [1, 0]);
    let audit = |set: &LaunchSet| {
        let none = BoundOptions::default();
        let report = audit_set(&session, set, &none, &AuditOptions::default(), |_| ());
        report.expect("it is audited")
    };
    let report = audit(&set);
    assert_eq!((report.runs, report.violations), (2, 0));
    assert!(report.compared_orders && report.order_difference.is_none());
    // Results that depend on the order are a violation, unless the file allows it.
    let report = audit(&two_streams("b", ""));
    assert_eq!(report.violations, 1);
    let difference = report.order_difference.expect("the order decides");
    assert!(difference.ends_with("of c differs"), "{difference}");
    let report = audit(&two_streams("b", "order_dependent = true"));
    assert_eq!((report.violations, report.compared_orders), (0, false));
}

/// Launches of the default stream, writes of the host and conditions wait for all earlier launches.
#[test]
fn all_launches_end_before_the_host_or_the_default_stream_continues() {
    let one = "kernel = \"transpose_naive\"\ngrid = [1]\nblock = [1]\nparam = [{ buffer = \"a\" }, { buffer = \"a\" }, \
               { type = \"s32\", value = 1 }, { type = \"s32\", value = 1 }]\n";
    let launch = |rest: &str| format!("[[launch]]\n{one}{rest}\n");
    let a = "[[buffer]]\nname = \"a\"\ntype = \"f32\"\nshape = [1]\n";
    let order = |launches: &[&str], rest: &str| {
        let launches: String = launches.iter().map(|rest| launch(rest)).collect();
        let set = parse(&format!("{launches}{a}{rest}"));
        execute(
            &session("transpose"),
            &set,
            StreamOrder::Reversed,
            &mut |_, _, _| (),
        )
        .0
    };
    let (s1, s2, both) = ("stream = 1", "stream = 2", "stream = 2\nrepeat = 2");
    assert_eq!(order(&[s1, s2, "", s1, s2], ""), [1, 0, 2, 4, 3]);
    assert_eq!(order(&[s1, both, s1], ""), [1, 1, 0, 2]);
    let write = "stream = 2\nwrite = [{ buffer = \"a\", value = 1 }]";
    assert_eq!(order(&[s1, write, s1], ""), [0, 1, 2]);
    let (one, two) = ("stream = 1\nrepeat = \"r\"", "stream = 2\nrepeat = \"r\"");
    let repeat = "[[repeat]]\nname = \"r\"\ncount = 2\n";
    assert_eq!(order(&[one, two], repeat), [1, 1, 0, 0]);
    let flag = format!("{repeat}while = {{ buffer = \"a\", equals = 1 }}\n");
    assert_eq!(order(&[one, two, s2], &flag), [1, 0, 2]);
}

/// Variables of the module keep their contents, also those that the file does not name.
#[test]
fn variables_are_carried_over() {
    let session = session("module_variables");
    let set = |variable: &str| {
        parse(&format!(
            "[[launch]]\nrepeat = 3\ngrid = [1]\nblock = [32]\nparam = [{{ buffer = \"in\" }}, {{ buffer = \"out\" }}, \
             {{ type = \"s32\", value = 4 }}]\n[[buffer]]\nname = \"in\"\ntype = \"s32\"\nvalues = [0, 1, 2, 3]\n\
             [[buffer]]\nname = \"out\"\ntype = \"s32\"\nshape = [4]\n{variable}"
        ))
    };
    // The kernel counts two odd numbers, each twice.
    let named = "[[variable]]\nname = \"counter\"\ntype = \"u32\"\nvalues = [10]\nexpect = [22]\n";
    let run = execute_set(&session, &set(named), &RunOptions::default(), &mut |_| ());
    assert_eq!(run.expect("it ends").unexpected, None);
    let run = execute_set(&session, &set(""), &RunOptions::default(), &mut |_| ());
    let memory = run.expect("it ends").memory;
    let counter = memory.buffers().iter().find(|b| b.name.contains("counter"));
    let start = execute_set(
        &session,
        &set("").clone_with_rounds(1),
        &RunOptions::default(),
        &mut |_| (),
    );
    let start = start.expect("it ends").memory;
    let once = start.buffers().iter().find(|b| b.name.contains("counter"));
    let number = |b: Option<&warpbound_launch::Buffer>| ints(&b.expect("it is there").bytes)[0];
    assert_eq!(number(counter) - number(once), 2 * 4);
}

/// Change of the rounds of a set.
trait WithRounds {
    fn clone_with_rounds(&self, rounds: u64) -> LaunchSet;
}

impl WithRounds for LaunchSet {
    fn clone_with_rounds(&self, rounds: u64) -> LaunchSet {
        let mut set = self.clone();
        set.repetitions[0].rounds = rounds;
        set
    }
}

/// Pointers of the file are in the buffers when the first launch begins; later they are what the launches left.
#[test]
fn pointers_are_written_once() {
    let session = session("pointers");
    let set = parse(
        "[[launch]]\nrepeat = 2\nkernel = \"list_sums\"\ngrid = [1]\nblock = [32]\n\
         param = [{ buffer = \"heads\" }, { buffer = \"out\" }, { type = \"s32\", value = 2 }]\n\
         [[buffer]]\nname = \"heads\"\ntype = \"u64\"\nshape = [2]\n\
         [[buffer]]\nname = \"out\"\ntype = \"s64\"\nshape = [2]\n\
         [[buffer]]\nname = \"nodes\"\ntype = \"s64\"\nvalues = [0, 10, 0, 20, 0, 30]\n\
         [[pointer]]\nin = \"heads\"\nto = \"nodes\"\ncount = 2\nto_step = 32\n\
         [[pointer]]\nin = \"nodes\"\nto = \"nodes\"\nto_offset = 16\ncount = 2\nstep = 16\nto_step = 16\n",
    );
    let mut sums = Vec::new();
    let mut cut = |_: usize, _: &LaunchFile, memory: &mut GlobalMemory| {
        sums.push(ints(&memory.buffers()[1].bytes));
        // The first node becomes the last of its list.
        let nodes = memory.buffers()[2].address;
        memory.write(nodes, &[0; 8]);
    };
    execute(&session, &set, StreamOrder::File, &mut cut);
    assert_eq!(sums, [[60, 0, 30, 0], [10, 0, 30, 0]]);
}
