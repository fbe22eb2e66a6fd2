//! Commands that report on each kernel: `disasm`, `divergence`, `access`, `facts`.

use std::io::Write as _;
use std::sync::Arc;

use warpbound_base::Diagnostic;
use warpbound_bounds::{FactsExtent, facts_template};
use warpbound_builds::{FactsUpdate, updated_facts};
use warpbound_query::Kernel;
use warpbound_query::input;
use warpbound_query::jobs::map_in_order;
use warpbound_query::{BoundOptions, CodeKind, Library, Session, UsableImages, disassemble_words};
use warpbound_report::{KernelReport, LeftOutImages, ReportWriter};

use crate::arguments::{
    AccessArguments, DisasmArguments, DivergenceArguments, Format, Input, QueryArguments, Style,
    TemplateArguments,
};
use crate::common::{CommandError, UNUSABLE, flow_options, left_out_code, print_diagnostic};
use crate::launches::{kernel_name, launch_options};
use crate::output::Output;

/// Disassembles kernels. Returns the exit code.
pub(crate) fn disasm(arguments: &DisasmArguments) -> Result<u8, CommandError> {
    let DisasmArguments {
        input,
        kernel,
        style,
        ir,
        words,
        jobs,
        output,
    } = arguments;
    if *words && let Some(arch) = input.arch {
        let mut text = String::new();
        disassemble_words(arch, &input::words(&input.file)?, &mut text)
            .map_err(|diagnostic| diagnostic.in_file(input.name()))?;
        let mut out = Output::open(output.output.as_deref())?;
        out.write_all(text.as_bytes())?;
        out.finish()?;
        return Ok(0);
    }
    let library = input::library(&input.file)?;
    if matches!(style, Style::Nvdisasm) && !*ir {
        let needs =
            "nvdisasm has a syntax for code of NVIDIA's GPUs only: leave `--style nvdisasm` out";
        require_nvidia(&library, input, needs)?;
    }
    // Operations need meanings, a listing only decoded instructions.
    let usable = match ir {
        true => UsableImages::Analysed,
        false => UsableImages::Decoded,
    };
    let images = crate::common::select_usable(&library, input, usable)?;
    let kernel = kernel.as_deref();
    let left_out = library.left_out_of(&input.selection(), kernel, usable);
    let mut out = Output::open(output.output.as_deref())?;
    let mut first = true;
    let requested = Requested {
        library: &library,
        images: &images,
        name: kernel,
        kind: CodeKind::All,
        jobs: jobs.count(),
    };
    let done = for_each_kernel(
        &requested,
        |session, index| {
            let kernel = session.kernel_at(index)?;
            let mut text = String::new();
            match style {
                _ if *ir => session.print_ir(kernel, &mut text)?,
                Style::Columns => text.push_str(&session.disassemble(kernel)?.columns()),
                Style::Nvdisasm => session.disassemble_plain(kernel, &mut text)?,
            }
            Ok(text)
        },
        |text| {
            if !first {
                out.write_all(b"\n")?;
            }
            first = false;
            Ok(out.write_all(text.as_bytes())?)
        },
    )?;
    out.finish()?;
    Ok(done.code(&left_out, false))
}

/// Refuses files that have no selected image for NVIDIA's GPUs, with one diagnostic for all kernels.
pub(crate) fn require_nvidia(
    library: &Library,
    input: &Input,
    needs: &str,
) -> Result<(), Diagnostic> {
    let images = library.select_usable(&input.selection(), UsableImages::Decoded)?;
    let isas = library.isas(&images);
    let first = isas.first();
    match first.filter(|_| !isas.iter().any(|isa| isa.is_of_nvidia())) {
        Some(isa) => {
            // A single image is selected even if its instructions cannot be decoded, which is the better reason.
            let unsupported = isa.check_supported();
            unsupported.map_err(|why| why.in_file(input.name()))?;
            let message = format!("this is code for {isa}, and {needs}");
            Err(Diagnostic::new(message).in_file(input.name()))
        }
        None => Ok(()),
    }
}

