//! Parses the first columns of the tables of instruction sets and builds their decoding indices, as Rust code for
//! `src/compiled.rs`.
//!
//! At run time this would take a good part of the time of a short listing, and as constants it would take the compiler
//! 20 seconds in each of its passes. A fault in a row is a build error that shows the line.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "modules of the crate, which uses the rest of them"
)]

#[path = "src/nvidia/shared/arch.rs"]
mod arch;
#[path = "src/encoding/description.rs"]
mod description;
#[path = "src/nvidia/descriptions.rs"]
mod descriptions;
#[path = "src/amd/description.rs"]
mod gcn_description;
#[path = "src/amd/opcode.rs"]
mod gcn_opcode;
#[path = "src/encoding/layout.rs"]
mod layout;
#[path = "src/nvidia/shared/list_entry.rs"]
mod list_entry;
#[path = "src/nvidia/shared/opcode.rs"]
mod opcode;
#[path = "src/encoding/row.rs"]
mod row;
#[path = "src/encoding/span.rs"]
mod span;

/// Paths by which the modules name each other in the crate.
mod encoding {
    pub(crate) use crate::description::TableDescription;
    pub(crate) use crate::layout::{CodeLayout, WordWidth};
    pub(crate) use crate::row::ArchSet;
    pub(crate) use crate::span;
}

/// Paths by which the modules name each other in the crate.
mod nvidia {
    pub(crate) use crate::arch::Arch;
}

use std::fmt::{Debug, Write as _};
use std::{env, fs};

use description::TableDescription;
use descriptions::TABLES;
use gcn_description::GFX803;
use gcn_opcode::GcnOpcode;
use list_entry::read_entries;
use opcode::Opcode;
use row::{ArchSet, RowHead};

fn main() -> Result<(), String> {
    // Everything that is read is part of the build script itself, so a change builds it anew.
    println!("cargo::rerun-if-changed=build.rs");
    let nvidia = Opcode::ALL.iter().map(|opcode| (opcode.name(), *opcode));
    let nvidia: Vec<(&str, Opcode)> = nvidia.collect();
    let gcn = GcnOpcode::ALL.iter().map(|opcode| (opcode.name(), *opcode));
    let gcn: Vec<(&str, GcnOpcode)> = gcn.collect();
    for table in TABLES {
        let mut code = table_code(&table.description, table.word, "Opcode", &nvidia)?;
        // Sorted here, because lists are found by name at run time.
        let entries = read_entries(table.lists, table.description.archs)?;
        push_static(&mut code, "ENTRIES", "Entry", &entries);
        write(table.name, &code)?;
    }
    write("gfx803", &table_code(&GFX803, 64, "GcnOpcode", &gcn)?)
}

/// The crate's type of this name, for its [`Debug`].
#[derive(Debug)]
struct RowPattern {
    mask: u128,
    value: u128,
    archs: ArchSet,
}

/// Statics of a table, whose words are compared as integers of `word` bits. `opcodes` has the opcode of each
/// mnemonic, a value of the type `opcode`.
fn table_code<T: Debug>(
    table: &TableDescription,
    word: u32,
    opcode: &str,
    opcodes: &[(&str, T)],
) -> Result<String, String> {
    let parsed = table.parse(word)?;
    // Mnemonics become variants here, so that a misspelled one is a build error and no search at run time.
    let mut of_rows = Vec::new();
    for head in &parsed.heads {
        let name = head.mnemonic.text(table.text);
        let known = opcodes.iter().find(|(mnemonic, _)| *mnemonic == name);
        let unknown = || {
            let line = head.line.text(table.text);
            format!("no opcode has the mnemonic {name}: {line}")
        };
        let (_, known) = known.ok_or_else(unknown)?;
        of_rows.push(known);
    }
    let mut code = String::new();
    push_static(&mut code, "HEADS", "RowHead", &parsed.heads);
    // A table without index bits has an index of its own, in the crate.
    if !table.index.is_empty() {
        let pattern = |head: &RowHead| RowPattern {
            mask: head.mask,
            value: head.value,
            archs: head.archs,
        };
        let patterns: Vec<RowPattern> = parsed.heads.iter().map(pattern).collect();
        let kind = format!("RowPattern<u{word}>");
        push_static(&mut code, "PATTERNS", &kind, &patterns);
        push_static(&mut code, "STARTS", "u16", &parsed.starts);
        push_static(&mut code, "CANDIDATES", "u16", &parsed.candidates);
    }
    let opcodes = of_rows.iter().map(|known| format!("{opcode}::{known:?}"));
    let _ = writeln!(
        code,
        "pub(crate) static OPCODES: [{opcode}; {}] = [{}];",
        of_rows.len(),
        opcodes.collect::<Vec<_>>().join(", ")
    );
    Ok(code)
}

/// Appends a static array. The derived `Debug` of its values is Rust code, which the compiler checks.
fn push_static<T: Debug>(code: &mut String, name: &str, kind: &str, values: &[T]) {
    let length = values.len();
    // Writing to a string cannot fail.
    let _ = writeln!(
        code,
        "pub(crate) static {name}: [{kind}; {length}] = {values:?};"
    );
}

fn write(name: &str, code: &str) -> Result<(), String> {
    // Cargo gives each build of the crate a folder of its own.
    let folder = env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?;
    let path = format!("{folder}/{name}.rs");
    fs::write(&path, code).map_err(|error| format!("{path}: {error}"))
}
