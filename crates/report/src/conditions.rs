//! Conditions of bounds: statements of the user on which they depend, and assumptions.

use serde::Serialize;

/// Statements of the user on which bounds depend.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BoundConditions {
    /// Whether statements about the launch are among them.
    pub launch: bool,
    /// Whether bounds of some loops are derived. This is no condition.
    pub derived: bool,
    /// Whether facts about loops are among them.
    pub facts: bool,
    /// Whether facts about accesses are among them.
    pub access_facts: bool,
    /// Bound of all loops without a fact, if one is used.
    pub default: Option<u64>,
    /// Whether costs of calls of functions outside the file are among them.
    pub calls: bool,
}

impl BoundConditions {
    /// Returns the conditions of two bounds of one report, which have the same default loop bound.
    #[must_use]
    pub fn and(self, other: BoundConditions) -> BoundConditions {
        BoundConditions {
            launch: self.launch || other.launch,
            derived: self.derived || other.derived,
            facts: self.facts || other.facts,
            access_facts: self.access_facts || other.access_facts,
            // Both are bounds of one report, which has a single default.
            default: self.default.or(other.default),
            calls: self.calls || other.calls,
        }
    }

    /// Returns the clause that follows a bound: empty, or `, if ...`. For example, `, if the launch is as stated`.
    pub fn clause(self) -> String {
        let mut parts = Vec::new();
        if self.launch {
            parts.push("the launch is as stated".to_owned());
        }
        // Both kinds of facts are in one file, so they make one condition.
        match (self.facts, self.access_facts) {
            (false, false) => {}
            (true, false) => parts.push("the facts about its loops are true".to_owned()),
            (false, true) => parts.push("the facts about its accesses are true".to_owned()),
            (true, true) => {
                parts.push("the facts about its loops and accesses are true".to_owned());
            }
        }
        if let Some(n) = self.default {
            // Facts and derived bounds already cover some loops.
            let which = if self.facts || self.derived {
                "every other"
            } else {
                "every"
            };
            let times = match n {
                1 => "once".to_owned(),
                n => format!("{n} times"),
            };
            parts.push(format!(
                "{which} loop runs its header at most {times} per entry"
            ));
        }
        if self.calls {
            parts.push("calls of functions outside the file cost what is stated".to_owned());
        }
        match parts.is_empty() {
            true => String::new(),
            false => format!(", if {}", parts.join(" and ")),
        }
    }
}

/// Assumption of a bound.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct BoundAssumption {
    /// Stable short name.
    pub id: &'static str,
    /// Assumption as a sentence.
    pub text: String,
}

/// Appends a list of assumptions below a heading, one in a line.
pub(crate) fn write_assumptions(out: &mut String, heading: &str, all: &[BoundAssumption]) {
    out.push_str(&format!("  {heading}:\n"));
    for assumption in all {
        out.push_str(&format!("    {} ({})\n", assumption.text, assumption.id));
    }
}
