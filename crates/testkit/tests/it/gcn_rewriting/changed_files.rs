//! Files that are changed by hand: what must be refused, and what the parts around the code must become.

use super::*;
use warpbound_measure::{instrument_waves, plan_for};

/// Number of up to eight bytes in a file.
fn number(file: &[u8], at: u64, bytes: usize) -> u64 {
    let at = usize::try_from(at).expect("small");
    let field = file.get(at..at + bytes).expect("inside the file");
    field
        .iter()
        .rev()
        .fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// Section of an ELF file: name, type, flags, offset, size.
struct FileSection {
    name: String,
    kind: u64,
    flags: u64,
    offset: u64,
    size: u64,
}

/// Sections by the headers of the file.
fn sections(file: &[u8]) -> Vec<FileSection> {
    let header = |index: u64| number(file, 40, 8) + 64 * index;
    let names = number(file, header(number(file, 62, 2)) + 24, 8);
    let sections = (0..number(file, 60, 2)).map(|index| {
        let at = header(index);
        let name = usize::try_from(names + number(file, at, 4)).expect("small");
        let text = file.get(name..).expect("inside the file").iter();
        let text: Vec<u8> = text.copied().take_while(|byte| *byte != 0).collect();
        FileSection {
            name: String::from_utf8(text).expect("a name"),
            kind: number(file, at + 4, 4),
            flags: number(file, at + 8, 8),
            offset: number(file, at + 24, 8),
            size: number(file, at + 32, 8),
        }
    });
    sections.collect()
}

/// Offset of the code in the file.
fn text_offset(file: &[u8]) -> usize {
    /// Contents that are executed.
    const EXECUTED: u64 = 4;
    let sections = sections(file);
    let mut text = sections
        .iter()
        .filter(|s| s.kind == 1 && s.flags & EXECUTED != 0);
    usize::try_from(text.next().expect("a code section").offset).expect("small")
}

/// The file with another dword of code at an address that is relative to the code section.
fn with_word(file: &[u8], at: CodeAddr, word: u32) -> Vec<u8> {
    let mut file = file.to_vec();
    let at = text_offset(&file) + at.0 as usize;
    file[at..at + 4].copy_from_slice(&word.to_le_bytes());
    file
}

/// `s_branch` from an address to another one.
fn jump(from: CodeAddr, to: CodeAddr) -> u32 {
    let distance = (i64::from(to.0) - i64::from(from.0) - 4) / 4;
    0xbf82_0000 | u32::from(i16::try_from(distance).expect("near") as u16)
}

fn reference_of(source: &str) -> KernelReference {
    let mut all = kernels::gcn3_executable().into_iter();
    let found = all.find(|reference| reference.source == source);
    found.expect("there is such a kernel")
}

/// Result of probes at the first instruction of a kernel with a number.
fn probed(file: &[u8], index: usize) -> Result<Vec<u8>, String> {
    let mut rewriter = CodeObjectRewriter::open(file).expect("it opens");
    let kernel = rewriter.kernels()[index].clone();
    let increment = Increment {
        counter: 0,
        quantity: ProbedQuantity::Issues,
        weight: 1,
    };
    let probes = ScalarProbes {
        kernel: kernel.name,
        counters: 1,
        first_byte: 0,
        points: BTreeMap::from([(kernel.entry, BTreeSet::from([increment]))]),
    };
    let placed = rewriter.add_probes(&probes);
    placed.map_err(|error| error.to_string())?;
    rewriter.finish().map_err(|error| error.to_string())
}

fn assert_refused<T>(result: Result<T, String>, reason: &str) {
    match result {
        Ok(_) => panic!("not refused: {reason}"),
        Err(error) => assert!(error.contains(reason), "{error}"),
    }
}

/// Numbers after each occurrence of a key in the metadata: small ones are one byte, larger ones follow 0xcc.
fn stated(file: &[u8], key: &str) -> Vec<u16> {
    let ends = file.windows(key.len()).enumerate();
    let ends = ends.filter(|(_, window)| *window == key.as_bytes());
    let numbers = ends.filter_map(|(at, _)| match file.get(at + key.len()..)? {
        [0xcc, number, ..] => Some(u16::from(*number)),
        [number @ 0..=0x7f, ..] => Some(u16::from(*number)),
        _ => None,
    });
    numbers.collect()
}

/// Registers that the instructions of a kernel name: SGPRs with the six of VCC, FLAT_SCRATCH and XNACK_MASK, and VGPRs.
fn named_registers(file: &[u8], kernel: &str) -> (u16, u16) {
    let rewriter = CodeObjectRewriter::open(file).expect("it opens");
    let mut kernels = rewriter.kernels().iter();
    let own = kernels.find(|of| of.name == kernel).expect("the kernel");
    let (mut scalar, mut vector) = (0, 0);
    let instrs = rewriter.program().instrs.iter();
    for instr in instrs.filter(|instr| (own.entry..own.end).contains(&instr.addr)) {
        let effects = instr.effects();
        for reg in effects.reads.iter().chain(&effects.writes) {
            let after = u16::from(reg.number) + 1;
            match reg.kind {
                RegisterKind::Scalar if after <= 102 => scalar = after.max(scalar),
                RegisterKind::Vector => vector = after.max(vector),
                _ => {}
            }
        }
    }
    (scalar + 6, vector)
}

/// Descriptors and metadata state the registers that probes need: with fewer, a GPU would give waves too few.
#[test]
fn registers_of_probes_are_stated() {
    let (mut in_descriptors, mut in_metadata) = (0, 0);
    for reference in executed() {
        let file = code_object(&reference);
        let session = Session::open("file.co", &file).expect("it loads");
        let kernel = session.launched_kernel(Some(reference.kernel), None);
        let kernel = kernel.expect("the kernel");
        let metrics = vec![ProbeMetric::Counts];
        let plan = plan_for(&session, kernel, None, ProbedBlocks::All, metrics);
        // Kernels with indirect jumps have none.
        let Ok(plan) = plan else { continue };
        let made = instrument_waves(&session, &file, kernel, &plan);
        let made = made.expect("it is rewritten");
        // What probes name beyond the original's: its own operands may stand for registers that it does not use.
        let before = named_registers(&file, reference.kernel);
        let after = named_registers(&made.bytes, reference.kernel);
        let added = |before: u16, after: u16| if after > before { after } else { 0 };
        let (scalar, vector) = (added(before.0, after.0), added(before.1, after.1));
        let registers = |file: &[u8]| {
            let image = Image::parse(file).expect("it loads");
            let object = kernel_of(&image, &reference).code_object.as_ref();
            let descriptor = object.expect("a code object").descriptor;
            (descriptor.scalar_registers(), descriptor.vector_registers())
        };
        let (old, new) = (registers(&file), registers(&made.bytes));
        let least = (scalar, vector);
        assert!(
            new.0 >= scalar && new.1 >= vector,
            "{} {old:?} {new:?} {least:?}",
            reference.kernel
        );
        in_descriptors += usize::from(old.0 < scalar) + usize::from(old.1 < vector);
        for (key, least) in [(".sgpr_count", scalar), (".vgpr_count", vector)] {
            let (old, new) = (stated(&file, key), stated(&made.bytes, key));
            assert_eq!(old.len(), new.len());
            assert!(!old.is_empty(), "{}", reference.kernel);
            let kernel = reference.kernel;
            // The counts of several kernels of a file are in no known order.
            assert!(new.iter().max() >= Some(&least), "{kernel} {key} {new:?}");
            in_metadata += old.iter().zip(&new).filter(|(old, new)| old < new).count();
        }
    }
    assert!(in_descriptors > 20, "{in_descriptors} need more registers");
    assert!(in_metadata > 20, "{in_metadata} need more registers");
}

/// The end of a kernel's waves that comes before an address.
fn end_before(file: &[u8], at: CodeAddr) -> CodeAddr {
    let rewriter = CodeObjectRewriter::open(file).expect("it opens");
    let instrs = rewriter.program().instrs.iter();
    let mut ends = instrs.filter(|i| i.opcode() == Some(GcnOpcode::SEndpgm) && i.addr < at);
    ends.next_back().expect("an end").addr
}

/// Waves that run, or jump, from one kernel into the other would clear or add counters twice, or not at all.
#[test]
fn kernels_that_lead_into_others_are_refused() {
    let file = code_object(&reference_of("transpose"));
    let rewriter = CodeObjectRewriter::open(&file).expect("it opens");
    let second = rewriter.kernels()[1].clone();
    let end = end_before(&file, second.entry);
    assert!(probed(&file, 0).is_ok() && probed(&file, 1).is_ok());
    let falls = with_word(&file, end, 0xbf80_0000);
    let mut changed = CodeObjectRewriter::open(&falls).expect("it opens");
    let start = changed.insert_at_start(&second, Vec::new());
    assert_refused(start.map_err(|error| error.to_string()), "falls through");
    let jumps = with_word(&file, end, jump(end, second.entry));
    let mut changed = CodeObjectRewriter::open(&jumps).expect("it opens");
    assert!(changed.insert_at_start(&second, Vec::new()).is_ok());
    for index in 0..2 {
        assert_refused(probed(&falls, index), "falls through");
        assert_refused(probed(&jumps, index), "may come into another one");
    }
}

/// The end of a wave in a function that two kernels can call.
#[test]
fn ends_in_shared_functions_are_refused() {
    let file = code_object(&reference_of("function_pointer"));
    let rewriter = CodeObjectRewriter::open(&file).expect("it opens");
    let kernels = rewriter.kernels();
    let mut instrs = rewriter.program().instrs.iter();
    let is_shared = |at: CodeAddr| !kernels.iter().any(|k| (k.entry..k.end).contains(&at));
    let returns = instrs.find(|i| i.opcode() == Some(GcnOpcode::SSetpcB64) && is_shared(i.addr));
    let returns = returns.expect("a function").addr;
    assert!(probed(&file, 0).is_ok());
    let ends = with_word(&file, returns, 0xbf81_0000);
    assert_refused(probed(&ends, 0), "may end in this function");
}

/// Registers that M0 selects may be any: none is known to be free.
#[test]
fn code_that_selects_registers_by_m0_is_refused() {
    let values = [GcnValue::Scalar(0), GcnValue::Scalar(0)];
    for (opcode, is_refused) in [(GcnOpcode::SMovB32, false), (GcnOpcode::SMovrelsB32, true)] {
        let reference = reference_of("transpose");
        let inserted = instr(opcode, Encoding::Sop1, &values);
        let file = with_everywhere(&code_object(&reference), &reference, &[inserted]);
        match is_refused {
            true => assert_refused(probed(&file, 0), "by M0"),
            false => assert!(probed(&file, 0).is_ok()),
        }
    }
}

/// A jump to the second instruction of a computed address, and an insertion before it.
#[test]
fn computed_addresses_that_are_separated_are_refused() {
    let file = code_object(&reference_of("call_both_sides"));
    let nop = instr(GcnOpcode::SNop, Encoding::Sopp, &[GcnValue::Immediate(0)]);
    let moved = |file: &[u8], at: CodeAddr| {
        let mut rewriter = CodeObjectRewriter::open(file).expect("it opens");
        let inserted = rewriter.insert_before(at, vec![nop]);
        inserted.expect("an instruction");
        rewriter.finish().map_err(|error| error.to_string())
    };
    let rewriter = CodeObjectRewriter::open(&file).expect("it opens");
    let entry = rewriter.kernels()[0].entry;
    let instrs = &rewriter.program().instrs;
    let is_start = |i: &&warpbound_isa::amd::GcnInstr| i.opcode() == Some(GcnOpcode::SGetpcB64);
    let getpc = instrs.iter().find(is_start).expect("an address").addr;
    assert!(moved(&file, entry).is_ok() && moved(&file, getpc).is_ok());
    let after = CodeAddr(getpc.0 + 4);
    assert_refused(moved(&file, after), "separates");
    let is_short = |i: &&warpbound_isa::amd::GcnInstr| {
        i.bytes == 4 && (i.addr < getpc || i.addr > CodeAddr(getpc.0 + 20))
    };
    let short = instrs.iter().find(is_short).expect("short").addr;
    let jumps = with_word(&file, short, jump(short, after));
    assert_refused(moved(&jumps, entry), "separates");
}

/// Sums of issues and lanes of all blocks, with factors that are inline constants, literals, and one.
#[test]
fn counters_grow_by_their_factors() {
    let factors = [
        (ProbedQuantity::Issues, 1),
        (ProbedQuantity::Issues, 3),
        (ProbedQuantity::Issues, 1_000),
        (ProbedQuantity::Lanes, 1),
        (ProbedQuantity::Lanes, 7),
        (ProbedQuantity::Lanes, 700),
    ];
    for source in ["reduction", "lud_diagonal"] {
        let reference = reference_of(source);
        let file = code_object(&reference);
        let increments = factors.iter().enumerate();
        let increments = increments.map(|(counter, &(quantity, weight))| Increment {
            counter,
            quantity,
            weight,
        });
        let increments: BTreeSet<Increment> = increments.collect();
        let blocks = blocks(&file, &reference);
        let probes = ScalarProbes {
            kernel: reference.kernel.to_owned(),
            counters: factors.len(),
            first_byte: 0,
            points: blocks.iter().map(|at| (*at, increments.clone())).collect(),
        };
        let original = run(&file, &reference, 0).expect("it runs");
        let start = shift(
            &file,
            kernel_of(&Image::parse(&file).expect("it loads"), &reference),
        );
        let (mut issues, mut lanes) = (0, 0);
        for at in &blocks {
            let own = CodeAddr(at.0 - start);
            let op = original.addrs.iter().position(|addr| *addr == own);
            let op = op.expect("the block's first operation");
            issues += original.counts.issues[op];
            lanes += original.counts.active[op];
        }
        let mut rewriter = CodeObjectRewriter::open(&file).expect("it opens");
        let placed = rewriter.add_probes(&probes).expect("free registers");
        let made = rewriter.finish().expect("it is rewritten");
        let ran = run(&made, &reference, 0).expect("the same results");
        for (counter, (quantity, weight)) in (0..).zip(factors) {
            let expected = match quantity {
                ProbedQuantity::Issues => issues,
                _ => lanes,
            };
            let sum = number(&ran.object, placed.address + 8 * counter, 8);
            assert_eq!(sum, expected * u64::from(weight), "{source} {counter}");
        }
    }
}

/// Debug sections name addresses of the old code: they are empty once code moves, and stay while none does.
#[test]
fn debug_sections_of_moved_code_are_empty() {
    let reference = reference_of("transpose");
    let file = code_object(&reference);
    let name = b".comment\0";
    let at = file.windows(name.len()).position(|window| window == name);
    let at = at.expect("a section without use");
    let mut file = file;
    file[at..at + 8].copy_from_slice(b".debug_x");
    let size = |file: &[u8]| {
        let sections = sections(file);
        let mut debug = sections.iter().filter(|section| section.name == ".debug_x");
        debug.next().expect("the section").size
    };
    assert!(size(&file) > 0);
    let again = CodeObjectRewriter::open(&file).and_then(CodeObjectRewriter::finish);
    assert_eq!(size(&again.expect("it is rewritten")), size(&file));
    let nop = instr(GcnOpcode::SNop, Encoding::Sopp, &[GcnValue::Immediate(0)]);
    assert_eq!(size(&with_everywhere(&file, &reference, &[nop])), 0);
}

/// Loaders demand segments in ascending order of their addresses; code that moves to the end changes the order.
#[test]
fn loaded_segments_stay_in_order() {
    let nop = instr(GcnOpcode::SNop, Encoding::Sopp, &[GcnValue::Immediate(0)]);
    let addresses = |file: &[u8]| {
        let start = number(file, 32, 8);
        let headers = (0..number(file, 56, 2)).map(|index| start + 56 * index);
        let loaded = headers.filter(|at| number(file, *at, 4) == 1);
        loaded
            .map(|at| number(file, at + 16, 8))
            .collect::<Vec<_>>()
    };
    let mut moved = 0;
    for reference in executed() {
        let file = code_object(&reference);
        let long = with_everywhere(&file, &reference, &vec![nop; 100]);
        let (old, new) = (addresses(&file), addresses(&long));
        assert!(new.is_sorted(), "{} {new:x?}", reference.source);
        moved += usize::from(old != new);
    }
    assert!(moved > 20, "{moved} files");
}
