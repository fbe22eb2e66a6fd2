//! Access classes: random address forms against counting by hand, planted faults, and the counting against the events
//! of timed runs.

use std::collections::BTreeMap;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::access::{
    AccessClass, AccessClassifier, AccessCounts, AccessMode, AccessPattern, AccessShape, BankRule,
    KnownCounts, MemoryUnits, RequestRule,
};
use warpbound_analyse::addresses::LaneAddresses;
use warpbound_audit::claims;
use warpbound_base::{Diagnostic, Family};
use warpbound_bounds::access_classes;
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::LaunchFile;
use warpbound_load::Image;
use warpbound_machine::{GpuModel, Parameter};
use warpbound_measure::memory_divergence;
use warpbound_query::{BoundOptions, Session};
use warpbound_runs::access_counts::{count_access, count_access_of_whole_warp};
use warpbound_runs::{RunOptions, TimedOptions, simulate_with};
use warpbound_simt::{Mask, lowest_lanes};
use warpbound_simulate::functional::{
    AccessKind, ExecutionListener, Issue, MemoryAccess, launch_with_listener,
};
use warpbound_simulate::timed::{Event, EventListener};
use warpbound_testkit::kernels::{self, KernelReference};

/// Block shapes with rows narrower than a warp, equal to it, wider, and unaligned; several warps, the last one partial.
const BLOCKS: [[u32; 3]; 12] = [
    [32, 1, 1],
    [256, 1, 1],
    [40, 1, 1],
    [33, 3, 1],
    [48, 2, 1],
    [8, 4, 1],
    [16, 16, 1],
    [11, 11, 1],
    [4, 4, 4],
    [3, 5, 2],
    [1, 20, 1],
    [7, 1, 9],
];

const SPACES: [MemorySpace; 4] = [
    MemorySpace::Global,
    MemorySpace::Local,
    MemorySpace::Shared,
    MemorySpace::Generic,
];

/// Number of random forms of a test.
const FORMS: u64 = 1000;

/// Address form of an access, and the block that executes it.
#[derive(Clone, Debug)]
struct AccessForm {
    shape: AccessShape,
    coefficients: [i64; 3],
    modulus: u64,
    residue: u64,
    block: Option<[u32; 3]>,
    /// Threads of the block that may take part, if not all.
    executing: Option<Vec<bool>>,
    /// Whether lanes beyond some address may access memory that is far away.
    wraps: bool,
    units: MemoryUnits,
}

impl AccessForm {
    fn random(rng: &mut fastrand::Rng) -> AccessForm {
        let bytes = *rng.choice([1u32, 2, 4, 4, 4, 8, 16].iter()).expect("one");
        let modulus = 1u64 << rng.u32(0..9);
        let mut coefficient = || match rng.u32(0..6) {
            0 | 1 => 0,
            2 | 3 => i64::from(bytes),
            4 => i64::from(bytes) * rng.i64(-40..40),
            _ => rng.i64(-300..300),
        };
        let coefficients = [coefficient(), coefficient(), coefficient()];
        let block = BLOCKS[rng.usize(0..BLOCKS.len())];
        let threads = 0..block.iter().product::<u32>();
        let of = rng.u32(1..5);
        let executing = match rng.u32(0..4) {
            0 => Some(threads.map(|_| rng.u32(0..of) == 0).collect()),
            1 => Some(threads.map(|thread| thread % 64 == 0).collect()),
            _ => None,
        };
        let (units, mode) = match rng.u32(0..8) {
            0..4 => (MemoryUnits::NVIDIA, AccessMode::Plain),
            4..7 => (MemoryUnits::VOLTA, AccessMode::Plain),
            _ => (MemoryUnits::VOLTA, AccessMode::Atomic),
        };
        AccessForm {
            shape: AccessShape {
                mode,
                ..AccessShape::plain(SPACES[rng.usize(0..SPACES.len())], bytes)
            },
            units,
            coefficients,
            modulus,
            // Half of the bases are aligned to the access.
            residue: rng.u64(0..modulus) & !(u64::from(bytes * rng.u32(0..2)).max(1) - 1),
            block: Some(block),
            executing,
            wraps: false,
        }
    }

