//! What the kernels of the repository compute, written a second time: launches with what buffers hold at their end.
//!
//! A file for each source in `kernels/cuda`, which shares nothing with it but the algorithm's definition.

mod backprop;
mod bfs;
mod btree_search;
mod cfd_flux;
mod convolution;
mod convolution_texture;
mod f16_arithmetic;
mod f32_division;
mod f64_division;
mod float_mix;
mod function_pointer;
mod gaussian;
mod heart_wall;
mod histogram;
mod hotspot;
mod hotspot_3d;
mod huffman;
mod hybrid_sort;
mod kmeans;
mod launch;
mod lava_md;
mod leukocyte;
mod lud_diagonal;
mod mandelbrot;
mod matmul_int;
mod matmul_tiled;
mod module_variables;
mod mum_match;
mod myocyte;
mod nbody;
mod nearest_neighbour;
mod needleman_wunsch;
mod particle_filter;
mod path_finder;
mod perceptron;
mod rare_instructions;
mod recursion;
mod reduction;
mod rounding;
mod running_error;
mod sampling;
mod shuffle;
mod spmv;
mod srad;
mod stream_cluster;
mod surface;
mod switch_fallthrough;
mod switch_table;
mod texture;
mod texture_kinds;
mod transpose;
mod triangle_sum;
mod uniform_loop;
mod vote;
mod walsh_transform;
mod wavelet_2d;

use warpbound_load::GridFile;

pub use launch::{Launch, Number};
pub use perceptron::DenseLayer;
pub use rounding::Float;

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
        backprop::KERNELS,
        bfs::KERNELS,
        btree_search::KERNELS,
        cfd_flux::KERNELS,
        convolution::KERNELS,
        convolution_texture::KERNELS,
        f16_arithmetic::KERNELS,
        f32_division::KERNELS,
        f64_division::KERNELS,
        float_mix::KERNELS,
        function_pointer::KERNELS,
        gaussian::KERNELS,
        heart_wall::KERNELS,
        histogram::KERNELS,
        hotspot::KERNELS,
        hotspot_3d::KERNELS,
        huffman::KERNELS,
        hybrid_sort::KERNELS,
        kmeans::KERNELS,
        lava_md::KERNELS,
        leukocyte::KERNELS,
        lud_diagonal::KERNELS,
        mandelbrot::KERNELS,
        matmul_int::KERNELS,
        matmul_tiled::KERNELS,
        module_variables::KERNELS,
        mum_match::KERNELS,
        myocyte::KERNELS,
        nbody::KERNELS,
        nearest_neighbour::KERNELS,
        needleman_wunsch::KERNELS,
        particle_filter::KERNELS,
        path_finder::KERNELS,
        perceptron::KERNELS,
        rare_instructions::KERNELS,
        recursion::KERNELS,
        reduction::KERNELS,
        shuffle::KERNELS,
        spmv::KERNELS,
        srad::KERNELS,
        stream_cluster::KERNELS,
        surface::KERNELS,
        switch_fallthrough::KERNELS,
        switch_table::KERNELS,
        texture::KERNELS,
        texture_kinds::KERNELS,
        transpose::KERNELS,
        triangle_sum::KERNELS,
        uniform_loop::KERNELS,
        vote::KERNELS,
        walsh_transform::KERNELS,
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
