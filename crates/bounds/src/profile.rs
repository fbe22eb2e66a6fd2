//! Launch profiles: the values that a launch fixes, for the profiler of the analyses (SOUNDNESS 6.5).
//!
//! For example, `blockDim.x` and a parameter `n` are known words of a constant bank, and a word of a buffer is known
//! only with `--contents as-given`, and only if no thread may write the buffer.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::launch_profile::{
    ConstantWord, GlobalContents, KnownTransfers, LaunchProfile, LaunchProfiler, LaunchValues,
    StatedLoop,
};
use warpbound_base::{ConstantBanks, Deadline, Diagnostic, LaunchBlock};
use warpbound_ir::{Code, OpIndex};
use warpbound_launch::{
    Buffer, GlobalMemory, Launch, LaunchFile, ParamValue, PathOrder, PointerLocation,
};
use warpbound_load::Kernel;
use warpbound_query::{Contents, FactReading, KernelFlow, Prepared, Session};
use warpbound_simt::NodeId;

use crate::NoProfileReason;

/// Limits and inputs of a profile, in addition to the launch.
#[derive(Clone, Debug)]
pub struct ProfileOptions {
    /// Use of the contents of buffers.
    pub contents: Contents,
    /// Maximum number of warp instructions that are executed for all warps together.
    pub steps: u64,
    /// Time at which the profile ends without a result.
    pub deadline: Deadline,
    /// Knowledge about control transfers. Without it, convergence barriers and unknown targets of jumps are not followed.
    pub transfers: KnownTransfers,
    /// Loops with a bound.
    pub loops: Vec<StatedLoop>,
}

impl Default for ProfileOptions {
    fn default() -> ProfileOptions {
        ProfileOptions {
            contents: Contents::Any,
            steps: LaunchValues::STEPS,
            deadline: Deadline::default(),
            transfers: KnownTransfers::default(),
            loops: Vec::new(),
        }
    }
}

/// Profiles all warps of a launch. Returns the profile and the names of the buffers whose contents it rests on.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn launch_profile(
    session: &Session,
    prepared: &Prepared<'_>,
    file: &LaunchFile,
    options: &ProfileOptions,
) -> Result<(LaunchProfile, Vec<String>), Diagnostic> {
    with_launch_profiler(session, prepared, file, options, |profiler| {
        profiler.profile_all()
    })
}

/// Computes something with the profiler of a launch. Also returns the names of the buffers that it may have read.
///
/// With [`Contents::AsGiven`], `compute` is repeated without the buffers that a thread may write, until no further
/// buffer is found. Then no warp that it profiles writes a buffer that it reads (SOUNDNESS 6.5).
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn with_launch_profiler<T>(
    session: &Session,
    prepared: &Prepared<'_>,
    file: &LaunchFile,
    options: &ProfileOptions,
    compute: impl Fn(&mut LaunchProfiler<'_>) -> T,
) -> Result<(T, Vec<String>), Diagnostic> {
    with_launch_values(session, prepared, file, options, |values| {
        compute(&mut LaunchProfiler::new(values))
    })
}

/// Computes something with the values that a launch fixes, and repeats it as [`with_launch_profiler`] does. `compute`
/// must report all writes of global memory to the contents that it reads.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn with_launch_values<T>(
    session: &Session,
    prepared: &Prepared<'_>,
    file: &LaunchFile,
    options: &ProfileOptions,
    compute: impl Fn(LaunchValues<'_>) -> T,
) -> Result<(T, Vec<String>), Diagnostic> {
    let (launch, memory) = session.bind(prepared, file, PathOrder::default(), 0)?;
    let block = session.image.isa().launch_block();
    let banks = LaunchConstants::new(prepared.kernel, file, &launch, block);
    let constant = |bank, address| banks.word(bank, address);
    let mut contents = match options.contents {
        Contents::Any => None,
        Contents::AsGiven => Some(ReadBuffers::new(&memory)),
    };
    let holds = |address, bytes| has_bytes(&memory, address, bytes);
    loop {
        let computed = compute(LaunchValues {
            code: &prepared.code,
            grid: file.grid,
            block: file.block,
            constant: &constant,
            contents: contents
                .as_ref()
                .map(|contents| contents as &dyn GlobalContents),
            holds: Some(&holds),
            transfers: &options.transfers,
            loops: &options.loops,
            steps: options.steps,
            deadline: options.deadline,
        });
        // Each repetition has fewer readable buffers, so the loop ends.
        match contents.as_mut().map(ReadBuffers::shrink) {
            None | Some(Shrunk::Same) => {
                let names = contents.map(|contents| contents.names());
                return Ok((computed, names.unwrap_or_default()));
            }
            Some(Shrunk::Fewer) => {}
            Some(Shrunk::None) => contents = None,
        }
    }
}

/// Returns the loops of a kernel for profiles, as [`stated_loops`] does for bounds in a reading.
pub(crate) fn loops_of_profile(
    flow: &KernelFlow,
    reading: FactReading,
    bounds: &[Option<u64>],
) -> Vec<StatedLoop> {
    match reading {
        FactReading::Simt => stated_loops(flow, bounds),
        // Facts in this reading are about loops of the warp, and profiles count the iterations of lanes.
        FactReading::Paper => Vec::new(),
    }
}

/// Returns the loops of a kernel for profiles, with their bounds (one per element of
/// [`Loops::sites`](warpbound_analyse::loops::Loops::sites)). Only loops with one header, in one context, are
/// returned, and only if none of their operations is executed outside them.
pub fn stated_loops(flow: &KernelFlow, bounds: &[Option<u64>]) -> Vec<StatedLoop> {
    let space = &flow.thread.space;
    let ops_of = |node: NodeId| {
        let block = space.block(node);
        (block.first.0..=block.last.0).map(OpIndex)
    };
    let mut nodes_of: BTreeMap<OpIndex, BTreeSet<NodeId>> = BTreeMap::new();
    for node in space.ids() {
        for at in ops_of(node) {
            nodes_of.entry(at).or_default().insert(node);
        }
    }
    let mut found = Vec::new();
    for counted in &flow.loops.loops {
        let bound = bounds.get(counted.fact).copied().flatten();
        let (Some(bound), [header]) = (bound, counted.headers.as_slice()) else {
            continue;
        };
        let body: BTreeSet<OpIndex> = counted.body.iter().flat_map(|&node| ops_of(node)).collect();
        // A profile takes a lane to have left the loop when it executes another operation, so the body may be
        // executed nowhere else (SOUNDNESS 6.5).
        let is_alone = body
            .iter()
            .all(|at| nodes_of.get(at).is_some_and(|nodes| nodes.len() == 1));
        if is_alone {
            let header = space.block(*header).first;
            found.push(StatedLoop {
                header,
                body,
                bound,
            });
        }
    }
    found
}

/// Constant banks of a launch, with the words that hold addresses.
struct LaunchConstants<'a> {
    launch: &'a Launch,
    /// Ranges of bytes of the bank of the parameters that the launch defines, and whether they hold addresses.
    defined: Vec<(std::ops::Range<u32>, bool)>,
    /// Bank of the parameters.
    bank: u8,
    /// Whether the launch writes addresses into constant variables.
    variables_hold_addresses: bool,
}

