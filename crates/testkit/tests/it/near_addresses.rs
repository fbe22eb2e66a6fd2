//! Addresses that are near each other (SOUNDNESS 5.13): random programs with a loop or without, whose threads an interpreter
//! runs one by one; the accesses of each warp or wave are counted from the addresses of its lanes.

use fastrand::Rng;
use warpbound_analyse::LaunchContext;
use warpbound_analyse::access::{
    AccessClassifier, AccessCounts, AccessShape, KnownCounts, MemoryUnits,
};
use warpbound_analyse::addresses::{self, LaneAddresses, NearLanes};
use warpbound_analyse::launch_ranges::{LaunchRanges, LaunchWord, WordRange};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::Family;
use warpbound_ir::{Cell, Code, OpIndex, text};
use warpbound_isa::instr::MemorySpace;
use warpbound_query::KernelFlow;
use warpbound_runs::access_counts::{count_access, count_access_of_wave};
use warpbound_simt::warp::WarpModel;
use warpbound_simulate::functional::{AccessKind, MemoryAccess};
use warpbound_testkit::counted_loops::launches::OneLaunch;
use warpbound_testkit::counted_loops::thread::{ThreadIndices, run_thread};

/// Operations of a thread: more than any program executes.
const STEPS: usize = 1000;

/// Cells that hold the address of the access.
const LOW: u8 = 60;
const HIGH: u8 = 61;

/// Lines of a random program.
struct NearLines {
    lines: Vec<String>,
    /// Registers that hold words already.
    registers: usize,
    /// Whether lanes are chosen by masks, and not by predicates.
    is_wave: bool,
}

impl NearLines {
    /// Lines that read thread indices and words of the launch, and make unknown words, some with a limit.
    fn new(rng: &mut Rng, units: MemoryUnits) -> NearLines {
        let mask = (1u32 << rng.u32(0..10)) - 1;
        let lines = [
            "R0 = special.thread_x",
            "R1 = special.thread_y",
            "R2 = c[0][0x140]",
            "R3 = add(mul(special.block_x, c[0][0x144]), special.thread_x)",
            "R4 = ?lane()",
            &format!("R4 = and(R4, {mask})"),
            "R5 = sub(R3, c[0][0x148])",
            // The counter of the loop, if there is one.
            &format!("R6 = R{}", rng.usize(0..6)),
            "R50 = 0",
            // Makes code of a wave.
            if units.keeps_masks {
                "warp S3 = 0"
            } else {
                "nop"
            },
        ];
        NearLines {
            lines: lines.map(str::to_owned).to_vec(),
            registers: 7,
            is_wave: units.keeps_masks,
        }
    }

    /// A register; those that are written later more often.
    fn register(&self, rng: &mut Rng) -> String {
        let last = self.registers - 1;
        match rng.u8(0..3) {
            0 => format!("R{}", rng.usize(0..self.registers)),
            _ => format!("R{}", last - rng.usize(0..self.registers.min(4))),
        }
    }

    /// Writes a word that is made of others, under a condition or not.
    fn add_operation(&mut self, rng: &mut Rng) {
        let (a, b) = (self.register(rng), self.register(rng));
        let constant = constant(rng);
        let fixed = match rng.u8(0..4) {
            0 => format!("c[0][{:#x}]", 0x140 + 4 * rng.u32(0..4)),
            _ => constant.to_string(),
        };
        let to = self.registers;
        let bits = rng.u32(0..9);
        let divisor = constant.max(1);
        let expression = match rng.u8(0..21) {
            0 | 1 => format!("add({a}, {b})"),
            2 => format!("sub({a}, {b})"),
            3 => format!("add(mul({a}, {}), {b})", rng.u32(0..40)),
            4 => format!("min_s({a}, {fixed})"),
            5 => format!("max_s({a}, {fixed})"),
            6 => format!("max_s(min_s({a}, {b}), {fixed})"),
            7 => format!("min_u({a}, {fixed})"),
            8 => format!("max_u({a}, {b})"),
            9 => format!("shr({a}, {bits})"),
            10 => format!("sar({a}, {bits})"),
            11 => format!("and({a}, {fixed})"),
            12 => format!("xor({a}, {fixed})"),
            13 => format!("or({a}, {fixed})"),
            14 => format!("div_s({a}, {divisor})"),
            15 => format!("rem_s({a}, {divisor})"),
            16 => format!("mul_high_u({a}, {})", rng.u32(..)),
            17 => format!("abs({a})"),
            // Numbers some apart, whose low bits are exchanged.
            18 | 19 => {
                let operation = ["xor", "or", "and"][rng.usize(0..3)];
                format!("{operation}(mul({a}, {}), {fixed})", rng.u32(3..24))
            }
            _ => {
                self.lines.push(format!("P0 = lt_s({a}, {fixed})"));
                format!("select(P0, {a}, {b})")
            }
        };
        self.lines.push(format!("R{to} = {expression}"));
        self.registers += 1;
        if rng.u8(0..4) == 0 {
            let other = rng.usize(0..self.registers);
            self.lines.push(format!("P1 = lt_u(R{other}, {fixed})"));
            self.lines.push(match self.is_wave {
                true => format!("R{to} = select(P1, R{other}, R{to})"),
                false => format!("if P1 R{to} = R{other}"),
            });
        }
    }

