//! Parallel execution of blocks with the result of sequential execution, by speculation and validation.
//!
//! Each block of a round executes speculatively on a private view of the memory before the round. Then, in grid
//! order, each block is validated: if it has read no word that an earlier block of the round wrote, its writes equal
//! the writes of sequential execution and are committed; otherwise it is executed again, alone. For example, a block
//! that has read a flag before an earlier block of the round set it is executed again. Results therefore do not
//! depend on the number of threads.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;
use warpbound_simt::ExecutionModel;

use super::block::{Block, ExecContext};
use super::memory::GlobalAccess;
use super::program::Program;
use super::{Counts, Fault, GlobalMemory, Launch, NoListener, Size};

/// Blocks per round and thread: enough that threads seldom idle at the end of a round.
const BLOCKS_PER_THREAD: usize = 8;

/// Instruction budget of a speculative block, as a multiple of the longest block so far. A budget is needed because its
/// reads may be stale: it could spin for ever on a value that an earlier block of the round writes.
const BUDGET_FACTOR: u64 = 16;
/// Minimum instruction budget of a speculative block.
const MIN_BUDGET: u64 = 1 << 20;

/// Executes all blocks of a launch; `done` receives the number of finished blocks after each.
pub(super) fn run<E: ExecutionModel<u32>, const W: usize>(
    program: &Program<'_, W>,
    launch: &Launch,
    memory: &mut GlobalMemory,
    threads: NonZero<usize>,
    done: &mut dyn FnMut(u64),
) -> Result<Counts, Fault> {
    let operations = program.ops.len();
    let mut counts = Counts::new(operations);
    let mut left = launch.max_instructions;
    let mut longest = MIN_BUDGET;
    let mut finished = 0;
    let mut blocks = launch.blocks();
    loop {
        let round: Vec<Size> = blocks
            .by_ref()
            .take(threads.get() * BLOCKS_PER_THREAD)
            .collect();
        if round.is_empty() {
            return Ok(counts);
        }
        let budget = left.min(longest.saturating_mul(BUDGET_FACTOR));
        let mut written: FxHashMap<u64, u64> = FxHashMap::default();
        for (index, attempt) in round.iter().zip(run_round::<E, W>(
            program, launch, memory, &round, threads, budget,
        )) {
            let block = Block::<E, W>::new(program, launch, *index);
            let before = left;
            match attempt {
                Some(attempt) if attempt.is_valid(&written) && attempt.fits_budget(left) => {
                    // Validated: the block has done what it does in sequential order, its fault included.
                    counts.add(&attempt.counts);
                    left -= attempt.counts.issued();
                    attempt.outcome?;
                    // Later blocks of the round have executed without these writes: `is_valid` compares their reads.
                    record_writes(&mut written, &attempt.pages);
                    commit(attempt.pages, memory);
                }
                _ => {
                    // Executed alone; the view only records its writes.
                    let mut view = MemoryView::new(memory);
                    let outcome = block.run(&mut ExecContext {
                        memory: &mut view,
                        counts: &mut counts,
                        budget: &mut left,
                        listener: &mut NoListener,
                    });
                    let pages = view.pages;
                    outcome?;
                    record_writes(&mut written, &pages);
                    commit(pages, memory);
                }
            }
            longest = longest.max(before - left);
            finished += 1;
            done(finished);
        }
    }
}

/// Result of a block's speculative execution on its view.
struct SpeculativeRun {
    outcome: Result<(), Fault>,
    counts: Counts,
    pages: FxHashMap<u64, Page>,
    read: FxHashMap<u64, u64>,
}

impl SpeculativeRun {
    /// Whether no earlier block of the round wrote a word that this block read.
    fn is_valid(&self, written: &FxHashMap<u64, u64>) -> bool {
        let (fewer, more) = match self.read.len() < written.len() {
            true => (&self.read, written),
            false => (written, &self.read),
        };
        fewer
            .iter()
            .all(|(page, words)| more.get(page).is_none_or(|others| words & others == 0))
    }

    /// Whether it finished or faulted by itself within the remaining instructions of the launch.
    fn fits_budget(&self, left: u64) -> bool {
        // The limit may be the speculative budget: sequential execution decides.
        let gave_up = matches!(&self.outcome, Err(fault) if fault.is_instruction_limit());
        !gave_up && self.counts.issued() <= left
    }
}

/// Executes the blocks of a round on all threads, each on a view of its own.
fn run_round<E: ExecutionModel<u32>, const W: usize>(
    program: &Program<'_, W>,
    launch: &Launch,
    memory: &GlobalMemory,
    round: &[Size],
    threads: NonZero<usize>,
    budget: u64,
) -> Vec<Option<SpeculativeRun>> {
    // Relaxed accesses suffice: it only distributes indices; mutexes and the end of the scope order the results.
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<SpeculativeRun>>> =
        round.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let (Some(index), Some(result)) = (round.get(at), results.get(at))
        {
            let mut view = MemoryView::new(memory);
            let mut counts = Counts::new(program.ops.len());
            let mut left = budget;
            let block = Block::<E, W>::new(program, launch, *index);
            let outcome = block.run(&mut ExecContext {
                memory: &mut view,
                counts: &mut counts,
                budget: &mut left,
                listener: &mut NoListener,
            });
            let attempt = SpeculativeRun {
                outcome,
                counts,
                pages: view.pages,
                read: view.read,
            };
            if let Ok(mut slot) = result.lock() {
                *slot = Some(attempt);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(work);
        }
        work();
    });
    results
        .into_iter()
        // A block without a result is executed alone, so an error here costs time only.
        .map(|result| result.into_inner().ok().flatten())
        .collect()
}

