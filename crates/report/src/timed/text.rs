//! Writer of timed simulations as text.

use crate::functional::text::{lanes, note_line, source};
use crate::numbers::{cycles, duration, hit_rate, rounded_part, share};
use crate::table::{Align, counted, section, table, wrapped};
use crate::terms::MachineTerms;
use crate::timed::{
    CycleChange, InstructionTime, Misses, ParameterOverride, ParameterValue, Rerun,
    SelectionSearch, SimulatedWarp, Stalls, TheoreticalOccupancy, TimedReport, UnpublishedNumber,
};

use Align::{Left, Right};

#[cfg(test)]
mod tests;

/// Maximum number of source lines and of instructions in the text. The ones with the most cycles are shown.
const MAX_SHOWN: usize = 25;

/// Width in characters of a bar that stands for all cycles.
const BAR: u64 = 30;

impl TimedReport {
    /// Returns the report as text: cycles, stall reasons, memory traffic and unpublished parameters. `stats` adds
    /// tables of SMs, lines and instructions, and the reasons for these parameters.
    pub fn text(&self, stats: bool) -> String {
        let mut out = self.header();
        self.write_stalls(&mut out);
        self.write_memory(&mut out);
        if let Some(waves) = &self.waves {
            waves.write(&mut out, stats);
        }
        if stats {
            self.write_statistics(&mut out);
        }
        self.write_sensitivities(&mut out);
        self.write_unpublished(&mut out, stats);
        out
    }

    fn header(&self) -> String {
        let MachineTerms {
            warp, unit, a_unit, ..
        } = self.terms;
        let mut out = format!(
            "kernel {}  ({}, machine {})\n",
            self.kernel, self.file, self.machine
        );
        let lines = [
            format!(
                "{}, {} at {} MHz",
                cycles(self.cycles),
                duration(self.milliseconds),
                self.clock_khz / 1000
            ),
            self.spread_line(),
            self.size_line(),
            format!(
                "scheduler {}, selection {}, caches {}, interlock {}",
                self.scheduler, self.selection, self.caches, self.interlock
            ),
            format!(
                "{} {warp} instructions, {} active lanes on average; diverged {}",
                self.issued.warp_instructions,
                lanes(&self.issued),
                counted(self.divergences as usize, "time")
            ),
            format!(
                "{:.2} {warp} instructions in a cycle; {:.2} on each {unit} while it held blocks ({} of {} did)",
                self.ipc,
                self.ipc_active,
                self.sms.len(),
                counted(self.machine_sms as usize, unit)
            ),
            format!(
                "{:.1} of {} {warp}s on {a_unit} on average ({:.1} %){}",
                self.occupancy.resident_warps,
                self.occupancy.most_warps,
                self.occupancy.achieved * 100.0,
                theoretical_text(&self.occupancy.theoretical)
            ),
        ];
        for line in lines.iter().filter(|line| !line.is_empty()) {
            out.push_str(&format!("  {line}\n"));
        }
        // These selections take one end of each range, whether that is the slow one or not.
        let extreme = match self.selection.as_str() {
            "lo" => Some(("least", "fastest")),
            "hi" => Some(("most", "slowest")),
            _ => None,
        };
        if let Some((which, run)) = extreme {
            out.push_str(&format!(
                "  with the {which} of each number, which need not be the {run} run: for some numbers more is faster\n"
            ));
        }
        if let Some(tried) = &self.selection_search {
            out.push_str(
                // A name and its value must stay in one line.
                &wrapped(2, &search_line(&self.selection, tried)).replace(NO_BREAK_SPACE, " "),
            );
        }
        if !self.set.is_empty() {
            let numbers: Vec<String> = self.set.iter().map(override_text).collect();
            let line = format!("with {}", numbers.join(", "));
            out.push_str(&wrapped(2, &line).replace(NO_BREAK_SPACE, " "));
        }
        if self.checked_elements > 0 {
            let elements = counted(self.checked_elements, "element");
            out.push_str(&format!(
                "  {elements} of buffers are as the launch file expects\n"
            ));
        }
        for note in &self.notes {
            out.push_str(&note_line(note));
        }
        out
    }

    /// Returns the size of the launch, and the warp that ran alone.
    fn size_line(&self) -> String {
        let size = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
        let (blocks, threads) = (size(self.grid), size(self.block));
        let all = format!("{blocks} blocks of {threads} threads");
        match self.only_warp {
            None => all,
            Some(SimulatedWarp { block, warp }) => {
                let noun = self.terms.warp;
                format!("{all}; only {noun} {warp} of block {block} runs")
            }
        }
    }

