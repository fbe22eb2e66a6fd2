//! Timed simulation of a launch as one page of HTML.

use std::fmt::Write as _;

use crate::functional::html::note_text;
use crate::html::{HtmlCell, HtmlTable, escaped, foot, head, list, number, size};
use crate::timed::html_code::run_code;
use crate::timed::waves::{SplittingReport, WaveReport};
use crate::timed::{
    LineTime, Misses, ParameterValue, Rerun, SimulatedWarp, TheoreticalOccupancy, TimedReport,
};

impl TimedReport {
    /// Returns the report as one page of HTML: cycles and their reasons, memory, source lines, machine code, SMs, and
    /// the parameters on which the cycles depend.
    pub fn html(&self) -> String {
        let mut out = head(&format!("{} on {}", self.kernel, self.machine_title));
        self.html_head(&mut out);
        self.html_stalls(&mut out);
        self.html_totals(&mut out);
        self.html_memory(&mut out);
        self.html_lines(&mut out);
        out.push_str(&run_code(self));
        self.html_units(&mut out);
        if let Some(waves) = &self.waves {
            waves.html(&mut out);
        }
        self.html_sensitivities(&mut out);
        self.html_parameters(&mut out);
        out.push_str(&foot());
        out
    }

    /// Appends the cycles, the size of the launch and the settings of the simulation.
    fn html_head(&self, out: &mut String) {
        let (cycles, milliseconds) = (self.cycles, number(self.milliseconds));
        let _ = writeln!(
            out,
            "<p class=\"bound\">{cycles} cycles, {milliseconds} ms. A simulated time is not a bound.</p>"
        );
        let (grid, block) = (size(self.grid), size(self.block));
        let only = self.only_warp.map_or(String::new(), |only| {
            let SimulatedWarp { block, warp } = only;
            format!("; only {} {warp} of block {block} runs", self.terms.warp)
        });
        let settings = format!(
            "{}; {grid} blocks of {block} threads{only}; machine {}, clock {} kHz; scheduler {}, selection {}, caches {}, interlock {}",
            self.file,
            self.machine,
            self.clock_khz,
            self.scheduler,
            self.selection,
            self.caches,
            self.interlock
        );
        let _ = writeln!(out, "<p class=\"dim\">{}</p>", escaped(&settings));
        let heads = [
            ("parameter that was set", false),
            ("value", true),
            ("instead of", true),
        ];
        let mut table = HtmlTable::new("Parameters that were set", &heads);
        for set in &self.set {
            table.row(&[
                HtmlCell::Text(&set.name),
                HtmlCell::Number(Some(set.value.into())),
                HtmlCell::Number(Some(set.instead_of.into())),
            ]);
        }
        table.write(out);
        let notes: Vec<String> = self.notes.iter().map(note_text).collect();
        list(2, "Notes", &notes, out);
    }

    /// Appends the warp cycles by stall reason, as bars.
    fn html_stalls(&self, out: &mut String) {
        let warp = self.terms.warp;
        let cycles = format!("{warp} cycles");
        let heads = [("reason", false), (&*cycles, true)];
        let mut table = HtmlTable::new("Where cycles went", &heads);
        let mut named = self.stalls.named();
        // The sort is stable, so reasons with equal cycles stay in their usual order.
        named.sort_by_key(|(_, cycles)| std::cmp::Reverse(*cycles));
        for (name, cycles) in named.into_iter().filter(|(_, cycles)| *cycles > 0) {
            table.row(&[
                HtmlCell::Text(name),
                HtmlCell::Bar(Some(cycles.into()), self.warp_cycles.into()),
            ]);
        }
        table.row(&[
            HtmlCell::Text("sum"),
            HtmlCell::Number(Some(self.warp_cycles.into())),
        ]);
        table.write(out);
    }

    /// Appends totals over all instructions and the occupancy.
    fn html_totals(&self, out: &mut String) {
        let issued = &self.issued;
        let warp = self.terms.warp;
        let TheoreticalOccupancy {
            blocks,
            warps,
            limiter,
            ..
        } = &self.occupancy.theoretical;
        let most = self.occupancy.most_warps;
        let unit = self.terms.unit;
        let rows = [
            (
                format!("{warp} instructions"),
                issued.warp_instructions.to_string(),
            ),
            (
                "thread instructions".to_owned(),
                issued.thread_instructions.to_string(),
            ),
            (
                "of these with a guard that held".to_owned(),
                issued.executed_thread_instructions.to_string(),
            ),
            (
                "times that lanes diverged".to_owned(),
                self.divergences.to_string(),
            ),
            (format!("{warp} instructions in a cycle"), number(self.ipc)),
            (
                format!("in a cycle of {} with blocks", self.terms.a_unit),
                number(self.ipc_active),
            ),
            (
                format!("resident {warp}s of {} on average", self.terms.a_unit),
                number(self.occupancy.resident_warps),
            ),
            (
                format!("{warp}s that fit, limited by {limiter}"),
                warps.to_string(),
            ),
            ("blocks that fit".to_owned(), blocks.to_string()),
            (
                format!("most {warp}s of {}", self.terms.a_unit),
                most.to_string(),
            ),
            (
                format!("{unit}s of the machine"),
                self.machine_sms.to_string(),
            ),
            (
                "elements that are as the launch file expects".to_owned(),
                self.checked_elements.to_string(),
            ),
        ];
        let mut table = HtmlTable::new("Totals", &[("total", false), ("number", true)]);
        for (name, value) in rows {
            table.row(&[HtmlCell::Text(&name), HtmlCell::Text(&value)]);
        }
        table.write(out);
    }

