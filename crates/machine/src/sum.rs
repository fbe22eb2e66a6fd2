//! Sums of parameters: latencies that publications state as a whole and parameters in parts. For example, papers
//! state the latency of DRAM (`dram.latency`), and the model the part beyond a hit in the L2 cache
//! (`dram.beyond_l2`).
//!
//! A parameter that contains another one has no slow end: with the sum fixed, a larger summand makes the rest smaller.

use crate::Parameter;

/// Sum of two parameters, which machine files may state instead of one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterSum {
    name: &'static str,
    part: Parameter,
    other: Parameter,
}

impl ParameterSum {
    /// All sums.
    pub const ALL: &[ParameterSum] = &[
        ParameterSum {
            name: "constant.l15_hit",
            part: Parameter::ConstantL15Beyond,
            other: Parameter::ConstantL1Hit,
        },
        ParameterSum {
            name: "constant.l2_hit",
            part: Parameter::ConstantL2Beyond,
            other: Parameter::ConstantL1Hit,
        },
        ParameterSum {
            name: "dram.latency",
            part: Parameter::DramBeyond,
            other: Parameter::L2Hit,
        },
    ];

    /// Returns the sum with a name.
    pub fn named(name: &str) -> Option<ParameterSum> {
        ParameterSum::ALL
            .iter()
            .copied()
            .find(|sum| sum.name == name)
    }

    /// Returns the sum that files may state instead of a parameter.
    pub(crate) fn of(parameter: Parameter) -> Option<ParameterSum> {
        ParameterSum::ALL
            .iter()
            .copied()
            .find(|sum| sum.part == parameter)
    }

    /// Section and key in machine files, `section.key`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Parameter that machine files may state as this sum.
    pub fn part(self) -> Parameter {
        self.part
    }

    /// The other summand.
    pub fn other(self) -> Parameter {
        self.other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files are read in the order of parameters: the other summand is known before the part.
    #[test]
    fn other_summands_come_first() {
        for sum in ParameterSum::ALL {
            assert!(sum.other < sum.part, "{}", sum.name);
            assert_eq!(sum.other.unit(), sum.part.unit(), "{}", sum.name);
            assert!(Parameter::named(sum.name).is_err());
        }
    }
}
