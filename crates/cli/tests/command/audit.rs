//! `audit`: runs against what is claimed and stated.

use serde_json::Value;

use crate::support::{Said, run, scratch};

const MATMUL: [&str; 4] = [
    "audit",
    "matmul_int.sm_61.cubin",
    "--launch",
    "../cuda/matmul_int.8x8.toml",
];

fn audit(arguments: &[&str]) -> Said {
    run(&[&MATMUL[..], arguments].concat())
}

fn json(said: &str) -> Value {
    serde_json::from_str(said).expect("JSON")
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
    let mut filled = lines;
    for bound in bounds {
        filled = filled.replacen("bound = \"?\"", &format!("bound = {bound}"), 1);
    }
    assert!(!filled.contains("= \"?\""), "{filled}");
    scratch(name, filled)
}

#[test]
fn keys_of_the_json() {
    let said = json(&audit(&["--loop-default", "8", "--runs", "20", "--format", "json"]).done());
    assert_eq!(said["schema"], "warpbound.audit/1");
    assert_eq!(said["runs"], 20);
    assert_eq!(said["faulted"], 0);
    assert_eq!(said["violations"], 0);
    assert_eq!(said["findings"], Value::Array(vec![]));
    assert_eq!(said["worst_simulated"], 116);
    assert_eq!(said["bound"], 116);
    assert_eq!(said["ratio"], 1.0);
    assert_eq!(said["loops"][0]["bound"], 8);
    assert_eq!(said["loops"][0]["most"], 8);
}

#[test]
fn without_a_bound_everything_else_is_compared() {
    let said = json(&audit(&["--format", "json"]).without_bound());
    assert_eq!(said["bound"], Value::Null);
    assert_eq!(said["no_bound"], "1 loop has no bound");
    assert_eq!(said["violations"], 0);
    assert_eq!(said["loops"][0]["most"], 8);
}

/// The loops of the kernel, computed a second time: for each, the most header executions for one entry, and the first
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
fn a_broken_fact_is_told_with_its_thread() {
    let launch = nested("audit_nested.toml");
    let cubin = ["audit", "nested_loops.sm_61.cubin", "--launch", &launch];
    let counts = nested_counts();
    let most = counts.map(|(count, _)| count);
    let right = facts("audit_right.facts", most);
    let said = run(&[&cubin[..], &["--facts", &right, "--format", "json"]].concat());
    let said = json(&said.done());
    let loops = said["loops"].as_array().expect("a list");
    let seen: Vec<u64> = loops.iter().filter_map(|l| l["most"].as_u64()).collect();
    assert_eq!(seen, most, "the facts are as tight as can be");
    for (number, (count, thread)) in counts.into_iter().enumerate() {
        let mut less = most;
        less[number] -= 1;
        let wrong = facts(&format!("audit_wrong{number}.facts"), less);
        let said = run(&[&cubin[..], &["--facts", &wrong]].concat());
        assert_eq!((said.code, said.stderr.as_str()), (Some(1), ""));
        assert!(said.stdout.contains("  1 violation:\n"), "{}", said.stdout);
        let (block, thread) = (thread / 40, thread % 40);
        let expected = format!(
            "fact L{} <= {} broken: thread {thread} of block ({block}, 0, 0) ran {count}, run 1",
            number + 1,
            count - 1
        );
        assert!(
            said.stdout.contains(&expected),
            "{expected}: {}",
            said.stdout
        );
    }
}

#[test]
fn a_broken_default_is_told_as_one() {
    let said = audit(&["--loop-default", "7"]);
    assert_eq!(said.code, Some(1));
    let line = "fact L1 <= 7 (--loop-default) broken: thread 0 of block (0, 0, 0) ran 8, run 1";
    assert!(said.stdout.contains(line), "{}", said.stdout);
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
        let said = run(&[&cubin[..], &["--runs", runs, "--format", "json"]].concat());
        json(&said.without_bound())["loops"][0]["most"].clone()
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
    let said = run(&["audit", "nested_loops.sm_61.cubin", "--launch", &launch]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(3), ""));
    let lines = [
        "  1 run, 1 of them ended in a fault: ",
        "  no violation\n",
        "    run 1: 0x0",
        "is outside the global memory",
    ];
    for line in lines {
        assert!(said.stdout.contains(line), "{}", said.stdout);
    }
}

#[test]
fn what_cannot_be_audited() {
    let said = run(&[
        "audit",
        "../msimt/triangle_sum.msimt",
        "--launch",
        "../cuda/matmul_int.8x8.toml",
        "--kernel",
        "TriangleSum",
    ]);
    assert_eq!(
        said.refusal(),
        "../msimt/triangle_sum.msimt: audit runs GPU kernels, and this is mini-SIMT; \
         `warpbound run` runs it, `warpbound cta` bounds its cycles"
    );
    let few = scratch(
        "audit_few.toml",
        "kernel = \"matmul_int\"\ngrid = [1]\nblock = [2]\n",
    );
    let said = run(&["audit", MATMUL[1], "--launch", &few]).refusal();
    assert!(
        said.contains("the kernel has 4 parameters, the launch 0"),
        "{said}"
    );
    audit(&["--runs", "0"]).usage();
    audit(&["--facts"]).usage();
    run(&MATMUL[..2]).usage();
}