    /// Returns the class that the analysis gives.
    fn class(&self) -> AccessClass {
        let launch = LaunchContext {
            block: self.block,
            ..LaunchContext::default()
        };
        let addresses = LaneAddresses::Affine {
            coefficients: self.coefficients,
            modulus: self.modulus,
            residue: self.residue,
            range: None,
            wraps: self.wraps,
        };
        AccessClassifier::new(&launch, self.units, &KnownCounts::default()).classify(
            self.shape,
            &addresses,
            self.executing.as_deref(),
        )
    }

    /// Returns the addresses of the lanes of a warp, and the mask of the lanes that may take part.
    fn addresses(&self, block: [u32; 3], warp: u32, base: u64) -> ([u64; 32], Mask) {
        let [width, height, depth] = block;
        let mut addresses = [0; 32];
        let mut live = 0;
        // Thread by thread in the order of CUDA, so that no division is shared with the analysis.
        let mut number = 0;
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    if number / 32 == warp {
                        let lane = number % 32;
                        let executing = self.executing.as_ref();
                        let executes = executing.is_none_or(|all| all[number as usize]);
                        live |= Mask::from(executes) << lane;
                        let index = [x, y, z].map(i64::from);
                        let sum: i64 = (0..3).map(|a| self.coefficients[a] * index[a]).sum();
                        addresses[lane as usize] = base.wrapping_add(sum as u64);
                    }
                    number += 1;
                }
            }
        }
        (addresses, live)
    }

    /// Returns the lanes of a mask whose address is a multiple of the size.
    fn aligned(&self, addresses: &[u64; 32], mask: Mask) -> Mask {
        let size = u64::from(self.shape.bytes);
        let misaligned = (0..32).filter(|&lane| !addresses[lane].is_multiple_of(size));
        misaligned.fold(mask, |mask, lane| mask & !(1 << lane))
    }

    /// Counts an access by the lanes of a mask.
    fn count(&self, addresses: &[u64; 32], taken: Mask) -> Vec<(MemorySpace, AccessCounts)> {
        let access = MemoryAccess {
            space: self.shape.space,
            kind: match self.shape.mode {
                AccessMode::Atomic => AccessKind::Atomic,
                _ => AccessKind::Load,
            },
            size: self.shape.bytes,
            addresses,
            taken,
        };
        match self.units == MemoryUnits::VOLTA {
            true => count_access_of_whole_warp(&access),
            false => count_access(&access),
        }
    }
}

/// Base of an address with this remainder: far from 0, and for generic addresses in one of the windows at random.
fn base(rng: &mut fastrand::Rng, form: &AccessForm, residue: u64) -> u64 {
    let window = match form.shape.space {
        MemorySpace::Generic => *rng
            .choice([0x0100_8000, 0x0200_8000, 1 << 33].iter())
            .expect("one"),
        MemorySpace::Global => 1 << 33,
        _ => 1 << 30,
    };
    window + residue
}

