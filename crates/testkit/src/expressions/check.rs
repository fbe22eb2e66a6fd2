//! Running kernels of expressions.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_driver::Session;

use super::generate::{Batch, Expression, Random, VARIABLES};
use super::value::Type;
use crate::kernels::TestLaunch;

/// An expression that is worth something else.
#[derive(Clone, Debug)]
pub struct WrongValue {
    /// As CUDA C.
    pub expression: String,
    /// The values of its variables, what it is worth, and what was found.
    pub values: String,
}

/// What a run showed.
#[derive(Clone, Debug, Default)]
pub struct CheckOutcome {
    /// The first wrong value of each wrong expression.
    pub problems: Vec<WrongValue>,
    /// Values compared.
    pub values: usize,
    /// How often warps issued which instruction.
    pub mnemonics: BTreeMap<String, u64>,
}

/// Runs the kernel of a batch with so many threads.
///
/// # Errors
///
/// Where it cannot be run to its end.
pub fn run(batch: &Batch, cubin: &[u8], threads: usize) -> Result<CheckOutcome, Diagnostic> {
    let mut random = Random(batch.seed ^ 0x5eed);
    let arrays = Type::ALL.map(|of| -> Vec<u64> {
        (0..VARIABLES * threads)
            .map(|_| random.variable(of))
            .collect()
    });
    let block = threads.clamp(1, 128);
    let grid = threads.div_ceil(block) as u32;
    let mut launch = TestLaunch::of("expressions", [grid, 1, 1], [block as u32, 1, 1]);
    for (of, values) in Type::ALL.into_iter().zip(&arrays) {
        let name = of.spelled().1.to_string();
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
        .done();
    let session = Session::open("expressions", cubin)?;
    let kernel = session.launched_grid(None, &launch)?;
    let done = session.run_functional(kernel, &launch, None)?;
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
                values: values(expression, &variable, expected, found.unwrap_or(0)),
            });
        }
    }
    Ok(outcome)
}

fn is_right(expression: &Expression, expected: u64, found: u64) -> bool {
    let of = expression.result();
    if expected == found || of.is_nan(expected) && of.is_nan(found) {
        return true;
    }
    // Units of the last place are units of the pattern; an infinity is next to the largest number.
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

fn values(
    expression: &Expression,
    variable: &impl Fn(Type, usize) -> u64,
    expected: u64,
    found: u64,
) -> String {
    let text = expression.text();
    let mut values = String::new();
    for of in Type::ALL {
        for number in 0..VARIABLES {
            let name = format!("{}{number}", of.spelled().1);
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
