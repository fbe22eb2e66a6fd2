//! Families of GPUs: what the stages must know of a machine besides its numbers.
//!
//! The family of a kernel follows from the instruction set that its file names ([`Isa::family`](crate::Isa::family)).
//! No stage derives it from anything else, such as the number of lanes or an empty table, because two families may agree
//! in such a thing. For example, waves of 32 lanes exist on AMD's GPUs as well.
//!
//! A stage either reads a fact from [`Family::facts`] or matches all families, so that a new family does not compile
//! until each stage has an answer for it. Numbers of machines, such as latencies, are not here but in machine files.

use std::fmt;

use crate::Named;

/// Family of machines whose code has one format, one execution model, one ABI and one timing model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Family {
    /// Maxwell and Pascal GPUs of NVIDIA: words of 64 bits with a control word before three of them.
    #[default]
    Maxwell,
    /// GPUs of NVIDIA from Volta to Blackwell: words of 128 bits, and convergence barriers in place of a stack.
    Volta,
    /// GCN3 GPUs of AMD.
    Gcn3,
    /// The mini-SIMT machine of `abstract-cta-2014`, whose programs are text.
    MiniSimt,
}

/// Names in the text of operations.
impl Named for Family {
    const ALL: &'static [(Family, &'static str)] = &[
        (Family::Maxwell, "maxwell"),
        (Family::Volta, "volta"),
        (Family::Gcn3, "gcn3"),
        (Family::MiniSimt, "mini_simt"),
    ];
}

/// Mechanism that lets diverged lanes of a warp execute one after the other, and together again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reconvergence {
    /// Stack of the warp with entries for lanes that wait (`warp-cfg-2023` 2).
    ActivationStack,
    /// Barriers at which the lanes wait that took part in them together (`BSSY`, `BSYNC`).
    ConvergenceBarriers,
    /// Registers with masks of lanes, which the code itself computes.
    ExecMask,
    /// Frames of lanes that wait at a synchronisation point (`abstract-cta-2014` 4).
    Frames,
}

/// Facts of a family that more than one stage reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FamilyFacts {
    /// GPUs of the family, in messages.
    pub gpus: &'static str,
    /// Lanes of a warp or wave. A mini-SIMT launch may state fewer.
    pub lanes: u32,
    /// Mechanism by which diverged lanes come together again.
    pub reconvergence: Reconvergence,
}

impl Family {
    /// Facts of the family.
    pub const fn facts(self) -> &'static FamilyFacts {
        match self {
            Family::Maxwell => &FamilyFacts {
                gpus: "NVIDIA GPUs",
                lanes: 32,
                reconvergence: Reconvergence::ActivationStack,
            },
            Family::Volta => &FamilyFacts {
                gpus: "NVIDIA GPUs from Volta on",
                lanes: 32,
                reconvergence: Reconvergence::ConvergenceBarriers,
            },
            Family::Gcn3 => &FamilyFacts {
                gpus: "GCN3 GPUs",
                lanes: 64,
                reconvergence: Reconvergence::ExecMask,
            },
            Family::MiniSimt => &FamilyFacts {
                gpus: "mini-SIMT machines",
                lanes: 32,
                reconvergence: Reconvergence::Frames,
            },
        }
    }

    /// Lanes of a warp or wave.
    pub const fn lanes(self) -> u32 {
        self.facts().lanes
    }

    /// Whether the code keeps the masks of active lanes in registers of the warp, as waves of GCN3 do.
    pub const fn has_exec_mask(self) -> bool {
        matches!(self.facts().reconvergence, Reconvergence::ExecMask)
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().gpus)
    }
}
