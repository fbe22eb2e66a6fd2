//! `audit`: runs compared with claims and statements.

use serde_json::Value;

use crate::support::{CommandOutput, run, scratch};

const MATMUL: [&str; 4] = [
    "audit",
    "matmul_int.sm_61.cubin",
    "--launch",
    "../cuda/matmul_int.8x8.toml",
];

fn audit(arguments: &[&str]) -> CommandOutput {
    run(&[&MATMUL[..], arguments].concat())
}

fn json(message: &str) -> Value {
    serde_json::from_str(message).expect("JSON")
}

/// Two blocks of 40 threads; thread i runs its outer loop 1 + i % 8 times.
fn nested(name: &str) -> String {
    scratch(
        name,
        "kernel = \"nested_divergent\"\ngrid = [2]\nblock = [40]\n\
         [[param]]\ntype = \"s32\"\nshape = [100]\nfill = \"iota\"\n\
         [[param]]\ntype = \"s32\"\nshape = [100]\n\
         [[param]]\ntype = \"s32\"\nvalue = 9\n",
    )
}

/// Facts about `nested_divergent` with these bounds, from the lines that `facts` gives.
fn facts(name: &str, bounds: [u64; 3]) -> String {
    let kernel = ["--kernel", "nested_divergent"];
    let lines = run(&[&["facts", "nested_loops.sm_61.cubin"], &kernel[..]].concat()).done();
    // The first loop has a derived bound, so no line asks for its fact.
    let [first, others @ ..] = bounds;
    let first = format!("loops = [\n    {{ id = \"L1\", at = \"0x0098\", bound = {first} }},\n");
    let mut filled = lines.replacen("loops = [\n", &first, 1);
    for bound in others {
        filled = filled.replacen("bound = \"?\"", &format!("bound = {bound}"), 1);
    }
    assert!(!filled.contains("= \"?\""), "{filled}");
    scratch(name, filled)
}

#[test]
fn keys_of_the_json() {
    let message = json(&audit(&["--loop-default", "8", "--runs", "20", "--format", "json"]).done());
    assert_eq!(message["schema"], "warpbound.audit/1");
    assert_eq!(message["runs"], 20);
    assert_eq!(message["faulted"], 0);
    assert_eq!(message["violations"], 0);
    assert_eq!(message["findings"], Value::Array(vec![]));
    assert_eq!(message["worst_simulated"], 116);
    assert_eq!(message["bound"], 116);
    assert_eq!(message["ratio"], 1.0);
    assert_eq!(message["loops"][0]["bound"], 8);
    assert_eq!(message["loops"][0]["most"], 8);
}

#[test]
fn without_a_bound_everything_else_is_compared() {
    // A loop of this kernel runs as often as the contents of a buffer say.
    let launch = nested("audit_no_bound.toml");
    let command = ["audit", "nested_loops.sm_61.cubin", "--launch", &launch];
    let message = run(&[&command[..], &["--format", "json"]].concat());
    let message = json(&message.without_bound());
    assert_eq!(message["bound"], Value::Null);
    assert!(message["no_bound"].is_string());
    assert_eq!(message["violations"], 0);
    assert_eq!(message["loops"][0]["most"], nested_counts()[0].0);
}

/// Where the launch decides how often loops run, its counts are the bound.
#[test]
fn counts_of_the_launch_are_the_bound() {
    let message = json(&audit(&["--format", "json"]).done());
    assert_eq!(message["bound"], 116);
    assert_eq!(message["loops"][0]["bound"], 8);
    assert_eq!(message["loops"][0]["origin"], "launch");
}

/// Computes the loops of the kernel independently: for each, the most header executions per entry, and the first
/// thread that does them. They are tested at their end, so each iteration is one.
fn nested_counts() -> [(u64, usize); 3] {
    let mut most = [(0u64, 0usize); 3];
    let mut seen = |number: usize, count: u64, thread| {
        if count > most[number].0 {
            most[number] = (count, thread);
        }
    };
    for thread in 0..80usize {
        let mut sum = 0i64;
        let last = thread % 8;
        seen(0, last as u64 + 1, thread);
        for a in 0..=last as i64 {
            // The buffer holds 0, 1, 2, ...
            seen(1, a as u64, thread);
            for b in 0..a {
                let (mut c, mut count) = (9i64, 0);
                while c > b {
                    sum += c - b;
                    c -= 1 + (sum & 3);
                    count += 1;
                }
                seen(2, count, thread);
            }
        }
    }
    most
}

