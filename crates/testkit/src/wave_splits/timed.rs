//! The same programs on compute units with time: memory at the end, lanes of the splits that issue, and runs without
//! splitting.

use std::collections::BTreeMap;

use fastrand::Rng;
use warpbound_base::Named;
use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_isa::amd::GcnProgram;
use warpbound_launch::{GlobalMemory, StartCaches};
use warpbound_machine::{GpuModel, SchedulerPolicy, Selection};
use warpbound_simt::{Mask, lowest_lanes};
use warpbound_simulate::functional::{NoListener, launch_waves};
use warpbound_simulate::timed::{
    Event, EventListener, SplitMarking, SplitPipelines, SplitSetup, SplitSite, WarpPlace,
    WaveSetup, run_waves,
};

use super::campaign::{SLOTS, SplitSubject};
use super::compile::VECTOR_REGISTERS;
use super::generate;
use crate::cycle_accounting::CycleAccounting;
use crate::wave_issue_rules::{WaveIssueRules, WaveRuleSetup};

/// Machines on which programs run.
const MACHINES: [&str; 2] = ["gem5-apu", "r9-nano"];

/// Scalar registers of compiled programs, as allocated.
const SCALAR_REGISTERS: u32 = 104;

/// Results of runs with time.
#[derive(Clone, Debug, Default)]
pub struct TimedSplits {
    /// Number of runs.
    pub runs: usize,
    /// Number of splits.
    pub splits: u64,
    /// Number of splits that were refused.
    pub refused: u64,
    /// Number of merges.
    pub merges: u64,
    /// Number of instructions.
    pub steps: u64,
    /// Number of runs that differ from the run without splitting and time.
    pub wrong: usize,
    /// Number of runs whose events contradict the rules of splitting.
    pub broken: usize,
    /// Number of pairs of runs, with no slots and without splitting, and of those with other events.
    pub without: [usize; 2],
    /// First problems, in words.
    pub problems: Vec<String>,
}

impl TimedSplits {
    /// Adds the results of another campaign.
    pub fn add(&mut self, other: TimedSplits) {
        self.runs += other.runs;
        self.splits += other.splits;
        self.refused += other.refused;
        self.merges += other.merges;
        self.steps += other.steps;
        self.wrong += other.wrong;
        self.broken += other.broken;
        for (sum, number) in self.without.iter_mut().zip(other.without) {
            *sum += number;
        }
        for problem in other.problems {
            self.report(|| problem);
        }
    }

    fn report(&mut self, problem: impl FnOnce() -> String) {
        if self.problems.len() < 20 {
            self.problems.push(problem());
        }
    }
}

/// Runs random programs with time.
pub fn campaign(seed: u64, programs: usize) -> TimedSplits {
    let mut rng = Rng::with_seed(seed);
    let mut found = TimedSplits::default();
    for number in 0..programs {
        let program = generate::program(&mut rng);
        let Some(subject) = SplitSubject::new(&program) else {
            continue;
        };
        let mut alone = subject.memory.clone();
        let ran = launch_waves(&subject.code, &subject.launch, &mut alone, &mut NoListener);
        if ran.is_err() {
            found.report(|| format!("program {number}: a fault without time"));
            continue;
        }
        for slots in SLOTS {
            for merge in [false, true] {
                let setup = subject.setup(&mut rng, slots, merge);
                if let Err(problem) = subject.run_timed(&setup, &alone, &mut found) {
                    let shown = &setup.splitting;
                    let (pipelines, policy) = (shown.pipelines, setup.policy);
                    found.report(|| {
                        format!(
                            "program {number}, {slots} slots, {pipelines:?}, {policy:?}, merge {merge}: {problem}"
                        )
                    });
                }
            }
        }
    }
    found
}

