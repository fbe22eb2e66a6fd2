//! Figures of an analysed kernel, by which builds are compared and budgets are checked.
//!
//! For example, the bound, the number of accesses to local memory, and the share of each loop in the worst path. A
//! figure has a place that explains it, such as the first instruction that writes the highest register. Figures that
//! the file states, such as registers, are in the index of the build.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::access::MemoryUnits;
use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_bounds::facts::identity::identify_loops;
use warpbound_bounds::{access_of, bound_of, refused_bound};
use warpbound_ipet::facts::FactIdentity;
use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::RegisterKind;
use warpbound_isa::instr::MemorySpace;
use warpbound_load::Kernel;
use warpbound_report::access::ReportedAccess;
use warpbound_report::bound::{KernelBound, LoopReport, PathBlock};
use warpbound_report::divergence::OpReport;

use warpbound_query::divergence::divergence_report;
use warpbound_query::own_code::own_ops;
use warpbound_query::prepared::Prepared;
use warpbound_query::{AnalysedKernel, BoundOptions, Session};
use warpbound_runs::listeners::instruction_statistics::class_of;

/// Loop of a kernel with its share of the worst path.
#[derive(Clone, Debug)]
pub struct LoopFigures {
    /// Number of iterations, its origin, and its place.
    pub report: LoopReport,
    /// Fingerprints ([`FactIdentity::decides`], [`FactIdentity::body`]).
    pub identity: FactIdentity,
    /// Warp instructions of the worst path in this loop, without its inner loops.
    pub instructions: u128,
}

/// Source line of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineFigures {
    /// `file:line`.
    pub line: String,
    /// Classes of its instructions, sorted, by which the line is recognised in another build.
    pub classes: Vec<String>,
    /// Warp instructions of the worst path that belong to this line.
    pub instructions: u128,
    /// Instructions that load or store local memory.
    pub local_accesses: u64,
}

/// Instruction that explains a figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FigurePlace {
    /// Address.
    pub at: String,
    /// `file:line`.
    pub source: Option<String>,
    /// Path of the source as the compiler recorded it, and the line.
    pub path: Option<(String, u32)>,
    /// Sentence about it: `R37 is the highest register`.
    pub note: String,
}

/// Places that explain figures.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FigurePlaces {
    /// First instruction that writes the highest register.
    pub registers: Option<FigurePlace>,
    /// First instruction that loads or stores local memory.
    pub local: Option<FigurePlace>,
    /// First instruction that accesses shared memory.
    pub shared: Option<FigurePlace>,
    /// Block that contributes the most instructions to the worst path.
    pub bound: Option<FigurePlace>,
    /// Line with the most cycles.
    pub cycles: Option<FigurePlace>,
    /// First instruction of the kernel.
    pub entry: Option<FigurePlace>,
}

/// Figures of a kernel.
#[derive(Clone, Debug)]
pub struct KernelFigures {
    /// Number of instructions of each class; empty unless builds are compared.
    pub mix: BTreeMap<String, u64>,
    /// Instructions that load or store local memory: spilled registers, and variables without a register.
    pub local_accesses: u64,
    /// Bound, in instructions and perhaps in cycles.
    pub bound: KernelBound,
    /// Loops in order of address; empty if the control flow is not known.
    pub loops: Vec<LoopFigures>,
    /// Source lines, ascending; empty unless builds are compared.
    pub lines: Vec<LineFigures>,
    /// Accesses to memory, with their classes.
    pub accesses: Vec<ReportedAccess>,
    /// Branches, loads and barriers, with the answers of both analyses of divergence.
    pub divergence: Vec<OpReport>,
    /// Places that explain the figures.
    pub places: FigurePlaces,
}

/// Extent of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FigureExtent {
    /// Bounds and places, for budgets.
    Bounds,
    /// Also fingerprints of loops, accesses and divergence, for comparisons.
    All,
}

/// Computes the figures of a kernel.
///
/// # Errors
///
/// The code cannot be decoded, or see [`bound`](warpbound_bounds::bound).
pub(crate) fn figures(
    session: &Session,
    kernel: &Kernel,
    options: &BoundOptions,
    extent: FigureExtent,
) -> Result<KernelFigures, Diagnostic> {
    let analysis = match session.analyse(kernel, options) {
        Ok(analysis) => analysis,
        Err(why) => return figures_without_analysis(session, kernel, &why, extent),
    };
    let bound = bound_of(&analysis)?;
    let (mut identities, mut accesses, mut divergence) = (Vec::new(), Vec::new(), Vec::new());
    if let (Ok(analysed), FigureExtent::All) = (analysis.parts(), extent) {
        let AnalysedKernel { prepared, flow, .. } = analysed;
        identities = identify_loops(&session.image, prepared, flow);
        if MemoryUnits::of(prepared.family()).is_some() {
            accesses = access_of(&analysis)?.accesses;
        }
        divergence = divergence_report(prepared, flow, &analysed.knowledge.context, None).items;
    }
    let prepared = &analysis.prepared;
    let mut identities = identities.into_iter().map(|print| print.identity);
    let shares = loop_shares(&bound.worst_path);
    let loops = bound.loops.iter().map(|report| LoopFigures {
        report: report.clone(),
        identity: identities.next().unwrap_or_default(),
        instructions: shares.get(report.id.as_str()).copied().unwrap_or(0),
    });
    let loops = loops.collect();
    Ok(KernelFigures {
        loops,
        accesses,
        divergence,
        ..listed_figures(prepared, bound, extent)
    })
}

