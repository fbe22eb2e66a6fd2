//! Machine files of GPUs: the built-in ones are complete, and errors in a file are refused with the name of the key.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use warpbound_base::Family;
use warpbound_machine::{
    Domain, GpuModel, Parameter, ParameterSum, Provenance, Selection, SlowEnd, Unit,
};

const TX2: &str = include_str!("../../../../machine/nvidia/jetson-tx2.toml");

/// Returns the error of the TX2 file with one piece of text replaced.
fn refused(from: &str, to: &str) -> String {
    assert_eq!(TX2.matches(from).count(), 1, "{from}");
    let text = TX2.replace(from, to);
    match GpuModel::parse("m.toml", &text) {
        Ok(_) => panic!("{from} became {to}, and nothing was said"),
        Err(error) => error.to_string(),
    }
}

/// Returns the error of the TX2 file with another value for a parameter.
fn refused_value(parameter: Parameter, number: &str) -> String {
    match GpuModel::parse("m.toml", &with_value(parameter, number)) {
        Ok(_) => panic!("{} became {number}, and nothing was said", parameter.name()),
        Err(error) => error.to_string(),
    }
}

/// Returns the TX2 file with another value for a parameter, such as `value = [1, 1]`.
fn with_value(parameter: Parameter, number: &str) -> String {
    let line = |number: &str, key: &str| format!("{key} = {{ {number}, source = \"a test\" }}");
    edited(parameter, |key| Some(line(number, key)))
}

/// Returns the TX2 file with another line for a parameter, or without it.
fn edited(parameter: Parameter, edit: impl Fn(&str) -> Option<String>) -> String {
    let (section, key) = parameter.name().split_once('.').unwrap();
    let mut inside = false;
    let mut edits = 0;
    let mut lines = Vec::new();
    for line in TX2.lines() {
        if line.starts_with('[') {
            inside = line == format!("[{section}]");
        }
        if inside && line.starts_with(&format!("{key} = ")) {
            edits += 1;
            lines.extend(edit(key));
        } else {
            lines.push(line.to_owned());
        }
    }
    assert_eq!(edits, 1, "{}", parameter.name());
    lines.join("\n")
}

#[test]
fn built_in_models_are_complete() {
    assert!(GpuModel::names().count() >= 8);
    for name in GpuModel::names() {
        let device = GpuModel::built_in(name).unwrap();
        assert_eq!(device.name, name);
        assert!(!device.title.is_empty() && !device.title.contains("draft"));
        assert!(!device.choices.policy_source.contains("draft"));
        for parameter in device.parameters() {
            let range = device.range(parameter);
            assert!(
                !range.source.contains("draft"),
                "{name}: {}",
                parameter.name()
            );
            assert!((range.least..=range.most).contains(&range.typical));
            // An assumption has a reason.
            if range.provenance == Provenance::Assumed {
                assert!(range.source.contains(' '), "{name}: {}", parameter.name());
            }
        }
    }
}

#[test]
fn each_architecture_has_a_default_model() {
    for (architecture, name) in [
        ("sm_62", "jetson-tx2"),
        ("sm_61", "gtx1080"),
        ("sm_60", "p100"),
        ("sm_52", "titan-x-maxwell"),
        ("sm_50", "titan-x-maxwell"),
        ("gfx803", "gem5-apu"),
        ("sm_75", "t4"),
        ("sm_80", "a100"),
        ("sm_86", "rtx3090"),
        ("sm_87", "jetson-orin"),
        ("sm_89", "rtx4090"),
        ("sm_90", "h200"),
        ("sm_90a", "h200"),
        ("sm_100f", "b200"),
        ("sm_100", "b200"),
        ("sm_110", "thor"),
        ("sm_120", "rtx5090"),
    ] {
        assert_eq!(GpuModel::for_architecture(architecture).unwrap().name, name);
    }
    let error = GpuModel::for_architecture("sm_70").unwrap_err().to_string();
    assert!(
        error.contains("sm_70") && error.contains("gtx1080"),
        "{error}"
    );
    let error = GpuModel::built_in("tx2").unwrap_err().to_string();
    assert!(
        error.contains("\"tx2\"") && error.contains("jetson-tx2"),
        "{error}"
    );
}

