//! Analyses of small programs, one a file of `tests/ir`: what the analyses find stands in comments on the lines.
//!
//! A file is code as text (`warpbound_ir::text`) with three kinds of comments:
//!
//! * `;` says what the program is, in the first line with the figure or the hazard that it shows;
//! * `;:` sets the launch, the model and the parts that are shown (the match in [`Settings::set`] lists them);
//! * `;!` is what the analyses find. `WARPBOUND_BLESS=1 cargo test -p warpbound-testkit --test it ir_files::` writes it,
//!   so a new file needs none. Read every line that changed: a test is only as good as the reading.
//!
//! Random runs of each program are compared with the claims besides, so that an expectation is not wrong in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use warpbound_analyse::divergence::{Chain, DivergenceSource, OpDivergence, QueryKind};
use warpbound_analyse::loop_bounds::{self, LoopVerdict};
use warpbound_analyse::masks::Masks;
use warpbound_analyse::missed_reconvergence::{MissedReconvergence, find_missed_reconvergence};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Divergence, LaunchContext, LaunchRanges, Refusal};
use warpbound_base::Named;
use warpbound_ir::{Cell, Code, ControlEffect, Op, OpIndex, text};
use warpbound_query::KernelFlow;
use warpbound_simt::warp::{
    AgreementDomain, DivergenceOrder, GroupDomain, StackDomain, Via, WarpModel,
};
use warpbound_simt::{AbstractState, NodeId};
use warpbound_testkit::random::WarpCampaign;

/// Parts that a file may show.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    /// Bound of a warp's instructions.
    Bound,
    /// Numbers of nodes and of edges.
    Size,
    /// Headers of loops.
    Loops,
    /// Divergence of branches, in the warp-level graph.
    Branches,
    /// Points at which the paths from divergent branches join.
    Reconvergence,
    /// Steps of the warp after each block.
    Steps,
    /// Agreement of the cells that an operation writes.
    Values,
    /// Divergence from gated single assignment.
    Gated,
    /// Bounds of loops that follow from the code.
    Derived,
    /// Cells that may be stale in lanes that an operation activates.
    Stale,
}

const PARTS: [(&str, Part); 10] = [
    ("derived", Part::Derived),
    ("stale", Part::Stale),
    ("bound", Part::Bound),
    ("size", Part::Size),
    ("loops", Part::Loops),
    ("branches", Part::Branches),
    ("reconvergence", Part::Reconvergence),
    ("steps", Part::Steps),
    ("values", Part::Values),
    ("gated", Part::Gated),
];

/// Settings of a file.
struct Settings {
    launch: LaunchContext,
    model: WarpModel,
    /// Bounds of loops by the address of the first header.
    loops: BTreeMap<u32, u64>,
    /// Bound of the other loops.
    loop_default: Option<u64>,
    parts: BTreeSet<Part>,
}

impl Settings {
    fn read(file: &str, text: &str) -> Settings {
        let mut settings = Settings {
            launch: LaunchContext::default(),
            model: WarpModel {
                may_diverge: true,
                ..WarpModel::default()
            },
            loops: BTreeMap::new(),
            loop_default: None,
            parts: BTreeSet::new(),
        };
        for line in text.lines().filter_map(|line| line.strip_prefix(";:")) {
            let words: Vec<&str> = line.split([' ', ',']).filter(|w| !w.is_empty()).collect();
            let set = settings.set(&words);
            assert!(set.is_some(), "{file}: no such setting: {line}");
        }
        assert!(!settings.parts.is_empty(), "{file} shows nothing");
        settings
    }

