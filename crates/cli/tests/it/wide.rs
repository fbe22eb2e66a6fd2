//! Files for GPUs with instructions of 128 bits: their kernels are listed, extracted, disassembled, compared and bounded in
//! instructions, and what runs or times them is refused by name.

use serde_json::Value;

use crate::support::{run, scratch};

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/wide/");
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../load/tests/data/wide/");
const LAUNCHES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/launches/");

#[test]
fn kernels_are_listed_with_their_resources() {
    let file = format!("{KERNELS}atomics.sm_120.cubin");
    let text = run(&["list", &file]).done();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("atomics.sm_120.cubin  sm_120"), "{text}");
    let heads = "instr  regs  shared  local  const  params  bars  calls  loops  block  kernel";
    assert_eq!(lines[1], heads);
    let row = lines
        .iter()
        .find(|line| line.ends_with("  atomics"))
        .expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        cells,
        [
            "64", "24", "8", "0", "948", "5/36", "1", "0", "0", "-", "atomics"
        ]
    );
    let line = "shared: without the 1024 bytes of each block that belong to the system";
    assert!(lines.contains(&line), "{text}");
    let skipped = lines
        .iter()
        .find(|line| line.starts_with("not read: "))
        .expect("a line");
    let begin = "not read: Mercury code and its metadata (20 sections, ";
    assert!(skipped.starts_with(begin), "{skipped}");
    assert!(
        skipped.ends_with("notes (2 sections, 208 bytes)"),
        "{skipped}"
    );
}

#[test]
fn documents_have_what_is_known() {
    let file = format!("{DATA}resources.cuda13.sm_100a.cubin");
    let json = run(&["list", &file, "--format", "json"]).done();
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let image = &json["images"][0];
    assert_eq!(
        (&image["isa"], &image["supported"]),
        (&"sm_100a".into(), &true.into())
    );
    let contents = &image["contents"];
    assert_eq!(contents["refused"], Value::Null);
    assert_eq!(contents["uncounted"], Value::Null);
    let kernels = contents["kernels"].as_array().expect("kernels");
    let kernel = kernels
        .iter()
        .find(|kernel| kernel["symbol"] == "cluster")
        .expect("a kernel");
    assert_eq!(kernel["required_cluster"], serde_json::json!([2, 2, 1]));
    assert_eq!(
        (&kernel["calls"], &kernel["reserved_shared"]),
        (&0.into(), &1024.into())
    );
    let text = run(&["list", &file, "--kernel", "cluster"]).done();
    assert!(
        text.contains("block  cluster  kernel") && text.contains("2,2,1  cluster"),
        "{text}"
    );
}

