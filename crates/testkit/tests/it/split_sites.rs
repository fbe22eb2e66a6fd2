//! Sites at which waves may split (`analyse/src/split_sites.rs`), in our own kernels.

use std::collections::BTreeMap;
use std::path::Path;

use fastrand::Rng;
use warpbound_analyse::branch_sites::BranchSite;
use warpbound_analyse::split_sites::{FoundSite, ObstacleReason, SiteVerdict};
use warpbound_base::Named;
use warpbound_ir::OpIndex;
use warpbound_launch::PathOrder;
use warpbound_launch::{GlobalMemory, Launch, LaunchFile, compare_buffers};
use warpbound_load::Image;
use warpbound_query::Session;
use warpbound_simulate::functional::{NoListener, UntimedSplits, launch_split};
use warpbound_testkit::kernels::{self, KernelReference};

fn contents(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built");
    std::fs::read(path.join(file)).expect("a code object")
}

/// Sites of all kernels of a file, with addresses, by kernel; `None` for kernels that are refused.
fn sites(file: &str) -> BTreeMap<String, Option<Vec<(u32, FoundSite)>>> {
    let session = Session::open(file, &contents(file)).expect("it loads");
    let mut all = BTreeMap::new();
    for kernel in session.kernels(None).expect("kernels") {
        let prepared = session.prepare(kernel).expect("it is lifted");
        let found = session.split_sites(&prepared, None).ok().map(|found| {
            let with_address = found.into_iter().map(|site| {
                let op = prepared.code.get(site.at).expect("an operation");
                (op.addr.0, site)
            });
            with_address.collect()
        });
        all.insert(kernel.name.to_string(), found);
    }
    all
}

fn files() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built");
    let entries = std::fs::read_dir(path).expect("a folder");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files: Vec<String> = names.filter(|name| name.ends_with(".gfx803.co")).collect();
    files.sort();
    files
}

/// Most branches at which waves may diverge are sites in what compilers write.
#[test]
fn ordinary_code_is_not_refused() {
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut branches, mut no_kind) = (0, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for file in files() {
        for (kernel, found) in sites(&file) {
            for (addr, site) in found.into_iter().flatten() {
                let obstacle = site.apart.first().or(site.merged.first());
                println!(
                    "{file} {kernel} {addr:#06x} {:?} {obstacle:?}",
                    site.verdict()
                );
                branches += 1;
                if !matches!(site.kind, BranchSite::Split | BranchSite::Skip) {
                    no_kind += 1;
                    continue;
                }
                *verdicts.entry(site.verdict().name()).or_default() += 1;
                if site.verdict() == SiteVerdict::Refused {
                    let first = site
                        .apart
                        .first()
                        .map(|obstacle| obstacle.reason.to_string());
                    *reasons.entry(first.unwrap_or_default()).or_default() += 1;
                }
            }
        }
    }
    println!("{branches} branches, {no_kind} of other kinds: {verdicts:?}; refused: {reasons:?}");
    let refused = verdicts.get("refused").copied().unwrap_or(0);
    assert!(refused * 5 < branches - no_kind, "{verdicts:?}");
}

/// A group of one wave needs no barriers between lanes that exchange data through LDS, so such reads are obstacles (planted
/// fault: the size that a launch states is not used).
#[test]
fn small_groups_may_exchange_data_without_barriers() {
    let mut fewer = 0;
    for file in files() {
        let session = Session::open(&file, &contents(&file)).expect("it loads");
        for kernel in session.kernels(None).expect("kernels") {
            let prepared = session.prepare(kernel).expect("it is lifted");
            let accepted = |block| {
                let found = session.split_sites(&prepared, block).ok()?;
                let sites = found.iter();
                let sites = sites.filter(|site| site.verdict() != SiteVerdict::Refused);
                Some(sites.count())
            };
            let any = accepted(None);
            assert_eq!(accepted(Some([128, 1, 1])), any, "{file} {}", kernel.name);
            let small = accepted(Some([16, 1, 1]));
            assert!(small <= any, "{file} {}", kernel.name);
            assert_eq!(accepted(Some([8, 8, 1])), small, "{file} {}", kernel.name);
            fewer += usize::from(small < any);
        }
    }
    assert!(fewer > 5, "{fewer}");
}

/// A constant branch is no site (planted fault: a constant branch as a site).
#[test]
fn constant_branches_are_no_sites() {
    let found = sites("constant_branches.gfx803.co");
    let found = found.into_values().flatten().flatten();
    let reasons: Vec<_> = found
        .map(|(_, site)| (site.verdict(), site.apart.first().map(|found| found.reason)))
        .collect();
    let constant = Some(ObstacleReason::Kind(BranchSite::Constant));
    assert_eq!(reasons, [(SiteVerdict::Refused, constant); 3]);
}