    /// Formats the range of the cycles when single parameters change.
    fn spread_line(&self) -> String {
        let Some(spread) = &self.spread else {
            return "--sensitivities says how far single assumptions move these cycles".to_owned();
        };
        let swing = |swing: &CycleChange| {
            // A run of 0 cycles must not divide by 0.
            let change = swing.change as f64 * 100.0 / self.cycles.max(1) as f64;
            format!("{change:+.1} % ({} = {})", swing.name, swing.value)
        };
        match (&spread.fewest, &spread.most) {
            (None, None) => "no single assumption moves these cycles".to_owned(),
            (Some(one), None) | (None, Some(one)) => {
                format!("up to {} by single assumptions", swing(one))
            }
            (Some(fewest), Some(most)) => {
                format!("{} to {} by single assumptions", swing(fewest), swing(most))
            }
        }
    }

    fn write_stalls(&self, out: &mut String) {
        let mut named: Vec<(&str, u64)> = self.stalls.named().to_vec();
        named.retain(|(_, cycles)| *cycles > 0);
        named.sort_by_key(|(_, cycles)| std::cmp::Reverse(*cycles));
        let rows = named.into_iter().map(|(name, cycles)| {
            let filled = rounded_part(cycles, self.warp_cycles, BAR);
            vec![
                name.to_owned(),
                cycles.to_string(),
                share(cycles, self.warp_cycles),
                "#".repeat(filled as usize),
            ]
        });
        let cycles = self.warp_cycles_head();
        let head = vec!["where cycles went", &cycles, "share", ""];
        section(out, &[Left, Right, Right, Left], head, rows);
    }

    fn write_memory(&self, out: &mut String) {
        let rows = self.shared.iter().map(|shared| {
            let mut row = vec![self.terms.shared.to_owned(), shared.access.to_owned()];
            row.extend(
                [shared.accesses, shared.transactions, shared.conflicts].map(|n| n.to_string()),
            );
            row
        });
        let head = vec!["memory", "", "accesses", "transactions", "for conflicts"];
        section(out, &[Left, Left, Right, Right, Right], head, rows);
        let rows = self.memory.iter().map(|memory| {
            let mut row = vec![memory.space.to_owned(), memory.access.to_owned()];
            row.extend(
                [
                    memory.accesses,
                    memory.requests,
                    memory.sectors,
                    memory.bytes,
                ]
                .map(|n| n.to_string()),
            );
            row.push(hit_rate(memory.l1_hits, memory.l1_lookups));
            row.push(hit_rate(memory.l2_hits, memory.l2_lookups));
            row.extend([memory.dram_sectors, memory.tlb_misses].map(|n| n.to_string()));
            row
        });
        let mut columns = vec![Left, Left];
        columns.extend([Right; 8]);
        let head = vec![
            "memory",
            "",
            "accesses",
            "requests",
            "sectors",
            "bytes",
            "L1 hits",
            "L2 hits",
            "DRAM",
            "TLB misses",
        ];
        section(out, &columns, head, rows);
        let misses = [
            ("constants", self.constant_misses),
            ("instructions", self.instruction_misses),
        ];
        let missed = |misses: Misses| misses != Misses::default();
        let rows = misses
            .into_iter()
            .filter(|(_, m)| missed(*m))
            .map(|(name, m)| {
                let mut row = vec![name.to_owned()];
                row.extend([m.second, m.l2, m.dram].map(|n| n.to_string()));
                row
            });
        let head = vec!["missed the first cache, found in", "second", "L2", "DRAM"];
        section(out, &[Left, Right, Right, Right], head, rows);
    }

