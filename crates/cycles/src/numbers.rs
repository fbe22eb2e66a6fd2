//! Numbers of a machine that make a lone warp slowest. For example, latencies have the high end of their range, and
//! bandwidths the low end.

use warpbound_base::{Diagnostic, Family};
use warpbound_machine::{GpuModel, MachineConfig, Parameter, SlowEnd};

/// Values of the parameters of a machine for a bound. Each range has the end that makes a warp that runs alone
/// slowest ([`Parameter::slow_end`]). If a range has no such end, both ends are kept, and the transfer functions take
/// the worse.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineNumbers {
    family: Family,
    /// Minimum and maximum value of each parameter.
    ranges: Vec<(u64, u64)>,
}

/// Parameters whose values the access classes presume (`memory-units` in SOUNDNESS 2), with these values.
const PRESUMED: &[(Parameter, u64)] = &[
    (Parameter::L1Line, 128),
    (Parameter::L1RequestThreads, 8),
    (Parameter::L2Line, 128),
    (Parameter::L2Sector, 32),
    (Parameter::SharedBanks, 32),
    (Parameter::SharedPoolThreads, 32),
];

/// Parameters whose values the access classes presume on GPUs from Volta on, where a warp makes one request.
const PRESUMED_VOLTA: &[(Parameter, u64)] = &[
    (Parameter::L1Line, 128),
    (Parameter::L1RequestThreads, 128),
    (Parameter::L2Line, 128),
    (Parameter::L2Sector, 32),
    (Parameter::SharedBanks, 32),
    (Parameter::SharedPoolThreads, 32),
];

/// Parameters whose values the access classes presume on GCN3.
const PRESUMED_GCN3: &[(Parameter, u64)] = &[
    (Parameter::CuSimds, 4),
    (Parameter::L1Line, 64),
    (Parameter::L1RequestThreads, 64),
    (Parameter::L2Line, 64),
    (Parameter::L2Sector, 64),
    (Parameter::ScalarLine, 64),
    (Parameter::LdsBanks, 32),
    (Parameter::LdsGroup, 32),
];

/// Parameters that shape caches of lines; their line sizes have to be known.
const LINES: &[Parameter] = &[
    Parameter::InstructionLine,
    Parameter::ConstantL1Line,
    Parameter::ConstantL15Line,
    Parameter::TlbL1Page,
    Parameter::TlbL2Page,
];

/// Parameters of GCN3 that shape caches of lines.
const LINES_GCN3: &[Parameter] = &[
    Parameter::InstructionLine,
    Parameter::TlbL1Page,
    Parameter::TlbL2Page,
];

impl MachineNumbers {
    /// Returns the numbers of a machine for a bound over all values within their ranges.
    ///
    /// # Errors
    ///
    /// A parameter of the memory system has values for which access classes do not hold.
    pub fn of_ranges(model: &GpuModel) -> Result<MachineNumbers, Diagnostic> {
        let range = |&parameter: &Parameter| {
            let range = model.range(parameter);
            (range.least, range.most)
        };
        MachineNumbers::checked(model.family(), Parameter::ALL.iter().map(range).collect())
    }

    /// Returns the numbers of one configuration.
    ///
    /// # Errors
    ///
    /// As [`MachineNumbers::of_ranges`].
    pub fn of_config(config: &MachineConfig) -> Result<MachineNumbers, Diagnostic> {
        let value = |&parameter: &Parameter| (config[parameter], config[parameter]);
        MachineNumbers::checked(config.family(), Parameter::ALL.iter().map(value).collect())
    }

    /// Checks the parameters that access classes and footprints presume.
    fn checked(family: Family, ranges: Vec<(u64, u64)>) -> Result<MachineNumbers, Diagnostic> {
        let numbers = MachineNumbers { family, ranges };
        let (presumed, lines) = match family {
            Family::Maxwell | Family::MiniSimt => (PRESUMED, LINES),
            Family::Volta => (PRESUMED_VOLTA, LINES),
            Family::Gcn3 => (PRESUMED_GCN3, LINES_GCN3),
        };
        for &(parameter, value) in presumed {
            // Requests, lines, sectors and conflicts of access classes are counted in these units, for no other
            // machine.
            if numbers.range(parameter) != (value, value) {
                return Err(Diagnostic::new(format!(
                    "bounds in cycles are for machines whose {} is {value}",
                    parameter.name()
                )));
            }
        }
        for &parameter in lines {
            let (least, most) = numbers.range(parameter);
            // Footprints divide addresses into lines and pages, so each size must be one number.
            if least != most || !least.is_power_of_two() {
                return Err(Diagnostic::new(format!(
                    "bounds in cycles are for machines whose {} is one power of two",
                    parameter.name()
                )));
            }
        }
        let [part, whole] = [Parameter::ConstantL1Line, Parameter::ConstantL15Line];
        // Lines of the first cache are taken to be parts of lines of the second one (SOUNDNESS 11.3).
        let has_constants = family.facts().constant_banks.is_some();
        if has_constants && numbers.range(part).1 > numbers.range(whole).0 {
            return Err(Diagnostic::new(format!(
                "bounds in cycles are for machines whose {} is at most {}",
                part.name(),
                whole.name()
            )));
        }
        Ok(numbers)
    }

    /// Family of the machine.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Time between two turns of a wave, in thousandths of cycles.
    pub(crate) fn turn(&self) -> i64 {
        self.milli(Parameter::CuSimds).max(MILLI)
    }

    /// Minimum and maximum value of a parameter.
    pub fn range(&self, parameter: Parameter) -> (u64, u64) {
        self.ranges
            .get(parameter as usize)
            .copied()
            .unwrap_or_default()
    }

    /// Value that makes a lone warp slowest. For parameters without a slow end it is the maximum: their users take it
    /// only where a greater value is never faster.
    pub fn slow(&self, parameter: Parameter) -> u64 {
        let (least, most) = self.range(parameter);
        match parameter.slow_end() {
            SlowEnd::High | SlowEnd::Either | SlowEnd::Each => most,
            SlowEnd::Low => least,
        }
    }

    /// Thousandths of cycles at the slow end of a parameter in cycles.
    pub(crate) fn milli(&self, parameter: Parameter) -> i64 {
        // Machine files have values below 2^40 (`GpuModel::MAX_VALUE`).
        self.slow(parameter) as i64 * MILLI
    }
}

/// Thousandths of a cycle, the unit of service times: few bandwidths are whole numbers of cycles per request.
pub const MILLI: i64 = 1000;