    /// Writes one to eight words that are made of others.
    fn add_operations(&mut self, rng: &mut Rng) {
        for _ in 0..rng.usize(1..9) {
            self.add_operation(rng);
        }
    }

    /// Writes a multiple of the thread index whose low bits are exchanged, or the remainder of a division.
    fn add_torn_multiple(&mut self, rng: &mut Rng) {
        let multiple = format!("add(mul(R0, {}), {})", rng.u32(1..40), rng.u32(0..256));
        let constant = rng.u32(1..256);
        let expression = match rng.u8(0..4) {
            0 => format!("rem_s({multiple}, {constant})"),
            1 => format!("and({multiple}, {constant})"),
            2 => format!("or({multiple}, {constant})"),
            _ => format!("xor({multiple}, {constant})"),
        };
        self.lines
            .push(format!("R{} = {expression}", self.registers));
        self.registers += 1;
    }

    /// Computes the address of the last word as an index: of global memory, in two words, or of shared memory.
    fn add_address(&mut self, rng: &mut Rng, size: u32) -> MemorySpace {
        let index = format!("R{}", self.registers - 1);
        let scaled = format!("mul({index}, {})", size * rng.u32(1..3));
        if rng.bool() {
            let base = 16 * rng.u32(0..9);
            self.lines.push(format!("R60 = add({scaled}, {base})"));
            return MemorySpace::Shared;
        }
        let reading = ["_s", "_u"][rng.usize(0..2)];
        let high = scaled.replacen("mul", &format!("mul_high{reading}"), 1);
        let carry = format!("carry({scaled}, c[0][0x160], 0)");
        let own_bit = "and(funnel_right(S106, S107, special.lane), 1)";
        let (ballot, carry) = match self.is_wave {
            true => (
                format!("S106 = ballot.low({carry}), S107 = ballot.high({carry})"),
                own_bit,
            ),
            false => ("nop".to_owned(), carry.as_str()),
        };
        self.lines.extend([
            format!("R60 = add({scaled}, c[0][0x160])"),
            ballot,
            format!("R61 = add(add({high}, c[0][0x164]), {carry})"),
        ]);
        MemorySpace::Global
    }
}

/// Writes the words of a program; the last one is the index of an access.
type WriteIndex = fn(&mut NearLines, &mut Rng);

/// Random constant: small, near a power of two, negative, or any.
fn constant(rng: &mut Rng) -> u32 {
    match rng.u8(0..6) {
        0 => rng.u32(0..4),
        1 => 1 << rng.u32(0..12),
        2 => (1 << rng.u32(0..12)) - 1,
        3 => rng.u32(..),
        4 => rng.u32(0..8).wrapping_neg(),
        _ => rng.u32(1..300),
    }
}

/// Random program with one access at its end.
struct NearProgram {
    code: Code,
    text: String,
    access: OpIndex,
    shape: AccessShape,
}

impl NearProgram {
    /// A program whose index `write` computes.
    fn random(rng: &mut Rng, units: MemoryUnits, write: WriteIndex) -> NearProgram {
        let mut lines = NearLines::new(rng, units);
        let first = 8 * lines.lines.len();
        write(&mut lines, rng);
        let (size, load) = [
            (1, "R40 = load.u8"),
            (4, "R40 = load"),
            (4, "R40 = load"),
            (8, "R40, R41 = load"),
            (16, "R40, R41, R42, R43 = load"),
        ][rng.usize(0..5)];
        let space = lines.add_address(rng, size);
        let address = match space {
            MemorySpace::Global => "global[R61:R60]",
            _ => "shared[R60]",
        };
        let access = OpIndex(lines.lines.len() as u32);
        lines.lines.push(format!("{load} {address}"));
        if rng.bool() {
            let (step, count) = (constant(rng), rng.u32(2..5));
            lines.lines.extend([
                format!("R6 = add(R6, {step})"),
                "R50 = add(R50, 1)".to_owned(),
            ]);
            lines.lines.extend(match units.keeps_masks {
                true => [
                    format!("warp S3 = add(S3, 1), S128 = lt_u(S3, {count})"),
                    format!("if S128 jump {first:#06x}"),
                ],
                false => [
                    format!("P2 = lt_u(R50, {count})"),
                    format!("if P2 jump {first:#06x}"),
                ],
            });
        }
        let lines = lines.lines.into_iter().chain(["exit".to_owned()]);
        let numbered = lines.enumerate();
        let numbered = numbered.map(|(number, line)| format!("0x{:04x}: {line}\n", 8 * number));
        let text: String = numbered.collect();
        let mut code = text::parse("program", &text).expect("a program");
        code.family = match units.lanes {
            64 => Family::Gcn3,
            _ => Family::Maxwell,
        };
        NearProgram {
            code,
            text,
            access,
            shape: AccessShape::plain(space, size),
        }
    }

