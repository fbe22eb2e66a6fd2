//! `cargo xtask concepts`: the page of concepts.

use std::fs;

use anyhow::{Context, bail, ensure};
use warpbound_testkit::concepts::{concepts, page};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask concepts

Writes docs/concepts.md: the concepts that the heads of the crates list, with the files that define them. Fails if one of
the files does not exist.";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("unknown argument {argument:?}");
    }
    let all = concepts(repository.root()).context("the heads of the crates cannot be read")?;
    for concept in &all {
        for (path, exists) in concept.paths(repository.root()) {
            let (name, in_crate) = (&concept.name, &concept.in_crate);
            ensure!(
                exists,
                "{path} does not exist: concept {name:?} of the crate {in_crate}"
            );
        }
    }
    let file = repository.root().join("docs/concepts.md");
    fs::write(&file, page(&all)).with_context(|| format!("cannot write {}", file.display()))
}
