//! Comparison with a budget as SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"). There is a result
//! for each figure that did not pass, each row without a kernel, each kernel that must have a row, and each image or
//! kernel that could not be read or was left out. Each result has a place, in the source or else in the budget.

use serde_json::{Value, json};

use crate::gate::{GateCheck, GateOutcome, GateReport, GatedKernel};

impl GateReport {
    /// Returns the report as SARIF. Paths of sources below `root` are relative to it.
    pub fn sarif(&self, root: Option<&str>) -> String {
        let mut results: Vec<Value> = self
            .failed()
            .map(|(kernel, check)| self.result(kernel, check, root))
            .collect();
        results.extend(self.stale.iter().map(|row| {
            json!({
                "ruleId": "stale-row",
                "level": "error",
                "message": { "text": format!(
                    "No kernel matches {:?}. Correct or remove the row, or add optional = true.", row.name
                ) },
                "locations": [place(&self.budget, row.line as u64)],
            })
        }));
        results.extend(self.unchecked());
        let rules = [
            ("over-budget", "A figure of a kernel is over its budget."),
            ("not-proved", "A figure with a budget has no bound."),
            ("stale-row", "A row of the budget matches no kernel."),
            (
                "no-row",
                "A kernel must have a row of the budget and has none.",
            ),
            ("not-read", "An image or a kernel cannot be read."),
            (
                "left-out",
                "Images are for an architecture that is not supported.",
            ),
        ];
        let rules: Vec<Value> = rules
            .iter()
            .map(|(id, text)| json!({ "id": id, "shortDescription": { "text": text } }))
            .collect();
        crate::to_json(&json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "warpbound",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                } },
                "results": results,
            }],
        }))
    }

    /// Iterates over the results for kernels and images that were not checked.
    fn unchecked(&self) -> impl Iterator<Item = Value> {
        let uncovered = match self.deny_uncovered {
            true => self.uncovered.as_slice(),
            false => &[],
        };
        let uncovered = uncovered.iter().map(|kernel| {
            let (name, isa, file) = (&kernel.name, &kernel.isa, &kernel.file);
            (
                "no-row",
                format!("{file}: {name} {isa} has no row. Add one."),
            )
        });
        let unreadable = self.unreadable.iter();
        let unreadable = unreadable.map(|why| ("not-read", format!("{why}.")));
        let left_out = self.left_out.iter().map(|images| {
            let text = format!("{}. State arch in [conditions].", images.sentence());
            ("left-out", text)
        });
        let all = uncovered.chain(unreadable).chain(left_out);
        // They have no line of the budget, so its first line stands for the file.
        all.map(|(rule, text)| {
            json!({
                "ruleId": rule,
                "level": "error",
                "message": { "text": text },
                "locations": [place(&self.budget, 1)],
            })
        })
    }

    /// Returns the result for a figure that did not pass.
    fn result(&self, kernel: &GatedKernel, check: &GateCheck, root: Option<&str>) -> Value {
        let rule = match check.outcome {
            GateOutcome::Unproved => "not-proved",
            // `failed` gives no figure that has passed.
            GateOutcome::Over | GateOutcome::Passed => "over-budget",
        };
        let (name, isa) = (&kernel.kernel.name, &kernel.kernel.isa);
        let mut text = format!("{name} {isa}: {}.", check.message());
        if let Some(place) = &check.place {
            text.push_str(&format!(" {}.", place.note));
        }
        if let Some(action) = &check.action {
            text.push_str(&format!(" {action}."));
        }
        let budget = place(&self.budget, check.budget_line as u64);
        let source = check.place.as_ref();
        let source = source.and_then(|at| Some((at.path.as_ref()?, at.line?)));
        // Without address, line or number, so that the same finding is recognised in another build.
        let fingerprint = format!("{} {isa} {}", kernel.kernel.symbol, check.figure);
        let mut result = json!({
            "ruleId": rule,
            "level": "error",
            "message": { "text": text },
            "partialFingerprints": { "kernelFigure/v1": fingerprint },
        });
        match source {
            Some((path, line)) => {
                result["locations"] = json!([place(&relative(path, root), line.into())]);
                result["relatedLocations"] = json!([budget]);
            }
            None => result["locations"] = json!([budget]),
        }
        result
    }
}

/// Returns the part of a path after the root.
fn relative(path: &str, root: Option<&str>) -> String {
    // The slash after the root must be checked too: `/a/bc` is not below `/a/b`.
    let rest = root.and_then(|root| path.strip_prefix(root.trim_end_matches('/')));
    match rest.and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) => rest.to_owned(),
        None => path.to_owned(),
    }
}

/// Returns a location of SARIF.
fn place(path: &str, line: u64) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(path) },
        // SARIF counts lines from 1.
        "region": { "startLine": line.max(1) },
    } })
}

/// Returns a path as a URI reference (RFC 3986). Absolute paths have the scheme `file`.
fn uri(path: &str) -> String {
    let mut out = match path.starts_with('/') {
        true => "file://".to_owned(),
        false => String::new(),
    };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte.into());
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