    fn set(&mut self, words: &[&str]) -> Option<()> {
        let number = |word: &str| match word.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        match words {
            ["show", parts @ ..] => {
                for word in parts {
                    let part = PARTS.iter().find(|(name, _)| name == word)?;
                    self.parts.insert(part.1);
                }
            }
            ["lanes", lanes] => self.launch.warp_width = number(lanes)?,
            ["block", x, y, z] => self.launch.block = Some([number(x)?, number(y)?, number(z)?]),
            ["order", "taken-first"] => self.model.order = DivergenceOrder::TakenFirst,
            ["order", "fall-through-first"] => self.model.order = DivergenceOrder::FallThroughFirst,
            ["domain", "acyclic-stack"] => self.model.stack = StackDomain::Acyclic,
            ["domain", "no-groups"] => self.model.groups = GroupDomain::Off,
            ["domain", "no-agreement"] => self.model.agreement = AgreementDomain::Off,
            ["domain", "active-agreement"] => self.model.agreement = AgreementDomain::ActiveOnly,
            ["loop", header, bound] => {
                self.loops.insert(number(header)?, number(bound)?.into());
            }
            ["loops", bound] => self.loop_default = Some(number(bound)?.into()),
            _ => return None,
        }
        Some(())
    }

    fn shows(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

/// Findings about a program: about all of it, and by operation.
#[derive(Default)]
struct Findings {
    whole: Vec<String>,
    ops: BTreeMap<OpIndex, Vec<String>>,
}

impl Findings {
    fn of(code: &Code, settings: &Settings) -> Findings {
        let flow = KernelFlow::analyse(code, &settings.launch, &settings.model, &Limits::default());
        let flow = match flow {
            Ok(flow) => flow,
            Err(Refusal { at, reason }) => {
                return Findings {
                    whole: vec![format!("refused at {at}: {reason}")],
                    ops: BTreeMap::new(),
                };
            }
        };
        let dependence = flow.dependence();
        let gated = Divergence::analyse(code, &flow.thread, dependence, &settings.launch);
        let derived =
            loop_bounds::derive(code, &flow.thread, &flow.loops, &LaunchRanges::default());
        let missed = find_missed_reconvergence(code, &flow.thread, &flow.warp, dependence);
        let reader = Reader {
            code,
            settings,
            flow: &flow,
            gated: &gated.items,
            derived: &derived,
            missed: &missed,
        };
        let indexes = (0u32..).map(OpIndex).zip(&code.ops);
        Findings {
            whole: reader.whole(),
            ops: indexes.map(|(at, op)| (at, reader.op(at, op))).collect(),
        }
    }
}

/// Reader of the results of one program.
struct Reader<'a> {
    code: &'a Code,
    settings: &'a Settings,
    flow: &'a KernelFlow,
    gated: &'a [OpDivergence],
    /// By site.
    derived: &'a [LoopVerdict],
    missed: &'a [MissedReconvergence],
}

impl Reader<'_> {
    fn whole(&self) -> Vec<String> {
        let (settings, flow) = (self.settings, self.flow);
        let mut found = Vec::new();
        if settings.shows(Part::Bound) {
            let bound = |at: u32| settings.loops.get(&at).copied().or(settings.loop_default);
            let sites = flow.loops.sites.iter();
            let bounds: Vec<Option<u64>> = sites.map(|site| bound(site.addr().0)).collect();
            found.push(match flow.bound(&bounds) {
                Some(bound) => format!("bound {}", bound.limit()),
                None => "no bound".to_owned(),
            });
            let stated = settings.loops.keys();
            let is_site = |at: &&u32| flow.loops.sites.iter().any(|site| site.addr().0 == **at);
            let unknown: Vec<&u32> = stated.filter(|at| !is_site(at)).collect();
            assert!(unknown.is_empty(), "no loops at {unknown:?}");
        }
        if settings.shows(Part::Size) {
            let reached = |node: &NodeId| flow.warp.state(*node).is_some();
            let nodes = flow.thread.space.ids().filter(reached).count();
            let of_divergence = flow.warp.divergence_edges(&flow.thread).count();
            let edges = flow.warp.edges().count();
            found.push(format!(
                "nodes {nodes}; edges of a thread {}, of a warp {edges}, {of_divergence} of divergence",
                flow.thread.edges().count()
            ));
        }
        found
    }

