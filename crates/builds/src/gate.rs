//! Budgets of kernels: limits of figures, by kernel and architecture, and the check of builds against them.
//!
//! For example, a row for `gemm*` with `registers = 64` fails if a kernel whose name fits needs 65. A figure that
//! cannot be proved fails its limit as well, because a missing bound is no evidence that the limit holds.

mod budget;
mod check;
mod measure;
mod update;

pub use budget::{Budget, BudgetConditions, BudgetFigure, BudgetLimit, BudgetRow, Tolerance};
pub use check::{GateOptions, GatedBuild, gate};
