//! Damaged cubins through the whole pipeline: whatever the bytes, there is a bound, a named refusal or a line
//! that names the defect, within a short time.

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use warpbound_base::Diagnostic;
use warpbound_bounds::{FactsExtent, bound, facts_template};
use warpbound_query::{BoundOptions, CfgLevel, Session};
use warpbound_report::{BoundFormat, BoundWriter};

use crate::support::built;

/// Small files that together have calls, loops, tables, indirect branches, recursion and barriers.
const FILES: [&str; 10] = [
    "break_loop.sm_61.cubin",
    "call_both_sides.sm_61.cubin",
    "early_exit.sm_61.cubin",
    "external_call.sm_61.cubin",
    "function_pointer.sm_61.cubin",
    "loop_repush.sm_61.cubin",
    "nested_loops.sm_61.cubin",
    "recursion.sm_61.cubin",
    "switch_table.sm_61.cubin",
    "goto_flow.sm_61.cubin",
];

/// Time limit: a damaged file takes some milliseconds.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs every query of the command.
fn ask(bytes: &[u8]) -> Result<(), Diagnostic> {
    let session = Session::open("damaged.cubin", bytes)?;
    let _ = session.list().text();
    let kernels = session.kernels(None)?;
    let options = BoundOptions {
        loop_default: Some(10),
        ..BoundOptions::default()
    };
    for kernel in kernels {
        let report = bound(&session, kernel, &options)?;
        assert_eq!(
            report.verdict.bound().is_none(),
            report.verdict.reason().is_some()
        );
        for format in [BoundFormat::Text, BoundFormat::Json] {
            let mut writer = BoundWriter::new(Vec::new(), format, "damaged.cubin");
            writer.kernel(&report).expect("memory");
            let text = writer.finish().expect("memory");
            assert!(!text.is_empty());
        }
        facts_template(&session, kernel, &options, FactsExtent::Accesses)?;
        let listing = session.disassemble(kernel)?;
        let mut text = listing.columns();
        session.disassemble_plain(kernel, &mut text)?;
        for level in [CfgLevel::Thread, CfgLevel::Warp] {
            let graph = session.graph(kernel, level, &options)?;
            let _ = (graph.text(), graph.dot(), graph.svg());
        }
    }
    Ok(())
}

/// Runs a query and checks the form of the answer; `damage` describes it.
fn check(bytes: &[u8], damage: &str) {
    let start = Instant::now();
    let answer = catch_unwind(|| ask(bytes));
    let took = start.elapsed();
    match answer {
        Err(_) => panic!("panic after {damage}"),
        Ok(Ok(())) => (),
        Ok(Err(diagnostic)) => {
            let line = diagnostic.to_string();
            let fits = !line.contains(char::is_control) && line.starts_with("damaged.cubin: ");
            assert!(fits, "{damage}: {line:?}");
        }
    }
    assert!(took < LIMIT, "{took:?} after {damage}");
}

/// xorshift64*: the same damage in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((word * limit as u64) >> 32) as usize
    }
}

/// `WARPBOUND_DAMAGE=N` does N times as many.
fn effort(usual: usize) -> usize {
    let factor = std::env::var("WARPBOUND_DAMAGE")
        .ok()
        .and_then(|n| n.parse().ok());
    usual * factor.unwrap_or(1)
}

fn flips(seed: u64, files: &[&str], count: usize, bits: usize) {
    let mut random = Random(seed);
    for file in files {
        let original = built(file);
        for _ in 0..count {
            let mut bytes = original.clone();
            let mut damage = format!("flips in {file}:");
            for _ in 0..bits {
                let (at, bit) = (random.below(bytes.len()), random.below(8));
                bytes[at] ^= 1 << bit;
                damage.push_str(&format!(" 0x{at:x}.{bit}"));
            }
            check(&bytes, &damage);
        }
    }
}

#[test]
fn single_bit_flips() {
    flips(0x5eed_0001, &FILES, effort(30), 1);
}

