//! Differences between the figures of a kernel in two builds.
//!
//! For example, a bound that grew from 120 to 150 instructions, a loop with another bound, or a class of memory
//! accesses that only the new build has. Addresses are never compared, because they move with every change of the
//! code.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_report::BoundAssumption;
use warpbound_report::bound::KernelBound;
use warpbound_report::build_diff::{
    ClassCountAt, DiffPlace, FigureChange, LineChange, LoopChange, LoopSide, MixChange, change,
};
use warpbound_report::divergence::{ItemKind, OpReport};

use super::alignment::{align_lines, align_loops};
use super::figures::{FigurePlace, KernelFigures, LineFigures, LoopFigures};
use super::index::KernelResources;

/// One side of a comparison: a kernel's resources and figures in one build.
#[derive(Clone, Copy)]
pub(super) struct ComparedSide<'a> {
    pub(super) resources: &'a KernelResources,
    pub(super) figures: &'a KernelFigures,
}

/// Differences of a kernel.
#[derive(Default)]
pub(super) struct Differences {
    pub(super) figures: Vec<FigureChange>,
    pub(super) mix: Vec<MixChange>,
    pub(super) loops: Vec<LoopChange>,
    pub(super) lines: Vec<LineChange>,
    pub(super) cycle_lines: Vec<LineChange>,
    pub(super) accesses: ClassChanges,
    pub(super) divergence: ClassChanges,
    pub(super) assumptions: [Vec<BoundAssumption>; 2],
}

/// Classes that lost members, and classes that gained members.
#[derive(Default)]
pub(super) struct ClassChanges {
    pub(super) lost: Vec<ClassCountAt>,
    pub(super) gained: Vec<ClassCountAt>,
}

/// Compares a kernel in two builds.
pub(super) fn compare(old: ComparedSide<'_>, new: ComparedSide<'_>) -> Differences {
    let (old_figures, new_figures) = (old.figures, new.figures);
    let rows = align_lines(&old_figures.lines, &new_figures.lines);
    let line = |lines: &[LineFigures], at: Option<usize>| at.and_then(|at| lines.get(at)).cloned();
    let rows: Vec<(Option<LineFigures>, Option<LineFigures>)> = rows
        .into_iter()
        .map(|(old, new)| (line(&old_figures.lines, old), line(&new_figures.lines, new)))
        .collect();
    // Lines have other numbers in the new build, so what is counted by line is renamed before it is compared.
    let new_line: BTreeMap<&str, &str> = rows
        .iter()
        .filter_map(|(old, new)| Some((old.as_ref()?.line.as_str(), new.as_ref()?.line.as_str())))
        .collect();
    let cycles = |figures: &KernelFigures| -> BTreeMap<String, u128> {
        let cycles = figures.bound.cycles.iter();
        let lines = cycles.flat_map(|cycles| &cycles.lines);
        lines
            .map(|line| (line.line.clone(), line.cycles.into()))
            .collect()
    };
    Differences {
        figures: figure_changes(old, new, &rows),
        mix: mix_changes(old_figures, new_figures),
        loops: loop_changes(&old_figures.loops, &new_figures.loops, &new_line),
        lines: line_changes(&rows),
        cycle_lines: cycle_line_changes(cycles(old_figures), cycles(new_figures), &new_line),
        accesses: access_changes(old_figures, new_figures, &new_line),
        divergence: divergence_changes(old_figures, new_figures, &new_line),
        assumptions: [
            assumptions_without(&old_figures.bound, &new_figures.bound),
            assumptions_without(&new_figures.bound, &old_figures.bound),
        ],
    }
}

/// Value of a figure, or the reason why there is none.
#[derive(Default)]
struct FigureValue {
    value: Option<u128>,
    note: Option<String>,
}

impl FigureValue {
    fn of(value: impl Into<u128>) -> FigureValue {
        FigureValue {
            value: Some(value.into()),
            note: None,
        }
    }

    fn optional<T: Into<u128>>(value: Option<T>, reason: &str) -> FigureValue {
        match value {
            Some(value) => FigureValue::of(value),
            None => FigureValue {
                value: None,
                note: Some(reason.to_owned()),
            },
        }
    }
}