impl SplitSubject {
    /// A random setup.
    fn setup(&self, rng: &mut Rng, slots: u32, merge: bool) -> WaveSetup {
        let name = MACHINES[rng.usize(0..MACHINES.len())];
        let machine = GpuModel::built_in(name).expect("a machine");
        let all = rng.bool();
        let sites = self.sites.iter().filter(|_| all || rng.bool());
        let site = |merge_point: Option<u32>| SplitSite {
            merge_point: merge_point.map(OpIndex),
        };
        let sites: BTreeMap<_, _> = sites
            .map(|known| (OpIndex(known.at), site(known.merge_point)))
            .collect();
        let pipelines = SplitPipelines::ALL[rng.usize(0..2)].0;
        WaveSetup {
            machine: machine.select(Selection::Seed(rng.u64(..))),
            policy: match rng.bool() {
                true => SchedulerPolicy::Oldest,
                false => SchedulerPolicy::Lrr,
            },
            caches: StartCaches::Cold,
            vgprs: VECTOR_REGISTERS,
            sgprs: SCALAR_REGISTERS,
            only: None,
            splitting: SplitSetup {
                splits: slots,
                pipelines,
                marking: match rng.u8(0..4) {
                    0 => SplitMarking::Mode,
                    _ => SplitMarking::Sites,
                },
                sites,
                merge,
            },
        }
    }

    /// Runs the launch with time and compares it; the message says what is wrong.
    fn run_timed(
        &self,
        setup: &WaveSetup,
        alone: &GlobalMemory,
        found: &mut TimedSplits,
    ) -> Result<(), String> {
        found.runs += 1;
        let threads = self.launch.block.iter().product();
        let owners = LaneOwners::new(threads, setup.splitting.splits);
        let Program::Amd(program) = &self.program else {
            return Err("no program of AMD's machines".to_owned());
        };
        let rules = WaveRuleSetup {
            splits: setup.splitting.splits,
            pipelines: setup.splitting.pipelines,
            registers: (setup.vgprs.into(), setup.sgprs.into()),
        };
        let rules = WaveIssueRules::new(program, &setup.machine, rules);
        let mut listener = ((owners, CycleAccounting::new()), rules);
        let memory = self
            .execute(program, setup, &mut listener)
            .inspect_err(|_| found.wrong += 1)?;
        let ((owners, accounting), rules) = listener;
        found.splits += owners.splits;
        found.refused += owners.refused;
        found.merges += owners.merges;
        found.steps += owners.steps;
        if memory != *alone {
            found.wrong += 1;
            return Err("memory differs".to_owned());
        }
        let left = owners.left();
        let violations = rules.all_violations().join("; ");
        let problem = owners.problem.or(left).or(accounting.finish().err());
        if let Some(problem) = problem.or((!violations.is_empty()).then_some(violations)) {
            found.broken += 1;
            return Err(problem);
        }
        if setup.splitting.splits == 0 {
            found.without[0] += 1;
            let without = WaveSetup {
                splitting: SplitSetup::default(),
                ..setup.clone()
            };
            let mut events = [AllEvents::default(), AllEvents::default()];
            self.execute(program, setup, &mut events[0])?;
            self.execute(program, &without, &mut events[1])?;
            if events[0].0 != events[1].0 {
                found.without[1] += 1;
                return Err("other events than without splitting".to_owned());
            }
        }
        Ok(())
    }

    fn execute(
        &self,
        program: &GcnProgram,
        setup: &WaveSetup,
        listener: &mut impl EventListener,
    ) -> Result<GlobalMemory, String> {
        let mut memory = self.memory.clone();
        run_waves(
            &self.code,
            program,
            &self.launch,
            setup,
            &mut memory,
            listener,
        )
        .map_err(|fault| format!("{fault} at {}", fault.at.0))?;
        Ok(memory)
    }
}

/// All events of a run.
#[derive(Default)]
struct AllEvents(Vec<(u64, Event)>);

impl EventListener for AllEvents {
    fn event(&mut self, cycle: u64, event: &Event) {
        self.0.push((cycle, *event));
    }
}