/// Computes the figures of a kernel that cannot be analysed, because its instructions have no meaning here: those that
/// follow from single instructions. `why` is the reason why there is no bound.
fn figures_without_analysis(
    session: &Session,
    kernel: &Kernel,
    why: &Diagnostic,
    extent: FigureExtent,
) -> Result<KernelFigures, Diagnostic> {
    let prepared = Prepared::for_listing(kernel, session.image.isa(), &session.file);
    let prepared = prepared.map_err(|diagnostic| session.locate(diagnostic))?;
    let bound = refused_bound(session, &kernel.name, why);
    Ok(listed_figures(&prepared, bound, extent))
}

/// Computes the figures that follow from the instructions and from a bound.
fn listed_figures(
    prepared: &Prepared<'_>,
    bound: KernelBound,
    extent: FigureExtent,
) -> KernelFigures {
    let builder = FigureBuilder {
        prepared,
        bound: &bound,
    };
    let (mut mix, mut lines) = (BTreeMap::new(), Vec::new());
    if extent == FigureExtent::All {
        (mix, lines) = (builder.mix(), builder.lines());
    }
    KernelFigures {
        mix,
        local_accesses: builder.accesses_of(MemorySpace::Local).count() as u64,
        loops: Vec::new(),
        lines,
        places: builder.places(),
        accesses: Vec::new(),
        divergence: Vec::new(),
        bound,
    }
}

/// Returns the number of instructions of a kernel that load or store local memory.
///
/// # Errors
///
/// The code cannot be decoded.
pub(crate) fn local_accesses(session: &Session, kernel: &Kernel) -> Result<u64, Diagnostic> {
    let program = Prepared::decode(kernel, session.image.isa()).map_err(|d| session.locate(d))?;
    // No instruction is shorter than four bytes, so these positions include all instructions.
    let positions = 0..kernel.code().len() / 4;
    let is_local = |at: &usize| {
        let access = program.access(*at);
        access.is_some_and(|(effect, _)| effect.space == MemorySpace::Local)
    };
    Ok(positions.filter(is_local).count() as u64)
}

/// Returns the instructions of the worst path in each loop, without its inner loops.
fn loop_shares(path: &[PathBlock]) -> BTreeMap<&str, u128> {
    let mut shares: BTreeMap<&str, u128> = BTreeMap::new();
    for block in path {
        if let Some(innermost) = block.loops.last() {
            let share = shares.entry(innermost).or_default();
            *share = share.saturating_add(block.total);
        }
    }
    shares
}

/// Builder of the figures that follow from single instructions.
struct FigureBuilder<'a> {
    prepared: &'a Prepared<'a>,
    bound: &'a KernelBound,
}

