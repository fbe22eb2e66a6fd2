//! The numbers of the machine, and which of them a run asked for.

use std::cell::Cell;
use std::ops::BitOrAssign;

use warpbound_machine::{Parameter, MachineConfig};

/// The numbers of the machine, and which of them a run asked for.
pub(super) struct Numbers {
    picked: MachineConfig,
    touched: Cell<u128>,
}

/// Some numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered(u128);

impl BitOrAssign for Numbered {
    fn bitor_assign(&mut self, other: Numbered) {
        self.0 |= other.0;
    }
}

impl Numbered {
    pub(super) const fn of(parameters: &[Parameter]) -> Numbered {
        let mut bits = 0;
        let mut at = 0;
        while at < parameters.len() {
            bits |= 1 << parameters[at] as u32;
            at += 1;
        }
        Numbered(bits)
    }
}

impl Numbers {
    pub(super) fn new(picked: &MachineConfig) -> Numbers {
        Numbers {
            picked: picked.clone(),
            touched: Cell::new(0),
        }
    }

    /// A number that has a part in the result.
    #[inline(always)]
    pub(super) fn get(&self, parameter: Parameter) -> u64 {
        self.touch(Numbered(1 << parameter as u32));
        self.picked[parameter]
    }

    /// A number that may have one: who uses it says so with [`Numbers::touch`].
    pub(super) fn peek(&self, parameter: Parameter) -> u64 {
        self.picked[parameter]
    }

    /// Numbers have a part in the result.
    #[inline(always)]
    pub(super) fn touch(&self, numbers: Numbered) {
        self.touched.set(self.touched.get() | numbers.0);
    }

    /// Those that had a part in it, ascending.
    pub(super) fn touched(&self) -> Vec<Parameter> {
        let has = |parameter: &Parameter| self.touched.get() >> *parameter as u32 & 1 == 1;
        Parameter::ALL.iter().copied().filter(has).collect()
    }
}
