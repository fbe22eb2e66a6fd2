//! Images against the output of `cuobjdump -elf`, `nvdisasm -g` and `readelf` for the same files.

#![allow(clippy::panic, reason = "helpers of tests")]

use crate::support::{built, built_folder, data, exercise};
use warpbound_base::CodeAddr;
use warpbound_load::{
    AddressHalf, Image, IndirectKind, Kernel, Linkage, OtherKind, Param, ParamBlock,
};

fn image(bytes: &[u8]) -> Image {
    Image::parse(bytes).unwrap_or_else(|diagnostic| panic!("{diagnostic}"))
}

fn names(kernel: &Kernel) -> Vec<(&str, u32, u32, Option<u32>)> {
    kernel
        .functions
        .iter()
        .map(|function| {
            (
                &*function.name,
                function.start.0,
                function.size,
                function.frame_size,
            )
        })
        .collect()
}

fn line(kernel: &Kernel, address: u32) -> String {
    kernel
        .source_line(CodeAddr(address))
        .map_or_else(|| "none".to_owned(), |line| line.to_string())
}

#[test]
fn a_template_kernel_with_a_device_function() {
    let image = image(&data("features.sm_61.cubin"));
    assert_eq!(image.isa().to_string(), "sm_61");
    assert_eq!(image.linkage(), Linkage::Executable);
    assert_eq!(
        image.kernel_names().collect::<Vec<_>>(),
        ["_ZN5outer5scaleIfEEvPT_3BoxIcEi", "report"]
    );
    assert!(image.warnings().is_empty());
    let kernel = image
        .kernel("void outer::scale<float>(float*, Box<char>, int)")
        .unwrap();
    assert_eq!(&*kernel.name, "_ZN5outer5scaleIfEEvPT_3BoxIcEi");
    assert_eq!(kernel.entry, CodeAddr(0));
    assert_eq!(kernel.file_offset, 0x1ce0);
    assert_eq!(kernel.code().len(), 0x240);
    assert_eq!(kernel.code()[..4], 0xfe00_07f6_u32.to_le_bytes());
    assert_eq!(
        names(kernel),
        [
            ("_ZN5outer5scaleIfEEvPT_3BoxIcEi", 0, 0x240, Some(0)),
            (
                "$_ZN5outer5scaleIfEEvPT_3BoxIcEi$_ZN5outer6helperEi",
                0x150,
                0xf0,
                Some(8)
            ),
        ]
    );
    let innermost = |address| kernel.function_at(CodeAddr(address)).unwrap().start.0;
    assert_eq!([innermost(0x148), innermost(0x150)], [0, 0x150]);
    assert_eq!(kernel.function_at(CodeAddr(0x240)), None);
    assert_eq!(kernel.registers, 18);
    assert_eq!(kernel.barriers, 1);
    assert_eq!(kernel.static_shared, Some(0x400));
    assert_eq!(kernel.frame_size, Some(0));
    assert_eq!(kernel.min_stack_size, Some(0));
    assert_eq!(kernel.max_stack_size, None);
    assert_eq!(kernel.crs_stack_size, Some(0x600));
    assert_eq!(kernel.register_limit, Some(255));
    let param = |ordinal, offset, size| Param {
        ordinal,
        offset,
        size,
    };
    assert_eq!(
        kernel.params,
        [param(0, 0, 8), param(1, 8, 1), param(2, 12, 4)]
    );
    assert_eq!(
        kernel.param_block,
        Some(ParamBlock {
            bank: 0,
            offset: 0x140,
            size: 16
        })
    );
    assert_eq!(kernel.max_threads, Some([128, 1, 1]));
    assert_eq!(kernel.required_block, None);
    assert_eq!(kernel.exits, [CodeAddr(0x148)]);
    assert_eq!(kernel.ctaid_reads, [CodeAddr(0xd8)]);
    assert!(kernel.indirect_branches.is_empty());
    assert!(kernel.externs.is_empty());
    assert!(kernel.relocations.is_empty());
    // Attributes that no field represents are kept, known by name or not: versions and workarounds.
    let others = kernel.other_attributes.iter();
    let others: Vec<_> = others.map(|other| (other.code, other.name())).collect();
    assert_eq!(
        others,
        [
            (0x37, Some("CUDA_API_VERSION")),
            (0x30, Some("SW2393858_WAR")),
            (0x2a, Some("SW1850030_WAR")),
        ]
    );
}