/// Runs random warps of random forms, claimed to be those that `plant` returns; returns the number of executions that
/// exceed their class, or that differ from an exact one.
fn contradictions(
    forms: impl Fn(&mut fastrand::Rng) -> AccessForm,
    plant: impl Fn(&mut AccessForm),
) -> usize {
    let mut rng = fastrand::Rng::with_seed(15);
    let mut found = 0;
    for _ in 0..FORMS {
        let form = forms(&mut rng);
        let mut claimed = form.clone();
        plant(&mut claimed);
        let class = claimed.class();
        let block = form.block.expect("a block");
        let threads: u32 = block.iter().product();
        for _ in 0..10 {
            let warp = rng.u32(0..threads.div_ceil(32));
            let steps = (512 / form.modulus).max(1);
            let residue = form.residue + form.modulus * rng.u64(0..steps);
            let (mut addresses, live) = form.addresses(block, warp, base(&mut rng, &form, residue));
            let all = form.aligned(&addresses, live);
            if form.wraps {
                let limit = addresses[rng.usize(0..32)];
                for address in addresses.iter_mut().filter(|address| **address >= limit) {
                    *address += 5 << 32;
                }
            }
            let mask = match rng.u32(0..3) {
                0 => all,
                1 => all & Mask::from(rng.u32(..)),
                _ => all & Mask::from(rng.u32(..) & rng.u32(..) & rng.u32(..)),
            };
            if mask == 0 {
                continue;
            }
            let is_full = mask.count_ones() == class.lanes;
            let parts = form.count(&addresses, mask);
            for (space, counts) in &parts {
                let limit = class.limit(*space).unwrap_or_default();
                let is_exact = class.is_exact && is_full && parts.len() == 1;
                found += usize::from(!counts.is_within(limit) || is_exact && *counts != limit);
            }
        }
    }
    found
}

#[test]
fn random_forms_never_exceed_their_class() {
    assert_eq!(contradictions(AccessForm::random, |_| {}), 0);
}

/// Lanes beyond any limit access memory far away.
#[test]
fn forms_whose_index_wraps_never_exceed_their_class() {
    let forms = |rng: &mut fastrand::Rng| {
        let mut form = AccessForm::random(rng);
        form.shape = AccessShape::plain(MemorySpace::Global, form.shape.bytes);
        form.wraps = true;
        form
    };
    assert_eq!(contradictions(forms, |_| {}), 0);
    let without_limit = contradictions(forms, |claimed| claimed.wraps = false);
    assert!(without_limit > 100, "only {without_limit} found");
    let forms = |rng: &mut fastrand::Rng| {
        let mut form = forms(rng);
        form.executing = None;
        form.coefficients[1..].fill(0);
        form.shape.bytes = form.shape.bytes.max(4);
        form.residue = 0;
        form.modulus = form.modulus.max(u64::from(form.shape.bytes));
        form
    };
    assert_eq!(contradictions(forms, |claimed| claimed.block = None), 0);
}

/// Each limit is attained by some warp and some base with all aligned lanes, so it is the least.
#[test]
fn limits_of_affine_forms_are_attained() {
    let mut rng = fastrand::Rng::with_seed(16);
    let mut exact = 0;
    for _ in 0..400 {
        let form = AccessForm::random(&mut rng);
        if form.shape.space == MemorySpace::Generic {
            continue;
        }
        let class = form.class();
        let block = form.block.expect("a block");
        let threads: u32 = block.iter().product();
        let mut worst = AccessCounts::default();
        for warp in 0..threads.div_ceil(32) {
            for residue in (form.residue % form.modulus..512).step_by(form.modulus as usize) {
                let (addresses, live) = form.addresses(block, warp, (1 << 30) + residue);
                let mask = form.aligned(&addresses, live);
                if mask != 0 {
                    worst = worst.max(form.count(&addresses, mask)[0].1);
                }
            }
        }
        // Pools take their transactions with or without lanes, others none.
        if worst != AccessCounts::default() {
            assert_eq!(class.worst(), worst, "{form:?}");
        }
        exact += usize::from(class.is_exact);
    }
    assert!(exact > 50, "only {exact} exact classes");
}

/// A class without a block holds for blocks of every shape.
#[test]
fn unknown_blocks_cover_all_shapes() {
    let forms = |rng: &mut fastrand::Rng| {
        let mut form = AccessForm::random(rng);
        form.executing = None;
        // Sizes of which few remainders are tried.
        if rng.u32(0..4) != 0 {
            form.coefficients[1..].fill(0);
            form.shape.bytes = form.shape.bytes.max(4);
            form.residue = 0;
            form.modulus = form.modulus.max(u64::from(form.shape.bytes));
        }
        form
    };
    assert_eq!(contradictions(forms, |claimed| claimed.block = None), 0);
}

