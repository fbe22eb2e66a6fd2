//! Blocks at the same time, with the result of one after the other.
//!
//! Each block of a round runs on its own view of the memory as it was before the round. Then, in the order of the grid:
//! when a block has read no word that an earlier block of the round wrote, what it wrote is what it would have written
//! in its turn, and is taken over; otherwise it runs again, alone. So the number of threads changes nothing but the time.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use super::block::{Block, ExecContext};
use super::memory::GlobalAccess;
use super::program::Program;
use super::{Counts, Fault, GlobalMemory, Launch, NoListener, Size};

/// Blocks of a round for each thread: enough that threads seldom wait for each other at its end.
const BLOCKS_EACH: usize = 8;

/// Instructions after which a block of a round gives up, many times those of the longest so far: what it reads may be
/// stale, so that it could wait for ever for what an earlier block writes.
const PATIENCE: u64 = 16;
const LEAST_PATIENCE: u64 = 1 << 20;

/// Runs all blocks of a grid; `done` hears after each how many are done.
pub(super) fn run(
    program: &Program<'_>,
    launch: &Launch,
    memory: &mut GlobalMemory,
    threads: NonZero<usize>,
    done: &mut dyn FnMut(u64),
) -> Result<Counts, Fault> {
    let operations = program.ops.len();
    let mut counts = Counts::new(operations);
    let mut left = launch.max_instructions;
    let mut longest = LEAST_PATIENCE;
    let mut finished = 0;
    let mut blocks = launch.blocks();
    loop {
        let round: Vec<Size> = blocks.by_ref().take(threads.get() * BLOCKS_EACH).collect();
        if round.is_empty() {
            return Ok(counts);
        }
        let patience = left.min(longest.saturating_mul(PATIENCE));
        let mut written: FxHashMap<u64, u64> = FxHashMap::default();
        for (index, tried) in round
            .iter()
            .zip(together(program, launch, memory, &round, threads, patience))
        {
            let block = Block::new(program, launch, *index);
            let before = left;
            match tried {
                Some(tried) if tried.is_current(&written) && tried.issued(left) => {
                    counts.add(&tried.counts);
                    left -= tried.counts.issued();
                    tried.outcome?;
                    note(&mut written, &tried.pages);
                    apply(tried.pages, memory);
                }
                _ => {
                    // Alone, on a view only to learn what it writes.
                    let mut view = View::of(memory);
                    let outcome = block.run(&mut ExecContext {
                        memory: &mut view,
                        counts: &mut counts,
                        budget: &mut left,
                        listener: &mut NoListener,
                    });
                    let pages = view.pages;
                    outcome?;
                    note(&mut written, &pages);
                    apply(pages, memory);
                }
            }
            longest = longest.max(before - left);
            finished += 1;
            done(finished);
        }
    }
}

/// What a block did on its view.
struct Tried {
    outcome: Result<(), Fault>,
    counts: Counts,
    pages: FxHashMap<u64, Page>,
    read: FxHashMap<u64, u64>,
}

impl Tried {
    /// Whether nobody wrote a word that it read.
    fn is_current(&self, written: &FxHashMap<u64, u64>) -> bool {
        let (fewer, more) = match self.read.len() < written.len() {
            true => (&self.read, written),
            false => (written, &self.read),
        };
        fewer
            .iter()
            .all(|(page, words)| more.get(page).is_none_or(|others| words & others == 0))
    }

    /// Whether it came to its end, or to a fault of its own, with no more instructions than are left.
    fn issued(&self, left: u64) -> bool {
        let gave_up = matches!(&self.outcome, Err(fault) if fault.is_instruction_limit());
        !gave_up && self.counts.issued() <= left
    }
}

