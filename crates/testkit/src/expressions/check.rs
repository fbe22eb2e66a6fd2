//! Functional runs of expression kernels, compared with the values computed in Rust.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_query::Session;
use warpbound_runs::{FunctionalRun, RunOptions};

use super::generate::{Batch, Expression, SplitMix, VARIABLES};
use super::value::Type;
use crate::kernels::TestLaunch;

/// Expression with a wrong result.
#[derive(Clone, Debug)]
pub struct WrongValue {
    /// The expression in CUDA C.
    pub expression: String,
    /// Values of its variables, expected and found result.
    pub values: String,
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct CheckOutcome {
    /// First wrong value of each expression that has one.
    pub problems: Vec<WrongValue>,
    /// Number of compared values.
    pub values: usize,
    /// Issued warp instructions by mnemonic.
    pub mnemonics: BTreeMap<String, u64>,
}

/// Runs the kernel of a batch with `threads` threads, each with its own random variables.
///
/// # Errors
///
/// The kernel cannot be run to its end.
pub fn run(batch: &Batch, cubin: &[u8], threads: usize) -> Result<CheckOutcome, Diagnostic> {
    let mut random = SplitMix(batch.seed ^ 0x5eed);
    let arrays = Type::ALL.map(|of| -> Vec<u64> {
        (0..VARIABLES * threads)
            .map(|_| random.variable(of))
            .collect()
    });
    let block = threads.clamp(1, 128);
    let grid = threads.div_ceil(block) as u32;
    let mut launch = TestLaunch::of("expressions", [grid, 1, 1], [block as u32, 1, 1]);
    for (of, values) in Type::ALL.into_iter().zip(&arrays) {
        let name = of.name_and_letter().1.to_string();
        launch = match of.size() {
            4 => {
                let words: Vec<u32> = values.iter().map(|v| *v as u32).collect();
                launch.input(&name, &words)
            }
            _ => launch.input(&name, values),
        };
    }
    let launch = launch
        .scratch("out", &vec![0u64; batch.expressions.len() * threads])
        .value("n", threads as i32)
        .finish();
    let session = Session::open("expressions", cubin)?;
    let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
    let done = warpbound_runs::execute(
        &session,
        kernel,
        &launch,
        &RunOptions::default(),
        &mut |_| (),
    )
    .and_then(FunctionalRun::as_expected)?;
    let buffers = done.memory.buffers();
    let out = buffers.get(Type::ALL.len()).map(|b| b.bytes.as_slice());
    let (words, _) = out.unwrap_or_default().as_chunks::<8>();

    let mut outcome = CheckOutcome::default();
    for count in done.report.mnemonics {
        outcome
            .mnemonics
            .insert(count.mnemonic, count.issued.warp_instructions);
    }
    for (number, expression) in batch.expressions.iter().enumerate() {
        let mut is_wrong = false;
        for thread in 0..threads {
            let variable = |of: Type, n: usize| {
                let array = arrays
                    .get(of as usize)
                    .and_then(|a| a.get(n * threads + thread));
                array.copied().unwrap_or(0)
            };
            let expected = expression.value(&variable);
            let found = words
                .get(number * threads + thread)
                .map(|w| u64::from_le_bytes(*w));
            outcome.values += 1;
            if found.is_some_and(|found| is_right(expression, expected, found)) || is_wrong {
                continue;
            }
            is_wrong = true;
            outcome.problems.push(WrongValue {
                expression: expression.text(),
                values: describe_values(expression, &variable, expected, found.unwrap_or(0)),
            });
        }
    }
    Ok(outcome)
}

/// Whether a result equals the expected one, up to the expression's error bound; all NaNs are equal.
fn is_right(expression: &Expression, expected: u64, found: u64) -> bool {
    let of = expression.result();
    if expected == found || of.is_nan(expected) && of.is_nan(found) {
        return true;
    }
    // In sign-magnitude order a unit in the last place is 1, and infinity follows the largest number.
    let sign = 1 << (8 * of.size() - 1);
    let ordered = |bits: u64| {
        let magnitude = (bits & (sign - 1)) as i64;
        i128::from(if bits & sign == 0 {
            magnitude
        } else {
            -magnitude
        })
    };
    let ulps = expression.ulps();
    ulps > 0
        && !of.is_nan(expected)
        && !of.is_nan(found)
        && ordered(expected).abs_diff(ordered(found)) <= ulps.into()
}

/// Text of the variables that an expression uses, with its expected and found result.
fn describe_values(
    expression: &Expression,
    variable: &impl Fn(Type, usize) -> u64,
    expected: u64,
    found: u64,
) -> String {
    let text = expression.text();
    let mut values = String::new();
    for of in Type::ALL {
        for number in 0..VARIABLES {
            let name = format!("{}{number}", of.name_and_letter().1);
            let is_used = text.match_indices(&name).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            });
            if is_used {
                values.push_str(&format!("{name}={:#x} ", variable(of, number)));
            }
        }
    }
    format!("{values}expected {expected:#x} found {found:#x}")
}
