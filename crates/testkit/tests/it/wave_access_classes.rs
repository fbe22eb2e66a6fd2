//! Access classes of waves: random address forms and ranges against counting by the rules in words, the numbers that
//! follow from the rules by hand, and planted faults.

use warpbound_analyse::LaunchContext;
use warpbound_analyse::access::{
    AccessClass, AccessClassifier, AccessCounts, AccessMode, AccessShape, BankRule, KnownCounts,
    MemoryUnits, RequestRule,
};
use warpbound_analyse::addresses::{self, LaneAddresses};
use warpbound_analyse::launch_ranges::LaunchRanges;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::Family;
use warpbound_ir::{Cell, Code, Expr, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::{Axis, SpecialReg};
use warpbound_machine::{GpuModel, Parameter, Selection};
use warpbound_query::KernelFlow;
use warpbound_runs::access_counts::count_access_of_wave;
use warpbound_simt::Mask;
use warpbound_simt::warp::WarpModel;
use warpbound_simulate::functional::{AccessKind, MemoryAccess};

use super::counted_loops::code_of;

/// Lanes of a wave.
const LANES: usize = 64;

/// Shapes of workgroups with rows narrower than a wave, equal to it, wider, and unaligned; the last wave partial.
const BLOCKS: [[u32; 3]; 9] = [
    [64, 1, 1],
    [256, 1, 1],
    [40, 1, 1],
    [65, 3, 1],
    [16, 16, 1],
    [11, 11, 1],
    [4, 4, 4],
    [1, 70, 1],
    [128, 2, 2],
];

/// Number of random forms of a test.
const FORMS: u64 = 1500;

/// Access by the lanes of a wave, with what is known of its addresses.
#[derive(Clone, Debug)]
struct WaveForm {
    shape: AccessShape,
    block: Option<[u32; 3]>,
    coefficients: [i64; 3],
    modulus: u64,
    residue: u64,
    units: MemoryUnits,
    /// Whether lanes beyond some address may access memory that is far away.
    wraps: bool,
}

impl WaveForm {
    fn random(rng: &mut fastrand::Rng) -> WaveForm {
        let spaces = [
            MemorySpace::Global,
            MemorySpace::Shared,
            MemorySpace::Generic,
        ];
        let space = spaces[rng.usize(0..3)];
        let bytes = *rng.choice([1u32, 2, 4, 4, 8, 12, 16].iter()).expect("one");
        let mode = match (bytes, rng.u32(0..4)) {
            (4 | 8, 0) => AccessMode::Atomic,
            _ => AccessMode::Plain,
        };
        let second = rng.u32(0..4) == 0 && space == MemorySpace::Shared && matches!(bytes, 4 | 8);
        let mut coefficient = || match rng.u32(0..6) {
            0 | 1 => 0,
            2 | 3 => i64::from(bytes),
            4 => i64::from(bytes) * rng.i64(-40..40),
            _ => rng.i64(-300..300),
        };
        let coefficients = [coefficient(), coefficient(), coefficient()];
        let modulus = 1u64 << rng.u32(0..9);
        WaveForm {
            shape: AccessShape {
                mode,
                second_half: second.then(|| bytes * rng.u32(0..70)),
                ..AccessShape::plain(space, bytes)
            },
            block: Some(BLOCKS[rng.usize(0..BLOCKS.len())]),
            coefficients,
            modulus,
            // Half of the bases are aligned.
            residue: rng.u64(0..modulus) & !(u64::from(16 * rng.u32(0..2)).max(1) - 1),
            units: MemoryUnits::GCN3,
            wraps: false,
        }
    }

    /// Returns the class that the analysis gives.
    fn class(&self) -> AccessClass {
        let launch = LaunchContext {
            warp_width: 64,
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
        AccessClassifier::new(&launch, self.units, &KnownCounts::default())
            .classify(self.shape, &addresses, None)
    }

    /// Returns the addresses of the lanes of a wave, and the lanes that have one: of a uniform address all, also those
    /// that hold no thread.
    fn addresses(&self, block: [u32; 3], wave: u32, base: u64) -> ([u64; LANES], Mask) {
        if self.coefficients == [0; 3] {
            return ([base; LANES], Mask::MAX);
        }
        let mut addresses = [0; LANES];
        let mut live = 0;
        let mut number = 0;
        for z in 0..block[2] {
            for y in 0..block[1] {
                for x in 0..block[0] {
                    if number / 64 == wave {
                        let lane = number % 64;
                        live |= 1 << lane;
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

    /// Returns the lanes of a mask whose address does not end the run.
    fn aligned(&self, addresses: &[u64; LANES], mask: Mask) -> Mask {
        let align = match self.shape.space {
            MemorySpace::Shared => u64::from(self.shape.bytes).next_power_of_two(),
            _ => u64::from(self.shape.bytes.min(4)),
        };
        let wrong = (0..LANES).filter(|&lane| !addresses[lane].is_multiple_of(align));
        wrong.fold(mask, |mask, lane| mask & !(1 << lane))
    }

    /// Counts one of the accesses by the lanes of a mask.
    fn count(&self, addresses: &[u64; LANES], taken: Mask) -> Vec<(MemorySpace, AccessCounts)> {
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
        count_access_of_wave(&access, self.shape.mode)
    }

    /// Addresses of the second of two accesses.
    fn second(&self, addresses: &[u64; LANES]) -> Option<[u64; LANES]> {
        let distance = u64::from(self.shape.second_half?);
        Some(addresses.map(|address| address + distance))
    }
}

/// Base of an address with this remainder; of flat addresses sometimes in the window of LDS.
fn base(rng: &mut fastrand::Rng, form: &WaveForm, residue: u64) -> u64 {
    let window = match form.shape.space {
        MemorySpace::Generic => *rng
            .choice([1 << 33, 0x2000_0000_0000_8000].iter())
            .expect("one"),
        MemorySpace::Global => 1 << 33,
        _ => 1 << 20,
    };
    window + residue
}

/// Runs random waves of random forms, claimed to be those that `plant` returns; returns the number of executions that
/// exceed their class, or that differ from an exact one.
fn contradictions(
    forms: impl Fn(&mut fastrand::Rng) -> WaveForm,
    plant: impl Fn(&mut WaveForm),
) -> usize {
    contradictions_of(FORMS, forms, plant)
}

/// The same for a number of forms.
fn contradictions_of(
    number: u64,
    forms: impl Fn(&mut fastrand::Rng) -> WaveForm,
    plant: impl Fn(&mut WaveForm),
) -> usize {
    let mut rng = fastrand::Rng::with_seed(18);
    let mut found = 0;
    for _ in 0..number {
        let form = forms(&mut rng);
        let mut claimed = form.clone();
        plant(&mut claimed);
        let class = claimed.class();
        let block = form.block.expect("a block");
        let threads: u32 = block.iter().product();
        for _ in 0..8 {
            let wave = rng.u32(0..threads.div_ceil(64));
            let steps = (512 / form.modulus).max(1);
            let residue = form.residue + form.modulus * rng.u64(0..steps);
            let (mut addresses, live) = form.addresses(block, wave, base(&mut rng, &form, residue));
            let all = form.aligned(&addresses, live);
            if form.wraps {
                let limit = addresses[rng.usize(0..LANES)];
                for address in addresses.iter_mut().filter(|address| **address >= limit) {
                    *address += 5 << 32;
                }
            }
            let mask = match rng.u32(0..3) {
                0 => all,
                1 => all & rng.u64(..),
                _ => all & rng.u64(..) & rng.u64(..) & rng.u64(..),
            };
            if mask == 0 {
                continue;
            }
            let is_full = mask.count_ones() == class.lanes;
            for addresses in [Some(addresses), form.second(&addresses)]
                .into_iter()
                .flatten()
            {
                let parts = form.count(&addresses, mask);
                for (space, counts) in &parts {
                    let limit = class.limit(*space).unwrap_or_default();
                    let is_exact = class.is_exact && is_full && parts.len() == 1;
                    found += usize::from(!counts.is_within(limit) || is_exact && *counts != limit);
                }
            }
        }
    }
    found
}

/// Lanes beyond any limit access memory far away; accesses need not lie within a line.
#[test]
fn forms_whose_index_wraps_never_exceed_their_class() {
    let forms = |rng: &mut fastrand::Rng| {
        let mut form = WaveForm::random(rng);
        let bytes = form.shape.bytes;
        form.shape = AccessShape::plain(MemorySpace::Global, bytes);
        form.wraps = true;
        form
    };
    assert_eq!(contradictions(forms, |_| {}), 0);
    let without_limit = contradictions(forms, |claimed| claimed.wraps = false);
    assert!(without_limit > 100, "only {without_limit} found");
}

#[test]
fn random_forms_never_exceed_their_class() {
    assert_eq!(contradictions(WaveForm::random, |_| {}), 0);
}

/// A class without a block holds for workgroups of every shape.
#[test]
fn unknown_groups_cover_all_shapes() {
    // All arrangements of a row are tried for each base, which takes long.
    let forms = |rng: &mut fastrand::Rng| {
        let form = WaveForm::random(rng);
        let factor = rng.i64(-3..4);
        WaveForm {
            coefficients: [factor * i64::from(form.shape.bytes.max(4)), 0, 0],
            modulus: 128,
            residue: form.residue & 0x7c,
            ..form
        }
    };
    let found = contradictions_of(60, forms, |claimed| claimed.block = None);
    assert_eq!(found, 0);
}

/// Each limit of an affine form is attained by some wave and some base with all lanes whose address is aligned.
#[test]
fn limits_of_affine_forms_are_attained() {
    let mut rng = fastrand::Rng::with_seed(19);
    let mut exact = 0;
    for _ in 0..300 {
        let form = WaveForm::random(&mut rng);
        if form.shape.space == MemorySpace::Generic {
            continue;
        }
        let class = form.class();
        let block = form.block.expect("a block");
        let threads: u32 = block.iter().product();
        let mut worst = AccessCounts::default();
        for wave in 0..threads.div_ceil(64) {
            for residue in (form.residue % form.modulus..512).step_by(form.modulus as usize) {
                let (addresses, live) = form.addresses(block, wave, (1 << 30) + residue);
                let mask = form.aligned(&addresses, live);
                for own in [Some(addresses), form.second(&addresses)]
                    .into_iter()
                    .flatten()
                {
                    if mask != 0 {
                        worst = worst.max(form.count(&own, mask)[0].1);
                    }
                }
            }
        }
        assert_eq!(class.worst(), worst, "{form:?}");
        exact += usize::from(class.is_exact);
    }
    assert!(exact > 30, "only {exact} exact classes");
}

/// Addresses in a range, or any: random lanes within it.
#[test]
fn ranges_are_never_exceeded() {
    let mut rng = fastrand::Rng::with_seed(20);
    let mut attained = 0;
    let launch = LaunchContext {
        warp_width: 64,
        ..LaunchContext::default()
    };
    for _ in 0..20_000 {
        let form = WaveForm::random(&mut rng);
        let size = u64::from(form.shape.bytes);
        let align = match form.shape.space {
            MemorySpace::Shared => size.next_power_of_two(),
            _ => size.min(4),
        };
        let distance = match rng.u32(0..4) {
            0 => rng.u64(0..64),
            1 => rng.u64(0..1024),
            2 => 128 * rng.u64(0..16),
            _ => 1 << 20,
        };
        let addresses = match rng.bool() {
            true => LaneAddresses::Unknown { decided_by: None },
            false => LaneAddresses::Within {
                least: 4096,
                most: 4096 + distance,
            },
        };
        let known = KnownCounts::default();
        let classifier = AccessClassifier::new(&launch, MemoryUnits::GCN3, &known);
        let class = classifier.classify(form.shape, &addresses, None);
        let first = (1 << 20) + rng.u64(0..256);
        let least = first.next_multiple_of(align);
        if least > first + distance {
            continue;
        }
        let steps = (first + distance - least) / align;
        let each = *rng
            .choice([1, 32 / align, 128 / align].iter())
            .expect("one");
        let of_lanes = std::array::from_fn(|_| least + align * (rng.u64(0..=steps) / each * each));
        for (space, counts) in form.count(&of_lanes, rng.u64(1..)) {
            let limit = class.limit(space).expect("a limit");
            assert!(
                counts.is_within(limit),
                "{form:?} {addresses:?}: {counts:?} {limit:?}"
            );
        }
        for (space, counts) in form.count(&of_lanes, Mask::MAX) {
            let limit = class.limit(space).expect("a limit");
            assert!(counts.is_within(limit), "{form:?}: {counts:?} {limit:?}");
            attained += usize::from(counts == limit);
        }
    }
    assert!(attained > 300, "only {attained} limits attained");
}

/// Private memory: whatever the addresses are, dword by dword in rows of the lanes, or through a descriptor.
#[test]
fn private_memory_is_never_exceeded() {
    let mut rng = fastrand::Rng::with_seed(21);
    let launch = LaunchContext {
        warp_width: 64,
        ..LaunchContext::default()
    };
    for _ in 0..5000 {
        let bytes = *rng.choice([1u32, 2, 4, 8, 12, 16].iter()).expect("one");
        let (mode, window) = match rng.bool() {
            true => (AccessMode::Buffer, 0x4000_0000_0000),
            false => (AccessMode::Plain, 0x2000_0001_0000_0000),
        };
        let shape = AccessShape {
            mode,
            ..AccessShape::plain(MemorySpace::Generic, bytes)
        };
        let unknown = LaneAddresses::Unknown { decided_by: None };
        let affine = LaneAddresses::Affine {
            coefficients: [0; 3],
            modulus: 128,
            residue: 0,
            range: None,
            wraps: false,
        };
        let claimed = [unknown, affine][rng.usize(0..2)].clone();
        let class = AccessClassifier::new(&launch, MemoryUnits::GCN3, &KnownCounts::default())
            .classify(shape, &claimed, None);
        let align = u64::from(bytes.min(4));
        let spread = 1 << rng.u32(1..14);
        let addresses: [u64; LANES] =
            std::array::from_fn(|_| window + rng.u64(0..spread) / align * align);
        let access = MemoryAccess {
            space: MemorySpace::Generic,
            kind: AccessKind::Store,
            size: bytes,
            addresses: &addresses,
            taken: rng.u64(1..),
        };
        for (space, counts) in count_access_of_wave(&access, mode) {
            assert_eq!(space, MemorySpace::Local);
            let limit = class.limit(space).expect("a limit");
            assert!(counts.is_within(limit), "{shape:?}: {counts:?} {limit:?}");
        }
    }
}

/// Loads of the wave as a whole: one line, or two where the words may cross the end of a line.
#[test]
fn scalar_loads_have_one_line_or_two() {
    let launch = LaunchContext {
        warp_width: 64,
        block: Some([40, 1, 1]),
        ..LaunchContext::default()
    };
    let lines = |bytes, modulus, residue| {
        let shape = AccessShape {
            mode: AccessMode::Scalar,
            ..AccessShape::plain(MemorySpace::Global, bytes)
        };
        let addresses = LaneAddresses::Affine {
            coefficients: [0; 3],
            modulus,
            residue,
            range: None,
            wraps: false,
        };
        let unknown = LaneAddresses::Unknown { decided_by: None };
        let known = KnownCounts::default();
        let classifier = AccessClassifier::new(&launch, MemoryUnits::GCN3, &known);
        let [known, any] = [&addresses, &unknown].map(|addresses| {
            let class = classifier.classify(shape, addresses, None);
            assert_eq!(class.lanes, 1);
            class.worst().lines
        });
        let mut observed = 0;
        for base in (residue..256).step_by(modulus as usize) {
            let access = MemoryAccess {
                space: MemorySpace::Global,
                kind: AccessKind::Load,
                size: bytes,
                addresses: &[base; LANES],
                taken: 1,
            };
            observed = observed.max(count_access_of_wave(&access, shape.mode)[0].1.lines);
        }
        assert_eq!(known, observed);
        (known, any)
    };
    assert_eq!(lines(4, 1, 0), (1, 1));
    assert_eq!(lines(8, 1, 0), (2, 2));
    assert_eq!(lines(8, 8, 0), (1, 2));
    // The lowest bits do not count.
    assert_eq!(lines(8, 8, 3), (1, 2));
    assert_eq!(lines(8, 64, 61), (2, 2));
    assert_eq!(lines(64, 64, 0), (1, 2));
    assert_eq!(lines(64, 16, 0), (2, 2));
    assert_eq!(lines(16, 16, 4), (2, 2));
}

/// Numbers of accesses that follow from the rules by hand.
#[test]
fn numbers_by_hand() {
    use MemorySpace::{Global, Shared};
    let numbers = |shape: AccessShape, coefficient: i64, modulus| {
        let form = WaveForm {
            shape,
            block: Some([64, 1, 1]),
            coefficients: [coefficient, 0, 0],
            modulus,
            residue: 0,
            units: MemoryUnits::GCN3,
            wraps: false,
        };
        let counts = form.class().worst();
        [
            counts.requests,
            counts.transactions,
            counts.lines,
            counts.conflicts,
            counts.byte_conflicts,
        ]
    };
    let plain = AccessShape::plain;
    // A line for each 16 lanes, or one more where the base is not aligned to it.
    assert_eq!(numbers(plain(Global, 4), 4, 64), [1, 4, 4, 0, 0]);
    assert_eq!(numbers(plain(Global, 4), 4, 4), [1, 5, 5, 0, 0]);
    assert_eq!(numbers(plain(Global, 4), 0, 4), [1, 1, 1, 0, 0]);
    assert_eq!(numbers(plain(Global, 4), 64, 4), [1, 64, 64, 0, 0]);
    // 16 lanes share a request of 16 bytes each; words that are not aligned to 16 bytes cross lines.
    assert_eq!(numbers(plain(Global, 16), 16, 64), [4, 16, 16, 0, 0]);
    assert_eq!(numbers(plain(Global, 16), 64, 4), [4, 68, 65, 0, 0]);
    assert_eq!(numbers(plain(Global, 12), 12, 64)[0], 4);
    // LDS: two groups of 32 lanes, for each word. Consecutive words conflict in banks of bytes, four to a bank.
    assert_eq!(numbers(plain(Shared, 4), 4, 4), [2, 2, 0, 0, 6]);
    assert_eq!(numbers(plain(Shared, 1), 1, 1)[3..], [0, 0]);
    assert_eq!(numbers(plain(Shared, 4), 0, 4), [2, 2, 0, 0, 0]);
    assert_eq!(numbers(plain(Shared, 8), 8, 8), [4, 8, 0, 4, 28]);
    assert_eq!(numbers(plain(Shared, 4), 128, 4), [2, 64, 0, 62, 62]);
    // Lanes of an atomic operation are served apart.
    let atomic = AccessShape {
        mode: AccessMode::Atomic,
        ..plain(Shared, 4)
    };
    assert_eq!(numbers(atomic, 0, 4), [2, 64, 0, 62, 62]);
}

/// Banks of bytes are not those of words: a class without them is exceeded.
#[test]
fn planted_banks_by_byte_left_out() {
    let mut rng = fastrand::Rng::with_seed(22);
    let mut found = 0;
    for _ in 0..200 {
        let form = WaveForm {
            shape: AccessShape::plain(MemorySpace::Shared, 4),
            coefficients: [4, 0, 0],
            residue: 0,
            ..WaveForm::random(&mut rng)
        };
        let mut limit = form.class().worst();
        limit.byte_conflicts = limit.conflicts;
        let block = form.block.expect("a block");
        let (addresses, live) = form.addresses(block, 0, 1 << 20);
        let counts = form.count(&addresses, form.aligned(&addresses, live))[0].1;
        found += usize::from(!counts.is_within(limit));
    }
    assert!(found > 100, "{found}");
}

#[test]
fn planted_atomic_lanes_merged() {
    let atomic = |rng: &mut fastrand::Rng| WaveForm {
        shape: AccessShape {
            mode: AccessMode::Atomic,
            ..AccessShape::plain(MemorySpace::Shared, 4)
        },
        ..WaveForm::random(rng)
    };
    assert_eq!(contradictions(atomic, |_| {}), 0);
    let found = contradictions(atomic, |claimed| claimed.shape.mode = AccessMode::Plain);
    assert!(found > 300, "{found}");
}

/// Words of a lane may cross the end of a line.
#[test]
fn planted_wide_accesses_aligned_to_their_size() {
    let wide = |rng: &mut fastrand::Rng| WaveForm {
        shape: AccessShape::plain(MemorySpace::Global, 8),
        ..WaveForm::random(rng)
    };
    assert_eq!(contradictions(wide, |_| {}), 0);
    let found = contradictions(wide, |claimed| claimed.units.keeps_masks = false);
    assert!(found > 100, "{found}");
}

/// Lanes that hold no thread may be switched on: a uniform address is accessed by 64 lanes.
#[test]
fn planted_lanes_without_a_thread_left_out() {
    let uniform = |rng: &mut fastrand::Rng| WaveForm {
        shape: AccessShape::plain(MemorySpace::Global, 16),
        coefficients: [0; 3],
        block: Some([8, 1, 1]),
        ..WaveForm::random(rng)
    };
    assert_eq!(contradictions(uniform, |_| {}), 0);
    let found = contradictions(uniform, |claimed| claimed.units.keeps_masks = false);
    assert!(found > 300, "{found}");
}

/// Classes for 32 lanes do not hold for waves of 64.
#[test]
fn planted_waves_of_32_lanes() {
    let found = contradictions(WaveForm::random, |claimed| claimed.units.lanes = 32);
    assert!(found > 300, "{found}");
}

/// The numbers of the classes are those of every machine that comes with the tool.
#[test]
fn machines_have_the_units_of_access_classes() {
    let units = MemoryUnits::GCN3;
    let (BankRule::Groups(group), RequestRule::Groups(request)) = (units.banks, units.requests)
    else {
        panic!("they have groups");
    };
    assert_eq!(GpuModel::names_of(Family::Gcn3).count(), 2);
    for name in GpuModel::names_of(Family::Gcn3) {
        let machine = GpuModel::built_in(name).expect("it comes with the tool");
        for selection in [Selection::Least, Selection::Most] {
            let machine = machine.select(selection);
            for (parameter, value) in [
                (Parameter::L1Line, units.line_bytes),
                (Parameter::ScalarLine, units.line_bytes),
                (Parameter::L2Sector, units.sector_bytes),
                (Parameter::L1RequestThreads, request.into()),
                (Parameter::LdsBanks, MemoryUnits::BANKS),
                (Parameter::LdsGroup, group.into()),
            ] {
                assert_eq!(machine[parameter], value, "{name}: {}", parameter.name());
            }
        }
    }
}

/// The form of the address of the load of a program of waves with 64 lanes.
fn address_of(lines: &[&str]) -> LaneAddresses {
    address_in(&code_of(lines), lines)
}

fn address_in(code: &Code, lines: &[&str]) -> LaneAddresses {
    let context = LaunchContext {
        warp_width: 64,
        block: Some([64, 1, 1]),
        ..LaunchContext::default()
    };
    let flow = KernelFlow::analyse(code, &context, &WarpModel::default(), &Limits::default())
        .expect("it is followed");
    let ranges = LaunchRanges::default();
    let found = addresses::find(code, &flow.thread, &flow.warp, &ranges, &context);
    let load = lines.iter().position(|line| line.contains("load"));
    found[&OpIndex(load.expect("a load") as u32)].clone()
}

/// The carry of the low words of a sum of two pairs is a mask, whose bit of the own lane is added to the high words: the
/// address is followed where both words of the mask are one ballot of the lanes that are active at the sum.
#[test]
fn carries_in_masks_are_followed() {
    let low = "R1 = add(mul(R0, 4), c[0][0x140])";
    let ballot = "S106 = ballot.low(carry(mul(R0, 4), c[0][0x140], 0)), \
                  S107 = ballot.high(carry(mul(R0, 4), c[0][0x140], 0))";
    let other_ballot = "S106 = ballot.low(carry(mul(R0, 4), c[0][0x140], 0)), \
                        S107 = ballot.high(carry(mul(R0, 4), c[0][0x144], 0))";
    let narrows = "warp S126 = and(S126, S2), S127 = and(S127, S3) set_active M1";
    let high = "R2 = add(c[0][0x144], and(funnel_right(S106, S107, special.lane), 1))";
    let program = |ballot, between| {
        let lines = ["R0 = special.thread_x", low, ballot, between, high];
        [&lines[..], &["R3 = load global[R2:R1]", "exit"]].concat()
    };
    let is_affine = |found: &LaneAddresses| {
        matches!(
            found,
            LaneAddresses::Affine {
                coefficients: [4, 0, 0],
                ..
            }
        )
    };
    let found = address_of(&program(ballot, "nop"));
    assert!(is_affine(&found), "{found:?}");
    // The words of two ballots; a mask that another operation has written; lanes that are others than at the ballot.
    for (ballot, between) in [
        (other_ballot, "nop"),
        (ballot, "warp S107 = 0"),
        (ballot, narrows),
    ] {
        let found = address_of(&program(ballot, between));
        assert!(!is_affine(&found), "{between}: {found:?}");
    }
}

/// A loop of a wave counts for all lanes that are active: where lanes pause, their registers do not grow with it.
#[test]
fn counters_of_lanes_that_pause_are_not_followed() {
    let counts = "R1 = add(R1, 64)";
    let program = |first, paused| {
        address_of(&[
            "R0 = special.thread_x",
            "R1 = R0",
            "warp S4 = 0",
            first,
            "S106 = ballot.low(lt_u(R9, 5)), S107 = ballot.high(lt_u(R9, 5))",
            "warp S2 = S126, S3 = S127, S126 = and(S126, S106), S127 = and(S127, S107) set_active M1",
            paused,
            "warp S126 = or(S126, S2), S127 = or(S127, S3) set_active M1",
            "R3 = load shared[mul(R1, 4)]",
            "warp S4 = add(S4, 1), S128 = lt_u(S4, 9)",
            "if S128 jump 0x0018",
            "exit",
        ])
    };
    let is_affine = |found: &LaneAddresses| matches!(found, LaneAddresses::Affine { .. });
    let found = program(counts, "nop");
    assert!(is_affine(&found), "{found:?}");
    let found = program("nop", counts);
    assert!(!is_affine(&found), "{found:?}");
}

/// Lanes that leave a loop by its condition, and are active in the next iteration by a mask of the one before: the condition
/// says nothing of their registers. All 64 lanes load from `1024 * thread + 1023` in the second iteration.
#[test]
fn limits_of_lanes_that_go_on_hold_of_no_others() {
    let lines = [
        "warp S4 = 0, S5 = 0",
        "warp S2 = S126, S3 = S127",
        "warp S126 = S4, S127 = S5 set_active M1",
        "R5 = load.u8 shared[R0]",
        "warp S126 = S2, S127 = S3 set_active M1",
        "R2 = R0",
        "R0 = add(mul(R0, 32), 31)",
        "S106 = ballot.low(lt_u(R2, 64)), S107 = ballot.high(lt_u(R2, 64))",
        "warp S4 = S126, S5 = S127",
        "warp S126 = and(S126, S106), S127 = and(S127, S107) set_active M1",
        "if M1 jump 0x0008",
        "exit",
    ];
    let mut code = code_of(&lines);
    let index = Expr::Special(SpecialReg::ThreadIndex(Axis::X));
    code.entry_values.push((Cell::gpr(0), index));
    let found = address_in(&code, &lines);
    assert!(matches!(found, LaneAddresses::Unknown { .. }), "{found:?}");
}