/// Banks of kernels whose launches are profiled.
const BANKS: &ConstantBanks = ConstantBanks::OF_CUBINS;

/// Banks of addresses of variables.
const ADDRESS_BANKS: [u8; 2] = [BANKS.addresses, Code::ADDRESS_BANK];

impl<'a> LaunchConstants<'a> {
    /// Finds the words of a launch. `block` is the layout of the launch block, if the code has one.
    fn new(
        kernel: &Kernel,
        file: &LaunchFile,
        launch: &'a Launch,
        block: Option<&LaunchBlock>,
    ) -> LaunchConstants<'a> {
        let (bank, first) = match &kernel.param_block {
            Some(block) => (block.bank, u32::from(block.offset)),
            None => (BANKS.launch, 0),
        };
        let mut defined = Vec::new();
        if let Some(block) = block {
            defined.extend(block.sizes().map(|sizes| (sizes, false)));
            let windows = block.windows().map(|word| word.at);
            defined.extend(windows.chain([block.stack]).map(|at| (at..at + 4, true)));
        }
        for (number, (param, given)) in kernel.params.iter().zip(&file.params).enumerate() {
            let start = first + u32::from(param.offset);
            let is_number = matches!(given.value, ParamValue::Scalar { .. });
            let has_pointer = file
                .pointers
                .iter()
                .any(|pointer| pointer.location == PointerLocation::Param(number));
            defined.push((
                start..start + u32::from(param.size),
                !is_number || has_pointer,
            ));
        }
        let of_variable = |location| matches!(location, PointerLocation::Variable(_));
        LaunchConstants {
            launch,
            defined,
            bank,
            variables_hold_addresses: file
                .pointers
                .iter()
                .any(|pointer| of_variable(pointer.location)),
        }
    }

    /// Returns the word at a byte address of a bank; `None` if the launch defines none of it.
    fn word(&self, bank: u8, address: u32) -> Option<ConstantWord> {
        let banks = self.launch.constants.iter();
        let (_, bytes) = banks.into_iter().find(|(number, _)| *number == bank)?;
        let start = usize::try_from(address).ok()?;
        let bytes = bytes.get(start..start.checked_add(4)?)?;
        // It is not known which words of the variables hold addresses, so each may.
        let mut is_address = ADDRESS_BANKS.contains(&bank) || self.variables_hold_addresses;
        let mut known = u32::MAX;
        if bank == self.bank {
            (is_address, known) = (false, 0);
            // A word may span small parameters. Bytes that no parameter defines stay unknown.
            for (number, at) in (address..address.checked_add(4)?).enumerate() {
                let mut defined = self.defined.iter();
                if let Some((_, holds_address)) = defined.find(|(range, _)| range.contains(&at)) {
                    known |= 0xff << (8 * number);
                    is_address |= holds_address;
                }
            }
        }
        let word = u32::from_le_bytes(bytes.try_into().ok()?);
        let constant = ConstantWord {
            word,
            known,
            is_address,
        };
        (known != 0).then_some(constant)
    }
}

