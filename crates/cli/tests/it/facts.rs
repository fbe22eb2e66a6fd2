//! Unusable facts files: one line that names file, line and cause.

use crate::support::{run, scratch};

const FILE: &str = "nested_loops.sm_61.cubin";

/// Returns the message of `bound` about `text`, without the file's name; `name` is unique.
#[track_caller]
fn refusal(name: &str, text: impl AsRef<[u8]>) -> String {
    refusal_for(name, text, FILE, "nested_fixed")
}

#[track_caller]
fn refusal_for(name: &str, text: impl AsRef<[u8]>, file: &str, kernel: &str) -> String {
    let path = scratch(&format!("facts.{name}.toml"), text);
    let options = ["--kernel", kernel, "--no-derive", "--facts", &path];
    let message = run(&[&["bound", file], &options[..]].concat()).refusal();
    message
        .strip_prefix(&format!("{path}: "))
        .unwrap_or_else(|| panic!("does not name the file: {message}"))
        .to_owned()
}

/// Returns the facts of `nested_fixed` up to its loops, with the right digest: four lines.
fn head() -> String {
    let facts = run(&["facts", FILE, "--kernel", "nested_fixed", "--no-derive"]).done();
    let from = facts.find("[[kernel]]").expect("a kernel");
    let to = facts.find("    { id").expect("a loop");
    facts[from..to].to_owned()
}

#[test]
fn the_head_has_four_lines() {
    assert_eq!(head().lines().count(), 4);
    let loops = "{ id = \"L1\", at = \"0x0088\", bound = 5 },\n{ at = \"0x00d0\", bound = 1099511627776 },\n]";
    let path = scratch("facts.good.toml", head() + loops);
    let options = ["--kernel", "nested_fixed", "--no-derive", "--facts", &path];
    run(&[&["bound", FILE], &options[..]].concat()).done();
}

