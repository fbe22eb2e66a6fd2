//! `facts --update`: facts of an earlier build that a new one keeps, over own sources that were changed.

use crate::support::{run, scratch};

/// Sources of `kernels/rebuilt`, with the positions of the loops, in the order of the file, that are asked again after a
/// change outside of loops, and after a change of one loop.
///
/// Asked again after a change elsewhere: loops that memory decides, where the change is one of what the kernel stores
/// (break_loop, early_exit, row_leader, uniform_loop), and one whose counter is set in another block (histogram).
/// Templates and inlined functions have a loop of the source several times (hotspot_3d, kmeans, row_leader).
const REBUILT: [(&str, &[usize], &[usize]); 20] = [
    ("backprop", &[], &[0]),
    ("bfs", &[], &[0]),
    ("break_loop", &[0], &[0]),
    ("continue_loop", &[], &[0]),
    ("convolution", &[], &[0]),
    ("early_exit", &[0], &[0]),
    ("histogram", &[1], &[1]),
    ("hotspot_3d", &[], &[0, 1]),
    ("kmeans", &[], &[1, 2, 3]),
    ("lud_diagonal", &[], &[3]),
    ("mandelbrot", &[], &[0]),
    ("matmul_int", &[], &[0]),
    ("nested_loops", &[], &[4]),
    ("path_finder", &[], &[0]),
    ("prefix_scan", &[], &[1]),
    ("reduction", &[], &[0]),
    ("row_leader", &[2], &[0, 1, 2, 3, 4, 5]),
    ("transpose", &[], &[0]),
    ("uniform_loop", &[0], &[4]),
    ("walsh_transform", &[], &[2]),
];

/// Returns the facts of a file, with a different number for each loop.
fn stated(file: &str) -> String {
    let mut number = 10;
    let template = run(&["facts", file, "--no-derive"]).done();
    let lines = template.lines().map(|line| {
        if line.starts_with('#') || !line.contains("bound = \"?\"") {
            return format!("{line}\n");
        }
        number += 1;
        format!("{}\n", line.replacen("\"?\"", &number.to_string(), 1))
    });
    lines.collect()
}

/// Returns the bounds of a facts file, with their kernels, in order; `None` is a missing one.
fn bounds(facts: &str) -> Vec<(String, Option<u64>)> {
    let mut kernel = "";
    let mut found = Vec::new();
    for line in facts.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("name = ") {
            kernel = name;
        }
        if let Some((_, rest)) = line.split_once(", bound = ")
            && line.starts_with("{ id")
        {
            let number = rest.split([',', ' ']).next().expect("a number");
            found.push((kernel.to_owned(), number.parse().ok()));
        }
    }
    found
}

/// Returns the facts of the second file that the stated ones of the first are carried over to.
#[track_caller]
fn updated(name: &str, old: &str, new: &str) -> String {
    let path = scratch(&format!("update.{name}.toml"), old);
    run(&["facts", new, "--update", &path]).done()
}

/// Checks that a build keeps all bounds but those at the positions `asked`.
#[track_caller]
fn check_kept(source: &str, variant: &str, asked: &[usize]) {
    let old = stated(&format!("{source}.sm_61.cubin"));
    let file = format!("../rebuilt/{source}.{variant}.cubin");
    let new = updated(&format!("{source}.{variant}"), &old, &file);
    let mut expected = bounds(&old);
    for &position in asked {
        expected[position].1 = None;
    }
    assert_eq!(bounds(&new), expected, "{source}.{variant}:\n{new}");
    for line in new
        .lines()
        .filter(|line| line.contains(" asked again, was"))
    {
        assert!(line.contains("changed"), "{line}");
    }
}

#[test]
fn other_line_numbers_keep_all_facts() {
    for (source, ..) in REBUILT {
        check_kept(source, "moved", &[]);
    }
}

#[test]
fn a_change_elsewhere_keeps_the_facts_that_do_not_rest_on_it() {
    for (source, asked, _) in REBUILT {
        check_kept(source, "elsewhere", asked);
    }
    let all: usize = REBUILT.iter().map(|(_, asked, _)| asked.len()).sum();
    assert_eq!(all, 5, "of 53 loops");
}

#[test]
fn a_changed_loop_is_asked_again() {
    for (source, _, asked) in REBUILT {
        check_kept(source, "loop", asked);
    }
}