    fn write_statistics(&self, out: &mut String) {
        let rows = self.sms.iter().map(|sm| {
            vec![
                sm.sm.to_string(),
                sm.blocks.to_string(),
                sm.active_cycles.to_string(),
                sm.warp_instructions.to_string(),
                format!("{:.2}", sm.ipc),
                format!("{:.1}", sm.resident_warps),
            ]
        });
        let MachineTerms { warp, unit, .. } = self.terms;
        let (instructions, warps) = (format!("{warp} instructions"), format!("{warp}s"));
        let head = vec![
            unit,
            "blocks",
            "active cycles",
            &instructions,
            "per cycle",
            &warps,
        ];
        section(out, &[Right; 6], head, rows);
        let rows = self.lines.iter().take(MAX_SHOWN).map(|line| {
            let mut row = vec![source(&line.source)];
            row.extend(self.time_cells(line.warp_instructions, line.warp_cycles, &line.stalls));
            row
        });
        let cycles = self.warp_cycles_head();
        let head = vec!["line", "issued", &cycles, "share", "mostly"];
        section(out, &[Left, Right, Right, Right, Left], head, rows);
        self.write_omitted(
            out,
            self.lines.iter().skip(MAX_SHOWN).map(|l| l.warp_cycles),
            "line",
        );
        let row = |at: &InstructionTime| {
            let mut row = vec![at.address.clone()];
            row.extend(self.time_cells(at.warp_instructions, at.warp_cycles, &at.stalls));
            row.push(at.text.clone());
            row
        };
        let rows = self.instructions.iter().take(MAX_SHOWN).map(row);
        let head = vec!["issue of", "issued", &cycles, "share", "mostly", ""];
        section(out, &[Left, Right, Right, Right, Left, Left], head, rows);
        let left = self
            .instructions
            .iter()
            .skip(MAX_SHOWN)
            .map(|at| at.warp_cycles);
        self.write_omitted(out, left, "instruction");
    }

    /// Returns the head of the column of warp cycles.
    fn warp_cycles_head(&self) -> String {
        format!("{} cycles", self.terms.warp)
    }

    /// Returns the cells of issues, of cycles, of their share, and of their most frequent stall reason.
    fn time_cells(&self, issued: u64, cycles: u64, stalls: &Stalls) -> [String; 4] {
        [
            issued.to_string(),
            cycles.to_string(),
            share(cycles, self.warp_cycles),
            main_stall(stalls, cycles),
        ]
    }

    /// Appends the number of rows that are not shown, and their share of the cycles.
    fn write_omitted(&self, out: &mut String, left: impl Iterator<Item = u64>, noun: &str) {
        let (mut count, mut cycles) = (0, 0);
        for took in left {
            count += 1;
            cycles += took;
        }
        if count > 0 {
            let share = share(cycles, self.warp_cycles);
            let noun = counted(count, noun);
            out.push_str(&format!(
                "    and {noun} with {share} of the cycles together\n"
            ));
        }
    }

    fn write_sensitivities(&self, out: &mut String) {
        let Some(sensitivities) = &self.sensitivities else {
            return;
        };
        let rows = sensitivities.iter().filter(|s| s.largest() > 0).map(|s| {
            let mut row = vec![s.name.clone(), s.value.to_string()];
            for rerun in [&s.least, &s.most] {
                row.extend(self.rerun_cells(rerun));
            }
            row
        });
        let columns = [Left, Right, Right, Right, Right, Right, Right, Right];
        let head = vec![
            "sensitive to",
            "taken",
            "least",
            "cycles",
            "change",
            "most",
            "cycles",
            "change",
        ];
        section(out, &columns, head, rows);
        let same = sensitivities.iter().filter(|s| s.largest() == 0);
        let same: Vec<&str> = same.map(|s| s.name.as_str()).collect();
        if !same.is_empty() {
            let line = format!(
                "no other cycles with the least or the most of {}",
                same.join(", ")
            );
            out.push('\n');
            out.push_str(&wrapped(4, &line));
        }
        // Without this line the report would look as if no sensitivities had been requested.
        if sensitivities.is_empty() {
            out.push_str("\n    no parameter that the simulation used has a range\n");
        }
    }

    /// Returns the cells of a value, of its cycles, and of their change.
    fn rerun_cells(&self, rerun: &Rerun) -> [String; 3] {
        let change = rerun.change.map_or_else(String::new, |change| {
            let sign = match change {
                0 => return "-".to_owned(),
                // A sign is written even for a change that rounds to 0.00.
                ..0 => '-',
                _ => '+',
            };
            let of = self.cycles.max(1) as f64;
            format!("{sign}{:.2} %", change.unsigned_abs() as f64 * 100.0 / of)
        });
        let cycles = rerun.cycles.map_or("no end".to_owned(), |n| n.to_string());
        [rerun.value.to_string(), cycles, change]
    }

