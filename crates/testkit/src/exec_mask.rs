//! A third execution model, for tests of the seams: wavefronts of 64 lanes with one program counter, whose lanes are
//! switched off and on by operations that write the mask EXEC (the scheme of AMD GCN).
//!
//! Random structured programs are compiled to masks. A wavefront must do in each lane what the program says for that
//! lane alone, and its steps, agreements and counts must be those that the analyses allow.

pub mod abstraction;
pub mod audit;
pub mod compile;
pub mod generate;
pub mod machine;
pub mod simulated;
pub mod statement;
pub mod waves;

/// Number of vector registers.
pub const VECTORS: usize = 12;

/// Number of scalar registers; each can hold a mask.
pub const SCALARS: usize = 48;

/// Mask register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskReg {
    /// The active lanes.
    Exec,
    /// A scalar register.
    Scalar(u8),
}

impl MaskReg {
    /// Number of mask registers.
    pub const COUNT: usize = SCALARS + 1;

    /// Position in tables indexed by mask register.
    pub fn index(self) -> usize {
        match self {
            MaskReg::Exec => 0,
            MaskReg::Scalar(number) => usize::from(number) + 1,
        }
    }
}

/// Operation on two masks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskOp {
    /// Lanes of both.
    And,
    /// Lanes of either.
    Or,
    /// Lanes of the first that are not in the second.
    AndNot,
}

/// Operand of a lane-wise operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneOperand {
    /// A vector register.
    Vector(u8),
    /// The low word of a scalar register, the same for all lanes.
    Scalar(u8),
    /// A constant.
    Const(u32),
}

/// Lane-wise operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneOp {
    /// Sum.
    Add,
    /// Product.
    Mul,
    /// Bitwise and.
    And,
    /// Bitwise exclusive or.
    Xor,
}

impl LaneOp {
    /// The result for two words.
    pub fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            LaneOp::Add => a.wrapping_add(b),
            LaneOp::Mul => a.wrapping_mul(b),
            LaneOp::And => a & b,
            LaneOp::Xor => a ^ b,
        }
    }
}

/// Comparison of two words in each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneComparison {
    /// Unsigned less.
    Less,
    /// Equal.
    Equal,
}

impl LaneComparison {
    /// Whether it holds for two words.
    pub fn holds(self, a: u32, b: u32) -> bool {
        match self {
            LaneComparison::Less => a < b,
            LaneComparison::Equal => a == b,
        }
    }
}

/// Condition of a branch of the wavefront.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchCondition {
    /// Always.
    Always,
    /// EXEC has no lane.
    ExecZero,
    /// EXEC has a lane.
    ExecNotZero,
    /// The scalar condition code is set.
    Scc,
    /// The scalar condition code is not set.
    NotScc,
}

/// Instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskInstr {
    /// Writes a vector register in the active lanes.
    Lane {
        /// The register.
        dest: u8,
        /// The operation.
        op: LaneOp,
        /// First operand.
        a: LaneOperand,
        /// Second operand.
        b: LaneOperand,
    },
    /// Writes the mask of the active lanes where a comparison holds to a scalar register.
    Compare {
        /// The register.
        dest: u8,
        /// The comparison.
        comparison: LaneComparison,
        /// First operand.
        a: LaneOperand,
        /// Second operand.
        b: LaneOperand,
    },
    /// Computes a mask.
    Mask {
        /// Register of the result.
        dest: MaskReg,
        /// The operation.
        op: MaskOp,
        /// First operand.
        a: MaskReg,
        /// Second operand.
        b: MaskReg,
    },
    /// Saves EXEC in a scalar register and keeps the lanes of a mask in EXEC.
    SaveAnd {
        /// Register of the saved mask.
        saved: u8,
        /// Register of the mask, another one.
        mask: u8,
    },
    /// Sets a scalar register.
    SetScalar {
        /// The register.
        dest: u8,
        /// The value.
        value: u32,
    },
    /// Copies a vector register's word in the lowest active lane to a scalar register; in lane 0 if none is active.
    ReadFirst {
        /// The scalar register.
        dest: u8,
        /// The vector register.
        from: u8,
    },
    /// Adds to a scalar register.
    AddScalar {
        /// The register.
        dest: u8,
        /// The value.
        value: u32,
    },
    /// Sets the scalar condition code if a scalar register is less than a value.
    TestScalar {
        /// The register.
        a: u8,
        /// The value.
        value: u32,
    },
    /// Moves the program counter.
    Branch {
        /// The condition.
        condition: BranchCondition,
        /// The target.
        target: u32,
    },
    /// Ends the wavefront.
    End,
}

/// Compiled program.
#[derive(Clone, Debug, Default)]
pub struct MaskProgram {
    /// The instructions; the first is the entry.
    pub instrs: Vec<MaskInstr>,
    /// For each instruction, the statement that it is the lane-wise operation for.
    pub statements: Vec<Option<u32>>,
    /// Header and last instruction of each loop, which has all instructions from one to the other.
    pub loops: Vec<(u32, u32)>,
}

/// Faults planted in the compiler, the machine or the abstract model, to show that the checks catch them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskFault {
    /// Compiler: the mask of the other side of an if is not complemented.
    ElseNotComplemented,
    /// Compiler: lanes that have ended become active again where masks are restored.
    EndedLanesReturn,
    /// Compiler: lanes that have left a loop by a break become active again in it.
    BrokenLanesReturn,
    /// Machine: a branch on an empty EXEC is taken if EXEC lacks a live lane.
    SkipsOnPartialMask,
    /// Abstract model: a write of equal values keeps agreement in masks that have other lanes as well.
    PartialWriteKeepsAgreement,
    /// Abstract model: lanes that agree in each of two masks agree in their union.
    UnionKeepsAgreement,
    /// Abstract model: a branch on an empty EXEC is never taken.
    SkipDropped,
    /// Abstract model: no lane waits where a branch on an empty EXEC leads.
    WaitingForgotten,
}
