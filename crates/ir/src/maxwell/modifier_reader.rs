//! Reading of the modifiers of an instruction, one after the other. For example, for `.FTZ.RM.SAT` a caller reads the
//! flush, the rounding and `.SAT`, then calls `finish`, which fails if a modifier is left.

use warpbound_isa::nvidia::{Modifier, Modifier as M};

use crate::float::{Comparison, Flush, Rounding, single};

/// Reader of the modifiers of an instruction, in the order of printing.
pub(crate) struct ModifierReader<'m> {
    rest: &'m [Modifier],
}

impl<'m> ModifierReader<'m> {
    pub(crate) fn of(rest: &'m [Modifier]) -> ModifierReader<'m> {
        ModifierReader { rest }
    }

    /// Modifiers that have not been taken.
    pub(crate) fn rest(&self) -> &'m [Modifier] {
        self.rest
    }

    /// Takes the next modifier.
    pub(crate) fn next(&mut self) -> Option<Modifier> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Takes the next modifier if it is `modifier`; returns whether it was.
    pub(crate) fn take(&mut self, modifier: Modifier) -> bool {
        let is = self.rest.first() == Some(&modifier);
        if is {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        is
    }

    /// Fails unless all modifiers have been taken.
    pub(crate) fn finish(&self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }

    /// Takes the next modifier if it is one of several and returns its value; else returns `otherwise`.
    fn one_of<T: Copy>(&mut self, values: &[(Modifier, T)], otherwise: T) -> T {
        for &(modifier, value) in values {
            if self.take(modifier) {
                return value;
            }
        }
        otherwise
    }

    pub(crate) fn flush(&mut self) -> Flush {
        let names = [(M::Ftz, Flush::Ftz), (M::Fmz, Flush::Fmz)];
        self.one_of(&names, Flush::Keep)
    }

    pub(crate) fn rounding(&mut self) -> Rounding {
        let names = [
            (M::Rm, Rounding::Down),
            (M::Rp, Rounding::Up),
            (M::Rz, Rounding::Zero),
        ];
        self.one_of(&names, Rounding::Nearest)
    }

    pub(crate) fn scale(&mut self) -> single::Scale {
        use single::Scale;
        let names = [
            (M::D2, Scale::D2),
            (M::D4, Scale::D4),
            (M::D8, Scale::D8),
            (M::M2, Scale::M2),
            (M::M4, Scale::M4),
            (M::M8, Scale::M8),
        ];
        self.one_of(&names, Scale::One)
    }

    pub(crate) fn comparison(&mut self) -> Option<Comparison> {
        // Both lists are in the order of the encoding.
        let number = COMPARISONS.iter().position(|&known| self.take(known))?;
        Comparison::ALL.get(number).copied()
    }
}

/// Modifiers of the comparisons, by number.
pub(crate) const COMPARISONS: [Modifier; 16] = [
    M::F,
    M::Lt,
    M::Eq,
    M::Le,
    M::Gt,
    M::Ne,
    M::Ge,
    M::Num,
    M::Nan,
    M::Ltu,
    M::Equ,
    M::Leu,
    M::Gtu,
    M::Neu,
    M::Geu,
    M::T,
];
