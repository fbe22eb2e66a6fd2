//! `cargo xtask audit-mutants`: compiled kernels with changed instructions, executed and compared with what is
//! claimed of their counts.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use warpbound_analyse::launch_profile::KnownTransfers;
use warpbound_audit::audit::{DerivedClaims, PathOrder};
use warpbound_audit::{claims, derived_for_all, derived_for_launch, monitor_with_profile};
use warpbound_base::Diagnostic;
use warpbound_bounds::{ProfileOptions, access_classes, bound, stated_loops};
use warpbound_isa::Program;
use warpbound_launch::LaunchFile;
use warpbound_query::{BoundOptions, Contents, KernelFlow, Prepared, Session, StatedLaunches};

use crate::audit_cycles::launches;
use crate::repository::{Repository, files_with_extension};
use crate::workers::for_each_number;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- audit-mutants [--mutants COUNT] [--first NUMBER] [--gfx803]
       [--in DIRECTORY]... [NAME...]

Changes one to three instructions of a compiled kernel, four out of five of them in its loops: bits of an instruction, fields of
immediates, registers, predicates and comparisons, or a copy of another instruction. What still decodes is analysed and executed
in the kernel's launch. Compares each step, stack, agreement and access of each warp, the header executions of each thread with
the bounds that are derived for the launch and for all launches, and the instructions of each warp with the bound of the launch
and, for sm_61, with its own profile, up to the end of the run, its fault or 300,000 instructions. On GCN3, a function that
returns elsewhere breaks the assumption `calling-convention`, and is reported as a step that was not claimed. The kernels are
those of kernels/launches and of the directories (those whose names begin with a NAME, if names are given). Fails on any
contradiction.

  --mutants COUNT   mutants that are executed (2000)
  --first NUMBER    number of the first one (0), to go on where a campaign was stopped
  --gfx803          kernels for GCN3 in place of those for sm_61
  --in DIRECTORY    folder with NAME.toml and NAME.sm_61.cubin, such as kernels/plain
  --keep DIRECTORY  write mutants with a problem, and some for each reason why changes were not executed, there
  --minutes N       begin no mutant after this time
";

/// Maximum number of warp instructions of a run.
const MOST_INSTRUCTIONS: u64 = 300_000;

/// Number of problems that are printed.
const SHOWN: usize = 20;

/// Tries to find a mutant that decodes.
const TRIES: u64 = 50;

/// Words of a reason by which mutants that were not executed are counted.
const WORDS_OF_REASON: usize = 7;

struct Options {
    mutants: u64,
    first: u64,
    extension: &'static str,
    minutes: Option<u64>,
    keep: Option<PathBuf>,
}

/// Launch of a kernel, with its code.
struct Subject {
    name: String,
    contents: Vec<u8>,
    launch: LaunchFile,
    /// Bytes of each instruction in the file, instructions of loops first.
    instructions: Vec<Range<usize>>,
    /// Number of instructions in loops.
    in_loops: usize,
}

/// Findings about all mutants.
#[derive(Default)]
struct Tally {
    executed: u64,
    /// Mutants that no try made: nothing decodes.
    given_up: u64,
    refused: BTreeMap<String, u64>,
    /// A file for each reason and launch, and the files with problems, by name.
    kept: BTreeMap<String, Vec<u8>>,
    ended: u64,
    faulted: u64,
    warps: u64,
    issued: u64,
    /// Loops that some thread entered; loops among them with a bound for the launch; loops whose bound a thread
    /// reached.
    loops: [u64; 3],
    /// The same for bounds for all launches.
    for_all: [u64; 2],
    /// Mutants with a bound of the launch.
    bounded: u64,
    /// Warps that were compared with their profiles.
    profiled: u64,
    problems: Vec<String>,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut options = Options {
        mutants: 2000,
        first: 0,
        extension: "sm_61.cubin",
        minutes: None,
        keep: None,
    };
    let (mut names, mut folders) = (Vec::new(), Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().context("an option without a value");
        match argument.as_str() {
            "--mutants" => options.mutants = value()?.parse()?,
            "--first" => options.first = value()?.parse()?,
            "--minutes" => options.minutes = Some(value()?.parse()?),
            "--keep" => options.keep = Some(PathBuf::from(value()?)),
            "--gfx803" => options.extension = "gfx803.co",
            "--in" => folders.push(PathBuf::from(value()?)),
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name),
        }
    }
    let subjects = subjects(repository, &folders, &names, options.extension)?;
    if subjects.is_empty() {
        bail!("no kernel with these names");
    }
    let end = options.first.saturating_add(options.mutants);
    let begin = std::time::Instant::now();
    let is_over = || {
        let minutes = options.minutes;
        minutes.is_some_and(|minutes| begin.elapsed().as_secs() >= 60 * minutes)
    };
    let find = |nth| {
        if is_over() {
            return None;
        }
        let number = options.first + nth;
        let subject = &subjects[(number % subjects.len() as u64) as usize];
        let audited = catch_unwind(AssertUnwindSafe(|| {
            let mut found = Tally::default();
            subject.audit_mutant(number, &mut found);
            found
        }));
        Some(audited.unwrap_or_else(|_| Tally {
            problems: vec![format!("mutant {number} of {}: a panic", subject.name)],
            ..Tally::default()
        }))
    };
    let add = |total: &mut Tally, _, found: Option<Tally>| {
        if let Some(found) = found {
            total.add(found);
        }
    };
    let total = for_each_number(end - options.first, find, Tally::default(), add);
    total.print(subjects.len());
    if let Some(directory) = &options.keep {
        fs::create_dir_all(directory)?;
        for (name, contents) in &total.kept {
            fs::write(directory.join(name), contents)?;
        }
    }
    match total.problems.len() {
        0 => Ok(()),
        problems => bail!("{problems} problems"),
    }
}

