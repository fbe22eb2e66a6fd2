//! Families of GPUs: what the stages must know of a machine besides its numbers.
//!
//! The family of a kernel follows from the instruction set that its file names ([`Isa::family`](crate::Isa::family)).
//! No stage derives it from anything else, such as the number of lanes or an empty table, because two families may agree
//! in such a thing. For example, waves of 32 lanes exist on AMD's GPUs as well.
//!
//! A stage either reads a fact from [`Family::facts`] or matches all families, so that a new family does not compile
//! until each stage has an answer for it. Numbers of machines, such as latencies, are not here but in machine files.

use std::fmt;

use crate::{ConstantBanks, Diagnostic, GroupedCode, Named};

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
    /// Architectures of the family, in messages.
    pub architectures: &'static [&'static str],
    /// Whether reads, writes and control flow of its instructions are known, so that kernels are analysed. Otherwise they
    /// are listed, disassembled and compared.
    pub is_analysed: bool,
    /// Whether kernels are run without time.
    pub is_run: bool,
    /// Whether runs of kernels are timed, and kernels bounded in cycles.
    pub is_timed: bool,
    /// Whether kernels are measured and rewritten.
    pub is_measured: bool,
    /// Whether lanes that are served by shared memory together take a turn even if none of them is active.
    pub serves_idle_lanes: bool,
    /// Lanes of a warp or wave. A mini-SIMT launch may state fewer.
    pub lanes: u32,
    /// Mechanism by which diverged lanes come together again.
    pub reconvergence: Reconvergence,
    /// Layout of code in groups with control words, which schedule the instructions; `None` if the hardware alone does.
    pub grouped_code: Option<&'static GroupedCode>,
    /// Constant banks that instructions name; `None` if the launch passes its words otherwise.
    pub constant_banks: Option<&'static ConstantBanks>,
}

/// Groups of 32 bytes (experiments with NVIDIA's disassembler; maxas wiki, "Control Codes").
const MAXWELL_CODE: GroupedCode = GroupedCode {
    word_bytes: 8,
    slots: 3,
    scoreboards: 6,
    reuse_slots: 3,
};

/// Banks of kernels (experiments with `cuobjdump -elf` and the compiler's output).
const NVIDIA_BANKS: ConstantBanks = ConstantBanks {
    launch: 0,
    literals: 2,
    variables: 3,
    addresses: 4,
};

impl GroupedCode {
    /// Three instructions after each control word: the layout that is decoded, rewritten and timed. Code for several
    /// families reads [`FamilyFacts::grouped_code`].
    pub const WITH_THREE_SLOTS: &GroupedCode = &MAXWELL_CODE;

    /// Architectures whose code has [this layout](GroupedCode::WITH_THREE_SLOTS), as one phrase. For example, `Maxwell or
    /// Pascal` with the conjunction `or`.
    pub fn architectures(conjunction: &str) -> String {
        let families = Family::ALL.iter().map(|(family, _)| family.facts());
        let names: Vec<&str> = families
            .filter(|facts| facts.grouped_code == Some(GroupedCode::WITH_THREE_SLOTS))
            .flat_map(|facts| facts.architectures)
            .copied()
            .collect();
        names.join(&format!(" {conjunction} "))
    }
}

impl ConstantBanks {
    /// Banks of all cubins.
    pub const OF_CUBINS: &ConstantBanks = &NVIDIA_BANKS;
}

