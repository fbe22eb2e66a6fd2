//! Waves of 64 lanes on AMD's machines: programs as text, launched with state of their own.

use std::num::NonZero;

use warpbound_base::Family;
use warpbound_ir::text;
use warpbound_launch::gcn::aperture;
use warpbound_launch::{PathOrder, WaveEntry};
use warpbound_load::GcnDescriptor;

use super::*;

mod extents;
mod memories;
mod splits;

/// A launch of a program in text; its buffers.
pub(super) struct WaveRun {
    code: Code,
    launch: Launch,
    memory: GlobalMemory,
}

impl WaveRun {
    /// A program for blocks of threads along x. The user SGPRs are the address of the buffer `out`, of `words` words,
    /// in s0 and s1; s2 is the index of the block.
    pub(super) fn new(program: &str, threads: u32, words: usize) -> WaveRun {
        WaveRun::with_scratch(program, threads, words, 0)
    }

    /// The same with bytes of scratch for each lane: its descriptor is in s0 to s3, s4 and s5 have the address of
    /// `out`, s6 and s7 the start of FLAT_SCRATCH, s8 the index of the block and s9 the offset of the scratch of the
    /// wave.
    pub(super) fn with_scratch(program: &str, threads: u32, words: usize, scratch: u32) -> WaveRun {
        let mut code = text::parse("test", program).expect("a program");
        code.family = Family::Gcn3;
        let mut memory = GlobalMemory::default();
        let out = memory.add("out", vec![0; 4 * words]);
        let address = [out as u32, (out >> 32) as u32];
        let (user, descriptor) = match scratch {
            0 => (
                address.to_vec(),
                GcnDescriptor {
                    // Two user SGPRs, the block along x, the index along x.
                    rsrc2: 2 << 1 | 1 << 7,
                    ..GcnDescriptor::default()
                },
            ),
            _ => {
                let base = aperture::SCRATCH;
                // The window of scratch has all waves of the block.
                let bytes = threads.div_ceil(64) * 64 * scratch;
                // As a launch binds it: swizzled, with elements of 4 bytes and the lane added to the index.
                let mut user = vec![base as u32, (base >> 32) as u32 | 1 << 31, bytes, 0xe8_0000];
                user.extend(address);
                user.extend([0, scratch]);
                let descriptor = GcnDescriptor {
                    // Eight user SGPRs, the block along x, and the offset of the wave's scratch.
                    rsrc2: 8 << 1 | 1 << 7 | 1,
                    properties: GcnDescriptor::PRIVATE_BUFFER | GcnDescriptor::FLAT_SCRATCH,
                    ..GcnDescriptor::default()
                };
                (user, descriptor)
            }
        };
        let (grid, block) = ([1, 1, 1], [threads, 1, 1]);
        let entry = WaveEntry::new(descriptor, [block, grid], user, scratch, 0x1000);
        WaveRun {
            code,
            launch: Launch {
                grid,
                block,
                shared: 0,
                local: scratch,
                constants: Vec::new(),
                textures: Vec::new(),
                surfaces: Vec::new(),
                max_instructions: 1 << 20,
                order: PathOrder::TakenFirst,
                wave_entry: Some(entry),
            },
            memory,
        }
    }

    /// Sets the number of blocks.
    pub(super) fn blocks(mut self, blocks: u32) -> WaveRun {
        self.launch.grid[0] = blocks;
        self
    }

    /// Sets the bytes of shared memory.
    pub(super) fn shared(mut self, bytes: u32) -> WaveRun {
        self.launch.shared = bytes;
        self
    }

    /// Runs the launch, once on one host thread and once on three; the results are the same.
    pub(super) fn run(self) -> Result<WaveResult, Fault> {
        let WaveRun {
            code,
            launch,
            mut memory,
        } = self;
        let mut again = memory.clone();
        let mut check = MaskCheck;
        let counts = launch_waves(&code, &launch, &mut memory, &mut check);
        let threads = NonZero::new(3).expect("not 0");
        let in_parallel = launch_parallel(&code, &launch, &mut again, threads, &mut |_| ());
        assert_eq!(counts, in_parallel);
        let counts = counts?;
        assert_eq!(memory, again);
        Ok(WaveResult { counts, memory })
    }

    /// Words of `out` at the end.
    pub(super) fn words(self) -> Vec<u32> {
        self.run().expect("no fault").words()
    }
}

/// Result of a launch.
#[derive(Debug)]
pub(super) struct WaveResult {
    pub(super) counts: Counts,
    memory: GlobalMemory,
}

impl WaveResult {
    /// Words of `out`.
    pub(super) fn words(&self) -> Vec<u32> {
        let words = self.memory.buffers()[0].bytes.as_chunks::<4>().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    }
}

/// Listener that compares the words of EXEC with the active lanes.
struct MaskCheck;

impl ExecutionListener<WaveModel> for MaskCheck {
    fn issue(&mut self, issue: &Issue<'_, WaveModel>) -> bool {
        let [low, high] = warpbound_ir::Cell::EXEC_WORDS.map(|word| issue.cell(word).get(0));
        assert_eq!(
            u64::from(low) | u64::from(high) << 32,
            issue.active,
            "{}",
            issue.at.0
        );
        assert_eq!(issue.model().active(), issue.active);
        true
    }
}
