//! Budgets of kernels: limits of figures, by kernel and architecture, and the check of builds against them.

mod budget;
mod check;
mod measure;
mod update;

pub use budget::{Budget, BudgetConditions, BudgetFigure, BudgetLimit, BudgetRow, Tolerance};
pub use check::{GateOptions, GatedBuild, gate};