    /// Findings about an operation.
    fn op(&self, at: OpIndex, op: &Op) -> Vec<String> {
        let space = &self.flow.thread.space;
        let is_executed = |node: &NodeId| {
            self.flow.warp.state(*node).is_some() && space.block(*node).ops().any(|o| o == at)
        };
        let nodes: Vec<NodeId> = space.ids().filter(is_executed).collect();
        if nodes.is_empty() {
            return vec!["never executed".to_owned()];
        }
        let mut found = Vec::new();
        if self.settings.shows(Part::Loops) {
            found.extend(self.loops(op));
        }
        if self.settings.shows(Part::Derived) {
            found.extend(self.derived(op));
        }
        if self.settings.shows(Part::Stale) {
            found.extend(self.stale(at, op, &nodes));
        }
        if self.settings.shows(Part::Values) {
            found.extend(self.values(at, op, &nodes));
        }
        let ends_block = nodes.iter().all(|&node| space.block(node).last == at);
        if ends_block && self.settings.shows(Part::Branches) {
            found.extend(self.branch(op, &nodes));
        }
        if self.settings.shows(Part::Gated) {
            let items = self.gated.iter().filter(|item| item.at == at);
            found.extend(items.map(|item| self.gated(item)));
        }
        if ends_block && self.settings.shows(Part::Reconvergence) {
            found.extend(self.reconvergence(&nodes));
        }
        if ends_block && self.settings.shows(Part::Steps) {
            found.push(self.steps(&nodes));
        }
        found
    }

    fn addr(&self, op: OpIndex) -> String {
        let op = self.code.get(op).expect("an operation");
        op.addr.to_string()
    }

    fn loops(&self, op: &Op) -> Option<String> {
        let mut sites = self.flow.loops.sites.iter();
        let site = sites.find(|site| site.headers.contains(&op.addr))?;
        let list = |addrs: &mut dyn Iterator<Item = String>| addrs.collect::<Vec<_>>().join(", ");
        let latches = list(&mut site.latches.iter().map(ToString::to_string));
        let depth = match site.depth {
            1 => String::new(),
            depth => format!(" of depth {depth}"),
        };
        let headers = match site.headers.len() {
            1 => String::new(),
            _ => {
                let headers = list(&mut site.headers.iter().map(ToString::to_string));
                format!(" with headers {headers}")
            }
        };
        let recursion = site.recursion.map_or("loop", |_| "recursion");
        Some(format!("{recursion}{depth}{headers} from {latches}"))
    }

    fn derived(&self, op: &Op) -> Option<String> {
        let mut sites = self.flow.loops.sites.iter().zip(self.derived);
        let (_, verdict) = sites.find(|(site, _)| site.headers.contains(&op.addr))?;
        Some(match verdict {
            LoopVerdict::Bounded(bound) => format!("derived {}", bound.per_entry),
            LoopVerdict::Unknown(why) => format!("not derived: {why:?}"),
        })
    }

    fn stale(&self, at: OpIndex, op: &Op, nodes: &[NodeId]) -> Option<String> {
        if !matches!(op.control, ControlEffect::SetActive(_)) {
            return None;
        }
        let masks = Masks::compute(self.code, &self.flow.thread).expect("no time limit")?;
        let stale: BTreeSet<Cell> = nodes
            .iter()
            .flat_map(|&node| masks.stale_cells(node, at))
            .collect();
        let names: Vec<String> = stale.iter().map(ToString::to_string).collect();
        Some(match names.as_slice() {
            [] => "none stale".to_owned(),
            names => format!("stale {}", names.join(", ")),
        })
    }

    fn branch(&self, op: &Op, nodes: &[NodeId]) -> Option<String> {
        let is_indirect = matches!(op.control, ControlEffect::Indirect { .. });
        let is_conditional = !op.condition.is_always() && op.control != ControlEffect::Next;
        let divergent = nodes
            .iter()
            .filter(|n| self.flow.warp.divergent.contains(n));
        match (divergent.count(), nodes.len()) {
            (0, _) if !is_indirect && !is_conditional => None,
            (0, _) => Some("uniform".to_owned()),
            (some, all) if some == all => Some("divergent".to_owned()),
            (some, all) => Some(format!("divergent in {some} of {all} contexts")),
        }
    }

