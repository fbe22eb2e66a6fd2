//! Recorded results of matrix units, compared with products of matrices.
//!
//! The folder is `model_validation` of the repository MATLAB-tensor-core, which Khattak and Mikaitis publish with "Accurate Models
//! of NVIDIA Tensor Cores" (arXiv 2512.07004): GPU/FORMAT/a_GPU_FORMAT.txt and b_GPU_FORMAT.txt with a row of factors in each
//! line, as singles in hexadecimal, c_GPU_fp32.txt and d_GPU_fp32.txt or d_GPU_fp16.txt with a sum in each line, as a single
//! in binary.

use std::path::Path;

use anyhow::{Context, bail};
use warpbound_ir::float::{Flush, half};
use warpbound_ir::{ElementFormat, MatrixProduct, SumFormat, SumRule};
use warpbound_isa::nvidia::Arch;

use super::text;

/// GPUs by the names of their folders.
const GPUS: &[(&str, Arch)] = &[
    ("V100", Arch::Sm70),
    ("A100", Arch::Sm80),
    ("A2", Arch::Sm86),
    ("Ada", Arch::Sm89),
    ("L40S", Arch::Sm89),
    ("H100", Arch::Sm90),
    ("H200", Arch::Sm90),
    ("B200", Arch::Sm100),
];

/// Formats by the names of their folders, with the bits of the fraction and the exponent of the smallest normal number.
const FORMATS: &[(&str, ElementFormat, i32, i32)] = &[
    ("fp16", ElementFormat::F16, 10, -14),
    ("bf16", ElementFormat::Bf16, 7, -126),
    ("tf32", ElementFormat::Tf32, 23, -126),
    ("E4M3", ElementFormat::E4m3, 3, -6),
    ("E5M2", ElementFormat::E5m2, 2, -14),
];

/// Rows of the products. The first one has recorded factors, the others are 0.
const ROWS: u8 = 16;

/// A recorded sum of products.
struct Record {
    a: Vec<u64>,
    b: Vec<u64>,
    c: u64,
    d: u64,
}

/// Compares the records of a folder, and returns those that differ. Prints the first `sample` of each kind as lines of test data.
pub(super) fn run(folder: &Path, sample: usize) -> anyhow::Result<Vec<String>> {
    let mut differences = Vec::new();
    let mut kinds = 0;
    for &(gpu, arch) in GPUS {
        for &(name, format, fraction, lowest) in FORMATS {
            let place = folder.join(gpu).join(name);
            let Some(rule) = SumRule::of_unit(arch, format).filter(|_| place.is_dir()) else {
                continue;
            };
            for (sums_name, sums) in [("fp16", SumFormat::F16), ("fp32", SumFormat::F32)] {
                let results = place.join(format!("d_{gpu}_{sums_name}.txt"));
                if !results.is_file() {
                    continue;
                }
                let of_factors = |factor: &str| -> anyhow::Result<Vec<Vec<u64>>> {
                    let path = place.join(format!("{factor}_{gpu}_{name}.txt"));
                    let rows = rows(&path, 16)?.into_iter();
                    let bits = |row: Vec<u32>| -> Vec<u64> {
                        let words = row.into_iter();
                        words
                            .map(|word| element_bits(word, fraction, lowest, format))
                            .collect()
                    };
                    Ok(rows.map(bits).collect())
                };
                let summands = rows(&place.join(format!("c_{gpu}_fp32.txt")), 2)?;
                let results = rows(&results, 2)?;
                let records = of_factors("a")?.into_iter().zip(of_factors("b")?);
                let records = records.zip(summands.concat()).zip(results.concat());
                let records: Vec<Record> = records
                    .map(|(((a, b), c), d)| Record {
                        a,
                        b,
                        c: sum_bits(c, sums),
                        d: sum_bits(d, sums),
                    })
                    .collect();
                let found = records
                    .iter()
                    .filter(|record| sum(record, [format; 2], sums, rule) != record.d);
                let count = found.clone().count();
                kinds += 1;
                match sample {
                    0 => println!(
                        "{gpu} {name} to {sums_name}: {} sums, {count} differ",
                        records.len()
                    ),
                    _ => print_sample(&format!("{arch} {name} {sums_name}"), &records, sample),
                }
                differences.extend(found.map(|record| {
                    let own = sum(record, [format; 2], sums, rule);
                    let (a, b, c, d) = (&record.a, &record.b, record.c, record.d);
                    format!("{gpu} {name} to {sums_name}: {a:x?} * {b:x?} + {c:x}: recorded {d:x}, here {own:x}")
                }));
            }
        }
    }
    match kinds {
        0 => bail!(
            "{}: no folder of a GPU and a format with records",
            folder.display()
        ),
        _ => Ok(differences),
    }
}

