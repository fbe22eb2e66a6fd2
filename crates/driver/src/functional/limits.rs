//! Limits of a launch on any GPU that the code is for.

use warpbound_base::Diagnostic;
use warpbound_load::{LaunchFile, Kernel};

/// Bytes of shared memory that a block may use, static and dynamic together, on compute capability 5.0 to 6.2 (CUDA C++
/// Programming Guide, technical specifications per compute capability).
const MOST_SHARED: u64 = 48 << 10;

/// Refuses a launch that CUDA refuses.
///
/// # Errors
///
/// Where a block has more shared memory than the GPU gives one, other threads than the kernel requires, or more than it
/// was compiled for (`__launch_bounds__`).
pub(crate) fn check(kernel: &Kernel, grid: &LaunchFile) -> Result<(), Diagnostic> {
    let fail = |what: String| {
        let diagnostic = Diagnostic::new(what).in_kernel(kernel.demangled());
        Err(diagnostic.in_file(grid.file.as_str()))
    };
    let (fixed, dynamic) = (
        u64::from(kernel.static_shared.unwrap_or(0)),
        u64::from(grid.dynamic_shared),
    );
    if fixed + dynamic > MOST_SHARED {
        return fail(format!(
            "a block has {} bytes of shared memory ({fixed} static and {dynamic} dynamic), and may have {MOST_SHARED}",
            fixed + dynamic
        ));
    }
    let spelled = |[x, y, z]: [u32; 3]| format!("{x}, {y}, {z}");
    if let Some(required) = kernel.required_block.filter(|&block| block != grid.block) {
        return fail(format!(
            "the kernel requires blocks of {}, the launch has blocks of {}",
            spelled(required),
            spelled(grid.block)
        ));
    }
    let threads = |block: [u32; 3]| block.iter().map(|&n| u64::from(n)).product::<u64>();
    match kernel.max_threads.map(threads) {
        Some(most) if threads(grid.block) > most => fail(format!(
            "the kernel was compiled for blocks of at most {most} threads (__launch_bounds__), the launch has {}",
            threads(grid.block)
        )),
        _ => Ok(()),
    }
}