impl Family {
    /// Facts of the family.
    pub const fn facts(self) -> &'static FamilyFacts {
        match self {
            Family::Maxwell => &FamilyFacts {
                gpus: "NVIDIA GPUs",
                architectures: &["Maxwell", "Pascal"],
                is_analysed: true,
                is_run: true,
                is_timed: true,
                is_measured: true,
                serves_idle_lanes: true,
                lanes: 32,
                reconvergence: Reconvergence::ActivationStack,
                grouped_code: Some(GroupedCode::WITH_THREE_SLOTS),
                constant_banks: Some(ConstantBanks::OF_CUBINS),
            },
            Family::Volta => &FamilyFacts {
                gpus: "NVIDIA GPUs from Volta on",
                architectures: &["Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell"],
                is_analysed: true,
                is_run: true,
                is_timed: true,
                is_measured: false,
                serves_idle_lanes: false,
                lanes: 32,
                reconvergence: Reconvergence::ConvergenceBarriers,
                grouped_code: None,
                constant_banks: Some(ConstantBanks::OF_CUBINS),
            },
            Family::Gcn3 => &FamilyFacts {
                gpus: "GCN3 GPUs",
                architectures: &["GCN3"],
                is_analysed: true,
                is_run: true,
                is_timed: true,
                is_measured: true,
                serves_idle_lanes: false,
                lanes: 64,
                reconvergence: Reconvergence::ExecMask,
                grouped_code: None,
                constant_banks: None,
            },
            Family::MiniSimt => &FamilyFacts {
                gpus: "mini-SIMT machines",
                architectures: &["mini-SIMT"],
                is_analysed: true,
                is_run: true,
                is_timed: true,
                is_measured: true,
                serves_idle_lanes: false,
                lanes: 32,
                reconvergence: Reconvergence::Frames,
                grouped_code: None,
                constant_banks: None,
            },
        }
    }

    /// Refuses a family whose kernels are decoded, but not analysed.
    ///
    /// # Errors
    ///
    /// A diagnostic with the name of the family.
    pub fn check_analysed(self) -> Result<(), Diagnostic> {
        match self.facts().is_analysed {
            true => Ok(()),
            false => Err(Diagnostic::new(only_decoded(self))),
        }
    }

    /// Refuses a family whose kernels are not run.
    ///
    /// # Errors
    ///
    /// A diagnostic with the name of the family.
    pub fn check_run(self) -> Result<(), Diagnostic> {
        match self.facts().is_run {
            true => Ok(()),
            false => Err(Diagnostic::new(format!(
                "kernels for {self} are not run yet"
            ))),
        }
    }

    /// Refuses a family whose runs are not timed, and whose kernels are not bounded in cycles.
    ///
    /// # Errors
    ///
    /// A diagnostic with the name of the family.
    pub fn check_timed(self) -> Result<(), Diagnostic> {
        match self.facts().is_timed {
            true => Ok(()),
            false => Err(Diagnostic::new(format!(
                "kernels for {self} are bounded in instructions and run without time (`--functional`), but neither timed nor bounded in cycles yet"
            ))),
        }
    }

    /// Refuses a family whose kernels are bounded, run and predicted, but neither measured nor rewritten.
    ///
    /// # Errors
    ///
    /// A diagnostic with the name of the family.
    pub fn check_measured(self) -> Result<(), Diagnostic> {
        match self.facts().is_measured {
            true => Ok(()),
            false => Err(Diagnostic::new(format!(
                "kernels for {self} are bounded, run and predicted, but neither measured nor rewritten yet"
            ))),
        }
    }

    /// Lanes of a warp or wave.
    pub const fn lanes(self) -> u32 {
        self.facts().lanes
    }

    /// Whether groups of lanes that wait at one address may go on together without an instruction that says so. A run then
    /// executes an instruction at most as often as the stack of SOUNDNESS 21.2, and not exactly as often.
    pub const fn may_merge_groups(self) -> bool {
        matches!(
            self.facts().reconvergence,
            Reconvergence::ConvergenceBarriers
        )
    }

    /// Whether analyses follow the lanes of a warp on a stack: the machine has one, or executes each operation at most as
    /// often as a warp with one (SOUNDNESS 21.4).
    pub const fn follows_stack(self) -> bool {
        matches!(
            self.facts().reconvergence,
            Reconvergence::ActivationStack | Reconvergence::ConvergenceBarriers
        )
    }

    /// Whether the code keeps the masks of active lanes in registers of the warp, as waves of GCN3 do.
    pub const fn has_exec_mask(self) -> bool {
        matches!(self.facts().reconvergence, Reconvergence::ExecMask)
    }
}

/// Reason for refusing the kernels of an architecture or a family that is decoded, but not analysed.
pub(crate) fn only_decoded(gpus: impl fmt::Display) -> String {
    format!("kernels for {gpus} are listed and disassembled, but neither analysed nor run yet")
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().gpus)
    }
}