/// Reports the divergence of kernels. Returns the exit code.
pub(crate) fn divergence(arguments: &DivergenceArguments) -> Result<u8, CommandError> {
    let DivergenceArguments {
        query,
        launch,
        domains,
    } = arguments;
    let library = input::library(&query.input.file)?;
    let options = flow_options(&library, launch, domains)?;
    report(
        &library,
        query,
        &options,
        |session, kernel| session.divergence(kernel, &options),
        |_| {},
    )
}

/// Reports the memory accesses of kernels. Returns the exit code.
pub(crate) fn access(arguments: &AccessArguments) -> Result<u8, CommandError> {
    let AccessArguments {
        query,
        launch,
        domains,
    } = arguments;
    let library = input::library(&query.input.file)?;
    let options = flow_options(&library, launch, domains)?;
    report(
        &library,
        query,
        &options,
        |session, kernel| warpbound_bounds::access(session, kernel, &options),
        |_| {},
    )
}

/// Writes the report that `query` makes on each kernel, for the launches in the options, and passes the reports to `each`
/// in the order of the file. Returns the exit code.
pub(crate) fn report<R: KernelReport + Send>(
    library: &Library,
    arguments: &QueryArguments,
    options: &BoundOptions,
    query: impl Fn(&Session, &Kernel) -> Result<R, Diagnostic> + Sync,
    mut each: impl FnMut(&R),
) -> Result<u8, CommandError> {
    let QueryArguments {
        input,
        kernel,
        format,
        jobs,
        output,
    } = arguments;
    let images = crate::common::select(library, input)?;
    let kernel = kernel_name(kernel.as_deref(), options);
    library.check_launches(&images, kernel, &options.launches)?;
    let left_out = library.left_out(&input.selection(), kernel);
    let out = Output::open(output.output.as_deref())?;
    let file = input.name();
    let mut writer = ReportWriter::new(out, (*format).into(), &file).without(&left_out);
    let requested = Requested {
        library,
        images: &images,
        name: kernel,
        kind: CodeKind::Kernels,
        jobs: jobs.count(),
    };
    let done = for_each_kernel(
        &requested,
        |session, index| Ok(query(session, session.kernel_at(index)?)?),
        |report| {
            each(&report);
            Ok(writer.kernel(&report)?)
        },
    )?;
    writer.finish()?.finish()?;
    let is_shown = *format == Format::Text && output.output.is_none();
    Ok(done.code(&left_out, is_shown))
}

/// Prints a template of a facts file, with the facts of an earlier build that still hold. Returns the exit code.
pub(crate) fn facts(arguments: &TemplateArguments) -> Result<u8, CommandError> {
    let TemplateArguments {
        input,
        kernel,
        launch,
        no_derive,
        accesses,
        update,
        before,
        output,
    } = arguments;
    let library = input::library(&input.file)?;
    let options = BoundOptions {
        derive: !*no_derive,
        ..BoundOptions::default()
    };
    let options = launch_options(&library, launch, options)?;
    let extent = match accesses {
        true => FactsExtent::Accesses,
        false => FactsExtent::Loops,
    };
    let images = crate::common::select(&library, input)?;
    let kernel = kernel_name(kernel.as_deref(), &options);
    library.check_launches(&images, kernel, &options.launches)?;
    let left_out = library.left_out(&input.selection(), kernel);
    let mut update = match update {
        Some(old) => Some(FactsUpdate::read(old, before.as_deref())?),
        None => None,
    };
    let mut out = Output::open(output.output.as_deref())?;
    let mut first = true;
    let mut updated = String::new();
    let requested = Requested {
        library: &library,
        images: &images,
        name: kernel,
        kind: CodeKind::Kernels,
        // The facts of an update are taken from one set.
        jobs: 1,
    };
    let found = |session: &Arc<Session>, index| Ok((Arc::clone(session), index));
    let done = for_each_kernel(&requested, found, |(session, index)| {
        let kernel = session.kernel_at(index)?;
        let text = match &mut update {
            Some(update) => {
                // Written at the end, because it must first be known that some facts concern these kernels.
                updated.push_str(&updated_facts(&session, kernel, update)?);
                return Ok(());
            }
            None => facts_template(&session, kernel, &options, extent)?,
        };
        if first {
            out.write_all(warpbound_bounds::facts::FACTS_HEAD.as_bytes())?;
        }
        first = false;
        Ok(out.write_all(text.as_bytes())?)
    })?;
    if let Some(update) = update {
        updated.push_str(&update.finish()?);
        out.write_all(warpbound_bounds::facts::FACTS_HEAD.as_bytes())?;
        out.write_all(updated.as_bytes())?;
    }
    for images in &left_out {
        writeln!(out, "# {}", images.message())?;
    }
    out.finish()?;
    Ok(done.code(&left_out, output.output.is_none()))
}

