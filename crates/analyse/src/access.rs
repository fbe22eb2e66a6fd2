//! Access classes: the most requests, transactions, sectors, lines and bank conflicts that one execution of a memory
//! access by a warp can cause (SOUNDNESS 5.13).
//!
//! A class holds for every subset of the lanes that may take part, for every warp of the block, and for every base address that
//! [`LaneAddresses`] admits. Accesses whose addresses are not multiples of their size end the run, so they are not
//! counted.

mod arrangement;
mod count;
mod span;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{CodeAddr, Named as _};
use warpbound_ir::{Expr, Meaning, Op, OpIndex, Width};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::WARP_LANES;

use crate::LaunchContext;
use crate::addresses::LaneAddresses;
use arrangement::LaneOffsets;
use span::LaneMask;

/// Lanes of a warp.
const LANES: usize = WARP_LANES as usize;

/// Bytes of a sector, the unit of a transfer (machine files: `l2.sector`).
pub const SECTOR_BYTES: u64 = 32;

/// Bytes of a line, the unit of a tag (`l1.line`).
pub const LINE_BYTES: u64 = 128;

/// Lanes of a request of at most 4 bytes per lane (`l1.request_threads`).
pub const REQUEST_LANES: u32 = 8;

/// Bytes over which the banks of shared memory are spread: 32 banks of a word (`shared.banks`).
pub const BANK_ROW_BYTES: u64 = 128;

/// Lanes of a pool of shared memory for at most 4 bytes per lane (`shared.pool_threads`).
pub const POOL_LANES: u32 = 32;

/// Memory space and width of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessShape {
    /// Memory space that the instruction names.
    pub space: MemorySpace,
    /// Bytes per lane: 1, 2, 4, 8 or 16.
    pub bytes: u32,
}

impl AccessShape {
    /// Returns the shape of the access of an operation; `None` if its meaning has no address. An indexed read of a
    /// constant bank (LDC) counts as an access of a word.
    pub fn of(op: &Op) -> Option<AccessShape> {
        let width = |width, words: usize| {
            Some(match (width, words) {
                (Width::U8 | Width::S8, _) => 1,
                (Width::U16 | Width::S16, _) => 2,
                (Width::Words, 1) => 4,
                (Width::Words, 2) => 8,
                (Width::Words, 3 | 4) => 16,
                (Width::Words, _) => return None,
            })
        };
        Some(match op.meaning.as_ref()? {
            Meaning::Load { address, .. }
            | Meaning::Store { address, .. }
            | Meaning::Atomic { address, .. }
                if !address.is_plain() =>
            {
                return None;
            }
            Meaning::Load {
                dests,
                width: each,
                space,
                ..
            } => AccessShape {
                space: *space,
                bytes: width(*each, dests.len())?,
            },
            Meaning::Store {
                values,
                width: each,
                space,
                ..
            } => AccessShape {
                space: *space,
                bytes: width(*each, values.len())?,
            },
            Meaning::Atomic { kind, space, .. } => AccessShape {
                space: *space,
                bytes: kind.size() as u32,
            },
            Meaning::Set(_) => {
                constant_address(op)?;
                AccessShape {
                    space: MemorySpace::Constant,
                    bytes: 4,
                }
            }
            _ => return None,
        })
    }
}

/// Returns the address that an indexed read of a constant bank computes from cells: that of its first word.
pub fn constant_address(op: &Op) -> Option<&Expr> {
    let Some(Meaning::Set(writes)) = &op.meaning else {
        return None;
    };
    writes.iter().find_map(|(_, value)| indexed_constant(value))
}

/// Returns the first address of a constant in an expression that is no number.
fn indexed_constant(value: &Expr) -> Option<&Expr> {
    match value {
        Expr::Constant(_, address) => match **address {
            Expr::Const(_) => None,
            ref address => Some(address),
        },
        Expr::Unary(_, a) => indexed_constant(a),
        Expr::Binary(_, a, b) => indexed_constant(a).or_else(|| indexed_constant(b)),
        Expr::Ternary(_, a, b, c) => indexed_constant(a)
            .or_else(|| indexed_constant(b))
            .or_else(|| indexed_constant(c)),
        Expr::Float(_, words, _) => words.iter().find_map(indexed_constant),
        _ => None,
    }
}