    /// The addresses of the lanes of a warp, for each execution of the access; `None` for lanes without a thread.
    fn addresses(
        &self,
        launch: &OneLaunch,
        block: [u32; 3],
        warp: u32,
        seed: u64,
    ) -> Vec<Vec<Option<u64>>> {
        let [width, height, depth] = launch.block;
        let of_thread = |number: u32| {
            let thread = [
                number % width,
                number / width % height,
                number / width / height,
            ];
            let indices = ThreadIndices { thread, block };
            let mut addresses = Vec::new();
            let seed = seed.wrapping_add(number.into());
            run_thread(&self.code, launch, indices, seed, STEPS, |at, cells| {
                if at == self.access {
                    let word = |number| u64::from(cells[Cell::gpr(number).index()]);
                    let high = match self.shape.space {
                        MemorySpace::Global => word(HIGH) << 32,
                        _ => 0,
                    };
                    addresses.push(high | word(LOW));
                }
            });
            addresses
        };
        let lanes = self.code.lanes();
        let threads = width * height * depth;
        let of_lanes: Vec<Vec<u64>> = (warp * lanes..(warp + 1) * lanes)
            .map(|number| match number < threads {
                true => of_thread(number),
                false => Vec::new(),
            })
            .collect();
        let executions = of_lanes.iter().map(Vec::len).max().unwrap_or(0);
        let of_execution = |number: usize| {
            of_lanes
                .iter()
                .map(|lane| lane.get(number).copied())
                .collect()
        };
        (0..executions).map(of_execution).collect()
    }
}

/// All launches with the block of a launch, and with some of its words.
fn ranges_of(launch: &OneLaunch, knows_grid: bool, known_words: u32) -> LaunchRanges {
    let mut ranges = LaunchRanges {
        block: launch.block.map(|n| Some(WordRange::one(n))),
        ..LaunchRanges::default()
    };
    if knows_grid {
        ranges.grid = launch.grid.map(|n| Some(WordRange::one(n)));
    }
    for (&(bank, offset), &word) in &launch.words {
        let is_known = offset >= 0x140 && known_words >> (offset / 4 % 32) & 1 == 1;
        let range = is_known.then(|| WordRange::one(word));
        let name = format!("c{offset:x}");
        ranges
            .words
            .insert((bank, offset), LaunchWord { name, range });
    }
    ranges
}

/// Results of some programs.
#[derive(Default, Debug)]
struct NearTally {
    near: usize,
    affine: usize,
    /// Numbers of runs that attain a limit which is smaller than without any knowledge.
    attained: usize,
    broken: Vec<String>,
}

impl NearTally {
    /// Compares an execution by a warp with the limit of a class.
    fn compare(
        &mut self,
        program: &NearProgram,
        units: MemoryUnits,
        claimed: &LaneAddresses,
        limit: AccessCounts,
        addresses: &[Option<u64>],
    ) {
        let size = program.shape.bytes;
        let align = match (units.keeps_masks, program.shape.space) {
            (true, MemorySpace::Global) => size.min(4),
            _ => size,
        };
        let is_there =
            |address: &Option<u64>| address.is_some_and(|at| at.is_multiple_of(align.into()));
        let lanes = addresses.iter().map(is_there).enumerate();
        let taken = lanes.fold(0u64, |mask, (lane, is)| mask | u64::from(is) << lane);
        let of_lanes: Vec<u64> = addresses.iter().map(|own| own.unwrap_or(0)).collect();
        let access = MemoryAccess {
            space: program.shape.space,
            kind: AccessKind::Load,
            size,
            addresses: &of_lanes,
            taken,
        };
        let counted = match units.keeps_masks {
            true => count_access_of_wave(&access, program.shape.mode),
            false => count_access(&access),
        };
        let is_near = matches!(claimed, LaneAddresses::Near(_));
        for (_, counts) in counted {
            let attains = counts.sectors == limit.sectors && counts.conflicts == limit.conflicts;
            self.attained += usize::from(is_near && attains);
            if !counts.is_within(limit) {
                self.broken.push(format!(
                    "{counts:?} {limit:?} {claimed:?}\n{addresses:x?}\n{}",
                    program.text
                ));
            }
        }
    }
}