#[test]
fn a_kernel_that_calls_the_system() {
    let image = image(&data("features.sm_61.cubin"));
    let kernel = image.kernel("report").unwrap();
    assert_eq!(kernel.demangled(), "report");
    assert_eq!(names(kernel), [("report", 0, 0x200, Some(0x30))]);
    assert_eq!(kernel.registers, 20);
    assert_eq!(kernel.barriers, 6);
    assert_eq!(kernel.static_shared, Some(0));
    assert_eq!(kernel.min_stack_size, Some(0x30));
    assert_eq!(kernel.crs_stack_size, None);
    assert_eq!(kernel.exits, [CodeAddr(0x1b8)]);
    assert_eq!(kernel.system_calls, [CodeAddr(0x168)]);
    assert_eq!(
        kernel
            .externs
            .iter()
            .map(AsRef::as_ref)
            .collect::<Vec<&str>>(),
        ["vprintf"]
    );
    let [call] = kernel.indirect_branches.as_slice() else {
        panic!("{:?}", kernel.indirect_branches);
    };
    assert_eq!((call.at, call.kind), (CodeAddr(0x168), IndirectKind::Call));
    assert!(call.targets.is_empty());
}

#[test]
fn constant_banks() {
    let image = image(&data("features.sm_61.cubin"));
    let kernel = image.kernel("report").unwrap();
    let shape: Vec<_> = kernel
        .banks
        .iter()
        .map(|bank| {
            (
                bank.number,
                bank.bytes().len(),
                bank.is_shared_by_kernels,
                bank.file_offset,
            )
        })
        .collect();
    assert_eq!(
        shape,
        [
            (0, 0x144, false, 0x1b88),
            (3, 16, true, 0x1a10),
            (4, 24, true, 0x1a20)
        ]
    );
    let weights = kernel.bank(3).unwrap();
    assert_eq!(weights.word(4), Some(2.0_f32.to_bits()));
    assert_eq!(weights.word(12), Some(4.0_f32.to_bits()));
    assert_eq!(weights.word(13), None);
    let addresses: Vec<String> = kernel
        .bank(4)
        .unwrap()
        .relocations
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        addresses,
        [
            "0x0000 R_CUDA_64 table",
            "0x0008 R_CUDA_64 $str",
            "0x0010 R_CUDA_32 vprintf"
        ]
    );
    let defined: Vec<bool> = kernel
        .bank(4)
        .unwrap()
        .relocations
        .iter()
        .map(|relocation| relocation.symbol.is_defined)
        .collect();
    assert_eq!(defined, [true, true, false]);
}

#[test]
fn source_lines() {
    let image = image(&data("features.sm_61.cubin"));
    let scale = image.kernel("_ZN5outer5scaleIfEEvPT_3BoxIcEi").unwrap();
    for (address, expected) in [
        (0x08, 8),
        (0x10, 10),
        (0x28, 10),
        (0x30, 12),
        (0x38, 10),
        (0xa0, 10),
        (0xa8, 11),
        (0x140, 12),
        (0x148, 13),
        (0x150, 7),
        (0x238, 7),
    ] {
        assert_eq!(
            line(scale, address),
            format!("/features.cu:{expected}"),
            "at 0x{address:x}"
        );
    }
    assert_eq!(line(scale, 0x240), "none");
    let report = image.kernel("report").unwrap();
    assert_eq!(line(report, 0), "/features.cu:16");
    assert_eq!(line(report, 0x1b8), "/features.cu:23");
}

#[test]
fn other_items_are_listed() {
    let image = image(&data("features.sm_61.cubin"));
    let others: Vec<_> = image
        .others()
        .iter()
        .map(|other| (&*other.name, other.kind, other.size))
        .collect();
    for expected in [
        ("weights", OtherKind::Variable, 16),
        ("table", OtherKind::Variable, 40),
        ("vprintf", OtherKind::External, 0),
        (".nv.callgraph", OtherKind::Section(0x7000_0001), 0x28),
        (".nv.global.init", OtherKind::Section(1), 4),
    ] {
        assert!(others.contains(&expected), "{expected:?} not in {others:?}");
    }
    assert!(
        others.iter().all(
            |(name, ..)| !name.starts_with(".text") && !name.starts_with('$') || *name == "$str"
        )
    );
}

