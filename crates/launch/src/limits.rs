//! Limits of launches: of the GPUs that the code is for, and of the kernel.

use warpbound_base::{Diagnostic, Isa, SizeLimits};
use warpbound_load::Kernel;

use crate::LaunchFile;

/// Bytes of shared memory that a block may use, static and dynamic together, on compute capability 5.0 to 6.2 (CUDA C++
/// Programming Guide, technical specifications per compute capability).
const MAX_SHARED: u64 = 48 << 10;

/// Bytes of LDS that a block may use on AMD's GPUs of generation 8 (LLVM, `getAddressableLocalMemorySize`).
const MAX_LDS: u64 = 64 << 10;

/// Axes of a grid and of a block, in messages.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Checks the limits that CUDA checks at a launch, or the runtime of an AMD GPU. `isa` is the instruction set of the
/// kernel. [`bind`](crate::bind) checks them for every run; results without a run check them when they get the launch.
///
/// # Errors
///
/// As [`check_grid`], [`check_block`] and [`check_shared`], or the grid has more work-items along an axis than a dispatch
/// to an AMD GPU can state.
pub fn check_limits(isa: Isa, kernel: &Kernel, file: &LaunchFile) -> Result<(), Diagnostic> {
    check_grid(isa, kernel, file)?;
    check_block(isa, kernel, file)?;
    check_shared(kernel, file)?;
    match &kernel.code_object {
        Some(_) => check_work_items(kernel, file),
        None => Ok(()),
    }
}

/// Checks the number of blocks along each axis.
///
/// # Errors
///
/// The grid has more blocks along an axis than the GPU allows.
pub fn check_grid(isa: Isa, kernel: &Kernel, file: &LaunchFile) -> Result<(), Diagnostic> {
    let limits = SizeLimits::of_isa(isa);
    check_axes("grid", file.grid, limits.grid).map_err(|d| located(d, kernel, file))
}

/// Checks the size of a block.
///
/// # Errors
///
/// A block has more threads along an axis than the GPU allows, another size than the kernel requires, or more threads
/// than the kernel was compiled for (`__launch_bounds__`, `amdgpu_flat_work_group_size`); or the kernel requires clusters,
/// which launch files do not have.
pub fn check_block(isa: Isa, kernel: &Kernel, file: &LaunchFile) -> Result<(), Diagnostic> {
    let fail = |message: String| Err(located(Diagnostic::new(message), kernel, file));
    let limits = SizeLimits::of_isa(isa);
    check_axes("block", file.block, limits.block).map_err(|d| located(d, kernel, file))?;
    let attribute = match &kernel.code_object {
        Some(_) => "amdgpu_flat_work_group_size",
        None => "__launch_bounds__",
    };
    let spelled = |[x, y, z]: [u32; 3]| format!("{x}, {y}, {z}");
    if let Some(required) = kernel.required_block.filter(|&block| block != file.block) {
        return fail(format!(
            "the kernel requires blocks of {}, the launch has blocks of {}",
            spelled(required),
            spelled(file.block)
        ));
    }
    if let Some(required) = kernel.required_cluster.filter(|&blocks| blocks != [1; 3]) {
        return fail(format!(
            "the kernel requires clusters of {} blocks, and launches have no clusters",
            spelled(required)
        ));
    }
    let threads = |block: [u32; 3]| block.iter().map(|&n| u64::from(n)).product::<u64>();
    match kernel.max_threads.map(threads) {
        Some(most) if threads(file.block) > most => fail(format!(
            "the kernel was compiled for blocks of at most {most} threads ({attribute}), the launch has {}",
            threads(file.block)
        )),
        _ => Ok(()),
    }
}

/// Checks the shared memory of a block, which files state and runs allocate.
///
/// # Errors
///
/// A block has more shared memory than the GPU provides.
pub fn check_shared(kernel: &Kernel, file: &LaunchFile) -> Result<(), Diagnostic> {
    let (fixed, dynamic) = (
        u64::from(kernel.static_shared.unwrap_or(0)),
        u64::from(file.dynamic_shared),
    );
    let most = match &kernel.code_object {
        Some(_) => MAX_LDS,
        None => MAX_SHARED,
    };
    let all = fixed + dynamic;
    if all <= most {
        return Ok(());
    }
    let message = format!(
        "a block has {all} bytes of shared memory ({fixed} static and {dynamic} dynamic), and may have {most}"
    );
    Err(located(Diagnostic::new(message), kernel, file))
}

/// Checks the work-items of the grid along each axis, for which the packet of a dispatch has 32 bits.
fn check_work_items(kernel: &Kernel, file: &LaunchFile) -> Result<(), Diagnostic> {
    for (axis, (&grid, &block)) in AXES.iter().zip(file.grid.iter().zip(&file.block)) {
        if grid.checked_mul(block).is_none() {
            let message = format!("the grid has 2^32 work-items or more along {axis}");
            return Err(located(Diagnostic::new(message), kernel, file));
        }
    }
    Ok(())
}

/// Checks a size by its name and the limits of its axes.
fn check_axes(name: &str, size: [u32; 3], limits: [u32; 3]) -> Result<(), Diagnostic> {
    for ((axis, n), most) in AXES.iter().zip(size).zip(limits) {
        if n > most {
            let message = format!("{name} has {n} elements in {axis}, at most {most}");
            return Err(Diagnostic::new(message));
        }
    }
    Ok(())
}

/// Adds the kernel and the launch file to a diagnostic.
fn located(diagnostic: Diagnostic, kernel: &Kernel, file: &LaunchFile) -> Diagnostic {
    let diagnostic = diagnostic.in_kernel(kernel.demangled());
    diagnostic.in_file(file.file.as_str())
}