/// All 126 branches of the kernel with six levels are sites, and the splits of the first merge at the end of its arms.
#[test]
fn six_levels_are_sites() {
    let found = sites("split_levels.gfx803.co");
    let found: Vec<_> = found.into_values().flatten().flatten().collect();
    let both = |(_, site): &&(u32, FoundSite)| site.verdict() == SiteVerdict::SplitsAndMerges;
    assert_eq!(found.len(), 126);
    assert_eq!(found.iter().filter(both).count(), 126);
    let points = found.iter().map(|(_, site)| site.merge_point);
    let last = points.clone().max();
    assert_eq!(points.clone().next(), last);
}

/// Launch of a reference, ready to run.
struct BoundLaunch {
    file: LaunchFile,
    code: warpbound_ir::Code,
    launch: Launch,
    memory: GlobalMemory,
    sites: Vec<FoundSite>,
}

fn bound(reference: &KernelReference, number: u64) -> Option<BoundLaunch> {
    let name = format!("{}.gfx803.co", reference.source);
    let contents = contents(&name);
    let session = Session::open(&name, &contents).expect("it loads");
    let file = (reference.launch)(number);
    let kernel = session.launched_kernel(Some(reference.kernel), file.kernel.as_deref());
    let kernel = kernel.expect("it has the kernel");
    let prepared = session.prepare(kernel).expect("it is lifted");
    let sites = session.split_sites(&prepared, None).ok()?;
    let image = Image::parse(&contents).expect("it loads");
    let order = PathOrder::default();
    let bound = warpbound_launch::bind(&file, &image, kernel, &prepared.code, order, 1 << 26);
    let (launch, memory) = bound.expect("the launch suits the kernel");
    Some(BoundLaunch {
        code: prepared.code,
        file,
        launch,
        memory,
        sites,
    })
}

/// Memory that a launch leaves, compared with its reference, if waves split at some sites.
fn run_with(
    bound: &BoundLaunch,
    sites: BTreeMap<OpIndex, Option<OpIndex>>,
    (splits, merges, seed): (u32, bool, u64),
) -> Result<(u64, u64), String> {
    let splitting = UntimedSplits {
        splits,
        sites,
        merges,
        ..UntimedSplits::default()
    };
    let mut memory = bound.memory.clone();
    let mut rng = Rng::with_seed(seed);
    let mut schedule = |count: usize| rng.usize(..count);
    let run = launch_split(
        &bound.code,
        &bound.launch,
        &splitting,
        &mut schedule,
        &mut memory,
        &mut NoListener,
    );
    let counts = run.map_err(|fault| format!("{fault:?}"))?;
    match compare_buffers(&bound.file, &memory).mismatch {
        Some(mismatch) => Err(mismatch.to_string()),
        None => Ok((counts.splits, counts.merges)),
    }
}

/// Splitting at all sites leaves what the references have, with and without merging.
#[test]
fn kernels_compute_the_same_if_waves_split() {
    let (mut runs, mut splits, mut merges) = (0, 0, 0);
    let mut wrong = Vec::new();
    for reference in kernels::gcn3() {
        let Some(bound) = bound(&reference, 0) else {
            continue;
        };
        for (slots, merging) in [(1, false), (7, false), (1, true), (7, true)] {
            let accepted = bound.sites.iter().filter(|site| site.may_split(merging));
            let sites: BTreeMap<_, _> = accepted
                .map(|site| (site.at, site.merge_point.filter(|_| merging)))
                .collect();
            if sites.is_empty() {
                continue;
            }
            runs += 1;
            match run_with(&bound, sites, (slots, merging, runs)) {
                Ok(counts) => {
                    splits += counts.0;
                    merges += counts.1;
                }
                // The payload of a NaN is not that of the reference, without splits as well.
                Err(error)
                    if reference.kernel == "cc_branch"
                        && run_with(&bound, BTreeMap::new(), (0, false, 0))
                            == Err(error.clone()) => {}
                Err(error) => wrong.push(format!(
                    "{} {} {slots} {merging}: {error}",
                    reference.source, reference.kernel
                )),
            }
        }
    }
    println!("{runs} runs, {splits} splits, {merges} merges");
    assert_eq!(wrong, [""; 0]);
    assert!(runs > 400 && splits > 4_000 && merges > 3_000);
}