/// A relocated immediate refers to the variable and to the half of its address that it receives.
#[test]
fn addresses_in_instructions() {
    let image = image(&built("f64_trigonometry.nvrtc11.sm_61.cubin"));
    let kernel = image.kernel("f64_trigonometry").unwrap();
    let mut halves: Vec<_> = kernel
        .relocations
        .iter()
        .map(|relocation| {
            assert!(relocation.symbol.is_global, "{relocation}");
            let half = relocation.word_immediate().unwrap();
            (&*relocation.symbol.name, half == AddressHalf::High)
        })
        .collect();
    halves.sort_unstable();
    let [coefficients, bits] = ["__cudart_sin_cos_coeffs", "__cudart_i2opi_d"];
    let expected = [bits, coefficients].map(|name| [(name, false), (name, true)]);
    assert!(expected.concat().iter().all(|half| halves.contains(half)));
}

#[test]
fn references_to_textures_and_surfaces_are_listed() {
    let image = image(&built("texture_reference.nvrtc11.sm_61.cubin"));
    let of = |kind| {
        let others = image
            .others()
            .iter()
            .filter(move |other| other.kind == kind);
        let mut names: Vec<&str> = others.map(|other| &*other.name).collect();
        names.sort_unstable();
        names
    };
    let textures = of(OtherKind::TextureReference);
    assert_eq!(textures, ["picture", "table", "weights"]);
    assert_eq!(of(OtherKind::SurfaceReference), ["canvas"]);
}

#[test]
fn a_relocatable_file() {
    let image = image(&data("features_relocatable.sm_61.cubin"));
    assert_eq!(image.linkage(), Linkage::Relocatable);
    assert!(image.others().iter().any(|other| {
        &*other.name == "_ZN5outer6helperEi"
            && other.kind == OtherKind::DeviceFunction
            && other.size == 256
    }));
    let kernel = image.kernel("_ZN5outer5scaleIfEEvPT_3BoxIcEi").unwrap();
    assert_eq!(kernel.static_shared, None);
    assert_eq!(kernel.max_stack_size, Some(0));
    assert_eq!(
        names(kernel),
        [
            ("_ZN5outer5scaleIfEEvPT_3BoxIcEi", 0, 0x180, Some(0)),
            ("_ZN5outer6helperEi", 0x180, 0x100, Some(8)),
        ]
    );
    let relocations: Vec<String> = kernel.relocations.iter().map(ToString::to_string).collect();
    assert_eq!(
        relocations,
        [
            "0x0088 R_CUDA_ABS24_20 _ZZN5outer5scaleIfEEvPT_3BoxIcEiE4tile",
            "0x00b8 R_CUDA_ABS24_20 _ZZN5outer5scaleIfEEvPT_3BoxIcEiE4tile",
            "0x00d0 R_CUDA_ABS32_20 _ZN5outer6helperEi",
            // Of the function, which follows.
            "0x01d0 R_CUDA_ABS32_LO_20 table",
            "0x01d8 R_CUDA_ABS32_HI_20 table",
        ]
    );
    // Three sequences, one per code section, all from address 0.
    assert_eq!(line(kernel, 0), "/features.cu:8");
    assert_eq!(line(image.kernel("report").unwrap(), 0), "/features.cu:16");
}

#[test]
fn functions_in_sections_of_their_own() {
    let image = image(&data("debug.sm_61.cubin"));
    let kernel = image.kernel("debug").unwrap();
    assert_eq!(kernel.relocations.len(), 1);
    let call = &kernel.relocations[0];
    assert_eq!(
        (call.offset, call.number, &*call.symbol.name),
        (0xb8, 42, "_Z5twicei")
    );
    assert!(call.symbol.is_defined);
    assert_eq!(line(kernel, 0), "/debug.cu:2");
}