/// Numbers never grow when lanes are left out.
#[test]
fn fewer_lanes_have_smaller_numbers() {
    let mut rng = fastrand::Rng::with_seed(17);
    for _ in 0..20_000 {
        let form = AccessForm::random(&mut rng);
        let size = u64::from(form.shape.bytes);
        let span = 1 << rng.u32(3..14);
        let addresses = std::array::from_fn(|_| (1 << 33) + rng.u64(0..span) / size * size);
        let all = Mask::from(rng.u32(1..));
        let some = all & Mask::from(rng.u32(..));
        let more = form.count(&addresses, all);
        for (space, counts) in form.count(&addresses, some) {
            let with_all = more.iter().find(|(other, _)| *other == space);
            let with_all = with_all.expect("the space is accessed").1;
            assert!(counts.is_within(with_all), "{counts:?} {with_all:?}");
        }
    }
}

/// Addresses in a range, or any: random lanes within it.
#[test]
fn ranges_are_never_exceeded() {
    let mut rng = fastrand::Rng::with_seed(18);
    let mut attained = 0;
    for _ in 0..20_000 {
        let form = AccessForm::random(&mut rng);
        let lanes = rng.u32(1..=32);
        let launch = LaunchContext {
            block: Some([lanes, 1, 1]),
            ..LaunchContext::default()
        };
        let size = u64::from(form.shape.bytes);
        let distance = match rng.u32(0..4) {
            0 => rng.u64(0..64),
            1 => rng.u64(0..1024),
            2 => 128 * rng.u64(0..16),
            _ => 1 << 20,
        };
        let addresses = match rng.u32(0..4) {
            0 => LaneAddresses::Unknown { decided_by: None },
            // A range of an affine form limits it, too.
            1 => LaneAddresses::Affine {
                coefficients: [1 << 33, 0, 0],
                modulus: 1,
                residue: 0,
                range: Some((4096, 4096 + distance)),
                wraps: false,
            },
            _ => LaneAddresses::Within {
                least: 4096,
                most: 4096 + distance,
            },
        };
        let class = AccessClassifier::new(&launch, form.units, &KnownCounts::default())
            .classify(form.shape, &addresses, None);
        let first = (1 << 20) + rng.u64(0..256);
        let last = first + distance;
        let least = first.next_multiple_of(size);
        if least > last {
            continue;
        }
        let steps = (last - least) / size;
        let each = *rng
            .choice([1, 32 / size.min(32), 128 / size].iter())
            .expect("one");
        let of_lanes = std::array::from_fn(|_| least + size * (rng.u64(0..=steps) / each * each));
        if matches!(addresses, LaneAddresses::Affine { .. })
            && form.shape.space != MemorySpace::Global
        {
            continue;
        }
        for (space, counts) in form.count(&of_lanes, lowest_lanes(lanes)) {
            let limit = class.limit(space).expect("a limit");
            assert!(
                counts.is_within(limit),
                "{form:?} {addresses:?}: {counts:?} {limit:?}"
            );
            attained += usize::from(counts == limit);
        }
    }
    assert!(attained > 1000, "only {attained} limits attained");
}

