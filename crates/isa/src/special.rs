//! Special registers: values of a thread, its warp or the machine that instructions can only read.

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

/// Special register (PTX manual, "Special Registers"), whatever its number in an instruction set is.
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
    /// Number of SMs in bits 28:20 (SR_VIRTCFG).
    VirtualConfig,
    /// Index of the SM in bits 28:20, of the warp's slot in bits 14:8 (SR_VIRTID).
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

impl SpecialReg {
    /// Special register that NVIDIA's disassembler prints as `name`, with the number of its encoding.
    pub(crate) fn of_name(name: &str, number: u8) -> SpecialReg {
        match name {
            "SR_LANEID" => SpecialReg::LaneId,
            "SR_TID.X" => SpecialReg::ThreadIndex(Axis::X),
            "SR_TID.Y" => SpecialReg::ThreadIndex(Axis::Y),
            "SR_TID.Z" => SpecialReg::ThreadIndex(Axis::Z),
            "SR_CTAID.X" => SpecialReg::BlockIndex(Axis::X),
            "SR_CTAID.Y" => SpecialReg::BlockIndex(Axis::Y),
            "SR_CTAID.Z" => SpecialReg::BlockIndex(Axis::Z),
            "SR_NTID" => SpecialReg::BlockSize,
            "SR_SMEMSZ" => SpecialReg::SharedSize,
            "SR_EQMASK" => SpecialReg::LanesEqual,
            "SR_LTMASK" => SpecialReg::LanesBelow,
            "SR_LEMASK" => SpecialReg::LanesUpTo,
            "SR_GTMASK" => SpecialReg::LanesAbove,
            "SR_GEMASK" => SpecialReg::LanesFrom,
            "SR_VIRTCFG" => SpecialReg::VirtualConfig,
            "SR_VIRTID" => SpecialReg::VirtualId,
            "SR_CLOCKLO" => SpecialReg::ClockLow,
            "SR_CLOCKHI" => SpecialReg::ClockHigh,
            "SR_GLOBALTIMERLO" => SpecialReg::TimerLow,
            "SR_GLOBALTIMERHI" => SpecialReg::TimerHigh,
            _ => SpecialReg::Other(number),
        }
    }
}
