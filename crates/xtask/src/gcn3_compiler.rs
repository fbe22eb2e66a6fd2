//! The compiler for GCN3: clang and lld 22.1.8, in one program of the wheel `ziglang`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::repository::Repository;

/// Options of every source. The line table, if one is asked for, has paths relative to the repository.
const COMPILE: &[&str] = &[
    "-target",
    "amdgcn-amd-amdhsa",
    "-mcpu=gfx803",
    "-mcode-object-version=4",
];

/// Options of sources in OpenCL C. The program has no header of OpenCL. Sums and products of signed integers wrap
/// around.
const OPENCL: &[&str] = &[
    "-x",
    "cl",
    "-cl-std=CL2.0",
    "-cl-no-stdinc",
    "-nogpulib",
    "-O3",
    "-fwrapv",
    "-ffunction-sections",
    "-fdebug-compilation-dir=/",
];

/// Words before the options that a source states, in a line of its own.
const OPTIONS: &str = "// Options: ";

/// Symbols that the linker leaves out: clang makes a function of every kernel, which nothing calls.
const VERSION_SCRIPT: &str = "{ local: __clang_ocl_kern_imp_*; };\n";

/// The compiler and linker.
pub(crate) struct Gcn3Compiler {
    program: PathBuf,
    root: PathBuf,
    scratch: tempfile::TempDir,
}

impl Gcn3Compiler {
    /// Finds the program in `oracle/bin`.
    ///
    /// # Errors
    ///
    /// The program is missing, or there can be no scratch folder.
    pub(crate) fn find(repository: &Repository) -> anyhow::Result<Gcn3Compiler> {
        let program = repository.oracle().join("bin/zig");
        if !program.is_file() {
            bail!("{} is missing: run `cargo xtask oracle`", program.display());
        }
        let scratch = tempfile::tempdir().context("no scratch folder")?;
        Ok(Gcn3Compiler {
            program,
            root: repository.root().to_owned(),
            scratch,
        })
    }

    /// Compiles and links `kernels/gcn3/NAME.cl` or `NAME.s`, or a changed text of it; returns the code object.
    ///
    /// # Errors
    ///
    /// The source cannot be read, or the compiler or linker reports an error.
    pub(crate) fn compile(&self, source: &Path, changed: Option<&str>) -> anyhow::Result<Vec<u8>> {
        let changed_source;
        let (text, path) = match changed {
            None => {
                let text = fs::read_to_string(source).context("the source cannot be read")?;
                (text, source.strip_prefix(&self.root).unwrap_or(source))
            }
            Some(text) => {
                let name = source.file_name().context("the source has no name")?;
                changed_source = self.scratch.path().join(name);
                fs::write(&changed_source, text).context("cannot write the changed source")?;
                (text.to_owned(), changed_source.as_path())
            }
        };
        let object = self.scratch.path().join("kernel.o");
        let linked = self.scratch.path().join("kernel.co");
        let script = self.scratch.path().join("kernel.map");
        fs::write(&script, VERSION_SCRIPT).context("cannot write the version script")?;
        let mut compile = self.command("clang");
        compile.args(COMPILE);
        if source
            .extension()
            .is_some_and(|extension| extension == "cl")
        {
            compile.args(OPENCL);
        }
        let stated = text.lines().filter_map(|line| line.strip_prefix(OPTIONS));
        compile.args(stated.flat_map(str::split_whitespace));
        compile.arg("-c").arg(path).arg("-o").arg(&object);
        run(&mut compile)?;
        let mut link = self.command("ld.lld");
        link.args(["-shared", "--gc-sections"])
            .arg(format!("--version-script={}", script.display()))
            .arg(&object)
            .arg("-o")
            .arg(&linked);
        run(&mut link)?;
        fs::read(&linked).context("the linker left no file")
    }

    fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(tool).current_dir(&self.root);
        command
    }
}

/// Runs a command; the error contains what it printed.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().context("cannot start the compiler")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