impl FigureBuilder<'_> {
    fn ops(&self) -> impl Iterator<Item = OpIndex> + use<> {
        own_ops(self.prepared.kernel, &self.prepared.code).into_iter()
    }

    /// Returns the instructions that access a space.
    fn accesses_of(&self, space: MemorySpace) -> impl Iterator<Item = OpIndex> {
        let program = &self.prepared.program;
        self.ops().filter(move |at| {
            let access = program.access(at.index());
            access.is_some_and(|(effect, _)| effect.space == space)
        })
    }

    /// Counts instructions by class.
    fn mix(&self) -> BTreeMap<String, u64> {
        let mut mix = BTreeMap::new();
        for at in self.ops() {
            *mix.entry(class_of(self.prepared, at.index())).or_default() += 1;
        }
        mix
    }

    /// Returns the instruction at an address of a report; `None` for a label, which mini-SIMT has in place of an
    /// address.
    fn op_at(&self, location: &str) -> Option<OpIndex> {
        let digits = location.strip_prefix("0x")?;
        let addr = u32::from_str_radix(digits, 16).ok()?;
        self.prepared.code.at(CodeAddr(addr))
    }

    /// Returns the instructions that the worst path issues, by operation.
    fn issues(&self) -> BTreeMap<OpIndex, u128> {
        let mut issues: BTreeMap<OpIndex, u128> = BTreeMap::new();
        for block in &self.bound.worst_path {
            let (Some(first), Some(last)) = (self.op_at(&block.from), self.op_at(&block.to)) else {
                continue;
            };
            // The worst path has a block once per calling context, so the counts of one operation add up.
            for at in first.0..=last.0 {
                let count = issues.entry(OpIndex(at)).or_default();
                *count = count.saturating_add(block.count);
            }
        }
        issues
    }

    /// Returns the source lines of the kernel.
    fn lines(&self) -> Vec<LineFigures> {
        let issues = self.issues();
        let local: BTreeSet<OpIndex> = self.accesses_of(MemorySpace::Local).collect();
        let mut lines: BTreeMap<(String, u32), LineFigures> = BTreeMap::new();
        for at in self.ops() {
            let Some(line) = self.prepared.source(self.prepared.addr(at)) else {
                continue;
            };
            // The number is part of the key, because as text `k.cu:10` would precede `k.cu:9`.
            let (file, number) = line.rsplit_once(':').unwrap_or((&line, "0"));
            let key = (file.to_owned(), number.parse().unwrap_or(0));
            let figures = lines.entry(key).or_insert_with(|| LineFigures {
                line: line.clone(),
                classes: Vec::new(),
                instructions: 0,
                local_accesses: 0,
            });
            figures.classes.push(class_of(self.prepared, at.index()));
            let issued = issues.get(&at).copied().unwrap_or(0);
            figures.instructions = figures.instructions.saturating_add(issued);
            figures.local_accesses += u64::from(local.contains(&at));
        }
        let sorted = lines.into_values().map(|mut line| {
            // Sorted, because compilers reorder the instructions of a line from build to build.
            line.classes.sort_unstable();
            line
        });
        sorted.collect()
    }

    /// Returns the place of an instruction.
    fn place(&self, at: OpIndex, note: String) -> FigurePlace {
        let addr = self.prepared.addr(at);
        let path = self.prepared.kernel.source_line(addr);
        FigurePlace {
            at: self.prepared.location(at),
            source: self.prepared.source(addr),
            path: path.map(|line| (line.file, line.line)),
            note,
        }
    }

    /// Returns the places that explain figures.
    fn places(&self) -> FigurePlaces {
        let first_of = |space: MemorySpace, note: &str| {
            let mut found = self.accesses_of(space);
            Some(self.place(found.next()?, note.to_owned()))
        };
        FigurePlaces {
            registers: self.highest_register(),
            local: first_of(MemorySpace::Local, "the first access to local memory"),
            shared: first_of(MemorySpace::Shared, "the first access to shared memory"),
            bound: self.heaviest_block(),
            cycles: self.heaviest_line(),
            entry: Some(self.place(
                self.prepared.code.entry,
                "the start of the kernel".to_owned(),
            )),
        }
    }

    /// Returns the first instruction that writes the highest general register.
    fn highest_register(&self) -> Option<FigurePlace> {
        let code = &self.prepared.code;
        let mut highest: Option<(Cell, OpIndex)> = None;
        for at in self.ops() {
            let cells = code.get(at).into_iter().flat_map(|op| &op.writes);
            // Predicates and scalar registers do not count, because the register figure is the number of general
            // registers.
            for &cell in cells.filter(|cell| cell.register().kind == RegisterKind::Vector) {
                if highest.is_none_or(|(known, _)| cell > known) {
                    highest = Some((cell, at));
                }
            }
        }
        let (cell, at) = highest?;
        let name = self.prepared.cell(cell);
        Some(self.place(
            at,
            format!("{name}, the highest register, is first written here"),
        ))
    }

    /// Returns the block of the worst path with the most instructions.
    fn heaviest_block(&self) -> Option<FigurePlace> {
        let path = &self.bound.worst_path;
        // `max_by_key` returns the last of equal items, so the reversed order yields the first block.
        let block = path.iter().rev().max_by_key(|block| block.total)?;
        let (count, total) = (block.count, block.total);
        let around = block.loops.last();
        let around = around.map_or(String::new(), |name| format!(" in loop {name}"));
        let note = format!(
            "{total} instructions of the worst path are of the block{around} that begins here, which runs {count} times"
        );
        Some(self.place(self.op_at(&block.from)?, note))
    }

    /// Returns the line with the most cycles.
    fn heaviest_line(&self) -> Option<FigurePlace> {
        let lines = &self.bound.cycles.as_ref()?.lines;
        // The report has the line with the most cycles first.
        let line = lines.first()?;
        let is_of_line = |at: &OpIndex| {
            let addr = self.prepared.addr(*at);
            self.prepared.source(addr).as_deref() == Some(&line.line)
                // Code without line information is reported by its address.
                || addr.to_string() == line.line
        };
        let cycles = line.cycles;
        let note = format!("{cycles} cycles of the bound are of this line");
        Some(self.place(self.ops().find(is_of_line)?, note))
    }
}
