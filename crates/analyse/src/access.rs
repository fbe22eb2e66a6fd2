//! Access classes: upper bounds on the requests, transactions, sectors, lines and bank conflicts that one execution
//! of a memory access by a warp can cause (SOUNDNESS 5.13).
//!
//! A class holds for every subset of the lanes that may take part, for every warp of the block, and for every base
//! address that [`LaneAddresses`] admits. Accesses whose addresses are not multiples of their size end the run, so
//! they are not counted. For example, 32 lanes that load consecutive words from a multiple of 128 bytes cause 4
//! requests of 8 lanes, each with one sector, on NVIDIA's GPUs.

mod arrangement;
mod count;
mod known;
mod numbers;
mod shape;
mod span;
mod stated;
mod units;
mod wrap;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::CodeAddr;
use warpbound_ir::{Op, OpIndex};
use warpbound_isa::instr::MemorySpace;

use crate::LaunchContext;
use crate::addresses::{LaneAddresses, NearLanes};
use arrangement::{LaneMask, LaneOffsets, PERIOD, TakingLanes};
use known::AffineForm;
use shape::CountedForm;

pub use known::KnownCounts;
pub use numbers::AccessCounts;
pub use shape::{AccessMode, AccessShape, constant_address};
pub use stated::StatedAccess;
pub use units::{BankRule, MemoryUnits, RequestRule};

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
    /// Addresses in some clusters.
    Near(NearLanes),
    /// Addresses that all follow from the launch, one by one.
    Listed,
    /// Any addresses; a user states some of the numbers.
    Stated,
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
            AccessPattern::Near(_) => "near each other",
            AccessPattern::Listed => "listed",
            AccessPattern::Stated => "stated",
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
    /// Upper bounds for the lanes that access each memory space: one entry, or one for each space that a generic
    /// address may lie in.
    pub limits: Vec<(MemorySpace, AccessCounts)>,
    /// Maximum number of lanes of a warp that may take part.
    pub lanes: u32,
    /// Whether every execution by this number of lanes has exactly these counts.
    pub is_exact: bool,
    /// Whether smaller bounds would need the shape of the block, which is unknown.
    pub needs_block: bool,
}

impl AccessClass {
    /// Returns the maximum of each count over the memory spaces.
    pub fn worst(&self) -> AccessCounts {
        let counts = self.limits.iter().map(|(_, counts)| *counts);
        counts.fold(AccessCounts::default(), AccessCounts::max)
    }

    /// Lowers the numbers to the numbers of one launch whose addresses are all known.
    pub fn limit_to(&mut self, counts: AccessCounts) {
        // Known addresses are counted for one space, so a class with several keeps its limits.
        if let [(_, limit)] = self.limits.as_mut_slice() {
            let smaller = limit.min(counts);
            if smaller != *limit {
                *limit = smaller;
                self.pattern = AccessPattern::Listed;
                self.is_exact = false;
            }
        }
    }

    /// Returns the limits of the lanes that access one space; `None` if no lane can.
    pub fn limit(&self, space: MemorySpace) -> Option<AccessCounts> {
        let found = self.limits.iter().find(|(other, _)| *other == space);
        found.map(|(_, counts)| *counts)
    }
}

/// Counts of an access by lanes with the given addresses, which are aligned to the size of the access; `None` for
/// accesses through descriptors, to generic addresses, or of two halves.
pub fn count_addresses(
    units: &MemoryUnits,
    shape: AccessShape,
    addresses: &[Option<u64>],
) -> Option<AccessCounts> {
    let is_plain = matches!(shape.mode, AccessMode::Plain | AccessMode::Atomic)
        && shape.second_half.is_none()
        && shape.space != MemorySpace::Generic;
    is_plain.then(|| count::count(units, shape.space, &units.form(shape), addresses))
}

