//! Comparison with a budget as JUnit XML. There is a test case for each kernel with a row, each row without a kernel,
//! each kernel that must have a row, and each architecture whose images were left out.
//!
//! Elements and attributes follow the schema of JUnit's Ant task, as Jenkins and others read them. The same input
//! gives the same bytes, because the time stamp, host and durations that the schema demands are constants.

use crate::gate::{GateCheck, GateOutcome, GateReport, GatedKernel};

impl GateReport {
    /// Returns the report as JUnit XML.
    pub fn junit(&self) -> String {
        // A kernel that is over one figure and unproved in another is one failure, since a test case has one outcome.
        let outcome = |kernel: &&GatedKernel, wanted| {
            kernel.checks.iter().any(|check| check.outcome == wanted)
        };
        let failed = |kernel: &&GatedKernel| outcome(kernel, GateOutcome::Over);
        let unproved =
            |kernel: &&GatedKernel| !failed(kernel) && outcome(kernel, GateOutcome::Unproved);
        let missing = if self.deny_uncovered {
            self.uncovered.as_slice()
        } else {
            &[]
        };
        let tests = self.kernels.len() + self.stale.len() + missing.len();
        let left_out = self.left_out.len();
        // Images that were left out may hide kernels without a row. If these are errors, the test has failed;
        // otherwise it could not be run.
        let (denied, unchecked) = match self.deny_uncovered {
            true => (left_out, 0),
            false => (0, left_out),
        };
        let failures =
            self.kernels.iter().filter(failed).count() + self.stale.len() + missing.len() + denied;
        let unproved = self.kernels.iter().filter(unproved).count();
        let errors = unproved + self.unreadable.len() + unchecked;
        let tests = tests + self.unreadable.len() + left_out;
        let name = xml(&self.budget);
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite id=\"0\" package=\"warpbound\" \
             name=\"{name}\" timestamp=\"1970-01-01T00:00:00\" hostname=\"localhost\" tests=\"{tests}\" \
             failures=\"{failures}\" errors=\"{errors}\" time=\"0\">\n<properties/>\n"
        );
        for kernel in &self.kernels {
            case(
                &mut out,
                &kernel.kernel.file,
                &named(kernel),
                &elements(self, kernel),
            );
        }
        for row in &self.stale {
            let line = row.line;
            let message = format!("{}:{line}: no kernel matches {:?}", self.budget, row.name);
            case(
                &mut out,
                &self.budget,
                &row.name,
                &element("failure", &message, &message),
            );
        }
        // Each of these is a failure of its own, because no test case of a kernel exists to hold it.
        for kernel in missing {
            let message = format!("{} {} has no row", kernel.name, kernel.isa);
            let name = format!("{} {}", kernel.name, kernel.isa);
            case(
                &mut out,
                &kernel.file,
                &name,
                &element("failure", &message, &message),
            );
        }
        for unreadable in &self.unreadable {
            case(
                &mut out,
                &self.budget,
                unreadable,
                &element("error", unreadable, unreadable),
            );
        }
        for images in &self.left_out {
            let tag = match self.deny_uncovered {
                true => "failure",
                false => "error",
            };
            let message = images.sentence();
            let found = element(tag, &message, &message);
            case(&mut out, &images.file, &images.isa, &found);
        }
        out.push_str("<system-out/>\n<system-err/>\n</testsuite>\n</testsuites>\n");
        out
    }
}

fn named(kernel: &GatedKernel) -> String {
    format!("{} {}", kernel.kernel.name, kernel.kernel.isa)
}

/// Returns the failure or the error of a kernel, with all its figures that did not pass.
fn elements(report: &GateReport, kernel: &GatedKernel) -> String {
    let of = |wanted: GateOutcome| -> Vec<&GateCheck> {
        let checks = kernel.checks.iter();
        checks.filter(|check| check.outcome == wanted).collect()
    };
    let (over, unproved) = (of(GateOutcome::Over), of(GateOutcome::Unproved));
    let Some(first) = over.first().or(unproved.first()) else {
        return String::new();
    };
    // The schema allows a test case either a failure or an error.
    let tag = if over.is_empty() { "error" } else { "failure" };
    let mut text = String::new();
    for check in over.iter().chain(&unproved) {
        let (budget, line) = (&report.budget, check.budget_line);
        text.push_str(&format!("{budget}:{line}: {}\n", check.message()));
        if let Some(place) = &check.place {
            text.push_str(&format!("  {}\n", place.text()));
        }
        if let Some(action) = &check.action {
            text.push_str(&format!("  {action}\n"));
        }
    }
    element(tag, &first.message(), &text)
}

fn element(tag: &str, message: &str, text: &str) -> String {
    let (message, text) = (xml(message), xml(text));
    format!("<{tag} type=\"budget\" message=\"{message}\">{text}</{tag}>")
}

fn case(out: &mut String, class: &str, name: &str, contents: &str) {
    let (class, name) = (xml(class), xml(name));
    let head = format!("<testcase classname=\"{class}\" name=\"{name}\" time=\"0\"");
    match contents.is_empty() {
        true => out.push_str(&format!("{head}/>\n")),
        false => out.push_str(&format!("{head}>{contents}</testcase>\n")),
    }
}

/// Returns text with the characters that XML allows.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Line breaks are control characters that XML allows.
            '\n' => out.push('\n'),
            // XML 1.0 has no form for most control characters, not even as references.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
