//! [`Launch`]: a kernel launch with its complete initial state except global memory.

use warpbound_base::{GenericWindow, LaunchBlock, Named};

use crate::gcn::WaveEntry;
use crate::texture::{Surface, Texture};
use crate::window;

/// Threads in x, y and z.
pub type Size = [u32; 3];

/// A launch of a grid of blocks.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Blocks in x, y and z.
    pub grid: Size,
    /// Threads of a block in x, y and z, at most 1024 in all.
    pub block: Size,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared: u32,
    /// Bytes of local memory of a thread.
    pub local: u32,
    /// Constant banks: number, contents.
    pub constants: Vec<(u8, Vec<u8>)>,
    /// Textures; instructions refer to them by handle.
    pub textures: Vec<Texture>,
    /// Surfaces; instructions refer to them by handle.
    pub surfaces: Vec<Surface>,
    /// Limit on the instructions that all warps of the grid issue together.
    pub max_instructions: u64,
    /// Order of the two paths of a divergent branch.
    pub order: PathOrder,
    /// Registers at the start of the waves of an AMD GPU; `None` for other machines.
    pub wave_entry: Option<WaveEntry>,
}

/// Order of the two paths of a divergent branch. Experiments show that the taken path runs first; it is not documented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathOrder {
    /// The taken path runs first.
    #[default]
    TakenFirst,
    /// The fall-through path runs first.
    FallThroughFirst,
}

impl Named for PathOrder {
    const ALL: &'static [(PathOrder, &'static str)] = &[
        (PathOrder::TakenFirst, "taken-first"),
        (PathOrder::FallThroughFirst, "fall-through-first"),
    ];
}

impl Launch {
    /// Returns the index of the block at position `number` of the launch order. For example, position 5 of a grid of
    /// 4 x 2 blocks is the block (1, 1, 0).
    pub fn block_at(&self, number: u64) -> Size {
        let [width, height, _] = self.grid.map(|blocks| u64::from(blocks.max(1)));
        let index = [
            number % width,
            number / width % height,
            number / width / height,
        ];
        // The position is less than the number of blocks, so that each index is less than its size.
        index.map(|index| u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Block indices in launch order: x fastest, then y, then z.
    pub fn blocks(&self) -> impl Iterator<Item = Size> + use<> {
        let [width, height, depth] = self.grid;
        (0..depth)
            .flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
    }
}

/// Words that the driver writes into the launch block of the constants for the windows of the generic address space,
/// with their byte offsets.
pub(crate) fn window_words(block: &LaunchBlock) -> impl Iterator<Item = (u32, u32)> + use<> {
    block.windows().map(|word| {
        let base = match (word.is_high, word.window) {
            // The windows are in the lowest 4 GiB.
            (true, _) => 0,
            (false, GenericWindow::Shared) => window::SHARED,
            (false, GenericWindow::Local) => window::LOCAL,
        };
        (word.at, base)
    })
}