    /// Appends the traffic of memory and the misses of caches.
    fn html_memory(&self, out: &mut String) {
        let heads = [
            ("access", false),
            ("accesses", true),
            ("transactions", true),
            ("for conflicts", true),
        ];
        let shared = format!("{} memory", self.terms.shared);
        let mut table = HtmlTable::new(&capitalised(&shared), &heads);
        for shared in &self.shared {
            let numbers = [shared.accesses, shared.transactions, shared.conflicts];
            table.numbers(shared.access, &numbers);
        }
        table.write(out);
        let heads = [
            ("access", false),
            ("accesses", true),
            ("requests", true),
            ("sectors", true),
            ("bytes", true),
            ("L1 lookups", true),
            ("L1 hits", true),
            ("L2 lookups", true),
            ("L2 hits", true),
            ("DRAM sectors", true),
            ("TLB misses", true),
        ];
        let mut table = HtmlTable::new("Global and local memory", &heads);
        for memory in &self.memory {
            let name = format!("{} {}", memory.space, memory.access);
            let numbers = [
                memory.accesses,
                memory.requests,
                memory.sectors,
                memory.bytes,
                memory.l1_lookups,
                memory.l1_hits,
                memory.l2_lookups,
                memory.l2_hits,
                memory.dram_sectors,
                memory.tlb_misses,
            ];
            table.numbers(&name, &numbers);
        }
        table.write(out);
        let heads = [
            ("cache", false),
            ("second level", true),
            ("L2", true),
            ("DRAM", true),
        ];
        let mut table = HtmlTable::new("Misses of first-level caches, by what served them", &heads);
        let caches = [
            ("constants", self.constant_misses),
            ("instructions", self.instruction_misses),
        ];
        for (name, misses) in caches {
            if misses != Misses::default() {
                table.numbers(name, &[misses.second, misses.l2, misses.dram]);
            }
        }
        table.write(out);
    }

    /// Appends the source lines with their cycles by stall reason.
    fn html_lines(&self, out: &mut String) {
        let named = self.stalls.named();
        // A reason without cycles would be an empty column.
        let reasons: Vec<usize> = (0..named.len()).filter(|&at| named[at].1 > 0).collect();
        let cycles = format!("{} cycles", self.terms.warp);
        let mut heads = vec![
            ("line", false),
            ("executions", true),
            ("active lanes", true),
            (&*cycles, true),
        ];
        heads.extend(reasons.iter().map(|&at| (named[at].0, true)));
        let mut table = HtmlTable::new("Source lines", &heads);
        let most = |of: &dyn Fn(&LineTime) -> u64| self.lines.iter().map(of).max().unwrap_or(0);
        let most_issues = most(&|line| line.warp_instructions);
        let most_cycles = most(&|line| line.warp_cycles);
        for line in &self.lines {
            let stalls = line.stalls.named();
            let mut cells = vec![
                HtmlCell::Text(line.source.as_deref().unwrap_or("no line")),
                HtmlCell::Share(line.warp_instructions.into(), most_issues.into()),
                HtmlCell::Number(Some(line.thread_instructions.into())),
                HtmlCell::Share(line.warp_cycles.into(), most_cycles.into()),
            ];
            // One scale for all reasons, so that their colours can be compared.
            let of_reasons = reasons.iter().map(|&at| u128::from(stalls[at].1));
            cells.extend(of_reasons.map(|cycles| HtmlCell::Share(cycles, most_cycles.into())));
            table.row(&cells);
        }
        table.write(out);
    }

    /// Appends the SMs that held blocks.
    fn html_units(&self, out: &mut String) {
        let instructions = format!("{} instructions", self.terms.warp);
        let heads = [
            (self.terms.unit, true),
            ("blocks", true),
            ("active cycles", true),
            (&*instructions, true),
        ];
        let caption = format!("{}s that held blocks", capitalised(self.terms.unit));
        let mut table = HtmlTable::new(&caption, &heads);
        let most = self.sms.iter().map(|sm| sm.active_cycles).max();
        for sm in &self.sms {
            table.row(&[
                HtmlCell::Number(Some(sm.sm.into())),
                HtmlCell::Number(Some(sm.blocks.into())),
                HtmlCell::Share(sm.active_cycles.into(), most.unwrap_or(0).into()),
                HtmlCell::Number(Some(sm.warp_instructions.into())),
            ]);
        }
        table.write(out);
    }

