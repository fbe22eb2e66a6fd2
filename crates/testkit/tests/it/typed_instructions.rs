//! The crates that give instructions a meaning, analyse them and simulate them read opcodes and modifiers as values and
//! never as text: a misspelled word would silently be an instruction without a meaning.

use std::collections::BTreeSet;

use warpbound_isa::nvidia::Opcode;

use crate::words::sources;

/// Crates that must not compare the spelling of an instruction.
const CRATES: [&str; 5] = ["ir", "analyse", "simulate", "driver", "report"];

/// Those of them that print instructions, and so ask for their text.
const PRINTING_CRATES: [&str; 2] = ["driver", "report"];

/// Lines that may have the spelling of an instruction, as they print it: end of the path, text of the line.
const PRINTED: [(&str, &str); 1] = [("analyse/src/refusal.rs", "Tag::")];

/// String literals of a line of code.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split('"').skip(1).step_by(2)
}

/// Whether a text is spelled like modifiers: `.FTZ`, `.U8.S8`.
fn is_modifiers(text: &str) -> bool {
    let mut words = text.split('.');
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    words.next() == Some("") && text.len() > 1 && words.all(is_word)
}

/// Whether a path is in the sources of a crate.
fn is_in(path: &str, name: &str) -> bool {
    path.contains(&format!("/crates/{name}/src/"))
}

/// Places in the product code of `CRATES` that have the spelling of an opcode or a modifier, or, in crates that do not print, ask for one.
fn spellings(sources: &[(String, String)]) -> Vec<String> {
    let opcodes: BTreeSet<&str> = Opcode::ALL.iter().map(|opcode| opcode.name()).collect();
    let asks = ["mnemonic", ".spelling(", "operand.select"];
    let mut found = Vec::new();
    for (path, text) in sources {
        let prints = PRINTING_CRATES.iter().any(|name| is_in(path, name));
        let product = text.split("#[cfg(test)]\nmod tests {").next();
        for (number, line) in (1..).zip(product.unwrap_or_default().lines()) {
            let code = line.split("//").next().unwrap_or_default();
            let spelled = literals(line).any(|text| opcodes.contains(text) || is_modifiers(text))
                || !prints && asks.iter().any(|ask| code.contains(ask));
            let printed = PRINTED
                .iter()
                .any(|(end, part)| path.ends_with(end) && line.contains(part));
            if spelled && !printed {
                found.push(format!("{path}:{number}: {line}"));
            }
        }
    }
    found
}

#[test]
fn no_spelling_of_an_instruction_is_read() {
    let of_crates: Vec<(String, String)> = sources(false)
        .into_iter()
        .map(|source| (source.path.display().to_string(), source.text))
        .filter(|(path, _)| CRATES.iter().any(|name| is_in(path, name)))
        .collect();
    assert!(of_crates.len() > 100, "{}", of_crates.len());
    let found = spellings(&of_crates);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The search finds each kind of comparison.
#[test]
fn planted_spellings_are_found() {
    for line in [
        r#"        "FADD" => sum(),"#,
        r#"    [".U8.S8", rest @ ..] => rest,"#,
        r#"    if view.has(".SAT") {"#,
        "    match view.mnemonic {",
        "    let part = operand.select;",
    ] {
        let source = ("/crates/ir/src/planted.rs".to_owned(), line.to_owned());
        assert_eq!(spellings(&[source]).len(), 1, "{line}");
    }
    let asks = "    program.mnemonic(at)".to_owned();
    let compares = r#"    if mnemonic == "FADD" {"#.to_owned();
    for name in PRINTING_CRATES {
        let path = format!("/crates/{name}/src/planted.rs");
        assert!(spellings(&[(path.clone(), asks.clone())]).is_empty());
        assert_eq!(spellings(&[(path, compares.clone())]).len(), 1);
    }
    for line in [
        r#"    write!(f, "bounds.")"#,
        "    // FADD, `.SAT`",
        r#"    f.write_str(".")"#,
    ] {
        let source = ("/crates/ir/src/innocent.rs".to_owned(), line.to_owned());
        assert_eq!(spellings(&[source]), Vec::<String>::new(), "{line}");
    }
}
