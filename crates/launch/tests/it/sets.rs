//! Launch sets: parsing and refusals, and the launches of each round.
#![allow(clippy::panic, reason = "tests")]

use warpbound_base::Diagnostic;
use warpbound_launch::{LaunchSet, ParamValue, SetContents};

const BUFFERS: &str = "[[buffer]]\nname = \"a\"\ntype = \"s16\"\nvalues = [1, 2, 3]\n\
                       [[buffer]]\nname = \"flag\"\ntype = \"u8\"\nshape = [2]\n";

fn parse(text: &str) -> Result<LaunchSet, String> {
    let none = |name: &str| Err(Diagnostic::new("no such file").in_file(name));
    LaunchSet::parse("s.toml", text, &none).map_err(|d| d.to_string())
}

/// A set with one launch that has these further keys.
fn one(rest: &str) -> Result<LaunchSet, String> {
    parse(&format!(
        "{BUFFERS}[[launch]]\nkernel = \"k\"\ngrid = [4]\nblock = [32]\n{rest}"
    ))
}

#[track_caller]
fn refused(rest: &str) -> String {
    one(rest).expect_err("it is refused")
}

#[test]
fn launches_of_rounds() {
    let set = one(
        "repeat = 3\nstep = { t = -2, u = 1 }\ngrid_step = [-1, 2]\nparam = [{ buffer = \"flag\" }, \
         { name = \"t\", type = \"s16\", value = -1 }, { name = \"u\", type = \"u8\", value = 253 }]",
    )
    .expect("it can be read");
    let contents = SetContents::of(&set);
    let launch = &set.launches[0];
    assert_eq!((launch.name.as_str(), launch.stream), ("k", None));
    assert_eq!(launch.launch.texels[0].buffer.bytes, []);
    let scalar = |value: &ParamValue| match value {
        ParamValue::Scalar { bytes, .. } => bytes.clone(),
        other => panic!("{other:?}"),
    };
    for (round, t, u, grid) in [
        (0, -1i16, 253u8, [4, 1, 1]),
        (1, -3, 254, [3, 3, 1]),
        (2, -5, 255, [2, 5, 1]),
    ] {
        let file = contents.launch(launch, round);
        assert_eq!(file.grid, grid);
        assert_eq!(
            file.params[0].value,
            ParamValue::Alias {
                buffer: 1,
                offset: 0
            }
        );
        assert_eq!(scalar(&file.params[1].value), t.to_le_bytes());
        assert_eq!(scalar(&file.params[2].value), [u]);
        assert_eq!(file.texels[0].buffer.bytes, [1, 0, 2, 0, 3, 0]);
    }
}

#[test]
fn writes_and_conditions_are_about_elements() {
    let mut set = one(
        "repeat = \"r\"\nwrite = [{ buffer = \"a\", at = 1, value = -1 }, { buffer = \"flag\", value = 7 }]\n\
         [[repeat]]\nname = \"r\"\ncount = 9\nuntil = { buffer = \"a\", at = 1, equals = -1 }",
    )
    .expect("it can be read");
    let mut contents = SetContents::of(&set);
    let mut end = set.repetitions[0].end.take().expect("a condition");
    assert!(end.is_until && !contents.is_ended(&end));
    assert_eq!(contents.describe(&set, &end), "a[1] is 2");
    for write in &set.launches[0].writes {
        contents.write(write);
    }
    let file = contents.launch(&set.launches[0], 0);
    assert_eq!(file.texels[0].buffer.bytes, [1, 0, 255, 255, 3, 0]);
    assert_eq!(file.texels[1].buffer.bytes, [7, 7]);
    assert!(contents.is_ended(&end));
    end.is_until = false;
    assert!(!contents.is_ended(&end));
}

