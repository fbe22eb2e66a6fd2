//! Addresses that are near each other (SOUNDNESS 5.13): random programs without branches, whose threads an interpreter runs
//! one by one; the accesses of each warp are counted from the addresses of its lanes.

use fastrand::Rng;
use warpbound_analyse::LaunchContext;
use warpbound_analyse::access::{AccessClassifier, AccessShape, KnownCounts, MemoryUnits};
use warpbound_analyse::addresses::{self, LaneAddresses, NearLanes};
use warpbound_analyse::launch_ranges::{LaunchRanges, LaunchWord, WordRange};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_driver::KernelFlow;
use warpbound_driver::audit::count_access;
use warpbound_ir::{Cell, Code, OpIndex, text};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::warp::WarpModel;
use warpbound_simulate::functional::{AccessKind, MemoryAccess};
use warpbound_testkit::counted_loops::launches::OneLaunch;
use warpbound_testkit::counted_loops::thread::{ThreadIndices, run_thread};

/// Lanes of a warp.
const LANES: u32 = 32;

/// Cells that hold the address of the access.
const LOW: u8 = 60;
const HIGH: u8 = 61;

/// Lines of a random program.
struct NearLines {
    lines: Vec<String>,
    /// Registers that hold words already.
    registers: usize,
}

impl NearLines {
    /// Thread indices, words of the launch, and words of which nothing or a limit is known.
    fn new(rng: &mut Rng) -> NearLines {
        let mask = (1u32 << rng.u32(0..10)) - 1;
        let lines = [
            "R0 = special.thread_x",
            "R1 = special.thread_y",
            "R2 = c[0][0x140]",
            "R3 = add(mul(special.block_x, c[0][0x144]), special.thread_x)",
            "R4 = ?lane()",
            &format!("R4 = and(R4, {mask})"),
            "R5 = sub(R3, c[0][0x148])",
        ];
        NearLines {
            lines: lines.map(str::to_owned).to_vec(),
            registers: 6,
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
            self.lines.push(format!("if P1 R{to} = R{other}"));
        }
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
        self.lines.extend([
            format!("R60 = add({scaled}, c[0][0x160])"),
            format!("R61 = add(add({high}, c[0][0x164]), {carry})"),
        ]);
        MemorySpace::Global
    }
}

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
    fn random(rng: &mut Rng) -> NearProgram {
        let mut lines = NearLines::new(rng);
        for _ in 0..rng.usize(1..9) {
            lines.add_operation(rng);
        }
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
        let lines = lines.lines.into_iter();
        let lines = lines.chain([format!("{load} {address}"), "exit".to_owned()]);
        let numbered = lines.enumerate();
        let numbered = numbered.map(|(number, line)| format!("0x{:04x}: {line}\n", 8 * number));
        let text: String = numbered.collect();
        NearProgram {
            code: text::parse("program", &text).expect("a program"),
            text,
            access,
            shape: AccessShape::plain(space, size),
        }
    }

    /// The addresses of the lanes of a warp; `None` for lanes without a thread.
    fn addresses(
        &self,
        launch: &OneLaunch,
        block: [u32; 3],
        warp: u32,
        seed: u64,
    ) -> Vec<Option<u64>> {
        let [width, height, depth] = launch.block;
        let of_thread = |number: u32| {
            let thread = [
                number % width,
                number / width % height,
                number / width / height,
            ];
            let indices = ThreadIndices { thread, block };
            let mut address = None;
            let seed = seed.wrapping_add(number.into());
            run_thread(&self.code, launch, indices, seed, 100, |at, cells| {
                if at == self.access {
                    let word = |number| u64::from(cells[Cell::gpr(number).index()]);
                    let high = match self.shape.space {
                        MemorySpace::Global => word(HIGH) << 32,
                        _ => 0,
                    };
                    address = Some(high | word(LOW));
                }
            });
            address
        };
        let first = warp * LANES;
        let threads = width * height * depth;
        (first..first + LANES)
            .map(|number| (number < threads).then(|| of_thread(number)).flatten())
            .collect()
    }
}