/// Rows of numbers with a base.
fn rows(path: &Path, base: u32) -> anyhow::Result<Vec<Vec<u32>>> {
    let text = text(path)?;
    let number = |word: &str| {
        u32::from_str_radix(word, base)
            .with_context(|| format!("{}: {word} is no number", path.display()))
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| line.split_whitespace().map(number).collect())
        .collect()
}

/// Bits of a single in a format that has its value.
fn element_bits(single: u32, fraction: i32, lowest: i32, format: ElementFormat) -> u64 {
    let width = match format {
        // tf32 is a single whose low bits do not count.
        ElementFormat::Tf32 => return single.into(),
        format => format.bits(),
    };
    let value = f64::from(f32::from_bits(single));
    let sign = u64::from(single >> 31) << (width - 1);
    let exponent = (value.abs().log2().floor() as i32).max(lowest);
    let significand = (value.abs() * f64::from(fraction - exponent).exp2()) as u64;
    let field = match significand >> fraction {
        0 => 0,
        _ => (exponent - lowest + 1) as u64,
    };
    sign | field << fraction | significand & ((1 << fraction) - 1)
}

/// Bits of a sum that is recorded as a single.
fn sum_bits(single: u32, sums: SumFormat) -> u64 {
    match sums {
        // Adding -0 keeps a number.
        SumFormat::F16 => half::add_singles(single, 1 << 31, Flush::Keep).into(),
        _ => single.into(),
    }
}

/// The sum of a record, as the first element of a product of matrices.
fn sum(record: &Record, factors: [ElementFormat; 2], sums: SumFormat, rule: SumRule) -> u64 {
    let depth = record.a.len() as u16;
    let mut product = MatrixProduct::without_words(ROWS, depth, factors, sums, rule);
    // A fragment has at least one word.
    let least = 128 / product.factors[0].bits() as u16;
    product.depth = product.depth.max(least);
    let [rows, columns, results] = product.fragments();
    let padded = |values: &[u64], count: usize| -> Vec<u64> {
        let zeros = std::iter::repeat(0);
        values.iter().copied().chain(zeros).take(count).collect()
    };
    let (rows_bits, depth) = (usize::from(ROWS), usize::from(product.depth));
    let a = rows.words(&padded(&record.a, rows_bits * depth));
    let b = columns.words(&padded(&record.b, 8 * depth));
    let c = results.words(&padded(&[record.c], rows_bits * 8));
    let d = results.elements(&product.multiply(&a, &b, &c));
    d.first().copied().unwrap_or_default()
}

/// Prints records as lines of test data: architecture, formats, a, b, c, d.
fn print_sample(kind: &str, records: &[Record], count: usize) {
    let list = |values: &[u64]| -> String {
        let words: Vec<String> = values.iter().map(|value| format!("{value:x}")).collect();
        words.join(",")
    };
    for record in records.iter().take(count) {
        let (c, d) = (record.c, record.d);
        println!("{kind} {} {} {c:x} {d:x}", list(&record.a), list(&record.b));
    }
}
