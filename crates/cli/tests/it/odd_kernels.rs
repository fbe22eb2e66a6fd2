//! Unreadable kernels beside readable ones, functions that are not kernels, relocated operands.

use crate::support::{built, one_line, run, scratch};

/// The report of `bound` about three kernels with one loop bound for all.
fn bounds(file: &str) -> Vec<(String, serde_json::Value)> {
    let message = run(&["bound", file, "--loop-default", "10", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&message.stdout).expect("JSON");
    let kernels = report["kernels"].as_array().expect("a list");
    let named = |k: &serde_json::Value| (k["name"].as_str().expect("a name").to_owned(), k.clone());
    kernels.iter().map(named).collect()
}

/// The header of the code section of a kernel.
fn code_header(bytes: &[u8], kernel: &str) -> usize {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8")) as usize;
    let half = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let header = |section: usize| number(40) + 64 * section;
    let names = number(header(half(62)) + 24);
    let wanted = format!(".text.{kernel}\0");
    let is_wanted = |header: &usize| {
        let name = u32::from_le_bytes(bytes[*header..header + 4].try_into().expect("4")) as usize;
        bytes[names + name..].starts_with(wanted.as_bytes())
    };
    (0..half(60))
        .map(header)
        .find(is_wanted)
        .expect("the section")
}

/// Code that is not a whole number of groups, and a section that states more barriers than the hardware has.
#[test]
fn an_odd_kernel_costs_no_neighbour() {
    let original = built("nested_loops.sm_61.cubin");
    let sound = bounds("nested_loops.sm_61.cubin");
    let header = code_header(&original, "nested_fixed");
    for (name, at, value, why) in [
        (
            "groups",
            32,
            original[header + 32] - 8,
            "code ends inside an instruction group",
        ),
        ("barriers", 11, 0xff, "barriers, at most 16 exist"),
    ] {
        let mut bytes = original.clone();
        bytes[header + at] = value;
        if name == "groups" {
            // The function is as long as its section; a shorter one is inside.
            let size = u64::from_le_bytes(bytes[header + 32..header + 40].try_into().expect("8"));
            shorten(&mut bytes, size + 8, size);
        }
        let file = scratch(&format!("odd.{name}.cubin"), bytes);
        let odd = bounds(&file);
        assert_eq!(odd.len(), sound.len());
        for (kernel, report) in &sound {
            let (_, now) = odd
                .iter()
                .find(|(name, _)| name == kernel)
                .expect("the kernel");
            if kernel == "nested_fixed" {
                assert_eq!(now["status"], "refused");
                let reason = now["reason"].as_str().expect("a reason");
                assert!(reason.contains(why), "{reason}");
            } else {
                assert_eq!(now["bound"], report["bound"], "{kernel}");
            }
        }
        let message = run(&["bound", &file, "--loop-default", "10"]);
        assert_eq!((message.code, message.stderr.as_str()), (Some(2), ""));
        run(&[
            "bound",
            &file,
            "--loop-default",
            "10",
            "--kernel",
            "nested_triangular",
        ])
        .done();
        let list = run(&["list", &file]).done();
        assert!(
            list.contains("nested_triangular") && list.contains(why),
            "{list}"
        );
        let message = run(&["disasm", &file]);
        assert_eq!(message.code, Some(3));
        assert!(
            message.stdout.contains("nested_triangular\n"),
            "{}",
            message.stdout
        );
        let line = one_line(&message.stderr);
        assert!(
            line.starts_with(&format!("{file}: kernel nested_fixed: ")),
            "{line}"
        );
        let message = run(&["disasm", &file, "--kernel", "nested_fixed"]);
        assert_eq!((message.code, message.stdout.as_str()), (Some(3), ""));
    }
}

/// Changes the size of the functions with a given size.
fn shorten(bytes: &mut [u8], from: u64, to: u64) {
    let symbol = |at: &usize| bytes[*at..at + 8] == from.to_le_bytes() && bytes[at - 12] & 0xf == 2;
    let found: Vec<usize> = (24..bytes.len() - 8).step_by(8).filter(symbol).collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at..at + 8].copy_from_slice(&to.to_le_bytes());
    }
}

const RELOCATABLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../load/tests/data/features_relocatable.sm_61.cubin"
);

