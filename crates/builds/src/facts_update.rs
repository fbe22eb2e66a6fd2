//! Facts of another build: which of them hold for a new one, and why others are asked again (SOUNDNESS 5.15).
//!
//! For example, a new build inserts a store into a loop. The code that decides the number of iterations is the same,
//! so the bound is carried over to the new address of the header. If the limit of the loop changes, the bound is
//! asked for again, with the old number in a comment.

mod carried_accesses;

use std::path::Path;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::Diagnostic;
use warpbound_ipet::facts::{FactIdentity, KernelLines, format_call, format_call_with};
use warpbound_ipet::{FactsFile, KernelFacts, LoopFact, LoopName, LoopNumbers};
use warpbound_load::Kernel;

use warpbound_query::{BoundOptions, ImageSelection, KernelFlow, Session, input};
use warpbound_query::{prepared::Prepared, prepared::loop_names};

use warpbound_bounds::facts::identity::{IdentifiedFact, identify_loops};
use warpbound_bounds::facts::{FactsExtent, facts_template, loop_line, shared_header_note};

use carried_accesses::complete_accesses;

/// Facts of an earlier build, which are carried over to the kernels of a new one.
pub struct FactsUpdate {
    old: FactsFile,
    /// Positions of the old facts that were compared with a kernel of the new build.
    compared: BTreeSet<usize>,
    /// Positions of the old facts whose fingerprints were computed from the old binary.
    completed: BTreeSet<usize>,
}

/// Fact about a loop of the old build, and whether a loop of the new build has used it.
struct OldLoop<'a> {
    fact: &'a LoopFact,
    is_used: bool,
}

/// Outcome for a loop of the new build.
enum Outcome {
    /// The fact of an old loop holds.
    Carried(usize),
    /// The fact has to be stated again; the old loop, if it is known, and the reason.
    AskedAgain(Option<usize>, String),
    /// No old loop is like it.
    New,
}

impl FactsUpdate {
    /// Reads the facts of an earlier build, with the build itself if it is given.
    ///
    /// # Errors
    ///
    /// The file cannot be read or used.
    pub fn read(old: &Path, before: Option<&Path>) -> Result<FactsUpdate, Diagnostic> {
        let name = old.display().to_string();
        let mut update = FactsUpdate::new(FactsFile::parse(&name, &input::text(old)?)?);
        let Some(before) = before else {
            return Ok(update);
        };
        let library = input::library(before)?;
        for item in library.kernels(&library.select(&ImageSelection::default())?, None) {
            // Facts cannot be about an image or a kernel that cannot be read.
            let Ok((session, index)) = item else {
                continue;
            };
            if let Ok(kernel) = session.kernel_at(index) {
                update.complete(&session, kernel)?;
            }
        }
        update.check_completed(library.name())?;
        Ok(update)
    }

    /// Returns an update from the facts of an earlier build.
    pub fn new(old: FactsFile) -> FactsUpdate {
        FactsUpdate {
            old,
            compared: BTreeSet::new(),
            completed: BTreeSet::new(),
        }
    }

    /// Computes fingerprints that the facts lack, from a kernel of the build that they were stated about. Does
    /// nothing for a kernel without facts.
    ///
    /// # Errors
    ///
    /// The kernel is refused, or a fact is about a loop that it does not have.
    pub fn complete(&mut self, session: &Session, kernel: &Kernel) -> Result<(), Diagnostic> {
        let digest = kernel.code_digest();
        let names = [kernel.name.to_string(), kernel.demangled()];
        let is_about = |facts: &KernelFacts| facts.code == digest && names.contains(&facts.name);
        let mut found = self.old.kernels_mut().iter_mut().enumerate();
        let Some((position, facts)) = found.find(|(_, facts)| is_about(facts)) else {
            return Ok(());
        };
        let prepared = session.prepare(kernel)?;
        let options = BoundOptions::default();
        let launch = options
            .launch(kernel, session.image.isa())
            .map_err(|d| session.locate(d))?;
        let flow = session.flow(&prepared, &launch, &options)?;
        let names = loop_names(&flow.loops);
        // A fact about a loop that the kernel does not have is an error.
        facts.numbers(&names)?;
        let prints = identify_loops(&session.image, &prepared, &flow);
        for fact in facts.loops_mut() {
            let named = |(name, _): &(&LoopName, &IdentifiedFact)| is_named(fact, name);
            if let Some((_, print)) = names.iter().zip(&prints).find(named) {
                fact.identity = print.identity.clone();
            }
        }
        complete_accesses(session, &prepared, &flow, facts)?;
        self.completed.insert(position);
        Ok(())
    }