/// Block of a random shape: whole warps, rows that are narrower, and any.
fn block(rng: &mut Rng) -> [u32; 3] {
    match rng.u8(0..7) {
        0 => [8, 8, 1],
        1 => [16, 16, 1],
        2 => [rng.u32(1..70), rng.u32(1..8), 1],
        3 => [rng.u32(1..200), 1, 1],
        4 => [rng.u32(1..9), rng.u32(1..9), rng.u32(1..9)],
        5 => [64, rng.u32(1..4), 1],
        _ => [128, 1, 1],
    }
}

/// Launch with random words.
fn launch(rng: &mut Rng) -> OneLaunch {
    let any = |rng: &mut Rng| match rng.u8(0..3) {
        0 => rng.u32(0..300),
        1 => rng.u32(0..20).wrapping_neg(),
        _ => rng.u32(..),
    };
    let mut words: Vec<u32> = (0..8).map(|_| any(rng)).collect();
    words.extend([4096 * rng.u32(..1 << 20), rng.u32(0..16)]);
    OneLaunch::new(block(rng), [rng.u32(1..9), 1, 1], &words)
}

/// Runs random programs; `plant` changes what is claimed of the lanes.
fn run(
    seed: u64,
    programs: usize,
    units: MemoryUnits,
    write: WriteIndex,
    plant: impl Fn(&mut NearLanes),
) -> NearTally {
    let mut rng = Rng::with_seed(seed);
    let mut tally = NearTally::default();
    let (model, limits) = (WarpModel::default(), Limits::default());
    let lanes = units.lanes as u32;
    for _ in 0..programs {
        let program = NearProgram::random(&mut rng, units, write);
        let launch = launch(&mut rng);
        let ranges = ranges_of(&launch, rng.bool(), rng.u32(..));
        let context = LaunchContext {
            warp_width: lanes,
            block: Some(launch.block),
            ..LaunchContext::default()
        };
        let flow = KernelFlow::analyse(&program.code, &context, &model, &limits);
        let flow = flow.expect("it is followed");
        let found = addresses::find(&program.code, &flow.thread, &flow.warp, &ranges, &context);
        let mut claimed = found[&program.access].clone();
        match &mut claimed {
            LaneAddresses::Near(of_lanes) => {
                tally.near += 1;
                of_lanes.iter_mut().for_each(&plant);
            }
            LaneAddresses::Affine { .. } => tally.affine += 1,
            LaneAddresses::Within { .. } | LaneAddresses::Unknown { .. } => {}
        }
        let known = KnownCounts::default();
        let classifier = AccessClassifier::new(&context, units, &known);
        let class = classifier.classify(program.shape, &claimed, None);
        let limit = class.limit(program.shape.space).expect("a limit");
        let threads = launch.block.iter().product::<u32>();
        for _ in 0..4 {
            let block = [rng.u32(0..launch.grid[0]), 0, 0];
            let warp = rng.u32(0..threads.div_ceil(lanes));
            for addresses in program.addresses(&launch, block, warp, rng.u64(..)) {
                tally.compare(&program, units, &claimed, limit, &addresses);
            }
        }
    }
    tally
}

#[test]
fn accesses_to_near_addresses_are_within_their_class() {
    for (seed, units) in [(41, MemoryUnits::NVIDIA), (42, MemoryUnits::GCN3)] {
        let tally = run(seed, 10_000, units, NearLines::add_operations, |_| {});
        assert!(tally.broken.is_empty(), "{}", tally.broken[0]);
        assert!(tally.near > 500, "only {} programs", tally.near);
        assert!(tally.affine > 500, "only {} affine", tally.affine);
        assert!(tally.attained > 200, "only {} attained", tally.attained);
    }
}

/// Programs with one operation, so that no other one hides an access that is a sector too large.
#[test]
fn words_whose_bits_are_exchanged_stay_within_their_class() {
    for (seed, units) in [(45, MemoryUnits::NVIDIA), (46, MemoryUnits::GCN3)] {
        let tally = run(seed, 8_000, units, NearLines::add_torn_multiple, |_| {});
        assert!(tally.broken.is_empty(), "{}", tally.broken[0]);
        assert!(tally.near > 500, "only {} programs", tally.near);
    }
}

/// Fails if clusters, or the distance within one, count for nothing in the numbers.
#[test]
fn clusters_that_are_left_out_are_found() {
    for (seed, units) in [(43, MemoryUnits::NVIDIA), (44, MemoryUnits::GCN3)] {
        let found = run(seed, 1500, units, NearLines::add_operations, |near| {
            near.clusters = 1
        });
        assert!(!found.broken.is_empty());
        let found = run(seed, 1500, units, NearLines::add_operations, |near| {
            near.distance -= near.distance / 4
        });
        assert!(!found.broken.is_empty());
    }
}