#[test]
fn repetitions_are_of_consecutive_launches() {
    let launch =
        |rest: &str| format!("[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\n{rest}\n");
    let repeats = "[[repeat]]\nname = \"r\"\ncount = 2\n[[repeat]]\nname = \"s\"\ncount = 3\n";
    let all = |launches: &[&str]| {
        let launches: String = launches.iter().map(|rest| launch(rest)).collect();
        parse(&format!("{repeats}{launches}"))
    };
    let (r, s) = ("repeat = \"r\"", "repeat = \"s\"");
    let set = all(&[r, r, "", "repeat = 5", s]).expect("it can be read");
    let found: Vec<_> = set
        .repetitions
        .iter()
        .map(|r| (r.launches.clone(), r.rounds))
        .collect();
    assert_eq!(found, [(0..2, 2), (2..3, 1), (3..4, 5), (4..5, 3)]);
    for (launches, message) in [
        (
            &[r, s, r][..],
            "line 21: the launches of r are not consecutive",
        ),
        (&[r], "line 4: no launch has repeat = \"s\""),
        (
            &[r, s, "repeat = \"t\""],
            "line 21: there is no [[repeat]] t",
        ),
        (&[r, s, "repeat = 0"], "it has 0 rounds, not 1 to 16777216"),
    ] {
        let found = all(launches).expect_err("it is refused");
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn refusals() {
    for (rest, message) in [
        (
            "param = [{ buffer = \"b\" }]",
            "launch k: parameter 0: there is no parameter b",
        ),
        (
            "param = [{ buffer = \"a\", offset = 7 }]",
            "byte 7 is past the end of a, which has 6",
        ),
        (
            "param = [{ type = \"s32\", shape = [1] }]",
            "line 9: launch k: parameter 0: it has a buffer of its own; launches share buffers",
        ),
        ("step = { t = 1 }", "launch k: there is no parameter t"),
        (
            "step = { t = 1 }\nparam = [{ name = \"t\", type = \"f32\", value = 0 }]",
            "parameter t is a float",
        ),
        (
            "step = { t = 1 }\nparam = [{ name = \"t\", buffer = \"a\" }]",
            "parameter t is no number",
        ),
        (
            "repeat = 3\nstep = { t = 1 }\nparam = [{ name = \"t\", type = \"u8\", value = 254 }]",
            "256 is no u8",
        ),
        (
            "repeat = 5\ngrid_step = [-1]",
            "line 14: launch k: the grid of round 5 has 0 blocks in x, not 1 to",
        ),
        ("grid_step = []", "grid_step has 0 numbers, not 1 to 3"),
        (
            "repeat = 2\ngrid_step = [0, 2147483648]",
            "the grid of round 2 has 8589934596 elements, not 1 to",
        ),
        (
            "write = [{ buffer = \"flag\", at = 2, value = 0 }]",
            "flag has 2 elements, none at 2",
        ),
        (
            "write = [{ buffer = \"flag\", value = 256 }]",
            "256 is no u8",
        ),
        (
            "write = [{ buffer = \"b\", value = 0 }]",
            "there is no [[buffer]] b",
        ),
        (
            "repeat = \"r\"\n[[repeat]]\nname = \"r\"\ncount = 1\nuntil = { buffer = \"a\", equals = 0.5 }",
            "line 14: repeat r: 0.5 is no s16",
        ),
        (
            "repeat = \"r\"\n[[repeat]]\nname = \"r\"\ncount = 1\nuntil = { buffer = \"a\", at = 3, equals = 0 }",
            "a has 3 elements, none at 3",
        ),
        (
            "repeat = \"r\"\n[[repeat]]\nname = \"r\"\ncount = 1\nuntil = { buffer = \"a\", equals = 0 }\n\
             while = { buffer = \"a\", equals = 0 }",
            "it has until and while",
        ),
        (
            "repeat = \"r\"\n[[repeat]]\nname = \"r\"\ncount = 1\n[[repeat]]\nname = \"r\"\ncount = 1",
            "line 17: repeat r: it is defined twice",
        ),
        (
            "[[buffer]]\nname = \"p\"\ntype = \"u64\"\nshape = [1]\n[[launch.pointer]]\nin = \"p\"\nto = \"a\"",
            "launch k: a pointer of a launch is in one of its parameters",
        ),
        ("color = 1", "unknown field `color`"),
    ] {
        let found = refused(rest);
        assert!(found.contains(message), "{rest}\n{found}");
    }
}

#[test]
fn files_with_launches_are_sets() {
    assert!(LaunchSet::is_set("# a set\n[[launch]]\n"));
    assert!(!LaunchSet::is_set("kernel = \"[[launch]]\"\ngrid = [1]\n"));
}