/// Numbers of accesses that follow from the rules by hand.
#[test]
fn numbers_by_hand() {
    use MemorySpace::{Constant, Global, Local, Shared};
    let numbers = |space, bytes, coefficients, modulus, block| {
        let form = AccessForm {
            shape: AccessShape::plain(space, bytes),
            coefficients,
            modulus,
            residue: 0,
            block,
            executing: None,
            wraps: false,
            units: MemoryUnits::NVIDIA,
        };
        let class = form.class();
        let AccessCounts {
            requests,
            transactions,
            sectors,
            lines,
            conflicts,
            byte_conflicts: 0,
        } = class.worst()
        else {
            panic!("banks of bytes");
        };
        (
            [requests, transactions, sectors, lines, conflicts],
            class.is_exact,
        )
    };
    let row = Some([32, 1, 1]);
    let none = [0; 3];
    for (space, bytes, coefficients, modulus, block, expected) in [
        // A request for each 8, 4 or 2 lanes, each with a sector.
        (Global, 4, none, 1, None, ([4, 4, 4, 1, 0], true)),
        (Global, 8, none, 1, None, ([8, 8, 8, 1, 0], true)),
        (Global, 16, none, 1, None, ([16, 16, 16, 1, 0], true)),
        // Coalesced: aligned to a line, to a sector, to nothing.
        (Global, 4, [4, 0, 0], 128, row, ([4, 4, 4, 1, 0], true)),
        (Global, 4, [4, 0, 0], 32, row, ([4, 4, 4, 2, 0], false)),
        (Global, 4, [4, 0, 0], 1, row, ([4, 5, 8, 2, 0], false)),
        (Global, 16, [16, 0, 0], 128, row, ([16, 16, 16, 4, 0], true)),
        // A column of a matrix with rows of a line.
        (Global, 4, [128, 0, 0], 4, row, ([4, 32, 32, 32, 0], true)),
        // Two rows of a block 16 wide.
        (
            Global,
            4,
            [4, 256, 0],
            128,
            Some([16, 16, 1]),
            ([4, 4, 4, 2, 0], true),
        ),
        // A word of local memory is a line; 64 bits are two.
        (Local, 4, none, 1, None, ([4, 4, 4, 1, 0], true)),
        (Local, 8, none, 1, None, ([8, 8, 8, 2, 0], true)),
        (Local, 16, none, 1, None, ([16, 16, 16, 4, 0], true)),
        // Shared memory (`pastis-2022` tables I and II).
        (Shared, 4, [4, 0, 0], 1, row, ([1, 1, 0, 0, 0], true)),
        (Shared, 8, [8, 0, 0], 1, row, ([2, 2, 0, 0, 0], true)),
        (Shared, 16, [16, 0, 0], 1, row, ([4, 4, 0, 0, 0], true)),
        (Shared, 4, [128, 0, 0], 1, row, ([1, 32, 0, 0, 31], true)),
        (Shared, 8, [128, 0, 0], 1, row, ([2, 32, 0, 0, 30], true)),
        (Shared, 16, [128, 0, 0], 1, row, ([4, 32, 0, 0, 28], true)),
        (Shared, 4, [132, 0, 0], 1, row, ([1, 1, 0, 0, 0], true)),
        (Shared, 4, none, 1, None, ([1, 1, 0, 0, 0], true)),
        // An indexed constant takes an access for each word.
        (Constant, 4, none, 1, None, ([1, 1, 0, 0, 0], true)),
        (Constant, 4, [4, 0, 0], 4, row, ([1, 32, 0, 0, 0], true)),
        // Bytes of 8 words, or of 9 where the first is not aligned.
        (Constant, 4, [1, 0, 0], 4, row, ([1, 8, 0, 0, 0], true)),
        (Constant, 4, [1, 0, 0], 1, row, ([1, 9, 0, 0, 0], false)),
    ] {
        let found = numbers(space, bytes, coefficients, modulus, block);
        assert_eq!(
            found, expected,
            "{space:?} {bytes} {coefficients:?} {modulus} {block:?}"
        );
    }
}

/// Forms with a base whose remainder is known.
fn with_base(rng: &mut fastrand::Rng) -> AccessForm {
    let mut form = AccessForm::random(rng);
    form.modulus = 128;
    form.residue &= 0x7f;
    form
}

#[test]
fn planted_base_off_by_a_sector() {
    assert_eq!(contradictions(with_base, |_| {}), 0);
    let found = contradictions(with_base, |claimed| {
        claimed.residue = (claimed.residue + 32) % 128
    });
    assert!(found > 20, "{found}");
}

