//! Derivation of a loop bound from the machine code: its evidence, or the reason why there is none.

use serde::Serialize;

/// Derivation of the bound of a loop.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct LoopDerivation {
    /// Evidence of the derived bound.
    pub evidence: Option<LoopEvidence>,
    /// Load that decides how often the loop runs; no bound was derived.
    pub decided_by: Option<DecidingLoad>,
    /// Parameter or size that decides how often the loop runs, if too little is known about it; no bound was derived.
    pub parameter: Option<String>,
    /// Other reason why no bound was derived.
    pub reason: Option<String>,
}

/// Evidence of a derived bound: the counter of a loop and the branch that compares it. Start, step and limit are
/// empty if no single counter has the pattern.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoopEvidence {
    /// Address of the branch that leaves the loop.
    pub exit: String,
    /// Source line of that branch.
    pub source: Option<String>,
    /// Pattern of the count: `affine`, `unrolled`, `halving`, `never` if the loop is not entered, or `width` if only
    /// the width of a register limits it.
    pub pattern: &'static str,
    /// Value of the counter when the loop is entered: `tid.x + 256*ctaid.x`.
    pub start: String,
    /// Change of the counter in each iteration: `+1`, `/2`.
    pub step: String,
    /// Comparison under which the loop continues: `< n`.
    pub limit: String,
}

/// Load that decides how often a loop runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DecidingLoad {
    /// Address of the load.
    pub load: String,
    /// Source line of the load.
    pub source: Option<String>,
}

impl LoopDerivation {
    /// Whether there is a bound that follows from the width of a register alone.
    pub fn is_of_width(&self) -> bool {
        self.evidence
            .as_ref()
            .is_some_and(LoopEvidence::is_of_width)
    }

    /// Returns the evidence, or the reason why there is none, as a clause. Empty if no derivation was tried.
    pub fn text(&self) -> String {
        if let Some(evidence) = &self.evidence {
            return evidence.text();
        }
        // The most specific reason comes first: a load, then a parameter, then any other reason.
        if let Some(DecidingLoad { load, source }) = &self.decided_by {
            return format!("decided by the load at {}", place(load, source.as_deref()));
        }
        if let Some(name) = &self.parameter {
            return format!("decided by {name}{}", option_for(name));
        }
        match &self.reason {
            Some(reason) => format!("not derived: {reason}"),
            None => String::new(),
        }
    }
}

impl LoopEvidence {
    /// Returns the evidence as a clause: `i = tid.x; i < n; i += 1, until the branch at 0x0150 (kernel.cu:12)`.
    fn text(&self) -> String {
        let LoopEvidence {
            exit,
            source,
            start,
            step,
            limit,
            pattern,
        } = self;
        let exit = place(exit, source.as_deref());
        if *pattern == "halving" {
            return format!(
                "the distance of the values compared by the branch at {exit}, halved in each iteration"
            );
        }
        if *pattern == "never" {
            return "not entered: the conditions before it exclude each other".to_owned();
        }
        // No single counter has the pattern, so only the comparison can be named.
        if start.is_empty() {
            return format!("the values compared by the branch at {exit}, iteration by iteration");
        }
        // A step in words, such as `halved`, has no operator.
        let mut digits = step.chars();
        let step = match digits.next() {
            Some(sign @ ('+' | '-' | '*' | '/')) => format!("i {sign}= {}", digits.as_str().trim()),
            _ => step.clone(),
        };
        let counted = format!("i = {start}; i {limit}; {step}, until the branch at {exit}");
        match self.is_of_width() {
            true => format!("limited by the width of a register alone: {counted}"),
            false => counted,
        }
    }

    /// Whether only the width of a register limits the count.
    fn is_of_width(&self) -> bool {
        self.pattern == "width"
    }
}

/// Returns an address with its source line, if there is one.
fn place(at: &str, source: Option<&str>) -> String {
    match source {
        Some(source) => format!("{at} ({source})"),
        None => at.to_owned(),
    }
}

/// Returns the option that states a word of the launch, as the end of a sentence. For example, `n` gives `: give
/// --param n=LO..HI`.
fn option_for(name: &str) -> String {
    // The option states both halves of a parameter of 64 bits.
    let whole = name.strip_suffix(".high").unwrap_or(name);
    match name.split_once('.').map_or(name, |(before, _)| before) {
        "blockDim" => ": give --block".to_owned(),
        "gridDim" => ": give --grid".to_owned(),
        // These words belong to the machine, so no option states them.
        "window" | "stack" => String::new(),
        _ => format!(": give --param {whole}=LO..HI"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_reads_as_a_loop() {
        let mut derivation = LoopDerivation {
            evidence: Some(LoopEvidence {
                exit: "0x0150".to_owned(),
                source: Some("kernel.cu:12".to_owned()),
                pattern: "affine",
                start: "tid.x".to_owned(),
                step: "+1".to_owned(),
                limit: "< n".to_owned(),
            }),
            ..LoopDerivation::default()
        };
        assert_eq!(
            derivation.text(),
            "i = tid.x; i < n; i += 1, until the branch at 0x0150 (kernel.cu:12)"
        );
        if let Some(evidence) = &mut derivation.evidence {
            (evidence.step, evidence.source) = ("halved".to_owned(), None);
        }
        assert_eq!(
            derivation.text(),
            "i = tid.x; i < n; halved, until the branch at 0x0150"
        );
    }

    #[test]
    fn the_option_that_helps_is_named() {
        let decided_by = |name: &str| {
            let derivation = LoopDerivation {
                parameter: Some(name.to_owned()),
                ..LoopDerivation::default()
            };
            derivation.text()
        };
        assert_eq!(decided_by("n"), "decided by n: give --param n=LO..HI");
        assert_eq!(
            decided_by("n.high"),
            "decided by n.high: give --param n=LO..HI"
        );
        assert_eq!(
            decided_by("p1[4]"),
            "decided by p1[4]: give --param p1[4]=LO..HI"
        );
        assert_eq!(
            decided_by("blockDim.x"),
            "decided by blockDim.x: give --block"
        );
        assert_eq!(decided_by("gridDim.z"), "decided by gridDim.z: give --grid");
        assert_eq!(decided_by("stack"), "decided by stack");
    }
}