    /// Agreement of the active lanes on the written cells, after the operation.
    fn values(&self, at: OpIndex, op: &Op, nodes: &[NodeId]) -> Vec<String> {
        let flow = self.flow;
        let after = |node: NodeId| {
            let block = flow.thread.space.block(node);
            let nth = block.ops().take_while(|&op| op != at).count() + 1;
            let launch = &self.settings.launch;
            let state = flow
                .warp
                .agreement_at(self.code, &flow.thread, launch, node, nth);
            state.expect("an executed node")
        };
        let states: Vec<_> = nodes.iter().map(|&node| after(node)).collect();
        let agrees = |cell: usize| states.iter().all(|state| state.active_agree([cell]));
        let answer = |cell: usize| if agrees(cell) { "agrees" } else { "may differ" };
        let cells = op.writes.iter();
        cells
            .map(|cell| format!("{cell} {}", answer(cell.index())))
            .collect()
    }

    fn gated(&self, item: &OpDivergence) -> String {
        let source = |chain: &Chain| {
            let last = chain.links.last().expect("a link");
            format!("{} at {}", source_text(chain.source), self.addr(last.at))
        };
        let values = match &item.chain {
            Some(chain) => format!("divergent by {}", source(chain)),
            None => "uniform".to_owned(),
        };
        let lanes = match &item.partial_chain {
            Some(chain) => format!(", in some lanes only by {}", source(chain)),
            None => String::new(),
        };
        let kind = match item.kind {
            QueryKind::Branch => "branch",
            QueryKind::Load => "load",
            QueryKind::Barrier => "barrier",
        };
        format!("gated: {kind} {values}{lanes}")
    }

    /// Node at which the paths from a divergent branch join, whether or not its lanes reconverge there, or those nodes
    /// at which they may not although a claim rests on it.
    fn reconvergence(&self, nodes: &[NodeId]) -> Vec<String> {
        let space = &self.flow.thread.space;
        let first = |node: NodeId| self.addr(space.block(node).first);
        let mut found = BTreeSet::new();
        for &node in nodes {
            let is_branch = self.flow.dependence().graph.successors(node.index()).len() > 1;
            if !is_branch || !self.flow.warp.divergent.contains(&node) {
                continue;
            }
            let missed: Vec<_> = self.missed.iter().filter(|m| m.branch == node).collect();
            for missed in &missed {
                let values = if missed.for_values {
                    ", also for values"
                } else {
                    ""
                };
                let point = first(missed.reconvergence);
                found.insert(format!("may miss reconvergence at {point}{values}"));
            }
            let point = self.flow.dependence().live_reconvergence(node.index());
            if missed.is_empty() && point != self.flow.dependence().exit() {
                let point = first(NodeId(point as u32));
                found.insert(format!("paths join at {point}"));
            }
        }
        found.into_iter().collect()
    }

    /// Steps that the warp may take after a block, in all contexts.
    fn steps(&self, nodes: &[NodeId]) -> String {
        let space = &self.flow.thread.space;
        let mut found = BTreeSet::new();
        for step in nodes
            .iter()
            .flat_map(|n| &self.flow.warp.graph.steps[n.index()])
        {
            let to = step.to.map(|to| self.addr(space.block(to).first));
            let to = to.unwrap_or_else(|| "end".to_owned());
            found.insert(match step.via {
                Via::Walk => to,
                Via::Resume(id) => format!("{} {to}", space.entries.get(id).tag.name()),
            });
        }
        let found: Vec<String> = found.into_iter().collect();
        format!("to {}", found.join(", "))
    }
}

/// Source of divergence in words.
fn source_text(source: DivergenceSource) -> String {
    match source {
        DivergenceSource::Entry => "the initial content".to_owned(),
        DivergenceSource::Lane => "a value of each lane".to_owned(),
        DivergenceSource::Special(register) => format!("special.{register}"),
        DivergenceSource::Load(space) => format!("{} memory", space.name()),
        DivergenceSource::Callee => "a function outside the file".to_owned(),
        DivergenceSource::Stack => "the resumed stack entry".to_owned(),
        DivergenceSource::Choice => "the choice of the lane".to_owned(),
    }
}

