//! Check of control words, and cubins written again without a change.

use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::Diagnostic;
use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_load::Kernel;
use warpbound_report::lint as report;
use warpbound_rewrite::CubinRewriter;
use warpbound_rewrite::gcn::CodeObjectRewriter;
use warpbound_rewrite::lint::{LintFinding, lint};

use crate::Session;
use crate::prepared::Prepared;

/// Returns a cubin, or a code object for gfx803, with its code taken apart and laid out anew.
///
/// # Errors
///
/// A part of the file cannot be moved; the diagnostic has its address.
pub fn rewritten(file: &[u8]) -> Result<Vec<u8>, Diagnostic> {
    if CodeObjectRewriter::is_code_object(file) {
        return CodeObjectRewriter::open(file)?.finish();
    }
    let mut rewriter = CubinRewriter::open(file)?;
    rewriter.take_all_apart()?;
    rewriter.finish()
}

impl Session {
    /// Checks the control words of a kernel.
    ///
    /// # Errors
    ///
    /// The kernel is refused, or it has no control words.
    pub fn lint(&self, kernel: &Kernel) -> Result<report::LintReport, Diagnostic> {
        let prepared = self.prepare(kernel)?;
        let Program::Nvidia(program) = &prepared.program else {
            let message = "only code of NVIDIA's GPUs has control words";
            return Err(self.locate(Diagnostic::new(message).in_kernel(kernel.demangled())));
        };
        let cfg = warpbound_analyse::ThreadCfg::build(&prepared.code, &Limits::default());
        let cfg = cfg.map_err(|refusal| {
            let diagnostic = prepared.refusal_diagnostic(&refusal);
            self.locate(diagnostic.in_kernel(kernel.demangled()))
        })?;
        let linted = lint(&prepared.code, program, &cfg);
        let of = |is_possible: bool| {
            let findings = linted.findings.iter();
            let findings = findings.filter(move |finding| finding.is_possible == is_possible);
            findings
                .map(|finding| finding_report(&prepared, finding))
                .collect()
        };
        let uses = linted.dependences.iter();
        let not_judged = uses.filter(|used| used.least.is_none()).count();
        Ok(report::LintReport {
            schema: report::LintReport::SCHEMA,
            kernel: kernel.demangled(),
            instructions: program.instrs.len(),
            dependences: linted.dependences.len() - not_judged,
            not_judged,
            findings: of(false),
            possible: of(true),
        })
    }
}

/// Returns the report of a finding.
fn finding_report(prepared: &Prepared<'_>, finding: &LintFinding) -> report::FindingReport {
    let text = |at: OpIndex| prepared.program.text(at.index()).unwrap_or_default();
    let source = prepared.kernel.source_line(prepared.addr(finding.at));
    report::FindingReport {
        address: prepared.location(finding.at),
        instruction: text(finding.at),
        source: source.map(|line| line.to_string()),
        hazard: finding.hazard.name(),
        register: prepared.cell(finding.cell),
        producer: prepared.location(finding.producer),
        producing: text(finding.producer),
        cycles: finding.cycles.map(|(cycles, _)| cycles),
        least: finding.cycles.map(|(_, least)| least),
    }
}