/// Where the width of the block is no multiple of 32, threadIdx.y differs in a warp.
#[test]
fn planted_thread_index_y_constant_in_a_warp() {
    let found = contradictions(AccessForm::random, |claimed| claimed.coefficients[1] = 0);
    assert!(found > 100, "{found}");
    // In rows of whole warps it is no fault.
    let rows = |rng: &mut fastrand::Rng| AccessForm {
        block: Some([32, 8, 1]),
        modulus: 1,
        residue: 0,
        executing: None,
        ..AccessForm::random(rng)
    };
    assert_eq!(
        contradictions(rows, |claimed| claimed.coefficients[1] = 0),
        0
    );
}

#[test]
fn planted_local_access_of_64_bits_counted_as_one_word() {
    let local = |rng: &mut fastrand::Rng| AccessForm {
        units: MemoryUnits::NVIDIA,
        shape: AccessShape::plain(MemorySpace::Local, 8),
        ..AccessForm::random(rng)
    };
    assert_eq!(contradictions(local, |_| {}), 0);
    let found = contradictions(local, |claimed| claimed.shape.bytes = 4);
    assert!(found > 300, "{found}");
}

#[test]
fn planted_uniform_access_of_16_bytes_counted_as_one_request() {
    let uniform = |rng: &mut fastrand::Rng| AccessForm {
        units: MemoryUnits::NVIDIA,
        shape: AccessShape::plain(MemorySpace::Global, 16),
        coefficients: [0; 3],
        executing: None,
        ..AccessForm::random(rng)
    };
    assert_eq!(contradictions(uniform, |_| {}), 0);
    // One thread: one request, one sector.
    let found = contradictions(uniform, |claimed| claimed.block = Some([1, 1, 1]));
    assert!(found > 300, "{found}");
}

/// Doubles of one request that are counted as two requests, and lanes of atomic operations that are merged.
#[test]
fn planted_units_of_another_family() {
    let wide = |rng: &mut fastrand::Rng| AccessForm {
        shape: AccessShape::plain(MemorySpace::Global, 8),
        units: MemoryUnits::NVIDIA,
        executing: None,
        ..AccessForm::random(rng)
    };
    assert_eq!(contradictions(wide, |_| {}), 0);
    let found = contradictions(wide, |claimed| claimed.units = MemoryUnits::VOLTA);
    assert!(found > 1000, "{found}");
    let atomic = |rng: &mut fastrand::Rng| AccessForm {
        shape: AccessShape {
            mode: AccessMode::Atomic,
            ..AccessShape::plain(MemorySpace::Shared, 4)
        },
        units: MemoryUnits::VOLTA,
        coefficients: [0; 3],
        ..AccessForm::random(rng)
    };
    assert_eq!(contradictions(atomic, |_| {}), 0);
    let found = contradictions(atomic, |claimed| claimed.shape.mode = AccessMode::Plain);
    assert!(found > 1000, "{found}");
}

#[test]
fn planted_sign_of_a_stride() {
    let found = contradictions(with_base, |claimed| {
        claimed.coefficients[0] = -claimed.coefficients[0];
    });
    assert!(found > 100, "{found}");
}

/// Threads that may take part as well as those of a guard.
#[test]
fn planted_thread_left_out_of_an_access() {
    let found = contradictions(AccessForm::random, |claimed| {
        let block = claimed.block.expect("a block");
        let threads = 0..block.iter().product::<u32>();
        claimed.executing = Some(threads.map(|thread| thread % 32 != 5).collect());
    });
    assert!(found > 100, "{found}");
}

/// The numbers of the classes are those of every machine that comes with the tool.
#[test]
fn machines_have_the_units_of_access_classes() {
    let units = MemoryUnits::NVIDIA;
    let (BankRule::Pools(pool), RequestRule::Groups(request)) = (units.banks, units.requests)
    else {
        panic!("they have pools and groups");
    };
    assert!(GpuModel::names_of(Family::Maxwell).count() > 5);
    for name in GpuModel::names_of(Family::Maxwell) {
        let machine = GpuModel::built_in(name).expect("it comes with the tool");
        for selection in [
            warpbound_machine::Selection::Least,
            warpbound_machine::Selection::Most,
        ] {
            let machine = machine.select(selection);
            for (parameter, value) in [
                (Parameter::L1Line, units.line_bytes),
                (Parameter::L2Sector, units.sector_bytes),
                (Parameter::L1RequestThreads, request.into()),
                (Parameter::SharedBanks, MemoryUnits::BANKS),
                (Parameter::SharedPoolThreads, pool.into()),
            ] {
                assert_eq!(machine[parameter], value, "{name}: {}", parameter.name());
            }
        }
    }
}