#[test]
fn a_violated_fact_is_reported_with_its_thread() {
    let launch = nested("audit_nested.toml");
    let cubin = ["audit", "nested_loops.sm_61.cubin", "--launch", &launch];
    let counts = nested_counts();
    let most = counts.map(|(count, _)| count);
    let right = facts("audit_right.facts", most);
    let message = run(&[&cubin[..], &["--facts", &right, "--format", "json"]].concat());
    let message = json(&message.done());
    let loops = message["loops"].as_array().expect("a list");
    let seen: Vec<u64> = loops.iter().filter_map(|l| l["most"].as_u64()).collect();
    assert_eq!(seen, most, "the facts are as tight as can be");
    for (number, (count, thread)) in counts.into_iter().enumerate() {
        let mut less = most;
        less[number] -= 1;
        let wrong = facts(&format!("audit_wrong{number}.facts"), less);
        let message = run(&[&cubin[..], &["--facts", &wrong]].concat());
        assert_eq!((message.code, message.stderr.as_str()), (Some(1), ""));
        assert!(
            message.stdout.contains("  1 violation:\n"),
            "{}",
            message.stdout
        );
        let (block, thread) = (thread / 40, thread % 40);
        let expected = format!(
            "fact L{} <= {} broken: thread {thread} of block ({block}, 0, 0) ran {count}, run 1",
            number + 1,
            count - 1
        );
        assert!(
            message.stdout.contains(&expected),
            "{expected}: {}",
            message.stdout
        );
    }
}

#[test]
fn a_violated_default_is_reported_as_such() {
    let message = audit(&["--loop-default", "7"]);
    assert_eq!(message.code, Some(1));
    let line = "fact L1 <= 7 (--loop-default) broken: thread 0 of block (0, 0, 0) ran 8, run 1";
    assert!(message.stdout.contains(line), "{}", message.stdout);
}

#[test]
fn the_seed_decides() {
    let launch = nested("audit_seed.toml");
    let with = |seed| {
        let cubin = ["audit", "nested_loops.sm_61.cubin", "--launch", &launch];
        run(&[&cubin[..], &["--runs", "8", "--seed", seed]].concat()).without_bound()
    };
    assert_eq!(with("1"), with("1"));
    assert_ne!(with("1"), with("2"));
}

#[test]
fn numbers_that_may_vary() {
    let matrix = "[[param]]\ntype = \"s32\"\nshape = [8, 8]\n";
    let launch = scratch(
        "audit_vary.toml",
        format!(
            "kernel = \"matmul_int\"\ngrid = [1]\nblock = [2, 2]\n{matrix}{matrix}{matrix}\
             [[param]]\ntype = \"s32\"\nvalue = 2\nvary = [0, 5]\n"
        ),
    );
    let most = |runs| {
        let cubin = ["audit", MATMUL[1], "--launch", &launch];
        let message = run(&[&cubin[..], &["--runs", runs, "--format", "json"]].concat());
        // The ranges of the launch give the loop a bound, and with it the warps.
        let report = json(&message.done());
        assert_eq!(report["loops"][0]["bound"], 5);
        assert_eq!(report["loops"][0]["origin"], "launch");
        report["loops"][0]["most"].clone()
    };
    assert_eq!(most("1"), 2);
    assert_eq!(most("40"), 5);
}

#[test]
fn a_launch_that_faults() {
    let launch = scratch(
        "audit_fault.toml",
        "kernel = \"nested_divergent\"\ngrid = [1]\nblock = [40]\n\
         [[param]]\ntype = \"s32\"\nshape = [100]\nfill = \"iota\"\n\
         [[param]]\ntype = \"s32\"\nshape = [10]\n\
         [[param]]\ntype = \"s32\"\nvalue = 9\n",
    );
    let message = run(&["audit", "nested_loops.sm_61.cubin", "--launch", &launch]);
    assert_eq!((message.code, message.stderr.as_str()), (Some(3), ""));
    let lines = [
        "  1 run, 1 of them ended in a fault: ",
        "  no violation\n",
        "    run 1: 0x0",
        "is outside the global memory",
    ];
    for line in lines {
        assert!(message.stdout.contains(line), "{}", message.stdout);
    }
}

#[test]
fn refused_audits() {
    let message = run(&[
        "audit",
        "../msimt/triangle_sum.msimt",
        "--launch",
        "../cuda/matmul_int.8x8.toml",
        "--kernel",
        "TriangleSum",
    ]);
    assert_eq!(
        message.refusal(),
        "../msimt/triangle_sum.msimt: audit runs GPU kernels, and this is mini-SIMT; \
         `warpbound run` runs it, `warpbound cta` bounds its cycles"
    );
    let few = scratch(
        "audit_few.toml",
        "kernel = \"matmul_int\"\ngrid = [1]\nblock = [2]\n",
    );
    let message = run(&["audit", MATMUL[1], "--launch", &few]).refusal();
    assert!(
        message.contains("the kernel has 4 parameters, the launch 0"),
        "{message}"
    );
    audit(&["--runs", "0"]).usage();
    audit(&["--facts"]).usage();
    run(&MATMUL[..2]).usage();
}

