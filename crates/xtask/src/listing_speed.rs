//! `cargo xtask listing-speed`: speed of listing cubins, compared with NVIDIA's disassembler.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use warpbound_load::FileSource;

use warpbound_query::Library;

use crate::cubin::{code_sections, cubins_below, read};
use crate::nvdisasm::Nvdisasm;
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask listing-speed [--runs COUNT] FILE...
       cargo xtask listing-speed [--runs COUNT] --folder DIRECTORY
       cargo xtask listing-speed [--runs COUNT] --list FILE...

Lists each cubin with `warpbound disasm --style nvdisasm` (release build, made first), on one thread and on one for
each core, and with oracle/bin/nvdisasm -c -ndf, its fastest mode, in turns (oracle/bin/cu13/nvdisasm for sm_75 and
later), which uses one core. All discard their output. Prints the instructions per second of the best run of each and
the ratios of times; fails if the two do not list the same number of instructions.

  --folder DIRECTORY   instead: all cubins of a folder that have code, a process for each; prints the sums of the
                       best times and their ratio
  --list               instead: the time of `warpbound list` with libraries: the directory, and, for each
                       architecture that is supported, all images. Prints the best time, the file's size and
                       the seconds per 300 MB
  --runs COUNT         number of runs of each (5)";

/// Files that are measured.
enum Mode {
    Files,
    Folder,
    List,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut runs = 5;
    let (mut mode, mut files) = (Mode::Files, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs" => {
                runs = arguments
                    .next()
                    .and_then(|text| text.parse().ok())
                    .filter(|&runs: &usize| runs > 0)
                    .context("--runs needs a number")?;
            }
            "--folder" => mode = Mode::Folder,
            "--list" => mode = Mode::List,
            other if other.starts_with('-') => {
                bail!("unknown argument {other:?}")
            }
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        bail!("no file given");
    }
    let warpbound = build(repository)?;
    match mode {
        Mode::List => list_libraries(&warpbound, &files, runs),
        Mode::Files => {
            let tools = Tools::new(repository, warpbound)?;
            files.iter().try_for_each(|file| tools.file(file, runs))
        }
        Mode::Folder => {
            let tools = Tools::new(repository, warpbound)?;
            let mut cubins = cubins_below(&files)?;
            let all = cubins.len();
            cubins.retain(|cubin| has_code(cubin));
            println!(
                "{} of {all} cubins skipped: they have no code",
                all - cubins.len()
            );
            if cubins.is_empty() {
                bail!("no cubin is left");
            }
            tools.folder(&cubins, runs)
        }
    }
}

/// First GPU that release 13 of NVIDIA's disassembler knows.
const FIRST_OF_RELEASE_13: u32 = 75;

/// Our disassembler and both releases of NVIDIA's.
struct Tools {
    warpbound: PathBuf,
    older: Nvdisasm,
    newer: Nvdisasm,
    /// One for each core.
    threads: usize,
}

/// Best times of a listing.
struct Times {
    one_thread: Duration,
    all_threads: Duration,
    nvdisasm: Duration,
}

impl Tools {
    fn new(repository: &Repository, warpbound: PathBuf) -> anyhow::Result<Tools> {
        Ok(Tools {
            warpbound,
            older: Nvdisasm::new(&repository.oracle())?,
            newer: Nvdisasm::release_13(&repository.oracle())?,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        })
    }

    fn our_command(&self, file: &Path, threads: usize) -> Command {
        let jobs = format!("--jobs={threads}");
        command(
            &self.warpbound,
            &["disasm", "--style", "nvdisasm", &jobs],
            file,
        )
    }

    fn nvdisasm_command(&self, file: &Path) -> Command {
        let contents = read(file).unwrap_or_default();
        let nvdisasm = match code_sections(&contents) {
            Some((sm, _)) if sm >= FIRST_OF_RELEASE_13 => &self.newer,
            _ => &self.older,
        };
        command(nvdisasm.program(), &["-c", "-ndf"], file)
    }

    /// Returns the number of instructions, which both must list.
    fn count(&self, file: &Path) -> anyhow::Result<usize> {
        let count = instructions(self.our_command(file, 1))?;
        let other = instructions(self.nvdisasm_command(file))?;
        if count != other {
            bail!(
                "{}: we list {count} instructions, nvdisasm {other}",
                file.display()
            );
        }
        Ok(count)
    }

    /// Returns the best times of all, run in turns.
    fn best(&self, file: &Path, runs: usize) -> anyhow::Result<Times> {
        let mut best = Times {
            one_thread: Duration::MAX,
            all_threads: Duration::MAX,
            nvdisasm: Duration::MAX,
        };
        for _ in 0..runs {
            for (best, command) in [
                (&mut best.one_thread, self.our_command(file, 1)),
                (&mut best.all_threads, self.our_command(file, self.threads)),
                (&mut best.nvdisasm, self.nvdisasm_command(file)),
            ] {
                *best = (*best).min(time(command)?);
            }
        }
        Ok(best)
    }

    fn file(&self, file: &Path, runs: usize) -> anyhow::Result<()> {
        let count = self.count(file)?;
        let best = self.best(file, runs)?;
        let theirs = best.nvdisasm.as_secs_f64();
        println!(
            "{}: {count} instructions; nvdisasm {theirs:.3} s, {:.3} M/s",
            file.display(),
            count as f64 / theirs / 1e6
        );
        for (threads, time) in [(1, best.one_thread), (self.threads, best.all_threads)] {
            let ours = time.as_secs_f64();
            println!(
                "  {threads} threads: {ours:.3} s, {:.2} M/s, {:.1} times as fast as nvdisasm",
                count as f64 / ours / 1e6,
                theirs / ours
            );
        }
        Ok(())
    }

