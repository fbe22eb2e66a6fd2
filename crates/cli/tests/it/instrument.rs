//! `instrument`, `run` of what it wrote, `decode`: counts of the original code from counters in the rewritten one.

use serde_json::Value;

use crate::support::{run, scratch};

const LUD: &str = "lud_diagonal.sm_61.cubin";
const LAUNCH: &str = "../launches/lud_diagonal.lud_diagonal.0.toml";

/// Paths of the files of an instrumented kernel: cubin, plan, launch, header, counters.
fn instrumented(name: &str, blocks: &str) -> [String; 5] {
    let cubin = scratch(&format!("{name}.cubin"), "");
    let stem = cubin.strip_suffix(".cubin").expect("its end").to_owned();
    let args = ["instrument", LUD, "--launch", LAUNCH, "--blocks", blocks];
    let text = run(&[&args[..], &["-o", &cubin]].concat()).done();
    assert!(text.contains("instructions inserted into"), "{text}");
    let file = |end: &str| format!("{stem}.{end}");
    [
        cubin.clone(),
        file("plan.json"),
        file("toml"),
        file("h"),
        file("counters.npy"),
    ]
}

/// The counters of a run of the instrumented kernel, with the plan, give the instructions of a run of the original.
#[test]
fn counters_of_a_run_are_decoded() {
    let original = run(&["run", LUD, "--launch", LAUNCH, "--functional"]).done();
    assert!(original.contains("2903 warp instructions"), "{original}");
    for blocks in ["plan", "all", "tainted"] {
        let name = format!("instrumented.{blocks}");
        let [cubin, plan, launch, header, counters] = instrumented(&name, blocks);
        for way in [&["--functional"][..], &[]] {
            let ran = run(&[&["run", &cubin, "--launch", &launch], way].concat()).done();
            assert!(ran.contains("256 elements of buffers are as"), "{ran}");
            let files = ["decode", LUD, "--plan", &plan, "--counters", &counters];
            let decoded = run(&files).done();
            assert!(decoded.contains("2903"), "{blocks}: {decoded}");
        }
        let header = std::fs::read_to_string(header).expect("it was written");
        assert!(header.contains("cuModuleGetGlobal"), "{header}");
    }
}

#[test]
fn counters_of_another_build_are_refused() {
    let [cubin, plan, launch, _, counters] = instrumented("instrumented.other", "plan");
    run(&["run", &cubin, "--launch", &launch, "--functional"]).done();
    let other = "lud_diagonal.nvrtc11.sm_61.cubin";
    let files = ["decode", other, "--plan", &plan, "--counters", &counters];
    let line = run(&files).refusal();
    assert!(line.contains("the plan is for code"), "{line}");
}

/// As for cubins, of a code object for GCN3: the launch file names the variable of the counters.
#[test]
fn counters_of_waves_are_decoded() {
    for (source, kernel) in [
        ("reduction", "reduction_tree"),
        ("nbody_tiles", "nbody_advance"),
    ] {
        let file = format!("{source}.gfx803.co");
        let launch = format!("../launches/{source}.{kernel}.0.toml");
        let counted = ["metrics", &file, "--launch", &launch, "--format", "json"];
        let counted: Value = serde_json::from_str(&run(&counted).done()).expect("JSON");
        let counted = &counted["launches"][0]["total"]["warp_instructions"];
        assert!(counted.as_u64() > Some(0), "{counted}");
        for blocks in ["plan", "all"] {
            let object = scratch(&format!("{source}.{blocks}.co"), "");
            let stem = object.strip_suffix(".co").expect("its end");
            let args = ["instrument", &file, "--launch", &launch, "--blocks", blocks];
            let text = run(&[&args[..], &["-o", &object]].concat()).done();
            assert!(text.contains("instructions inserted into"), "{text}");
            let path = |end: &str| format!("{stem}.{end}");
            let (plan, counters) = (path("plan.json"), path("counters.npy"));
            for way in [&["--functional"][..], &[]] {
                let launched = ["run", &object, "--launch", &path("toml")];
                run(&[&launched[..], way].concat()).done();
                let files = ["decode", &file, "--plan", &plan, "--counters", &counters];
                let decoded = run(&[&files[..], &["--format", "json"]].concat()).done();
                let decoded: Value = serde_json::from_str(&decoded).expect("JSON");
                let instructions = &decoded["metrics"]["total"]["warp_instructions"];
                assert_eq!(instructions, counted, "{source} {blocks}: {decoded}");
            }
            let header = std::fs::read_to_string(path("h")).expect("it was written");
            assert!(header.contains("KERNEL_OBJECT"), "{header}");
        }
    }
    let args = ["instrument", "reduction.gfx803.co", "--probe", "paper"];
    let out = scratch("waves.paper.co", "");
    let line = run(&[&args[..], &["-o", &out]].concat()).refusal();
    assert!(line.contains("scalar registers"), "{line}");
}

/// A file that cannot be written again is refused, and nothing is written.
#[test]
fn nothing_is_written_for_a_refused_file() {
    let folder = scratch("refused.txt", "");
    let out = folder.replace("refused.txt", "refused.cubin");
    let _ = std::fs::remove_file(&out);
    let file = "joined_pointers.sm_61.cubin";
    let line = run(&["instrument", file, "--blocks", "all", "-o", &out]).refusal();
    assert!(line.contains("0x"), "{line}");
    assert!(!std::path::Path::new(&out).exists());
}
