//! Effects of operations on known and unknown values.

use smallvec::{SmallVec, smallvec};
use warpbound_ir::float::FloatOp;
use warpbound_ir::{
    Address, BinaryOp, Cell, Expr, Meaning, Op, ShuffleMode, TernaryOp, UnaryOp, ValueDomain,
    VoteMode, WarpReduction, Width, WordHalf,
};
use warpbound_isa::SpecialReg;
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::lanes_of;

use super::decisive_cells::DecisiveCells;
use super::launch::{GlobalContents, LaunchValues, ShapedWarp};
use super::row::{LANES, LaneRow, ValueOrigin};

/// Active lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveLanes {
    /// The lanes.
    pub(crate) mask: u32,
    /// Whether they are certainly there.
    pub(crate) are_certain: bool,
    /// Whether no other lanes may execute the operation together with them: groups that a GPU may join are not one.
    pub(crate) are_group: bool,
}

impl ActiveLanes {
    /// Lanes that are certainly there, and no others.
    pub(crate) fn exactly(mask: u32) -> ActiveLanes {
        ActiveLanes {
            mask,
            are_certain: true,
            are_group: true,
        }
    }
}

/// Lanes that execute an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpLanes {
    /// Active lanes where its condition holds.
    pub(crate) certain: u32,
    /// Active lanes where the condition is unknown.
    pub(crate) possible: u32,
    /// Active lanes.
    pub(crate) active: ActiveLanes,
}

impl OpLanes {
    /// Whether any lane may execute the operation.
    pub(crate) fn any(self) -> bool {
        self.certain | self.possible != 0
    }

    /// Lanes that may execute the operation.
    pub(crate) fn all(self) -> u32 {
        self.certain | self.possible
    }

    /// Lanes that execute the operation for certain.
    pub(super) fn present(self) -> u32 {
        match self.active.are_certain {
            true => self.certain,
            false => 0,
        }
    }

    /// Whether exactly the certain lanes execute the operation.
    fn are_exact(self) -> bool {
        self.active.are_certain && self.active.are_group && self.possible == 0
    }
}

/// Domain of the values of a warp.
pub(crate) struct RowDomain<'d, 'a> {
    pub(crate) values: &'d LaunchValues<'a>,
    pub(crate) cells: &'d DecisiveCells,
    pub(crate) warp: &'d ShapedWarp,
    pub(crate) rows: &'d [LaneRow],
}

impl ValueDomain for RowDomain<'_, '_> {
    type Value = LaneRow;

    fn unknown(&mut self) -> Option<LaneRow> {
        Some(LaneRow::UNKNOWN)
    }

    fn constant(&mut self, value: u32) -> Option<LaneRow> {
        Some(LaneRow::splat(value, ValueOrigin::NONE))
    }

    fn cell(&mut self, cell: Cell) -> Option<LaneRow> {
        let row = self.cells.position(cell).and_then(|at| self.rows.get(at));
        Some(row.copied().unwrap_or(LaneRow::UNKNOWN))
    }

    fn constant_word(&mut self, bank: u8, address: LaneRow) -> Option<LaneRow> {
        let word = |address: u32| (self.values.constant)(bank, address);
        let mut row = LaneRow::unknown_from(address.origin);
        if let Some(address) = address.uniform_word() {
            return Some(match word(address) {
                Some(found) => LaneRow::splat_constant(found, row.origin.with(found.origin())),
                None => row,
            });
        }
        for lane in 0..LANES {
            if let Some(found) = address.word(lane).and_then(word) {
                row.set_constant(lane, found);
                row.origin = row.origin.with(found.origin());
            }
        }
        Some(row)
    }