/// Failures in a query that succeeded for at least one kernel.
struct Failures {
    /// Whether a requested kernel or image is among the failures.
    is_incomplete: bool,
    diagnostics: Vec<Diagnostic>,
}

impl Failures {
    /// Prints the diagnostics, which follow the answer, and returns the exit code. The images were left out, and
    /// `is_shown` is whether the answer names them on standard output.
    fn code(self, left_out: &[LeftOutImages], is_shown: bool) -> u8 {
        self.diagnostics.iter().for_each(print_diagnostic);
        let code = left_out_code(left_out, is_shown);
        match self.is_incomplete {
            true => UNUSABLE,
            false => code,
        }
    }
}

/// Kernels that are worked on before there are threads, because starting them takes as long as listing a short file.
const WITHOUT_THREADS: usize = 4;

/// Kernels that a command works on.
struct Requested<'a> {
    library: &'a Library,
    images: &'a [usize],
    name: Option<&'a str>,
    kind: CodeKind,
    /// Number of threads.
    jobs: usize,
}

/// Applies `work` to each requested kernel on several threads and passes the results to `each` in the order of the file.
/// Failures of kernels and unusable images are collected. It is an error if no kernel succeeds.
fn for_each_kernel<R: Send>(
    requested: &Requested<'_>,
    work: impl Fn(&Arc<Session>, usize) -> Result<R, CommandError> + Sync,
    mut each: impl FnMut(R) -> Result<(), CommandError>,
) -> Result<Failures, CommandError> {
    let Requested {
        library,
        images,
        name,
        ..
    } = *requested;
    let (mut answered, mut is_lacking) = (0, false);
    let mut diagnostics = Vec::new();
    let mut found = library.find(images, name, requested.kind);
    let work = |item: Result<(Arc<Session>, usize), Diagnostic>| {
        item.map(|(session, index)| work(&session, index))
    };
    let mut receive = |result| {
        match result {
            Ok(Ok(result)) => {
                each(result)?;
                answered += 1;
            }
            Ok(Err(CommandError::Input(diagnostic))) => {
                // The query asked for this kernel, so the answer is incomplete.
                is_lacking = true;
                diagnostics.push(diagnostic);
            }
            // Errors of the output and of the usage would occur for the other kernels as well.
            Ok(Err(stop)) => return Err(stop),
            Err(diagnostic) => {
                // With a name, an unreadable image is no error of the command, because another image may have the
                // kernel.
                is_lacking |= name.is_none();
                diagnostics.push(diagnostic);
            }
        }
        Ok(())
    };
    // Short files end here.
    let first = found.by_ref().take(WITHOUT_THREADS);
    map_in_order(1, first, work, &mut receive)?;
    if let Some(next) = found.next() {
        let rest = std::iter::once(next).chain(found);
        map_in_order(requested.jobs, rest, work, &mut receive)?;
    }
    if answered > 0 {
        return Ok(Failures {
            is_incomplete: is_lacking,
            diagnostics,
        });
    }
    // The last diagnostic becomes the error of the command, so it must not be printed twice.
    Err(match diagnostics.pop() {
        Some(last) => {
            diagnostics.iter().for_each(print_diagnostic);
            last
        }
        None => library.no_kernel(images, name),
    }
    .into())
}
