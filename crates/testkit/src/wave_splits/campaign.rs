//! Runs of random programs with waves that split, compared with runs without splitting and with lanes alone.

use fastrand::Rng;
use warpbound_ir::{Code, OpIndex};
use warpbound_launch::gcn::aperture;
use warpbound_launch::{GlobalMemory, Launch, PathOrder, WaveEntry};
use warpbound_load::{GcnDescriptor, Kernel};
use warpbound_simulate::functional::{
    Fault, FaultKind, NoListener, SplitFault, UntimedSplits, launch_split, launch_waves,
};

use super::compile::{CompiledWaves, KnownSite, compile};
use super::generate::{self, LaneProgram};
use super::statement::{self, COUNTERS, OUTPUTS, PRIVATE};

/// Numbers of slots with which each program runs.
pub const SLOTS: [u32; 4] = [0, 1, 3, 7];

/// Maximum number of instructions of a launch without splitting. No program comes near it.
const MOST_INSTRUCTIONS: u64 = 1 << 24;

/// Maximum number of instructions of a launch with splitting, as a multiple of the number without: a planted fault
/// may make it endless.
const MOST_TIMES: u64 = 80;

/// Numbers of programs and orders, and the planted fault.
#[derive(Clone, Copy, Debug)]
pub struct SplitCampaign {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of programs.
    pub programs: usize,
    /// Number of orders of the turns of splits, for each number of slots, with and without merging.
    pub orders: usize,
    /// Planted fault.
    pub fault: Option<SplitFault>,
}

/// Results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct SplitFindings {
    /// Number of programs, and of those that have a branch at which waves may split.
    pub programs: [usize; 2],
    /// Number of branches.
    pub sites: usize,
    /// Number of runs with splitting.
    pub runs: usize,
    /// Number of splits.
    pub splits: u64,
    /// Number of times that no slot was free.
    pub refused: u64,
    /// Number of merges.
    pub merges: u64,
    /// Number of instructions of waves and splits.
    pub steps: u64,
    /// Number of runs without splitting that differ from lanes alone.
    pub wrong_alone: usize,
    /// Number of runs with splitting that differ from the run without.
    pub wrong: usize,
    /// Number of runs with more splits of a wave at a time than slots.
    pub too_many: usize,
    /// First problems, in words.
    pub problems: Vec<String>,
}

impl SplitFindings {
    /// Adds the results of another campaign.
    pub fn add(&mut self, other: SplitFindings) {
        for (sum, number) in self.programs.iter_mut().zip(other.programs) {
            *sum += number;
        }
        self.sites += other.sites;
        self.runs += other.runs;
        self.splits += other.splits;
        self.refused += other.refused;
        self.merges += other.merges;
        self.steps += other.steps;
        self.wrong_alone += other.wrong_alone;
        self.wrong += other.wrong;
        self.too_many += other.too_many;
        for problem in other.problems {
            self.report(|| problem);
        }
    }

    pub(super) fn report(&mut self, problem: impl FnOnce() -> String) {
        if self.problems.len() < 20 {
            self.problems.push(problem());
        }
    }
}

/// Runs a campaign.
pub fn campaign(campaign: SplitCampaign) -> SplitFindings {
    let mut rng = Rng::with_seed(campaign.seed);
    let mut found = SplitFindings::default();
    for number in 0..campaign.programs {
        let program = generate::program(&mut rng);
        match SplitSubject::new(&program) {
            Some(subject) => subject.run(number, &mut rng, campaign, &mut found),
            None => found.report(|| format!("program {number}: it does not compile")),
        }
    }
    found
}

/// A compiled program with its launch.
pub struct SplitSubject {
    /// The lifted code.
    pub code: Code,
    /// The decoded code.
    pub program: warpbound_isa::Program,
    /// The launch.
    pub launch: Launch,
    /// Contents of memory before the launch.
    pub memory: GlobalMemory,
    /// The branches at which waves may split.
    pub sites: Vec<KnownSite>,
    /// Words that each lane alone leaves.
    pub expected: Vec<u32>,
}

impl SplitSubject {
    /// Compiles a program; `None` if it takes too many registers.
    pub fn new(program: &LaneProgram) -> Option<SplitSubject> {
        let LaneProgram {
            statements,
            groups,
            threads,
        } = program;
        let compiled: CompiledWaves = compile(statements, *groups, *threads)?;
        let decoded = compiled.program()?;
        let code = warpbound_ir::lift(&Kernel::default(), &decoded).ok()?;
        let expected = statement::run(statements, *groups, *threads);
        let (launch, memory) = launch(*groups, *threads);
        Some(SplitSubject {
            code,
            program: decoded,
            launch,
            memory,
            sites: compiled.sites,
            expected,
        })
    }