/// Returns the figures that differ.
fn figure_changes(
    old: ComparedSide<'_>,
    new: ComparedSide<'_>,
    rows: &[(Option<LineFigures>, Option<LineFigures>)],
) -> Vec<FigureChange> {
    let places = &new.figures.places;
    let spill = spill_place(rows, new.figures);
    let bound = bound_place(rows);
    let mut changes = Vec::new();
    for (number, (figure, unit)) in FIGURES.iter().enumerate() {
        let [before, after] = [old, new].map(|side| value(side, number));
        // Notes are not compared, because reasons name addresses, which differ from build to build.
        if before.value == after.value {
            continue;
        }
        let place = match *figure {
            "bound" => bound.clone().or_else(|| diff_place(&places.bound)),
            "cycles" => diff_place(&places.cycles),
            "registers" | "occupancy" | "scalar registers" => diff_place(&places.registers),
            "local" | "local accesses" => spill.clone().or_else(|| diff_place(&places.local)),
            "shared" => diff_place(&places.shared),
            _ => None,
        };
        changes.push(FigureChange {
            figure,
            unit,
            old: before.value,
            new: after.value,
            change: before
                .value
                .zip(after.value)
                .and_then(|(old, new)| change(old, new)),
            old_note: before.note,
            new_note: after.note,
            place,
        });
    }
    changes
}

/// Figures of a kernel with their units.
const FIGURES: [(&str, &str); 11] = [
    ("bound", "instructions"),
    ("cycles", "cycles"),
    ("registers", "registers"),
    ("scalar registers", "registers"),
    ("occupancy", "warps"),
    ("shared", "bytes"),
    ("local", "bytes"),
    ("local accesses", "instructions"),
    ("barriers", "barriers"),
    ("parameters", "bytes"),
    ("code", "bytes"),
];

/// Returns the figure with a number in [`FIGURES`].
fn value(side: ComparedSide<'_>, number: usize) -> FigureValue {
    let (resources, figures) = (side.resources, side.figures);
    match FIGURES.get(number).map_or("", |(name, _)| name) {
        "bound" => {
            let verdict = &figures.bound.verdict;
            FigureValue::optional(verdict.bound(), verdict.reason().unwrap_or("not known"))
        }
        "cycles" => match &figures.bound.cycles {
            Some(cycles) => {
                let reason = cycles.reason.as_deref().unwrap_or("not known");
                FigureValue::optional(cycles.bound, reason)
            }
            // Cycles were not asked for, which needs no reason.
            None => FigureValue::default(),
        },
        "registers" => FigureValue::of(resources.registers),
        "scalar registers" => FigureValue::optional(resources.scalar_registers, "none"),
        "occupancy" => match &resources.occupancy {
            Some(occupancy) => FigureValue {
                value: Some(occupancy.warps.into()),
                note: Some(occupancy.limited()),
            },
            None => FigureValue::optional::<u64>(None, "not known"),
        },
        "shared" => FigureValue::optional(resources.shared, "the linker decides"),
        "local" => FigureValue::optional(resources.local, "not known"),
        "local accesses" => FigureValue::of(figures.local_accesses),
        "barriers" => FigureValue::of(resources.barriers),
        "parameters" => FigureValue::of(resources.parameter_bytes),
        "code" => FigureValue::of(resources.code_bytes),
        _ => FigureValue::default(),
    }
}

fn diff_place(place: &Option<FigurePlace>) -> Option<DiffPlace> {
    let place = place.as_ref()?;
    Some(DiffPlace {
        at: place.at.clone(),
        source: place.source.clone(),
        note: place.note.clone(),
    })
}

/// Returns the line that gained the largest number of accesses to local memory.
fn spill_place(
    rows: &[(Option<LineFigures>, Option<LineFigures>)],
    new: &KernelFigures,
) -> Option<DiffPlace> {
    let more = rows.iter().filter_map(|(old, new)| {
        let new = new.as_ref()?;
        let before = old.as_ref().map_or(0, |line| line.local_accesses);
        // A line that lost accesses does not explain why there are more.
        let more = new.local_accesses.checked_sub(before)?;
        (more > 0).then_some((more, new))
    });
    // Among equal lines, the first is reported.
    let (more, line) = more.rev_max_by_count()?;
    let at = new.places.local.as_ref().map_or("", |place| &place.at);
    Some(DiffPlace {
        at: at.to_owned(),
        source: Some(line.line.clone()),
        note: format!("{more} more accesses to local memory are of this line"),
    })
}

/// Returns the line whose share of the worst path grew the most, or shrank the most if none grew.
fn bound_place(rows: &[(Option<LineFigures>, Option<LineFigures>)]) -> Option<DiffPlace> {
    let changes = line_changes(rows);
    // The changes are sorted by size, so the first line that grew is the one that grew the most.
    let grown = changes.iter().find(|change| change.new > change.old);
    let change = grown.or(changes.first())?;
    let source = change.new_line.clone().or(change.old_line.clone());
    let (old, new) = (change.old, change.new);
    Some(DiffPlace {
        at: String::new(),
        source,
        note: format!("{old} -> {new} instructions of the worst path are of this line"),
    })
}