#[test]
fn indirect_branches_of_a_switch() {
    let image = image(&built("switch_table.sm_61.cubin"));
    let kernel = image.kernel("switch_table").unwrap();
    let notes: Vec<(u32, Vec<u32>)> = kernel
        .indirect_branches
        .iter()
        .map(|branch| {
            assert_eq!(branch.kind, IndirectKind::Branch);
            (
                branch.at.0,
                branch.targets.iter().map(|target| target.0).collect(),
            )
        })
        .collect();
    assert_eq!(
        notes,
        [
            (0x128, vec![0x2b0, 0x130, 0x6c0]),
            (0x330, vec![0x4b0, 0x338, 0x6c0]),
            (0x558, vec![0x590, 0x560, 0x6c0]),
            (0x608, vec![0x6d0]),
            (0x668, vec![0x6a0]),
            (0x698, vec![0x6a0]),
            (0x6c8, vec![0x6d0]),
        ]
    );
    assert_eq!(kernel.crs_stack_size, Some(0xa0));
    assert_eq!(kernel.registers, 14);
    // The jump tables hold the targets that the compiler recorded.
    let tables = kernel.bank(2).unwrap();
    assert_eq!(tables.bytes().len(), 0x30);
    for (_, targets) in &notes[..3] {
        for target in targets {
            assert!(
                (0..0x30)
                    .step_by(4)
                    .any(|offset| tables.word(offset) == Some(*target)),
                "0x{target:x} is in no table"
            );
        }
    }
}

#[test]
fn the_digest_follows_code_and_literals_only() {
    let bytes = built("switch_table.sm_61.cubin");
    let digest = |bytes: &[u8]| image(bytes).kernel("switch_table").unwrap().code_digest();
    let original = digest(&bytes);
    assert_eq!(original.len(), 16);
    assert!(original.chars().all(|digit| digit.is_ascii_hexdigit()));
    let kernel_image = image(&bytes);
    let kernel = kernel_image.kernel("switch_table").unwrap();
    let changed = |offset: u64| {
        let mut bytes = bytes.clone();
        bytes[offset as usize + 4] ^= 1;
        digest(&bytes)
    };
    assert_ne!(changed(kernel.file_offset), original);
    assert_ne!(changed(kernel.bank(2).unwrap().file_offset), original);
    assert_eq!(changed(kernel.bank(0).unwrap().file_offset), original);
}

/// FNV-1a over the length of the code, the code, and bank 2, by its definition.
#[test]
fn the_digest_is_fnv_1a() {
    let image = image(&data("tiny.sm_52.cubin"));
    let kernel = &image.kernels().unwrap()[0];
    assert!(kernel.bank(2).is_none());
    let mut bytes = (kernel.code().len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(kernel.code());
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    assert_eq!(kernel.code_digest(), format!("{hash:016x}"));
}

/// Offset of the line table of `features.sm_61.cubin`.
const DEBUG_LINE: usize = 0x0758;

/// Damage to the line table removes the source lines, not the kernel.
#[test]
fn a_damaged_line_table_is_a_warning() {
    let mut bytes = data("features.sm_61.cubin");
    let clean = image(&bytes);
    // The version follows the unit's length at the start of `.debug_line`.
    let at = DEBUG_LINE + 4;
    assert_eq!(bytes[at..at + 2], [2, 0]);
    bytes[at] = 9;
    let damaged = image(&bytes);
    let warnings: Vec<String> = damaged.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [format!(
            "offset 0x{:x}: line table: has a version other than 2 to 4",
            DEBUG_LINE
        )]
    );
    assert_eq!(line(damaged.kernel("report").unwrap(), 0), "none");
    assert_eq!(
        damaged.kernel("report").unwrap().code(),
        clean.kernel("report").unwrap().code()
    );
}

#[test]
fn all_our_kernels_are_read_without_a_warning() {
    let mut files: Vec<_> = std::fs::read_dir(built_folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "cubin")
        })
        .collect();
    files.sort();
    assert!(files.len() >= 20, "only {} files", files.len());
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(exercise(&bytes), Ok(()), "{}", path.display());
        let image = image(&bytes);
        assert!(
            image.warnings().is_empty(),
            "{}: {:?}",
            path.display(),
            image.warnings()
        );
        for kernel in image.kernels().unwrap() {
            assert!(
                kernel.source_line(kernel.entry).is_some(),
                "{}",
                path.display()
            );
            assert!(kernel.code().len().is_multiple_of(32), "{}", path.display());
            for attribute in &kernel.other_attributes {
                assert!(
                    attribute.name().is_some(),
                    "{}: {attribute:?}",
                    path.display()
                );
            }
        }
    }
}