#[test]
fn launches_of_kernels_that_require_clusters_are_refused() {
    let file = format!("{DATA}resources.cuda13.sm_100a.cubin");
    let launch = "grid = [4]\nblock = [32]\n[[param]]\nname = 'p'\ntype = 's32'\nshape = [64]\n";
    let launch = scratch("no_clusters.toml", launch);
    let arguments = ["--kernel", "cluster", "--launch", &launch];
    for command in [&["run", "--functional"][..], &["bound"]] {
        let refused = run(&[command, &[&file], &arguments].concat()).refusal();
        let why = "the kernel requires clusters of 2, 2, 1 blocks, and launches have no clusters";
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_library_names_its_images() {
    let file = format!("{DATA}wide.fatbin");
    let text = run(&["list", &file]).done();
    let note = "kernels can be bounded, run and predicted, neither measured nor rewritten";
    for isa in ["sm_75", "sm_90", "sm_100a", "sm_120f"] {
        let is_row = |line: &&str| line.contains(&format!("cubin  {isa}")) && line.ends_with(note);
        assert_eq!(text.lines().filter(is_row).count(), 1, "{isa}: {text}");
    }
    // Chips in the order of their numbers.
    let place = |isa: &str| text.find(&format!("cubin  {isa}"));
    assert!(
        place("sm_75") < place("sm_90") && place("sm_90") < place("sm_100a"),
        "{text}"
    );
    let one = run(&["list", &file, "--image", "2"]).done();
    assert!(
        one.contains("image 2  sm_90") && one.contains("vote"),
        "{one}"
    );
    let arch = run(&["list", &file, "--arch", "sm_100a"]).done();
    assert!(arch.contains("image 3  sm_100a"), "{arch}");
    let named = run(&["list", &file, "--kernel", "cluster"]).done();
    assert!(
        named.contains("image 3") && named.contains("image 4"),
        "{named}"
    );
}

#[test]
fn images_are_extracted() {
    let file = format!("{DATA}wide.fatbin");
    let target = scratch("wide.extracted.cubin", Vec::new());
    run(&["extract", &file, "--image", "2", "--output", &target]).done();
    let own = std::fs::read(&target).expect("it is written");
    let expected = std::fs::read(format!("{KERNELS}vote.sm_90.cubin")).expect("it is there");
    // `fatbinary` pads contents.
    assert_eq!(own[..expected.len()], expected[..]);
    assert!(own[expected.len()..].iter().all(|&byte| byte == 0));
}

#[test]
fn kernels_are_bounded_in_instructions() {
    let file = format!("{KERNELS}nested_loops.sm_87.cubin");
    let bound = run(&["bound", "--loop-default", "10", &file]).done();
    assert!(bound.contains("3 kernels, 3 bounded"), "{bound}");
    for name in ["groups-whole", "bsync-joins", "uniform-private"] {
        assert!(bound.contains(&format!("({name})")), "{name}: {bound}");
    }
    // Lanes of a spin lock pass its BSYNC one by one.
    let file = format!("{KERNELS}atomics.sm_90.cubin");
    let bound = run(&[
        "bound",
        "--loop-default",
        "10",
        "--kernel",
        "spin_lock",
        &file,
    ])
    .done();
    let note = "lanes are not counted as joined at the ends of the regions that begin at";
    assert!(bound.contains(note), "{bound}");
    for command in ["facts", "divergence", "cfg"] {
        let file = format!("{KERNELS}vote.sm_120.cubin");
        run(&[command, "--kernel", "vote_loop", &file]).done();
    }
}

#[test]
fn kernels_run_and_are_audited() {
    for (source, kernel) in [("vote", "vote.1"), ("texture", "texture_blur.0")] {
        let launch = format!("{LAUNCHES}{source}.{kernel}.toml");
        for chip in ["sm_75", "sm_87", "sm_90", "sm_120"] {
            let file = format!("{KERNELS}{source}.{chip}.cubin");
            let ran = run(&["run", "--functional", &file, "--launch", &launch]).done();
            assert!(ran.contains("are as the launch file expects"), "{ran}");
            let audit = run(&["audit", &file, "--launch", &launch]).done();
            assert!(audit.contains("no violation"), "{audit}");
        }
    }
}

#[test]
fn what_measures_kernels_is_refused_by_name() {
    let why = "kernels for NVIDIA GPUs from Volta on are bounded, run and predicted, but neither measured nor rewritten yet";
    let file = format!("{KERNELS}vote.sm_90.cubin");
    let output = run(&["probes", "--kernel", "vote", &file]);
    assert_eq!(output.code, Some(3), "{}", output.stdout);
    assert!(output.stderr.contains(why), "{}", output.stderr);
}

#[test]
fn counts_are_predicted_with_their_assumptions() {
    let launch = format!("{LAUNCHES}vote.vote.1.toml");
    for chip in ["sm_75", "sm_90", "sm_120"] {
        let file = format!("{KERNELS}vote.{chip}.cubin");
        let predict = ["predict", &file, "--launch", &launch];
        let text = run(&[&predict[..], &["--contents", "as-given"]].concat()).done();
        assert!(text.contains("6 of 6 blocks known"), "{text}");
        assert!(text.contains("(groups-whole)"), "{text}");
        let tree = run(&[&predict[..], &["--tree"]].concat()).done();
        assert!(tree.contains(" times -> S0"), "{tree}");
        assert!(tree.contains("(groups-whole)"), "{tree}");
    }
    let file = format!("{KERNELS}nested_loops.sm_90.cubin");
    let formula = run(&["predict", "--kernel", "nested_fixed", "--formula", &file]).done();
    assert!(formula.contains("blocks with a formula"), "{formula}");
    assert!(formula.contains("(groups-whole)"), "{formula}");
}

/// Fails if control words of compiled kernels have findings, or if a chip has no table.
#[test]
fn control_words_are_checked() {
    for chip in ["sm_75", "sm_87", "sm_90", "sm_120"] {
        let file = format!("{KERNELS}nested_loops.{chip}.cubin");
        let lint = run(&["lint", &file]).done();
        assert!(lint.contains(" 0 findings"), "{chip}: {lint}");
        assert!(
            !lint.contains(" 0 results of fixed latency"),
            "{chip}: {lint}"
        );
    }
}

#[test]
fn kernels_are_timed_and_bounded_in_cycles() {
    let file = format!("{KERNELS}bitonic_sort.sm_90.cubin");
    let launch = format!("{LAUNCHES}bitonic_sort.bitonic_step.1.toml");
    let timed = run(&["run", &file, "--launch", &launch]).done();
    assert!(
        timed.contains("machine h200") && timed.contains("are as the launch file expects"),
        "{timed}"
    );
    let cycles = ["bound", "--cost", "cycles", &file, "--launch", &launch];
    let bound = run(&cycles).done();
    assert!(
        bound.contains("the grid of 1 block of 1 warp takes"),
        "{bound}"
    );
    // Each architecture has its machine.
    for (architecture, machine) in [("75", "t4"), ("87", "jetson-orin"), ("120", "rtx5090")] {
        let file = format!("{KERNELS}bitonic_sort.sm_{architecture}.cubin");
        let timed = run(&["run", &file, "--launch", &launch]).done();
        assert!(timed.contains(&format!("machine {machine}")), "{timed}");
        assert!(timed.contains("are as the launch file expects"), "{timed}");
        let bound = run(&["bound", "--cost", "cycles", &file, "--launch", &launch]).done();
        assert!(
            bound.contains("the grid of 1 block of 1 warp takes"),
            "{bound}"
        );
    }
    // Groups of lanes in any order.
    let file = format!("{KERNELS}hotspot.sm_90.cubin");
    let launch = format!("{LAUNCHES}hotspot.hotspot.0.toml");
    let warp = ["--cost", "cycles", "--scope", "warp", "--launch", &launch];
    let bound = run(&[&["bound", &file], &warp[..]].concat()).done();
    assert!(bound.contains("changes of groups"), "{bound}");
    // A machine of another family is no substitute.
    let file = format!("{KERNELS}nested_loops.sm_87.cubin");
    let cycles = run(&["bound", "--cost", "cycles", "--machine", "titan-xp", &file]);
    assert_eq!(cycles.code, Some(2), "{}{}", cycles.stdout, cycles.stderr);
    let why = "the code is sm_87, the machine has other GPUs";
    assert!(cycles.stdout.contains(why), "{}", cycles.stdout);
}