    /// Appends the names, values and ranges of the unpublished parameters. With `sources`, each has a row and its
    /// reason.
    fn write_unpublished(&self, out: &mut String, sources: bool) {
        if self.assumptions.is_empty() {
            return;
        }
        if !sources {
            let items: Vec<String> = self.assumptions.iter().map(parameter_text).collect();
            let noun = match items.len() {
                1 => "1 parameter without a published source (--stats gives the reason)".to_owned(),
                n => {
                    format!("{n} parameters without a published source (--stats gives the reasons)")
                }
            };
            out.push_str(&format!("\n    {noun}\n"));
            out.push_str(&wrapped(4, &items.join(", ")).replace(NO_BREAK_SPACE, " "));
            return;
        }
        let row = |assumption: &UnpublishedNumber| {
            vec![
                assumption.name.clone(),
                value_text(&assumption.value),
                assumption.unit.unwrap_or("").to_owned(),
                range(assumption),
                assumption.provenance.to_owned(),
            ]
        };
        let head = ["unpublished parameter", "taken", "", "range", ""];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.assumptions.iter().map(row));
        let text = table(4, &[Left, Right, Left, Left, Left], &rows);
        let whys = self.assumptions.iter().map(|of| wrapped(8, &of.source));
        out.push('\n');
        // The row of the column heads has no reason.
        for (line, why) in text.lines().zip(std::iter::once(String::new()).chain(whys)) {
            out.push_str(&format!("{line}\n{why}"));
        }
    }
}

/// Placeholder for a space at which lines are not broken. A real no-break space would stay in the output.
const NO_BREAK_SPACE: &str = "\u{1}";

/// Formats a parameter with its range: `issue.wake 0 (0 to 2)`.
fn parameter_text(assumption: &UnpublishedNumber) -> String {
    let range_text = match range(assumption) {
        range if range.is_empty() => range,
        range => format!(" ({range})"),
    };
    let text = format!(
        "{} {}{range_text}",
        assumption.name,
        value_text(&assumption.value)
    );
    text.replace(' ', NO_BREAK_SPACE)
}

/// Formats a parameter that the user set: `shared.latency 30 instead of 23`.
fn override_text(number: &ParameterOverride) -> String {
    let [value, before] = [number.value, number.instead_of].map(|n| n.to_string());
    let text = format!("{} {value} instead of {before}", number.name);
    text.replace(' ', NO_BREAK_SPACE)
}

/// Formats the outcome of the search over parameters without a slow end.
fn search_line(pick: &str, tried: &SelectionSearch) -> String {
    let mut line = format!("with the {pick} end of each number");
    let changed = tried.numbers.iter().filter(|n| n.value != n.typical);
    let changed: Vec<String> = changed
        .map(|n| format!("{} {}", n.name, n.value).replace(' ', NO_BREAK_SPACE))
        .collect();
    if !tried.numbers.is_empty() {
        let count = counted(tried.numbers.len(), "number");
        line.push_str(&format!(
            "; of {count} without one, tried one by one, the {pick}est value"
        ));
        match changed.as_slice() {
            [] => line.push_str(" is the typical one"),
            changed => line.push_str(&format!(": {}", changed.join(", "))),
        }
    }
    if !tried.skipped.is_empty() {
        let names = tried.skipped.join(", ");
        line.push_str(&format!("; typical, as the run is long: {names}"));
    }
    line
}

/// Formats the theoretical occupancy and its limiting resource.
fn theoretical_text(theoretical: &TheoreticalOccupancy) -> String {
    format!(
        "; {} fit, in {}, limited by {}",
        theoretical.warps,
        counted(theoretical.blocks as usize, "block"),
        theoretical.limiter
    )
}

/// Formats the most frequent stall reason and its share of the cycles.
fn main_stall(stalls: &Stalls, cycles: u64) -> String {
    let named = stalls.named();
    // `max_by_key` returns the last of equal maxima. The reversed order makes that the first reason.
    let most = named.iter().rev().max_by_key(|(_, cycles)| *cycles);
    match most {
        Some((name, most)) if *most > 0 => {
            format!("{name} {} %", rounded_part(*most, cycles, 100))
        }
        _ => String::new(),
    }
}

fn value_text(taken: &ParameterValue) -> String {
    match taken {
        ParameterValue::Number(number) => number.to_string(),
        ParameterValue::Choice(choice) => choice.clone(),
    }
}

/// Formats the range of a number as `0 to 10`; empty for a single value.
fn range(assumption: &UnpublishedNumber) -> String {
    match (assumption.least, assumption.most) {
        (Some(least), Some(most)) if least < most => {
            format!("{} to {}", least, most)
        }
        _ => String::new(),
    }
}