/// Launches with code that is analysed and executed.
fn subjects(
    repository: &Repository,
    folders: &[PathBuf],
    names: &[&str],
    extension: &str,
) -> anyhow::Result<Vec<Subject>> {
    let mut found = Vec::new();
    let mut add = |files: Vec<PathBuf>, built: &Path| -> anyhow::Result<()> {
        for (name, launch) in launches(files, names)? {
            let source = name.split('.').next().unwrap_or_default();
            let Ok(contents) = fs::read(built.join(format!("{source}.{extension}"))) else {
                continue;
            };
            // A kernel of this name, in code that can be analysed.
            if let Ok(subject) = Subject::new(name, contents, launch) {
                found.push(subject);
            }
        }
        Ok(())
    };
    let own = match extension {
        "gfx803.co" => repository.gcn3_launches()?,
        _ => repository.cuda_launches()?,
    };
    add(own, &repository.built_kernels())?;
    for folder in folders {
        add(files_with_extension(folder, "toml")?, folder)?;
    }
    Ok(found)
}

impl Subject {
    fn new(name: String, contents: Vec<u8>, launch: LaunchFile) -> anyhow::Result<Subject> {
        let mut places: [Vec<Range<usize>>; 2] = Default::default();
        with_code(&name, &contents, &launch, |session, prepared| {
            if !prepared.kernel.joined.is_empty() {
                return Err(Diagnostic::new("its code is in several sections"));
            }
            let claims = claims(session, prepared, &of_block(&launch))?;
            let space = &claims.flow.thread.space;
            let mut in_loops = vec![false; prepared.code.ops.len()];
            for site in &claims.flow.loops.loops {
                for &node in &site.body {
                    let block = space.block(node);
                    for at in block.first.0..=block.last.0 {
                        in_loops[at as usize] = true;
                    }
                }
            }
            let start = prepared.kernel.file_offset as usize;
            for (at, in_loop) in in_loops.into_iter().enumerate() {
                if let Some(bytes) = bytes_of(prepared, at) {
                    let place = start + bytes.start..start + bytes.end;
                    places[usize::from(!in_loop)].push(place);
                }
            }
            Ok(())
        })?;
        let [looped, others] = places;
        if looped.is_empty() {
            bail!("no loops");
        }
        Ok(Subject {
            name,
            contents,
            launch,
            in_loops: looped.len(),
            instructions: looped.into_iter().chain(others).collect(),
        })
    }

    /// Makes a mutant and compares its run with what is claimed of it.
    fn audit_mutant(&self, number: u64, found: &mut Tally) {
        for attempt in 0..TRIES {
            let seed = number.wrapping_mul(TRIES).wrapping_add(attempt);
            let contents = self.mutant(&mut fastrand::Rng::with_seed(seed));
            if contents == self.contents {
                continue;
            }
            let done = with_code(&self.name, &contents, &self.launch, |session, prepared| {
                self.compare(number, session, prepared, found)
            });
            match done {
                Ok(()) => {
                    found.executed += 1;
                    if !found.problems.is_empty() {
                        let name = format!("problem.{number}.{}", self.name);
                        found.kept.insert(name, contents);
                    }
                    return;
                }
                Err(why) => {
                    // Addresses and words of instructions differ from mutant to mutant.
                    let words = why.message.split(|c: char| !c.is_alphanumeric());
                    let is_word = |word: &&str| {
                        !word.is_empty() && !word.contains(|c: char| c.is_ascii_digit())
                    };
                    let words: Vec<&str> = words.filter(is_word).take(WORDS_OF_REASON).collect();
                    let name = format!("{}.{}", words.join("-"), self.name);
                    found.kept.entry(name).or_insert(contents);
                    *found.refused.entry(words.join(" ")).or_default() += 1;
                }
            }
        }
        found.given_up += 1;
    }