#[test]
fn parameters_of_the_publications() {
    use Parameter as P;
    let typical = |name: &str| GpuModel::built_in(name).unwrap().select(Selection::Typical);
    let devices = ["jetson-tx2", "gtx1080", "p100", "titan-x-maxwell"].map(typical);
    let row = |parameter: Parameter| devices.each_ref().map(|device| device[parameter]);
    assert_eq!(row(P::SmCount), [2, 20, 56, 24]);
    assert_eq!(row(P::SmSchedulers), [4, 4, 2, 4]);
    // pastis-2022, III.B; Jia et al., Table 3.1: 23 (P4), 24 (P100), 23 (M60).
    let load = |device: &warpbound_machine::MachineConfig| {
        device[P::SharedLatency] + device[P::SharedBase32]
    };
    assert_eq!(devices.each_ref().map(load), [23, 23, 24, 23]);
    // Jia et al., Table 3.1: coverage of the TLBs of P4, P100 and M60, in MB.
    let cover = |entries, page| {
        devices
            .each_ref()
            .map(|device| (device[entries] * device[page]) >> 20)
    };
    assert_eq!(cover(P::TlbL1Entries, P::TlbL1Page), [32, 32, 32, 2]);
    assert_eq!(
        cover(P::TlbL2Entries, P::TlbL2Page),
        [2048, 2048, 2048, 128]
    );
    // Jia et al., Table 4.2, shared memory: n threads at one address; the law is within 15 % of each.
    for (device, table) in [
        (&devices[1], [16, 18, 25, 30, 46, 78]),
        (&devices[2], [15, 17, 19, 30, 46, 78]),
        (&devices[3], [17, 19, 25, 31, 47, 79]),
    ] {
        for (threads, published) in [1, 2, 4, 8, 16, 32].into_iter().zip(table) {
            let law = device[P::SharedAtomic] + threads * device[P::SharedAtomicThread];
            assert!(
                law.abs_diff(published) * 100 <= published * 15,
                "{law}, not {published}"
            );
        }
    }
    // Models that inherit from others.
    let like = ["gtx1080ti", "titan-xp", "p40", "gtx980"].map(typical);
    let row = |parameter: Parameter| like.each_ref().map(|device| device[parameter]);
    assert_eq!(row(P::SmCount), [28, 30, 30, 16]);
    assert_eq!(
        row(P::L2Bytes).map(|bytes| bytes >> 10),
        [2816, 3072, 3072, 2048]
    );
    for (device, megabytes) in like.iter().zip([484_000, 547_700, 346_000, 224_000]) {
        let bytes = device[P::DramBandwidth] * device[P::Clock] / 1_000_000;
        assert!(bytes.abs_diff(megabytes) <= 2, "{bytes}, not {megabytes}");
    }
    // Bytes per 1000 cycles times kHz are bytes per second; in MB/s.
    for (device, megabytes) in devices.iter().zip([59_700, 320_000, 732_000, 336_500]) {
        let bytes = device[P::DramBandwidth] * device[P::Clock] / 1_000_000;
        assert!(bytes.abs_diff(megabytes) <= 2, "{bytes}, not {megabytes}");
    }
}

/// Data sheets: SMs, warps of an SM, KB of L2, MB/s of memory, at both ends of the clock.
#[test]
fn parameters_of_data_sheets_of_later_devices() {
    use Parameter as P;
    for (name, counts, megabytes) in [
        ("h200", [132, 64, 61_440], 4_813_400),
        ("h100", [132, 64, 51_200], 3_352_300),
        ("a100", [108, 64, 40_960], 1_555_200),
        ("rtx3090", [82, 48, 6_144], 936_100),
        ("jetson-orin", [16, 48, 4_096], 204_800),
        ("rtx4090", [128, 48, 73_728], 1_008_100),
        ("t4", [40, 32, 4_096], 320_060),
        ("b200", [148, 64, 129_536], 8_000_000),
        ("thor", [20, 48, 32_768], 273_000),
        ("rtx5090", [170, 48, 98_304], 1_792_100),
    ] {
        let device = GpuModel::built_in(name).unwrap();
        let of = device.select(Selection::Typical);
        let stated = [of[P::SmCount], of[P::SmWarps], of[P::L2Bytes] >> 10];
        assert_eq!(stated, counts, "{name}");
        let (bytes, clock) = (device.range(P::DramBandwidth), device.range(P::Clock));
        for (bytes, clock) in [(bytes.least, clock.most), (bytes.most, clock.least)] {
            let rate = bytes * clock / 1_000_000;
            assert!(rate.abs_diff(megabytes) <= 500, "{name}: {rate}");
        }
    }
}

