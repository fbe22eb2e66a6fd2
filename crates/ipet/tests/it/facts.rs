//! Facts files: parsed contents, and errors with their lines.

use warpbound_base::CodeAddr;
use warpbound_ipet::{FactsFile, LoopName, Never};

/// Facts of a library, and of one kernel with many loops, most of them at one address: takes minutes unless reading is
/// linear.
#[test]
fn long_files_are_read_in_linear_time() {
    let mut text = String::new();
    for kernel in 0..10_000 {
        text.push_str(&format!("[[kernel]]\nname = \"k{kernel}\"\ncode = \"c\"\n"));
        let lines = (1..=5).map(|i| format!("{{ at = \"0x{i}8\", bound = {i} }},\n"));
        text.push_str(&format!("loops = [\n{}]\n", lines.collect::<String>()));
    }
    let lines = (0..20_000).map(|i| format!("{{ id = \"L{i}\", at = \"0x8\", bound = {i} }},\n"));
    let lines: String = lines.skip(1).collect();
    text.push_str(&format!(
        "[[kernel]]\nname = \"k\"\ncode = \"c\"\nloops = [\n{lines}]\n"
    ));
    let calls: String = (0..20_000)
        .map(|i| format!("{{ name = \"f{i}\", instructions = {i} }},\n"))
        .collect();
    text.push_str(&format!("calls = [\n{calls}]\n"));
    let file = FactsFile::parse("f", &text).expect("it is right");
    assert_eq!(file.kernels().len(), 10_001);
    text.push_str("[[kernel]]\nname = \"k\"\ncode = \"c\"\n");
    let refusal = FactsFile::parse("f", &text).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "f: line 140007: second [[kernel]] for k, the first is in line 100001"
    );
}

/// A line without an `id` applies to every loop at its address.
#[test]
fn contradictions_name_the_first_line() {
    let parse = |lines: &[&str]| {
        let text = format!(
            "[[kernel]]\nname = \"k\"\ncode = \"c\"\nloops = [\n{}\n]",
            lines.join(",\n")
        );
        FactsFile::parse("f", &text).map_err(|d| d.to_string())
    };
    let first = r#"{ id = "L1", at = "0x8", bound = 3 }"#;
    let second = r#"{ id = "L2", at = "0x8", bound = 4 }"#;
    let unnamed = |bound| format!("{{ at = \"0x8\", bound = {bound} }}");
    let (three, four) = (unnamed(3), unnamed(4));
    let refused = |lines: &[&str], at: usize, other: usize| {
        let expected =
            format!("f: line {at}: the loop at 0x0008 has another bound in line {other}");
        assert_eq!(parse(lines).map(|_| ()), Err(expected));
    };
    assert!(parse(&[first, second, first]).is_ok());
    assert!(parse(&[first, &three, first, &three]).is_ok());
    refused(&[first, second, &three], 7, 6);
    refused(&[first, second, &four], 7, 5);
    refused(&[&three, first, &four], 7, 5);
    refused(&[&three, first, second], 7, 5);
    let again = first.replace('3', "5");
    refused(&[second, first, &again], 7, 6);
}

