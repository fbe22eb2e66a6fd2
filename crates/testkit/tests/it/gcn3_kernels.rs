//! Sources, code objects and references of our own kernels for GCN3 belong together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use warpbound_testkit::kernels;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../kernels")
        .join(name)
}

/// Returns the names of the files in a folder that end so, without that end.
fn stems(name: &str, end: &str) -> BTreeSet<String> {
    std::fs::read_dir(folder(name))
        .expect("it is in the repository")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(end).map(str::to_owned))
        .collect()
}

fn text(source: &str) -> String {
    let read = |end: &str| std::fs::read_to_string(folder("gcn3").join(format!("{source}.{end}")));
    read("cl").or_else(|_| read("s")).expect("a source")
}

/// Returns the kernels that a source defines itself.
fn defined(source: &str) -> Vec<(String, String)> {
    let text = text(source);
    let kernels = text.lines().filter_map(|line| {
        let of_opencl = line
            .split_once("kernel void ")
            .filter(|_| !line.starts_with("//"))
            .and_then(|(_, rest)| rest.split('(').next());
        let of_assembly = line.trim_start().strip_prefix(".amdhsa_kernel ");
        of_opencl.or(of_assembly).map(str::to_owned)
    });
    kernels.map(|kernel| (source.to_owned(), kernel)).collect()
}

/// Returns how many work-items a group of the source's kernels has at most; the compiler takes 256 where nothing is
/// stated.
fn largest_group(text: &str) -> u32 {
    let stated = ["UP_TO(", ".max_flat_workgroup_size:"].map(|before| {
        let after = text.split(before).skip(1);
        let digits = after.map(|rest| {
            rest.trim_start()
                .split(|c: char| !c.is_ascii_digit())
                .next()
        });
        digits
            .flatten()
            .filter_map(|digits| digits.parse().ok())
            .max()
    });
    stated.into_iter().flatten().max().unwrap_or(256)
}

#[test]
fn every_source_has_a_code_object_and_every_kernel_a_reference() {
    let mut sources = stems("gcn3", ".cl");
    sources.extend(stems("gcn3", ".s"));
    assert!(sources.len() >= 60, "{} sources", sources.len());
    assert_eq!(sources, stems("built", ".gfx803.co"));
    let defined: BTreeSet<_> = sources.iter().flat_map(|source| defined(source)).collect();
    let references = kernels::gcn3();
    let referenced: BTreeSet<_> = references
        .iter()
        .map(|reference| (reference.source.to_owned(), reference.kernel.to_owned()))
        .collect();
    assert_eq!(defined, referenced);
    assert_eq!(
        references.len(),
        referenced.len(),
        "a reference occurs twice"
    );
}

#[test]
fn references_are_launches_of_their_kernels_that_compare_something() {
    for reference in kernels::gcn3() {
        for number in 0..8 {
            let launch = (reference.launch)(number);
            let name = format!("{} {} {number}", reference.source, reference.kernel);
            assert_eq!(launch.kernel.as_deref(), Some(reference.kernel), "{name}");
            let items = launch.block.iter().product::<u32>();
            let most = largest_group(&text(reference.source));
            assert!(items <= most, "{name} has groups of {items}");
            // What is dynamic in kernels/cuda is an array of 1024 words in kernels/gcn3.
            assert!(launch.dynamic_shared <= 4096, "{name}");
            let compared = launch
                .buffers()
                .filter_map(|(_, buffer)| buffer.expect.as_ref())
                .any(|expect| !expect.bytes.is_empty());
            assert!(compared, "{name} compares nothing");
            assert_eq!(
                launch,
                (reference.launch)(number),
                "{name} is not determined"
            );
        }
    }
}