    /// Checks that the earlier build has some kernel of the facts; `file` is its name.
    ///
    /// # Errors
    ///
    /// The build has none of them.
    pub fn check_completed(&self, file: &str) -> Result<(), Diagnostic> {
        match self.old.kernels().first() {
            Some(facts) if self.completed.is_empty() => Err(facts.locate(Diagnostic::new(
                format!("{file} has no kernel with the code that a fact is about"),
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the lines about the old facts that were compared with no kernel.
    ///
    /// # Errors
    ///
    /// No kernel of the facts was compared.
    pub fn finish(&self) -> Result<String, Diagnostic> {
        let all = self.old.kernels().iter().enumerate();
        let left = all.filter(|(position, _)| !self.compared.contains(position));
        let mut text = String::new();
        for (_, facts) in left {
            if self.compared.is_empty() {
                let message = format!("no kernel to update is {}", facts.name);
                return Err(facts.locate(Diagnostic::new(message)));
            }
            let _ = write!(
                text,
                "\n# kernel {} gone, with its facts: no kernel has the name\n",
                facts.name
            );
        }
        Ok(text)
    }

    /// Returns the positions of the old facts about a kernel: the facts about its present code, or else all facts
    /// about a kernel of its name.
    fn facts_of(&self, kernel: &Kernel) -> Vec<usize> {
        let (demangled, digest) = (kernel.demangled(), kernel.code_digest());
        let all = self.old.kernels().iter().enumerate();
        let named = all.filter(|(_, k)| k.name == *kernel.name || k.name == demangled);
        let named: Vec<(usize, &KernelFacts)> = named.collect();
        let present = named.iter().filter(|(_, k)| k.code == digest);
        let present: Vec<usize> = present.map(|&(position, _)| position).collect();
        match present.is_empty() {
            true => named.iter().map(|&(position, _)| position).collect(),
            false => present,
        }
    }
}

/// Returns the lines of a facts file for a kernel, with the old facts that hold for it. A list comes before them:
/// what was carried over, what has to be stated again, what is new and what is gone.
///
/// # Errors
///
/// See [`Session::prepare`]; an old fact about the present code is about a loop that it does not have.
pub fn updated_facts(
    session: &Session,
    kernel: &Kernel,
    update: &mut FactsUpdate,
) -> Result<String, Diagnostic> {
    let positions = update.facts_of(kernel);
    if positions.is_empty() {
        let (options, extent) = (BoundOptions::default(), FactsExtent::Loops);
        return facts_template(session, kernel, &options, extent);
    }
    update.compared.extend(&positions);
    let old = positions
        .iter()
        .filter_map(|&p| update.old.kernels().get(p));
    let old: Vec<&KernelFacts> = old.collect();
    let prepared = session.prepare(kernel)?;
    let options = BoundOptions::default();
    let launch = options
        .launch(kernel, session.image.isa())
        .map_err(|d| session.locate(d))?;
    let flow = KernelFlow::analyse(&prepared.code, &launch, &options.model, &Limits::default());
    let flow = match flow {
        Ok(flow) => flow,
        Err(refusal) => {
            return Ok(format!(
                "\n{}",
                warpbound_bounds::facts::refused(kernel, &refusal)
            ));
        }
    };
    let new = NewKernel {
        session,
        prints: identify_loops(&session.image, &prepared, &flow),
        names: loop_names(&flow.loops),
        prepared: &prepared,
        flow: &flow,
    };
    let text = match old.as_slice() {
        [facts] if facts.code == kernel.code_digest() => new.unchanged(facts)?,
        _ => new.updated(&old),
    };
    Ok(format!("\n{text}"))
}

/// Kernel of the new build.
pub(super) struct NewKernel<'a> {
    pub(super) session: &'a Session,
    pub(super) prepared: &'a Prepared<'a>,
    pub(super) flow: &'a KernelFlow,
    names: Vec<LoopName>,
    prints: Vec<IdentifiedFact>,
}

impl NewKernel<'_> {
    /// Returns the lines of a kernel whose code is the code that the facts are about: all of them.
    fn unchanged(&self, facts: &KernelFacts) -> Result<String, Diagnostic> {
        let kernel = self.prepared.kernel;
        let numbers = facts.numbers(&self.names)?;
        let loops = self.loop_lines(&numbers);
        let never: Vec<String> = facts.never().map(|never| never.to_string()).collect();
        let calls = self.flow.external_names();
        let calls = calls
            .iter()
            .map(|name| format_call_with(name, facts.call(name)));
        let calls: Vec<String> = calls.collect();
        let (name, digest) = (kernel.demangled(), kernel.code_digest());
        let accesses = self.same_accesses(facts)?;
        let lines = KernelLines {
            signed_off_by: facts.signed_off_by.as_deref(),
            loops: &loops,
            accesses: &accesses,
            calls: &calls,
            never: &never,
            ..KernelLines::new(&name, &digest)
        };
        Ok(format!(
            "# kernel {name}: the code is the same, all facts carried\n{}",
            lines.format()
        ))
    }

    /// Returns the lines of a kernel with other code than the code that the facts are about.
    fn updated(&self, old: &[&KernelFacts]) -> String {
        let kernel = self.prepared.kernel;
        let (name, digest) = (kernel.demangled(), kernel.code_digest());
        let loops = old.iter().flat_map(|facts| facts.loops());
        let mut loops: Vec<OldLoop<'_>> = loops
            .map(|fact| OldLoop {
                fact,
                is_used: false,
            })
            .collect();
        let outcomes = self.match_loops(&mut loops);
        let numbers: Vec<LoopNumbers> = outcomes
            .iter()
            .map(|outcome| match outcome {
                Outcome::Carried(old) => loops.get(*old).map(|l| l.fact.numbers),
                Outcome::AskedAgain(..) | Outcome::New => None,
            })
            .map(Option::unwrap_or_default)
            .collect();
        let mut text = self.summary(&name, &outcomes, &loops);
        let calls: Vec<String> = self
            .flow
            .external_names()
            .iter()
            .map(|name| format_call(name))
            .collect();
        for facts in old {
            // These facts name addresses of the old code. The cost of a call depends on the arguments that the kernel
            // passes.
            for never in facts.never() {
                let _ = writeln!(
                    text,
                    "#   never {never} asked again: an address of other code"
                );
            }
            for call in facts.calls() {
                let _ = writeln!(
                    text,
                    "#   call {} asked again, was {}: other code may pass other arguments",
                    call.name,
                    number(call.instructions)
                );
            }
            if let Some(name) = &facts.signed_off_by {
                let _ = writeln!(text, "#   signed off by {name} for code {}", facts.code);
            }
        }
        let lines = self.loop_lines(&numbers);
        let accesses = self.carried_accesses(old, &mut text);
        if lines.is_empty() && calls.is_empty() && accesses.is_empty() {
            return text;
        }
        let is_carried =
            !accesses.is_empty() || outcomes.iter().any(|o| matches!(o, Outcome::Carried(_)));
        // The signature is for the old code, so `bound` refuses the carried facts until a person has reviewed them.
        let is_signed = old.iter().any(|facts| facts.signed_off_by.is_some());
        let lines = KernelLines {
            status: (is_carried && is_signed).then_some(FactsFile::UNREVIEWED),
            loops: &lines,
            accesses: &accesses,
            calls: &calls,
            ..KernelLines::new(&name, &digest)
        };
        text.push_str(&lines.format());
        text
    }

    fn loop_lines(&self, numbers: &[LoopNumbers]) -> Vec<String> {
        let sites = self.names.iter().zip(&self.flow.loops.sites);
        let prints = self.prints.iter().zip(numbers);
        let all = sites.zip(prints);
        all.map(|((name, site), (print, numbers))| {
            let mut line = loop_line(self.prepared, name, site);
            line.identity = print.identity.clone();
            let line = line.format_line_with(*numbers);
            match shared_header_note(self.prepared, name, site) {
                Some(note) => format!("# {note}\n    {line}"),
                None => line,
            }
        })
        .collect()
    }

    /// Finds, for each loop, the old loop whose fact holds for it.
    fn match_loops(&self, old: &mut [OldLoop<'_>]) -> Vec<Outcome> {
        let mut outcomes: Vec<Outcome> = self
            .prints
            .iter()
            .map(|new| carried_from(new, old))
            .collect();
        let is_open = |outcome: &Outcome| matches!(outcome, Outcome::New);
        let is_unknown = |l: &&OldLoop<'_>| !l.is_used && l.fact.identity.decides.is_none();
        // An old loop without a fingerprint may be any of the new ones.
        let lacks = old.iter().any(|l| is_unknown(&l));
        let unmatched: Vec<usize> = (0..old.len()).filter(|&i| !old[i].is_used).collect();
        let open: Vec<usize> = (0..outcomes.len())
            .filter(|&i| is_open(&outcomes[i]))
            .collect();
        for (rank, &new) in open.iter().enumerate() {
            let same_body = |&&i: &&usize| {
                !old[i].is_used && old[i].fact.identity.body == self.prints[new].identity.body
            };
            // If as many old as new loops are left, their order is the best guess. Only the comment rests on it.
            let by_rank = unmatched
                .get(rank)
                .filter(|_| unmatched.len() == open.len());
            let was = unmatched.iter().find(same_body).or(by_rank).copied();
            let was = was.filter(|&i| !old[i].is_used);
            let reason = match (was.and_then(|i| old.get(i)), self.prints[new].obstacle) {
                (_, Some(obstacle)) => obstacle.to_string(),
                (Some(was), None) => changed(&was.fact.identity, &self.prints[new].identity),
                (None, None) if lacks => NO_FINGERPRINT.to_owned(),
                (None, None) => continue,
            };
            if let Some(was) = was.and_then(|i| old.get_mut(i)) {
                was.is_used = true;
            }
            outcomes[new] = Outcome::AskedAgain(was, reason);
        }
        outcomes
    }

    /// Returns the list of what became of the facts about loops, as comments.
    fn summary(&self, kernel: &str, outcomes: &[Outcome], old: &[OldLoop<'_>]) -> String {
        let count = |choose: fn(&Outcome) -> bool| outcomes.iter().filter(|o| choose(o)).count();
        let gone: Vec<&OldLoop<'_>> = old.iter().filter(|l| !l.is_used).collect();
        let mut text = format!(
            "# kernel {kernel}: {} carried, {} asked again, {} new, {} gone\n",
            count(|o| matches!(o, Outcome::Carried(_))),
            count(|o| matches!(o, Outcome::AskedAgain(..))),
            count(|o| matches!(o, Outcome::New)),
            gone.len()
        );
        let loops = self.names.iter().zip(&self.prints);
        for ((name, print), outcome) in loops.zip(outcomes) {
            let was = |i: usize| old.get(i).map(|l| old_name(l.fact)).unwrap_or_default();
            let _ = write!(text, "#   {} at {} ", name.id, name.at);
            let _ = match outcome {
                Outcome::Carried(i) => {
                    let body = old.get(*i).map(|l| &l.fact.identity.body);
                    let note = match body == Some(&print.identity.body) {
                        true => "",
                        false => "; its other code changed",
                    };
                    writeln!(text, "carried from {}{note}", was(*i))
                }
                Outcome::AskedAgain(Some(i), why) => {
                    writeln!(text, "asked again, was {}: {why}", was(*i))
                }
                Outcome::AskedAgain(None, why) => writeln!(text, "asked again: {why}"),
                Outcome::New => writeln!(text, "new: no old loop without a successor is left"),
            };
        }
        for l in gone {
            let _ = writeln!(text, "#   {} gone: no loop is like it", old_name(l.fact));
        }
        text
    }
}

/// Reason to ask again where the old facts have no fingerprint.
pub(super) const NO_FINGERPRINT: &str =
    "the old facts have no fingerprint, which --before computes from the old binary";

/// Returns the outcome for a loop of the new build, and marks the old loop whose fact it takes over.
fn carried_from(new: &IdentifiedFact, old: &mut [OldLoop<'_>]) -> Outcome {
    let Some(decides) = &new.identity.decides else {
        return Outcome::New;
    };
    let identity = |i: usize| &old[i].fact.identity;
    let like = (0..old.len()).filter(|&i| identity(i).decides.as_ref() == Some(decides));
    let mut like: Vec<usize> = like.collect();
    // All of them have the same counts. The one with the same body is most likely the same loop of the source.
    like.sort_by_key(|&i| identity(i).body != new.identity.body);
    let Some(&first) = like.first() else {
        return Outcome::New;
    };
    let numbers = old[first].fact.numbers;
    let is_clear = like.iter().all(|&i| old[i].fact.numbers == numbers);
    // The next unused one, so that the list names each once.
    let from = like
        .iter()
        .copied()
        .find(|&i| !old[i].is_used)
        .unwrap_or(first);
    old[from].is_used = true;
    match is_clear {
        false => Outcome::AskedAgain(
            Some(from),
            "several old loops with different facts have its fingerprint".to_owned(),
        ),
        true if numbers == LoopNumbers::default() => {
            Outcome::AskedAgain(Some(from), "it had no number".to_owned())
        }
        true => Outcome::Carried(from),
    }
}

/// Returns the difference of two fingerprints in words.
fn changed(old: &FactIdentity, new: &FactIdentity) -> String {
    let text = match (&old.decides, old.body == new.body) {
        (None, _) => NO_FINGERPRINT,
        (Some(_), true) => "the code that decides its count changed, its own code is the same",
        (Some(_), false) => "its code and the code that decides its count changed",
    };
    text.to_owned()
}

/// Returns the name and the numbers of an old fact.
fn old_name(fact: &LoopFact) -> String {
    let LoopNumbers { bound, total } = fact.numbers;
    let id = fact.id.as_deref().unwrap_or("the loop");
    let total = match total {
        Some(total) => format!(", total = {total}"),
        None => String::new(),
    };
    format!("{id} at {} (bound = {}{total})", fact.at, number(bound))
}

fn number(number: Option<u64>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

/// Whether a fact is about the loop with this name. A fact without an `id` is about all loops at its address.
fn is_named(fact: &LoopFact, name: &LoopName) -> bool {
    name.at == fact.at && fact.id.as_ref().is_none_or(|id| *id == name.id)
}
