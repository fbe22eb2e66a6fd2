//! Launch limits of the supported GPUs and of the kernel.

use warpbound_base::Diagnostic;
use warpbound_load::Kernel;

use crate::LaunchFile;

/// Bytes of shared memory that a block may use, static and dynamic together, on compute capability 5.0 to 6.2 (CUDA C++
/// Programming Guide, technical specifications per compute capability).
const MAX_SHARED: u64 = 48 << 10;

/// Bytes of LDS that a block may use on AMD's GPUs of generation 8 (LLVM, `getAddressableLocalMemorySize`).
const MAX_LDS: u64 = 64 << 10;

/// Blocks of a grid and threads of a block along each axis on compute capability 5.0 to 6.2 (CUDA C++ Programming Guide,
/// technical specifications per compute capability). Grids of AMD's GPUs are limited by their work-items, which the
/// launch counts, and their blocks along an axis only by the product of all.
const CUDA_SIZES: [[u32; 3]; 2] = [[i32::MAX as u32, 65_535, 65_535], [1024, 1024, 64]];

/// Checks the limits that CUDA checks at a launch, or the runtime of an AMD GPU.
///
/// # Errors
///
/// The grid or a block has more elements along an axis than the GPU allows. A block has more shared memory than the GPU
/// provides, another size than the kernel requires, or more threads than the kernel was compiled for (`__launch_bounds__`, `amdgpu_flat_work_group_size`).
pub fn check_limits(kernel: &Kernel, file: &LaunchFile) -> Result<(), Diagnostic> {
    let fail = |message: String| {
        let diagnostic = Diagnostic::new(message).in_kernel(kernel.demangled());
        Err(diagnostic.in_file(file.file.as_str()))
    };
    check_machine(kernel, file)?;
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
    let threads = |block: [u32; 3]| block.iter().map(|&n| u64::from(n)).product::<u64>();
    match kernel.max_threads.map(threads) {
        Some(most) if threads(file.block) > most => fail(format!(
            "the kernel was compiled for blocks of at most {most} threads ({attribute}), the launch has {}",
            threads(file.block)
        )),
        _ => Ok(()),
    }
}

/// Checks the limits of the GPU: sizes of grid and blocks, and the shared memory of a block, which files state and runs
/// allocate.
///
/// # Errors
///
/// The grid or a block is too large along an axis, or a block has more shared memory than the GPU provides.
pub(crate) fn check_machine(kernel: &Kernel, file: &LaunchFile) -> Result<(), Diagnostic> {
    check_grid(kernel, file)?;
    let [_, limits] = CUDA_SIZES;
    check_axes(kernel, file, "block", file.block, limits)?;
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
    let diagnostic = Diagnostic::new(message).in_kernel(kernel.demangled());
    Err(diagnostic.in_file(file.file.as_str()))
}

/// Checks the number of blocks along each axis.
///
/// # Errors
///
/// The grid has more blocks along an axis than the GPU allows.
pub fn check_grid(kernel: &Kernel, file: &LaunchFile) -> Result<(), Diagnostic> {
    let [limits, _] = CUDA_SIZES;
    check_axes(kernel, file, "grid", file.grid, limits)
}

/// Checks a size by its name and CUDA's limits of its axes; AMD's GPUs have no limits of single axes.
fn check_axes(
    kernel: &Kernel,
    file: &LaunchFile,
    name: &str,
    size: [u32; 3],
    limits: [u32; 3],
) -> Result<(), Diagnostic> {
    if kernel.code_object.is_some() {
        return Ok(());
    }
    for ((axis, n), most) in ["x", "y", "z"].iter().zip(size).zip(limits) {
        if n > most {
            let message = format!("{name} has {n} elements in {axis}, at most {most}");
            let diagnostic = Diagnostic::new(message).in_kernel(kernel.demangled());
            return Err(diagnostic.in_file(file.file.as_str()));
        }
    }
    Ok(())
}
