//! Required distances: the least number of cycles from the issue of an instruction of fixed latency to the issue of an
//! instruction that uses a register of its result.
//!
//! They depend on the class of both instructions, on the kind of the register, and on its use. For
//! example, from Volta on the result of an addition is read by another addition after 4 cycles, but as a guard only
//! after 13. A family brings the classes and the numbers; a combination without a number is not judged.

use warpbound_ir::Cell;
use warpbound_isa::RegisterKind;

/// Class of instructions as producers or users of results: an index into the classes of a [`Distances`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassId(u8);

/// Use of a register that an earlier instruction writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Use {
    /// Reads it as an operand.
    Operand,
    /// Reads it to decide whether it is executed, or where a branch goes on.
    Guard,
    /// Writes it again.
    Overwrite,
}

/// Kind of a register, and its use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegisterUse(u8);

impl RegisterUse {
    /// Names in tables: of each kind as operand, as guard and written again.
    const NAMES: [[&'static str; 3]; 4] = [
        ["R", "@R", "R="],
        ["P", "@P", "P="],
        ["UR", "@UR", "UR="],
        ["UP", "@UP", "UP="],
    ];

    /// Number of kinds and uses.
    const COUNT: usize = 12;

    /// Use of a register.
    pub fn of(cell: Cell, used: Use) -> RegisterUse {
        let kind = match cell.register().kind {
            RegisterKind::Predicate => 1,
            RegisterKind::Uniform => 2,
            RegisterKind::UniformPredicate => 3,
            // The condition code is forwarded as the registers of its instruction are.
            RegisterKind::Vector
            | RegisterKind::Flag
            | RegisterKind::Mask
            | RegisterKind::Scalar => 0,
        };
        RegisterUse(3 * kind + used as u8)
    }

    /// Name in tables.
    pub fn name(self) -> &'static str {
        let all = RegisterUse::NAMES.as_flattened();
        all.get(usize::from(self.0)).copied().unwrap_or_default()
    }

    /// Use with a name.
    pub fn named(name: &str) -> Option<RegisterUse> {
        let mut all = (0..).zip(RegisterUse::NAMES.as_flattened());
        all.find_map(|(at, &known)| (known == name).then_some(RegisterUse(at)))
    }
}

/// Classes of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Classes {
    /// As the producer of a result.
    pub(super) producer: ClassId,
    /// As the producer of the second register of a result.
    pub(super) second: ClassId,
    /// As the user of results.
    pub(super) user: ClassId,
    /// As the user of a result in its third operand only, which a wide product reads later than its factors.
    addend: ClassId,
}

impl Classes {
    /// Classes with names. A class may have parts: `wide.second` and `wide.addend` are parts of `wide`.
    pub(super) fn of(distances: &Distances, producer: &str, user: &str) -> Classes {
        Classes {
            producer: distances.class(producer),
            second: distances.part(producer, "second"),
            user: distances.class(user),
            addend: distances.part(user, "addend"),
        }
    }

    /// Class of the instruction as a reader of a register, with its registers in operand slots.
    pub(super) fn reader(&self, cell: Cell, slots: &[Option<Cell>; 3]) -> ClassId {
        let [first, second, third] = *slots;
        let is_in = |slot: Option<Cell>| {
            // An operand has at most two registers here.
            slot.is_some_and(|slot| slot == cell || slot.index() + 1 == cell.index())
        };
        match is_in(third) && !is_in(first) && !is_in(second) {
            true => self.addend,
            false => self.user,
        }
    }
}

/// Classes of a family, and the required distances between them.
#[derive(Clone, Debug)]
pub struct Distances {
    classes: Vec<&'static str>,
    /// By producer, user and use; `None` is not judged.
    least: Vec<Option<u8>>,
    /// Cycles after which every result of fixed latency is present.
    pub(super) horizon: u8,
    /// Whether a number for registers that are written again is known. Otherwise such uses are left out.
    pub(super) judges_overwrites: bool,
}

impl Distances {
    /// Classes without any required distance.
    pub(super) fn new(names: &[&'static str], horizon: u8) -> Distances {
        let mut classes = vec![Distances::UNLISTED];
        classes.extend(names);
        Distances {
            least: vec![None; classes.len() * classes.len() * RegisterUse::COUNT],
            classes,
            horizon,
            judges_overwrites: false,
        }
    }

    /// Name of the class of all instructions that have no other one. Nothing is required of it.
    pub const UNLISTED: &str = "unlisted";

    /// Class with a name; the class of unlisted instructions if there is none.
    pub fn class(&self, name: &str) -> ClassId {
        let at = self.classes.iter().position(|&class| class == name);
        ClassId(at.unwrap_or(0) as u8)
    }

    /// Part of a class; the class itself if it has no such part.
    fn part(&self, class: &str, part: &str) -> ClassId {
        let is_part = |name: &&str| {
            let rest = name.strip_prefix(class);
            rest.and_then(|rest| rest.strip_prefix('.')) == Some(part)
        };
        match self.classes.iter().position(is_part) {
            Some(at) => ClassId(at as u8),
            None => self.class(class),
        }
    }

    /// Name of a class.
    pub fn name(&self, class: ClassId) -> &'static str {
        let name = self.classes.get(usize::from(class.0));
        name.copied().unwrap_or_default()
    }

    fn index(&self, producer: ClassId, user: ClassId, used: RegisterUse) -> usize {
        let pair = usize::from(producer.0) * self.classes.len() + usize::from(user.0);
        pair * RegisterUse::COUNT + usize::from(used.0)
    }

    /// Sets a required distance.
    pub(super) fn require(
        &mut self,
        producer: ClassId,
        user: ClassId,
        used: RegisterUse,
        cycles: u8,
    ) {
        let at = self.index(producer, user, used);
        // One number is enough: the other combinations then count as not judged.
        self.judges_overwrites |= used.0 % 3 == Use::Overwrite as u8;
        if let Some(least) = self.least.get_mut(at) {
            *least = Some(cycles);
        }
    }

    /// Required distance; `None` is not judged.
    pub fn least(&self, producer: ClassId, user: ClassId, used: RegisterUse) -> Option<u8> {
        let at = self.index(producer, user, used);
        self.least.get(at).copied().flatten()
    }
}
