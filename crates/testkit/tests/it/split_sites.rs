//! Sites at which waves may split (`analyse/src/split_sites.rs`), in our own kernels.

use std::collections::BTreeMap;
use std::path::Path;

use warpbound_analyse::split_sites::{FoundSite, SiteVerdict};
use warpbound_base::Named;
use warpbound_driver::Session;

/// Sites of all kernels of a file, with addresses, by kernel.
fn sites(file: &str) -> BTreeMap<String, Vec<(u32, FoundSite)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built");
    let contents = std::fs::read(path.join(file)).expect("a code object");
    let session = Session::open(file, &contents).expect("it loads");
    let mut all = BTreeMap::new();
    for kernel in session.kernels(None).expect("kernels") {
        let prepared = session.prepare(kernel).expect("it is lifted");
        let Ok(found) = session.split_sites(&prepared) else {
            all.insert(format!("{} (refused)", kernel.name), Vec::new());
            continue;
        };
        let with_address = found.into_iter().map(|site| {
            let op = prepared.code.get(site.at).expect("an operation");
            (op.addr.0, site)
        });
        all.insert(kernel.name.to_string(), with_address.collect());
    }
    all
}

/// Verdicts of all sites.
#[test]
fn survey() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built");
    let mut files: Vec<String> = std::fs::read_dir(path)
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".gfx803.co"))
        .collect();
    files.sort();
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        for (kernel, found) in sites(&file) {
            println!("{file} {kernel}: {} sites", found.len());
            for (addr, site) in found {
                *verdicts.entry(site.verdict().name()).or_default() += 1;
                println!(
                    "  {addr:#06x} {:10} {:17} {:?}",
                    site.kind.name(),
                    site.verdict().name(),
                    site.merge_point
                );
                let mut show =
                    |name: &str, list: &[warpbound_analyse::split_sites::SplitObstacle]| {
                        for obstacle in list.iter().take(3) {
                            let at = obstacle.at.0;
                            println!(
                                "      {name} op {at}: {} {:?}",
                                obstacle.reason, obstacle.reason
                            );
                        }
                    };
                if site.verdict() != SiteVerdict::SplitsAndMerges {
                    show("apart", &site.apart);
                    show("merged", &site.merged);
                }
            }
        }
    }
    println!("{verdicts:?}");
}
