//! `cargo xtask listing-speed`: how fast cubins are listed, beside NVIDIA's disassembler.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::nvdisasm::Nvdisasm;
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask listing-speed [--runs COUNT] FILE...

Lists each cubin with `warpbound disasm --style nvdisasm` (release build, made first) and with
oracle/bin/nvdisasm -c -ndf, its fastest way, in turns; both use one core and write to nothing. Prints the
instructions per second of the best run of each and their ratio; fails if the two do not list the same
number of instructions.

  --runs COUNT   how often each is run (5)";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut runs = 5;
    let mut files = Vec::new();
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
            other if other.starts_with('-') => {
                bail!("listing-speed does not know the argument {other:?}")
            }
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        bail!("no file given");
    }
    let nvdisasm = Nvdisasm::new(&repository.oracle())?;
    let warpbound = build(repository)?;
    for file in files {
        let ours = || command(&warpbound, &["disasm", "--style", "nvdisasm"], &file);
        let theirs = || command(nvdisasm.program(), &["-c", "-ndf"], &file);
        let count = instructions(ours())?;
        let other = instructions(theirs())?;
        if count != other {
            bail!(
                "{}: we list {count} instructions, nvdisasm {other}",
                file.display()
            );
        }
        let mut best = [Duration::MAX; 2];
        for _ in 0..runs {
            for (best, command) in best.iter_mut().zip([ours(), theirs()]) {
                *best = (*best).min(time(command)?);
            }
        }
        let [ours, theirs] = best.map(|time| time.as_secs_f64());
        println!(
            "{}: {count} instructions; ours {ours:.3} s, {:.2} M/s; nvdisasm {theirs:.3} s, {:.3} M/s; ratio {:.1}",
            file.display(),
            count as f64 / ours / 1e6,
            count as f64 / theirs / 1e6,
            theirs / ours
        );
    }
    Ok(())
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
    // This program lies in a folder of the target directory, named after its profile.
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

/// How many instructions a listing has.
fn instructions(mut command: Command) -> anyhow::Result<usize> {
    let output = command.output().context("cannot start the disassembler")?;
    if !output.status.success() {
        bail!("{command:?} failed");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter(|line| is_instruction(line)).count())
}

/// `        /*0018*/   MOV R1, c[0x0][0x20] ;`, braces of pairs around it.
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
    use super::is_instruction;

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
