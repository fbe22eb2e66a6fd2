//! Instrumentation of kernels for GCN3. A wave keeps its counters in scalar registers and adds them to memory where
//! it ends (SOUNDNESS 19). For example, a loop body that a wave executes 10 times adds to a register 10 times, and to
//! memory once.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{CodeAddr, Diagnostic, Family};
use warpbound_launch::{GlobalMemory, LOADED_FILE, LaunchFile};
use warpbound_load::Kernel;
use warpbound_query::{Prepared, Session};

use warpbound_report::probe_plan::ProbePlan;
use warpbound_rewrite::gcn::{CodeObjectRewriter, ScalarProbes};
use warpbound_rewrite::probes::Increment;

use super::{counters_launch, probed_quantity};
use crate::ProbeCounters;
use crate::probes::check_code;

/// Number of bytes of the variable before the counters: the digest of the plan, which the host writes.
const DIGEST: u64 = 8;

/// Instrumented kernel of a code object for GCN3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstrumentedWaves {
    /// The file.
    pub bytes: Vec<u8>,
    /// Number of counters. They are 64-bit sums to which each wave adds its part where it ends, counted modulo 2^32.
    pub counters: usize,
    /// Digest of the plan.
    pub digest: u64,
    /// Address of the first counter in the loaded file.
    pub address: u64,
    /// Address of the variable, which begins with the digest, minus the address of the kernel's descriptor, both in
    /// the loaded file.
    pub from_descriptor: i64,
    /// Numbered SGPRs and VGPRs that the probes need; a wave has more if the kernel needs more.
    pub registers: (u16, u16),
    /// Number of instructions of the kernel before, and number of inserted ones.
    pub instructions: [usize; 2],
    /// Target of jumps to each instruction in the instrumented kernel, by the old address of the instruction.
    pub moved: BTreeMap<CodeAddr, CodeAddr>,
}

/// Instruments a kernel for GCN3 with the probes of a plan. `file` is the content from which the session was opened.
///
/// # Errors
///
/// The plan is for other code, the kernel is not for GCN3, or it cannot be rewritten; the diagnostic has the address.
pub fn instrument_waves(
    session: &Session,
    file: &[u8],
    kernel: &Kernel,
    plan: &ProbePlan,
) -> Result<InstrumentedWaves, Diagnostic> {
    let fail = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    check_code(plan, kernel).map_err(fail)?;
    if !plan.sums.is_empty() {
        let message = "counters of waves have no sums of several probes";
        let why =
            Diagnostic::new(message).hint("make a plan with a counter for each probe: --each");
        return Err(fail(why));
    }
    let prepared = session.prepare_measured(kernel)?;
    let (Family::Gcn3, Some(object)) = (prepared.family(), &kernel.code_object) else {
        return Err(fail(Diagnostic::new("the kernel is not for GCN3")));
    };
    let code_address = object.code_address;
    instrument(file, &prepared, code_address, plan).map_err(fail)
}

fn instrument(
    file: &[u8],
    prepared: &Prepared<'_>,
    code_address: u64,
    plan: &ProbePlan,
) -> Result<InstrumentedWaves, Diagnostic> {
    let kernel = prepared.kernel;
    let mut rewriter = CodeObjectRewriter::open(file)?;
    let outside = || Diagnostic::new("the kernel's code is not in the code section");
    // The rewriter counts from the beginning of the code section, and plans count from the beginning of the kernel.
    let shift = code_address.checked_sub(rewriter.code_address());
    let shift = shift.and_then(|shift| u32::try_from(shift).ok());
    let shift = shift.ok_or_else(outside)?;
    let mut points: BTreeMap<CodeAddr, BTreeSet<Increment>> = BTreeMap::new();
    for (counter, probe) in plan.probes.iter().enumerate() {
        let increment = Increment {
            counter,
            quantity: probed_quantity(probe.quantity),
            weight: 1,
        };
        let at = CodeAddr(probe.at.saturating_add(shift));
        points.entry(at).or_default().insert(increment);
    }
    let counters = plan.probes.len();
    let placed = rewriter.add_probes(&ScalarProbes {
        kernel: kernel.name.to_string(),
        counters,
        first_byte: DIGEST,
        points,
    })?;
    let places = rewriter.moved()?;
    let bytes = rewriter.finish()?;
    // The kernel may begin elsewhere in the new file, so its place is read from there.
    let new = warpbound_load::Image::parse(&bytes)?;
    let kernels = new.kernels()?;
    let new = kernels.iter().find(|new| new.name == kernel.name);
    let object = new.and_then(|new| new.code_object.as_ref());
    let object = object.ok_or_else(outside)?;
    let text = CodeObjectRewriter::open(&bytes)?.code_address();
    let new_shift = object.code_address.checked_sub(text);
    let new_shift = new_shift.and_then(|shift| u32::try_from(shift).ok());
    let new_shift = new_shift.ok_or_else(outside)?;
    let moved = places.into_iter().filter_map(|(old, (label, _))| {
        let old = old.0.checked_sub(shift)?;
        Some((CodeAddr(old), CodeAddr(label.0.checked_sub(new_shift)?)))
    });
    let before = prepared.code.ops.len();
    Ok(InstrumentedWaves {
        counters,
        digest: plan.digest(),
        address: placed.address,
        // The variable may be on either side of the descriptor, so the difference has a sign.
        from_descriptor: (placed.address.wrapping_sub(DIGEST))
            .wrapping_sub(object.descriptor_address)
            .cast_signed(),
        registers: placed.registers,
        instructions: [before, placed.inserted],
        moved: moved.collect(),
        bytes,
    })
}

impl InstrumentedWaves {
    /// Returns the launch with the variable of the counters: the digest and zeros, written to `output` at the end if
    /// given.
    pub fn launch(&self, launch: &LaunchFile, output: Option<String>) -> LaunchFile {
        counters_launch(launch, self.digest, self.counters, output)
    }

    /// Returns the counters at the end of a run: they are in the memory of the loaded file.
    ///
    /// # Errors
    ///
    /// The memory has no such file, or a smaller one.
    pub fn counters(&self, memory: &GlobalMemory) -> Result<ProbeCounters, Diagnostic> {
        let mut buffers = memory.buffers().iter();
        // The variable is no buffer of its own: it is part of the loaded file.
        let file = buffers.find(|buffer| buffer.name == LOADED_FILE);
        let start = usize::try_from(self.address).unwrap_or(usize::MAX);
        let words = file
            .and_then(|file| file.bytes.get(start..))
            .map(|bytes| bytes.as_chunks::<8>().0)
            .and_then(|words| words.get(..self.counters));
        let words = words.ok_or_else(|| Diagnostic::new("the memory has no counters"))?;
        Ok(ProbeCounters {
            plan: Some(self.digest),
            values: words.iter().map(|word| u64::from_le_bytes(*word)).collect(),
            ..ProbeCounters::default()
        })
    }
}