/// Loops with one and with two headers may begin at the same address.
#[test]
fn loops_that_share_an_address() {
    let name = |id: &str, at| LoopName {
        id: id.to_owned(),
        at: CodeAddr(at),
    };
    let loops = [name("L1", 8), name("L2", 8), name("L3", 0x30)];
    let bounds = |lines: &str| {
        let text = format!("[[kernel]]\nname = \"k\"\ncode = \"c\"\nloops = [{lines}]");
        let file = FactsFile::parse("f", &text).map_err(|d| d.to_string())?;
        file.kernels()[0].bounds(&loops).map_err(|d| d.to_string())
    };
    let first = r#"{ id = "L1", at = "0x8", bound = 3 },"#;
    let second = r#"{ id = "L2", at = "0x8", bound = 4 },"#;
    let third = r#"{ at = "0x30", bound = 5 },"#;
    let all = [first, second, third].concat();
    assert_eq!(bounds(&all), Ok(vec![Some(3), Some(4), Some(5)]));
    assert_eq!(bounds(second), Ok(vec![None, Some(4), None]));
    assert_eq!(
        bounds(r#"{ at = "0x8", bound = 3 }"#),
        Err(
            "f: line 4: at 0x0008 are the loops L1 and L2, `id` must say which is meant".to_owned()
        )
    );
    assert_eq!(
        bounds(r#"{ id = "L3", at = "0x8", bound = 3 }"#),
        Err("f: line 4: the loop at 0x0008 is L1 and L2, not L3".to_owned())
    );
}

fn parsed(lines: &str) -> Result<FactsFile, String> {
    let text = format!("[[kernel]]\nname = \"k\"\ncode = \"c\"\n{lines}");
    FactsFile::parse("f", &text).map_err(|d| d.to_string())
}

/// A total may accompany or replace a bound; the implied bound never exceeds it.
#[test]
fn totals_of_loops() {
    let lines = "loops = [\n{ at = \"0x8\", bound = 19, total = 190 },\n{ at = \"0x18\", total = 7 },\n{ at = \"0x28\", bound = 9, total = 4 },\n{ at = \"0x38\", bound = 3, total = \"?\" },\n]";
    let file = parsed(lines).expect("it is right");
    let name = |id: usize, at| LoopName {
        id: format!("L{id}"),
        at: CodeAddr(at),
    };
    let loops = [name(1, 0x8), name(2, 0x18), name(3, 0x28), name(4, 0x38)];
    let numbers = file.kernels()[0].numbers(&loops).expect("they exist");
    let totals: Vec<Option<u64>> = numbers.iter().map(|n| n.total).collect();
    assert_eq!(totals, [Some(190), Some(7), Some(4), None]);
    let bounds = file.kernels()[0].bounds(&loops).expect("they exist");
    assert_eq!(bounds, [Some(19), Some(7), Some(4), Some(3)]);
    let refused = |line: &str, message: &str| {
        let refusal = parsed(&format!("loops = [\n{line}\n]")).expect_err(line);
        assert_eq!(refusal, format!("f: line 5: {message}"));
    };
    refused(
        "{ at = \"0x8\", total = 0 }",
        "a total of 0 is a loop that no thread enters, which `never` states",
    );
    refused(
        "{ at = \"0x8\", total = 1.5 }",
        "`total` is 1.5, not a whole number or \"?\"",
    );
    refused("{ at = \"0x8\" }", "missing field `bound`, or `total`");
    let both = "loops = [\n{ at = \"0x8\", total = 3 },\n{ at = \"0x8\", total = 4 }]";
    assert_eq!(
        parsed(both).expect_err("a contradiction"),
        "f: line 6: the loop at 0x0008 has another total in line 5"
    );
}

#[test]
fn never_facts() {
    let file = parsed("never = [\"0x0200\", \"0x1a8 -> 0x220\"]").expect("it is right");
    let never: Vec<Never> = file.kernels()[0].never().collect();
    let (from, to) = (CodeAddr(0x1a8), CodeAddr(0x220));
    assert_eq!(
        never,
        [Never::Block(CodeAddr(0x200)), Never::Step { from, to }]
    );
    for bad in [
        "",
        "200",
        "0x200 ->",
        "0x1 -> 2",
        "0x1 -> 0x2 -> 0x3",
        "0x+1",
    ] {
        let refusal = parsed(&format!("never = [\n\"{bad}\"]")).expect_err(bad);
        assert!(
            refusal.starts_with(&format!("f: line 5: `never` has {bad:?}, not an address")),
            "{refusal}"
        );
    }
}

/// Observed numbers are not facts until a person vouches for them.
#[test]
fn observed_numbers_are_refused() {
    let loops = "loops = [{ at = \"0x8\", bound = 5 }]";
    let refusal = parsed(&format!("status = \"observed\"\n{loops}")).expect_err("observed");
    assert!(
        refusal.starts_with("f: line 4: the facts are observed in runs"),
        "{refusal}"
    );
    let refusal = parsed(&format!("status = \"true\"\n{loops}")).expect_err("unknown");
    assert!(refusal.contains("`status` is \"true\""), "{refusal}");
    let signed = parsed(&format!("signed_off_by = \"A. Person\"\n{loops}")).expect("signed");
    let name = signed.kernels()[0].signed_off_by.as_deref();
    assert_eq!(name, Some("A. Person"));
}
