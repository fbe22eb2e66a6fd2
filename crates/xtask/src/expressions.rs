//! `cargo xtask expressions`: random expressions of CUDA C, compared with their values in Rust.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, anyhow, bail};
use warpbound_testkit::expressions::{Batch, run as run_batch};

use crate::nvrtc::{Nvrtc, Release};
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask expressions [--count N] [--seed S] [--threads T] [--record]

Compiles N (default 400) random expressions of CUDA C with NVRTC for sm_61, as kernels of 20, runs each with T (default
128) random and edge values, and compares the results with the values of the expressions in Rust. Needs oracle/lib,
which `cargo xtask oracle` fetches.

  --seed S    seed of the first kernel (default 1); the others have the following seeds
  --record    also write the kernels to kernels/expressions/, where a test runs them again";

/// Number of expressions of a kernel.
const OF_A_KERNEL: usize = 20;

/// Compiler options: without contraction, so that IEEE 754 defines the results of sums and products.
const OPTIONS: [&str; 2] = ["-arch=sm_61", "--fmad=false"];

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut count, mut seed, mut threads, mut record) = (400usize, 1u64, 128usize, false);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut number = || -> anyhow::Result<u64> {
            let value = arguments
                .next()
                .with_context(|| format!("{argument} takes a number"))?;
            value
                .parse()
                .with_context(|| format!("{value:?} is not a number"))
        };
        match argument.as_str() {
            "--count" => count = usize::try_from(number()?)?,
            "--seed" => seed = number()?,
            "--threads" => threads = usize::try_from(number()?)?.clamp(1, 1 << 16),
            "--record" => record = true,
            other => bail!("unknown argument {other:?}"),
        }
    }
    let nvrtc = Nvrtc::load(&repository.oracle().join("lib"), Release::Cuda12)?;
    let options = OPTIONS.map(str::to_owned);
    let directory = repository.expressions();
    if record {
        fs::create_dir_all(&directory).context("cannot create kernels/expressions")?;
    }
    let (mut kernels, mut values, mut problems) = (0, 0, Vec::new());
    let mut mnemonics: BTreeMap<String, u64> = BTreeMap::new();
    for seed in (seed..).take(count.div_ceil(OF_A_KERNEL)) {
        let batch = Batch::new(seed, OF_A_KERNEL);
        let source = batch.source();
        let compiled = nvrtc
            .compile(&source, &format!("seed_{seed}.cu"), &options)
            .with_context(|| format!("seed {seed}:\n{source}"))?;
        if record {
            for (extension, bytes) in [("cu", source.as_bytes()), ("sm_61.cubin", &compiled.cubin)]
            {
                let path = directory.join(format!("seed_{seed}.{extension}"));
                fs::write(&path, bytes)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        match run_batch(&batch, &compiled.cubin, threads) {
            Ok(outcome) => {
                values += outcome.values;
                for (mnemonic, issues) in outcome.mnemonics {
                    *mnemonics.entry(mnemonic).or_default() += issues;
                }
                for problem in outcome.problems {
                    println!(
                        "seed {seed}: {}\n    {}",
                        problem.expression, problem.values
                    );
                    problems.push(seed);
                }
            }
            Err(diagnostic) => {
                println!("seed {seed}: {diagnostic}");
                problems.push(seed);
            }
        }
        kernels += 1;
    }
    let issues: u64 = mnemonics.values().sum();
    println!(
        "{} expressions in {kernels} kernels, {values} values, {issues} warp instructions, {} mnemonics",
        kernels * OF_A_KERNEL,
        mnemonics.len()
    );
    let listed: Vec<String> = mnemonics
        .iter()
        .map(|(name, n)| format!("{name} {n}"))
        .collect();
    println!("{}", listed.join(", "));
    match problems.len() {
        0 => Ok(()),
        number => Err(anyhow!("{number} problems")),
    }
}