    /// Appends the cycles for other values of single parameters.
    fn html_sensitivities(&self, out: &mut String) {
        let heads = [
            ("parameter", false),
            ("value", true),
            ("least", true),
            ("cycles", true),
            ("change", true),
            ("most", true),
            ("cycles", true),
            ("change", true),
        ];
        let mut table = HtmlTable::new("Cycles with other values of one parameter", &heads);
        for row in self.sensitivities.iter().flatten() {
            let mut cells = vec![
                HtmlCell::Text(&row.name),
                HtmlCell::Number(Some(row.value.into())),
            ];
            for Rerun {
                value,
                cycles,
                change,
                ..
            } in [&row.least, &row.most]
            {
                cells.push(HtmlCell::Number(Some((*value).into())));
                cells.push(HtmlCell::Number(cycles.map(u128::from)));
                let change = change.map(i128::from);
                cells.push(HtmlCell::of_change(change, Some(self.cycles.into())));
            }
            table.row(&cells);
        }
        table.write(out);
    }

    /// Appends the parameters without a published source.
    fn html_parameters(&self, out: &mut String) {
        let heads = [
            ("parameter", false),
            ("value", true),
            ("least", true),
            ("most", true),
            ("unit", false),
            ("provenance", false),
            ("reason", false),
        ];
        let caption = "Parameters of the machine without a published source";
        let mut table = HtmlTable::new(caption, &heads);
        for parameter in &self.assumptions {
            let value = match &parameter.value {
                ParameterValue::Number(number) => number.to_string(),
                ParameterValue::Choice(choice) => choice.clone(),
            };
            table.row(&[
                HtmlCell::Text(&parameter.name),
                HtmlCell::Text(&value),
                HtmlCell::Number(parameter.least.map(u128::from)),
                HtmlCell::Number(parameter.most.map(u128::from)),
                HtmlCell::Text(parameter.unit.unwrap_or_default()),
                HtmlCell::Text(parameter.provenance),
                HtmlCell::Text(&parameter.source),
            ]);
        }
        table.write(out);
    }
}

impl WaveReport {
    /// Appends units, lanes, scalar memory and splits.
    fn html(&self, out: &mut String) {
        let heads = [
            ("unit", false),
            ("wave instructions", true),
            ("busy cycles", true),
            ("offered cycles", true),
        ];
        let mut table = HtmlTable::new("Units", &heads);
        for unit in &self.units {
            table.row(&[
                HtmlCell::Text(unit.unit),
                HtmlCell::Number(Some(unit.wave_instructions.into())),
                HtmlCell::Bar(Some(unit.busy_cycles.into()), unit.offered_cycles.into()),
                HtmlCell::Number(Some(unit.offered_cycles.into())),
            ]);
        }
        table.write(out);
        let heads = [("lanes", false), ("used", true), ("offered", true)];
        let mut table = HtmlTable::new("Lanes of the vector ALUs", &heads);
        let lanes = self.lane_cycles;
        table.row(&[
            HtmlCell::Text("lane-cycles"),
            HtmlCell::Bar(Some(lanes.used.into()), lanes.offered.into()),
            HtmlCell::Number(Some(lanes.offered.into())),
        ]);
        table.write(out);
        let scalar = self.scalar_memory;
        if scalar.accesses > 0 {
            let heads = [
                ("memory", false),
                ("accesses", true),
                ("lines", true),
                ("hits", true),
                ("L2 hits", true),
            ];
            let mut table = HtmlTable::new("Scalar memory", &heads);
            let numbers = [scalar.accesses, scalar.lines, scalar.hits, scalar.l2_hits];
            table.numbers("scalar", &numbers);
            table.write(out);
        }
        if let Some(splitting) = &self.splitting {
            splitting.html(out);
        }
    }
}

impl SplittingReport {
    /// Appends the splits, and the branches where no wave may split.
    fn html(&self, out: &mut String) {
        let settings = format!(
            "Splitting: {} slots, {} pipelines, marks {}, merge {}.",
            self.splits, self.pipelines, self.marks, self.merge
        );
        let _ = writeln!(out, "<p>{}</p>", escaped(&settings));
        let heads = [
            ("splits at", false),
            ("source", false),
            ("merge at", false),
            ("executions", true),
            ("splits", true),
            ("no slot", true),
            ("no registers", true),
            ("merges", true),
        ];
        let mut table = HtmlTable::new("Splits of waves", &heads);
        for site in &self.sites {
            table.row(&[
                HtmlCell::Text(&site.address),
                HtmlCell::Text(site.source.as_deref().unwrap_or_default()),
                HtmlCell::Text(site.merge_point.as_deref().unwrap_or_default()),
                HtmlCell::Number(Some(site.wave_instructions.into())),
                HtmlCell::Number(Some(site.taken.into())),
                HtmlCell::Number(Some(site.refused.no_slot.into())),
                HtmlCell::Number(Some(site.refused.no_registers.into())),
                HtmlCell::Number(Some(site.merges.into())),
            ]);
        }
        table.write(out);
        let heads = [("branch", false), ("because", false)];
        let mut table = HtmlTable::new("Branches at which no wave splits", &heads);
        for site in &self.refused_sites {
            table.row(&[
                HtmlCell::Text(&site.address),
                HtmlCell::Text(&site.reasons.join("; ")),
            ]);
        }
        table.write(out);
    }
}

/// Returns text that begins with a capital letter.
fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}