/// Lanes of the waves and splits of each slot, from events: each lane is in one split, and issues in no other.
struct LaneOwners {
    threads: u32,
    slots: u32,
    /// By slot of a SIMD of a compute unit: wave, lanes that it has, and whether it is a child.
    owners: BTreeMap<(u32, u32, u32), Owner>,
    splits: u64,
    refused: u64,
    merges: u64,
    steps: u64,
    problem: Option<String>,
}

#[derive(Clone, Copy)]
struct Owner {
    /// Block and number of the launch wave.
    wave: (u64, u32),
    lanes: Mask,
    is_child: bool,
}

fn slot(place: &WarpPlace) -> (u32, u32, u32) {
    (place.sm, place.scheduler, place.slot)
}

impl LaneOwners {
    fn new(threads: u32, slots: u32) -> LaneOwners {
        LaneOwners {
            threads,
            slots,
            owners: BTreeMap::new(),
            splits: 0,
            refused: 0,
            merges: 0,
            steps: 0,
            problem: None,
        }
    }

    fn check(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds && self.problem.is_none() {
            self.problem = Some(problem());
        }
    }

    /// Waves that have not ended.
    fn left(&self) -> Option<String> {
        let count = self.owners.len();
        (count != 0).then(|| format!("{count} waves or splits have not ended"))
    }

    /// The owner of a slot; a launch wave begins with all its lanes.
    fn owner(&mut self, place: &WarpPlace) -> Owner {
        let lanes = lowest_lanes(self.threads - 64 * place.warp);
        *self.owners.entry(slot(place)).or_insert(Owner {
            wave: (place.block, place.warp),
            lanes,
            is_child: false,
        })
    }

    fn split(&mut self, cycle: u64, places: [&WarpPlace; 2], lanes: [Mask; 2]) {
        self.splits += 1;
        let before = self.owner(places[0]);
        let is_partition = lanes[0] & lanes[1] == 0
            && lanes[0] | lanes[1] == before.lanes
            && lanes.iter().all(|&lanes| lanes != 0);
        self.check(is_partition, || {
            format!(
                "cycle {cycle}: {lanes:x?} is no split of {:x}",
                before.lanes
            )
        });
        let parent = Owner {
            lanes: lanes[0],
            ..before
        };
        self.owners.insert(slot(places[0]), parent);
        let child = Owner {
            lanes: lanes[1],
            is_child: true,
            ..before
        };
        let other = self.owners.insert(slot(places[1]), child);
        self.check(other.is_none(), || {
            format!("cycle {cycle}: a slot is taken")
        });
        let children = self.owners.values();
        let live = children
            .filter(|one| one.is_child && one.wave == before.wave)
            .count();
        self.check(live <= self.slots as usize, || {
            format!("cycle {cycle}: {live} splits live")
        });
    }
}

impl EventListener for LaneOwners {
    fn event(&mut self, cycle: u64, event: &Event) {
        match event {
            Event::Issue { warp, active, .. } => {
                self.steps += 1;
                let owner = self.owner(warp);
                self.check(active & !owner.lanes == 0, || {
                    format!(
                        "cycle {cycle}: lanes {active:x} of a split with {:x}",
                        owner.lanes
                    )
                });
            }
            Event::Split {
                parent,
                child,
                parent_lanes,
                child_lanes,
                ..
            } => self.split(cycle, [parent, child], [*parent_lanes, *child_lanes]),
            Event::SplitRefused { .. } => self.refused += 1,
            Event::Merge { into, from, .. } => {
                self.merges += 1;
                let gone = self.owner(from);
                self.owners.remove(&slot(from));
                let mut kept = self.owner(into);
                self.check(kept.lanes & gone.lanes == 0, || {
                    format!("cycle {cycle}: a merge of parts with a common lane")
                });
                kept.lanes |= gone.lanes;
                self.owners.insert(slot(into), kept);
            }
            Event::WarpEnds { warp } => {
                self.owners.remove(&slot(warp));
            }
            _ => {}
        }
    }
}
