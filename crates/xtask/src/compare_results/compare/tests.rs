//! Planted faults: each of them is found, by the check that is named.

use super::*;

const TEXT: &str = "\
kernel a  (a.cubin)
  pick typical, 235 instructions

    name       taken
    unit busy     12  0x00e8
    pick           3
    and a long sentence about the unit
        busy time of 14

  last line 7
";

const JSON: &str = r#"{
  "schema": "x/1",
  "pick": "pick typical",
  "rows": [{ "at": "0x00e8", "times": 10 }, { "at": "0x00f0", "times": 340282366920938463463374607431768211455 }]
}
"#;

fn output(text: &str) -> Output {
    Output {
        code: Some(0),
        parts: BTreeMap::from([("standard output".to_owned(), text.as_bytes().to_vec())]),
    }
}

fn compared(before: &str, after: &str, list: &str) -> Compared {
    let words = Words::parse("words", list).unwrap();
    compare(&output(before), &output(after), &words, &mut Used::new())
}

/// Results of the two checks, true for a difference: the one with words, the one of numbers.
fn found(before: &str, after: &str, list: &str) -> (bool, bool) {
    let compared = compared(before, after, list);
    assert!(!compared.equal);
    let found = (&compared.differences, &compared.number_differences);
    (!found.0.is_empty(), !found.1.is_empty())
}

#[test]
fn equal_outputs_are_equal() {
    for text in [TEXT, JSON, ""] {
        let compared = compared(text, text, "pick => selection");
        assert!(compared.equal && compared.differences.is_empty());
    }
    assert_eq!(compared(TEXT, TEXT, "").numbers, 8);
}

#[test]
fn digits_that_change_are_found_twice() {
    for (old, new) in [
        ("235", "236"),
        ("0x00e8", "0x00e9"),
        ("12", "1 2"),
        ("14", "-"),
        ("7", "7 8"),
    ] {
        assert_eq!(
            found(TEXT, &TEXT.replace(old, new), ""),
            (true, true),
            "{new}"
        );
    }
    for (old, new) in [
        ("10 }", "11 }"),
        ("455 }", "456 }"),
        ("0x00f0", "0x00f1"),
        ("10 }", "10.0 }"),
        ("x/1", "x/2"),
    ] {
        assert_eq!(
            found(JSON, &JSON.replace(old, new), ""),
            (true, true),
            "{new}"
        );
    }
}

#[test]
fn words_that_hide_a_number_are_found_by_the_other_check() {
    let after = TEXT.replace("235 instructions", "236 instructions");
    assert_eq!(found(TEXT, &after, "235 => 236"), (false, true));
    let after = JSON.replace("0x00f0", "0x00f1");
    assert_eq!(found(JSON, &after, "0x00f0 => 0x00f1"), (false, true));
}

#[test]
fn words_that_are_not_listed_are_found() {
    let after = TEXT.replace("typical", "usual");
    assert_eq!(found(TEXT, &after, ""), (true, false));
    assert_eq!(found(TEXT, &after, "typical => usual"), (false, false));
    let after = JSON.replace("typical", "usual");
    assert_eq!(found(JSON, &after, ""), (true, false));
    assert_eq!(found(JSON, &after, "typical => usual"), (false, false));
}

#[test]
fn renamed_words_may_move_columns_and_line_breaks() {
    let after = TEXT
        .replace("  pick typical", "  selection typical")
        .replace("    pick           3", "    selection       3")
        .replace("unit busy     12", "busy unit      12")
        .replace("the unit\n        busy time", "the busy\n        unit time");
    let list = "pick => selection\nunit busy => busy unit";
    let compared = compared(TEXT, &after, list);
    assert_eq!(compared.differences, Vec::<String>::new());
    assert!(compared.layout && compared.number_differences.is_empty());
}

