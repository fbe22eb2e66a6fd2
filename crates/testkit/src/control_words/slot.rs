//! Slots of control words: random ones, and their encoding.

use fastrand::Rng;

/// Number of scoreboards.
pub(super) const SCOREBOARDS: u8 = 6;

/// Scoreboard code that names none.
const NONE: u8 = 7;

/// Scoreboards that an instruction may raise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Raises {
    /// Fixed latency or control flow: none.
    Nothing,
    /// One for the reading of its sources.
    Read,
    /// One for its result as well.
    ReadAndWrite,
}

/// One slot of a control word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// Scheduling code: 0 to 31.
    pub(super) code: u8,
    pub(super) write: Option<u8>,
    pub(super) read: Option<u8>,
    /// Mask of the scoreboards that the instruction waits for.
    pub(super) waits: u8,
    /// Mask of the operands that are kept for the next instruction.
    pub(super) reuse: u8,
}

impl Slot {
    /// Stall of one cycle and nothing else.
    pub(super) const PLAIN: Slot = Slot {
        code: 1,
        write: None,
        read: None,
        waits: 0,
        reuse: 0,
    };

    /// Returns its 21 bits.
    fn bits(self) -> u64 {
        let field = |value: u8, at: u32| u64::from(value) << at;
        field(self.code, 0)
            | field(self.write.unwrap_or(NONE), 5)
            | field(self.read.unwrap_or(NONE), 8)
            | field(self.waits, 11)
            | field(self.reuse, 17)
    }
}

/// Frequencies of a program, in percent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotStyle {
    pairs: u8,
    drains: u8,
    waits: u8,
    raises: u8,
}

impl SlotStyle {
    /// Draws the style of a program.
    pub(super) fn draw(rng: &mut Rng) -> SlotStyle {
        let mut one_of = |choices: [u8; 4]| choices[rng.usize(0..4)];
        SlotStyle {
            pairs: one_of([0, 5, 15, 50]),
            drains: one_of([0, 0, 2, 6]),
            waits: one_of([3, 15, 30, 60]),
            raises: one_of([30, 70, 90, 100]),
        }
    }

    /// Draws a slot.
    pub(super) fn slot(self, raises: Raises, rng: &mut Rng) -> Slot {
        let mut percent = |n: u8| rng.u8(0..100) < n;
        let (drains, pairs) = (percent(self.drains), percent(self.pairs));
        let (waits, is_raised, is_read) = (
            percent(self.waits),
            percent(self.raises),
            percent(self.raises / 2),
        );
        let code = match (drains, pairs) {
            (true, _) => 0,
            (_, true) => 16,
            _ => draw_code(rng),
        };
        let raises_result = raises == Raises::ReadAndWrite;
        Slot {
            code,
            write: (is_raised && raises_result).then(|| rng.u8(0..SCOREBOARDS)),
            read: (is_read && raises != Raises::Nothing).then(|| rng.u8(0..SCOREBOARDS)),
            waits: match waits {
                true if rng.bool() => 1 << rng.u8(0..SCOREBOARDS),
                true => rng.u8(0..1 << SCOREBOARDS),
                false => 0,
            },
            // The flags of instructions of variable latency have another meaning.
            reuse: match raises {
                Raises::Nothing if rng.u8(0..5) == 0 => rng.u8(0..8),
                _ => 0,
            },
        }
    }
}

/// Draws a scheduling code other than 0 and 16, small stall counts more often.
fn draw_code(rng: &mut Rng) -> u8 {
    match rng.u8(0..16) {
        0 => rng.u8(28..32),
        1..=2 => rng.u8(1..16),
        3..=8 => rng.u8(1..4),
        9..=10 => rng.u8(17..28),
        _ => rng.u8(17..20),
    }
}

/// Returns the code of instructions and their slots, filled up with the last one.
pub(super) fn layout(instrs: &[(u64, Slot)], filler: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for group in instrs.chunks(3) {
        let nth = |n: usize| group.get(n).copied().unwrap_or((filler, Slot::PLAIN));
        let slots = (0..3).map(|n| nth(n).1.bits() << (21 * n));
        bytes.extend(slots.fold(0, |word, slot| word | slot).to_le_bytes());
        for n in 0..3 {
            bytes.extend(nth(n).0.to_le_bytes());
        }
    }
    bytes
}