/// Numbers of one execution of an access by a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccessCounts {
    /// Requests: groups of 8, 4 or 2 consecutive lanes for 4, 8 or 16 bytes; of shared memory, pools.
    pub requests: u32,
    /// Global and local memory: lines, those of each request counted apart. Shared memory: accesses to the banks.
    /// Constants: distinct words.
    pub transactions: u32,
    /// Sectors of global and local memory, those of each request counted apart.
    pub sectors: u32,
    /// Distinct lines of global and local memory.
    pub lines: u32,
    /// Transactions of shared memory due to bank conflicts.
    pub conflicts: u32,
}

impl AccessCounts {
    /// Combines two records number by number.
    fn zip(self, other: AccessCounts, with: impl Fn(u32, u32) -> u32) -> AccessCounts {
        AccessCounts {
            requests: with(self.requests, other.requests),
            transactions: with(self.transactions, other.transactions),
            sectors: with(self.sectors, other.sectors),
            lines: with(self.lines, other.lines),
            conflicts: with(self.conflicts, other.conflicts),
        }
    }

    /// Returns the greater of each pair of numbers.
    #[must_use]
    pub fn max(self, other: AccessCounts) -> AccessCounts {
        self.zip(other, u32::max)
    }

    /// Returns the smaller of each pair of numbers.
    #[must_use]
    pub fn min(self, other: AccessCounts) -> AccessCounts {
        self.zip(other, u32::min)
    }

    /// Whether no number exceeds that of another record.
    pub fn is_within(self, limits: AccessCounts) -> bool {
        self.max(limits) == limits
    }
}

/// Relation between the addresses of the lanes of a warp, for reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessPattern {
    /// The same address in all lanes.
    Uniform,
    /// Consecutive lanes access consecutive elements.
    Coalesced,
    /// Addresses of consecutive lanes differ by a number of bytes.
    Strided(i64),
    /// A linear function of the thread index, in bytes per x, y, z.
    Affine([i64; 3]),
    /// Addresses at most this number of bytes apart.
    Array(u64),
    /// Any addresses, with the load that decides them, if one does.
    Unknown(Option<CodeAddr>),
}

impl AccessPattern {
    /// Name of the kind of relation.
    pub fn name(self) -> &'static str {
        match self {
            AccessPattern::Uniform => "uniform",
            AccessPattern::Coalesced => "coalesced",
            AccessPattern::Strided(_) => "strided",
            AccessPattern::Affine(_) => "affine",
            AccessPattern::Array(_) => "within an array",
            AccessPattern::Unknown(Some(_)) => "decided by a load",
            AccessPattern::Unknown(None) => "unknown",
        }
    }
}

/// Claim about the executions of an access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessClass {
    /// Memory space and width.
    pub shape: AccessShape,
    /// Relation between the addresses.
    pub pattern: AccessPattern,
    /// Most numbers of the lanes that access each space: one entry, or one for each space that a generic address may
    /// lie in.
    pub limits: Vec<(MemorySpace, AccessCounts)>,
    /// Most lanes of a warp that may take part.
    pub lanes: u32,
    /// Whether each execution by this number of lanes has these numbers.
    pub is_exact: bool,
    /// Whether the shape of the block is needed for smaller numbers and not known.
    pub needs_block: bool,
}

impl AccessClass {
    /// Returns the greatest number of each kind over the memory spaces.
    pub fn worst(&self) -> AccessCounts {
        let counts = self.limits.iter().map(|(_, counts)| *counts);
        counts.fold(AccessCounts::default(), AccessCounts::max)
    }

    /// Returns the limits of the lanes that access one space; `None` if no lane can.
    pub fn limit(&self, space: MemorySpace) -> Option<AccessCounts> {
        let found = self.limits.iter().find(|(other, _)| *other == space);
        found.map(|(_, counts)| *counts)
    }
}