    fn special(&mut self, register: SpecialReg) -> Option<LaneRow> {
        let by_lane = |word: fn(u32) -> u32| {
            LaneRow::of_lanes(
                std::array::from_fn(|lane| word(lane as u32)),
                ValueOrigin::NONE,
            )
        };
        Some(match register {
            SpecialReg::LaneId => by_lane(|lane| lane),
            SpecialReg::ThreadIndex(axis) => self.warp.threads[usize::from(axis.index())],
            SpecialReg::BlockIndex(axis) => {
                let axis = usize::from(axis.index());
                LaneRow::splat(self.warp.block[axis], ValueOrigin::BLOCK[axis])
            }
            // Launches have no clusters.
            SpecialReg::BlockInCluster => LaneRow::splat(0, ValueOrigin::NONE),
            SpecialReg::LanesEqual => by_lane(|lane| 1 << lane),
            SpecialReg::LanesBelow => by_lane(|lane| !(u32::MAX << lane)),
            SpecialReg::LanesFrom => by_lane(|lane| u32::MAX << lane),
            // Two shifts, because a shift of a word by 32 bits overflows.
            SpecialReg::LanesUpTo => by_lane(|lane| !(u32::MAX << lane << 1)),
            SpecialReg::LanesAbove => by_lane(|lane| u32::MAX << lane << 1),
            // Clocks and numbers of the machine do not follow from the launch.
            _ => LaneRow::UNKNOWN,
        })
    }

    fn unary(&mut self, op: UnaryOp, a: LaneRow) -> Option<LaneRow> {
        Some(LaneRow::unary(op, &a))
    }

    fn binary(&mut self, op: BinaryOp, a: LaneRow, b: LaneRow) -> Option<LaneRow> {
        Some(LaneRow::binary(op, &a, &b))
    }

    fn ternary(&mut self, op: TernaryOp, [a, b, c]: [LaneRow; 3]) -> Option<LaneRow> {
        Some(LaneRow::ternary(op, [&a, &b, &c]))
    }

    fn float(&mut self, op: FloatOp, words: &[LaneRow], half: WordHalf) -> Option<LaneRow> {
        Some(LaneRow::float(op, words, half))
    }
}

/// Cells with the values that an operation writes to them; other cells that it writes are unknown.
pub(crate) type Results = SmallVec<[(Cell, LaneRow); 2]>;

/// The values that an operation writes, if `lanes` execute it.
pub(crate) fn results(
    meaning: &Meaning,
    lanes: OpLanes,
    contents: Option<&dyn GlobalContents>,
    evaluate: impl Fn(&Expr) -> LaneRow,
) -> Results {
    match meaning {
        Meaning::Set(writes) => {
            let values = writes.iter().map(|(cell, value)| (*cell, evaluate(value)));
            values.collect()
        }
        Meaning::Shuffle {
            dest,
            in_range,
            mode,
            value,
            lane,
            limit,
        } => {
            let operands = [value, lane, limit].map(evaluate);
            let (result, is_in_range) = shuffle(*mode, &operands, lanes);
            let pairs = [(*dest, result), (*in_range, is_in_range)];
            let pairs = pairs.into_iter();
            pairs.filter_map(|(dest, row)| Some((dest?, row))).collect()
        }
        Meaning::Vote {
            ballot,
            result,
            mode,
            predicate,
        } => {
            let predicate = evaluate(predicate);
            let pairs = [
                (*ballot, ballot_of(&predicate, lanes)),
                (*result, vote(*mode, &predicate, lanes)),
            ];
            let pairs = pairs.into_iter();
            pairs.filter_map(|(dest, row)| Some((dest?, row))).collect()
        }
        Meaning::Reduce { dest, op, value } => {
            let result = reduction(*op, &evaluate(value), lanes);
            dest.iter().map(|&dest| (dest, result)).collect()
        }
        Meaning::Load {
            dests,
            width,
            space: MemorySpace::Global | MemorySpace::Generic,
            address,
        } => match contents {
            Some(contents) if address.is_plain() => {
                load(dests, *width, address, lanes, contents, evaluate)
            }
            _ => SmallVec::new(),
        },
        _ => SmallVec::new(),
    }
}

