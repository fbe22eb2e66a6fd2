//! Rewritten cubins: the same bytes without insertions, the same results with NOPs everywhere; faults in what was moved
//! are found.

use warpbound_base::CodeAddr;
use warpbound_isa::ControlWord;
use warpbound_load::AddressHalf;
use warpbound_query::{Session, rewritten};
use warpbound_rewrite::{CubinRewriter, Entry, NewInstr};
use warpbound_testkit::kernels::{self, KernelReference};
use warpbound_testkit::rewriting::{built_file, difference, with_nops};

/// Builds by both compilers, for both generations.
const BUILDS: [&str; 3] = ["sm_50", "sm_61", "nvrtc11.sm_61"];

/// Launches of each kernel.
const LAUNCHES: u64 = 2;

fn reference(source: &str, kernel: &str) -> KernelReference {
    let mut all = kernels::all().into_iter();
    all.find(|r| r.source == source && r.kernel.starts_with(kernel))
        .expect("a kernel of ours")
}

/// Returns the difference between the launches of a reference by two files.
fn differs(reference: &KernelReference, before: &[u8], after: &[u8]) -> Option<String> {
    let before = Session::open("before", before).expect("it loads");
    let after = match Session::open("after", after) {
        Ok(after) => after,
        Err(diagnostic) => return Some(diagnostic.to_string()),
    };
    (0..LAUNCHES).find_map(|number| {
        let launch = (reference.launch)(number);
        difference(&before, &after, reference.kernel, &launch).expect("the original runs")
    })
}

#[test]
fn identity_has_the_same_bytes() {
    for reference in kernels::all() {
        for build in BUILDS {
            let Some(file) = built_file(&reference, build) else {
                continue;
            };
            let again = rewritten(&file).expect("it is rewritten");
            assert!(again == file, "{} {build}", reference.source);
        }
    }
}

#[test]
fn nops_change_no_result() {
    let mut stubs = 0;
    for (seed, reference) in (1..).zip(kernels::all()) {
        for build in BUILDS {
            let Some(file) = built_file(&reference, build) else {
                continue;
            };
            let name = format!("{} {} {build}", reference.source, reference.kernel);
            let padded = match with_nops(&file, seed, 3) {
                Ok(padded) => padded,
                // Its immediates are addresses of functions.
                Err(diagnostic) => {
                    assert_eq!(reference.source, "joined_pointers", "{name}: {diagnostic}");
                    continue;
                }
            };
            stubs += padded.stubs;
            assert_eq!(differs(&reference, &file, &padded.bytes), None, "{name}");
        }
    }
    assert!(stubs > 500, "{stubs}");
}

/// Positions of a section's contents in a file, by name, with the section's size.
fn section(file: &[u8], name: &str) -> (usize, usize) {
    let word = |at: usize| u64::from_le_bytes(*file[at..].first_chunk().expect("inside")) as usize;
    let half = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let (table, count, names) = (word(40), half(60), half(62));
    let names = word(table + names * 64 + 24);
    (0..count)
        .map(|index| table + index * 64)
        .find(|&header| {
            let at = names + (word(header) & 0xffff_ffff);
            file[at..].starts_with(name.as_bytes()) && file[at + name.len()] == 0
        })
        .map(|header| (word(header + 24), word(header + 32)))
        .expect("the section exists")
}

/// A file whose jump table still has the old addresses gives other results, or none.
#[test]
fn a_jump_table_that_stays_is_found() {
    let reference = reference("switch_table", "switch_table");
    let file = built_file(&reference, "sm_61").expect("a cubin");
    let mut moved = with_nops(&file, 7, 2).expect("it is rewritten").bytes;
    assert_eq!(differs(&reference, &file, &moved), None);
    let (old, size) = section(&file, ".nv.constant2.switch_table");
    let (new, same) = section(&moved, ".nv.constant2.switch_table");
    assert_eq!(size, same);
    assert_ne!(file[old..old + size], moved[new..new + size]);
    moved[new..new + size].copy_from_slice(&file[old..old + size]);
    assert!(differs(&reference, &file, &moved).is_some());
}

