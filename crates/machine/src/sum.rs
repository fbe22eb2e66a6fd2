//! Numbers that publications state as sums. Machines have the parts: of a sum that stays as it is, one part is less where the
//! other is more, so that neither would have a slow end.

use crate::Parameter;

/// A number that is one of a machine's numbers and another one together: its older name in machine files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterSum {
    name: &'static str,
    part: Parameter,
    other: Parameter,
}

impl ParameterSum {
    /// All of them.
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

    /// The sum of this name.
    pub fn named(name: &str) -> Option<ParameterSum> {
        ParameterSum::ALL.iter().copied().find(|sum| sum.name == name)
    }

    /// The sum that a number is a part of, the one that files state instead.
    pub(crate) fn of(parameter: Parameter) -> Option<ParameterSum> {
        ParameterSum::ALL.iter().copied().find(|sum| sum.part == parameter)
    }

    /// Section and key in machine files, `section.key`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The number that it stands for.
    pub fn part(self) -> Parameter {
        self.part
    }

    /// The number that is in it as well.
    pub fn other(self) -> Parameter {
        self.other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files are read number by number: what a part is the rest of is known by then.
    #[test]
    fn others_come_first() {
        for sum in ParameterSum::ALL {
            assert!(sum.other < sum.part, "{}", sum.name);
            assert_eq!(sum.other.unit(), sum.part.unit(), "{}", sum.name);
            assert!(Parameter::named(sum.name).is_err());
        }
    }
}