/// Requests and sectors of an operation in global and in local memory, transactions and conflicts in shared memory.
type Sums = BTreeMap<(OpIndex, &'static str), [u64; 2]>;

fn add(sums: &mut Sums, at: OpIndex, space: MemorySpace, numbers: [u32; 2]) {
    let name = match space {
        MemorySpace::Shared => "shared",
        MemorySpace::Local => "local",
        _ => "global",
    };
    let sum = sums.entry((at, name)).or_default();
    for (sum, number) in sum.iter_mut().zip(numbers) {
        *sum += u64::from(number);
    }
}

/// Listener that counts the accesses of a run without time.
#[derive(Default)]
struct CountedAccesses {
    at: OpIndex,
    sums: Sums,
}

impl<E> ExecutionListener<E> for CountedAccesses {
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        self.at = issue.at;
        true
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        if access.taken == 0 {
            return;
        }
        for (space, counts) in count_access(access) {
            let numbers = match space {
                MemorySpace::Shared => [counts.transactions, counts.conflicts],
                _ => [counts.requests, counts.sectors],
            };
            add(&mut self.sums, self.at, space, numbers);
        }
    }
}

/// Listener that adds up the events of a run with time.
#[derive(Default)]
struct TimedAccesses(Sums);

impl EventListener for TimedAccesses {
    fn event(&mut self, _cycle: u64, event: &Event) {
        match *event {
            Event::Memory {
                at,
                space,
                requests,
                sectors,
                ..
            } => add(&mut self.0, at, space, [requests, sectors]),
            Event::Shared {
                at,
                transactions,
                conflicts,
                ..
            } => add(
                &mut self.0,
                at,
                MemorySpace::Shared,
                [transactions, conflicts],
            ),
            _ => {}
        }
    }
}