/// Counts that runs of one build show, the smallest that hold for it, hold for runs of another build where they are
/// carried over. Independent of fingerprints: a fingerprint that ignores what changed lets a run exceed a fact.
#[test]
fn carried_facts_hold_in_runs_of_the_new_build() {
    let launches = [
        ("backprop", "backprop_forward.0"),
        ("break_loop", "break_loop.0"),
        ("convolution", "convolve_rows.0"),
        ("histogram", "histogram.0"),
        ("kmeans", "kmeans_assign.0"),
        ("lud_diagonal", "lud_diagonal.0"),
        ("mandelbrot", "mandelbrot.0"),
        ("nested_loops", "nested_triangular.0"),
        ("path_finder", "path_finder.0"),
        ("prefix_scan", "prefix_scan.0"),
        ("uniform_loop", "uniform_loop.0"),
        ("walsh_transform", "walsh_block.0"),
    ];
    let (mut carried, mut carried_accesses) = (0, 0);
    for (source, launch) in launches {
        let kernel = launch.split_once('.').expect("a number").0;
        let launch = format!("../launches/{source}.{launch}.toml");
        let seen = scratch(&format!("update.seen.{source}.toml"), "");
        let base = format!("{source}.sm_61.cubin");
        let audit = [
            "audit",
            &base,
            "--launch",
            &launch,
            "--loop-default",
            "100000",
        ];
        run(&[&audit[..], &["--write-facts", &seen]].concat()).done();
        let seen = std::fs::read_to_string(&seen).expect("the facts");
        let signed = seen.replace("status = \"observed\"", "signed_off_by = \"A test\"");
        let old = scratch(&format!("update.signed.{source}.toml"), signed);
        for build in ["elsewhere", "loop", "sm_50", "nvrtc11.sm_61"] {
            let file = match build {
                "elsewhere" | "loop" => format!("../rebuilt/{source}.{build}.cubin"),
                _ => format!("{source}.{build}.cubin"),
            };
            let new = run(&["facts", &file, "--kernel", kernel, "--update", &old]).done();
            let accesses = new
                .lines()
                .filter(|line| line.starts_with("#   access at "));
            let accesses = accesses
                .filter(|line| line.contains(" carried from "))
                .count();
            carried += new.matches(" carried from ").count() - accesses;
            carried_accesses += accesses;
            let new = new.replace("status = \"unreviewed\"\n", "");
            let new = scratch(&format!("update.new.{source}.{build}.toml"), new);
            let audit = ["audit", &file, "--launch", &launch, "--facts", &new];
            let report = run(&[&audit[..], &["--loop-default", "100000"]].concat());
            // A changed loop may leave the buffers, which ends the run.
            assert!(
                matches!(report.code, Some(0 | 3)) && !report.stdout.contains("broken"),
                "{source}.{build}: {}{}",
                report.stdout,
                report.stderr
            );
        }
    }
    assert!(carried > 40, "{carried}");
    // Only accesses of unknown addresses have facts.
    assert!(carried_accesses > 20, "{carried_accesses}");
}

/// A sign-off of the numbers is one for the code that the person looked at.
#[test]
fn a_sign_off_does_not_survive_other_code() {
    let old = stated("matmul_int.sm_61.cubin");
    let code = old.lines().find(|line| line.starts_with("code = "));
    let code = code.expect("a digest");
    let signed = old.replacen(code, &format!("{code}\nsigned_off_by = \"Jo\""), 1);
    let same = updated("signed.same", &signed, "../rebuilt/matmul_int.moved.cubin");
    assert!(same.contains("\nsigned_off_by = \"Jo\"\n"), "{same}");
    let file = "../rebuilt/matmul_int.elsewhere.cubin";
    let other = updated("signed.other", &signed, file);
    assert!(!other.contains("\nsigned_off_by"), "{other}");
    assert!(other.contains("\nstatus = \"unreviewed\"\n"), "{other}");
    assert!(other.contains("#   signed off by Jo for code "), "{other}");
    let path = scratch("update.unreviewed.toml", other);
    let message = run(&["bound", file, "--facts", &path]).refusal();
    assert!(
        message.contains("the facts were signed off for other code of the kernel"),
        "{message}"
    );
    // Without a sign-off the facts can be used at once.
    let path = scratch("update.usable.toml", updated("usable", &old, file));
    run(&["bound", file, "--kernel", "matmul_int", "--facts", &path]).done();
}

