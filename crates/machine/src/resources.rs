//! Resources of SMs by architecture, for architectures without a machine file: rows of `machine/nvidia/resources.tsv`.
//!
//! For example, an SM of sm_87 holds 48 warps and 164 KiB of shared memory, of which each block takes 1 KiB for the
//! system.

use std::collections::BTreeMap;
use std::ops::Index;

use warpbound_base::Diagnostic;

use crate::Parameter;
use crate::gpu_model::without_variant;

static ROWS: &str = include_str!("../../../machine/nvidia/resources.tsv");

/// Resources that occupancy depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SmResources {
    values: BTreeMap<Parameter, u64>,
}

impl SmResources {
    /// Resources of an architecture, `sm_87`; `None` if no row has it.
    ///
    /// # Errors
    ///
    /// A fault in the compiled-in rows, which a test excludes.
    pub fn of(architecture: &str) -> Result<Option<SmResources>, Diagnostic> {
        let mut lines = ROWS.lines().filter(|line| !line.starts_with('#'));
        let head = lines.next().unwrap_or_default();
        let architecture = without_variant(architecture);
        let row = lines.find(|line| line.split('\t').next() == Some(architecture));
        row.map(|row| SmResources::parse(head, row)).transpose()
    }

    /// Architectures of the rows, in their order.
    pub fn architectures() -> impl Iterator<Item = &'static str> {
        let lines = ROWS.lines().filter(|line| !line.starts_with('#'));
        lines.skip(1).filter_map(|line| line.split('\t').next())
    }

    fn parse(head: &str, row: &str) -> Result<SmResources, Diagnostic> {
        let mut found = SmResources {
            values: BTreeMap::new(),
        };
        // The first column is the architecture.
        for (name, value) in head.split('\t').zip(row.split('\t')).skip(1) {
            let value = value.parse().map_err(|_| {
                Diagnostic::new(format!("resources.tsv: {name} is {value:?}, no number"))
            })?;
            found.values.insert(Parameter::named(name)?, value);
        }
        Ok(found)
    }
}

impl Index<Parameter> for SmResources {
    type Output = u64;

    /// Value of a parameter; 0 if the rows have no such column.
    fn index(&self, parameter: Parameter) -> &u64 {
        self.values.get(&parameter).unwrap_or(&0)
    }
}

#[cfg(test)]
mod tests {
    use super::SmResources;
    use crate::{BlockResources, Limit, Occupancy, Parameter};

    #[test]
    fn each_row_has_all_parameters_of_occupancy() {
        let mut rows = 0;
        for architecture in SmResources::architectures() {
            let row = SmResources::of(architecture)
                .expect("numbers")
                .expect("a row");
            let block = [
                Parameter::BlockThreads,
                Parameter::BlockRegisters,
                Parameter::BlockShared,
            ];
            let has_value = |parameter: &&Parameter| **parameter != Parameter::SharedReserved;
            let limits = BlockResources::PARAMETERS.iter().filter(has_value);
            for parameter in limits.chain(&block) {
                assert!(row[*parameter] > 0, "{architecture}: {}", parameter.name());
            }
            assert_eq!(row[Parameter::SmThreads], 32 * row[Parameter::SmWarps]);
            rows += 1;
        }
        assert!(rows >= 13, "{rows}");
        assert_eq!(SmResources::of("sm_107"), Ok(None));
    }

    /// The examples of NVIDIA's calculator for 8.7: 48 warps; 42 registers give 10 blocks of 128 threads.
    #[test]
    fn occupancy_of_orin() {
        let orin = SmResources::of("sm_87").expect("numbers").expect("a row");
        let of = |threads, registers, shared| Occupancy::of(&orin, threads, registers, shared);
        let small = of(128, 32, 1024).expect("it fits");
        assert_eq!(
            (small.warps, small.limits),
            (48, vec![Limit::Threads, Limit::Warps])
        );
        // 42 registers take 1536 for a warp, so that 42 warps fit; sub-partitions round down to 40.
        let middle = of(128, 42, 1024).expect("it fits");
        assert_eq!((middle.warps, middle.limits), (40, vec![Limit::Registers]));
        assert!(of(1024, 65, 0).is_err());
    }
}