/// The memory divergence that `metrics` reports is the sum of the events of a run with time, and within its limits.
#[test]
fn memory_divergence_is_that_of_timed_runs() {
    let (mut compared, mut limited) = (0, 0);
    // How often these try again depends on the other warps.
    let retrying = ["cas_loop", "spin_lock"];
    let all = kernels::all().into_iter();
    let all = all.filter(|reference| !retrying.contains(&reference.kernel));
    for reference in all.step_by(5) {
        let (_, timed) = counted_twice(&reference, 0);
        let file = format!("{}.sm_61.cubin", reference.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = std::fs::read(path).expect("the cubin is in the repository");
        let session = Session::open(&file, &contents).expect("it loads");
        let launch = (reference.launch)(0);
        let kernel = session
            .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
            .expect("the kernel is there");
        let prepared = session.prepare(kernel).expect("it lifts");
        let found = memory_divergence(&session, &prepared, &launch, &RunOptions::default())
            .expect("it runs")
            .expect("it is code of NVIDIA");
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for ((_, space), numbers) in timed {
            *sums.entry(space).or_default() += numbers[1];
        }
        for space in &found.spaces {
            let counted = space.conflicts.or(space.sectors).expect("one is counted");
            assert_eq!(
                sums.get(space.space),
                Some(&counted),
                "{}",
                reference.kernel
            );
            compared += 1;
        }
        for access in &found.accesses {
            for (counted, most) in [
                (Some(access.transactions), access.most_transactions),
                (access.sectors, access.most_sectors),
                (access.conflicts, access.most_conflicts),
            ] {
                let Some((counted, most)) = counted.zip(most) else {
                    continue;
                };
                assert!(counted <= most, "{} {access:?}", reference.kernel);
                limited += 1;
            }
        }
    }
    assert!(compared > 30 && limited > 100, "{compared} {limited}");
}

/// Counts the accesses of a launch without time and with it.
fn counted_twice(reference: &KernelReference, number: u64) -> (Sums, Sums) {
    let file = format!("{}.sm_61.cubin", reference.source);
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    let session = Session::open(&file, &contents).expect("it loads");
    let launch = (reference.launch)(number);
    let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
    let kernel = kernel.expect("it has the kernel");
    let prepared = session.prepare(kernel).expect("it decodes");
    let image = Image::parse(&contents).expect("it loads");
    let order = warpbound_launch::PathOrder::default();
    let bound = warpbound_launch::bind(&launch, &image, kernel, &prepared.code, order, 1 << 30);
    let (run, mut memory) = bound.expect("the launch suits the kernel");
    let mut counted = CountedAccesses::default();
    launch_with_listener(&prepared.code, &run, &mut memory, &mut counted).expect("it runs");
    let mut timed = TimedAccesses::default();
    let options = TimedOptions {
        // Each request has sectors of its own.
        set: vec![(Parameter::L1Merge, 0)],
        ..TimedOptions::new(GpuModel::built_in("gtx1080").expect("it comes with the tool"))
    };
    let run = simulate_with(&session, &prepared, &launch, &options, &mut timed);
    run.expect("it runs");
    (counted.sums, timed.0)
}

/// The counting of the audit is that of the timing model, access by access.
#[test]
fn the_audit_counts_as_the_timing_model() {
    let mut compared = 0;
    let mut different = Vec::new();
    for reference in kernels::all() {
        for number in [0, 3] {
            let (counted, timed) = counted_twice(&reference, number);
            compared += counted.len();
            if counted != timed {
                different.push(reference.kernel);
            }
        }
    }
    different.dedup();
    assert!(compared > 1000, "{compared}");
    // How often these try again depends on the other warps.
    assert_eq!(different, ["cas_loop", "spin_lock"]);
}

/// Class of the first load of `transpose` in blocks of 32 x 8: `in[row * width + column]`, for the 64 rows of two blocks,
/// whose index is a word that grows by 8 rows in each iteration.
fn class_of_rows(width: u32) -> AccessPattern {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../kernels/built/transpose.sm_62.cubin"
    );
    let session = Session::open("transpose", &std::fs::read(file).expect("it is there"));
    let session = session.expect("it loads");
    let text = format!(
        "kernel = 'transpose'\ngrid = [3, 2]\nblock = [32, 8]\n\
         param = [{{type = 'f32', shape = [32]}}, {{type = 'f32', shape = [32]}}, {{type = 's32', value = {width}}},\
         {{type = 's32', value = 64}}]"
    );
    let no_files = |name: &str| Err(Diagnostic::new("no files").in_file(name));
    let launch = LaunchFile::parse("launch", &text, &no_files).expect("a launch");
    let kernel = session
        .launched_kernel(None, Some("transpose"))
        .expect("it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = claims(&session, &prepared, &options).expect("it is followed");
    let classes = access_classes(&session, &prepared, &claims.flow, &launch);
    let classes = classes.expect("it suits the kernel");
    let (_, class) = classes.first_key_value().expect("it loads");
    class.pattern
}

/// An index that grows from iteration to iteration is a linear function of the lane as long as it does not wrap: 63 rows
/// and 96 columns stay below 2³¹, one column more of each row does not. Then the addresses are those that the launch fixes, one
/// by one.
#[test]
fn indices_that_may_wrap_are_no_linear_function() {
    assert_eq!(class_of_rows(96), AccessPattern::Coalesced);
    let most = ((1 << 31) - 1 - 95) / 63;
    assert_eq!(class_of_rows(most), AccessPattern::Coalesced);
    assert_eq!(class_of_rows(most + 1), AccessPattern::Listed);
    assert_eq!(class_of_rows(1 << 29), AccessPattern::Listed);
}