/// Knowledge about an access.
#[derive(Clone, Copy)]
struct Access<'a> {
    form: CountedForm,
    /// Distance of the second of two accesses.
    second_half: Option<u32>,
    addresses: &'a LaneAddresses,
    /// Threads of a block in x, y, z, if they are known and decide the offsets.
    block: Option<[u32; 3]>,
    /// Threads of the block that may take part; all without an entry.
    executing: Option<&'a [bool]>,
    /// Offsets of the lanes, if they are affine and can be listed.
    offsets: Option<&'a [LaneOffsets]>,
}

/// Classification of accesses for one launch.
pub struct AccessClassifier<'a> {
    launch: &'a LaunchContext,
    units: MemoryUnits,
    known: &'a KnownCounts,
}

impl<'a> AccessClassifier<'a> {
    /// Prepares the classification for a launch on machines with these memory units. Forms in `known` are not counted
    /// again.
    pub fn new(
        launch: &'a LaunchContext,
        units: MemoryUnits,
        known: &'a KnownCounts,
    ) -> AccessClassifier<'a> {
        AccessClassifier {
            launch,
            units,
            known,
        }
    }

    /// Returns the classes of all operations that access memory at an address. An operation without an entry in
    /// `addresses` may access any address. All threads may execute an operation without an entry in `executing`
    /// ([`executing_threads`](crate::guarded_lanes::executing_threads)).
    pub fn classify_all(
        &self,
        ops: &[Op],
        addresses: &BTreeMap<OpIndex, LaneAddresses>,
        executing: &BTreeMap<OpIndex, Vec<bool>>,
    ) -> BTreeMap<OpIndex, AccessClass> {
        const ANY: LaneAddresses = LaneAddresses::Unknown { decided_by: None };
        let all = (0..).map(OpIndex).zip(ops);
        let class = |(at, op): (OpIndex, &Op)| {
            let shape = AccessShape::of(op, &self.units)?;
            let found = addresses.get(&at).unwrap_or(&ANY);
            let executing = executing.get(&at).map(Vec::as_slice);
            Some((at, self.classify(shape, found, executing)))
        };
        all.filter_map(class).collect()
    }

    /// Returns the operations at which some thread that may take part accesses a misaligned address, wherever the
    /// buffers begin: a run in which that thread takes part ends in a fault. The arguments are the same as for
    /// [`AccessClassifier::classify_all`].
    pub fn misaligned(
        &self,
        ops: &[Op],
        addresses: &BTreeMap<OpIndex, LaneAddresses>,
        executing: &BTreeMap<OpIndex, Vec<bool>>,
    ) -> Vec<OpIndex> {
        let is_misaligned = |(at, op): &(OpIndex, &Op)| {
            let found = addresses.get(at);
            let (Some(shape), Some(found)) = (AccessShape::of(op, &self.units), found) else {
                return false;
            };
            let LaneAddresses::Affine {
                coefficients,
                modulus,
                residue,
                ..
            } = found
            else {
                return false;
            };
            // Only a remainder modulo a multiple of the alignment decides whether an address is aligned.
            let align = u64::from(self.units.form(shape).align);
            if !matches!(shape.mode, AccessMode::Plain | AccessMode::Atomic)
                || align < 2
                || !modulus.is_multiple_of(align)
            {
                return false;
            }
            let executing = executing.get(at).map(Vec::as_slice);
            let lanes = self.lanes(shape, found, executing);
            // If the warps cannot be listed, no access is claimed to be misaligned.
            let offsets = lanes.offsets(*coefficients).unwrap_or_default();
            let mut offsets = offsets.iter().flatten().flatten();
            offsets.any(|offset| !residue.wrapping_add(*offset).is_multiple_of(align))
        };
        let all = (0..).map(OpIndex).zip(ops).filter(is_misaligned);
        all.map(|(at, _)| at).collect()
    }

    /// Returns the class of an access. `executing` has the threads of the block that may take part, by number; all may
    /// without it.
    pub fn classify(
        &self,
        shape: AccessShape,
        addresses: &LaneAddresses,
        executing: Option<&[bool]>,
    ) -> AccessClass {
        let generic = [MemorySpace::Global, MemorySpace::Shared, MemorySpace::Local];
        // Resource descriptors have addresses of global memory or of private memory.
        let of_buffers = [MemorySpace::Global, MemorySpace::Local];
        let spaces = match (&shape.space, shape.mode) {
            (_, AccessMode::Buffer) => &of_buffers[..],
            (MemorySpace::Generic, _) => &generic[..],
            (one, _) => std::slice::from_ref(one),
        };
        let lanes = self.lanes(shape, addresses, executing);
        let offsets = match addresses {
            LaneAddresses::Affine { coefficients, .. } => lanes.offsets(*coefficients),
            _ => None,
        };
        let access = Access {
            form: self.units.form(shape),
            second_half: shape.second_half,
            addresses,
            block: lanes.block,
            executing: lanes.executing,
            offsets: offsets.as_deref(),
        };
        let masks = lanes.masks();
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

    /// Returns the lanes that may take part in an access.
    fn lanes<'e>(
        &self,
        shape: AccessShape,
        addresses: &LaneAddresses,
        executing: Option<&'e [bool]>,
    ) -> TakingLanes<'e>
    where
        'a: 'e,
    {
        let is_known = matches!(
            addresses,
            LaneAddresses::Affine { coefficients, .. } if *coefficients != [0; 3]
        );
        match shape.mode {
            AccessMode::Scalar => TakingLanes {
                block: None,
                lanes: 1,
                live: 1,
                executing: None,
            },
            // Lanes that hold no thread may be switched on; their addresses do not follow from a thread index.
            _ if self.units.keeps_masks && !is_known => TakingLanes {
                block: None,
                lanes: self.units.lanes,
                live: self.units.lanes,
                executing: None,
            },
            _ => TakingLanes {
                block: self.launch.block,
                lanes: self.units.lanes,
                live: self.launch.live_lanes() as usize,
                executing,
            },
        }
    }

    /// Returns the limits of the lanes that access one space, and whether they are exact.
    fn limit(
        &self,
        space: MemorySpace,
        access: &Access<'_>,
        masks: &BTreeSet<LaneMask>,
    ) -> (AccessCounts, bool) {
        let is_opaque = self.units.keeps_masks && space == MemorySpace::Local
            || access.form.mode == AccessMode::Buffer;
        let near = |near: &[NearLanes]| {
            let worst = |mask: &LaneMask| span::worst(&self.units, space, &access.form, near, mask);
            let counts = masks.iter().map(worst);
            counts.fold(AccessCounts::default(), AccessCounts::max)
        };
        let within = |distance| near(&[NearLanes::all_within(distance)]);
        match access.addresses {
            // Private memory of waves is where their registers and descriptors say.
            _ if is_opaque => (within(u64::MAX), false),
            LaneAddresses::Unknown { .. } => (within(u64::MAX), false),
            LaneAddresses::Within { least, most } => {
                // Limits in the wrong order say nothing.
                let distance = most.checked_sub(*least).unwrap_or(u64::MAX);
                (within(distance), false)
            }
            LaneAddresses::Near(of_lanes) => (near(of_lanes), false),
            LaneAddresses::Affine {
                coefficients,
                modulus,
                residue,
                range,
                wraps,
            } => {
                let distance = range.and_then(|(least, most)| most.checked_sub(least));
                let of_range = within(distance.unwrap_or(u64::MAX));
                let Some(offsets) = access.offsets else {
                    return (of_range, false);
                };
                // The argument for indices that wrap is about lines and sectors; it says nothing about bank conflicts.
                if *wraps && space != MemorySpace::Global {
                    return (of_range, false);
                }
                // Counts repeat when the base moves by a period. A modulus that is not a power of two need not divide
                // the period.
                let modulus = match modulus.is_power_of_two() {
                    true => (*modulus).min(PERIOD),
                    false => 1,
                };
                let halves = [Some(0), access.second_half].into_iter().flatten();
                let mut worst: Option<(AccessCounts, bool)> = None;
                for distance in halves {
                    let residue = residue.wrapping_add(distance.into()) % modulus;
                    let (counts, exact) =
                        self.affine_limit(space, access, offsets, *coefficients, modulus, residue);
                    worst = Some(match worst {
                        None => (counts, exact),
                        Some((other, as_exact)) => {
                            (counts.max(other), exact && as_exact && counts == other)
                        }
                    });
                }
                let (mut counts, mut exact) = worst.unwrap_or_default();
                if *wraps {
                    counts = wrap::count_apart(&access.form, counts, offsets);
                    exact = false;
                }
                // Both bounds hold, so the smaller of each pair of counts does.
                let smaller = counts.min(of_range);
                (smaller, exact && smaller == counts)
            }
        }
    }

    /// Returns the limits of an affine access with the remainder of its base, and whether they are exact.
    fn affine_limit(
        &self,
        space: MemorySpace,
        access: &Access<'_>,
        offsets: &[LaneOffsets],
        coefficients: [i64; 3],
        modulus: u64,
        residue: u64,
    ) -> (AccessCounts, bool) {
        let form = access.form;
        // A load by the warp as a whole ignores the two lowest bits of its address, so a remainder of these alone
        // says nothing.
        let (modulus, residue) = match form.mode {
            AccessMode::Scalar if modulus < 4 => (1, 0),
            AccessMode::Scalar => (modulus, residue & !3),
            _ => (modulus, residue),
        };
        let units = self.units;
        let key = AffineForm {
            units,
            space,
            form,
            block: access.block,
            lanes: offsets.first().map_or(0, Vec::len),
            coefficients,
            base: (modulus, residue),
            executing: access.executing.map(<[bool]>::to_vec),
        };
        (self.known).get(key, || {
            worst_of_offsets(&units, space, &form, offsets, modulus, residue)
        })
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
            // The last entry is about the whole warp.
            LaneAddresses::Near(of_lanes) => {
                return of_lanes
                    .last()
                    .map_or(AccessPattern::Unknown(None), |warp| {
                        AccessPattern::Near(*warp)
                    });
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

/// Returns the maximum of each count over the warps in `offsets` and over all bases with the given remainder. The
/// second result says whether every warp with the maximum number of threads has exactly these counts for every such
/// base.
fn worst_of_offsets(
    units: &MemoryUnits,
    space: MemorySpace,
    form: &CountedForm,
    offsets: &[LaneOffsets],
    modulus: u64,
    residue: u64,
) -> (AccessCounts, bool) {
    let threads = |warp: &LaneOffsets| warp.iter().flatten().count();
    let most_threads = offsets.iter().map(threads).max().unwrap_or(0);
    let mut worst = AccessCounts::default();
    let mut of_full_warps: Option<AccessCounts> = None;
    let mut differ = false;
    let mut addresses = LaneOffsets::new();
    let align = u64::from(form.align);
    for warp in &arrangement::distinct(offsets, modulus) {
        // If all offsets are aligned, an aligned base aligns all lanes, and any other base none, so that it adds no
        // counts.
        let is_aligned = |offset: &u64| offset.is_multiple_of(align);
        let step = match residue == 0 && warp.iter().flatten().all(is_aligned) {
            true => modulus.max(align),
            false => modulus,
        };
        for base in (residue..PERIOD).step_by(step as usize) {
            // Lanes whose address is not aligned do not take part: the run would end.
            let address = |offset: &Option<u64>| {
                let address = base.wrapping_add((*offset)?);
                address.is_multiple_of(form.align.into()).then_some(address)
            };
            addresses.clear();
            addresses.extend(warp.iter().map(address));
            let counts = count::count(units, space, form, &addresses);
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