/// Each row of the table in `machine/README.md` agrees with its file.
#[test]
fn the_readme_agrees_with_the_files() {
    use Parameter as P;
    let readme = include_str!("../../../../machine/README.md");
    let names = || {
        let later = GpuModel::names_of(Family::Volta);
        GpuModel::names_of(Family::Maxwell).chain(later)
    };
    assert!(names().count() >= 18);
    let mut table = String::new();
    for name in names() {
        let device = GpuModel::built_in(name).unwrap();
        let of = device.select(Selection::Typical);
        let standing = |parameter: &Parameter| device.range(*parameter).provenance;
        let assumed = |parameter: &Parameter| standing(parameter) == Provenance::Assumed;
        let row = format!(
            "| `{name}` | {} | {} x {} | {} | {} | {} x {} | {} | {:.1} | {} | {} | {} | {} | {} | {} of {} |\n",
            device.architectures.join(", "),
            of[P::SmCount],
            of[P::SmSchedulers],
            of[P::Clock] / 1000,
            of[P::SmShared] / 1024,
            of[P::L1Units],
            of[P::L1Bytes] / 1024,
            of[P::L2Bytes] / 1024,
            (of[P::DramBandwidth] * of[P::Clock]) as f64 / 1e9,
            of[P::SharedLatency] + of[P::SharedBase32],
            of[P::L1Hit],
            of[P::L2Hit],
            of[P::L2Hit] + of[P::DramBeyond],
            of[P::LatencyFp64],
            device.parameters().filter(assumed).count(),
            device.parameters().count(),
        );
        table.push_str(&row);
    }
    assert!(
        readme.contains(&table),
        "machine/README.md lacks this table:\n{table}"
    );
    let mut table = String::new();
    for name in GpuModel::names_of(Family::Gcn3) {
        let device = GpuModel::built_in(name).unwrap();
        let of = device.select(Selection::Typical);
        let standing = |parameter: &Parameter| device.range(*parameter).provenance;
        let assumed = |parameter: &Parameter| standing(parameter) == Provenance::Assumed;
        let row = format!(
            "| `{name}` | {} | {} x {} | {} | {} | {} | {} | {}, {} | {} | {:.1} | {} | {} | {} | {} | {} of {} |\n",
            device.architectures.join(", "),
            of[P::CuCount],
            of[P::CuSimds],
            of[P::SimdWaves],
            of[P::Clock] / 1000,
            of[P::CuLds] / 1024,
            of[P::L1Bytes] / 1024,
            of[P::ScalarBytes] / 1024,
            of[P::InstructionL1Bytes] / 1024,
            of[P::L2Bytes] / 1024,
            (of[P::DramBandwidth] * of[P::Clock]) as f64 / 1e9,
            of[P::LdsLatency],
            of[P::L1Hit],
            of[P::L2Hit],
            of[P::L2Hit] + of[P::DramBeyond],
            device.parameters().filter(assumed).count(),
            device.parameters().count(),
        );
        table.push_str(&row);
    }
    assert!(
        readme.contains(&table),
        "machine/README.md lacks this table:\n{table}"
    );
}