/// Buffers of a launch that a profile reads as long as no thread may write them.
struct ReadBuffers<'a> {
    memory: &'a GlobalMemory,
    /// For each buffer, whether it is read.
    readable: Vec<bool>,
    written: RefCell<BTreeSet<usize>>,
    writes_anywhere: Cell<bool>,
}

/// Returns the buffer that contains an address, with its number.
fn buffer_at(memory: &GlobalMemory, address: u64) -> Option<(usize, &Buffer)> {
    let buffers = memory.buffers();
    // Buffers are sorted by address and do not overlap, so only the last one that begins before the address may
    // contain it.
    let after = buffers.partition_point(|buffer| buffer.address <= address);
    let index = after.checked_sub(1)?;
    let buffer = buffers.get(index)?;
    let inside = address - buffer.address < buffer.bytes.len() as u64;
    inside.then_some((index, buffer))
}

/// Whether one buffer has this number of bytes at an address.
fn has_bytes(memory: &GlobalMemory, address: u64, bytes: u32) -> bool {
    buffer_at(memory, address).is_some_and(|(_, buffer)| {
        let left = buffer.bytes.len() as u64 - (address - buffer.address);
        left >= u64::from(bytes)
    })
}

/// Result of removing the buffers that may be written.
enum Shrunk {
    /// None of the readable buffers is written.
    Same,
    /// Fewer are left.
    Fewer,
    /// None is left.
    None,
}

impl<'a> ReadBuffers<'a> {
    fn new(memory: &'a GlobalMemory) -> ReadBuffers<'a> {
        ReadBuffers {
            memory,
            readable: vec![true; memory.buffers().len()],
            written: RefCell::default(),
            writes_anywhere: Cell::new(false),
        }
    }

    /// Returns the index of the buffer that contains an address.
    fn index_of(&self, address: u64) -> Option<usize> {
        buffer_at(self.memory, address).map(|(index, _)| index)
    }

    /// Removes the buffers that were written since the last call.
    fn shrink(&mut self) -> Shrunk {
        if self.writes_anywhere.get() {
            // An unknown address may be in any buffer.
            return Shrunk::None;
        }
        let mut shrunk = Shrunk::Same;
        for index in self.written.take() {
            if let Some(readable) = self.readable.get_mut(index).filter(|readable| **readable) {
                *readable = false;
                shrunk = Shrunk::Fewer;
            }
        }
        shrunk
    }

    /// Returns the names of the readable buffers.
    fn names(&self) -> Vec<String> {
        let buffers = self.memory.buffers().iter().zip(&self.readable);
        let readable = buffers.filter(|(_, readable)| **readable);
        readable.map(|(buffer, _)| buffer.name.clone()).collect()
    }
}

impl GlobalContents for ReadBuffers<'_> {
    fn byte(&self, address: u64) -> Option<u8> {
        let index = self.index_of(address)?;
        // A buffer that some thread may write has unknown contents.
        if !*self.readable.get(index)? {
            return None;
        }
        let buffer = self.memory.buffers().get(index)?;
        let at = usize::try_from(address - buffer.address).ok()?;
        buffer.bytes.get(at).copied()
    }

    fn write(&self, address: Option<u64>, bytes: u64) {
        let Some(address) = address else {
            self.writes_anywhere.set(true);
            return;
        };
        for end in [address, address.saturating_add(bytes.saturating_sub(1))] {
            if let Some(index) = self.index_of(end) {
                self.written.borrow_mut().insert(index);
            }
        }
    }

    fn is_outdated(&self) -> bool {
        let is_read = |&index: &usize| self.readable.get(index) == Some(&true);
        self.writes_anywhere.get() || self.written.borrow().iter().any(is_read)
    }
}

/// Returns the reason why a launch has no profile, in words.
pub(crate) fn reason_text(reason: NoProfileReason) -> &'static str {
    match reason {
        NoProfileReason::Unsupported => "profiles do not follow this instruction",
        NoProfileReason::IndirectJump => "the target is not known",
        NoProfileReason::Decisions => {
            "unknown values decide again and again; a loop that memory ends needs a fact"
        }
        NoProfileReason::Steps => "too many instructions to execute all warps",
        NoProfileReason::StackHeight => "the warp has too many stack entries",
        NoProfileReason::TimeLimit => "not done within the time limit (--time-limit)",
        NoProfileReason::Outdated => "buffers that were read are written",
    }
}
