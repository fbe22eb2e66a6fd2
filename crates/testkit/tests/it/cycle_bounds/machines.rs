//! Machines with other ranges than the built-in ones.

use std::fs;
use std::path::Path;

use warpbound_machine::GpuModel;

/// Returns a built-in machine with other ranges for some parameters (`section.key`).
pub(super) fn with_ranges(name: &str, ranges: &[(&str, u64, u64)]) -> GpuModel {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machine/nvidia");
    let text = fs::read_to_string(folder.join(format!("{name}.toml"))).expect("a machine file");
    let mut section = String::new();
    let lines = text.lines().map(|line| {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name.clone_into(&mut section);
        }
        let key = line.split(' ').next().unwrap_or_default();
        let own = format!("{section}.{key}");
        let changed = ranges.iter().find(|(name, ..)| *name == own);
        match changed {
            Some((_, least, most)) => {
                format!("{key} = {{ value = [{least}, {most}], typical = {least}, source = \"test\", standing = \"assumed\" }}\n")
            }
            None => format!("{line}\n"),
        }
    });
    let text: String = lines.collect();
    let model = GpuModel::parse(name, &text).expect("a valid machine");
    for (name, least, most) in ranges {
        let parameter = warpbound_machine::Parameter::named(name).expect("a parameter");
        let range = model.range(parameter);
        assert_eq!((range.least, range.most), (*least, *most), "{name}");
    }
    model
}

/// Returns the machines on which fixtures are compared, by name.
pub(super) fn all() -> Vec<(&'static str, GpuModel)> {
    let gtx = |ranges: &[(&str, u64, u64)]| with_ranges("gtx1080", ranges);
    vec![
        ("gtx1080", gtx(&[])),
        ("jetson-tx2", with_ranges("jetson-tx2", &[])),
        (
            "frequent refreshes",
            gtx(&[
                ("dram.refresh_interval", 700, 900),
                ("dram.refresh", 300, 500),
            ]),
        ),
        (
            "small L2 cache",
            gtx(&[
                ("l2.bytes", 32768, 32768),
                ("l2.ways", 4, 4),
                ("l2.slices", 2, 2),
            ]),
        ),
        (
            "small TLBs",
            gtx(&[
                ("tlb.l1_entries", 1, 1),
                ("tlb.l2_entries", 1, 1),
                ("tlb.l1_page", 4096, 4096),
                ("tlb.l2_page", 8192, 8192),
            ]),
        ),
        (
            "small pages",
            gtx(&[("tlb.l1_page", 4096, 4096), ("tlb.l2_page", 8192, 8192)]),
        ),
        (
            "one large translation",
            gtx(&[("tlb.l2_entries", 1, 1), ("tlb.l2_miss", 1000, 1000)]),
        ),
        (
            "small instruction caches",
            gtx(&[
                ("instruction.l1_bytes", 512, 512),
                ("instruction.l1_ways", 2, 2),
                ("instruction.l15_bytes", 4096, 4096),
                ("instruction.l15_ways", 2, 2),
            ]),
        ),
        (
            "slow prefetch",
            gtx(&[("instruction.ahead_bandwidth", 1000, 1000)]),
        ),
        (
            "small windows",
            gtx(&[("l1.misses", 3, 8), ("l1.stores", 3, 8)]),
        ),
        (
            "slow DRAM",
            gtx(&[
                ("dram.bandwidth", 1000, 2000),
                ("l2.bytes", 32768, 32768),
                ("l2.ways", 4, 4),
                ("l2.slices", 2, 2),
            ]),
        ),
    ]
}