/// A file with `like` states the differences; other parameters are inherited, and assumed unless `same` lists them.
#[test]
fn files_inherit_from_built_in_models() {
    let head = "name = \"mine\"\ntitle = \"Mine\"\narchitectures = [\"sm_61\"]\n";
    let like = |rest: &str| GpuModel::parse("m.toml", &format!("{head}{rest}"));
    let said = |rest: &str| like(rest).unwrap_err().to_string();
    let text = "like = \"gtx1080\"\nsame = [\"l1\", \"latency.alu\"]\n[sm]\ncount = { value = [7, 7], source = \"a test\" }";
    let (device, gtx) = (like(text).unwrap(), GpuModel::built_in("gtx1080").unwrap());
    assert_eq!(device.choices.policy, gtx.choices.policy);
    assert_eq!(device.choices.policy_provenance, Provenance::Assumed);
    for parameter in gtx.parameters() {
        let (own, of) = (device.range(parameter), gtx.range(parameter));
        if parameter == Parameter::SmCount {
            assert_eq!((own.stated(), own.source.as_str()), ([7; 3], "a test"));
            assert_eq!(own.provenance, Provenance::Published);
            continue;
        }
        assert_eq!(own.stated(), of.stated(), "{}", parameter.name());
        if parameter.name().starts_with("l1.") || parameter == Parameter::LatencyAlu {
            assert_eq!(own, of);
        } else {
            assert_eq!(own.source, format!("as gtx1080: {}", of.source));
            assert_eq!(own.provenance, Provenance::Assumed);
        }
    }
    let policy = "[scheduler]\npolicy = { value = \"lrr\", source = \"a test\" }";
    let device = like(&format!("like = \"p100\"\n{policy}")).unwrap();
    assert_eq!(device.choices.policy_provenance, Provenance::Published);
    assert_eq!(device.choices.policy_source, "a test");
    for (rest, begin) in [
        ("like = \"gtx\"", "m.toml: there is no machine \"gtx\""),
        ("", "m.toml: sm.count is missing"),
        (
            "same = [\"l1\"]",
            "m.toml: same is there, but no other machine",
        ),
        (
            "like = \"p100\"\nsame = [\"l3\"]",
            "m.toml: same: \"l3\" is neither",
        ),
        (
            "like = \"p100\"\n[l1]\nspeed = 1",
            "m.toml: l1.speed is not known",
        ),
        ("like = \"p100\"\n[l3]", "m.toml: l3 is not known"),
        (
            "like = \"p100\"\n[l2]\nslices = { value = [3, 3], source = \"a test\" }",
            "m.toml: l2.bytes is 4194304, but must be a multiple",
        ),
    ] {
        let said = said(rest);
        assert!(said.starts_with(begin), "{said}");
    }
}

/// Older files state sums: the latency of an L2 hit is a part of that of DRAM.
#[test]
fn sums_are_split() {
    let hit = GpuModel::built_in("jetson-tx2").unwrap();
    let hit = hit.range(Parameter::L2Hit).typical;
    for sum in ParameterSum::ALL {
        let (section, key) = sum.name().split_once('.').unwrap();
        assert_eq!(sum.part().name().split_once('.').unwrap().0, section);
        let stated = |number: &str| {
            edited(sum.part(), |_| {
                Some(format!("{key} = {{ {number}, source = \"a test\" }}"))
            })
        };
        let text = stated("value = [300, 600], typical = 400, standing = \"assumed\"");
        let device = GpuModel::parse("m.toml", &text).unwrap();
        let other = device.range(sum.other()).typical;
        let range = device.range(sum.part());
        assert_eq!(range.stated(), [300 - other, 400 - other, 600 - other]);
        assert_eq!(range.provenance, Provenance::Assumed);
        assert!(range.source.ends_with(": a test"), "{}", range.source);
        // A sum less than its other summand leaves 0.
        let device = GpuModel::parse("m.toml", &stated("value = [1, 1]")).unwrap();
        assert_eq!(device.range(sum.part()).stated(), [0; 3]);
        let error = GpuModel::parse("m.toml", &stated("value = [1]")).unwrap_err();
        let begin = format!("m.toml: {}: ", sum.name());
        assert!(error.to_string().starts_with(&begin), "{error}");
        let both = edited(sum.part(), |own| {
            let number = "{ value = [300, 300], source = \"a test\" }";
            Some(format!("{key} = {number}\n{own} = {number}"))
        });
        let error = GpuModel::parse("m.toml", &both).unwrap_err().to_string();
        assert!(error.contains("are both there"), "{error}");
    }
    let text = "name = \"mine\"\ntitle = \"Mine\"\narchitectures = []\nlike = \"jetson-tx2\"\n[dram]\nlatency = { value = [500, 500], source = \"a test\" }";
    let device = GpuModel::parse("m.toml", text).unwrap();
    assert_eq!(device.range(Parameter::DramBeyond).typical, 500 - hit);
}