/// Runs the blocks of a round, each on a view of its own.
fn together(
    program: &Program<'_>,
    launch: &Launch,
    memory: &GlobalMemory,
    round: &[Size],
    threads: NonZero<usize>,
    patience: u64,
) -> Vec<Option<Tried>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Tried>>> = round.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let (Some(index), Some(result)) = (round.get(at), results.get(at))
        {
            let mut view = View::of(memory);
            let mut counts = Counts::new(program.ops.len());
            let mut left = patience;
            let block = Block::new(program, launch, *index);
            let outcome = block.run(&mut ExecContext {
                memory: &mut view,
                counts: &mut counts,
                budget: &mut left,
                listener: &mut NoListener,
            });
            let tried = Tried {
                outcome,
                counts,
                pages: view.pages,
                read: view.read,
            };
            if let Ok(mut place) = result.lock() {
                *place = Some(tried);
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
        .map(|result| result.into_inner().ok().flatten())
        .collect()
}

/// Words written on each page.
fn note(written: &mut FxHashMap<u64, u64>, pages: &FxHashMap<u64, Page>) {
    for (&at, page) in pages {
        *written.entry(at).or_default() |= page.words;
    }
}

/// Takes over what a block wrote.
fn apply(pages: FxHashMap<u64, Page>, memory: &mut GlobalMemory) {
    for (at, page) in pages {
        for byte in page.written_bytes() {
            let address = at * PAGE as u64 + byte as u64;
            if let (Some([to]), Some(from)) = (memory.bytes_mut(address, 1), page.bytes.get(byte)) {
                *to = *from;
            }
        }
    }
}

/// Bytes of a page: a bit of a word for each of its words of memory.
const PAGE: usize = 256;

/// A page that a block has written to.
struct Page {
    /// What its block sees, from the address on at which the buffer is.
    bytes: Vec<u8>,
    /// A bit for each byte that was written.
    written: [u64; PAGE / 64],
    /// A bit for each word of which a byte was written.
    words: u64,
    /// The same where all four were.
    whole: u64,
}

impl Page {
    /// Notes that an access writes its bytes.
    fn write(&mut self, byte: usize, size: usize) {
        let (part, first) = (byte / 64, byte % 64);
        if let Some(written) = self.written.get_mut(part) {
            // Accesses do not cross a multiple of their size.
            *written |= (u64::MAX >> (64 - size.clamp(1, 64))) << first;
            let words = words(byte, size);
            let is_whole = *written >> (first & !3) & 15 == 15;
            self.words |= words;
            self.whole |= if is_whole { words } else { 0 };
        }
    }

    fn written_bytes(&self) -> impl Iterator<Item = usize> {
        (0..PAGE).filter(|byte| self.written[byte / 64] >> (byte % 64) & 1 == 1)
    }
}

/// The memory as it was, and what a block has written since.
struct View<'a> {
    memory: &'a GlobalMemory,
    pages: FxHashMap<u64, Page>,
    /// For each page, the words that were read before the block itself had written them.
    read: FxHashMap<u64, u64>,
}

impl<'a> View<'a> {
    fn of(memory: &'a GlobalMemory) -> View<'a> {
        View {
            memory,
            pages: FxHashMap::default(),
            read: FxHashMap::default(),
        }
    }
}

/// The page of an address, and the byte on it.
fn place(address: u64) -> (u64, usize) {
    (address / PAGE as u64, (address % PAGE as u64) as usize)
}

/// The words of an access on its page.
fn words(byte: usize, size: usize) -> u64 {
    (u64::MAX >> (64 - size.div_ceil(4).clamp(1, 64))) << (byte / 4)
}

impl GlobalAccess for View<'_> {
    fn bytes_around(&self, address: u64) -> Option<(u64, &[u8])> {
        let (page, _) = place(address);
        let start = page * PAGE as u64;
        if let Some(own) = self.pages.get(&page) {
            return Some((start, &own.bytes));
        }
        // Only this page: others may have been written.
        let (first, bytes) = self.memory.bytes_around(address)?;
        let from = usize::try_from(start.checked_sub(first)?).ok()?;
        let end = bytes.len().min(from + PAGE);
        Some((start, bytes.get(from..end)?))
    }

    fn record_read(&mut self, address: u64, size: usize) {
        let (page, byte) = place(address);
        let own = self.pages.get(&page).map_or(0, |own| own.whole);
        let words = words(byte, size) & !own;
        if words != 0 {
            *self.read.entry(page).or_default() |= words;
        }
    }

    fn bytes_mut(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let (page, byte) = place(address);
        if !self.pages.contains_key(&page) {
            let (_, bytes) = self.bytes_around(address)?;
            let bytes = bytes.to_vec();
            let fresh = Page {
                bytes,
                written: [0; PAGE / 64],
                words: 0,
                whole: 0,
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
