//! `warpbound splits`.

use std::cell::RefCell;
use std::io::Write as _;

use warpbound_driver::{BoundOptions, SplitsOptions, chosen_marks};

use crate::arguments::{SplitMerge, SplitsArguments};
use crate::launches::launch_options;
use crate::output::Output;
use crate::{CommandError, input, kernels};

/// Reports the sites of kernels, and writes those that are chosen; returns the exit code.
pub(crate) fn splits(arguments: &SplitsArguments) -> Result<u8, CommandError> {
    let library = input::library(&arguments.query.input.file)?;
    let bound = launch_options(&library, &arguments.launch, BoundOptions::default())?;
    let machine = arguments.machine.as_deref();
    let options = SplitsOptions {
        splits: arguments.splits,
        merge: matches!(arguments.merge, Some(SplitMerge::Join)),
        machine: machine.map(input::gpu_model).transpose()?,
        bound,
    };
    let reports = RefCell::new(Vec::new());
    let code = kernels::report(
        &library,
        &arguments.query,
        &options.bound,
        |session, kernel| {
            let report = session.splits(kernel, &options)?;
            reports.borrow_mut().push(report.clone());
            Ok(report)
        },
    )?;
    if let Some(path) = &arguments.write {
        let mut out = Output::open(Some(path))?;
        out.write_all(chosen_marks(&reports.borrow()).as_bytes())?;
        out.finish()?;
    }
    Ok(code)
}
