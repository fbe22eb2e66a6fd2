//! Comparison of two builds.
//!
//! Kernels are paired first. A pair with equal code and resources is counted as identical without an analysis; the
//! others are analysed in both builds and their figures compared. For example, if only one kernel of a library has
//! changed, only this kernel is analysed.

use std::collections::BTreeMap;
use std::convert::Infallible;

use crate::builds::figures::figures;
use warpbound_base::Diagnostic;
use warpbound_load::text_digest;
use warpbound_report::build_diff::{
    BuildDiffReport, DiffSummary, KernelDiff, NamedKernel, Pairing, RenamedKernel,
};

use super::compare::{ComparedSide, compare};
use super::figures::{FigureExtent, KernelFigures};
use super::index::{Build, BuildKernel};
use super::pairing::pair;
use warpbound_query::jobs::map_in_order;
use warpbound_query::prepared::Prepared;
use warpbound_query::{BoundOptions, Session};

/// Options of a comparison.
pub struct DiffOptions {
    /// Options of the bounds of the old build.
    pub old: BoundOptions,
    /// Options of the bounds of the new build.
    pub new: BoundOptions,
    /// Threads.
    pub jobs: usize,
}

/// Result of the comparison of a pair.
enum Compared {
    /// Equal code and resources.
    Identical,
    /// Different code or resources; the differences of the figures, which may be none.
    Analysed(Box<KernelDiff>),
    /// Failure of one of the kernels.
    Failed(Diagnostic),
}

/// Compares two builds: pairs their kernels, and compares the figures of those whose code or resources differ.
pub fn diff(old: &Build, new: &Build, options: &DiffOptions) -> BuildDiffReport {
    let shape = |is_new: bool, kernel: &BuildKernel| {
        let build = if is_new { new } else { old };
        // A kernel that cannot be loaded or decoded has no shape, and no other kernel can be its partner by shape.
        let session = build.session(kernel).ok()?;
        shape_of(&session, kernel)
    };
    let pairs = pair(&old.kernels, &new.kernels, shape);
    let name = |build: &Build, at: &usize| Some(build.named(build.kernels.get(*at)?));
    let mut report = BuildDiffReport {
        schema: BuildDiffReport::SCHEMA,
        old: old.name.clone(),
        new: new.name.clone(),
        summary: DiffSummary {
            old_kernels: old.kernels.len(),
            new_kernels: new.kernels.len(),
            removed: pairs.removed.len(),
            added: pairs.added.len(),
            ..DiffSummary::default()
        },
        kernels: Vec::new(),
        same_figures: Vec::new(),
        renamed: Vec::new(),
        removed: pairs
            .removed
            .iter()
            .filter_map(|at| name(old, at))
            .collect(),
        added: pairs.added.iter().filter_map(|at| name(new, at)).collect(),
        unreadable: Vec::new(),
        left_out: old.left_out.iter().chain(&new.left_out).cloned().collect(),
    };
    let unreadable = old.unreadable.iter().chain(&new.unreadable);
    report
        .unreadable
        .extend(unreadable.map(ToString::to_string));
    let known = pairs
        .pairs
        .iter()
        .filter_map(|&(at_old, at_new, paired_by)| {
            let (one, other) = (old.kernels.get(at_old)?, new.kernels.get(at_new)?);
            Some((one, other, paired_by))
        });
    let known: Vec<(&BuildKernel, &BuildKernel, Pairing)> = known.collect();
    for (one, other, paired_by) in &known {
        report.summary.count(*paired_by);
        // Listed for identical kernels too, because the name is then all that changed.
        if one.symbol != other.symbol {
            report.renamed.push(RenamedKernel {
                old: old.named(one),
                new: new.named(other),
                paired_by: *paired_by,
            });
        }
    }
    let work = |(one, other, paired_by): (&BuildKernel, &BuildKernel, Pairing)| {
        let named = new.named(other);
        let compared = compare_pair(old, one, new, other, paired_by, options);
        (named, compared)
    };
    let done: Result<(), Infallible> = map_in_order(
        options.jobs,
        known.into_iter(),
        work,
        |(named, compared)| {
            match compared {
                Compared::Identical => report.summary.identical += 1,
                Compared::Analysed(diff) if diff.is_empty() => {
                    report.summary.same_figures += 1;
                    report.same_figures.push(named);
                }
                Compared::Analysed(diff) => {
                    report.summary.different += 1;
                    report.kernels.push(*diff);
                }
                Compared::Failed(diagnostic) => report.unreadable.push(diagnostic.to_string()),
            }
            Ok(())
        },
    );
    // The error type has no values, because failures of kernels are part of the report.
    let Ok(()) = done;
    report
}