    fn run(
        &self,
        number: usize,
        rng: &mut Rng,
        campaign: SplitCampaign,
        found: &mut SplitFindings,
    ) {
        found.programs[0] += 1;
        found.programs[1] += usize::from(!self.sites.is_empty());
        found.sites += self.sites.len();
        let mut alone = self.memory.clone();
        let counts = launch_waves(&self.code, &self.launch, &mut alone, &mut NoListener);
        let issued = match counts {
            Ok(counts) => counts.issued(),
            Err(fault) => {
                found.wrong_alone += 1;
                return found.report(|| format!("program {number} without splitting: {fault:?}"));
            }
        };
        if words(&alone) != self.expected {
            found.wrong_alone += 1;
            return found.report(|| format!("program {number}: lanes alone compute others"));
        }
        for slots in SLOTS {
            for merges in [false, true] {
                for _ in 0..campaign.orders {
                    let only_marked = rng.u8(0..4) == 0;
                    let splitting = UntimedSplits {
                        splits: slots,
                        sites: self.chosen_sites(rng),
                        only_marked,
                        merges,
                        fault: campaign.fault,
                    };
                    let limit = issued * MOST_TIMES;
                    let result = self.compare(&splitting, rng.u64(..), (&alone, limit), found);
                    if let Err(problem) = result {
                        found.wrong += 1;
                        found.report(|| {
                            format!("program {number}, {slots} slots, merges {merges}: {problem}")
                        });
                    }
                }
            }
        }
    }

    /// All branches, or some of them.
    fn chosen_sites(&self, rng: &mut Rng) -> std::collections::BTreeMap<OpIndex, Option<OpIndex>> {
        let all = rng.bool();
        let chosen = self.sites.iter().filter(|_| all || rng.bool());
        chosen
            .map(|site| (OpIndex(site.at), site.merge_point.map(OpIndex)))
            .collect()
    }

    /// Runs the launch with splits and compares memory; the message says what differs.
    pub fn compare(
        &self,
        splitting: &UntimedSplits,
        seed: u64,
        (alone, limit): (&GlobalMemory, u64),
        found: &mut SplitFindings,
    ) -> Result<(), String> {
        let mut memory = self.memory.clone();
        let launch = Launch {
            max_instructions: limit,
            ..self.launch.clone()
        };
        let mut rng = Rng::with_seed(seed);
        let mut schedule = |count: usize| rng.usize(0..count);
        found.runs += 1;
        let result = launch_split(
            &self.code,
            &launch,
            splitting,
            &mut schedule,
            &mut memory,
            &mut NoListener,
        );
        let counts = result.map_err(|fault| describe(&fault))?;
        found.splits += counts.splits;
        found.refused += counts.refused;
        found.merges += counts.merges;
        found.steps += counts.counts.issued();
        found.too_many += usize::from(counts.most > splitting.splits);
        match memory == *alone {
            true => Ok(()),
            false => Err(format!("memory differs after {} splits", counts.splits)),
        }
    }
}

fn describe(fault: &Fault) -> String {
    match fault.kind {
        FaultKind::InstructionLimit(_) => "it does not end".to_owned(),
        _ => format!("{fault} at {}", fault.at.0),
    }
}

/// Launch of groups of some work-items, and its memory.
fn launch(groups: u32, threads: u32) -> (Launch, GlobalMemory) {
    let mut memory = GlobalMemory::default();
    let outputs = OUTPUTS * (groups * threads) as usize;
    let out = memory.add("out", vec![0; 4 * (outputs + COUNTERS)]);
    let private = 4 * PRIVATE as u32;
    let scratch = aperture::SCRATCH;
    // The descriptor of the buffer: its size, and words of the lanes side by side.
    let bytes = threads.div_ceil(64) * 64 * private;
    let user = vec![
        scratch as u32,
        (scratch >> 32) as u32 | 1 << 31,
        bytes,
        0xe8_0000,
        out as u32,
        (out >> 32) as u32,
        0,
        private,
    ];
    let descriptor = GcnDescriptor {
        // Eight user SGPRs, the group along x, the offset of scratch.
        rsrc2: 8 << 1 | 1 << 7 | 1,
        properties: GcnDescriptor::PRIVATE_BUFFER | GcnDescriptor::FLAT_SCRATCH,
        ..GcnDescriptor::default()
    };
    let (grid, block) = ([groups, 1, 1], [threads, 1, 1]);
    let launch = Launch {
        grid,
        block,
        shared: 4 * threads,
        local: private,
        constants: Vec::new(),
        textures: Vec::new(),
        surfaces: Vec::new(),
        max_instructions: MOST_INSTRUCTIONS,
        order: PathOrder::TakenFirst,
        wave_entry: Some(WaveEntry::new(
            descriptor,
            [block, grid],
            user,
            private,
            0x1000,
        )),
    };
    (launch, memory)
}

/// Words of the output.
fn words(memory: &GlobalMemory) -> Vec<u32> {
    let bytes = memory.buffers().first();
    let bytes = bytes.map_or(&[][..], |buffer| &buffer.bytes);
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}