/// Exchange of values between lanes. The value of a lane that may not take part is unknown.
fn shuffle(mode: ShuffleMode, operands: &[LaneRow; 3], lanes: OpLanes) -> (LaneRow, LaneRow) {
    let [value, lane, limit] = operands;
    let origin = value.origin.with(lane.origin).with(limit.origin);
    let mut result = LaneRow::unknown_from(origin);
    let mut is_in_range = LaneRow::unknown_from(lane.origin.with(limit.origin));
    for own in 0..LANES {
        let (Some(selected), Some(limit)) = (lane.word(own), limit.word(own)) else {
            continue;
        };
        let (source, reached) = mode.source(own as u32, selected, limit);
        is_in_range.set(own, reached.into());
        let source = source as usize % LANES;
        // A lane that may be missing leaves the result unknown; the lane itself is there whenever the result matters.
        let is_present = source == own || lanes.present() >> source & 1 == 1;
        if let (true, Some(word)) = (is_present, value.word(source)) {
            result.set(own, word);
        }
    }
    (result, is_in_range)
}

/// Mask of the lanes where a predicate holds.
fn ballot_of(predicate: &LaneRow, lanes: OpLanes) -> LaneRow {
    let voters = lanes.certain;
    // One lane that may be missing, or whose predicate is unknown, leaves a bit of the mask unknown.
    if !lanes.are_exact() || voters & !predicate.known() != 0 {
        return LaneRow::unknown_from(predicate.origin);
    }
    LaneRow::splat(voters & predicate.known_true(), predicate.origin)
}

/// Vote over a predicate. At least one lane takes part, because the operation has no effect otherwise.
fn vote(mode: VoteMode, predicate: &LaneRow, lanes: OpLanes) -> LaneRow {
    let all = lanes.all();
    let (holds, fails) = (predicate.known_true(), predicate.known_false());
    // These hold with any part of the lanes that may vote.
    let everywhere = lanes.active.are_group && all & !holds == 0;
    let nowhere = lanes.active.are_group && all & !fails == 0;
    // One voter that is certainly there, with a known predicate, can decide the vote whatever the others do.
    let some_hold = lanes.present() & holds != 0;
    let some_fail = lanes.present() & fails != 0;
    let (is_true, is_false) = match mode {
        VoteMode::All => (everywhere, nowhere || some_fail),
        VoteMode::Any => (everywhere || some_hold, nowhere),
        VoteMode::Same => (everywhere || nowhere, some_hold && some_fail),
    };
    match (is_true, is_false) {
        (true, _) => LaneRow::splat(1, predicate.origin),
        (_, true) => LaneRow::splat(0, predicate.origin),
        _ => LaneRow::unknown_from(predicate.origin),
    }
}

/// Reduction of a value over the lanes. At least one lane takes part, because the operation has no effect otherwise.
fn reduction(op: WarpReduction, value: &LaneRow, lanes: OpLanes) -> LaneRow {
    let unknown = LaneRow::unknown_from(value.origin);
    let words = lanes_of(lanes.all().into()).map(|lane| value.word(lane));
    let words: Option<SmallVec<[u32; LANES]>> = words.collect();
    let Some(words) = words.filter(|_| lanes.active.are_group) else {
        return unknown;
    };
    let Some((&first, others)) = words.split_first() else {
        return unknown;
    };
    let all_agree = others.iter().all(|word| *word == first);
    let result = match op {
        // Any part of the lanes has the same result.
        WarpReduction::First
        | WarpReduction::MinUnsigned
        | WarpReduction::MaxUnsigned
        | WarpReduction::MinSigned
        | WarpReduction::MaxSigned
        | WarpReduction::And
        | WarpReduction::Or
            if all_agree =>
        {
            Some(first)
        }
        // Which lane is the first is an experiment's result, so it decides nothing.
        WarpReduction::First => None,
        _ if lanes.are_exact() => Some(
            others
                .iter()
                .fold(first, |sum, &word| op.combine(sum, word)),
        ),
        _ => None,
    };
    result.map_or(unknown, |word| LaneRow::splat(word, value.origin))
}