#[test]
fn white_space_alone_is_a_difference() {
    let list = "pick => selection";
    let after = TEXT.replace("  last line", " last line");
    assert_eq!(found(TEXT, &after, list), (true, false));
    assert_eq!(found(TEXT, TEXT.trim_end(), list), (true, false));
    let after = TEXT.replace("12  0x", "12 0x");
    assert_eq!(found(TEXT, &after, ""), (true, false));
}

#[test]
fn lines_that_come_and_go_are_found() {
    let without = TEXT.replace("    pick           3\n", "");
    assert_eq!(found(TEXT, &without, "pick => selection"), (true, true));
    assert_eq!(found(&without, TEXT, "pick => selection"), (true, true));
    let shorter = TEXT.replace("\n  last line 7\n", "");
    assert!(found(TEXT, &shorter, "").0);
    assert!(found(&shorter, TEXT, "").0);
    assert_eq!(found(TEXT, "", ""), (true, true));
}

#[test]
fn keys_may_be_added_and_moved_and_not_dropped() {
    let after = JSON.replace("\"times\": 10", "\"times\": 10, \"more\": [99, {\"x\": 1}]");
    let more = compared(JSON, &after, "");
    assert!(more.differences.is_empty() && more.number_differences.is_empty());
    assert_eq!(more.extra, BTreeMap::from([("rows.more".to_owned(), 1)]));
    assert_eq!(found(&after, JSON, ""), (true, true));
    let renamed = JSON.replace("\"pick\":", "\"selection\":");
    assert!(found(JSON, &renamed, "pick => selection").0);
    let moved = JSON.replace(
        r#""at": "0x00e8", "times": 10"#,
        r#""times": 10, "at": "0x00e8""#,
    );
    assert_eq!(found(JSON, &moved, ""), (false, false));
}

#[test]
fn values_of_another_kind_are_found() {
    for (old, new) in [
        ("10 }", "null }"),
        ("10 }", "\"10\" }"),
        ("[{", "[[], {"),
        ("}]", "}, 1]"),
    ] {
        assert!(found(JSON, &JSON.replace(old, new), "").0, "{new}");
    }
    assert!(found(JSON, "no JSON", "").0);
}

#[test]
fn lines_of_json_are_compared_one_by_one() {
    let (old, new) = ("{\"a\": 1}\n{\"a\": 2}\n", "{\"a\": 1}\n{\"a\": 3}\n");
    let compared = compared(old, new, "");
    assert!(
        compared.differences[0].contains("line 2: a: 2"),
        "{compared:?}"
    );
    assert_eq!(found(old, "{\"a\": 1}\n", ""), (true, true));
}

#[test]
fn exit_codes_files_and_bytes_are_compared() {
    let words = Words::default();
    let differences = |before: &Output, after: &Output| {
        compare(before, after, &words, &mut Used::new()).differences
    };
    let before = output(TEXT);
    let mut after = before.clone();
    after.code = Some(3);
    assert_eq!(differences(&before, &after), ["exit code: 0 -> 3"]);
    let mut after = before.clone();
    after.parts.insert("x.json".to_owned(), Vec::new());
    assert_eq!(
        differences(&before, &after),
        ["x.json is written only after"]
    );
    assert_eq!(
        differences(&after, &before),
        ["x.json is written only before"]
    );
    let mut binary = after.clone();
    binary.parts.insert("x.json".to_owned(), vec![0xff]);
    assert_eq!(differences(&after, &binary).len(), 1);
}

#[test]
fn drawings_are_compared_by_elements_and_texts() {
    let old = "<svg width=\"90\"><text x=\"1\">lanes may part 7</text><path d=\"M 1 2\"/></svg>";
    let new = "<svg width=\"99\"><text x=\"3\">lanes may diverge 7</text><path d=\"M 4 2\"/></svg>";
    let list = "lanes may part => lanes may diverge";
    assert_eq!(found(old, new, list), (false, false));
    assert_eq!(found(old, new, ""), (true, false));
    assert_eq!(found(old, &new.replace('7', "8"), list), (true, true));
    assert!(found(old, &new.replace("<path d=\"M 4 2\"/>", ""), list).0);
}
