//! Lines of code that are prefetched: the delay with which they may arrive, compared with lines that are requested
//! when they are needed.
//!
//! Line number n after a fetched line arrives n transfers later. It is needed only after the warp has come from an
//! instruction that enters the fetched line; the minimum time of that path counts against the delay. For example,
//! with 40 cycles per transfer, the second line ahead is 80 cycles late at first, and 30 cycles late after a path of
//! 50 cycles.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use warpbound_ir::OpIndex;
use warpbound_machine::Parameter;

use crate::code::TimedCode;
use crate::kernel::TimedKernel;
use crate::numbers::MachineNumbers;

/// Paths between the lines of a kernel.
pub(crate) struct Prefetches {
    /// Lines of code, if any of them may be as late as possible: instructions of waves may be in two lines, and groups of
    /// a warp have any order.
    latest_lines: Option<BTreeSet<u64>>,
    /// Line of each instruction.
    lines: Vec<u64>,
    /// Instructions before each instruction that is reached.
    before: Vec<BTreeSet<usize>>,
    /// Minimum time from the issue of each instruction to the next issue.
    least: Vec<i64>,
    /// Maximum number of lines prefetched, and the delay of each after the one before it.
    ahead: u64,
    each: i64,
    /// Latency of a hit in the second cache.
    second: i64,
    /// Lines entered after a prefetch that may evict the prefetched line from the first cache.
    evicting: u64,
}

impl Prefetches {
    pub(crate) fn new(
        kernel: &TimedKernel<'_>,
        numbers: &MachineNumbers,
        line: u64,
        ahead: u64,
        each: i64,
    ) -> Prefetches {
        let ways = numbers.range(Parameter::InstructionL1Ways);
        let bytes = numbers.range(Parameter::InstructionL1Bytes).0;
        let evicting = (ways.0.max(1)..=ways.1.max(1).min(ways.0.max(1) + MOST_WAYS)).map(|ways| {
            // Lines that follow each other are in different sets.
            let of_set = (ahead + 1).div_ceil((bytes / line.max(1) / ways).max(1));
            (ways + 1).saturating_sub(of_set).div_ceil(of_set)
        });
        let ops = || (0..kernel.facts.len() as u32).map(OpIndex);
        let both = |op| {
            let (first, last) = kernel.facts.bytes(op);
            [first, last].map(|byte| byte / line.max(1))
        };
        let latest_lines = match kernel.facts {
            // Groups that change have any instruction of theirs before any other.
            TimedCode::Warps(_) if kernel.parted.is_none() => None,
            TimedCode::Warps(_) | TimedCode::Waves(_) => Some(ops().flat_map(both).collect()),
        };
        let lines = ops()
            .map(|op| kernel.facts.bytes(op).0 / line.max(1))
            .collect();
        let mut before = vec![BTreeSet::new(); kernel.facts.len()];
        let mut add = |from: OpIndex, to: OpIndex| {
            if let Some(before) = before.get_mut(to.index()) {
                before.insert(from.index());
            }
        };
        for &(first, last) in kernel.nodes.iter().flatten() {
            (first.0..last.0).for_each(|op| add(OpIndex(op), OpIndex(op + 1)));
        }
        let node = |node: usize| kernel.nodes.get(node).copied().flatten();
        for step in kernel.steps {
            if let (Some((_, last)), Some((first, _))) = (node(step.from), step.to.and_then(node)) {
                add(last, first);
            }
        }
        Prefetches {
            latest_lines,
            lines,
            before,
            least: ops().map(|op| kernel.facts.least(op, numbers)).collect(),
            ahead,
            each,
            second: numbers.milli(Parameter::InstructionL15Hit),
            evicting: evicting.min().unwrap_or(0),
        }
    }

    /// Returns the maximum delay of each line that is entered.
    pub(crate) fn late_lines(&self) -> BTreeMap<u64, i64> {
        if let Some(lines) = &self.latest_lines {
            let most = self.ahead as i64 * self.each;
            return lines.iter().map(|&line| (line, most)).collect();
        }
        let mut entered: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for op in (0..self.before.len()).filter(|&op| self.enters(op)) {
            entered.entry(self.lines[op]).or_default().push(op);
        }
        entered
            .iter()
            .map(|(&line, ops)| (line, self.late(line, ops)))
            .collect()
    }

