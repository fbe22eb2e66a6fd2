//! Shapes in the run of a program, found in its issues and its decoded instructions, without the generator.

use std::collections::BTreeSet;

use warpbound_isa::TargetStyle;
use warpbound_isa::nvidia::{ExecUnit, LatencyKind, SassInstr, SassProgram};
use warpbound_simulate::timed::{Stall, StallCycles};
use warpbound_testkit::control_words::CountedHeader;

/// Issue of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issued {
    pub(crate) cycle: u64,
    /// Number of the instruction.
    pub(crate) at: usize,
    /// Number of active lanes, and of those in which the condition holds.
    pub(crate) active: u32,
    pub(crate) taken: u32,
    pub(crate) waited: StallCycles,
    /// Sectors of an access to global or local memory.
    pub(crate) sectors: Option<u32>,
}

/// Operation that holds a scoreboard.
#[derive(Clone, Copy)]
struct Raise {
    /// Position in the run, and instruction.
    position: usize,
    at: usize,
    unit: ExecUnit,
    is_load: bool,
}

/// Walk over a run.
struct Census<'a> {
    sass: &'a SassProgram,
    loops: Vec<std::ops::RangeInclusive<usize>>,
    run: &'a [Issued],
    /// Operations that hold each scoreboard and were not awaited.
    held: [Vec<Raise>; 6],
    shapes: BTreeSet<String>,
}

/// Returns the shapes in a run.
pub(crate) fn shapes(
    sass: &SassProgram,
    loops: &[CountedHeader],
    run: &[Issued],
) -> BTreeSet<String> {
    let index = |addr| sass.index_of(addr).expect("an instruction");
    let mut census = Census {
        sass,
        loops: loops
            .iter()
            .map(|l| index(l.header)..=index(l.latch))
            .collect(),
        run,
        held: Default::default(),
        shapes: BTreeSet::new(),
    };
    for position in 0..run.len() {
        census.waits(position);
        census.instruction(position);
        census.pairs(position);
        census.raises(position);
    }
    census.bursts();
    census.shapes
}

/// Text of an instruction without its guard, and whether it has one.
fn text(sass: &SassProgram, instr: &SassInstr) -> (String, bool) {
    let text = sass.text(instr, TargetStyle::Hex).expect("an instruction");
    match text.strip_prefix('@') {
        Some(rest) => (rest.split_once(' ').expect("a guard").1.to_owned(), true),
        None => (text, false),
    }
}

/// Text up to the first blank or modifier.
fn mnemonic(text: &str) -> &str {
    text.split([' ', '.']).next().unwrap_or_default()
}

fn is_load(text: &str) -> bool {
    matches!(mnemonic(text), "LDG" | "LDS" | "LDL" | "LDC")
}

fn is_store(text: &str) -> bool {
    matches!(mnemonic(text), "STG" | "STS" | "STL")
}

