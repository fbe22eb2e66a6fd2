//! Host programs: the programs of Klashtorny, "GPU Wavefront Splitting for Safety-Critical Systems" (Waterloo 2022),
//! Table 6.1, with inputs of the table's three sizes and their results.
//!
//! A program makes its input from a fixed seed, launches kernels of `kernels/gcn3` as the host of a GPU does, reads
//! what they leave, and compares the end with a computation of its own. Whoever runs it executes the launches:
//! without time, with time, with split waves.

mod elimination;
mod images;
mod particles;
mod points;
mod searches;
mod sorting;

use warpbound_base::Diagnostic;
use warpbound_launch::{GlobalMemory, LaunchFile, compare_buffers};

use super::{LaunchNumber, TestLaunch};

/// A program of the table.
#[derive(Clone, Copy)]
pub struct HostProgram {
    /// Name in the table.
    pub name: &'static str,
    /// Source of its kernels, in `kernels/gcn3`.
    pub source: &'static str,
    /// Inputs of the three sizes.
    pub inputs: [HostInput; 3],
    /// Choices that the table does not state.
    pub choices: &'static str,
    run: fn(usize, &mut HostDevice<'_>) -> Result<(), Diagnostic>,
}

/// Input of a program.
#[derive(Clone, Copy)]
pub struct HostInput {
    /// The table's words.
    pub words: &'static str,
    /// Elements in the program's own unit; `None` where the input is too large to be made.
    size: Option<usize>,
}

/// Function that executes a launch and returns memory at its end.
pub type ExecuteHostLaunch<'a> = dyn FnMut(&LaunchFile) -> Result<GlobalMemory, Diagnostic> + 'a;

/// The GPU as a host program sees it.
struct HostDevice<'a> {
    execute: &'a mut ExecuteHostLaunch<'a>,
}

/// Buffers at the end of a launch.
struct LaunchEnd(GlobalMemory);

const fn input(words: &'static str, size: usize) -> HostInput {
    HostInput {
        words,
        size: Some(size),
    }
}

const fn too_large(words: &'static str) -> HostInput {
    HostInput { words, size: None }
}

/// The programs, in the order of the table.
pub const HOST_PROGRAMS: &[HostProgram] = &[
    elimination::BACKPROP,
    searches::BFS,
    searches::BTREE,
    images::CFD,
    images::DWT2D,
    elimination::GAUSSIAN,
    images::HEARTWALL,
    images::HOTSPOT,
    sorting::HYBRIDSORT,
    points::KMEANS,
    points::NN,
    elimination::NW,
    particles::PARTICLEFILTER,
    images::SRAD,
];

impl HostProgram {
    /// Runs the program with an input of the table, counted from 0. `execute` executes its launches.
    ///
    /// # Errors
    ///
    /// An error of `execute`, an input that is too large to be made, or a wrong result.
    pub fn run<'a>(
        &self,
        input: usize,
        execute: &'a mut ExecuteHostLaunch<'a>,
    ) -> Result<(), Diagnostic> {
        let size = self.inputs.get(input).and_then(|input| input.size);
        let size = size.ok_or_else(|| Diagnostic::new("the input is too large to be made"))?;
        (self.run)(size, &mut HostDevice { execute }).map_err(|d| d.in_kernel(self.name.to_owned()))
    }
}

impl HostDevice<'_> {
    /// Executes a launch. Buffers whose end the launch states are compared.
    fn launch(&mut self, launch: TestLaunch) -> Result<LaunchEnd, Diagnostic> {
        let file = launch.finish();
        let memory = (self.execute)(&file)?;
        match compare_buffers(&file, &memory).mismatch {
            Some(mismatch) => Err(mismatch),
            None => Ok(LaunchEnd(memory)),
        }
    }
}

impl LaunchEnd {
    /// Returns the contents of a buffer parameter.
    fn read<N: LaunchNumber>(&self, name: &str) -> Result<Vec<N>, Diagnostic> {
        let mut buffers = self.0.buffers().iter();
        let buffer = buffers.find(|buffer| buffer.name == name);
        let buffer = buffer.ok_or_else(|| Diagnostic::new(format!("no buffer is {name}")))?;
        let elements = buffer.bytes.chunks(size_of::<N>());
        Ok(elements.map(N::from_bytes).collect())
    }
}

/// Groups of `items` work-items for `count` of them.
fn groups(count: usize, items: usize) -> [u32; 3] {
    [count.div_ceil(items) as u32, 1, 1]
}

/// Compares results with the expected ones.
fn check_equal<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: &[T],
    expected: &[T],
) -> Result<(), Diagnostic> {
    if found.len() != expected.len() {
        let message = format!("{what}: {} results, not {}", found.len(), expected.len());
        return Err(Diagnostic::new(message));
    }
    let mut pairs = found.iter().zip(expected).enumerate();
    match pairs.find(|(_, (found, expected))| found != expected) {
        Some((at, (found, expected))) => Err(Diagnostic::new(format!(
            "{what}[{at}] is {found:?}, not {expected:?}"
        ))),
        None => Ok(()),
    }
}

/// Compares floats with the expected numbers, up to an absolute error.
fn check_near(
    what: &str,
    found: &[f32],
    expected: &[f64],
    absolute: f64,
) -> Result<(), Diagnostic> {
    check_equal("length", &[found.len()], &[expected.len()])?;
    let mut pairs = found.iter().zip(expected).enumerate();
    // A NaN is not near anything.
    let far = pairs.find(|(_, (found, expected))| {
        let error = (f64::from(**found) - **expected).abs();
        error.is_nan() || error > absolute
    });
    match far {
        Some((at, (found, expected))) => Err(Diagnostic::new(format!(
            "{what}[{at}] is {found}, not within {absolute} of {expected}"
        ))),
        None => Ok(()),
    }
}