/// Adds the words written on each page.
fn record_writes(written: &mut FxHashMap<u64, u64>, pages: &FxHashMap<u64, Page>) {
    for (&at, page) in pages {
        *written.entry(at).or_default() |= page.words;
    }
}

/// Copies the bytes that a block wrote to the memory.
fn commit(pages: FxHashMap<u64, Page>, memory: &mut GlobalMemory) {
    for (at, page) in pages {
        // The other bytes may be stale: an earlier block of the round may have committed new ones.
        for byte in page.written_bytes() {
            let address = at * PAGE_SIZE as u64 + byte as u64;
            if let (Some([to]), Some(from)) = (memory.bytes_mut(address, 1), page.bytes.get(byte)) {
                *to = *from;
            }
        }
    }
}

/// Bytes per page: 64 words, so that a 64-bit mask has one bit per word.
const PAGE_SIZE: usize = 256;

/// A page that a block has written.
struct Page {
    /// Contents as the block sees them, from the start of the page to the end of the page or of the buffer.
    bytes: Vec<u8>,
    /// Mask of the written bytes.
    written: [u64; PAGE_SIZE / 64],
    /// Mask of the words with a written byte.
    words: u64,
    /// Mask of the words with all four bytes written.
    full_words: u64,
}

impl Page {
    /// Marks the bytes of an access as written.
    fn write(&mut self, byte: usize, size: usize) {
        let (part, first) = (byte / 64, byte % 64);
        if let Some(written) = self.written.get_mut(part) {
            // Accesses do not cross a multiple of their size.
            *written |= (u64::MAX >> (64 - size.clamp(1, 64))) << first;
            let words = words(byte, size);
            // An access of several words writes all of them whole, so the first one decides.
            let is_whole = *written >> (first & !3) & 15 == 15;
            self.words |= words;
            self.full_words |= if is_whole { words } else { 0 };
        }
    }

    /// Indices of the written bytes, ascending.
    fn written_bytes(&self) -> impl Iterator<Item = usize> {
        (0..PAGE_SIZE).filter(|byte| self.written[byte / 64] >> (byte % 64) & 1 == 1)
    }
}

/// Private view of the memory: its state before the round, and the pages that the block has written since.
struct MemoryView<'a> {
    memory: &'a GlobalMemory,
    pages: FxHashMap<u64, Page>,
    /// Per page, the mask of the words that were read before the block had written them.
    read: FxHashMap<u64, u64>,
}

impl<'a> MemoryView<'a> {
    /// Returns a view without writes.
    fn new(memory: &'a GlobalMemory) -> MemoryView<'a> {
        MemoryView {
            memory,
            pages: FxHashMap::default(),
            read: FxHashMap::default(),
        }
    }
}

/// Page number of an address, and its byte offset in the page.
fn page_of(address: u64) -> (u64, usize) {
    (
        address / PAGE_SIZE as u64,
        (address % PAGE_SIZE as u64) as usize,
    )
}

/// Mask of the words of an access in its page.
fn words(byte: usize, size: usize) -> u64 {
    (u64::MAX >> (64 - size.div_ceil(4).clamp(1, 64))) << (byte / 4)
}

impl GlobalAccess for MemoryView<'_> {
    fn bytes_around(&self, address: u64) -> Option<(u64, &[u8])> {
        let (page, _) = page_of(address);
        let start = page * PAGE_SIZE as u64;
        if let Some(own) = self.pages.get(&page) {
            return Some((start, &own.bytes));
        }
        // Only this page of the buffer, because the block may have written other pages.
        let (first, bytes) = self.memory.bytes_around(address)?;
        // Buffers are aligned to pages, so none begins inside a page.
        let from = usize::try_from(start.checked_sub(first)?).ok()?;
        let end = bytes.len().min(from + PAGE_SIZE);
        Some((start, bytes.get(from..end)?))
    }

    fn record_read(&mut self, address: u64, size: usize) {
        let (page, byte) = page_of(address);
        // If the block has written only a part of a word, the other bytes are from before the round, so the read has
        // to be validated.
        let own = self.pages.get(&page).map_or(0, |own| own.full_words);
        let words = words(byte, size) & !own;
        if words != 0 {
            *self.read.entry(page).or_default() |= words;
        }
    }

    fn bytes_mut(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let (page, byte) = page_of(address);
        if !self.pages.contains_key(&page) {
            let (_, bytes) = self.bytes_around(address)?;
            let bytes = bytes.to_vec();
            let fresh = Page {
                bytes,
                written: [0; PAGE_SIZE / 64],
                words: 0,
                full_words: 0,
            };
            self.pages.insert(page, fresh);
        }
        let own = self.pages.get_mut(&page)?;
        own.write(byte, size);
        own.bytes.get_mut(byte..byte + size)
    }

    fn describe_address(&self, address: u64) -> Option<String> {
        self.memory.describe_address(address)
    }
}