impl Census<'_> {
    fn add(&mut self, shape: impl Into<String>) {
        self.shapes.insert(shape.into());
    }

    fn instr(&self, position: usize) -> &SassInstr {
        &self.sass.instrs[self.run[position].at]
    }

    fn text(&self, position: usize) -> String {
        text(self.sass, self.instr(position)).0
    }

    /// Looks at the scoreboards that an instruction waits for.
    fn waits(&mut self, position: usize) {
        let control = self.instr(position).control;
        for scoreboard in (0..6).filter(|n| control.wait_mask >> n & 1 == 1) {
            if !self.held[scoreboard].is_empty() {
                self.add(format!("waited {scoreboard}"));
            }
            self.awaited(position, scoreboard, 0);
        }
        let before = position
            .checked_sub(1)
            .map(|before| self.instr(before).control);
        if before.is_some_and(|control| control.usched == 0) {
            if self.held.iter().flatten().any(|raise| raise.is_load) {
                self.add("drain with a pending load");
            }
            self.held = Default::default();
        }
        let text = self.text(position);
        let Some(operands) = text.strip_prefix("DEPBAR.LE SB") else {
            return;
        };
        let (scoreboard, rest) = operands.split_once(", ").expect("a count");
        let scoreboard: usize = scoreboard.parse().expect("a number");
        let most = rest
            .split(',')
            .next()
            .unwrap_or_default()
            .trim_start_matches("0x");
        let most = usize::from_str_radix(most, 16).expect("a number");
        if self.held[scoreboard].len() > most {
            self.add(format!("depbar leaves {most}"));
            self.add(format!("depbar of {scoreboard}"));
            self.awaited(position, scoreboard, most);
        }
    }

    /// Looks at the operations that a wait for a scoreboard completes, all but the last `left`.
    fn awaited(&mut self, position: usize, scoreboard: usize, left: usize) {
        let held = std::mem::take(&mut self.held[scoreboard]);
        let (done, kept) = held.split_at(held.len().saturating_sub(left));
        if left == 0 && done.len() > 1 {
            self.add("raised twice");
            if done.iter().any(|raise| raise.unit != done[0].unit) {
                self.add("raised by two units");
            }
        }
        let here = self.run[position].at;
        for raise in done {
            for inside in self.loops.clone() {
                match (inside.contains(&raise.at), inside.contains(&here)) {
                    (true, false) if here > *inside.end() => self.add("raised in loop"),
                    (false, true) if raise.at < *inside.start() => self.add("awaited in loop"),
                    _ => {}
                }
            }
            if raise.is_load {
                self.conditional_between(raise.position, position);
            }
        }
        self.held[scoreboard] = kept.to_vec();
    }

    /// Looks for a reconvergence between a load and its wait.
    fn conditional_between(&mut self, load: usize, wait: usize) {
        let lanes = self.run[load].active;
        let between = load + 1..wait;
        let synced = between.clone().any(|p| mnemonic(&self.text(p)) == "SYNC");
        if !synced {
            return;
        }
        let diverged = between.clone().any(|p| self.is_divergent(p));
        if diverged && self.run[wait].active == lanes {
            self.add("load before a conditional");
        }
        if self.run[wait].active > lanes {
            self.add("load in a conditional");
        }
    }

    /// Whether lanes part at a branch.
    fn is_divergent(&self, position: usize) -> bool {
        let issued = self.run[position];
        let parts = issued.taken > 0 && issued.taken < issued.active;
        parts && mnemonic(&self.text(position)) == "BRA"
    }

    /// Looks at one issue.
    fn instruction(&mut self, position: usize) {
        let issued = self.run[position];
        let instr = *self.instr(position);
        let (text, is_guarded) = text(self.sass, &instr);
        self.add(format!("code {}", instr.control.usched));
        self.add(mnemonic(&text));
        if text.contains("c[0x3]") {
            self.add("constant operand of bank 3");
        }
        if instr.control.reuse > 0 {
            self.add("reuse");
        }
        match mnemonic(&text) {
            "BRA" if is_guarded && self.is_divergent(position) => {
                self.add("divergent branch");
                if self.loops.iter().any(|inside| *inside.end() == issued.at) {
                    self.add("loop left by some lanes");
                }
            }
            "BRA" if is_guarded => self.add("uniform branch"),
            "EXIT" if is_guarded && issued.taken > 0 && issued.taken < issued.active => {
                self.add("some lanes exit");
            }
            _ => {}
        }
        let is_local = matches!(mnemonic(&text), "LDL" | "STL");
        let is_wide = text.contains(".128 ");
        match is_local {
            true if is_wide => self.add("local 128 bits"),
            true if text.contains(".64 ") => self.add("local 64 bits"),
            false if is_wide && issued.active > 1 => match issued.sectors {
                Some(1) => self.add("uniform 128 bits"),
                Some(sectors) if sectors > 16 => self.add("diverse 128 bits"),
                _ => {}
            },
            _ => {}
        }
        if issued.waited[Stall::Unit as usize] > 0
            && let Some(timing) = self.sass.timing(&instr)
        {
            self.add(format!("full queue of {:?}", timing.unit).to_lowercase());
        }
        // The same address as an atomic operation a few instructions before, without another in between.
        let address = text.split('[').nth(1).map(str::to_owned);
        if let (true, Some(address)) = (is_load(&text), address) {
            for before in (position.saturating_sub(4)..position).rev() {
                let other = self.text(before);
                let reaches = other
                    .split('[')
                    .nth(1)
                    .is_some_and(|rest| rest.split(']').next() == address.split(']').next());
                match mnemonic(&other) {
                    "ATOM" | "RED" if reaches => self.add("global load after an atomic"),
                    "ATOMS" if reaches => self.add("shared load after an atomic"),
                    "ATOM" | "RED" | "ATOMS" | "LDG" | "LDS" => {}
                    _ => break,
                }
            }
        }
    }

    /// Looks at an instruction with code 16 and the ones after it.
    fn pairs(&mut self, position: usize) {
        if self.instr(position).control.usched != 16 || position + 1 == self.run.len() {
            return;
        }
        let [first, second] = [self.run[position], self.run[position + 1]];
        let waits = self.instr(position + 1).control.wait_mask;
        let waits = (0..6).any(|n| waits >> n & 1 == 1 && !self.held[n].is_empty());
        match second.cycle == first.cycle {
            true => self.add("pair together"),
            false if waits && second.waited[Stall::Memory as usize] > 0 => {
                self.add("pair split by a wait");
            }
            false => {}
        }
        if mnemonic(&self.text(position)) == "BRA" || mnemonic(&self.text(position + 1)) == "BRA" {
            self.add("pair with a branch");
        }
        let next = (position + 1..position + 3).all(|p| {
            self.run
                .get(p)
                .is_some_and(|issued| self.sass.instrs[issued.at].control.usched == 16)
        });
        if next {
            self.add("chain of pairs");
        }
    }

    /// Looks at the scoreboards that an instruction raises.
    fn raises(&mut self, position: usize) {
        let issued = self.run[position];
        let instr = *self.instr(position);
        let Some(timing) = self.sass.timing(&instr) else {
            return;
        };
        let text = self.text(position);
        let raise = Raise {
            position,
            at: issued.at,
            unit: timing.unit,
            is_load: is_load(&text),
        };
        assert!(
            timing.latency != LatencyKind::Fixed
                || instr.control.write_sb.is_none() && instr.control.read_sb.is_none(),
            "{text} raises a scoreboard"
        );
        for (kind, scoreboard) in [
            ("write", instr.control.write_sb),
            ("read", instr.control.read_sb),
        ] {
            if let Some(scoreboard) = scoreboard {
                self.add(format!("{kind} {scoreboard}"));
                self.held[usize::from(scoreboard)].push(raise);
            }
        }
    }

    /// Looks for long sequences of stores, and for long programs.
    fn bursts(&mut self) {
        let executed: BTreeSet<usize> = self.run.iter().map(|issued| issued.at).collect();
        // A control word for three instructions.
        if executed.len() / 3 * 32 > 8 << 10 {
            self.add("more than 8 KiB of code");
        }
        let mut length = 0;
        for position in 0..self.run.len() {
            length = if is_store(&self.text(position)) {
                length + 1
            } else {
                0
            };
            if length > 32 {
                self.add("store burst");
            }
        }
    }
}
