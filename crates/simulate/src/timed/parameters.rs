//! Parameters of the machine, and the set of those that a run has used.
//!
//! A report lists the parameters without a published source that its result depends on, and searches the ranges of no
//! others. So each parameter whose value can change the result has to be in the set, and reading is what puts it there:
//!
//! * [`UsedParameters::get`] marks the parameter that it returns;
//! * a component whose state is made of parameters, such as a cache of some size, is built with a [`ParameterReader`]
//!   and kept as a [`Tracked`] value: an SM that never accesses its constant cache does not depend on the size of that
//!   cache, and each access marks all parameters that it was made of.

use std::cell::Cell;

use warpbound_base::Family;
use warpbound_machine::{MachineConfig, Parameter};

/// Set of parameters, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ParameterSet([u64; 3]);

const _: () = assert!(
    Parameter::ALL.len() <= 3 * u64::BITS as usize,
    "each parameter has a bit"
);

impl ParameterSet {
    #[inline(always)]
    fn insert(&mut self, parameter: Parameter) {
        self.0[parameter as usize / 64] |= 1 << (parameter as u32 % 64);
    }

    #[inline(always)]
    fn insert_all(&mut self, other: ParameterSet) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own |= other;
        }
    }

    fn contains(self, parameter: Parameter) -> bool {
        self.0[parameter as usize / 64] >> (parameter as u32 % 64) & 1 == 1
    }
}

/// Parameters of a machine, and the set of those that the run has used.
pub(super) struct UsedParameters {
    machine: MachineConfig,
    // A `Cell`, because components read parameters through shared references.
    used: Cell<ParameterSet>,
}

impl UsedParameters {
    /// Returns the parameters of a machine, none of them used.
    pub(super) fn new(machine: &MachineConfig) -> UsedParameters {
        UsedParameters {
            machine: machine.clone(),
            used: Cell::default(),
        }
    }

    /// Returns the value of a parameter and marks it as used.
    #[inline(always)]
    pub(super) fn get(&self, parameter: Parameter) -> u64 {
        let mut used = self.used.get();
        used.insert(parameter);
        self.used.set(used);
        self.machine[parameter]
    }

    /// Family of the machine.
    pub(super) fn family(&self) -> Family {
        self.machine.family()
    }

    /// Returns a reader for the parameters of one [`Tracked`] value.
    pub(super) fn reader(&self) -> ParameterReader<'_> {
        ParameterReader {
            machine: &self.machine,
            read: ParameterSet::default(),
        }
    }

    #[inline(always)]
    fn mark(&self, parameters: ParameterSet) {
        let mut used = self.used.get();
        used.insert_all(parameters);
        self.used.set(used);
    }

    /// Returns the parameters that were used, in the order of [`Parameter::ALL`].
    pub(super) fn used(&self) -> Vec<Parameter> {
        let used = self.used.get();
        let is_used = |parameter: &Parameter| used.contains(*parameter);
        Parameter::ALL.iter().copied().filter(is_used).collect()
    }
}

/// Reader that records the parameters read, for a [`Tracked`] value.
pub(super) struct ParameterReader<'m> {
    machine: &'m MachineConfig,
    read: ParameterSet,
}

impl ParameterReader<'_> {
    /// Returns the value of a parameter.
    pub(super) fn get(&mut self, parameter: Parameter) -> u64 {
        self.read.insert(parameter);
        self.machine[parameter]
    }

    /// Returns the machine for a function that depends on these parameters of it and no others.
    pub(super) fn machine(&mut self, parameters: &[Parameter]) -> &MachineConfig {
        for &parameter in parameters {
            self.read.insert(parameter);
        }
        self.machine
    }

    /// Adds the parameters read by another reader.
    pub(super) fn join(&mut self, other: &ParameterReader<'_>) {
        self.read.insert_all(other.read);
    }

    /// Returns a value made of the parameters that were read.
    pub(super) fn track<T>(self, value: T) -> Tracked<T> {
        Tracked {
            value,
            parameters: self.read,
        }
    }
}

/// Value made of parameters: each access marks them as used.
#[derive(Clone, Debug)]
pub(super) struct Tracked<T> {
    value: T,
    parameters: ParameterSet,
}

impl<T> Tracked<T> {
    #[inline(always)]
    pub(super) fn get(&self, parameters: &UsedParameters) -> &T {
        parameters.mark(self.parameters);
        &self.value
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, parameters: &UsedParameters) -> &mut T {
        parameters.mark(self.parameters);
        &mut self.value
    }

    /// Returns the value without marking: to set its initial state, which matters only once an access looks at it.
    pub(super) fn unmarked(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use warpbound_machine::{GpuModel, Selection};

    use super::*;

    #[test]
    fn reading_marks() {
        let machine = GpuModel::built_in("gtx1080").expect("a built-in machine");
        let machine = machine.select(Selection::Typical);
        let parameters = UsedParameters::new(&machine);
        let mut reader = parameters.reader();
        let bytes = reader.get(Parameter::L2Bytes);
        assert_eq!(bytes, machine[Parameter::L2Bytes]);
        let mut ways = parameters.reader();
        ways.get(Parameter::L2Ways);
        reader.join(&ways);
        let mut bytes = reader.track(bytes);
        *bytes.unmarked() += 1;
        assert_eq!(parameters.used(), []);
        assert_eq!(*bytes.get(&parameters), machine[Parameter::L2Bytes] + 1);
        assert_eq!(parameters.used(), [Parameter::L2Bytes, Parameter::L2Ways]);
        parameters.get(Parameter::SmCount);
        let used = [Parameter::SmCount, Parameter::L2Bytes, Parameter::L2Ways];
        assert_eq!(parameters.used(), used);
    }
}