    /// The file with changed instructions.
    fn mutant(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        let mut contents = self.contents.clone();
        for _ in 0..random.u32(1..=3) {
            let among = match random.u32(0..5) {
                0 => self.instructions.len(),
                _ => self.in_loops,
            };
            let place = self.instructions[random.usize(0..among)].clone();
            let other = self.instructions[random.usize(0..among)].clone();
            let other = contents.get(other).map(<[u8]>::to_vec);
            if let (Some(other), Some(bytes)) = (other, contents.get_mut(place)) {
                change(bytes, &other, random);
            }
        }
        contents
    }

    fn compare(
        &self,
        number: u64,
        session: &Session,
        prepared: &Prepared<'_>,
        found: &mut Tally,
    ) -> Result<(), Diagnostic> {
        let mut claims = claims(session, prepared, &of_block(&self.launch))?;
        claims.accesses = access_classes(session, prepared, &claims.flow, &self.launch)?;
        let for_launch = derived_for_launch(session, prepared, &claims.flow, &self.launch)?;
        let for_all = derived_for_all(session, prepared, &claims.flow)?;
        let options = BoundOptions {
            launches: StatedLaunches::one(&self.launch),
            ..of_block(&self.launch)
        };
        let bound = bound(session, prepared.kernel, &options);
        let bound = bound.map(|bound| bound.verdict.bound());
        let mut random = fastrand::Rng::with_seed(number);
        let (order, contents) = random_choices(&mut random);
        let transfers = claims.flow.known_transfers(&prepared.code);
        let profile = profile_options(&claims.flow, &for_launch, contents, transfers);
        let (run, profiled) = monitor_with_profile(
            session,
            prepared,
            &claims,
            &self.launch,
            order,
            MOST_INSTRUCTIONS,
            &profile,
        )?;
        let seen = run.observations;
        let mut problem = |text: String| {
            found
                .problems
                .push(format!("mutant {number} of {}: {text}", self.name));
        };
        for violation in seen.violations.keys() {
            problem(format!("op {}: {violation}", violation.at.0));
        }
        let has_ended = run.fault.is_none();
        let bound = match bound {
            Ok(bound) => bound,
            // There is no bound of a warp that never ends.
            Err(_) if seen.ended_warps == 0 => None,
            Err(why) => {
                problem(format!("a warp ends: {}", why.message));
                None
            }
        };
        if let Some((ended, profile)) = profiled.wrong {
            problem(format!(
                "{} instructions of warp {:?}, profile {profile:?}",
                ended.issued, ended.warp
            ));
        }
        for (derived, what) in [(&for_launch, "the launch"), (&for_all, "all launches")] {
            for broken in derived.violated(&seen, &for_launch, has_ended) {
                problem(format!("loops of {what}: {broken:?}"));
            }
        }
        for warp in [seen.worst, seen.unfinished].into_iter().flatten() {
            if let Some(bound) = bound.filter(|&bound| u128::from(warp.issued) > bound) {
                problem(format!("{} instructions, bound {bound}", warp.issued));
            }
        }
        found.ended += u64::from(has_ended);
        found.faulted += u64::from(!has_ended);
        found.warps += seen.ended_warps;
        found.issued += seen.issued;
        found.bounded += u64::from(bound.is_some());
        found.profiled += profiled.compared;
        let counts = seen.max_per_entry.iter().enumerate();
        for (site, most) in counts.filter_map(|(site, most)| Some((site, most.as_ref()?))) {
            found.loops[0] += 1;
            let per_entry =
                |claims: &DerivedClaims| claims.bound(site).map(|bound| bound.per_entry);
            let bound = per_entry(&for_launch);
            found.loops[1] += u64::from(bound.is_some());
            found.loops[2] += u64::from(bound == Some(most.count));
            let bound = per_entry(&for_all);
            found.for_all[0] += u64::from(bound.is_some());
            found.for_all[1] += u64::from(bound == Some(most.count));
        }
        Ok(())
    }
}

