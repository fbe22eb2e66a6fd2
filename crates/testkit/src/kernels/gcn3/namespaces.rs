//! References of kernels that compute the same as kernels of `kernels/cuda` whose names are in a namespace, which
//! OpenCL C does not have.

use super::super::{Row, bitonic_sort, nbody};

pub(super) const KERNELS: &[Row] = &[
    ("bitonic_network", "bitonic_block_int", |number| {
        bitonic_sort::block_int("bitonic_block_int", number)
    }),
    ("bitonic_network", "bitonic_step", |number| {
        bitonic_sort::step("bitonic_step", number)
    }),
    ("nbody_tiles", "nbody_advance", |number| {
        nbody::advance("nbody_advance", number)
    }),
];