/// Launches of which the sizes of the block are known, and some of the words.
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

/// Runs random programs; `plant` changes what is claimed of the lanes.
fn run(seed: u64, programs: usize, plant: impl Fn(&mut NearLanes)) -> NearTally {
    let mut rng = Rng::with_seed(seed);
    let mut tally = NearTally::default();
    for _ in 0..programs {
        let program = NearProgram::random(&mut rng);
        let block = match rng.u8(0..6) {
            0 => [8, 8, 1],
            1 => [16, 16, 1],
            2 => [rng.u32(1..70), rng.u32(1..8), 1],
            3 => [rng.u32(1..200), 1, 1],
            _ => [128, 1, 1],
        };
        let grid = [rng.u32(1..9), 1, 1];
        let any = |rng: &mut Rng| match rng.u8(0..3) {
            0 => rng.u32(0..300),
            1 => rng.u32(0..20).wrapping_neg(),
            _ => rng.u32(..),
        };
        let mut words: Vec<u32> = (0..8).map(|_| any(&mut rng)).collect();
        words.extend([4096 * rng.u32(..1 << 20), rng.u32(0..16)]);
        let launch = OneLaunch::new(block, grid, &words);
        let ranges = ranges_of(&launch, rng.bool(), rng.u32(..));
        let context = LaunchContext {
            block: Some(block),
            ..LaunchContext::default()
        };
        let flow = KernelFlow::analyse(
            &program.code,
            &context,
            &WarpModel::default(),
            &Limits::default(),
        )
        .expect("no branches");
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
        let class = AccessClassifier::new(&context, MemoryUnits::NVIDIA, &KnownCounts::default())
            .classify(program.shape, &claimed, None);
        let limit = class.limit(program.shape.space).expect("a limit");
        let threads = block.iter().product::<u32>();
        for _ in 0..4 {
            let block = [rng.u32(0..grid[0]), 0, 0];
            let warp = rng.u32(0..threads.div_ceil(LANES));
            let addresses = program.addresses(&launch, block, warp, rng.u64(..));
            let size = u64::from(program.shape.bytes);
            let is_there =
                |address: &Option<u64>| address.is_some_and(|at| at.is_multiple_of(size));
            let lanes = addresses.iter().map(is_there).enumerate();
            let taken = lanes.fold(0u32, |mask, (lane, is)| mask | u32::from(is) << lane);
            let of_lanes_there: [u64; 32] =
                std::array::from_fn(|lane| addresses[lane].unwrap_or(0));
            let counted = count_access(&MemoryAccess {
                space: program.shape.space,
                kind: AccessKind::Load,
                size: program.shape.bytes,
                addresses: &of_lanes_there,
                taken: taken.into(),
            });
            for (_, counts) in counted {
                tally.attained += usize::from(
                    matches!(claimed, LaneAddresses::Near(_))
                        && counts.sectors == limit.sectors
                        && counts.conflicts == limit.conflicts,
                );
                if !counts.is_within(limit) {
                    tally.broken.push(format!(
                        "{counts:?} {limit:?} {claimed:?} {launch:?} {block:?} {warp}\n{addresses:x?}\n{}",
                        program.text
                    ));
                }
            }
        }
    }
    tally
}

#[test]
fn accesses_to_near_addresses_are_within_their_class() {
    let tally = run(41, 20_000, |_| {});
    assert!(tally.broken.is_empty(), "{}", tally.broken[0]);
    assert!(tally.near > 500, "only {} programs", tally.near);
    assert!(tally.affine > 500, "only {} affine", tally.affine);
    assert!(tally.attained > 200, "only {} attained", tally.attained);
}

/// Fails if clusters, or the distance within one, count for nothing in the numbers.
#[test]
fn clusters_that_are_left_out_are_found() {
    let found = run(42, 1500, |near| near.clusters = 1);
    assert!(!found.broken.is_empty());
    let found = run(43, 1500, |near| near.distance -= near.distance / 4);
    assert!(!found.broken.is_empty());
}
