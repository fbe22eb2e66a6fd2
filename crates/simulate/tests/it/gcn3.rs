//! Kernels of the repository for GCN3: each launch leaves the contents that its reference computes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use warpbound_base::Diagnostic;
use warpbound_ir::Code;
use warpbound_isa::{Program, amd};
use warpbound_launch::{GlobalMemory, Launch, LaunchFile, PathOrder, bind, compare_buffers};
use warpbound_load::Image;
use warpbound_simulate::functional::{Counts, launch, unsupported_ops};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

/// Launch files of a code object.
fn launch_files(stem: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(kernels().join("launches")).expect("launches");
    let mut files: Vec<PathBuf> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.ends_with(".toml") && name.split('.').next() == Some(stem))
        })
        .collect();
    files.sort();
    files
}

/// A kernel with a launch.
struct Case {
    program: Program,
    code: Code,
    grid: LaunchFile,
    launch: Launch,
    memory: GlobalMemory,
}

/// Loads a launch; `None` if it is one of another file's kernel.
fn open(image: &Image, path: &Path) -> Result<Option<Case>, Diagnostic> {
    let text = std::fs::read_to_string(path).expect("text");
    let folder = path.parent().expect("a folder");
    let grid = LaunchFile::parse("launch", &text, &|name| {
        std::fs::read(folder.join(name)).map_err(|error| Diagnostic::new(error.to_string()))
    })?;
    let Ok(kernel) = image.kernel(grid.kernel.as_deref().unwrap_or_default()) else {
        return Ok(None);
    };
    let program = Program::Amd(amd::GcnProgram::decode(kernel.code())?);
    let code = warpbound_ir::lift(kernel, &program)?;
    let most = 100_000_000;
    let (launch, memory) = bind(&grid, image, kernel, &code, PathOrder::TakenFirst, most)?;
    Ok(Some(Case {
        program,
        code,
        grid,
        launch,
        memory,
    }))
}

impl Case {
    /// Runs the launch; the message says why the result is not that of the reference.
    fn run(&mut self) -> Result<Counts, String> {
        let counts = launch(&self.code, &self.launch, &mut self.memory).map_err(|fault| {
            let text = self.program.text(fault.at.index()).unwrap_or_default();
            format!("{text}: {fault}")
        })?;
        match compare_buffers(&self.grid, &self.memory).mismatch {
            Some(mismatch) => Err(mismatch.to_string()),
            None => Ok(counts),
        }
    }
}

fn image(stem: &str) -> Image {
    let path = kernels().join(format!("built/{stem}.gfx803.co"));
    Image::parse(&std::fs::read(path).expect("a code object")).expect("it loads")
}

/// Code objects with launches that do not leave what their references compute, and why.
const DIFFERENT: [(&str, &str); 2] = [
    (
        "bit_tricks",
        "v_alignbyte by a variable number of bytes has no meaning: manuals differ from four on",
    ),
    ("cc_branch", "not-a-numbers have other bits than NVIDIA's"),
];

/// All launches of all kernels; `WARPBOUND_GCN3` names one code object.
#[test]
fn launches_leave_the_contents_of_their_references() {
    let only = std::env::var("WARPBOUND_GCN3").ok();
    let built = std::fs::read_dir(kernels().join("built")).expect("built");
    let stems: BTreeSet<String> = built
        .filter_map(|file| {
            let name = file.expect("a file").file_name().into_string().ok()?;
            Some(name.strip_suffix(".gfx803.co")?.to_owned())
        })
        .collect();
    let (mut same, mut different, mut unknown) = (0, Vec::new(), BTreeSet::new());
    for stem in stems
        .iter()
        .filter(|stem| only.as_ref().is_none_or(|only| only == *stem))
    {
        let image = image(stem);
        for file in launch_files(stem) {
            let name = file
                .file_stem()
                .and_then(|name| name.to_str())
                .unwrap_or("?")
                .to_owned();
            match open(&image, &file) {
                Ok(None) => {}
                Err(error) => different.push(format!("{name}: {error}")),
                Ok(Some(mut case)) => {
                    for at in unsupported_ops(&case.code, &case.launch) {
                        unknown.extend(case.program.text(at.index()));
                    }
                    match case.run() {
                        Ok(_) => same += 1,
                        Err(why) => different.push(format!("{name}: {why}")),
                    }
                }
            }
        }
    }
    println!("{same} launches as expected, {} not", different.len());
    println!("unknown: {unknown:#?}");
    let is_known = |text: &&String| DIFFERENT.iter().any(|(stem, _)| text.starts_with(stem));
    let (known, surprising): (Vec<&String>, Vec<&String>) = different.iter().partition(is_known);
    println!("{known:#?}");
    assert!(surprising.is_empty(), "{surprising:#?}");
    assert!(only.is_some() || same >= 430, "{same} launches");
}