/// Output of nvdisasm 12.4 for the same file.
#[test]
fn relocated_operands() {
    for style in ["columns", "nvdisasm"] {
        let listing = run(&["disasm", RELOCATABLE, "--style", style]).done();
        for text in [
            "MOV32I R6, 32@lo(table) ;",
            "MOV32I R3, 32@hi(table) ;",
            "STS [R2+`(_ZZN5outer5scaleIfEEvPT_3BoxIcEiE4tile)], R0 ;",
            "LDS.U.32 R3, [R3+`(_ZZN5outer5scaleIfEEvPT_3BoxIcEiE4tile)] ;",
            "JCAL `(_ZN5outer6helperEi) ;",
            "MOV32I R4, 32@lo($str) ;",
            "JCAL `(vprintf) ;",
            "MOV32I R0, `(weights) ;",
        ] {
            assert!(listing.contains(text), "{text} not in {listing}");
        }
    }
}

/// Operations have the words that the loader fills as constants of their own, and mini-SIMT programs have operations as
/// well.
#[test]
fn operations_of_relocated_code_and_of_mini_simt() {
    let ir = run(&["disasm", RELOCATABLE, "--ir"]).done();
    for text in [
        "; outer::helper(int)\n",
        "address_word high \"table\" + 0x0\n",
        "  call external \"vprintf\"\n",
    ] {
        assert!(ir.contains(text), "{text} not in {ir}");
    }
    let ir = run(&["disasm", "../msimt/triangle_sum.msimt", "--ir"]).done();
    assert!(ir.contains("  branch 0x"), "{ir}");
}

#[test]
fn functions_that_list_names_are_listed() {
    let list = run(&["list", RELOCATABLE]).done();
    assert!(
        list.contains("device function outer::helper(int), 256 bytes"),
        "{list}"
    );
    for name in ["outer::helper(int)", "_ZN5outer6helperEi"] {
        let listing = run(&["disasm", RELOCATABLE, "--kernel", name]).done();
        assert!(listing.starts_with("outer::helper(int)\n"), "{listing}");
        assert_eq!(listing.matches(" RET ;").count(), 1, "{listing}");
    }
    let all = run(&["disasm", RELOCATABLE]).done();
    assert!(all.contains("\nouter::helper(int)\n"), "{all}");
}

/// GPUs of sm_53 have the instructions of sm_52, and a file with code for both separates them.
#[test]
fn code_of_sm_52_stands_in_for_sm_53() {
    let bound = |file: &str, sm: &str| run(&["bound", file, "--sm", sm, "--loop-default", "10"]);
    let of = |number: u8| {
        let mut bytes = built("nested_loops.sm_50.cubin");
        bytes[48] = number;
        scratch(&format!("nested_loops.sm_{number}.cubin"), bytes)
    };
    let (sm_52, sm_53) = (of(52), of(53));
    let expected = bound(&sm_52, "sm_52").done();
    assert_eq!(bound(&sm_52, "sm_53").done(), expected);
    let own = bound(&sm_53, "sm_53").done();
    assert_eq!(own.replace("sm_53", "sm_52"), expected);
    assert!(
        bound(&sm_53, "sm_52")
            .refusal()
            .contains("no machine code for sm_52")
    );
}

#[test]
fn an_architecture_that_is_there_and_not_supported() {
    let data = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../load/tests/data/containers/lz4.fatbin"
    );
    let mut bytes = std::fs::read(data).expect("a file of the tests");
    // The architecture of the first entry, after the container's header of 16 bytes.
    assert_eq!(bytes[16 + 28], 61);
    bytes[16 + 28] = 73;
    let file = scratch("newer.fatbin", bytes);
    for (sm, message) in [
        (
            "sm_73",
            "sm_73 is not supported (sm_50 to sm_62, sm_75 to sm_103, sm_110 to sm_121 are)",
        ),
        (
            "sm_90",
            "there is no machine code for sm_90 in this file; the file has sm_62, sm_73",
        ),
    ] {
        for command in [&["bound"][..], &["list"], &["disasm"]] {
            let said_here = run(&[command, &[&file, "--sm", sm]].concat()).refusal();
            assert_eq!(said_here, format!("{file}: {message}"));
        }
    }
}
