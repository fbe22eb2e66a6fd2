//! What the kernels of the repository compute, written a second time: launches with what buffers hold at their end.
//!
//! A file for each source in `kernels/cuda`, which shares nothing with it but the algorithm's definition.

mod btree_search;
mod cfd_flux;
mod heart_wall;
mod hotspot_3d;
mod huffman;
mod hybrid_sort;
mod launch;
mod lava_md;
mod leukocyte;
mod matmul_int;
mod mum_match;
mod rounded;
mod wavelet_2d;

use warpbound_load::GridFile;

pub use launch::{Launch, Number};

/// A kernel and launches of it.
pub struct Reference {
    /// The source: `kernels/cuda/NAME.cu`, `kernels/built/NAME.CHIP.cubin`.
    pub source: &'static str,
    /// The kernel in it, as people name it.
    pub kernel: &'static str,
    /// The launch of a number. Those of 0 to 2 are chosen, ragged sizes among them; others are random with the number as
    /// seed, and small enough for hundreds of them.
    pub launch: fn(u64) -> GridFile,
}

/// All kernels with a reference, by source.
pub fn all() -> Vec<Reference> {
    [
        btree_search::KERNELS,
        cfd_flux::KERNELS,
        heart_wall::KERNELS,
        hotspot_3d::KERNELS,
        huffman::KERNELS,
        hybrid_sort::KERNELS,
        lava_md::KERNELS,
        leukocyte::KERNELS,
        matmul_int::KERNELS,
        mum_match::KERNELS,
        wavelet_2d::KERNELS,
    ]
    .into_iter()
    .flatten()
    .map(|&(source, kernel, launch)| Reference {
        source,
        kernel,
        launch,
    })
    .collect()
}

/// A row of a file's table: source, kernel, launches.
type Row = (&'static str, &'static str, fn(u64) -> GridFile);