/// Each address in the attribute of exits is that of an EXIT; with the old ones it is not.
#[test]
fn exits_that_stay_are_found() {
    let reference = reference("nbody", "nbody::advance");
    let file = built_file(&reference, "sm_61").expect("a cubin");
    let moved = with_nops(&file, 3, 2).expect("it is rewritten").bytes;
    let exits_of = |file: &[u8]| {
        let image = warpbound_load::Image::parse(file).expect("it loads");
        let kernels = image.kernels().expect("a supported chip");
        let of = |kernel: &warpbound_load::Kernel| (kernel.exits.clone(), kernel.code().to_vec());
        kernels.iter().map(of).collect::<Vec<_>>()
    };
    let all_exit = |exits: &[CodeAddr], code: &[u8]| {
        exits.iter().all(|at| {
            let word = code[at.0 as usize..].first_chunk().expect("inside");
            u64::from_le_bytes(*word) >> 52 == 0xe30
        })
    };
    let (old, new) = (exits_of(&file), exits_of(&moved));
    for ((old_exits, _), (new_exits, code)) in old.iter().zip(&new) {
        assert!(!new_exits.is_empty());
        assert!(all_exit(new_exits, code));
        assert!(!all_exit(old_exits, code), "the old addresses are no exits");
    }
}

/// Symbols of functions cover the whole section, and functions inside begin where calls lead; with the old values a
/// function begins elsewhere.
#[test]
fn symbols_that_stay_are_found() {
    let reference = reference("call_depth2", "call_depth2");
    let file = built_file(&reference, "sm_61").expect("a cubin");
    let moved = with_nops(&file, 5, 2).expect("it is rewritten").bytes;
    let image = warpbound_load::Image::parse(&moved).expect("it loads");
    let kernel = &image.kernels().expect("a supported chip")[0];
    let own = kernel.functions.iter().find(|f| *f.name == *kernel.name);
    assert_eq!(own.expect("the kernel").size as usize, kernel.code().len());
    assert!(
        warpbound_load::Image::parse(&with_old_symbols(&file, &moved)).map_or(true, |image| {
            let kernel = &image.kernels().expect("a supported chip")[0];
            let own = kernel.functions.iter().find(|f| *f.name == *kernel.name);
            own.is_none_or(|own| own.size as usize != kernel.code().len())
        })
    );
}

/// The moved file with the symbol table of the original.
fn with_old_symbols(file: &[u8], moved: &[u8]) -> Vec<u8> {
    let mut out = moved.to_vec();
    let (old, size) = section(file, ".symtab");
    let (new, same) = section(moved, ".symtab");
    assert_eq!(size, same);
    out[new..new + size].copy_from_slice(&file[old..old + size]);
    out
}

/// The source lines of instructions of the file stay with them.
#[test]
fn source_lines_move_with_the_code() {
    for source in ["switch_table", "nbody", "call_depth2", "kmeans"] {
        let path = format!(
            "{}/../../kernels/built/{source}.sm_61.cubin",
            env!("CARGO_MANIFEST_DIR")
        );
        let file = std::fs::read(path).expect("a cubin");
        let nop = ControlWord::of_slot(0x7e1, 0);
        let mut rewriter = CubinRewriter::open(&file).expect("it opens");
        for name in rewriter.code_names() {
            let code = rewriter.code(&name).expect("it is read");
            for index in (0..code.len() as u32).step_by(5) {
                let at = CodeAddr(index / 3 * 32 + 8 + index % 3 * 8);
                let new = vec![NewInstr::new(0x50b0_0000_0007_0f00, nop); 2];
                code.insert_before(at, Entry::All, new)
                    .expect("an instruction");
            }
        }
        let written = rewriter.finish_with_maps().expect("it is rewritten");
        assert_eq!(written.emptied, Vec::<String>::new());
        let before = warpbound_load::Image::parse(&file).expect("it loads");
        let after = warpbound_load::Image::parse(&written.bytes).expect("it loads");
        assert_eq!(after.warnings(), before.warnings());
        let kernels = before.kernels().expect("a supported chip");
        let mut lines = 0;
        for (old, new) in kernels
            .iter()
            .zip(after.kernels().expect("a supported chip"))
        {
            let map = &written.maps[&*old.name];
            for index in 0..old.code().len() as u32 / 32 * 3 {
                let at = CodeAddr(index / 3 * 32 + 8 + index % 3 * 8);
                let moved = map.instr(at).expect("an instruction");
                let line = old.source_line(at);
                lines += usize::from(line.is_some());
                assert_eq!(new.source_line(moved), line, "{source} {} {at}", old.name);
            }
        }
        assert!(lines > 50, "{lines}");
    }
}