#[test]
fn each_parameter_is_required() {
    for parameter in Parameter::of_family(Family::Maxwell) {
        let text = edited(parameter, |_| None);
        let error = GpuModel::parse("m.toml", &text).unwrap_err().to_string();
        let begin = format!("m.toml: {} is missing; it is: ", parameter.name());
        assert!(error.starts_with(&begin), "{error}");
    }
}

/// Line of the TX2 file with its architectures.
const TX2_ARCHITECTURES: &str = "architectures = [\"sm_62\"]";

/// The family of a machine follows from the architectures that its file names, and from nothing else.
#[test]
fn machines_without_a_family_are_refused() {
    for (named, said) in [
        ("[\"sm_107\"]", "sm_107 is not supported yet"),
        (
            "[\"sm_70\"]",
            "kernels for sm_70 are listed and disassembled, but neither analysed nor run yet",
        ),
        ("[\"gfx900\"]", "gfx900 is not supported"),
        ("[\"pascal\"]", "is no architecture like sm_61"),
        ("[]", "there is none"),
        ("[\"sm_61\", \"gfx803\"]", "machines of different kinds"),
    ] {
        let error = refused(TX2_ARCHITECTURES, &format!("architectures = {named}"));
        assert!(error.starts_with("m.toml: architectures: "), "{error}");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn unknown_keys_are_refused() {
    for (to, said) in [
        ("[latency]\nold = 1", "m.toml: latency.old is not known"),
        ("[speed]\n[latency]", "m.toml: speed is not known"),
        (
            "[speed]\nlight = 1\n[latency]",
            "m.toml: speed is not known",
        ),
    ] {
        let error = refused("[latency]", to);
        assert!(error.starts_with(said), "{error}");
    }
    let error = refused("architectures", "colour = \"green\"\narchitectures");
    assert!(error.starts_with("m.toml: colour is not known"), "{error}");
    let error = refused("[scheduler]", "[scheduler]\nluck = 1");
    assert!(
        error.starts_with("m.toml: ") && error.contains("luck"),
        "{error}"
    );
    let error = refused("value = \"gto\"", "value = \"best\"");
    assert!(
        error.starts_with("m.toml: ") && error.contains("best"),
        "{error}"
    );
    let error = refused_value(Parameter::LatencyAlu, "value = [6, 6], unit = 1");
    assert!(
        error.starts_with("m.toml: latency.alu: ") && error.contains("unit"),
        "{error}"
    );
    // A section that is not a table, and one with another name.
    let error = GpuModel::parse("m.toml", &TX2.replace("[fence]", "[fences]")).unwrap_err();
    assert!(
        error.to_string().contains("fence.block is missing"),
        "{error}"
    );
    let end = TX2.find("[fence]").unwrap();
    let text = format!("fence = 1\n{}", &TX2[..end]);
    assert!(GpuModel::parse("m.toml", &text).is_err());
}

#[test]
fn incomplete_ranges_are_refused() {
    let alu = Parameter::LatencyAlu;
    for (number, said) in [
        ("value = [7, 6]", "latency.alu is between 7 and 6"),
        (
            "value = [6, 8]",
            "latency.alu has a range but no typical value",
        ),
        (
            "value = [6, 8], typical = 9",
            "latency.alu is typically 9, outside 6 to 8",
        ),
        (
            "value = [6, 8], typical = 5",
            "latency.alu is typically 5, outside 6 to 8",
        ),
        (
            "value = [6, 6], typical = 7",
            "latency.alu is typically 7, outside 6 to 6",
        ),
        ("value = [6]", "latency.alu: "),
        ("value = 6", "latency.alu: "),
        ("value = [-6, 6]", "latency.alu: "),
        ("value = [6.5, 6.5]", "latency.alu: "),
        ("value = [6, 6], standing = \"sure\"", "latency.alu: "),
        ("typical = 6", "latency.alu: missing field `value`"),
        (
            "value = [6, 1099511627777], typical = 6",
            "latency.alu is between",
        ),
        (
            "value = [6, 1048577], typical = 6",
            "latency.alu is 1048577",
        ),
    ] {
        let error = refused_value(alu, number);
        let begin = format!("m.toml: {said}");
        assert!(error.starts_with(&begin), "{error}");
    }
    for source in [", source = \"\"", ", source = \" \""] {
        let text = edited(alu, |key| {
            Some(format!("{key} = {{ value = [6, 6]{source} }}"))
        });
        let error = GpuModel::parse("m.toml", &text).unwrap_err().to_string();
        assert_eq!(error, "m.toml: latency.alu does not say where it is from");
    }
    let text = edited(alu, |key| Some(format!("{key} = {{ value = [6, 6] }}")));
    let error = GpuModel::parse("m.toml", &text).unwrap_err().to_string();
    assert!(
        error.starts_with("m.toml: latency.alu: missing field `source`"),
        "{error}"
    );
    let text = edited(alu, |key| Some(format!("{key} = 6")));
    let error = GpuModel::parse("m.toml", &text).unwrap_err().to_string();
    assert!(error.starts_with("m.toml: latency.alu: "), "{error}");
    // The typical value is optional if the range is one value.
    assert!(GpuModel::parse("m.toml", &with_value(alu, "value = [6, 6]")).is_ok());
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table: one row per case")]
fn invalid_machines_are_refused() {
    for parameter in Parameter::of_family(Family::Maxwell) {
        let wrong: &[&str] = match parameter.domain() {
            Domain::Any => &[],
            Domain::Positive | Domain::Size => &["0"],
            Domain::PowerOfTwo => &["0", "3", "96", "12288"],
            Domain::Switch => &["2"],
            Domain::BankShift => &["1", "3"],
        };
        for wrong in wrong {
            let error = refused_value(parameter, &format!("value = [{wrong}, {wrong}]"));
            let begin = format!("m.toml: {} is {wrong}, but must be ", parameter.name());
            assert!(error.starts_with(&begin), "{error}");
        }
        // Latencies may be 0, intervals may not.
        if parameter.unit() == Unit::Cycles && parameter != Parameter::DramRefreshInterval {
            assert_eq!(parameter.domain(), Domain::Any);
        }
    }
    use Parameter as P;
    for (parameter, number, said) in [
        (
            P::SmCount,
            "value = [2, 257], typical = 2",
            "must be 1 to 256",
        ),
        (P::SmWarps, "value = [132, 132]", "must be 1 to 128"),
        (
            P::SmSchedulers,
            "value = [3, 3]",
            "sm.warps is 64, but must be a multiple of sm.schedulers",
        ),
        (P::SmSchedulers, "value = [2, 4], typical = 3", "which is 3"),
        (P::L1RequestThreads, "value = [2, 2]", "must be 4 to 32"),
        (P::L1RequestThreads, "value = [64, 64]", "must be 4 to 32"),
        (P::L2Sector, "value = [16, 16]", "must be 32 to"),
        (
            P::L2Sector,
            "value = [256, 256]",
            "l1.line is 128, but must be a multiple of l2.sector",
        ),
        (
            P::L1Bytes,
            "value = [25000, 25000]",
            "multiple of l1.line x l1.sets, which is 512",
        ),
        (
            P::L1Sets,
            "value = [5, 5]",
            "multiple of l1.line x l1.sets, which is 640",
        ),
        (
            P::L2Ways,
            "value = [12, 12]",
            "multiple of l2.line x l2.ways x l2.slices",
        ),
        (
            P::DramRefresh,
            "value = [0, 100000], typical = 100",
            "must be less than dram.refresh_interval",
        ),
        (
            P::ConstantL1Bytes,
            "value = [2000, 2000]",
            "constant.l1_line x constant.l1_ways",
        ),
        (
            P::ConstantL15Ways,
            "value = [4, 6], typical = 4",
            "which is 1536",
        ),
        (
            P::InstructionL1Ways,
            "value = [3, 3]",
            "instruction.line x instruction.l1_ways",
        ),
        (
            P::InstructionL15Bytes,
            "value = [100, 100]",
            "instruction.l15_ways",
        ),
        (
            P::InstructionAhead,
            "value = [0, 65], typical = 0",
            "must be 0 to 64",
        ),
        (P::TlbL1Page, "value = [2048, 2048]", "tlb.l1_page is 2048"),
    ] {
        let error = refused_value(parameter, number);
        assert!(
            error.starts_with("m.toml: ") && error.contains(said),
            "{error}"
        );
    }
}

/// Caches of valid sizes may be too large together.
#[test]
fn machines_with_too_large_tables_are_refused() {
    let device = |machine: &str| GpuModel::parse("m.toml", machine);
    let mut text = TX2.replace("count = { value = [2, 2]", "count = { value = [256, 256]");
    assert!(device(&text).is_ok());
    text = text.replace(
        "bytes = { value = [12288, 24576], typical = 12288",
        "bytes = { value = [16777216, 16777216]",
    );
    let error = device(&text).expect_err("it takes gigabytes").to_string();
    assert!(error.contains("lines together"), "{error}");
}

#[test]
fn selections_are_in_range_and_distinct() {
    for name in GpuModel::names() {
        let device = GpuModel::built_in(name).unwrap();
        let [least, typical, most] = [Selection::Least, Selection::Typical, Selection::Most]
            .map(|config| device.select(config));
        for &parameter in Parameter::ALL {
            let range = device.range(parameter);
            let selected = [least[parameter], typical[parameter], most[parameter]];
            assert_eq!(selected, range.stated());
        }
        let selections: Vec<_> = (0..200)
            .map(|seed| device.select(Selection::Seed(seed)))
            .collect();
        for (seed, config) in selections.iter().enumerate() {
            assert_eq!(*config, device.select(Selection::Seed(seed as u64)));
            for &parameter in Parameter::ALL {
                let (value, range) = (config[parameter], device.range(parameter));
                assert!((range.least..=range.most).contains(&value));
            }
            config.check().unwrap();
            assert!(
                selections[..seed].iter().all(|other| other != config),
                "{name}: seed {seed}"
            );
        }
        // Each value of a small range is selected by some seed.
        for parameter in device.parameters() {
            let range = device.range(parameter);
            if range.most - range.least < 8 && parameter.domain() == Domain::Any {
                for value in range.least..=range.most {
                    let reached = selections.iter().any(|config| config[parameter] == value);
                    assert!(reached, "{name}: {} {value}", parameter.name());
                }
            }
        }
    }
    let device = GpuModel::built_in("p100").unwrap();
    let other = device
        .select(Selection::Typical)
        .with(Parameter::LatencyAlu, 9);
    assert_eq!(other[Parameter::LatencyAlu], 9);
    assert_eq!(
        other.with(Parameter::LatencyAlu, 6),
        device.select(Selection::Typical)
    );
}

/// `slow` and `fast` select the ends of the table; parameters without a slow end keep their typical value.
#[test]
fn slow_and_fast_are_ends() {
    for name in GpuModel::names() {
        let device = GpuModel::built_in(name).unwrap();
        let (slow, fast) = (
            device.select(Selection::Slow),
            device.select(Selection::Fast),
        );
        slow.check().unwrap();
        fast.check().unwrap();
        for &parameter in Parameter::ALL {
            let [least, typical, most] = device.range(parameter).stated();
            let ends = match parameter.slow_end() {
                SlowEnd::High => (most, least),
                SlowEnd::Low => (least, most),
                SlowEnd::Either | SlowEnd::Each => (typical, typical),
            };
            assert_eq!((slow[parameter], fast[parameter]), ends);
            let is_size = matches!(parameter.domain(), Domain::Size | Domain::PowerOfTwo);
            assert!(!is_size || parameter.slow_end() == SlowEnd::Each);
            match parameter.unit() {
                Unit::BytesPerKilocycle => assert_eq!(parameter.slow_end(), SlowEnd::Low),
                Unit::Cycles => assert!(!matches!(
                    parameter.slow_end(),
                    SlowEnd::Low | SlowEnd::Each
                )),
                _ => {}
            }
        }
    }
}

/// Sizes within a range are drawn and listed if they describe a machine.
#[test]
fn sizes_are_drawn_if_valid() {
    use Parameter as P;
    let device = GpuModel::built_in("jetson-tx2").unwrap();
    let typical = device.select(Selection::Typical);
    let values = |parameter, most| device.candidate_values(parameter, &typical, most);
    // 32 KiB in lines of 256 bytes: 5 ways do not divide it. 512 KiB: 3 slices do not.
    assert_eq!(values(P::ConstantL15Ways, 64), [4, 8, 16]);
    assert_eq!(values(P::L2Slices, 64), [2, 4]);
    assert_eq!(values(P::InstructionAhead, 64), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let bytes = values(P::L1Bytes, 64);
    assert_eq!((bytes.len(), bytes[1] - bytes[0]), (25, 512));
    let bytes = values(P::L1Bytes, 5);
    assert_eq!(bytes, [12288, 14848, 17408, 19968, 22528, 24576]);
    // Parameters with a slow end: both ends.
    assert_eq!(values(P::LatencyXu, 64), [13, 15]);
    assert_eq!(values(P::IssueDual, 64), [0, 1]);
    let selections = (0..300).map(|seed| device.select(Selection::Seed(seed)));
    let (mut bytes, mut ways) = (BTreeSet::new(), BTreeSet::new());
    for config in selections {
        bytes.insert(config[P::L1Bytes]);
        ways.insert(config[P::ConstantL15Ways]);
    }
    assert_eq!(ways, BTreeSet::from([4, 8, 16]));
    assert!(bytes.len() > 20 && bytes.iter().all(|bytes| bytes % 512 == 0));
    // Parameters that depend on each other.
    let text = with_value(P::L2Bytes, "value = [262144, 1048576], typical = 524288");
    let device = GpuModel::parse("m.toml", &text).unwrap();
    let mut sizes = BTreeSet::new();
    for seed in 0..100 {
        let config = device.select(Selection::Seed(seed));
        config.check().unwrap();
        sizes.insert(config[P::L2Bytes]);
    }
    assert!(sizes.len() > 40, "{sizes:?}");
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }
}

/// Damaged files are parsed, or refused with one line that names the file; none panics.
#[test]
fn damaged_files_never_panic() {
    let mut random = SplitMix(6);
    let pieces = [
        "0",
        "1",
        "-1",
        "18446744073709551615",
        "1099511627776",
        "[",
        "]",
        "{",
        "}",
        "=",
        "\"",
        ",",
        ".",
        "\n",
        "#",
        "value",
        "typical",
        "nan",
        "1e9",
        "[[sm]]",
        "\u{1b}",
        "\u{feff}",
        "é",
    ];
    let mut read = 0;
    for _ in 0..3000 {
        let mut text = TX2.to_owned();
        for _ in 0..=random.below(4) {
            let mut at = random.below(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + random.below(40)).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            match random.below(5) {
                0 => text.truncate(at),
                1 => text.replace_range(at..end.max(at), ""),
                // Most checks are about digits.
                2 => {
                    let digit = text[at..]
                        .find(|c: char| c.is_ascii_digit())
                        .map(|skip| at + skip);
                    let put = pieces[random.below(5)];
                    if let Some(digit) = digit {
                        text.replace_range(digit..=digit, put);
                    }
                }
                3 => {
                    let piece = text[at..end.max(at)].to_owned();
                    text.push_str(&piece);
                }
                _ => text.insert_str(at, pieces[random.below(pieces.len())]),
            }
        }
        match GpuModel::parse("m.toml", &text) {
            Ok(device) => {
                read += 1;
                let config = device.select(Selection::Seed(1));
                assert!(config[Parameter::SmCount] > 0);
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.starts_with("m.toml: "), "{error}");
                assert!(!error.contains(|c: char| c.is_control()), "{error:?}");
            }
        }
    }
    // Files with damage in comments and sources are valid; most others are not.
    assert!((1..2900).contains(&read), "{read} of 3000 are read");
}