/// Facts that name addresses are kept for equal code only.
#[test]
fn never_and_calls_are_stated_again_for_other_code() {
    let old = stated("matmul_int.sm_61.cubin").replacen(
        "loops = [",
        "never = [\"0x0008\"]\nloops = [",
        1,
    );
    let same = updated("never.same", &old, "../rebuilt/matmul_int.moved.cubin");
    assert!(same.contains("\nnever = [\n    \"0x0008\",\n]\n"), "{same}");
    let other = updated("never.other", &old, "../rebuilt/matmul_int.elsewhere.cubin");
    assert!(!other.contains("\nnever"), "{other}");
    assert!(other.contains("never 0x0008 asked again"), "{other}");
}

/// Returns facts without the keys that were added for updates.
fn without_fingerprints(facts: &str) -> String {
    let line = |line: &str| match line.split_once(", decides = ") {
        Some((before, _)) => format!("{before} }},\n"),
        None => format!("{line}\n"),
    };
    facts.lines().map(line).collect()
}

#[test]
fn facts_without_fingerprints_need_the_old_build() {
    let file = "../rebuilt/lud_diagonal.elsewhere.cubin";
    let stated = stated("lud_diagonal.sm_61.cubin");
    let old = without_fingerprints(&stated);
    assert!(!old.contains("body = "));
    let unknown = updated("old", &old, file);
    assert_eq!(
        unknown.matches("the old facts have no fingerprint").count(),
        5
    );
    assert!(bounds(&unknown).iter().all(|(_, bound)| bound.is_none()));
    let path = scratch("update.before.toml", &old);
    let arguments = ["facts", file, "--update", &path, "--before"];
    let with = run(&[&arguments[..], &["lud_diagonal.sm_61.cubin"]].concat()).done();
    assert_eq!(with, updated("with", &stated, file));
    let message = run(&[&arguments[..], &["lud_diagonal.sm_50.cubin"]].concat()).refusal();
    assert!(
        message
            .ends_with("lud_diagonal.sm_50.cubin has no kernel with the code that a fact is about"),
        "{message}"
    );
    let message = run(&[&arguments[..], &["no_such_file"]].concat()).refusal();
    assert!(
        message.starts_with("no_such_file: cannot be read"),
        "{message}"
    );
}

/// Loops of one fingerprint have equal counts; different facts about them are a contradiction that a person resolves.
#[test]
fn different_facts_of_loops_with_one_fingerprint_are_asked_again() {
    let old = stated("lud_diagonal.sm_61.cubin");
    let line = old
        .lines()
        .find(|line| line.contains("id = \"L1\""))
        .expect("a line");
    let second = line
        .replace("id = \"L1\", at = \"0x", "id = \"L9\", at = \"0xff")
        .replace("bound = 11", "bound = 99");
    assert_ne!(line, second);
    let old = old.replacen(line, &format!("{line}\n{second}"), 1);
    let new = updated("ambiguous", &old, "../rebuilt/lud_diagonal.elsewhere.cubin");
    assert!(
        new.contains("several old loops with different facts have its fingerprint"),
        "{new}"
    );
    assert_eq!(bounds(&new)[0].1, None);
}

#[test]
fn facts_that_cannot_be_carried_over() {
    let file = "../rebuilt/backprop.elsewhere.cubin";
    let message = run(&["facts", file, "--update", "no_such.toml"]).refusal();
    assert!(
        message.starts_with("no_such.toml: cannot be read"),
        "{message}"
    );
    let other = scratch("update.other_kernel.toml", stated("mandelbrot.sm_61.cubin"));
    let message = run(&["facts", file, "--update", &other]).refusal();
    assert!(
        message.ends_with("no kernel to update is mandelbrot"),
        "{message}"
    );
    let observed = scratch(
        "update.observed.toml",
        "[[kernel]]\nname = \"x\"\ncode = \"0\"\nstatus = \"observed\"\n",
    );
    let message = run(&["facts", file, "--update", &observed]).refusal();
    assert!(
        message.contains("line 4: the facts are observed in runs"),
        "{message}"
    );
    run(&["facts", file, "--before", file]).usage();
    // A kernel of the old facts that is gone beside one that is there.
    let both = stated("backprop.sm_61.cubin") + &stated("mandelbrot.sm_61.cubin");
    let new = updated("gone", &both, file);
    assert!(
        new.contains("\n# kernel mandelbrot gone, with its facts"),
        "{new}"
    );
}
