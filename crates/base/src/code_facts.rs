//! Facts about the code and the constants of a family that follow from its hardware and its compilers, not from one
//! machine: groups with control words, constant banks, and what a launch writes into them.
//!
//! For example, `c[0x0][0x8]` is `blockDim.x` in each kernel of NVIDIA GPUs with 64-bit instruction words.

use crate::Sm;

/// Layout of code in groups, each of which begins with a control word. The control word says, for each instruction
/// of the group, when the next one may issue and which scoreboards it waits for and releases (maxas, "Control Codes").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupedCode {
    /// Bytes of the control word, and of each instruction.
    pub word_bytes: u32,
    /// Instructions of a group, which are as many as the slots of its control word.
    pub slots: u32,
    /// Scoreboards of a warp. A control word may state higher numbers, which name none.
    pub scoreboards: u8,
    /// Operands of an instruction whose registers may stay in the operand reuse cache.
    pub reuse_slots: usize,
}

impl GroupedCode {
    /// Bytes of a group.
    pub const fn group_bytes(&self) -> u32 {
        self.word_bytes * (1 + self.slots)
    }

    /// Position of the instruction at an address, counted without control words. The address of a control word stands
    /// for the first instruction of its group. `None` inside a word. For example, 0x20 and 0x28 are position 3.
    pub const fn position(&self, at: u32) -> Option<u32> {
        if !at.is_multiple_of(self.word_bytes) {
            return None;
        }
        let (group, word) = (
            at / self.group_bytes(),
            at % self.group_bytes() / self.word_bytes,
        );
        Some(group * self.slots + word.saturating_sub(1))
    }

    /// Address of the instruction at a position, for example 0x8 for position 0 and 0x28 for position 3.
    pub const fn address(&self, position: u32) -> u32 {
        let (group, slot) = (position / self.slots, position % self.slots);
        group * self.group_bytes() + (1 + slot) * self.word_bytes
    }

    /// Mask of all scoreboards, bit 0 for the first one.
    pub const fn all_scoreboards(&self) -> u8 {
        // At most eight scoreboards have a bit; the minimum keeps the shift below the width of the number.
        let count = if self.scoreboards < 8 {
            self.scoreboards
        } else {
            8
        };
        ((1u16 << count) - 1) as u8
    }

    /// Returns the number that a control word states if it names a scoreboard.
    pub fn scoreboard(&self, number: Option<u8>) -> Option<u8> {
        number.filter(|&number| number < self.scoreboards)
    }
}

/// Constant banks of a family, by number, and the words that the driver writes into the first of them at a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstantBanks {
    /// Launch block with the parameters. A file may state another bank for a kernel.
    pub launch: u8,
    /// Literals and jump tables of the compiler: the only bank that host programs never write.
    pub literals: u8,
    /// Variables of the module in constant memory; the banks from here on belong to the module.
    pub variables: u8,
    /// Addresses of variables and of functions outside the file.
    pub addresses: u8,
}

/// Byte offsets of the words in the launch block (experiments with the compiler's output).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchBlock {
    /// Threads of a block in x, y and z, a word each.
    pub block_size: u32,
    /// Blocks of the grid in x, y and z, a word each.
    pub grid_size: u32,
    /// Top of the local stack.
    pub stack: u32,
    /// Base of the window of shared memory in the generic address space: low and high word. From Hopper on it is in a
    /// special register.
    pub shared_window: Option<[u32; 2]>,
    /// Base of the window of local memory: low and high word.
    pub local_window: [u32; 2],
}

/// Window of the generic address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GenericWindow {
    /// Shared memory of the block.
    Shared,
    /// Local memory of the thread.
    Local,
}

/// Word of the launch block with half of the address of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowWord {
    /// The window.
    pub window: GenericWindow,
    /// Whether it is the high half.
    pub is_high: bool,
    /// Byte offset.
    pub at: u32,
}

impl LaunchBlock {
    /// Layout for an architecture (experiments with compilers).
    ///
    /// For example, `blockDim.x` is word 0x8 on Pascal, 0x0 on Turing and 0x360 on Blackwell.
    pub(crate) fn of(sm: Sm) -> &'static LaunchBlock {
        match sm.number {
            ..70 => LaunchBlock::OF_GROUPED_CODE,
            70..90 => LaunchBlock::OF_TURING,
            90..100 => LaunchBlock::OF_HOPPER,
            100.. => LaunchBlock::OF_BLACKWELL,
        }
    }

    /// Layout for Turing to Ada.
    const OF_TURING: &LaunchBlock = &LaunchBlock {
        block_size: 0x0,
        grid_size: 0xc,
        stack: 0x28,
        shared_window: Some([0x18, 0x1c]),
        local_window: [0x20, 0x24],
    };

    /// Layout for Hopper.
    const OF_HOPPER: &LaunchBlock = &LaunchBlock {
        shared_window: None,
        ..*LaunchBlock::OF_TURING
    };

    /// Layout for Blackwell.
    const OF_BLACKWELL: &LaunchBlock = &LaunchBlock {
        block_size: 0x360,
        grid_size: 0x370,
        stack: 0x37c,
        shared_window: None,
        local_window: [0x2f8, 0x2fc],
    };

    /// Layout for Maxwell and Pascal.
    pub const OF_GROUPED_CODE: &LaunchBlock = &LaunchBlock {
        block_size: 0x8,
        grid_size: 0x14,
        stack: 0x20,
        shared_window: Some([0x0, 0x100]),
        local_window: [0x4, 0x104],
    };

    /// Bytes of three words in x, y and z.
    const SIZE_BYTES: u32 = 12;

    /// Bytes with a size of the block or the grid. For example, byte 9 is a part of `blockDim.x` at offset 8.
    pub const fn is_size(&self, at: u32) -> bool {
        at.wrapping_sub(self.block_size) < LaunchBlock::SIZE_BYTES
            || at.wrapping_sub(self.grid_size) < LaunchBlock::SIZE_BYTES
    }

    /// Byte ranges with the sizes of the block and of the grid.
    pub fn sizes(&self) -> [std::ops::Range<u32>; 2] {
        [self.block_size, self.grid_size].map(|first| first..first + LaunchBlock::SIZE_BYTES)
    }

    /// Byte offsets of the low words of the windows, and of the high words: of shared memory, if it is there, and of
    /// local memory.
    pub fn windows(&self) -> impl Iterator<Item = WindowWord> + use<> {
        let word = |window, at: [u32; 2]| {
            [false, true].map(|is_high| WindowWord {
                window,
                is_high,
                at: at[usize::from(is_high)],
            })
        };
        let shared = self.shared_window.map(|at| word(GenericWindow::Shared, at));
        let local = word(GenericWindow::Local, self.local_window);
        shared.into_iter().flatten().chain(local)
    }
}