/// Selection of the item with the largest count; of equal items the first, whereas `Iterator::max_by_key` returns the
/// last.
trait RevMax<T>: Iterator<Item = (u64, T)> + Sized {
    fn rev_max_by_count(self) -> Option<(u64, T)> {
        self.reduce(|best, next| match next.0 > best.0 {
            true => next,
            false => best,
        })
    }
}

impl<T, I: Iterator<Item = (u64, T)>> RevMax<T> for I {}

/// Returns the classes of instructions whose number differs.
fn mix_changes(old: &KernelFigures, new: &KernelFigures) -> Vec<MixChange> {
    let classes: BTreeSet<&String> = old.mix.keys().chain(new.mix.keys()).collect();
    let count = |figures: &KernelFigures, class| figures.mix.get(class).copied().unwrap_or(0);
    let changes = classes.into_iter().map(|class| {
        let [old, new] = [old, new].map(|figures| count(figures, class));
        MixChange {
            class: class.clone(),
            old,
            new,
            change: change(old, new),
        }
    });
    changes.filter(|change| change.old != change.new).collect()
}

/// Returns the loops that differ.
fn loop_changes(
    old: &[LoopFigures],
    new: &[LoopFigures],
    new_line: &BTreeMap<&str, &str>,
) -> Vec<LoopChange> {
    let aligned = align_loops(old, new, new_line);
    let mut changes = Vec::new();
    for (at_old, at_new, reason) in aligned.pairs {
        let (Some(old), Some(new)) = (old.get(at_old), new.get(at_new)) else {
            continue;
        };
        // Names, addresses and lines of loops are left out, because they change with the code around a loop.
        let figures = |one: &LoopFigures| {
            let report = &one.report;
            let bounds = (report.bound, report.total, report.origin);
            (bounds, report.total_origin, one.instructions)
        };
        if figures(old) != figures(new) {
            changes.push(LoopChange {
                old: Some(loop_side(old)),
                new: Some(loop_side(new)),
                paired_by: Some(reason),
                change: change(old.instructions, new.instructions),
            });
        }
    }
    let side = |all: &[LoopFigures], at: usize| all.get(at).map(loop_side);
    changes.extend(aligned.lost.into_iter().map(|at| LoopChange {
        old: side(old, at),
        new: None,
        paired_by: None,
        change: None,
    }));
    changes.extend(aligned.gained.into_iter().map(|at| LoopChange {
        old: None,
        new: side(new, at),
        paired_by: None,
        change: None,
    }));
    changes
}

fn loop_side(one: &LoopFigures) -> LoopSide {
    let report = &one.report;
    LoopSide {
        id: report.id.clone(),
        at: report.at.clone(),
        source: report.source.clone(),
        bound: report.bound,
        total: report.total,
        origin: report.origin,
        instructions: one.instructions,
    }
}

/// Returns the lines whose share of the worst path differs, the largest difference first.
fn line_changes(rows: &[(Option<LineFigures>, Option<LineFigures>)]) -> Vec<LineChange> {
    let share = |line: &Option<LineFigures>| line.as_ref().map_or(0, |line| line.instructions);
    let name = |line: &Option<LineFigures>| line.as_ref().map(|line| line.line.clone());
    let changes = rows
        .iter()
        .map(|(old, new)| line_change([name(old), name(new)], [share(old), share(new)]));
    sorted(changes)
}

/// Returns the lines whose cycles differ, the largest difference first.
fn cycle_line_changes(
    old: BTreeMap<String, u128>,
    mut new: BTreeMap<String, u128>,
    new_line: &BTreeMap<&str, &str>,
) -> Vec<LineChange> {
    let mut changes = Vec::new();
    for (line, cycles) in old {
        let partner = new_line
            .get(line.as_str())
            .map(|&partner| partner.to_owned());
        // Removed, so that only lines without a partner in the old build are left in `new` after the loop.
        let after = partner.as_ref().and_then(|partner| new.remove(partner));
        changes.push(line_change(
            [Some(line), partner],
            [cycles, after.unwrap_or(0)],
        ));
    }
    let gained = new.into_iter();
    changes.extend(gained.map(|(line, cycles)| line_change([None, Some(line)], [0, cycles])));
    sorted(changes.into_iter())
}

/// Returns the change of a line with its names and numbers in the old and the new build.
fn line_change([old_line, new_line]: [Option<String>; 2], [old, new]: [u128; 2]) -> LineChange {
    LineChange {
        old_line,
        new_line,
        old,
        new,
        change: change(old, new),
    }
}