fn parse(file: &str, text: &str) -> Code {
    let parsed = |text| text::parse(file, text).map_err(|diagnostic| diagnostic.to_string());
    let code = parsed(text).expect("a program");
    assert!(parsed(&text::print(&code)).as_ref() == Ok(&code), "{file}");
    code
}

/// Text of a file with the expectations replaced by findings.
fn with_findings(file: &str, old: &str) -> String {
    let settings = Settings::read(file, old);
    let code = parse(file, old);
    let mut findings = Findings::of(&code, &settings);
    let bare = |line: &str| match line.split_once(";!") {
        Some((code, _)) => code.trim_end().to_owned(),
        None => line.trim_end().to_owned(),
    };
    let is_op = |line: &str| line.starts_with(|c: char| c.is_ascii_digit());
    let lines: Vec<String> = old
        .lines()
        .filter(|line| !line.starts_with(";!"))
        .map(bare)
        .collect();
    // Lines with a comment of their own would push all findings to the right.
    let aligned = |line: &&String| is_op(line) && !line.contains(';');
    let widths = lines.iter().filter(aligned);
    let width = widths.map(|line| line.chars().count()).max().unwrap_or(0);
    let mut new = String::new();
    let mut next = OpIndex(0);
    let mut is_head = true;
    for line in lines {
        if is_head && !line.starts_with(';') {
            is_head = false;
            for found in &findings.whole {
                new.push_str(&format!(";! {found}\n"));
            }
        }
        let mut found = Vec::new();
        if is_op(&line) {
            found = findings.ops.remove(&next).unwrap_or_default();
            next = next.next();
        }
        match found.is_empty() {
            true => new.push_str(&line),
            false => new.push_str(&format!("{line:width$}  ;! {}", found.join("; "))),
        }
        new.push('\n');
    }
    new
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir");
    let entries = std::fs::read_dir(folder).expect("tests/ir is in the repository");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "ir"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 30, "only {} files", paths.len());
    paths
}

#[test]
fn analyses_find_what_the_comments_state() {
    let mut different = Vec::new();
    for path in files() {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let old = std::fs::read_to_string(&path).expect("a text");
        let new = with_findings(&file, &old);
        if std::env::var_os("WARPBOUND_BLESS").is_some() {
            std::fs::write(&path, new).expect("the file is written");
        } else if old != new {
            let lines = old.lines().zip(new.lines());
            let changed = lines.filter(|(old, new)| old != new);
            let changed: Vec<String> = changed.map(|(a, b)| format!("- {a}\n+ {b}\n")).collect();
            different.push(format!("{file}:\n{}", changed.concat()));
        }
    }
    assert!(
        different.is_empty(),
        "{}\nif this should be, run the tests with WARPBOUND_BLESS=1",
        different.join("\n")
    );
}

/// Random runs with random launches and precisions of the analyses; those of synchronisation frames have their own
/// audit (`warpbound_testkit::mini`).
#[test]
fn no_run_contradicts_the_claims() {
    let mut campaign = WarpCampaign::default();
    let mut rng = fastrand::Rng::with_seed(14);
    for path in files() {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("a text");
        let code = parse(&file, &text);
        let has_frames = |op: &Op| matches!(op.control, ControlEffect::Branch { .. });
        // Masks that code keeps have an audit of their own, too (`exec_mask`).
        let has_masks = code.writes_active_mask();
        if !has_masks && !code.ops.iter().any(has_frames) {
            for _ in 0..6 {
                campaign.audit_program(&file, &code, &mut rng, 10);
            }
        }
    }
    assert_eq!(campaign.problems, [""; 0]);
    assert!(campaign.bounded > 500, "only {} runs", campaign.bounded);
    assert!(
        campaign.diverged > 300,
        "only {} diverged",
        campaign.diverged
    );
}
