//! Machine families. The machines of a family share one timing model and its parameters, and differ in their values.

use std::fmt;

/// Family of machines with one timing model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineFamily {
    /// Maxwell and Pascal GPUs.
    Nvidia,
    /// GPUs of GCN3 compute units.
    Gcn3,
}

impl MachineFamily {
    /// Returns the family of the machines for code of an architecture, such as `sm_62` or `gfx803`.
    pub fn of_architecture(architecture: &str) -> MachineFamily {
        // LLVM names AMD's targets like `gfx803`; every other name is one of NVIDIA's, like `sm_62`.
        if architecture.starts_with("gfx") {
            MachineFamily::Gcn3
        } else {
            MachineFamily::Nvidia
        }
    }
}

impl fmt::Display for MachineFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MachineFamily::Nvidia => "NVIDIA GPUs",
            MachineFamily::Gcn3 => "GCN3 GPUs",
        })
    }
}
