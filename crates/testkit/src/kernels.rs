//! References of the repository's kernels: launches with the expected final contents of buffers, computed
//! independently.
//!
//! There is one file for each source in `kernels/cuda`, and a folder for those in `kernels/gcn3`; a source and its
//! reference share only the definition of the algorithm.

pub mod built;

mod atomics;
mod backprop;
mod barrier_in_function;
mod barrier_kinds;
mod bfs;
mod bitonic_sort;
mod break_loop;
mod btree_search;
mod call_both_sides;
mod call_depth2;
mod cc_branch;
mod cfd_flux;
mod continue_loop;
mod convolution;
mod convolution_texture;
mod early_exit;
mod f16_arithmetic;
mod f32_division;
mod f64_division;
mod f64_trigonometry;
mod float_mix;
mod function_pointer;
mod gaussian;
mod gcn3;
mod generic_memory;
mod goto_flow;
mod heart_wall;
mod histogram;
mod host_programs;
mod hotspot;
mod hotspot_3d;
mod huffman;
mod hybrid_sort;
mod if_else;
mod if_else_nested;
mod integer_mix;
mod joined_pointers;
mod kmeans;
mod launch;
mod lava_md;
mod leukocyte;
mod local_memory;
mod loop_repush;
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
mod nested_loops;
mod particle_filter;
mod path_finder;
mod perceptron;
mod pointers;
mod predicated_exit;
mod prefix_scan;
mod rare_instructions;
mod recursion;
mod reduction;
mod rounding;
mod row_leader;
mod running_error;
mod sampling;
mod shared_header;
mod shuffle;
mod spmv;
mod srad;
mod stream_cluster;
mod surface;
mod switch_fallthrough;
mod switch_table;
mod texture;
mod texture_kinds;
mod texture_reference;
mod transpose;
mod triangle_sum;
mod uniform_loop;
mod vote;
mod walsh_transform;
mod wavelet_2d;
mod writes;

use warpbound_launch::LaunchFile;

pub use gcn3::{gcn3, gcn3_executable, gcn3_launches};
pub use host_programs::{ExecuteHostLaunch, HOST_PROGRAMS, HostInput, HostProgram};
pub use launch::{LaunchNumber, TestLaunch};
pub use perceptron::DenseLayer;
pub use rounding::Float;

/// Reference of a kernel: its launches with the expected contents of buffers.
#[derive(Clone, Copy)]
pub struct KernelReference {
    /// Source: `kernels/cuda/NAME.cu` and `kernels/built/NAME.BUILD.cubin`, or `kernels/gcn3/NAME.cl` (`NAME.s`) and
    /// `kernels/built/NAME.gfx803.co`.
    pub source: &'static str,
    /// Name of the kernel in the source, demangled.
    pub kernel: &'static str,
    /// The launch of a number. The launches 0 to 2 are chosen, ragged sizes among them. Others are random with the
    /// number as seed, and small enough for hundreds of them.
    pub launch: fn(u64) -> LaunchFile,
}

/// Returns the references of the kernels that are built for every chip, in order of source.
#[allow(clippy::too_many_lines, reason = "a table: one row per source")]
pub fn all() -> Vec<KernelReference> {
    [
        atomics::KERNELS,
        backprop::KERNELS,
        barrier_in_function::KERNELS,
        barrier_kinds::KERNELS,
        bfs::KERNELS,
        bitonic_sort::KERNELS,
        break_loop::KERNELS,
        btree_search::KERNELS,
        call_both_sides::KERNELS,
        call_depth2::KERNELS,
        cc_branch::KERNELS,
        cfd_flux::KERNELS,
        continue_loop::KERNELS,
        convolution::KERNELS,
        convolution_texture::KERNELS,
        early_exit::KERNELS,
        f16_arithmetic::KERNELS,
        f32_division::KERNELS,
        f64_division::KERNELS,
        f64_trigonometry::KERNELS,
        float_mix::KERNELS,
        function_pointer::KERNELS,
        gaussian::KERNELS,
        generic_memory::KERNELS,
        goto_flow::KERNELS,
        heart_wall::KERNELS,
        histogram::KERNELS,
        hotspot::KERNELS,
        hotspot_3d::KERNELS,
        huffman::KERNELS,
        hybrid_sort::KERNELS,
        if_else::KERNELS,
        if_else_nested::KERNELS,
        integer_mix::KERNELS,
        joined_pointers::KERNELS,
        kmeans::KERNELS,
        lava_md::KERNELS,
        leukocyte::KERNELS,
        local_memory::KERNELS,
        loop_repush::KERNELS,
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
        nested_loops::KERNELS,
        particle_filter::KERNELS,
        path_finder::KERNELS,
        perceptron::KERNELS,
        pointers::KERNELS,
        predicated_exit::KERNELS,
        prefix_scan::KERNELS,
        rare_instructions::KERNELS,
        recursion::KERNELS,
        reduction::KERNELS,
        row_leader::KERNELS,
        shared_header::KERNELS,
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
    .map(KernelReference::of)
    .collect()
}

/// Returns the references of the kernels that only NVRTC 11.8 can compile.
pub fn of_nvrtc_11_8() -> Vec<KernelReference> {
    texture_reference::KERNELS
        .iter()
        .map(KernelReference::of)
        .collect()
}

impl KernelReference {
    fn of(&(source, kernel, launch): &Row) -> KernelReference {
        KernelReference {
            source,
            kernel,
            launch,
        }
    }
}

/// Row of a file's table: source, kernel, launches.
type Row = (&'static str, &'static str, fn(u64) -> LaunchFile);