    /// Returns the maximum delay of each line that the first cache may have lost since the line was prefetched. The
    /// line is requested again, and its arrival in the second cache comes first.
    pub(crate) fn late_lost_lines(&self) -> BTreeMap<u64, i64> {
        if let Some(lines) = &self.latest_lines {
            let most = self.second + self.ahead as i64 * self.each;
            return lines.iter().map(|&line| (line, most)).collect();
        }
        let ops = (0..self.before.len()).filter(|&op| self.enters(op));
        let lines: BTreeSet<u64> = ops.map(|op| self.lines[op]).collect();
        lines
            .into_iter()
            .map(|line| (line, self.late_lost(line)))
            .collect()
    }

    /// Maximum delay of a line that was lost, over the paths that enter enough other lines.
    fn late_lost(&self, line: u64) -> i64 {
        if self.ahead == 0 {
            return 0;
        }
        let most = self.second + self.ahead as i64 * self.each;
        let mut late = 0;
        let mut reached: BTreeSet<(usize, u64)> = BTreeSet::new();
        let mut waiting: BinaryHeap<Reverse<(i64, usize, u64)>> = BinaryHeap::new();
        let entries =
            (0..self.before.len()).filter(|&op| self.lines[op] == line && self.enters(op));
        let before = |op: usize, time: i64| {
            self.before[op]
                .iter()
                .map(move |&from| (time + self.least[from], from))
        };
        for op in entries {
            // Both lines are requested when the instruction before their first one is issued.
            let requests = self.before[op].iter();
            let requests = requests.filter(|&&from| self.lines[from] != line);
            waiting.extend(requests.map(|&from| Reverse((0, from, 0))));
        }
        // By ascending time: the first arrival at a state has the shortest path, which leaves the longest delay.
        while let Some(Reverse((time, op, entered))) = waiting.pop() {
            if time >= most || !reached.insert((op, entered)) {
                continue;
            }
            let ahead = line.wrapping_sub(self.lines[op]);
            if (1..=self.ahead).contains(&ahead) && self.enters(op) && entered >= self.evicting {
                late = late.max(most - time);
            }
            let enters = |from: usize| u64::from(self.lines[from] != self.lines[op]);
            waiting.extend(before(op, time).map(|(time, from)| {
                Reverse((time, from, (entered + enters(from)).min(self.evicting)))
            }));
        }
        late
    }

    /// Whether an instruction may follow an instruction in another line.
    fn enters(&self, op: usize) -> bool {
        self.before[op]
            .iter()
            .any(|&from| self.lines[from] != self.lines[op])
    }

    /// Maximum delay of a line that is entered at some instructions.
    fn late(&self, line: u64, entries: &[usize]) -> i64 {
        let most = self.ahead as i64 * self.each;
        let mut late = 0;
        let mut reached: BTreeMap<usize, i64> = BTreeMap::new();
        let mut waiting: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
        // Both lines are requested when the instruction before their first one is issued.
        let requests = entries.iter().flat_map(|&op| &self.before[op]);
        let requests = requests.filter(|&&from| self.lines[from] != line);
        waiting.extend(requests.map(|&from| Reverse((0, from))));
        while let Some(Reverse((time, op))) = waiting.pop() {
            // A path that takes longer than the delay leaves none.
            if time >= most || reached.get(&op).is_some_and(|&known| known <= time) {
                continue;
            }
            reached.insert(op, time);
            let distance = line.wrapping_sub(self.lines[op]);
            if (1..=self.ahead).contains(&distance) && self.enters(op) {
                late = late.max(distance as i64 * self.each - time);
            }
            let before = self.before[op].iter();
            waiting.extend(before.map(|&from| Reverse((time + self.least[from], from))));
        }
        late
    }
}

/// Maximum number of associativities that are tried one by one.
const MOST_WAYS: u64 = 64;
