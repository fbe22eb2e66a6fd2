//! References of the kernels in `kernels/gcn3`.
//!
//! Kernels that compute the same as one in `kernels/cuda`, from the same parameters, have its reference and its
//! launches. The others are here.

mod arithmetic;
mod calls;
mod floats;
mod grids;
mod lanes;
mod masks;
mod memory;
mod namespaces;
mod programs;
mod splits;
mod widths;

use super::KernelReference;

/// Lanes of a wave.
const LANES: usize = 64;

/// Sources whose kernels have references by their source in `kernels/cuda`, with that source and the kernels.
const LIKE_CUDA: &[(&str, &str, &[&str])] = &[
    ("atomics", "atomics", &["atomics", "cas_loop", "spin_lock"]),
    (
        "backprop",
        "backprop",
        &["backprop_adjust", "backprop_forward"],
    ),
    (
        "barrier_in_function",
        "barrier_in_function",
        &["barrier_in_function"],
    ),
    ("bfs", "bfs", &["bfs_advance", "bfs_expand"]),
    ("break_loop", "break_loop", &["break_loop"]),
    ("break_loop_llvm14", "break_loop", &["break_loop"]),
    (
        "btree_search",
        "btree_search",
        &["btree_find", "btree_range"],
    ),
    ("call_both_sides", "call_both_sides", &["call_both_sides"]),
    ("call_depth2", "call_depth2", &["call_depth2"]),
    ("cc_branch", "cc_branch", &["carry_chain", "cc_branch"]),
    (
        "cfd_flux",
        "cfd_flux",
        &["cfd_advance", "cfd_flux", "cfd_step_factor"],
    ),
    ("continue_loop", "continue_loop", &["continue_loop"]),
    ("early_exit", "early_exit", &["early_exit"]),
    ("early_exit_llvm14", "early_exit", &["early_exit"]),
    (
        "f32_division",
        "f32_division",
        &["f32_continued_fraction", "f32_division"],
    ),
    (
        "f64_division",
        "f64_division",
        &["f64_division", "f64_sqrt_reciprocal", "i64_division"],
    ),
    (
        "function_pointer",
        "function_pointer",
        &["function_pointer", "function_pointer_uniform"],
    ),
    (
        "gaussian",
        "gaussian",
        &["gaussian_multipliers", "gaussian_update"],
    ),
    ("generic_memory", "generic_memory", &["generic_memory"]),
    (
        "goto_flow",
        "goto_flow",
        &["goto_cross", "goto_irreducible"],
    ),
    ("heart_wall", "heart_wall", &["heart_wall"]),
    ("histogram", "histogram", &["histogram"]),
    ("hotspot", "hotspot", &["hotspot"]),
    (
        "huffman",
        "huffman",
        &["huffman_decode", "huffman_encode", "huffman_lengths"],
    ),
    (
        "hybrid_sort",
        "hybrid_sort",
        &["bucket_count", "bucket_split", "merge_runs", "sort_quads"],
    ),
    ("if_else", "if_else", &["if_else", "if_only"]),
    ("if_else_llvm14", "if_else", &["if_else", "if_only"]),
    ("if_else_nested", "if_else_nested", &["if_else_nested"]),
    (
        "if_else_nested_llvm14",
        "if_else_nested",
        &["if_else_nested"],
    ),
    ("kmeans", "kmeans", &["kmeans_assign", "kmeans_swap"]),
    (
        "leukocyte",
        "leukocyte",
        &["leukocyte_dilate", "leukocyte_score"],
    ),
    ("local_memory", "local_memory", &["local_memory"]),
    (
        "loop_repush",
        "loop_repush",
        &["loop_repush", "loop_repush_break"],
    ),
    ("lud_diagonal", "lud_diagonal", &["lud_diagonal"]),
    ("matmul_int", "matmul_int", &["matmul_int"]),
    ("matmul_tiled", "matmul_tiled", &["matmul_any_width"]),
    ("mum_match", "mum_match", &["mum_match", "mum_tree"]),
    (
        "nearest_neighbour",
        "nearest_neighbour",
        &["nearest_distances", "nearest_few"],
    ),
    (
        "needleman_wunsch",
        "needleman_wunsch",
        &["needleman_wunsch"],
    ),
    (
        "nested_loops",
        "nested_loops",
        &["nested_divergent", "nested_fixed", "nested_triangular"],
    ),
    (
        "nested_loops_llvm14",
        "nested_loops",
        &["nested_divergent", "nested_fixed", "nested_triangular"],
    ),
    (
        "particle_filter",
        "particle_filter",
        &["particle_likelihood", "particle_resample", "particle_scan"],
    ),
    ("path_finder", "path_finder", &["path_finder"]),
    ("pointers", "pointers", &["list_sums", "row_sums"]),
    ("predicated_exit", "predicated_exit", &["predicated_exit"]),
    ("prefix_scan", "prefix_scan", &["prefix_scan"]),
    ("recursion", "recursion", &["mutual_recursion", "recursion"]),
    ("reduction", "reduction", &["reduction_tree"]),
    (
        "row_leader",
        "row_leader",
        &["row_leader", "row_leader_shared"],
    ),
    (
        "row_leader_llvm14",
        "row_leader",
        &["row_leader", "row_leader_shared"],
    ),
    ("shared_header", "shared_header", &["shared_header"]),
    ("srad", "srad", &["srad_coefficient"]),
    (
        "stream_cluster",
        "stream_cluster",
        &["stream_close", "stream_gain"],
    ),
    (
        "switch_fallthrough",
        "switch_fallthrough",
        &["switch_fallthrough"],
    ),
    ("switch_table", "switch_table", &["switch_table"]),
    ("transpose", "transpose", &["transpose", "transpose_naive"]),
    ("triangle_sum", "triangle_sum", &["triangle_sum"]),
    (
        "uniform_loop",
        "uniform_loop",
        &["uniform_loop", "uniform_shared_loop"],
    ),
    (
        "walsh_transform",
        "walsh_transform",
        &["walsh_block", "walsh_modulate"],
    ),
    (
        "wavelet_2d",
        "wavelet_2d",
        &["wavelet_97", "wavelet_columns", "wavelet_rows"],
    ),
];

