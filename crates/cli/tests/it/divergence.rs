//! `divergence`.

use serde_json::Value;

use crate::support::{cubins, run};

/// The reports of all kernels of a file: one document, which is that of the kernel where there is one.
fn reports(file: &str, more: &[&str]) -> Vec<Value> {
    let message = run(&[&["divergence", file, "--format", "json"], more].concat());
    if message.stdout.is_empty() {
        return Vec::new();
    }
    let document: Value = serde_json::from_str(&message.stdout).expect("one document");
    if document["schema"] == "warpbound.divergence/1" {
        return vec![document];
    }
    assert_eq!(document["schema"], "warpbound.divergences/1", "{file}");
    assert_eq!(document["file"], file);
    let kernels = document["kernels"].as_array().expect("kernels").clone();
    assert!(kernels.len() > 1, "{file}");
    kernels
}

fn chain(answer: &Value) -> &Vec<Value> {
    answer["chain"].as_array().expect("a chain")
}

/// Every divergent answer has a chain that ends with a reason, and no other answer has one.
#[test]
fn chains_lead_to_a_source() {
    let mut divergent = 0;
    for file in cubins(".sm_61.cubin") {
        for report in reports(&file, &[]) {
            assert_eq!(report["schema"], "warpbound.divergence/1", "{file}");
            let items = report["items"].as_array().expect("items");
            let addresses = items
                .iter()
                .filter_map(|i| i["at"].as_str()?.strip_prefix("0x"));
            let addresses = addresses.map(|digits| u32::from_str_radix(digits, 16).ok());
            assert!(addresses.is_sorted(), "{file}");
            for item in items {
                for answer in [&item["values"], &item["partial"]] {
                    let links = chain(answer);
                    assert_eq!(answer["gsa"], !links.is_empty(), "{file} {item:#}");
                    let reasons = links.iter().map(|link| !link["because"].is_null());
                    let expected = (1..=links.len()).map(|nth| nth == links.len());
                    assert!(reasons.eq(expected), "{file} {item:#}");
                    divergent += usize::from(!links.is_empty());
                    // A difference is explained, and nothing else is.
                    let differ = answer["gsa"] != answer["agreement"]
                        || answer["gsa_contexts"] != answer["agreement_contexts"];
                    let explained = !answer["difference"].is_null();
                    assert!(explained || !differ, "{file} {item:#}");
                }
            }
        }
    }
    assert!(divergent > 500, "only {divergent} divergent answers");
}

/// TID.Y is equal in all lanes of a warp if its rows are full.
#[test]
fn the_shape_of_a_block_matters() {
    let divergent = |block: &str| -> usize {
        let file = "transpose.sm_61.cubin";
        let all = reports(file, &["--block", block]);
        let items = all
            .iter()
            .flat_map(|r| r["items"].as_array().expect("items"));
        items.filter(|item| item["values"]["gsa"] == true).count()
    };
    assert!(divergent("32,8,1") <= divergent("16,16,1"));
}

#[test]
fn text_has_a_line_for_each_operation() {
    let file = "bitonic_sort.sm_61.cubin";
    let text = run(&["divergence", file]).done();
    for report in reports(file, &[]) {
        let kernel = report["kernel"].as_str().expect("a name");
        assert!(text.contains(&format!("{kernel}: ")), "{text}");
        for item in report["items"].as_array().expect("items") {
            let at = item["at"].as_str().expect("an address");
            assert!(
                text.lines().any(|l| l.starts_with(&format!("  {at}  "))),
                "{at}"
            );
        }
    }
    let name = "void bitonic::block<int>(int*)";
    let one = run(&["divergence", file, "--kernel", name]).done();
    assert!(text.contains(&one), "{one}");
}

/// A kernel that cannot be followed does not hide the others.
#[test]
fn refused_kernels_are_named() {
    let message = run(&["divergence", "infinite_loop.sm_61.cubin"]);
    assert_eq!(message.code, Some(3));
    assert!(
        message.stderr.contains("kernel infinite_loop"),
        "{}",
        message.stderr
    );
    run(&["divergence", "if_else.sm_61.cubin", "--kernel", "nothing"]).refusal();
}