/// A triangle of `rows` rows: with 19, the inner loop runs 19 + 18 + ... + 1 = 190 times in each thread.
fn triangle(rows: u32) -> String {
    let parameters = "[[param]]\ntype = \"s32\"\nshape = [400]\nfill = \"iota\"\n\
         [[param]]\ntype = \"s32\"\nshape = [100]\n";
    scratch(
        &format!("audit.triangle{rows}.toml"),
        format!(
            "kernel = \"nested_triangular\"\ngrid = [1]\nblock = [40]\n{parameters}\
             [[param]]\ntype = \"s32\"\nvalue = {rows}\n"
        ),
    )
}

/// Facts about `nested_triangular`: those of the outer and of the inner loop, and more lines after the loops.
fn triangle_facts(name: &str, loops: [&str; 2], more: &str) -> String {
    let kernel = ["--kernel", "nested_triangular"];
    let mut filled = run(&[&["facts", "nested_loops.sm_61.cubin"], &kernel[..]].concat()).done();
    for numbers in loops {
        filled = filled.replacen("bound = \"?\"", numbers, 1);
    }
    scratch(name, format!("{filled}{more}\n"))
}

fn triangle_bound(facts: &str) -> u64 {
    let file = ["bound", "nested_loops.sm_61.cubin", "--block", "40,1,1"];
    let rest = [
        "--kernel",
        "nested_triangular",
        "--facts",
        facts,
        "--format",
        "json",
    ];
    let message = json(&run(&[&file[..], &rest].concat()).done());
    message["kernels"][0]["bound"].as_u64().expect("a bound")
}

fn triangle_audit(rows: u32, facts: &str, more: &[&str]) -> CommandOutput {
    let launch = triangle(rows);
    let file = ["audit", "nested_loops.sm_61.cubin", "--launch", &launch];
    run(&[&file[..], &["--facts", facts], more].concat())
}

/// A stated total halves the bound of a triangular loop, and is compared with runs.
#[test]
fn totals_are_facts() {
    let square = triangle_facts("audit.square.facts", ["bound = 19", "bound = 19"], "");
    let total = triangle_facts(
        "audit.total.facts",
        ["bound = 19", "bound = 19, total = 190"],
        "",
    );
    let (square, with_total) = (triangle_bound(&square), triangle_bound(&total));
    let message = json(&triangle_audit(19, &total, &["--format", "json"]).done());
    let worst = message["worst_simulated"].as_u64().expect("a warp");
    assert_eq!(message["loops"][1]["most_total"], 190);
    // No lane leaves the inner loop before the others: the total holds for the warp.
    assert!(worst <= with_total, "{worst} {with_total}");
    assert!(with_total * 100 < worst * 105, "{worst} {with_total}");
    assert!(with_total * 3 < square * 2, "{with_total} {square}");

    let less = triangle_facts(
        "audit.less.facts",
        ["bound = 19", "bound = 19, total = 189"],
        "",
    );
    let violated = triangle_audit(19, &less, &[]);
    assert_eq!(violated.code, Some(1));
    let line = "fact L2 <= 189 in total broken: thread 0 of block (0, 0, 0) ran 190";
    assert!(violated.stdout.contains(line), "{}", violated.stdout);
}

/// An excluded edge lowers the bound: here both loops run once, so that no back edge is taken.
/// If one is taken, the audit says so.
#[test]
fn steps_that_are_never_taken_are_facts() {
    let numbers = ["bound = 19", "bound = 19"];
    let none = triangle_facts("audit.none.facts", numbers, "");
    let graph = [
        "cfg",
        "nested_loops.sm_61.cubin",
        "--kernel",
        "nested_triangular",
    ];
    let graph =
        json(&run(&[&graph[..], &["--level", "thread", "--format", "json"]].concat()).done());
    let edges = graph["edges"].as_array().expect("edges");
    let (mut lower, mut broken) = (0, 0);
    for (number, edge) in edges.iter().enumerate() {
        let (Some(from), Some(to)) = (edge["from"].as_u64(), edge["to"].as_u64()) else {
            continue;
        };
        let node = |number: u64| &graph["nodes"][number as usize];
        let (from, to) = (node(from)["to"].as_str(), node(to)["from"].as_str());
        let (from, to) = (from.expect("an address"), to.expect("an address"));
        let never = format!("never = [\"{from} -> {to}\"]");
        let facts = triangle_facts(&format!("audit.never{number}.facts"), numbers, &never);
        let message = triangle_audit(1, &facts, &[]);
        let line =
            format!("fact never {from} -> {to} broken: thread 0 of block (0, 0, 0) executes it");
        if message.stdout.contains(&line) {
            assert_eq!(message.code, Some(1), "{}", message.stdout);
            broken += 1;
        } else if message.code == Some(0) {
            lower += usize::from(triangle_bound(&facts) < triangle_bound(&none));
        }
    }
    assert!(broken > 2 && lower > 0, "{broken} {lower}");
    let nowhere = triangle_facts(
        "audit.nowhere.facts",
        numbers,
        "never = [\"0x0008 -> 0x0008\"]",
    );
    let refusal = triangle_audit(1, &nowhere, &[]).refusal();
    assert!(
        refusal.contains("no step leads from 0x0008 to 0x0008"),
        "{refusal}"
    );
}