impl Build {
    /// Returns the names of a kernel.
    pub(crate) fn named(&self, kernel: &BuildKernel) -> NamedKernel {
        let library = self.libraries.get(kernel.file);
        NamedKernel {
            name: kernel.name.clone(),
            symbol: kernel.symbol.to_string(),
            isa: kernel.isa.to_string(),
            file: library.map_or(String::new(), |library| library.image_name(kernel.image)),
        }
    }

    /// Computes the figures of a kernel.
    ///
    /// # Errors
    ///
    /// The kernel cannot be read, or see [`Session::figures`].
    pub(crate) fn figures(
        &self,
        kernel: &BuildKernel,
        options: &BoundOptions,
        extent: FigureExtent,
    ) -> Result<KernelFigures, Diagnostic> {
        let session = self.session(kernel)?;
        figures(
            &session,
            session.kernel_at(kernel.position)?,
            options,
            extent,
        )
    }
}

/// Compares a pair of kernels.
fn compare_pair(
    old: &Build,
    one: &BuildKernel,
    new: &Build,
    other: &BuildKernel,
    paired_by: Pairing,
    options: &DiffOptions,
) -> Compared {
    let digests = |kernel: &BuildKernel| (kernel.code.clone(), kernel.surroundings);
    // Kernels that cannot be read have empty digests, which would be equal for any two of them.
    let is_readable = one.refused.is_none() && other.refused.is_none();
    let is_same = digests(one) == digests(other) && one.resources == other.resources;
    if is_readable && is_same {
        return Compared::Identical;
    }
    let figures = old.figures(one, &options.old, FigureExtent::All);
    let figures = figures.and_then(|before| {
        let after = new.figures(other, &options.new, FigureExtent::All)?;
        Ok((before, after))
    });
    let (before, after) = match figures {
        Ok(figures) => figures,
        Err(diagnostic) => return Compared::Failed(diagnostic),
    };
    let side = |kernel, figures| ComparedSide {
        resources: kernel,
        figures,
    };
    let found = compare(
        side(&one.resources, &before),
        side(&other.resources, &after),
    );
    let [lost_assumptions, gained_assumptions] = found.assumptions;
    Compared::Analysed(Box::new(KernelDiff {
        kernel: new.named(other),
        old_name: (one.name != other.name).then(|| one.name.clone()),
        paired_by,
        figures: found.figures,
        mix: found.mix,
        loops: found.loops,
        lines: found.lines,
        cycle_lines: found.cycle_lines,
        lost_accesses: found.accesses.lost,
        gained_accesses: found.accesses.gained,
        lost_divergence: found.divergence.lost,
        gained_divergence: found.divergence.gained,
        lost_assumptions,
        gained_assumptions,
    }))
}

/// Returns the shape of a kernel: a digest of the sizes of its parameters and the sequence of its opcodes. For
/// example, a build that only assigns other registers does not change it.
fn shape_of(session: &Session, kernel: &BuildKernel) -> Option<String> {
    let own = session.kernel_at(kernel.position).ok()?;
    let program = Prepared::decode(own, session.image.isa()).ok()?;
    let sizes: Vec<u32> = own.params.iter().map(|param| param.size.into()).collect();
    let mut opcodes: BTreeMap<usize, &'static str> = BTreeMap::new();
    for at in 0.. {
        // A word that is not an instruction leaves a gap. The code has ended where its bytes have no word left, since
        // no instruction is shorter than four bytes.
        match program.mnemonic(at) {
            Some(mnemonic) => opcodes.insert(at, mnemonic),
            None if at > own.code().len() / 4 => break,
            None => None,
        };
    }
    (!opcodes.is_empty()).then(|| text_digest(&format!("{sizes:?} {opcodes:?}")))
}