#[test]
fn several_bit_flips() {
    flips(0x5eed_0002, &FILES, effort(15), 4);
}

/// Damage in the code section: every flip makes another program.
#[test]
fn bit_flips_in_the_code() {
    let mut random = Random(0x5eed_0003);
    for file in FILES {
        let original = built(file);
        let code = sections(&original, |kind, flags| kind == 1 && flags & 4 != 0);
        assert!(!code.is_empty(), "{file} has no code");
        for _ in 0..effort(20) {
            let mut bytes = original.clone();
            let range = &code[random.below(code.len())];
            let (at, bit) = (range.start + random.below(range.len()), random.below(8));
            bytes[at] ^= 1 << bit;
            check(&bytes, &format!("flip in {file}: 0x{at:x}.{bit}"));
        }
    }
}

/// Permuted instructions: every one is valid, but the control flow is arbitrary.
#[test]
fn instructions_exchanged() {
    let mut random = Random(0x5eed_0004);
    for file in FILES {
        let original = built(file);
        let code = sections(&original, |kind, flags| kind == 1 && flags & 4 != 0);
        for _ in 0..effort(20) {
            let mut bytes = original.clone();
            let mut damage = format!("exchanges in {file}:");
            let range = &code[random.below(code.len())];
            for _ in 0..=random.below(12) {
                // The first of four words holds the control words of the others.
                let mut place = || {
                    let group = random.below(range.len() / 32);
                    range.start + 32 * group + 8 * (1 + random.below(3))
                };
                let (a, b) = (place(), place());
                for i in 0..8 {
                    bytes.swap(a + i, b + i);
                }
                damage.push_str(&format!(" 0x{a:x}-0x{b:x}"));
            }
            check(&bytes, &damage);
        }
    }
}

#[test]
fn truncations() {
    for file in FILES {
        let bytes = built(file);
        for cut in 0..64 {
            let length = bytes.len() * cut / 64;
            let answer = ask(&bytes[..length]);
            let line = answer.expect_err("a cut file").to_string();
            assert!(
                line.starts_with("damaged.cubin: offset 0x"),
                "{file} cut to {length}: {line}"
            );
        }
    }
}

/// Each word of the headers and of the attributes with extreme values.
#[test]
fn huge_fields() {
    const SHT_CUDA_INFO: u32 = 0x7000_0000;
    let small = built("break_loop.sm_61.cubin");
    let table = u64::from_le_bytes(small[40..48].try_into().expect("8 bytes")) as usize;
    replace_words(&small, (0..64).chain(table..small.len()).step_by(4));
    // This one has records about branch targets.
    let rich = built("switch_table.sm_61.cubin");
    for range in sections(&rich, |kind, _| kind == SHT_CUDA_INFO) {
        replace_words(&rich, range.step_by(4));
    }
}

fn replace_words(original: &[u8], places: impl Iterator<Item = usize>) {
    for at in places {
        for word in [0x7fff_ffffu32, 0xffff_fff0] {
            let mut bytes = original.to_vec();
            if let Some(place) = bytes.get_mut(at..at + 4) {
                place.copy_from_slice(&word.to_le_bytes());
            }
            check(&bytes, &format!("0x{word:x} at 0x{at:x}"));
        }
    }
}

/// File ranges of the sections that `wanted(type, flags)` takes.
fn sections(bytes: &[u8], wanted: impl Fn(u32, u64) -> bool) -> Vec<std::ops::Range<usize>> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let table = word(40) as usize;
    let count = usize::from(u16::from_le_bytes([bytes[60], bytes[61]]));
    (0..count)
        .map(|index| table + 64 * index)
        .filter(|&header| wanted((word(header) >> 32) as u32, word(header + 8)))
        .map(|header| word(header + 24) as usize..(word(header + 24) + word(header + 32)) as usize)
        .filter(|range| !range.is_empty())
        .collect()
}
