//! `access`.

use serde_json::Value;

use crate::support::{cubins, run};

/// The accesses of all kernels of a file.
fn accesses(file: &str, more: &[&str]) -> Vec<Value> {
    let message = run(&[&["access", file, "--format", "json"], more].concat());
    if message.stdout.is_empty() {
        return Vec::new();
    }
    let document: Value = serde_json::from_str(&message.stdout).expect("one document");
    assert_eq!(document["schema"], "warpbound.accesses/1", "{file}");
    assert_eq!(document["file"], file);
    let kernels = document["kernels"].as_array().expect("kernels");
    let all = kernels.iter().flat_map(|kernel| {
        assert_eq!(kernel["schema"], "warpbound.access/1", "{file}");
        kernel["accesses"].as_array().expect("accesses").clone()
    });
    all.collect()
}

/// Each access of each kernel has an address, a space, a class, a reason, and numbers unless it is not counted.
#[test]
fn every_access_is_listed() {
    let mut counted = 0;
    for file in cubins(".sm_61.cubin") {
        for access in accesses(&file, &[]) {
            let text = |key: &str| access[key].as_str().expect("text").to_owned();
            assert!(text("address").starts_with("0x"), "{file} {access:#}");
            assert!(!text("reason").is_empty() && !text("instruction").is_empty());
            let class = text("class");
            let number = |key: &str| access[key].as_u64();
            if class == "not-counted" {
                assert_eq!(number("transactions"), None, "{file} {access:#}");
                continue;
            }
            counted += 1;
            let transactions = number("transactions").expect("a number");
            // At most a line for each lane and word.
            assert!((1..=128).contains(&transactions), "{file} {access:#}");
            let has_sectors = number("sectors").is_some();
            let space = text("space");
            let expected = ["global", "local", "generic"].contains(&space.as_str());
            assert_eq!(has_sectors, expected, "{file} {access:#}");
            assert_eq!(
                class == "strided",
                number("stride").is_some() || access["stride"].is_i64()
            );
        }
    }
    assert!(counted > 1000, "only {counted} accesses");
}

/// Of one kernel, too, JSON has a list of kernels.
#[test]
fn a_single_kernel_is_listed() {
    assert!(!accesses("if_else.sm_61.cubin", &["--kernel", "if_else"]).is_empty());
}

#[test]
fn text_has_a_line_for_each_access() {
    let file = "transpose.sm_61.cubin";
    let text = run(&["access", file, "--block", "32,8"]).done();
    for access in accesses(file, &["--block", "32,8"]) {
        let at = access["address"].as_str().expect("an address");
        let reason = access["reason"].as_str().expect("a reason");
        assert!(
            text.lines()
                .any(|line| line.starts_with(&format!("  {at}  ")))
        );
        assert!(text.lines().any(|line| line.trim() == reason), "{reason}");
    }
    assert!(
        text.contains("blocks have 32 x 8 x 1 threads (lanes)"),
        "{text}"
    );
}

/// Accesses of the first thread of each row are one request by one lane.
#[test]
fn threads_that_a_guard_excludes() {
    let all = accesses("row_leader.sm_61.cubin", &["--block", "32,4"]);
    let is_leader = |access: &&Value| {
        let reason = access["reason"].as_str().expect("a reason");
        reason.contains("1 of 32 threads of a warp take part")
    };
    let leaders: Vec<&Value> = all.iter().filter(is_leader).collect();
    assert!(!leaders.is_empty(), "{all:#?}");
    for access in leaders {
        assert!(access["transactions"].as_u64() <= Some(4), "{access:#}");
    }
}

/// mini-SIMT has no sectors or banks.
#[test]
fn other_code_is_refused() {
    let message = run(&["access", "../msimt/triangle_sum.msimt"]).refusal();
    assert!(message.contains("mini-SIMT"), "{message}");
    run(&["access", "if_else.sm_61.cubin", "--kernel", "nothing"]).refusal();
}

#[test]
fn threads_of_any_block_are_beside_each_other() {
    let store_of = |block: &str| {
        let file = "../practice/bit_pack.sm_61.cubin";
        let found = accesses(file, &["--block", block]);
        let store = found.iter().find(|access| access["address"] == "0x03d0");
        let store = store.expect("the store");
        assert_eq!(store["class"], "coalesced");
        store["lines"].as_u64()
    };
    // The grid is not known, so the index of a thread may wrap: in blocks of 64 threads in all lanes of a warp or in none;
    // in those of 48 the lanes beyond a limit may be far away.
    assert_eq!(store_of("64"), Some(2));
    assert_eq!(store_of("48"), Some(3));
}

/// Indices of rows, columns and iterations whose product may exceed 32 bits; subtractions of 64 bits; unrolled steps.
#[test]
fn indices_of_any_size_leave_threads_beside_each_other() {
    let file = "../practice/tridiagonal_batch.sm_61.cubin";
    let stated = ["--block", "32", "--param", "p5=30", "--param", "p6=75"];
    let found = accesses(file, &stated);
    let of = |at: &str| {
        let access = found.iter().find(|access| access["address"] == at);
        access.expect("an access")["class"].clone()
    };
    for at in ["0x0668", "0x0688", "0x0698", "0x06f8"] {
        assert_eq!(of(at), "coalesced", "{at}");
    }
    let unknown = found.iter().filter(|access| access["class"] == "unknown");
    assert!(unknown.count() < 60);
}

/// The number of a warp, a shifted thread index, is the same in its lanes: so is the row that the warp works on.
#[test]
fn rows_of_warps_are_the_same_in_their_lanes() {
    let file = "../practice/layernorm_rows.sm_61.cubin";
    let uniform = |block: &str| {
        let text = run(&["divergence", file, "--block", block]).stdout;
        let row = text.lines().find(|line| line.contains("0x0070"));
        row.expect("the exit").matches("uniform").count()
    };
    assert_eq!(uniform("128"), 1);
    // Two rows in a warp.
    assert_eq!(uniform("16,8"), 0);
}