/// Addresses of an access in each lane.
pub(crate) struct AccessRow {
    low: LaneRow,
    high: LaneRow,
    /// Bytes from the address on.
    pub(crate) bytes: u64,
    /// Properties of the launch from which the addresses follow.
    pub(crate) origin: ValueOrigin,
}

impl AccessRow {
    /// Addresses of a single word.
    pub(super) fn of_word(low: LaneRow) -> AccessRow {
        AccessRow {
            bytes: 0,
            origin: low.origin,
            low,
            high: LaneRow::splat(0, ValueOrigin::NONE),
        }
    }

    pub(super) fn new(
        address: &Address,
        bytes: u64,
        evaluate: impl Fn(&Expr) -> LaneRow,
    ) -> AccessRow {
        let low = evaluate(&address.low);
        let high = match &address.high {
            Some(high) => evaluate(high),
            None => LaneRow::splat(0, ValueOrigin::NONE),
        };
        AccessRow {
            bytes,
            origin: low.origin.with(high.origin),
            low,
            high,
        }
    }

    /// The address in a lane, if it is known.
    pub(crate) fn address(&self, lane: usize) -> Option<u64> {
        let (low, high) = (self.low.word(lane)?, self.high.word(lane)?);
        Some(u64::from(high) << 32 | u64::from(low))
    }
}

/// The addresses in global memory that an operation writes; `None` if nothing is known of them.
pub(crate) fn written_addresses(op: &Op, evaluate: impl Fn(&Expr) -> LaneRow) -> Option<AccessRow> {
    match &op.meaning {
        Some(Meaning::Store {
            values,
            width,
            address,
            ..
        }) => {
            let bytes = word_bytes(*width) * values.len() as u64;
            Some(AccessRow::new(address, bytes, evaluate))
        }
        Some(Meaning::Atomic { kind, address, .. }) => {
            Some(AccessRow::new(address, kind.size() as u64, evaluate))
        }
        _ => None,
    }
}

/// Bytes of memory for one cell.
fn word_bytes(width: Width) -> u64 {
    match width {
        Width::U8 | Width::S8 => 1,
        Width::U16 | Width::S16 => 2,
        Width::Words => 4,
    }
}

/// Load of contents that the launch gives.
fn load(
    dests: &[Option<Cell>],
    width: Width,
    address: &Address,
    lanes: OpLanes,
    contents: &dyn GlobalContents,
    evaluate: impl Fn(&Expr) -> LaneRow,
) -> Results {
    let bytes = word_bytes(width);
    let access = AccessRow::new(address, bytes, evaluate);
    let origin = access.origin.with(ValueOrigin::CONTENTS);
    let mut results: Results = smallvec![];
    for (number, dest) in (0u64..).zip(dests) {
        let Some(dest) = dest else { continue };
        let mut row = LaneRow::unknown_from(origin);
        for lane in lanes_of(lanes.all().into()) {
            let start = access.address(lane);
            let start = start.and_then(|start| start.checked_add(number * bytes));
            if let Some(word) = start.and_then(|start| load_word(contents, start, width)) {
                row.set(lane, word);
                // The buffer is at an address that another run may choose otherwise, however the load found it.
                row.origin = row.origin.with(ValueOrigin::ADDRESS);
            }
        }
        results.push((*dest, row));
    }
    results
}

/// Word at an address, extended to 32 bits; `None` if a byte of it is unknown.
fn load_word(contents: &dyn GlobalContents, start: u64, width: Width) -> Option<u32> {
    let mut word = 0;
    for number in (0..word_bytes(width)).rev() {
        let byte = contents.byte(start.checked_add(number)?)?;
        word = word << 8 | u32::from(byte);
    }
    Some(match width {
        Width::S8 => UnaryOp::SignExtend8.apply(word),
        Width::S16 => UnaryOp::SignExtend16.apply(word),
        Width::U8 | Width::U16 | Width::Words => word,
    })
}