/// Returns the references of all kernels in `kernels/gcn3`, in order of source. A kernel whose source includes another
/// is in the code objects of both, and has one reference.
pub fn gcn3() -> Vec<KernelReference> {
    let mut all = gcn3_launches();
    all.extend(like_cuda(|source, like| source == like));
    in_order(all)
}

/// Returns the references of [`gcn3`] whose launches end without a fault. `bit_tricks` is left out, because
/// `v_alignbyte` by a variable number of bytes has no meaning: manuals differ from four bytes on.
pub fn gcn3_executable() -> Vec<KernelReference> {
    let all = gcn3().into_iter();
    all.filter(|reference| reference.source != "bit_tricks")
        .collect()
}

/// Returns the references of kernels in `kernels/gcn3` whose launches do not come from a source in `kernels/cuda`.
pub fn gcn3_launches() -> Vec<KernelReference> {
    let own = [
        arithmetic::KERNELS,
        calls::KERNELS,
        floats::KERNELS,
        grids::KERNELS,
        lanes::KERNELS,
        masks::KERNELS,
        memory::KERNELS,
        namespaces::KERNELS,
        programs::KERNELS,
        splits::KERNELS,
        widths::KERNELS,
    ];
    let own = own.into_iter().flatten().map(KernelReference::of);
    let mut all: Vec<KernelReference> = own.collect();
    all.extend(like_cuda(|source, like| source != like));
    in_order(all)
}

/// Returns the references of the kernels that are like others. The sources are chosen by their own name and by the
/// name of the source in `kernels/cuda`.
fn like_cuda(is_chosen: impl Fn(&str, &str) -> bool) -> Vec<KernelReference> {
    let cuda = super::all();
    let mut all = Vec::new();
    for &(source, like, kernels) in LIKE_CUDA {
        if is_chosen(source, like) {
            let of_source = cuda.iter().filter(|reference| reference.source == like);
            let named = of_source.filter(|reference| kernels.contains(&reference.kernel));
            all.extend(named.map(|&reference| KernelReference {
                source,
                ..reference
            }));
        }
    }
    all
}

fn in_order(mut all: Vec<KernelReference>) -> Vec<KernelReference> {
    all.sort_by_key(|reference| (reference.source, reference.kernel));
    all
}
