//! Report of the sites where the waves of a kernel may split, and of the sites to choose.

use serde::Serialize;

use crate::conditions::BoundAssumption;
use crate::report_writer::KernelReport;
use crate::table::{Align, counted, section, table, wrapped};

/// Sites of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct SplitsReport {
    /// Always `warpbound.splits/1`.
    pub schema: &'static str,
    /// Demangled name.
    pub kernel: String,
    /// Machine whose costs are used.
    pub machine: String,
    /// Maximum number of live splits of a launch wave.
    pub splits: u32,
    /// Place where splits merge: `none` or `join`.
    pub merge: &'static str,
    /// Assumptions on which the verdicts rest.
    pub assumptions: Vec<BoundAssumption>,
    /// Branches on the mask of active lanes, in order of address.
    pub sites: Vec<SiteReport>,
    /// Choices by rule: `program`, `greedy`, `first`, and `exhaustive` for few sites.
    pub choices: Vec<ChoiceReport>,
}

/// Branch on the mask of active lanes.
#[derive(Clone, Debug, Serialize)]
pub struct SiteReport {
    /// Address.
    pub address: String,
    /// Source line.
    pub source: Option<String>,
    /// Kind of the branch.
    pub kind: &'static str,
    /// Whether waves may split there: `splits and merges`, `splits` (only if the splits do not merge), `merges` (only
    /// if they do), or `refused`.
    pub verdict: &'static str,
    /// Address of the instruction before which the splits merge.
    pub merge_point: Option<String>,
    /// Cycles of both arms in one execution; `None` if waves may not split.
    pub arms: Option<[u64; 2]>,
    /// Cycles of memory units after the join, which a second split occupies again; `None` if splits merge.
    pub tail: Option<u64>,
    /// Executions in a wave, by the bounds of the enclosing loops; `None` if a loop has no bound.
    pub executions: Option<u64>,
    /// Cycles that a wave saves if it splits only at this site. A negative number is a loss.
    pub saved: Option<i128>,
    /// Rules that choose the site.
    pub chosen: ChosenBy,
    /// Obstacles to splits that do not merge.
    pub apart: Vec<ObstacleReport>,
    /// Obstacles to splits that merge.
    pub merged: Vec<ObstacleReport>,
}

/// Rules that choose a site.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ChosenBy {
    /// The integer program.
    pub program: bool,
    /// Greedy rule: the longest shorter arm first.
    pub greedy: bool,
    /// Rule that takes the first sites (`wavefront-splitting-2022`).
    pub first: bool,
    /// Whether the best of all choices includes the site; `None` if there are too many sites.
    pub exhaustive: Option<bool>,
}

/// Choice of sites by a rule.
#[derive(Clone, Debug, Serialize)]
pub struct ChoiceReport {
    /// Rule.
    pub rule: &'static str,
    /// Number of sites.
    pub sites: usize,
    /// Cycles that a wave saves by the model.
    pub saved: i128,
    /// Upper bound of the integer program on the cycles that any choice saves.
    pub at_most: Option<i128>,
}

/// Instruction that may give another result if the wave splits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ObstacleReport {
    /// Address.
    pub address: String,
    /// Reason.
    pub reason: String,
    /// Address of the instruction after which a register of the wave may differ between splits.
    pub cause: Option<String>,
}

impl SplitsReport {
    /// Name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.splits/1";

    /// Maximum number of obstacles of a site in the text.
    const SHOWN: usize = 3;

    /// Returns the report as text: a table of the sites, the obstacles of each, and a table of the choices.
    pub fn text(&self) -> String {
        let sites = counted(self.sites.len(), "branch");
        let mut out = format!(
            "{}: {sites} on EXEC, {} splits, merge {}, cycles on {}\n",
            self.kernel, self.splits, self.merge, self.machine
        );
        if self.sites.is_empty() {
            return out;
        }
        let columns = [
            Align::Left,
            Align::Left,
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
        ];
        let head = [
            "address",
            "source",
            "kind",
            "verdict",
            "arm 1",
            "arm 2",
            "tail",
            "executions",
            "saved",
            "chosen by",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.sites.iter().map(SiteReport::row));
        out.push_str(&table(2, &columns, &rows));
        for site in &self.sites {
            self.add_obstacles(&mut out, site);
        }
        let columns = [Align::Left, Align::Right, Align::Right, Align::Right];
        let rows = self.choices.iter().map(|choice| {
            let at_most = choice.at_most.map(|most| most.to_string());
            vec![
                choice.rule.to_owned(),
                choice.sites.to_string(),
                choice.saved.to_string(),
                at_most.unwrap_or_default(),
            ]
        });
        section(
            &mut out,
            &columns,
            vec!["rule", "sites", "saved", "at most"],
            rows,
        );
        out.push_str("  assumed:\n");
        for BoundAssumption { id, text } in &self.assumptions {
            out.push_str(&wrapped(4, &format!("{text} ({id})")));
        }
        out
    }

    fn add_obstacles(&self, out: &mut String, site: &SiteReport) {
        // Splits that merge and splits that do not have different obstacles.
        let obstacles = match self.merge {
            "join" => &site.merged,
            _ => &site.apart,
        };
        for obstacle in obstacles.iter().take(Self::SHOWN) {
            let cause = obstacle.cause.as_ref();
            let cause = cause.map(|at| format!(" (at {at})")).unwrap_or_default();
            let text = format!(
                "{}: {}: {}{cause}",
                site.address, obstacle.address, obstacle.reason
            );
            out.push_str(&wrapped(4, &text));
        }
        if obstacles.len() > Self::SHOWN {
            let more = obstacles.len() - Self::SHOWN;
            out.push_str(&wrapped(4, &format!("{}: and {more} more", site.address)));
        }
    }
}

impl SiteReport {
    fn row(&self) -> Vec<String> {
        // A site where waves may not split has no costs.
        let number = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let arm = |at: usize| number(self.arms.map(|arms| arms[at].to_string()));
        let rules = [
            ("program", self.chosen.program),
            ("greedy", self.chosen.greedy),
            ("first", self.chosen.first),
            ("exhaustive", self.chosen.exhaustive == Some(true)),
        ];
        let chosen = rules.into_iter().filter(|(_, chosen)| *chosen);
        let chosen: Vec<&str> = chosen.map(|(rule, _)| rule).collect();
        vec![
            self.address.clone(),
            self.source.clone().unwrap_or_default(),
            self.kind.to_owned(),
            self.verdict.to_owned(),
            arm(0),
            arm(1),
            number(self.tail.map(|tail| tail.to_string())),
            number(self.executions.map(|count| count.to_string())),
            number(self.saved.map(|saved| saved.to_string())),
            chosen.join(", "),
        ]
    }
}

impl KernelReport for SplitsReport {
    const SCHEMA_OF_SEVERAL: &'static str = "warpbound.splits_of_kernels/1";

    fn to_text(&self) -> String {
        self.text()
    }
}
