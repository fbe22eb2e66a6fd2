//! Closed forms of counts against predictions by the slice, in random launches.

use fastrand::Rng;
use warpbound_analyse::count_formulas::CountFormulas;
use warpbound_base::{Deadline, Diagnostic};
use warpbound_ir::OpIndex;
use warpbound_launch::{LaunchFile, ParamValue};
use warpbound_measure::{PredictOptions, formula_totals, predict};
use warpbound_query::{Prepared, Session};

/// Maximum number of operations of the prediction of one launch. Longer predictions are not compared.
const MOST_OPERATIONS: u64 = 400_000;

/// Maximum number of threads of a block of a random launch.
const MOST_THREADS: u32 = 160;

/// Bytes that are left of each buffer: predictions for any contents read none.
const BUFFER_BYTES: usize = 256;

/// Outcome of the comparison of a kernel's formulas.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ComparedFormulas {
    /// Launches that were predicted.
    pub launches: u64,
    /// Formulas whose value is the predicted count.
    pub equal: u64,
    /// Equal formulas whose sum over all threads also has that value.
    pub sums: u64,
    /// Equal formulas whose executions by warps are also the predicted ones.
    pub issues: u64,
    /// Formulas outside their range, or too long to evaluate.
    pub outside: u64,
    /// Counts that are not predicted.
    pub unpredicted: u64,
    /// Differences, as text.
    pub wrong: Vec<String>,
}

impl ComparedFormulas {
    /// Compares the formulas of a kernel with predictions in some random launches, like `given` in what is not random.
    ///
    /// # Errors
    ///
    /// A launch does not suit the kernel.
    pub fn of_kernel(
        session: &Session,
        prepared: &Prepared<'_>,
        formulas: &CountFormulas<'_>,
        given: &LaunchFile,
        launches: u64,
        rng: &mut Rng,
    ) -> Result<ComparedFormulas, Diagnostic> {
        let mut compared = ComparedFormulas::default();
        let has_formula = formulas.blocks().iter().filter(|(_, found)| found.is_ok());
        let blocks: Vec<OpIndex> = has_formula.map(|(&block, _)| block).collect();
        for _ in 0..launches {
            let launch = random_launch(given, prepared.kernel.required_block, rng);
            compared.add_launch(session, prepared, formulas, &blocks, &launch)?;
        }
        Ok(compared)
    }

    fn add_launch(
        &mut self,
        session: &Session,
        prepared: &Prepared<'_>,
        formulas: &CountFormulas<'_>,
        blocks: &[OpIndex],
        launch: &LaunchFile,
    ) -> Result<(), Diagnostic> {
        let options = PredictOptions {
            steps: MOST_OPERATIONS,
            deadline: Deadline::default(),
            ..PredictOptions::default()
        };
        let prediction = predict(session, prepared, launch, &options)?;
        if prediction.lost.is_some() {
            return Ok(());
        }
        self.launches += 1;
        let totals = formula_totals(session, prepared, formulas, launch, blocks)?;
        for (block, totals) in blocks.iter().zip(totals) {
            let count = prediction.counts.get(block);
            let counts = count.and_then(|count| count.lanes.zip(count.issues));
            let (totals, lanes, issues) = match (totals, counts) {
                (None, _) => {
                    self.outside += 1;
                    continue;
                }
                (_, None) => {
                    self.unpredicted += 1;
                    continue;
                }
                (Some(totals), Some((lanes, issues))) => (totals, lanes, issues),
            };
            let is_equal = totals.lanes == u128::from(lanes)
                && totals.by_sum.is_none_or(|sum| sum == u128::from(lanes))
                && totals.issues.is_none_or(|own| own == u128::from(issues));
            match is_equal {
                true => {
                    self.equal += 1;
                    self.sums += u64::from(totals.by_sum.is_some());
                    self.issues += u64::from(totals.issues.is_some());
                }
                false => self.wrong.push(format!(
                    "the block at operation {}, grid {:?}, block {:?}: {} is {totals:?}, predicted are {lanes} lanes and {issues} issues",
                    block.0,
                    launch.grid,
                    launch.block,
                    formulas.text(*block).unwrap_or_default()
                )),
            }
        }
        Ok(())
    }

    /// Adds another comparison.
    pub fn append(&mut self, other: ComparedFormulas) {
        self.launches += other.launches;
        self.equal += other.equal;
        self.sums += other.sums;
        self.issues += other.issues;
        self.outside += other.outside;
        self.unpredicted += other.unpredicted;
        self.wrong.extend(other.wrong);
    }
}

/// Launch of random sizes and random numbers; structures and pointers are as given.
fn random_launch(given: &LaunchFile, required: Option<[u32; 3]>, rng: &mut Rng) -> LaunchFile {
    let mut launch = given.clone();
    launch.grid = [rng.u32(1..=5), 1, 1];
    if rng.u8(..4) == 0 {
        launch.grid = [rng.u32(1..=3), rng.u32(1..=3), rng.u32(1..=2)];
    }
    launch.block = match (required, rng.u8(..6)) {
        (Some(block), _) => block,
        (None, 0 | 1) => given.block,
        (None, 2) => [32 << rng.u32(..3), 1, 1],
        (None, 3) => [rng.u32(1..=16), rng.u32(1..=8), 1],
        (None, 4) => [rng.u32(1..=6), rng.u32(1..=5), rng.u32(1..=3)],
        (None, _) => [rng.u32(1..=MOST_THREADS), 1, 1],
    };
    for param in &mut launch.params {
        match &mut param.value {
            ParamValue::Scalar { bytes, .. } => random_scalar(bytes, rng),
            ParamValue::Buffer(buffer) => {
                buffer.expect = None;
                buffer.bytes.truncate(BUFFER_BYTES);
            }
            _ => {}
        }
    }
    launch
}

/// Random number of a scalar parameter: as given, small, near the number of threads, a power of two, around 0, or any.
fn random_scalar(bytes: &mut [u8], rng: &mut Rng) {
    let number = match rng.u8(..8) {
        0 => return,
        1 | 2 => rng.i64(0..=12),
        3 | 4 => rng.i64(0..=700),
        5 => 1 << rng.u32(..12),
        6 => rng.i64(-20..=20),
        _ => rng.i64(..),
    };
    if bytes.len() <= size_of_val(&number) {
        for (to, from) in bytes.iter_mut().zip(number.to_le_bytes()) {
            *to = from;
        }
    }
}