/// Prepares the launched kernel of a file.
fn with_code(
    name: &str,
    contents: &[u8],
    launch: &LaunchFile,
    then: impl FnOnce(&Session, &Prepared<'_>) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let session = Session::open(name, contents)?;
    let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
    then(&session, &session.prepare(kernel)?)
}

/// Options of the profile of a launch, with the bounds that are derived for it.
fn profile_options(
    flow: &KernelFlow,
    derived: &DerivedClaims,
    contents: Contents,
    transfers: KnownTransfers,
) -> ProfileOptions {
    let sites = derived.verdicts().iter().enumerate();
    let bounds = sites.map(|(site, _)| Some(derived.bound(site)?.per_entry));
    ProfileOptions {
        contents,
        transfers,
        loops: stated_loops(flow, &bounds.collect::<Vec<_>>()),
        ..ProfileOptions::default()
    }
}

fn of_block(launch: &LaunchFile) -> BoundOptions {
    BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    }
}

/// Bytes in its section of the instruction with a number; `None` if their length is not known.
fn bytes_of(prepared: &Prepared<'_>, at: usize) -> Option<Range<usize>> {
    let op = prepared.code.ops.get(at)?;
    let start = op.addr.0 as usize;
    let length = match prepared.program {
        Program::Nvidia(_) => 8,
        _ => {
            let next = prepared.code.ops.get(at + 1)?.addr.0 as usize;
            next.checked_sub(start)
                .filter(|length| [4, 8].contains(length))?
        }
    };
    Some(start..start + length)
}

/// Changes an instruction: bits of it, or fields that it gets from another one.
fn change(bytes: &mut [u8], other: &[u8], random: &mut fastrand::Rng) {
    let bits = 8 * bytes.len();
    let flip = |bytes: &mut [u8], at: usize| {
        if let Some(byte) = bytes.get_mut(at / 8) {
            *byte ^= 1 << (at % 8);
        }
    };
    // Fields of both encodings begin and end at such bits: registers, predicates, immediates, comparisons.
    const FIELDS: [Range<usize>; 7] = [0..8, 8..16, 16..20, 20..28, 20..39, 39..42, 47..52];
    match random.u32(0..10) {
        0 => bytes.copy_from_slice(match other.len() == bytes.len() {
            true => other,
            false => return,
        }),
        1..=3 => flip(bytes, random.usize(0..bits)),
        kind => {
            let field = FIELDS[random.usize(0..FIELDS.len())].clone();
            let field = field.start..field.end.min(bits);
            if field.is_empty() {
                return;
            }
            if kind < 7 {
                flip(bytes, random.usize(field));
                return;
            }
            for at in field {
                let is_set = |bytes: &[u8]| bytes.get(at / 8).map(|byte| byte >> (at % 8) & 1);
                if is_set(bytes) != is_set(other) {
                    flip(bytes, at);
                }
            }
        }
    }
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.executed += other.executed;
        self.given_up += other.given_up;
        self.ended += other.ended;
        self.faulted += other.faulted;
        self.warps += other.warps;
        self.issued += other.issued;
        self.bounded += other.bounded;
        self.profiled += other.profiled;
        for (own, more) in self.loops.iter_mut().zip(other.loops) {
            *own += more;
        }
        for (own, more) in self.for_all.iter_mut().zip(other.for_all) {
            *own += more;
        }
        for (why, count) in other.refused {
            *self.refused.entry(why).or_default() += count;
        }
        self.problems.extend(other.problems);
        self.kept.extend(other.kept);
    }

    fn print(&self, subjects: usize) {
        println!(
            "{} mutants of {subjects} launches executed, {} without a mutant that decodes; {} runs ended, {} were cut off or \
             faulted; {} warps, {} instructions",
            self.executed, self.given_up, self.ended, self.faulted, self.warps, self.issued
        );
        println!(
            "{} mutants with a bound of the launch, {} warps with a profile",
            self.bounded, self.profiled
        );
        let [entered, derived, reached] = self.loops;
        println!(
            "loops that a thread entered {entered}: {derived} with a bound derived for the launch, {reached} reach it; {} with one \
             for all launches, {} reach it",
            self.for_all[0], self.for_all[1]
        );
        println!("changes that were not executed:");
        let mut refused: Vec<_> = self.refused.iter().collect();
        refused.sort_by_key(|&(why, count)| (std::cmp::Reverse(count), why));
        for (why, count) in refused.into_iter().take(SHOWN) {
            println!("{count:>8}  {why}");
        }
        println!("{} problems", self.problems.len());
        for problem in self.problems.iter().take(SHOWN) {
            println!("  {problem}");
        }
    }
}

/// Draws the order of the sides of a branch, and the use of the contents of buffers.
fn random_choices(random: &mut fastrand::Rng) -> (PathOrder, Contents) {
    let order = match random.bool() {
        true => PathOrder::TakenFirst,
        false => PathOrder::FallThroughFirst,
    };
    let contents = match random.bool() {
        true => Contents::AsGiven,
        false => Contents::Any,
    };
    (order, contents)
}
