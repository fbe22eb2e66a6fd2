//! The state in which kernels of AMD's GPUs begin. Expected values are written down from LLVM's "User Guide for AMDGPU
//! Backend" and HSA's specification; the kernels are in the test data of the crate that loads them.
#![allow(clippy::panic, reason = "tests")]

use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_ir::{AddressWord, Code, WordHalf};
use warpbound_launch::gcn::{LANES, ScratchPlace, aperture, scratch_place};
use warpbound_launch::{
    Buffer, GlobalMemory, Launch, LaunchFile, PathOrder, Size, WaveEntry, bind, check_limits,
};
use warpbound_load::{ArgKind, CodeObjectKernel, HiddenArg, Image};

fn image(name: &str) -> Image {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../load/tests/data/gcn");
    Image::parse(&std::fs::read(folder.join(name)).expect(name)).expect(name)
}

fn file(text: &str) -> LaunchFile {
    let missing = |name: &str| Err(Diagnostic::new(format!("no file {name}")));
    LaunchFile::parse("l.toml", text, &missing).expect("it can be read")
}

fn bound(
    image: &Image,
    kernel: &str,
    text: &str,
    code: &Code,
) -> Result<(Launch, GlobalMemory), String> {
    let kernel = image.kernel(kernel).expect(kernel);
    bind(
        &file(text),
        image,
        kernel,
        code,
        PathOrder::TakenFirst,
        1000,
    )
    .map_err(|d| d.to_string())
}

fn launched(image: &Image, kernel: &str, text: &str) -> (Launch, GlobalMemory) {
    bound(image, kernel, text, &Code::default()).unwrap_or_else(|why| panic!("{why}"))
}

fn entry(launch: &Launch) -> &WaveEntry {
    launch.wave_entry.as_ref().expect("of an AMD GPU")
}

fn object<'a>(image: &'a Image, kernel: &str) -> &'a CodeObjectKernel {
    let kernel = image.kernel(kernel).expect(kernel);
    kernel.code_object.as_ref().expect("a code object")
}

