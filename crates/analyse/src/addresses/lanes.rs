//! Addresses of the lanes that execute an access together, as functions of the lane.

use warpbound_base::CodeAddr;

/// Addresses of the lanes that execute an access together, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LaneAddresses {
    /// A common base, and for each lane a multiple of its thread index in each direction:
    /// `base + Σ coefficients[axis]·tid[axis]`. For example, `p[tid.x]` with elements of 4 bytes has the coefficients
    /// `[4, 0, 0]`. If all coefficients are 0, the address is the same in all lanes.
    Affine {
        /// Bytes by which the address grows with the thread index in x, y, z.
        coefficients: [i64; 3],
        /// Power of two modulo which the remainder of the base is known; 1 if nothing is known.
        modulus: u64,
        /// That remainder.
        residue: u64,
        /// Lowest and highest address, for spaces that begin at 0 (shared, local).
        range: Option<(u64, u64)>,
        /// Whether an index may wrap around among the lanes: addresses beyond some limit are then lower by a multiple
        /// of 2³².
        wraps: bool,
    },
    /// Addresses between two limits (shared, local memory), or at most `most - least` bytes apart.
    Within {
        /// Lowest address, or 0.
        least: u64,
        /// Highest address, or the largest distance of two addresses.
        most: u64,
    },
    /// Addresses of lanes with close numbers are near each other. Entry `k` is about any 2^k lanes that begin at a
    /// multiple of 2^k, up to the whole warp.
    Near(Vec<NearLanes>),
    /// Any addresses.
    Unknown {
        /// Address of the load whose value decides the address, if there is one.
        decided_by: Option<CodeAddr>,
    },
}

/// Addresses of some lanes, in clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NearLanes {
    /// Maximum number of clusters.
    pub clusters: u32,
    /// Largest distance of two addresses of one cluster, in bytes.
    pub distance: u64,
}

impl NearLanes {
    /// All lanes in one cluster.
    pub(crate) fn all_within(distance: u64) -> NearLanes {
        NearLanes {
            clusters: 1,
            distance,
        }
    }

    /// Clusters that cover both claims.
    #[must_use]
    pub(super) fn join(self, other: NearLanes) -> NearLanes {
        NearLanes {
            clusters: self.clusters.max(other.clusters),
            distance: self.distance.max(other.distance),
        }
    }
}

impl LaneAddresses {
    /// Addresses that cover two contexts of an access.
    #[must_use]
    pub(super) fn join(self, other: LaneAddresses) -> LaneAddresses {
        match (self, other) {
            (
                LaneAddresses::Affine {
                    coefficients: a,
                    modulus,
                    residue,
                    range,
                    wraps,
                },
                LaneAddresses::Affine {
                    coefficients: b,
                    modulus: other_modulus,
                    residue: other_residue,
                    range: other_range,
                    wraps: other_wraps,
                },
            ) if a == b => {
                let modulus = common_modulus(modulus, residue, other_modulus, other_residue);
                let ranges = range.zip(other_range);
                LaneAddresses::Affine {
                    coefficients: a,
                    modulus,
                    residue: residue % modulus,
                    range: ranges.map(|((a, b), (c, d))| (a.min(c), b.max(d))),
                    wraps: wraps || other_wraps,
                }
            }
            (
                LaneAddresses::Within { least: a, most: b },
                LaneAddresses::Within { least: c, most: d },
            ) => LaneAddresses::Within {
                least: a.min(c),
                most: b.max(d),
            },
            (LaneAddresses::Near(a), LaneAddresses::Near(b)) if a.len() == b.len() => {
                let both = a.into_iter().zip(b);
                LaneAddresses::Near(both.map(|(a, b)| a.join(b)).collect())
            }
            (
                LaneAddresses::Unknown {
                    decided_by: Some(load),
                },
                _,
            )
            | (
                _,
                LaneAddresses::Unknown {
                    decided_by: Some(load),
                },
            ) => LaneAddresses::Unknown {
                decided_by: Some(load),
            },
            _ => LaneAddresses::Unknown { decided_by: None },
        }
    }
}

/// Largest power of two modulo which two numbers, each known modulo a power of two, have the same remainder. For
/// example, a number that is 4 modulo 16 and one that is 12 modulo 32 are both 4 modulo 8.
fn common_modulus(modulus: u64, residue: u64, other_modulus: u64, other_residue: u64) -> u64 {
    let modulus = modulus.min(other_modulus).max(1);
    match residue.abs_diff(other_residue) % modulus {
        0 => modulus,
        // Remainders are equal modulo each power of two that divides their difference.
        difference => 1 << difference.trailing_zeros(),
    }
}