    fn folder(&self, cubins: &[PathBuf], runs: usize) -> anyhow::Result<()> {
        let mut instructions = 0;
        let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
        for cubin in cubins {
            instructions += self.count(cubin)?;
            let best = self.best(cubin, runs)?;
            ours += best.all_threads;
            theirs += best.nvdisasm;
        }
        let (ours, theirs) = (ours.as_secs_f64(), theirs.as_secs_f64());
        println!(
            "{} cubins, {instructions} instructions: ours {:.2} ms each, nvdisasm {:.2} ms each; ratio {:.1}",
            cubins.len(),
            1e3 * ours / cubins.len() as f64,
            1e3 * theirs / cubins.len() as f64,
            theirs / ours
        );
        Ok(())
    }
}

/// Whether a cubin has code to list; true for an unreadable file, which the tools report.
fn has_code(cubin: &Path) -> bool {
    let file = read(cubin).unwrap_or_default();
    code_sections(&file).is_none_or(|(_, sections)| !sections.is_empty())
}

/// Measures `list` with each of some libraries.
fn list_libraries(warpbound: &Path, files: &[PathBuf], runs: usize) -> anyhow::Result<()> {
    for file in files {
        let bytes = std::fs::metadata(file)
            .with_context(|| format!("cannot read {}", file.display()))?
            .len();
        let megabytes = bytes as f64 / 1e6;
        let name = file.display();
        let report = |part: &str, best: Duration| {
            let seconds = best.as_secs_f64();
            let each = seconds * 300.0 / megabytes;
            println!("{name} {part}: {megabytes:.0} MB, {seconds:.3} s, {each:.3} s per 300 MB");
        };
        let best = |options: &[&str]| -> anyhow::Result<Duration> {
            let times = (0..runs).map(|_| time(command(warpbound, options, file)));
            let times = times.collect::<anyhow::Result<Vec<Duration>>>()?;
            times.into_iter().min().context("no run")
        };
        report("directory", best(&["list"])?);
        let library = Library::open("", FileSource::new(File::open(file)?)?)?;
        for sm in supported(&library) {
            report(&sm, best(&["list", "--sm", &sm])?);
        }
    }
    Ok(())
}

/// Returns the supported architectures of a file.
fn supported(library: &Library) -> Vec<String> {
    let images = library.directory().images.into_iter();
    let mut found: Vec<String> = images.filter(|i| i.supported).map(|i| i.isa).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Builds the command line tool and returns its path.
fn build(repository: &Repository) -> anyhow::Result<PathBuf> {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args([
            "build",
            "--quiet",
            "--release",
            "--package",
            "warpbound-cli",
        ])
        .current_dir(repository.root())
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the build of warpbound failed");
    }
    // The executable is in a subdirectory of the target directory, named after its profile.
    let here = std::env::current_exe().context("this program has no path")?;
    let target = here
        .ancestors()
        .nth(2)
        .context("no target directory above this program")?;
    Ok(target.join("release/warpbound"))
}

fn command(program: &Path, options: &[&str], file: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(options).arg(file).stderr(Stdio::null());
    command
}

/// Returns the number of instructions of a listing.
fn instructions(mut command: Command) -> anyhow::Result<usize> {
    let output = command.output().context("cannot start the disassembler")?;
    if !output.status.success() {
        bail!("{command:?} failed");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter(|line| is_instruction(line)).count())
}

/// Whether a line is an instruction, as `        /*0018*/   MOV R1, c[0x0][0x20] ;`, perhaps with a brace of a pair.
fn is_instruction(line: &str) -> bool {
    line.trim_start()
        .strip_prefix("/*")
        .and_then(|rest| rest.split_once("*/"))
        .is_some_and(|(address, text)| {
            address.bytes().all(|digit| digit.is_ascii_hexdigit())
                && text.trim_end_matches(['}', ' ']).len() > 1
                && !text.trim_start().starts_with('.')
        })
}

fn time(mut command: Command) -> anyhow::Result<Duration> {
    command.stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().context("cannot start the disassembler")?;
    let elapsed = start.elapsed();
    if !status.success() {
        bail!("{command:?} failed");
    }
    Ok(elapsed)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{has_code, is_instruction};

    #[test]
    fn cubins_without_code_are_skipped() {
        let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
        let cubin = PathBuf::from(built).join("if_else.sm_61.cubin");
        assert!(has_code(&cubin));
        // The same file with its code sections marked as sections without contents.
        let mut file = std::fs::read(&cubin).expect("the cubin is in the repository");
        let number = |at: usize| usize::from(file[at]) | usize::from(file[at + 1]) << 8;
        let (table, size, count) = (number(0x28), number(0x3a), number(0x3c));
        for section in 0..count {
            file[table + section * size + 4] = 8;
        }
        let empty = std::env::temp_dir().join(format!("no-code-{}.cubin", std::process::id()));
        std::fs::write(&empty, file).expect("a scratch file");
        let skipped = !has_code(&empty);
        std::fs::remove_file(&empty).expect("the scratch file");
        assert!(skipped);
        // The tools report unreadable files.
        assert!(has_code(&empty));
    }

    #[test]
    fn lines_of_instructions() {
        assert!(is_instruction("        /*0008*/  MOV R1, RZ ;"));
        assert!(is_instruction(
            "        /*0030*/     SSY `(.L_x_0)         }"
        ));
        assert!(!is_instruction("        /*0004*/ \t.word\t0x00000006"));
        assert!(!is_instruction(".text.f:"));
        assert!(!is_instruction("\t.align\t32"));
    }
}