fn buffer<'a>(memory: &'a GlobalMemory, name: &str) -> &'a Buffer {
    let found = memory.buffers().iter().find(|buffer| buffer.name == name);
    found.unwrap_or_else(|| panic!("no buffer {name}"))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn pair(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

const EVERYTHING: &str =
    "grid = [2, 3, 4]\nblock = [5, 7, 3]\n[[param]]\nname = \"out\"\ntype = \"u32\"\nshape = [4]\n";

/// The scalar registers of a wave by number, `None` where undefined.
fn scalars(entry: &WaveEntry, group: Size, wave: u32) -> [Option<u32>; 130] {
    let mut all = [None; 130];
    for (number, value) in entry.scalars(group, wave) {
        let old = all[usize::from(number)].replace(value);
        assert_eq!(old, None, "register {number} is set twice");
    }
    all
}

/// User SGPRs in LLVM's order, then block ids x, y, z, facts about the block, offset of the scratch: the fault of block ids
/// before the user SGPRs moves every one of them.
#[test]
fn workgroup_ids_follow_the_user_registers() {
    let image = image("state.v5.co");
    let (launch, memory) = launched(&image, "everything", EVERYTHING);
    let entry = entry(&launch);
    let packet = buffer(&memory, "the dispatch packet").address;
    let queue = buffer(&memory, "the queue").address;
    let kernarg = buffer(&memory, "the arguments").address;
    // Two waves of 64 lanes with 20 bytes, rounded up to 32.
    let scratch = 2 * 64 * 32;
    let low = |address: u64| address as u32;
    let high = |address: u64| (address >> 32) as u32;
    let expected = [
        low(aperture::SCRATCH),
        high(aperture::SCRATCH) | 1 << 31,
        scratch,
        // Elements of 4 bytes, index stride 64, lane number added.
        0x00e8_0000,
        low(packet),
        high(packet),
        low(queue),
        high(queue),
        low(kernarg),
        high(kernarg),
        0,
        0,
        0,
        32,
        32,
        // The user SGPRs end here.
        1,
        2,
        3,
        2,
        64 * 32,
    ];
    let found = scalars(entry, [1, 2, 3], 1);
    assert_eq!(found[..20], expected.map(Some));
    assert!(found[20..126].iter().all(Option::is_none), "undefined");
    let exec = (1u64 << (5 * 7 * 3 - 64)) - 1;
    assert_eq!(
        found[126..],
        [Some(low(exec)), Some(high(exec)), None, Some(0x2f1)]
    );
    // The first wave of its block says so, and its scratch is the first.
    let first = scalars(entry, [0, 0, 0], 0);
    assert_eq!(first[15..20], [0, 0, 0, 1 << 31 | 2, 0].map(Some));
    assert_eq!(first[126..128], [Some(u32::MAX), Some(u32::MAX)]);
    assert_eq!(
        (entry.waves(), entry.scalar_count(), entry.vector_count()),
        (2, 48, 20)
    );
    assert_eq!((launch.shared, launch.local), (12, 32));
}

/// The stack of a launch file is scratch, but no less than the kernel needs.
#[test]
fn scratch_of_a_launch() {
    let image = image("state.v5.co");
    for (stack, expected) in [(16, 32), (100, 112)] {
        let text = format!("stack = {stack}\n{EVERYTHING}");
        let (launch, _) = launched(&image, "everything", &text);
        assert_eq!(
            (launch.local, entry(&launch).lane_scratch()),
            (expected, expected)
        );
    }
}

/// A kernel without user SGPRs and block ids has defined EXEC and MODE only, and v0.
#[test]
fn nothing_enabled() {
    let image = image("state.v5.co");
    let (launch, _) = launched(&image, "nothing", "grid = [1]\nblock = [64]\n");
    let found = scalars(entry(&launch), [0; 3], 0);
    assert_eq!(found.iter().flatten().count(), 3);
    assert_eq!(entry(&launch).vectors(0).len(), 1);
}

/// Work-item ids x fastest, in all lanes of a partial wave that exist.
#[test]
fn work_item_ids_of_partial_waves() {
    let image = image("state.v5.co");
    let (launch, _) = launched(&image, "everything", EVERYTHING);
    let entry = entry(&launch);
    let mut ids = (0..3).flat_map(|z| (0..7).flat_map(move |y| (0..5).map(move |x| [x, y, z])));
    for wave in 0..2 {
        let rows = entry.vectors(wave);
        assert_eq!(rows.len(), 3);
        for (lane, number) in (0..LANES as usize).zip(0..) {
            let exists = entry.lanes(wave) >> lane & 1 != 0;
            assert_eq!(exists, wave == 0 || number < 41);
            let expected = if exists {
                ids.next().expect("an id")
            } else {
                [0; 3]
            };
            let found: Vec<u32> = rows.iter().map(|row| row[lane]).collect();
            assert_eq!(found, expected);
        }
    }
    assert_eq!((ids.next(), entry.lanes(2)), (None, 0));
}

#[test]
fn dispatch_packet_and_queue() {
    let image = image("state.v5.co");
    let (launch, memory) = launched(&image, "everything", EVERYTHING);
    let packet = &buffer(&memory, "the dispatch packet").bytes;
    assert_eq!(packet.len(), 64);
    assert_eq!((half(packet, 0) & 0xff, half(packet, 2)), (2, 3));
    assert_eq!([4, 6, 8].map(|at| half(packet, at)), [5, 7, 3]);
    // Sizes of the grid in work-items.
    assert_eq!([12, 16, 20].map(|at| word(packet, at)), [10, 21, 12]);
    assert_eq!((word(packet, 24), word(packet, 28)), (32, 12));
    let loaded = buffer(&memory, "the code object");
    let object = object(&image, "everything");
    assert_eq!(pair(packet, 32), loaded.address + object.descriptor_address);
    assert_eq!(pair(packet, 40), buffer(&memory, "the arguments").address);
    let queue = &buffer(&memory, "the queue").bytes;
    assert_eq!(u64::from(word(queue, 0x40)) << 32, aperture::SHARED);
    assert_eq!(u64::from(word(queue, 0x44)) << 32, aperture::PRIVATE);
    // The code is where the entry state says, and an address in it is relative to that.
    let kernel = image.kernel("everything").expect("it is there");
    let at = (entry(&launch).code_base() - loaded.address) as usize;
    assert_eq!(loaded.bytes[at..at + kernel.code().len()], *kernel.code());
}

/// Parameters of `hidden`, in blocks of 4 x 2 x 2.
const HIDDEN: &str = "grid = [6, 5, 4]\nblock = [4, 2, 2]\n[[param]]\nname = \"a\"\ntype = \"u32\"\nshape = [2]\n[[param]]\nname = \"n\"\ntype = \"s32\"\nvalue = 1\n";

/// The hidden arguments of version 5 are not those of version 4: whoever reads the one as the other finds no block counts.
#[test]
fn hidden_arguments_of_v5_are_not_those_of_v4() {
    let of = |name: &str| {
        let image = image(name);
        let (_, memory) = launched(&image, "hidden", HIDDEN);
        let explicit = buffer(&memory, "a").address;
        let arguments = buffer(&memory, "the arguments").bytes.clone();
        assert_eq!(
            (pair(&arguments, 0), word(&arguments, 8)),
            (explicit, 1),
            "{name}"
        );
        arguments
    };
    for name in ["kernels.v5.co", "kernels.v6.co"] {
        let v5 = of(name);
        let hidden = &v5[16..];
        assert_eq!([0, 4, 8].map(|at| word(hidden, at)), [6, 5, 4], "{name}");
        assert_eq!([12, 14, 16].map(|at| half(hidden, at)), [4, 2, 2], "{name}");
        assert_eq!([18, 20, 22].map(|at| half(hidden, at)), [0; 3], "{name}");
        assert_eq!([40, 48, 56].map(|at| pair(hidden, at)), [0; 3], "{name}");
        assert_eq!(half(hidden, 64), 3, "{name}");
        assert_eq!(v5.len(), (16usize + 256).next_multiple_of(64));
    }
    for name in ["kernels.v2.co", "kernels.v3.co", "kernels.v4.co"] {
        let v4 = of(name);
        // Offsets of 0 and services that are not there.
        assert!(v4[16..].iter().all(|byte| *byte == 0), "{name}");
        assert_eq!(v4.len(), (16usize + 56).next_multiple_of(64));
    }
}

/// A file whose metadata has a hidden argument where its version has another is refused.
#[test]
fn hidden_arguments_at_other_places_are_refused() {
    let mut image = image("kernels.v5.co");
    let mut kernel = image.kernel("hidden").expect("it is there").clone();
    let object = kernel.code_object.as_mut().expect("a code object");
    for arg in &mut object.args {
        if arg.kind == ArgKind::Hidden(HiddenArg::BlockCount(1)) {
            arg.offset += 4;
        }
    }
    let code = Code::default();
    let order = PathOrder::TakenFirst;
    let error = bind(&file(HIDDEN), &image, &kernel, &code, order, 1000).expect_err("refused");
    let text = error.to_string();
    let expected =
        "hidden argument BlockCount(1) at offset 24 is not where code objects v5 have it";
    assert!(text.contains(expected), "{text}");
    // A kernel whose version is wrong has all of them at other places.
    image = self::image("kernels.v4.co");
    let mut kernel = image.kernel("hidden").expect("it is there").clone();
    let version = object_version(&self::image("kernels.v5.co"));
    kernel.code_object.as_mut().expect("a code object").version = version;
    assert!(bind(&file(HIDDEN), &image, &kernel, &code, order, 1000).is_err());
}

fn object_version(image: &Image) -> warpbound_load::CodeObjectVersion {
    object(image, "hidden").version
}

/// Arguments at their offsets, and dynamic LDS after the static one.
#[test]
fn explicit_arguments() {
    let image = image("kernels.v4.co");
    let text = "grid = [1]\nblock = [64]\ndynamic_shared = 8\n[[param]]\nname = \"a\"\ntype = \"s32\"\nshape = [64]\n[[param]]\nname = \"c\"\ntype = \"s8\"\nvalue = -3\n[[param]]\nname = \"l\"\ntype = \"u32\"\nvalue = 64\n[[param]]\nname = \"n\"\ntype = \"s16\"\nvalue = 258\n";
    let (launch, memory) = launched(&image, "call", text);
    let arguments = &buffer(&memory, "the arguments").bytes;
    assert_eq!(pair(arguments, 0), buffer(&memory, "a").address);
    assert_eq!(arguments[8], 0xfd);
    // The first piece of dynamic LDS begins at 0, as there is no static one, and has 64 bytes.
    assert_eq!((word(arguments, 12), half(arguments, 16)), (0, 258));
    assert_eq!(launch.shared, 64 + 8);
    let short = text.replace("\"s16\"", "\"s32\"");
    let error = bound(&image, "call", &short, &Code::default()).expect_err("too large");
    assert!(
        error.contains("parameter n has 4 bytes, and 2 in the kernel"),
        "{error}"
    );
    let none = bound(
        &image,
        "call",
        "grid = [1]\nblock = [64]\n",
        &Code::default(),
    );
    let error = none.expect_err("no parameters");
    assert!(
        error.contains("the kernel has 4 parameters, the launch 0"),
        "{error}"
    );
}

#[test]
fn launches_that_are_refused() {
    let image = image("kernels.v5.o");
    let error = bound(&image, "hidden", HIDDEN, &Code::default()).expect_err("not linked");
    assert!(
        error.contains("the code object is not linked; link it first"),
        "{error}"
    );
    let image = self::image("kernels.v5.co");
    let mut unknown = image.kernel("hidden").expect("it is there").clone();
    unknown
        .code_object
        .as_mut()
        .expect("it is one")
        .args
        .clear();
    let (code, order) = (Code::default(), PathOrder::TakenFirst);
    let error = bind(&file(HIDDEN), &image, &unknown, &code, order, 1000).expect_err("unknown");
    let text = error.to_string();
    assert!(
        text.contains("does not state what the kernel's arguments are"),
        "{text}"
    );
    let large = HIDDEN.replace("grid = [6, 5, 4]", "grid = [2000000000]");
    let error = bound(&image, "hidden", &large, &Code::default()).expect_err("too large");
    assert!(error.contains("2^32 work-items or more along x"), "{error}");
    let kernel = image.kernel("call").expect("it is there");
    let isa = image.isa();
    let limits = |text: &str| check_limits(isa, kernel, &file(text)).map_err(|d| d.to_string());
    assert_eq!(
        limits("grid = [1]\nblock = [64]\ndynamic_shared = 65536\n"),
        Ok(())
    );
    let error = limits("grid = [1]\nblock = [64]\ndynamic_shared = 65537\n").expect_err("LDS");
    assert!(error.contains("may have 65536"), "{error}");
    // AMD's runtime limits the work-items of a grid, and not its groups along an axis as CUDA does.
    assert_eq!(limits("grid = [1, 70000, 2]\nblock = [64]\n"), Ok(()));
    let error = limits("grid = [1]\nblock = [32]\n").expect_err("block");
    assert!(error.contains("requires blocks of 64, 1, 1"), "{error}");
    let kernel = image.kernel("hidden").expect("it is there");
    let error =
        check_limits(isa, kernel, &file("grid = [1]\nblock = [512]\n")).expect_err("threads");
    let text = error.to_string();
    assert!(
        text.contains("at most 256 threads (amdgpu_flat_work_group_size)"),
        "{text}"
    );
}

/// Addresses of the code that an operation needs are relative to its first byte in memory.
#[test]
fn addresses_in_the_code() {
    let image = image("kernels.v5.co");
    let word_of = |half, addend| AddressWord {
        symbol: String::new(),
        addend,
        half,
    };
    let code = Code {
        address_words: vec![word_of(WordHalf::Low, 0x40), word_of(WordHalf::High, 0x40)],
        ..Code::default()
    };
    let (launch, _) = bound(&image, "hidden", HIDDEN, &code).expect("it is bound");
    let [(bank, words)] = launch.constants.as_slice() else {
        panic!("{:?}", launch.constants);
    };
    assert_eq!(*bank, Code::ADDRESS_BANK);
    assert_eq!(pair(words, 0), entry(&launch).code_base() + 0x40);
}

/// Buffer addressing of the scratch descriptor by the manual (GCN3, "Memory Buffer Addressing": swizzled, elements of 4
/// bytes, index stride 64), inverted by `scratch_place`.
#[test]
fn swizzled_scratch() {
    let lane_bytes = 48;
    for wave in [0u32, 1, 5] {
        let scalar_offset = u64::from(wave) * 64 * u64::from(lane_bytes);
        for lane in 0..64u64 {
            for byte in 0..u64::from(lane_bytes) {
                let (element, stride) = (4, 64);
                let swizzled =
                    (byte / element * element) * stride + lane % stride * element + byte % element;
                let found = scratch_place(scalar_offset + swizzled, lane_bytes);
                let expected = ScratchPlace {
                    wave,
                    lane: lane as u32,
                    byte: byte as u32,
                };
                assert_eq!(found, Some(expected));
            }
        }
    }
    assert_eq!(scratch_place(0, 0), None);
}