/// Observed facts are written, refused as they are, and accepted once a person has signed them.
#[test]
fn observed_facts_are_signed_before_they_are_used() {
    let facts = scratch("audit.observed.facts", "");
    let launch = nested("audit.observed.toml");
    let file = ["audit", "nested_loops.sm_61.cubin", "--launch", &launch];
    run(&[&file[..], &["--write-facts", &facts]].concat()).without_bound();
    let text = std::fs::read_to_string(&facts).expect("it is written");
    for (count, _) in nested_counts() {
        assert!(
            text.contains(&format!("bound = {count}, total = ")),
            "{text}"
        );
    }
    let bound = ["bound", "nested_loops.sm_61.cubin", "--facts", &facts];
    let bound = [&bound[..], &["--kernel", "nested_divergent"]].concat();
    let refusal = run(&bound).refusal();
    assert!(
        refusal.contains("the facts are observed in runs"),
        "{refusal}"
    );
    let signed = text.replace("status = \"observed\"", "signed_off_by = \"A. Person\"");
    std::fs::write(&facts, signed).expect("it is written");
    let message = run(&bound).done();
    assert!(message.contains("signed off by A. Person"), "{message}");
    // A folder that does not exist.
    let nowhere = format!("{facts}.folder/facts");
    let refusal = run(&[&file[..], &["--write-facts", &nowhere]].concat()).refusal();
    assert!(refusal.contains(&nowhere), "{refusal}");
}

/// With `--cycles`, single warps run with time; without it, the report does not mention them.
#[test]
fn single_warps_are_compared_with_bounds_in_cycles() {
    let facts = ["--loop-default", "8", "--runs", "2"];
    let plain = audit(&facts).done();
    assert!(!plain.contains("cycles"), "{plain}");
    let text = audit(&[&facts[..], &["--cycles"]].concat()).done();
    let line = "  in cycles on gtx1080, any caches: 160 runs of 4 of 4 warps alone, none above its bound\n";
    assert!(text.contains(line), "{text}");
    let how = [
        "--cycles",
        "--machine",
        "p100",
        "--caches",
        "warm",
        "--format",
        "json",
    ];
    let message = json(&audit(&[&facts[..], &how].concat()).done());
    let cycles = &message["cycles"];
    assert_eq!(cycles["machine"], "p100");
    assert_eq!(cycles["caches"], "warm");
    assert_eq!(
        (&cycles["runs"], &cycles["violations"]),
        (&80.into(), &0.into())
    );
    let number = |key: &str| cycles[key].as_f64().expect("a number");
    assert!(number("worst_simulated") <= number("bound"));
    let ratio = number("bound") / number("worst_simulated");
    assert!((number("ratio") - ratio).abs() < 0.001);
}

#[test]
fn kernels_without_bounds_in_cycles_are_audited_otherwise() {
    let launch = "../launches/texture.texture_blur.0.toml";
    let file = ["audit", "texture.sm_61.cubin", "--launch", launch];
    let facts = ["--loop-default", "100", "--format", "json"];
    let message = json(&run(&[&file[..], &facts, &["--cycles"]].concat()).without_bound());
    let reason = message["cycles"]["no_bound"].as_str().expect("a reason");
    assert!(reason.contains("textures"), "{reason}");
    assert_eq!(message["violations"], 0);
    run(&[&file[..], &facts].concat()).done();
}

#[test]
fn a_machine_is_for_runs_with_time() {
    for option in [["--machine", "gtx1080"], ["--caches", "warm"]] {
        let message = audit(&option).usage();
        assert!(message.contains("--cycles"), "{message}");
    }
}
