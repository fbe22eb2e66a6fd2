//! Addresses of memory accesses as functions of the lane (SOUNDNESS 5.13).

use warpbound_base::CodeAddr;

/// Addresses of the lanes that execute an access together, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LaneAddresses {
    /// A common base, and for each lane a multiple of its thread index in each direction:
    /// `base + Σ coefficients[axis]·tid[axis]`. Without thread index (all coefficients 0) the address is the same in
    /// all lanes.
    Affine {
        /// Bytes by which the address grows with the thread index in x, y, z.
        coefficients: [i64; 3],
        /// Power of two: the remainder of the base modulo it is known (1: nothing).
        modulus: u64,
        /// That remainder.
        residue: u64,
        /// Least and greatest address, for spaces that begin at 0 (shared, local).
        range: Option<(u64, u64)>,
    },
    /// Addresses between two limits (shared, local memory), or at most `most - least` bytes apart.
    Within {
        /// Least address, or 0.
        least: u64,
        /// Greatest address, or the greatest distance of two addresses.
        most: u64,
    },
    /// Any addresses.
    Unknown {
        /// Address of the load whose value decides the address, if there is one.
        decided_by: Option<CodeAddr>,
    },
}
