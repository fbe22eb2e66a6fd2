//! Facts about memory accesses: the maximum numbers of sectors, lines and bank conflicts of one execution by a warp,
//! and the memory space of the access.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpbound_base::{CodeAddr, Diagnostic, Named};

use super::number::{FactNumber, MISSING};
use super::{FactIdentity, read_address};

/// Memory space that a fact states of a generic access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatedSpace {
    /// Memory of the grid.
    Global,
    /// Memory of the block.
    Shared,
    /// Memory of the thread.
    Local,
}

impl Named for StatedSpace {
    const ALL: &'static [(StatedSpace, &'static str)] = &[
        (StatedSpace::Global, "global"),
        (StatedSpace::Shared, "shared"),
        (StatedSpace::Local, "local"),
    ];
}

/// Stated limits on each execution of an access by a warp, in the units of SOUNDNESS 5.13; `None` where nothing is
/// stated.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AccessNumbersFact {
    /// Maximum number of sectors, where the sectors of each request count; at least 1. For example, a load of 4 bytes
    /// by 32 lanes with consecutive addresses that begin at a line has 4 sectors.
    pub sectors: Option<u64>,
    /// Maximum number of distinct lines; at least 1.
    pub lines: Option<u64>,
    /// Maximum number of transactions due to bank conflicts.
    pub conflicts: Option<u64>,
    /// Memory space that all lanes access.
    pub space: Option<StatedSpace>,
}

impl AccessNumbersFact {
    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        *self == AccessNumbersFact::default()
    }
}

/// Fact about a memory access.
#[derive(Clone, Debug)]
pub struct AccessFact {
    /// Address of the instruction.
    pub at: CodeAddr,
    /// Stated numbers.
    pub numbers: AccessNumbersFact,
    /// Fingerprint of the access in the build that the fact was stated about.
    pub identity: FactIdentity,
    pub(super) line: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessRow {
    at: String,
    sectors: Option<FactNumber>,
    lines: Option<FactNumber>,
    conflicts: Option<FactNumber>,
    space: Option<String>,
    decides: Option<String>,
    body: Option<String>,
    #[serde(rename = "source")]
    _source: Option<String>,
}

impl AccessFact {
    /// Reads the fact of a line of `accesses`; `stated` are the lines read before, by address.
    ///
    /// # Errors
    ///
    /// The line states nothing, a number out of range or an unknown space, or another line is about the same access.
    pub(super) fn read(
        row: AccessRow,
        line: usize,
        stated: &mut BTreeMap<CodeAddr, usize>,
    ) -> Result<AccessFact, Diagnostic> {
        let at = read_address(&row.at)?;
        if let Some(first) = stated.insert(at, line) {
            return Err(Diagnostic::new(format!(
                "second line about the access at {at}, the first is in line {first}"
            )));
        }
        let numbers = row.numbers()?;
        Ok(AccessFact {
            at,
            numbers,
            identity: FactIdentity {
                decides: row.decides,
                body: row.body,
            },
            line,
        })
    }
}

impl AccessRow {
    /// Numbers of the line, checked for their range.
    fn numbers(&self) -> Result<AccessNumbersFact, Diagnostic> {
        let keys = [&self.sectors, &self.lines, &self.conflicts];
        if keys.iter().all(|key| key.is_none()) && self.space.is_none() {
            return Err(Diagnostic::new(
                "missing field `sectors`, `lines`, `conflicts` or `space`",
            ));
        }
        let number = |number: &Option<FactNumber>, key: &str, least: u64| {
            let value = match number {
                None => None,
                Some(number) => number.value(key).map_err(Diagnostic::new)?,
            };
            match value {
                Some(value) if value < least => Err(Diagnostic::new(format!(
                    "`{key}` is {value}, but an access has at least {least}; `never` states that code is not executed"
                ))),
                _ => Ok(value),
            }
        };
        let named = |name: &String| {
            StatedSpace::from_name(name).ok_or_else(|| {
                Diagnostic::new(format!(
                    "`space` is {name:?}, not \"global\", \"shared\" or \"local\""
                ))
            })
        };
        // "?" is the mark of a missing statement, as of a missing number.
        let space = self.space.as_ref().filter(|name| *name != MISSING);
        Ok(AccessNumbersFact {
            sectors: number(&self.sectors, "sectors", 1)?,
            lines: number(&self.lines, "lines", 1)?,
            conflicts: number(&self.conflicts, "conflicts", 0)?,
            space: space.map(named).transpose()?,
        })
    }
}