/// Form that decides the numbers of an affine access: name of the space, bytes, coefficients, modulus and residue of
/// the base, and the threads that may take part.
type AffineForm = (&'static str, u32, [i64; 3], u64, u64, Option<Vec<bool>>);

/// Knowledge about an access.
#[derive(Clone, Copy)]
struct Access<'a> {
    /// Bytes per lane, of which addresses are multiples.
    bytes: u32,
    addresses: &'a LaneAddresses,
    /// Threads of the block that may take part; all without an entry.
    executing: Option<&'a [bool]>,
    /// Offsets of the lanes, if they are affine and can be listed.
    offsets: Option<&'a [LaneOffsets]>,
}

/// Classification of accesses for one launch; equal forms are counted once.
pub struct AccessClassifier<'a> {
    launch: &'a LaunchContext,
    known: BTreeMap<AffineForm, (AccessCounts, bool)>,
}

impl<'a> AccessClassifier<'a> {
    /// Prepares the classification for a launch.
    pub fn new(launch: &'a LaunchContext) -> AccessClassifier<'a> {
        AccessClassifier {
            launch,
            known: BTreeMap::new(),
        }
    }

    /// Returns the classes of all operations that access memory at an address. Operations without an entry in
    /// `addresses` may access any; all threads may execute those without one in `executing`
    /// ([`executing_threads`](crate::guarded_lanes::executing_threads)).
    pub fn classify_all(
        &mut self,
        ops: &[Op],
        addresses: &BTreeMap<OpIndex, LaneAddresses>,
        executing: &BTreeMap<OpIndex, Vec<bool>>,
    ) -> BTreeMap<OpIndex, AccessClass> {
        const ANY: LaneAddresses = LaneAddresses::Unknown { decided_by: None };
        let all = (0..).map(OpIndex).zip(ops);
        let class = |(at, op): (OpIndex, &Op)| {
            let shape = AccessShape::of(op)?;
            let found = addresses.get(&at).unwrap_or(&ANY);
            let executing = executing.get(&at).map(Vec::as_slice);
            Some((at, self.classify(shape, found, executing)))
        };
        all.filter_map(class).collect()
    }

    /// Returns the class of an access. `executing` has the threads of the block that may take part, by number; all may
    /// without it.
    pub fn classify(
        &mut self,
        shape: AccessShape,
        addresses: &LaneAddresses,
        executing: Option<&[bool]>,
    ) -> AccessClass {
        let generic = [MemorySpace::Global, MemorySpace::Shared, MemorySpace::Local];
        let spaces = match &shape.space {
            MemorySpace::Generic => &generic[..],
            one => std::slice::from_ref(one),
        };
        let offsets = match addresses {
            LaneAddresses::Affine { coefficients, .. } => {
                arrangement::lane_offsets(self.launch.block, *coefficients, executing)
            }
            _ => None,
        };
        let access = Access {
            // Constants need not be aligned: the word of an address is read.
            bytes: match shape.space {
                MemorySpace::Constant => 1,
                _ => shape.bytes,
            },
            addresses,
            executing,
            offsets: offsets.as_deref(),
        };
        let masks = arrangement::lane_masks(self.launch, executing);
        let mut is_exact = true;
        let mut limits = Vec::new();
        for &space in spaces {
            let (counts, exact) = self.limit(space, &access, &masks);
            limits.push((space, counts));
            is_exact &= exact;
        }
        let is_affine = matches!(addresses, LaneAddresses::Affine { .. });
        let lanes = |mask: &LaneMask| mask.iter().filter(|&&is| is).count();
        AccessClass {
            shape,
            pattern: self.pattern(shape, addresses, offsets.as_deref()),
            limits,
            lanes: masks.iter().map(lanes).max().unwrap_or(0) as u32,
            is_exact,
            needs_block: is_affine && self.launch.block.is_none() && !is_uniform(addresses),
        }
    }

    /// Returns the limits of the lanes that access one space, and whether they are exact.
    fn limit(
        &mut self,
        space: MemorySpace,
        access: &Access<'_>,
        masks: &BTreeSet<LaneMask>,
    ) -> (AccessCounts, bool) {
        let within = |distance| {
            let worst = |mask| span::worst(space, access.bytes, distance, mask);
            let counts = masks.iter().map(worst);
            counts.fold(AccessCounts::default(), AccessCounts::max)
        };
        match access.addresses {
            LaneAddresses::Unknown { .. } => (within(u64::MAX), false),
            LaneAddresses::Within { least, most } => {
                // Limits in the wrong order say nothing.
                let distance = most.checked_sub(*least).unwrap_or(u64::MAX);
                (within(distance), false)
            }
            LaneAddresses::Affine {
                coefficients,
                modulus,
                residue,
                range,
            } => {
                let distance = range.and_then(|(least, most)| most.checked_sub(least));
                let of_range = within(distance.unwrap_or(u64::MAX));
                let Some(offsets) = access.offsets else {
                    return (of_range, false);
                };
                // Numbers depend on addresses modulo the bytes of a line, or of a row of banks.
                let modulus = match modulus.is_power_of_two() {
                    true => (*modulus).min(LINE_BYTES),
                    false => 1,
                };
                let base = (modulus, residue % modulus);
                let executing = access.executing.map(<[bool]>::to_vec);
                let name = space.name();
                let form = (name, access.bytes, *coefficients, base.0, base.1, executing);
                let count = || worst_of_offsets(space, access.bytes, offsets, base);
                let (counts, exact) = *self.known.entry(form).or_insert_with(count);
                let smaller = counts.min(of_range);
                (smaller, exact && smaller == counts)
            }
        }
    }

    /// Returns the relation between the addresses of the lanes.
    fn pattern(
        &self,
        shape: AccessShape,
        addresses: &LaneAddresses,
        offsets: Option<&[LaneOffsets]>,
    ) -> AccessPattern {
        let coefficients = match addresses {
            LaneAddresses::Unknown { decided_by } => return AccessPattern::Unknown(*decided_by),
            LaneAddresses::Within { least, most } => {
                return match most.checked_sub(*least) {
                    Some(distance) => {
                        AccessPattern::Array(distance.saturating_add(shape.bytes.into()))
                    }
                    None => AccessPattern::Unknown(None),
                };
            }
            LaneAddresses::Affine { coefficients, .. } => *coefficients,
        };
        let stride = match (coefficients, self.launch.block) {
            // In blocks of unknown width the relation within a row is shown.
            ([x, 0, 0], None) => Some(x),
            _ => offsets.and_then(arrangement::stride),
        };
        match stride {
            Some(0) => AccessPattern::Uniform,
            Some(stride) if stride == i64::from(shape.bytes) => AccessPattern::Coalesced,
            Some(stride) => AccessPattern::Strided(stride),
            None => AccessPattern::Affine(coefficients),
        }
    }
}

/// Returns the most of each number over the warps in `offsets` and all bases with the given remainder, and whether
/// these are the numbers of each warp with the most threads for each such base.
fn worst_of_offsets(
    space: MemorySpace,
    bytes: u32,
    offsets: &[LaneOffsets],
    (modulus, residue): (u64, u64),
) -> (AccessCounts, bool) {
    let threads = |warp: &LaneOffsets| warp.iter().flatten().count();
    let most_threads = offsets.iter().map(threads).max().unwrap_or(0);
    let mut worst = AccessCounts::default();
    let mut of_full_warps: Option<AccessCounts> = None;
    let mut differ = false;
    for warp in &arrangement::distinct(offsets, modulus) {
        for base in (residue..LINE_BYTES).step_by(modulus as usize) {
            // Lanes whose address is no multiple of the size do not take part: the run would end.
            let addresses = warp.map(|offset| {
                let address = base.wrapping_add(offset?);
                address.is_multiple_of(bytes.into()).then_some(address)
            });
            let counts = count::count(space, bytes, &addresses);
            worst = worst.max(counts);
            let is_full = threads(&addresses) == most_threads;
            if is_full {
                differ |= *of_full_warps.get_or_insert(counts) != counts;
            }
        }
    }
    (worst, !differ && of_full_warps == Some(worst))
}

/// Whether all lanes have one address.
fn is_uniform(addresses: &LaneAddresses) -> bool {
    matches!(addresses, LaneAddresses::Affine { coefficients, .. } if *coefficients == [0; 3])
}
