//! Special registers: values of a thread, its warp or the machine that instructions can only read. For example, `S2R
//! R0, SR_TID.X` writes the x index of the thread.

use std::fmt;

/// Axis of a grid or a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Axis {
    /// First axis, along which threads are numbered first.
    X,
    /// Second axis.
    Y,
    /// Third axis.
    Z,
}

impl Axis {
    /// Number of the axis, 0 to 2.
    pub const fn index(self) -> u8 {
        self as u8
    }
}

/// Special register (PTX manual, "Special Registers"), independent of its number in an instruction set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SpecialReg {
    /// Number of the lane in its warp.
    LaneId,
    /// Index of the thread in its block.
    ThreadIndex(Axis),
    /// Index of the block in the grid.
    BlockIndex(Axis),
    /// Size of the block.
    BlockSize,
    /// Bytes of shared memory of the block.
    SharedSize,
    /// Lowest address of the stack in local memory (SR_LMEMHIOFF). Code for debuggers compares the end of the stack
    /// with it.
    StackLimit,
    /// Number of the block in its cluster (SR_CgaCtaId).
    BlockInCluster,
    /// High word of the window of shared memory in the generic address space (SR_SWINHI).
    SharedWindowHigh,
    /// Mask of the lanes with the same number as this one.
    LanesEqual,
    /// Mask of the lanes with a lower number.
    LanesBelow,
    /// Mask of the lanes with a lower number or the same.
    LanesUpTo,
    /// Mask of the lanes with a higher number.
    LanesAbove,
    /// Mask of the lanes with a higher number or the same.
    LanesFrom,
    /// Configuration word with the number of SMs in bits 28:20 (SR_VIRTCFG).
    VirtualConfig,
    /// Index of the SM in bits 28:20 and of the warp slot in bits 14:8 (SR_VIRTID).
    VirtualId,
    /// Low word of the clock, in cycles.
    ClockLow,
    /// High word of the clock.
    ClockHigh,
    /// Low word of the global timer, in nanoseconds.
    TimerLow,
    /// High word of the global timer.
    TimerHigh,
    /// Any other, by its number in the instruction set.
    Other(u8),
}

/// Special registers with their names in IR text and in NVIDIA's disassembler.
const NAMES: [(SpecialReg, &str, &str); 23] = [
    (SpecialReg::LaneId, "lane", "SR_LANEID"),
    (SpecialReg::ThreadIndex(Axis::X), "thread_x", "SR_TID.X"),
    (SpecialReg::ThreadIndex(Axis::Y), "thread_y", "SR_TID.Y"),
    (SpecialReg::ThreadIndex(Axis::Z), "thread_z", "SR_TID.Z"),
    (SpecialReg::BlockIndex(Axis::X), "block_x", "SR_CTAID.X"),
    (SpecialReg::BlockIndex(Axis::Y), "block_y", "SR_CTAID.Y"),
    (SpecialReg::BlockIndex(Axis::Z), "block_z", "SR_CTAID.Z"),
    (SpecialReg::BlockSize, "block_size", "SR_NTID"),
    (SpecialReg::SharedSize, "shared_size", "SR_SMEMSZ"),
    (SpecialReg::StackLimit, "stack_limit", "SR_LMEMHIOFF"),
    (
        SpecialReg::BlockInCluster,
        "block_in_cluster",
        "SR_CgaCtaId",
    ),
    (
        SpecialReg::SharedWindowHigh,
        "shared_window_high",
        "SR_SWINHI",
    ),
    (SpecialReg::LanesEqual, "lanes_equal", "SR_EQMASK"),
    (SpecialReg::LanesBelow, "lanes_below", "SR_LTMASK"),
    (SpecialReg::LanesUpTo, "lanes_up_to", "SR_LEMASK"),
    (SpecialReg::LanesAbove, "lanes_above", "SR_GTMASK"),
    (SpecialReg::LanesFrom, "lanes_from", "SR_GEMASK"),
    (SpecialReg::VirtualConfig, "virtual_config", "SR_VIRTCFG"),
    (SpecialReg::VirtualId, "virtual_id", "SR_VIRTID"),
    (SpecialReg::ClockLow, "clock_low", "SR_CLOCKLO"),
    (SpecialReg::ClockHigh, "clock_high", "SR_CLOCKHI"),
    (SpecialReg::TimerLow, "timer_low", "SR_GLOBALTIMERLO"),
    (SpecialReg::TimerHigh, "timer_high", "SR_GLOBALTIMERHI"),
];

impl SpecialReg {
    /// Whether lanes of one warp may read different numbers.
    pub fn differs_between_lanes(self) -> bool {
        matches!(
            self,
            SpecialReg::LaneId
                | SpecialReg::ThreadIndex(_)
                | SpecialReg::LanesEqual
                | SpecialReg::LanesBelow
                | SpecialReg::LanesUpTo
                | SpecialReg::LanesAbove
                | SpecialReg::LanesFrom
        )
    }

    /// Special register that NVIDIA's disassembler prints as `name`, with the number of its encoding.
    pub(crate) fn of_mnemonic(name: &str, number: u8) -> SpecialReg {
        let found = NAMES.iter().find(|(_, _, mnemonic)| *mnemonic == name);
        // A special register without a meaning here keeps its number, so that different ones stay different.
        found.map_or(SpecialReg::Other(number), |(register, ..)| *register)
    }

    /// Name in NVIDIA's disassembler; `None` for [`SpecialReg::Other`].
    pub(crate) fn mnemonic(self) -> Option<&'static str> {
        let found = NAMES.iter().find(|(register, ..)| *register == self);
        found.map(|(_, _, mnemonic)| *mnemonic)
    }

    /// Special register with a name as it is printed: `thread_x`, and a number for [`SpecialReg::Other`].
    pub fn named(name: &str) -> Option<SpecialReg> {
        let found = NAMES.iter().find(|(_, known, _)| *known == name);
        match found {
            Some((register, ..)) => Some(*register),
            // `parse` alone would also accept a sign.
            None if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                name.parse().ok().map(SpecialReg::Other)
            }
            None => None,
        }
    }
}

impl fmt::Display for SpecialReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let SpecialReg::Other(number) = self {
            return write!(f, "{number}");
        }
        let found = NAMES.iter().find(|(register, ..)| register == self);
        // Every register apart from `Other` is in the list, so the default is never printed.
        f.write_str(found.map_or("", |(_, name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed() {
        let others = (0..=255).map(SpecialReg::Other);
        for register in NAMES.iter().map(|(register, ..)| *register).chain(others) {
            assert_eq!(SpecialReg::named(&register.to_string()), Some(register));
        }
        for name in ["", "256", "+1", "thread"] {
            assert_eq!(SpecialReg::named(name), None, "{name}");
        }
    }
}