/// Returns the lines whose number changed, the largest difference first.
fn sorted(changes: impl Iterator<Item = LineChange>) -> Vec<LineChange> {
    let mut changes: Vec<LineChange> = changes.filter(|line| line.old != line.new).collect();
    changes.sort_by_key(|line| std::cmp::Reverse(line.old.abs_diff(line.new)));
    changes
}

/// Returns the classes of memory accesses that are gone or new.
fn access_changes(
    old: &KernelFigures,
    new: &KernelFigures,
    new_line: &BTreeMap<&str, &str>,
) -> ClassChanges {
    let classes = |figures: &KernelFigures| {
        let accesses = figures.accesses.iter().map(|access| {
            let class = format!("{} {}, {}", access.space, access.kind, access.class.text());
            let place = access.source.clone();
            (class, place.unwrap_or_else(|| access.address.clone()))
        });
        accesses.collect()
    };
    class_changes(classes(old), classes(new), new_line)
}

/// Returns the divergent operations that are gone or new. An operation counts as divergent only if both analyses
/// report it: each is sound, so one proof of uniformity suffices.
fn divergence_changes(
    old: &KernelFigures,
    new: &KernelFigures,
    new_line: &BTreeMap<&str, &str>,
) -> ClassChanges {
    let class = |item: &OpReport| {
        let values = item.values.gsa && item.values.agreement;
        let partial = item.partial.gsa && item.partial.agreement;
        // Values decide where lanes go and what they load. A barrier has no value; the presence of all lanes matters
        // there.
        match item.kind {
            ItemKind::Branch if values => Some("divergent branch"),
            ItemKind::Load if values => Some("load from different addresses"),
            ItemKind::Barrier if partial => Some("barrier that some lanes may not reach"),
            _ => None,
        }
    };
    let classes = |figures: &KernelFigures| {
        let items = figures.divergence.iter().filter_map(|item| {
            let place = item.source.clone();
            Some((
                class(item)?.to_owned(),
                place.unwrap_or_else(|| item.at.clone()),
            ))
        });
        items.collect()
    };
    class_changes(classes(old), classes(new), new_line)
}

/// Returns the classes with fewer and with more members, and the places of the difference. Lines of the old build are
/// renamed to the corresponding lines of the new build.
fn class_changes(
    old: Vec<(String, String)>,
    new: Vec<(String, String)>,
    new_line: &BTreeMap<&str, &str>,
) -> ClassChanges {
    let mut counts: BTreeMap<String, [Vec<String>; 2]> = BTreeMap::new();
    for (class, place) in old {
        let place = new_line
            .get(place.as_str())
            .map_or(place.as_str(), |line| line);
        let [before, _] = counts.entry(class).or_default();
        before.push(place.to_owned());
    }
    for (class, place) in new {
        let [_, after] = counts.entry(class).or_default();
        after.push(place);
    }
    let mut changes = ClassChanges::default();
    for (class, [before, after]) in counts {
        let count = before.len().abs_diff(after.len());
        let is_gain = after.len() > before.len();
        let (more, fewer) = if is_gain {
            (after, &before)
        } else {
            (before, &after)
        };
        if count == 0 {
            continue;
        }
        // Each place of the other build cancels one equal place, because a place that both builds have does not
        // explain the difference.
        let mut known = fewer.clone();
        let mut places: Vec<String> = more
            .iter()
            .filter(
                |place| match known.iter().position(|other| other == *place) {
                    Some(at) => {
                        known.remove(at);
                        false
                    }
                    None => true,
                },
            )
            .cloned()
            .collect();
        places.dedup();
        let side = if is_gain {
            &mut changes.gained
        } else {
            &mut changes.lost
        };
        side.push(ClassCountAt {
            class,
            count,
            places,
        });
    }
    changes
}

/// Returns the assumptions of a bound that `other` does not have, by name. Texts are not compared, because they name
/// addresses, which differ from build to build.
fn assumptions_without(one: &KernelBound, other: &KernelBound) -> Vec<BoundAssumption> {
    let all = |bound: &KernelBound| -> Vec<BoundAssumption> {
        let of_cycles = bound.cycles.iter().flat_map(|cycles| &cycles.assumptions);
        bound.assumptions.iter().chain(of_cycles).cloned().collect()
    };
    let known: BTreeSet<&'static str> = all(other).iter().map(|own| own.id).collect();
    let mut own = all(one);
    own.retain(|assumption| !known.contains(assumption.id));
    own
}
