//! `warpbound bound`.

use warpbound_driver::{Library, BoundOptions, Selection, Unusable};
use warpbound_report::bound::Status;
use warpbound_report::{BoundWriter, KernelBound};

use crate::output::Output;
use crate::progress::Progress;
use crate::{NO_BOUND, Stop, UNUSABLE, say};

/// Bytes of text that wait in memory for the table before them; more wait in a temporary file.
pub(crate) const SPOOLED: usize = 16 << 20;

/// The kernels to be bounded.
pub(crate) struct Wanted<'a> {
    pub(crate) library: &'a Library,
    pub(crate) selection: Selection,
    pub(crate) kernel: Option<&'a str>,
}

/// Bounds kernels; the exit code.
pub(crate) fn bound(
    wanted: &Wanted<'_>,
    options: &BoundOptions,
    jobs: Option<usize>,
    mut report: BoundWriter<Output>,
) -> Result<u8, Stop> {
    let images = wanted.library.select(&wanted.selection)?;
    let jobs = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let mut progress = Progress::new();
    let (mut none, mut code) = (true, 0);
    // Who asks for a kernel does not ask for the other images.
    let image_code = match wanted.kernel {
        Some(_) => 0,
        None => UNUSABLE,
    };
    let mut diagnostics = Vec::new();
    let each = |result: Result<KernelBound, Unusable>| {
        match result {
            Ok(kernel) => {
                none = false;
                let place = kernel.image.and_then(|n| images.binary_search(&n).ok());
                progress.show(&kernel, place.unwrap_or(0), images.len());
                if kernel.status != Status::Bounded {
                    code = code.max(NO_BOUND);
                }
                report.kernel(&kernel)?;
            }
            Err(Unusable::Image(diagnostic)) => {
                code = code.max(image_code);
                diagnostics.push(diagnostic);
            }
            Err(Unusable::Kernel(diagnostic)) => {
                code = UNUSABLE;
                diagnostics.push(diagnostic);
            }
        }
        Ok(())
    };
    let done: Result<(), Stop> = wanted
        .library
        .bounds(&images, wanted.kernel, options, jobs, each);
    progress.clear();
    done?;
    if none {
        let last = diagnostics.pop();
        diagnostics.iter().for_each(say);
        let nothing = || wanted.library.no_kernel(&images, wanted.kernel);
        return Err(last.unwrap_or_else(nothing).into());
    }
    report.finish()?.finish()?;
    diagnostics.iter().for_each(say);
    Ok(code)
}
