//! Time stamps in the code: a cubin whose kernel keeps the largest time of each step between two of its points. For
//! example, the word of the step from block A to block B has the largest time that any thread took from its stamp in
//! A to its next stamp in B.

use warpbound_base::Diagnostic;
use warpbound_launch::{ElementType, NpyArray};
use warpbound_load::Kernel;
use warpbound_rewrite::CubinRewriter;
use warpbound_rewrite::probes::stamps::{stamp_counters, stamp_edits, stamp_points};
use warpbound_rewrite::probes::{ProbeEdits, ProbeEntry};

pub use warpbound_report::stamp_plan::StampPlan;

use super::{COUNTERS, InstrumentedKernel, Target};
use warpbound_query::Session;

/// Times that the stamps of a plan kept, in cycles modulo 2^32.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StampTimes {
    /// Largest time for each counter of `warpbound_rewrite::probes::stamps`; 0 if no thread took the step.
    pub values: Vec<u64>,
}

impl StampTimes {
    /// Makes times from the content of the variable: the digest of the plan, then the values.
    ///
    /// # Errors
    ///
    /// The content belongs to another plan, or has another number of values.
    pub fn of_words(words: &[u64], plan: &StampPlan) -> Result<StampTimes, Diagnostic> {
        let digest = plan.digest();
        let Some((&of, values)) = words.split_first() else {
            return Err(Diagnostic::new("there are no times"));
        };
        if of != digest {
            let message = format!("the times are of stamps {of:016x}, this is {digest:016x}");
            return Err(Diagnostic::new(message));
        }
        let need = stamp_counters(plan.points.len());
        if values.len() != need {
            let message = format!("there are {} times, the stamps have {need}", values.len());
            return Err(Diagnostic::new(message));
        }
        Ok(StampTimes {
            values: values.to_vec(),
        })
    }

    /// Reads an array of unsigned integers of 64 bits. It is the content of the variable, or one row of it for each
    /// run; then the largest times are taken.
    ///
    /// # Errors
    ///
    /// The file is no such array, or belongs to another plan.
    pub fn from_npy(contents: &[u8], plan: &StampPlan) -> Result<StampTimes, Diagnostic> {
        let array = NpyArray::from_npy(contents)?;
        if array.element != ElementType::U64 {
            return Err(Diagnostic::new("times are unsigned integers of 64 bits"));
        }
        let words = array.bytes.as_chunks::<8>().0;
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let width = stamp_counters(plan.points.len()) + 1;
        let mut times: Option<StampTimes> = None;
        for row in words.chunks(width) {
            let of_row = StampTimes::of_words(row, plan)?;
            match &mut times {
                None => times = Some(of_row),
                Some(times) => times.join(&of_row),
            }
        }
        times.ok_or_else(|| Diagnostic::new("there are no times"))
    }

    /// Keeps the larger time of each step.
    pub fn join(&mut self, other: &StampTimes) {
        for (time, other) in self.values.iter_mut().zip(&other.values) {
            *time = (*time).max(*other);
        }
    }
}

/// Inserts a time stamp at the entry of each block and at each exit of a kernel. `file` is the content from which the
/// session was opened.
///
/// # Errors
///
/// The kernel cannot be rewritten, has too many blocks, or has no registers left; the diagnostic has the address.
pub fn instrument_stamps(
    session: &Session,
    file: &[u8],
    kernel: &Kernel,
) -> Result<(StampPlan, InstrumentedKernel), Diagnostic> {
    super::with_target(session, kernel, "stamps", |target| target.stamp(file))
}

impl Target<'_> {
    fn stamp(&self, file: &[u8]) -> Result<(StampPlan, InstrumentedKernel), Diagnostic> {
        let kernel = self.prepared.kernel;
        let liveness = self.liveness(None);
        let mut probed = self.probed(&liveness, None);
        let points = stamp_points(&probed);
        let counters = stamp_counters(points.len());
        let mut rewriter = CubinRewriter::open(file)?;
        // The digest of the plan is the first word.
        rewriter.add_variable(COUNTERS, 8 * (counters as u64 + 1))?;
        // The variable must exist before the stamps are made, because they add its address from a constant bank.
        probed.address_offset = rewriter.address_in_bank()?.offset;
        let edits = stamp_edits(&probed, &points)?;
        self.apply(&mut rewriter, &edits)?;
        let mut written = rewriter.finish_with_maps()?;
        let addresses = points.iter().map(|&at| self.prepared.addr(at).0);
        let plan = StampPlan {
            schema: StampPlan::SCHEMA.to_owned(),
            kernel: kernel.demangled(),
            code: kernel.code_digest(),
            points: addresses.collect(),
            cycles: stamp_cycles(&edits),
        };
        let made = InstrumentedKernel {
            bytes: written.bytes,
            map: written.maps.remove(&*kernel.name),
            counters,
            digest: plan.digest(),
            // Stamps raise words in memory, so no counter has a home in a register.
            homes: Vec::new(),
            shared: 0,
            registers: [kernel.registers, edits.registers],
            instructions: [self.program.instrs.len(), edits.instructions()],
        };
        Ok((plan, made))
    }
}

/// Returns the issue distances of the shortest and of the longest stamp: at a point, and at an exit, which also
/// raises the whole time of the thread.
fn stamp_cycles(edits: &ProbeEdits) -> [u32; 2] {
    let all = edits.insertions.iter();
    let mut lengths: Vec<u32> = all
        // The prologue of the kernel is inserted for `FallThrough`, and is no stamp of a step.
        .filter(|insertion| insertion.entry == ProbeEntry::All)
        .map(|insertion| {
            let distances = insertion.instrs.iter();
            let distances = distances.map(|instr| u32::from(instr.control.min_distance()));
            distances.sum()
        })
        .collect();
    lengths.sort_unstable();
    let least = lengths.first().copied().unwrap_or(0);
    [least, lengths.last().copied().unwrap_or(0)]
}
