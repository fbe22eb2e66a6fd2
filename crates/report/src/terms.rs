//! Terms for the parts of a machine in texts: warps on SMs, or waves on compute units.

use warpbound_base::Family;

/// Nouns by which texts call the parts of a machine. Keys of JSON are the same for all machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineTerms {
    /// Threads that execute together: `warp`.
    pub warp: &'static str,
    /// Part of the machine that holds blocks: `SM`.
    pub unit: &'static str,
    /// Part of the machine that holds blocks, with an indefinite article: `an SM`.
    pub a_unit: &'static str,
    /// Part of a unit that issues instructions: `scheduler`.
    pub scheduler: &'static str,
    /// Memory that the threads of a block share: `shared`.
    pub shared: &'static str,
}

impl MachineTerms {
    /// NVIDIA's terms.
    pub const NVIDIA: MachineTerms = MachineTerms {
        warp: "warp",
        unit: "SM",
        a_unit: "an SM",
        scheduler: "scheduler",
        shared: "shared",
    };

    /// AMD's terms.
    pub const AMD: MachineTerms = MachineTerms {
        warp: "wave",
        unit: "compute unit",
        a_unit: "a compute unit",
        scheduler: "SIMD",
        shared: "local data",
    };

    /// Returns the terms for code of AMD's GPUs, whose warps are waves, or for other code.
    pub fn of(family: Family) -> MachineTerms {
        match family {
            Family::Gcn3 => MachineTerms::AMD,
            Family::Maxwell | Family::Volta | Family::MiniSimt => MachineTerms::NVIDIA,
        }
    }
}