/// A variable that is added has an address of its own in constant bank 4.
/// Halves of the variable's address that the loader writes into inserted instructions, beside the relocations that
/// compilers made.
#[test]
fn addresses_are_written_into_instructions() {
    /// `MOV32I R0, 0` and `MOV32I R1, 0`, not executed.
    const HALVES: [u64; 2] = [0x0100_0000_000f_f000, 0x0100_0000_000f_f001];
    for (file, kernel, others) in [
        ("walsh_transform.sm_61", "walsh_block", 0),
        ("module_variables.nvrtc11.sm_61", "module_variables", 2),
    ] {
        let path = format!(
            "{}/../../kernels/built/{file}.cubin",
            env!("CARGO_MANIFEST_DIR")
        );
        let file = std::fs::read(path).expect("a cubin");
        let mut rewriter = CubinRewriter::open(&file).expect("it opens");
        let control = ControlWord::of_slot(0x7e1, 0);
        let halves = [AddressHalf::Low, AddressHalf::High];
        let new = HALVES.into_iter().zip(halves);
        let new = new.map(|(word, half)| NewInstr::new(word, control).with_address(Some(half)));
        let code = rewriter.code(kernel).expect("the kernel");
        let added = code.insert_before(CodeAddr(8), Entry::All, new.collect());
        added.expect("an instruction");
        assert!(rewriter.clone().finish().is_err(), "there is no variable");
        let added = rewriter.add_variable("counters", 64);
        added.expect("the name is free");
        let written = rewriter.finish().expect("it is written");
        let image = warpbound_load::Image::parse(&written).expect("it loads");
        let mut kernels = image.kernels().expect("a supported chip").iter();
        let kernel = kernels.find(|found| *found.name == *kernel);
        let relocations = kernel.expect("the kernel").relocations.iter();
        let own = relocations.filter(|relocation| &*relocation.symbol.name == "counters");
        let own = own.map(|relocation| {
            assert!(relocation.symbol.is_global && relocation.symbol.is_defined);
            (relocation.offset, relocation.word_immediate())
        });
        let own: Vec<_> = own.collect();
        assert_eq!(own, [(8, Some(halves[0])), (16, Some(halves[1]))]);
        let relocations = kernel.expect("the kernel").relocations.iter();
        let others_left = relocations
            .filter(|of| &*of.symbol.name != "counters")
            .count();
        assert!(others_left >= others, "{others_left}");
    }
}

#[test]
fn a_variable_is_added() {
    for (source, others) in [
        ("module_variables", 2),
        ("nbody", 1),
        ("walsh_transform", 0),
    ] {
        let path = format!(
            "{}/../../kernels/built/{source}.sm_61.cubin",
            env!("CARGO_MANIFEST_DIR")
        );
        let file = std::fs::read(path).expect("a cubin");
        let mut rewriter = CubinRewriter::open(&file).expect("it opens");
        assert!(rewriter.address_in_bank().is_err());
        rewriter
            .add_variable("counters", 4096)
            .expect("it is added");
        let slot = rewriter.address_in_bank().expect("it has room");
        assert_eq!((slot.bank, slot.offset), (4, others * 8));
        assert!(rewriter.add_variable("counters", 8).is_err());
        let written = rewriter.finish().expect("it is written");
        let image = warpbound_load::Image::parse(&written).expect("it loads");
        assert!(image.refused().is_empty());
        assert!(
            image
                .variables()
                .iter()
                .any(|variable| &*variable.name == "counters")
        );
        let kernel = &image.kernels().expect("a supported chip")[0];
        let bank = kernel.bank(4).expect("the bank");
        let relocation = bank.relocations.iter().find(|r| r.offset == slot.offset);
        let relocation = relocation.expect("the address is relocated");
        assert_eq!(&*relocation.symbol.name, "counters");
        assert!(relocation.symbol.is_global);
        let before = warpbound_load::Image::parse(&file).expect("it loads");
        for (old, new) in before
            .kernels()
            .expect("a chip")
            .iter()
            .zip(image.kernels().expect("a chip"))
        {
            assert_eq!(old.code(), new.code());
            assert_eq!(old.params, new.params);
        }
    }
}