/// Loops that are refused in line 5, the first after the head.
#[allow(clippy::too_many_lines, reason = "a table: one row per refusal")]
#[test]
fn lines_about_loops() {
    let too_large = "over the limit of 1099511627776";
    for (name, line, message) in [
        (
            "zero",
            r#"id = "L1", at = "0x0088", bound = 0"#,
            "at least 1",
        ),
        (
            "negative",
            r#"id = "L1", at = "0x0088", bound = -3"#,
            "`bound` is -3, not a whole number",
        ),
        (
            "huge",
            r#"id = "L1", at = "0x0088", bound = 1000000000000000000"#,
            too_large,
        ),
        (
            "huge128",
            r#"id = "L1", at = "0x0088", bound = 99999999999999999999"#,
            too_large,
        ),
        (
            "float",
            r#"id = "L1", at = "0x0088", bound = 2.5"#,
            "`bound` is 2.5, not a whole number",
        ),
        (
            "exponent",
            r#"id = "L1", at = "0x0088", bound = 1e18"#,
            "`bound` is 1e18, not a whole number",
        ),
        (
            "nan",
            r#"id = "L1", at = "0x0088", bound = nan"#,
            "`bound` is NaN, not a whole number",
        ),
        (
            "text",
            r#"id = "L1", at = "0x0088", bound = "ten""#,
            r#"`bound` is "ten", not a whole number"#,
        ),
        (
            "bool",
            r#"id = "L1", at = "0x0088", bound = true"#,
            "`bound` is true, not a whole number",
        ),
        (
            "list",
            r#"id = "L1", at = "0x0088", bound = [1, 2]"#,
            "`bound` is a list, not a whole number",
        ),
        (
            "table",
            r#"id = "L1", at = "0x0088", bound = { a = 1 }"#,
            "`bound` is a table",
        ),
        (
            "date",
            r#"id = "L1", at = "0x0088", bound = 1979-05-27"#,
            "`bound` is a table or a date",
        ),
        (
            "unknown_key",
            r#"id = "L1", at = "0x0088", bound = 5, max = 6"#,
            "unknown field `max`",
        ),
        (
            "no_bound",
            r#"id = "L1", at = "0x0088""#,
            "missing field `bound`",
        ),
        ("no_at", r#"id = "L1", bound = 5"#, "missing field `at`"),
        (
            "bad_at",
            r#"id = "L1", at = "88", bound = 5"#,
            r#"`at` is "88", not an address"#,
        ),
        (
            "signed_at",
            r#"id = "L1", at = "0x+88", bound = 5"#,
            r#"`at` is "0x+88", not an address"#,
        ),
        (
            "wide_at",
            r#"id = "L1", at = "0x100000088", bound = 5"#,
            "not an address",
        ),
        (
            "control_at",
            r#"id = "L1", at = "0x88\n\u001b[31m", bound = 5"#,
            r"0x88\n\u{1b}[31m",
        ),
        (
            "control_id",
            r#"id = "L1\n", at = "0x0088", bound = 5"#,
            r#"`id` is "L1\n", which has a control"#,
        ),
        (
            "no_loop",
            r#"id = "L1", at = "0x0090", bound = 5"#,
            "the kernel has no loop at 0x0090; `warpbound facts` prints",
        ),
        (
            "wrong_id",
            r#"id = "L2", at = "0x0088", bound = 5"#,
            "the loop at 0x0088 is L1, not L2",
        ),
        (
            "unknown_id",
            r#"id = "outer", at = "0x0088", bound = 5"#,
            "the loop at 0x0088 is L1, not outer",
        ),
    ] {
        let said_there = refusal(name, format!("{}    {{ {line} }},\n]\n", head()));
        assert!(said_there.contains("line 5: "), "{name}: {said_there}");
        assert!(said_there.contains(message), "{name}: {said_there}");
    }
}

/// Facts about accesses that are refused; the accesses of `bfs_expand` are to global memory.
#[test]
fn lines_about_accesses() {
    let file = "bfs.sm_61.cubin";
    let kernel = ["--kernel", "bfs_expand"];
    let facts = run(&[&["facts", file, "--accesses"], &kernel[..]].concat()).done();
    let from = facts.find("[[kernel]]").expect("a kernel");
    let to = facts.find("accesses = [").expect("accesses");
    let line = facts.lines().find(|line| line.contains("sectors = \"?\""));
    let line = line.expect("an open access");
    let at = line.split('"').nth(1).expect("an address");
    let head = format!("{}accesses = [\n", &facts[from..to]);
    for (name, access, message) in [
        ("none", format!("at = \"{at}\""), "missing field `sectors`"),
        (
            "zero",
            format!("at = \"{at}\", sectors = 0"),
            "`sectors` is 0",
        ),
        ("lines", format!("at = \"{at}\", lines = 0"), "`lines` is 0"),
        (
            "text",
            format!("at = \"{at}\", sectors = \"4\""),
            "not a whole number",
        ),
        (
            "space",
            format!("at = \"{at}\", space = \"heap\""),
            "`space` is \"heap\"",
        ),
        (
            "other",
            format!("at = \"{at}\", space = \"shared\""),
            "is to global memory, not to shared memory",
        ),
        (
            "banks",
            format!("at = \"{at}\", conflicts = 3"),
            "is to global memory, which has no `conflicts`",
        ),
        (
            "place",
            "at = \"0x0008\", sectors = 4".to_owned(),
            "no access to memory",
        ),
        (
            "address",
            "at = \"here\", sectors = 4".to_owned(),
            "not an address",
        ),
        (
            "key",
            format!("at = \"{at}\", sektors = 4"),
            "unknown field `sektors`",
        ),
        (
            "twice",
            format!("at = \"{at}\", sectors = 4 }},\n{{ at = \"{at}\", lines = 2"),
            "second line about the access",
        ),
    ] {
        let text = format!("{head}{{ {access} }},\n]\n");
        let path = scratch(&format!("facts.access.{name}.toml"), text);
        let refused = run(&[&["bound", file, "--facts", &path], &kernel[..]].concat()).refusal();
        assert!(refused.contains(message), "{name}: {refused}");
    }
}

#[test]
fn two_lines_about_one_loop() {
    for (name, first, second) in [
        (
            "two_bounds",
            r#"id = "L1", at = "0x0088", bound = 5"#,
            r#"id = "L1", at = "0x0088", bound = 6"#,
        ),
        (
            "two_spellings",
            r#"id = "L1", at = "0x0088", bound = 5"#,
            r#"at = "0x88", bound = 6"#,
        ),
        (
            "unknown_too",
            r#"id = "L1", at = "0x0088", bound = 5"#,
            r#"id = "L1", at = "0x0088", bound = "?""#,
        ),
    ] {
        let text = format!("{}{{ {first} }},\n{{ {second} }},\n]", head());
        assert_eq!(
            refusal(name, text),
            "line 6: the loop at 0x0088 has another bound in line 5"
        );
    }
    let text = format!(
        "{}{{ id = \"L1\", at = \"0x0088\", bound = 5 }},\n{{ id = \"L2\", at = \"0x0088\", bound = 5 }},\n]",
        head()
    );
    let message = refusal("two_ids", text);
    assert!(
        message.ends_with("line 6: the loop at 0x0088 is L1, not L2"),
        "{message}"
    );
}

#[test]
fn files_that_are_no_facts() {
    assert!(refusal("no_toml", "name = \"x\"\nnested fixed: 5\n").starts_with("line 2: "));
    assert!(refusal("unknown_table", "\n\n[loops]\n").starts_with("line 3: unknown field `loops`"));
    assert!(
        refusal("control_key", "\"a\\u001b\" = 1\n")
            .starts_with("line 1: unknown field `a\u{fffd}`")
    );
    assert!(
        refusal("no_code", "[[kernel]]\nname = \"nested_fixed\"\n")
            .contains("missing field `code`")
    );
    assert_eq!(
        refusal("no_utf8", b"# one\n# two \xff\n"),
        "line 2: not UTF-8 text"
    );
    let folder = env!("CARGO_TARGET_TMPDIR");
    let message = run(&["bound", FILE, "--facts", folder]).refusal();
    assert!(
        message.starts_with(&format!("{folder}: cannot be read: ")),
        "{message}"
    );
    let message = run(&["bound", FILE, "--facts", "no_such_facts.toml"]).refusal();
    assert!(
        message.starts_with("no_such_facts.toml: cannot be read: "),
        "{message}"
    );
    // The depth of brackets must not become depth of recursion.
    let deep = format!("[[kernel]]\nname = {}", "[".repeat(200_000));
    assert!(refusal("deep", deep).starts_with("line 2: "));
}

#[test]
fn facts_about_other_code() {
    let digest = head().lines().nth(2).expect("a digest").to_owned();
    let stale = head().replace(&digest, "code = \"0123456789abcdef\"") + "]";
    let message = refusal("stale", stale);
    assert!(
        message.contains("line 1: the facts are about other code: digest 0123456789abcdef there"),
        "{message}"
    );
    assert!(
        message.ends_with(
            "`warpbound facts FILE --update OLD` carries over those whose loop is the same"
        ),
        "{message}"
    );
    // The same kernel, compiled for another architecture, is other code.
    let (stale, of) = (
        run(&["facts", "mandelbrot.sm_62.cubin"]).done(),
        "mandelbrot.sm_61.cubin",
    );
    let both = [stale.clone(), run(&["facts", of]).done()];
    let digest = |text: &str| {
        text.lines()
            .find(|line| line.starts_with("code"))
            .map(str::to_owned)
    };
    if digest(&both[0]) != digest(&both[1]) {
        assert!(refusal_for("other_arch", stale, of, "mandelbrot").contains("about other code"));
    }
    let message = refusal(
        "control_code",
        "[[kernel]]\nname = \"nested_fixed\"\ncode = \"\\u001b\"\n",
    );
    assert!(
        message.starts_with("line 1: `code` is \"\\u{1b}\", which has a control character"),
        "{message}"
    );
}

#[test]
fn facts_about_other_kernels() {
    assert_eq!(
        refusal(
            "unknown_kernel",
            "\n[[kernel]]\nname = \"nested\"\ncode = \"0\"\n"
        ),
        "line 2: there is no kernel \"nested\"; \
         the file has nested_divergent, nested_triangular, nested_fixed"
    );
    let message = refusal("two_kernels", format!("{}]\n{}]\n", head(), head()));
    assert_eq!(
        message,
        "line 6: second [[kernel]] for nested_fixed, the first is in line 1"
    );
}

/// Both names of a kernel denote the same kernel.
#[test]
fn two_names_of_one_kernel() {
    let (file, demangled) = ("bitonic_sort.sm_61.cubin", "void bitonic::block<int>(int*)");
    let facts = run(&["facts", file, "--kernel", demangled]).done();
    let from = facts.find("[[kernel]]").expect("a kernel");
    let facts = facts[from..].replace("\"?\"", "5");
    let mangled = facts
        .replace(demangled, "_ZN7bitonic5blockIiEEvPT_")
        .replace("bound = 5", "bound = 6");
    assert_ne!(facts, mangled);
    let message = refusal_for("two_names", facts.clone() + &mangled, file, demangled);
    let line = facts.lines().count() + 1;
    assert_eq!(
        message,
        format!(
            "line {line}: second [[kernel]] for _ZN7bitonic5blockIiEEvPT_, which is {demangled} above"
        )
    );
    for (name, text) in [("demangled", facts), ("mangled", mangled)] {
        let path = scratch(&format!("facts.{name}.toml"), text);
        let message = run(&["bound", file, "--kernel", demangled, "--facts", &path]).done();
        assert!(message.contains("facts file"), "{name}: {message}");
    }
}

/// A block that the kernel was not compiled for.
#[test]
fn blocks_that_do_not_suit_the_kernel() {
    let file = "../../crates/load/tests/data/features.sm_61.cubin";
    let kernel = "void outer::scale<float>(float*, Box<char>, int)";
    let bound = |block: &str| {
        run(&[
            "bound",
            file,
            "--kernel",
            kernel,
            "--loop-default",
            "3",
            "--block",
            block,
        ])
    };
    bound("64,2").done();
    assert_eq!(
        bound("256").refusal(),
        format!(
            "{file}: kernel {kernel}: the kernel allows blocks of 128 threads, 256,1,1 are 256"
        )
    );
}

#[test]
fn facts_about_calls() {
    let calls = |line: &str| format!("{}]\ncalls = [\n{line}\n]\n", head());
    let message = refusal(
        "no_call",
        calls("{ name = \"vprintf\", instructions = 400 },"),
    );
    assert!(
        message.ends_with("the kernel calls no vprintf outside the file"),
        "{message}"
    );
    for (name, line, message) in [
        (
            "call_float",
            r#"{ name = "vprintf", instructions = 0.5 },"#,
            "`instructions` is 0.5, not a whole",
        ),
        (
            "call_huge",
            r#"{ name = "vprintf", instructions = 1000000000000000000 },"#,
            "over the limit of",
        ),
        (
            "call_key",
            r#"{ name = "vprintf", cost = 5 },"#,
            "unknown field `cost`",
        ),
        (
            "call_control",
            r#"{ name = "a\nb", instructions = 5 },"#,
            r#"`name` is "a\nb", which has a control"#,
        ),
    ] {
        let said_there = refusal(name, calls(line));
        assert!(
            said_there.starts_with("line 7: ") && said_there.contains(message),
            "{name}: {said_there}"
        );
    }
    let two =
        "{ name = \"vprintf\", instructions = 5 },\n{ name = \"vprintf\", instructions = 6 },";
    assert_eq!(
        refusal("two_costs", calls(two)),
        "line 8: vprintf has another cost in line 7"
    );
}

/// For a loop whose header is easily misread, the line says what is counted.
#[test]
fn lines_of_irreducible_loops_and_recursion_explain_the_count() {
    let facts = run(&[
        "facts",
        "goto_flow.sm_61.cubin",
        "--kernel",
        "goto_irreducible",
    ])
    .done();
    assert!(
        facts.contains("headers = [\"0x00b0\", \"0x0298\"]"),
        "{facts}"
    );
    let facts = run(&["facts", "recursion.sm_61.cubin", "--kernel", "recursion"]).done();
    assert!(facts.contains("recursion = \"fibonacci(int)\""), "{facts}");
    let filled = scratch("recursion.toml", facts.replace("\"?\"", "9"));
    let text = run(&[
        "bound",
        "recursion.sm_61.cubin",
        "--kernel",
        "recursion",
        "--facts",
        &filled,
    ])
    .done();
    assert!(text.contains("recursive calls of fibonacci(int)"), "{text}");
}
