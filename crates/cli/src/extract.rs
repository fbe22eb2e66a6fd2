//! `warpbound extract`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use warpbound_base::Diagnostic;
use warpbound_query::NamePattern;
use warpbound_query::{ExtractedImage, Library};

use crate::arguments::Input;
use crate::common::{CommandError, UNUSABLE, print_diagnostic};
use crate::output::Output;
use warpbound_query::input;

/// Arguments of `extract`.
#[derive(Args)]
pub(crate) struct ExtractArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only images with a kernel of this name: mangled, demangled, demangled without namespaces and arguments, or a
    /// prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// File for a single image, or directory for any number of images; a missing directory is created [default:
    /// standard output, for a single image]
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

/// Writes images as files. Returns the exit code.
pub(crate) fn extract(arguments: &ExtractArguments) -> Result<u8, CommandError> {
    let ExtractArguments {
        input,
        kernel,
        output,
    } = arguments;
    let output = output.as_deref();
    let library = input::library(&input.file)?;
    let all = library.select_any(&input.selection())?;
    let (numbers, unread) = match kernel {
        None => (all, Vec::new()),
        Some(kernel) => with_kernel(&library, &all, kernel)?,
    };
    for diagnostic in &unread {
        print_diagnostic(diagnostic);
    }
    // Several images need a folder, unless they go to standard output, which takes only one.
    let folder = output.filter(|path| is_folder(path) || numbers.len() > 1 && !is_stdout(path));
    let Some(folder) = folder else {
        let [number] = numbers.as_slice() else {
            let message = format!("{} images do not go into one file", numbers.len());
            return Err(Diagnostic::new(message)
                .in_file(input.name())
                .hint("--output FOLDER takes them; --image, --arch and --kernel choose among them")
                .into());
        };
        let image = library.extract(*number)?;
        let mut out = Output::open(output)?;
        out.write_all(&image.contents)?;
        out.finish()?;
        return Ok(0);
    };
    let unmade = |error| {
        let message = format!("cannot be made: {error}");
        Diagnostic::new(message).in_file(folder.display().to_string())
    };
    fs::create_dir_all(folder).map_err(unmade)?;
    let mut paths = Output::open(None)?;
    let mut code = 0;
    for number in numbers {
        let image = match library.extract(number) {
            Ok(image) => image,
            // A damaged image must not prevent the extraction of the others.
            Err(diagnostic) => {
                print_diagnostic(&diagnostic);
                code = UNUSABLE;
                continue;
            }
        };
        let path = folder.join(file_name(&input.file, &image));
        let mut out = Output::file(&path)?;
        out.write_all(&image.contents)?;
        out.finish()?;
        writeln!(paths, "{}", path.display())?;
    }
    paths.finish()?;
    Ok(code)
}

/// Returns the images that have the kernel, at least one, and the diagnostics of unreadable images.
fn with_kernel(
    library: &Library,
    numbers: &[usize],
    kernel: &str,
) -> Result<(Vec<usize>, Vec<Diagnostic>), CommandError> {
    let pattern = NamePattern::new(kernel);
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for &number in numbers {
        match library.has_kernel(number, &pattern) {
            Ok(true) => found.push(number),
            Ok(false) => {}
            Err(diagnostic) => unread.push(diagnostic),
        }
    }
    if found.is_empty() {
        let diagnostic = unread.into_iter().next();
        let diagnostic = diagnostic.unwrap_or_else(|| library.no_kernel(numbers, Some(kernel)));
        return Err(diagnostic.into());
    }
    Ok((found, unread))
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether a path names an existing folder or ends in `/`.
fn is_folder(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    path.is_dir() || bytes.ends_with(b"/")
}

/// Returns the name for an extracted image: `NAME.NUMBER.ARCHITECTURE.cubin`, or another extension for other kinds.
fn file_name(file: &Path, image: &ExtractedImage) -> PathBuf {
    let stem = match is_stdout(file) {
        true => "stdin".into(),
        false => file.file_name().unwrap_or_default().to_string_lossy(),
    };
    let ExtractedImage {
        number,
        isa,
        extension,
        ..
    } = image;
    PathBuf::from(format!("{stem}.{number}.{isa}.{extension}"))
}
