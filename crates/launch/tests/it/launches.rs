//! Launch files of grids: parsing and refusals.
#![allow(clippy::panic, reason = "tests")]

use warpbound_base::Diagnostic;
use warpbound_launch::{
    ElementType, Expected, LaunchBuffer, LaunchFile, NpyArray, ParamValue, PointerLocation,
};

const HEAD: &str = "grid = [2]\nblock = [4, 4]\n";

/// Parses a launch file that refers to the given files.
fn with_files(text: &str, files: &[(&str, Vec<u8>)]) -> Result<LaunchFile, String> {
    let read = |name: &str| {
        let found = files.iter().find(|(file, _)| *file == name);
        let missing = || Diagnostic::new("cannot be read: it is not there").in_file(name);
        found.map(|(_, bytes)| bytes.clone()).ok_or_else(missing)
    };
    LaunchFile::parse("l.toml", text, &read).map_err(|d| d.to_string())
}

/// The parameters of a launch without files.
#[track_caller]
fn params(text: &str) -> Vec<(String, ParamValue)> {
    let launch = with_files(&format!("{HEAD}{text}"), &[]).expect("it can be read");
    let params = launch.params.into_iter();
    params.map(|param| (param.name, param.value)).collect()
}

#[track_caller]
fn refused(text: &str) -> String {
    with_files(&format!("{HEAD}{text}"), &[]).expect_err("it is refused")
}

/// The bytes of the one parameter, a scalar.
#[track_caller]
fn scalar(text: &str) -> Vec<u8> {
    match params(&format!("[[param]]\n{text}")).as_slice() {
        [(_, ParamValue::Scalar { bytes, .. })] => bytes.clone(),
        other => panic!("{other:?}"),
    }
}

/// The one parameter, a buffer.
#[track_caller]
fn buffer(text: &str, files: &[(&str, Vec<u8>)]) -> Result<LaunchBuffer, String> {
    let launch = with_files(&format!("{HEAD}[[param]]\nname = \"a\"\n{text}"), files)?;
    match launch.buffers().next() {
        Some((_, buffer)) => Ok(buffer.clone()),
        None => panic!("no buffer"),
    }
}

fn words(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn npy(element: ElementType, shape: &[u64], bytes: Vec<u8>) -> Vec<u8> {
    let shape = shape.to_vec();
    NpyArray {
        element,
        shape,
        bytes,
    }
    .to_npy()
}

#[test]
fn the_launch() {
    let text = "kernel = \"k\"\ngrid = [2, 3]\nblock = [4, 5, 6]\ndynamic_shared = 64\n";
    let launch = with_files(text, &[]).unwrap();
    assert_eq!(launch.kernel.as_deref(), Some("k"));
    assert_eq!((launch.grid, launch.block), ([2, 3, 1], [4, 5, 6]));
    assert_eq!((launch.dynamic_shared, launch.params.len()), (64, 0));
    for (text, message) in [
        (
            "grid = []\nblock = [1]",
            "l.toml: line 1: grid has 0 numbers",
        ),
        (
            "block = [1]\ngrid = [1, 1, 1, 1]",
            "l.toml: line 2: grid has 4 numbers",
        ),
        (
            "grid = [65536, 65535]\nblock = [1]",
            "grid has 4294901760 elements, not 1 to",
        ),
        (
            "grid = [1]\nblock = [0]",
            "l.toml: line 2: block has 0 elements, not 1 to 1024",
        ),
        (
            "grid = [1]\nblock = [32, 33]",
            "block has 1056 elements, not 1 to 1024",
        ),
        ("grid = [1]", "missing field `block`"),
        (
            "grid = [1]\nblock = [1]\nwarps = 1",
            "l.toml: line 3: unknown field `warps`",
        ),
        ("grid = [-1]\nblock = [1]", "l.toml: line 1: invalid value"),
    ] {
        let said = with_files(text, &[]).expect_err(text);
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn numbers_of_all_types() {
    for (text, bytes) in [
        ("type = \"u8\"\nvalue = 255", &[255][..]),
        ("type = \"s8\"\nvalue = -128", &[0x80]),
        ("type = \"u16\"\nvalue = 0xfffe", &[0xfe, 0xff]),
        ("type = \"s16\"\nvalue = -2", &[0xfe, 0xff]),
        ("type = \"u32\"\nvalue = 4294967295", &[255; 4]),
        ("type = \"s32\"\nvalue = -2147483648", &[0, 0, 0, 0x80]),
        (
            "type = \"u64\"\nvalue = \"18446744073709551615\"",
            &[255; 8],
        ),
        ("type = \"u64\"\nvalue = \"0xffffffffffffffff\"", &[255; 8]),
        (
            "type = \"s64\"\nvalue = \"-0x8000000000000000\"",
            &[0, 0, 0, 0, 0, 0, 0, 0x80],
        ),
        ("type = \"f16\"\nvalue = 1.5", &[0, 0x3e]),
        ("type = \"f16\"\nvalue = 65519", &[0xff, 0x7b]),
        ("type = \"f32\"\nvalue = 1", &[0, 0, 0x80, 0x3f]),
        ("type = \"f32\"\nvalue = -0.0", &[0, 0, 0, 0x80]),
        (
            "type = \"f64\"\nvalue = 0.5",
            &[0, 0, 0, 0, 0, 0, 0xe0, 0x3f],
        ),
        ("type = \"f32\"\nvalue = inf", &[0, 0, 0x80, 0x7f]),
        ("type = \"f32\"\nvalue = \"-inf\"", &[0, 0, 0x80, 0xff]),
        ("type = \"f16\"\nvalue = \"inf\"", &[0, 0x7c]),
    ] {
        assert_eq!(scalar(text), bytes, "{text}");
    }
    for nan in ["nan", "-nan", "\"nan\"", "\"-nan\"", "\"+nan\""] {
        let bytes = scalar(&format!("type = \"f64\"\nvalue = {nan}"));
        let value = f64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        assert!(value.is_nan());
        assert_eq!(value.is_sign_negative(), nan.contains('-'), "{nan}");
    }
}

#[test]
fn numbers_out_of_range_of_their_type() {
    for (element, value, spelled) in [
        ("u8", "256", "256"),
        ("u8", "-1", "-1"),
        ("s16", "0x8000", "32768"),
        ("u32", "4294967296", "4294967296"),
        ("u64", "-1", "-1"),
        ("s64", "\"9223372036854775808\"", "9223372036854775808"),
        ("s32", "1.0", "1.0"),
        ("s32", "nan", "NaN"),
        ("f16", "65520", "65520"),
        ("f32", "1e39", "1e39"),
    ] {
        let text = format!("[[param]]\nname = \"n\"\ntype = \"{element}\"\nvalue = {value}");
        let said = format!("value is {spelled}, which is no {element}");
        assert_eq!(
            refused(&text),
            format!("l.toml: line 6: parameter n: {said}")
        );
    }
    for value in ["\"one\"", "\"--1\"", "\"\"", "\"+-1\"", "true", "[1]"] {
        let said = refused(&format!("[[param]]\ntype = \"f32\"\nvalue = {value}"));
        assert!(said.starts_with("l.toml: line 5: invalid "), "{said}");
        assert!(said.contains("\"nan\", \"inf\""), "{said}");
    }
}

#[test]
fn structures() {
    assert_eq!(scalar("bytes = [1, 0x02, 255]"), [1, 2, 255]);
    // struct { char a; double b; short c[2]; }
    let fields = "fields = [{ type = \"s8\", value = -1 }, { type = \"f64\", value = 2.0 }, \
                  { type = \"u16\", values = [3, 4] }]";
    let expected = [
        &[255, 0, 0, 0, 0, 0, 0, 0][..],
        &2f64.to_le_bytes(),
        &[3, 0, 4, 0, 0, 0, 0, 0],
    ]
    .concat();
    assert_eq!(scalar(fields), expected);
    for (text, message) in [
        (
            "bytes = []",
            "line 4: parameter 0: it has 0 bytes, not 1 to 4096",
        ),
        ("bytes = [256]", "line 4: invalid value"),
        ("fields = []", "it has 0 bytes"),
        (
            "fields = [{ type = \"u8\" }]",
            "fields[0] has either value or values",
        ),
        (
            "fields = [{ type = \"u8\", value = 1, values = [1] }]",
            "fields[0] has either value or values",
        ),
        (
            "fields = [{ type = \"u8\", values = [1, 256] }]",
            "line 4: parameter 0: fields[0].values[1] is 256, which is no u8",
        ),
        (
            "type = \"u8\"\nbytes = [1]",
            "line 4: parameter 0: type does not go with bytes",
        ),
        ("bytes = [1]\nfields = []", "fields does not go with bytes"),
    ] {
        let said = refused(&format!("[[param]]\n{text}"));
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn positions() {
    let number =
        |rest: &str, value: u32| format!("[[param]]\ntype = \"u8\"\nvalue = {value}\n{rest}\n");
    let order = |text: &str| -> Vec<(String, u8)> {
        let value = |(name, value)| match value {
            ParamValue::Scalar { bytes, .. } => (name, bytes[0]),
            other => panic!("{other:?}"),
        };
        params(text).into_iter().map(value).collect()
    };
    let text = [
        number("position = 2", 12),
        number("", 13),
        number("position = 0\nname = \"first\"", 10),
        number("", 11),
    ];
    let named = |name: &str, value| (name.to_owned(), value);
    assert_eq!(
        order(&text.concat()),
        [
            named("first", 10),
            named("1", 11),
            named("2", 12),
            named("3", 13)
        ]
    );
    for (text, message) in [
        (
            [number("", 1), number("position = 2", 1)].concat(),
            "l.toml: line 7: there is no parameter at position 1; 2 is the next, at 2",
        ),
        (
            [
                number("name = \"a\"", 1),
                number("name = \"b\"\nposition = 0", 1),
            ]
            .concat(),
            "l.toml: line 7: a and b are both at position 0",
        ),
        (
            [number("name = \"a\"", 1), number("name = \"a\"", 1)].concat(),
            "l.toml: line 7: two parameters have the name a",
        ),
        (
            number("position = 4096", 1),
            "position 4096 is beyond the 4096",
        ),
        (number("position = -1", 1), "l.toml: line 6: invalid value"),
    ] {
        assert!(refused(&text).contains(message), "{}", refused(&text));
    }
}

#[test]
fn filled_buffers() {
    let bytes = |text: &str| buffer(text, &[]).unwrap();
    let zeros = bytes("type = \"u16\"\nshape = [2, 3]");
    assert_eq!(
        (zeros.shape.as_slice(), zeros.bytes.as_slice()),
        (&[2, 3][..], &[0; 12][..])
    );
    assert_eq!(
        bytes("type = \"u16\"\nshape = [2, 3]\nfill = \"zeros\""),
        zeros
    );
    assert_eq!(
        bytes("type = \"s32\"\nshape = [3]\nfill = \"iota\"").bytes,
        words(&[0, 1, 2])
    );
    assert_eq!(
        bytes("type = \"f16\"\nshape = [3]\nfill = \"iota\"").bytes,
        [0, 0, 0, 0x3c, 0, 0x40]
    );
    assert_eq!(
        bytes("type = \"s32\"\nvalues = [7, -1]").bytes,
        words(&[7, -1])
    );
    assert_eq!(bytes("type = \"s32\"\nvalues = [7, -1]").shape, [2]);
    assert_eq!(
        bytes("type = \"s32\"\nshape = [2, 1]\nvalues = [7, -1]").shape,
        [2, 1]
    );
    assert_eq!(bytes("type = \"s32\"\nshape = [0]").bytes, []);
}

#[test]
fn random_buffers() {
    let random = |rest: &str| {
        buffer(
            &format!("shape = [1000]\nfill = {{ random = 7 }}\n{rest}"),
            &[],
        )
        .unwrap()
    };
    let integers = |rest: &str| -> Vec<i32> {
        let bytes = random(&format!("type = \"s32\"\n{rest}")).bytes;
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| i32::from_le_bytes(*b))
            .collect()
    };
    let floats = |rest: &str| -> Vec<f64> {
        let bytes = random(&format!("type = \"f64\"\n{rest}")).bytes;
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| f64::from_le_bytes(*b))
            .collect()
    };
    let range = |numbers: &[i32]| (numbers.iter().min().copied(), numbers.iter().max().copied());
    assert_eq!(range(&integers("")), (Some(0), Some(99)));
    assert_eq!(range(&integers("low = -3\nhigh = 3")), (Some(-3), Some(3)));
    assert_eq!(range(&integers("low = 5\nhigh = 5")), (Some(5), Some(5)));
    let all = integers("low = -2147483648\nhigh = 2147483647");
    assert!(all.iter().any(|&n| n < -1 << 30) && all.iter().any(|&n| n > 1 << 30));
    assert!(floats("").iter().all(|n| (0.0..1.0).contains(n)));
    let wide = floats("low = -10\nhigh = 10.5");
    assert!(wide.iter().all(|n| (-10.0..10.5).contains(n)));
    assert!(wide.iter().any(|&n| n < -9.0) && wide.iter().any(|&n| n > 9.5));
    let other = buffer("type = \"s32\"\nshape = [1000]\nfill = { random = 8 }", &[]).unwrap();
    assert_ne!(other.bytes, random("type = \"s32\"").bytes);
    // The whole range of a type of 64 bits.
    random("type = \"u64\"\nlow = 0\nhigh = \"18446744073709551615\"");
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table: one row per refusal")]
fn refused_contents() {
    for (text, message) in [
        ("fill = \"ones\"", "line 5: unknown variant `ones`"),
        (
            "type = \"u8\"\nfill = \"iota\"",
            "line 6: parameter a: it is filled with iota, but has no shape",
        ),
        (
            "fill = \"iota\"",
            "line 3: parameter a: it has no type and no shape; give it both",
        ),
        (
            "shape = [1]",
            "line 5: parameter a: it has no type; type is one of u8, s8",
        ),
        (
            "type = \"u8\"",
            "line 3: parameter a: it is neither a number nor a buffer; give",
        ),
        (
            "type = \"u8\"\nshape = [257]\nfill = \"iota\"",
            "line 7: parameter a: 256 is no u8",
        ),
        (
            "type = \"f16\"\nshape = [65521]\nfill = \"iota\"",
            "65520 is no f16",
        ),
        ("type = \"u9\"", "line 5: unknown variant `u9`"),
        (
            "type = \"u8\"\nvalues = [1, 256]",
            "line 6: parameter a: values[1] is 256, which is no u8",
        ),
        (
            "type = \"u8\"\nvalues = [1]\nshape = [2]",
            "line 6: parameter a: 1 numbers for a buffer of 2",
        ),
        (
            "type = \"u8\"\nshape = [4294967295, 4294967295, 4294967295]",
            "line 6: parameter a: the buffers have more than 2147483648 bytes",
        ),
        (
            "type = \"u8\"\nshape = [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
            "shape has 33 numbers, at most 32",
        ),
        (
            "type = \"u8\"\nshape = [1]\nlow = 1",
            "line 7: parameter a: low goes with fill = { random = SEED } only",
        ),
        (
            "type = \"u8\"\nshape = [1]\nfill = \"iota\"\nhigh = 1",
            "line 8: parameter a: high goes",
        ),
        (
            "type = \"u8\"\nshape = [1]\nfill = { random = 1, low = 2 }",
            "line 7: ",
        ),
        (
            "type = \"u8\"\nshape = [1]\nfill = { random = 1 }\nhigh = 256",
            "256 is no bound of a random u8",
        ),
        (
            "type = \"u8\"\nshape = [1]\nfill = { random = 1 }\nlow = 1.5",
            "1.5 is no bound of a random u8",
        ),
        (
            "type = \"f32\"\nshape = [1]\nfill = { random = 1 }\nlow = nan",
            "NaN is no bound of a random f32",
        ),
        (
            "type = \"u8\"\nshape = [1]\nfill = { random = 1 }\nlow = 100",
            "nothing is between 100 and 99",
        ),
        (
            "type = \"f32\"\nshape = [1]\nfill = { random = 1 }\nhigh = -1",
            "nothing is between 0 and -1",
        ),
        (
            "type = \"u8\"\nvalue = 1\nshape = [1]",
            "line 7: parameter a: shape does not go with value",
        ),
        (
            "type = \"u8\"\nvalue = 1\nexpect = [1]",
            "line 7: parameter a: expect does not go with value",
        ),
        (
            "type = \"u8\"\nvalues = [1]\nfile = \"x\"",
            "line 7: parameter a: file does not go with values",
        ),
        (
            "type = \"u8\"\nshape = [1]\nfile = \"x\"\nraw = \"x\"",
            "line 8: parameter a: raw does not go with file",
        ),
        (
            "type = \"u8\"\nshape = [1]\noffset = 1",
            "line 7: parameter a: offset does not go with shape",
        ),
    ] {
        let said = buffer(text, &[]).expect_err(text);
        assert!(said.contains(message), "{message}: {said}");
    }
    // Together they exceed the limit, none of them alone.
    let large = "[[param]]\ntype = \"u8\"\nshape = [1073741825]\n";
    assert!(
        refused(&format!("{large}{large}"))
            .contains("line 8: parameter 1: the buffers have more than")
    );
}

#[test]
fn buffers_from_files() {
    let six = words(&[1, 2, 3, 4, 5, 6]);
    let files = [
        ("in/x.npy", npy(ElementType::S32, &[2, 3], six.clone())),
        ("x.bin", six.clone()),
        ("odd.bin", vec![0; 6]),
        ("text.npy", b"no numbers".to_vec()),
    ];
    let read = |text: &str| buffer(&format!("type = \"s32\"\n{text}"), &files);
    let array = read("file = \"in/x.npy\"").unwrap();
    assert_eq!((array.shape.as_slice(), &array.bytes), (&[2, 3][..], &six));
    assert_eq!(read("file = \"in/x.npy\"\nshape = [2, 3]").unwrap(), array);
    let raw = read("raw = \"x.bin\"").unwrap();
    assert_eq!((raw.shape.as_slice(), &raw.bytes), (&[6][..], &six));
    assert_eq!(
        read("raw = \"x.bin\"\nshape = [3, 2]").unwrap().shape,
        [3, 2]
    );
    for (text, message) in [
        (
            "file = \"y.npy\"",
            "l.toml: line 6: parameter a: y.npy: cannot be read: it is not there",
        ),
        (
            "file = \"in/x.npy\"\nshape = [6]",
            "l.toml: line 6: parameter a: in/x.npy: its shape is [2, 3], and the buffer has [6]; use reshape, or change the shape",
        ),
        (
            "file = \"text.npy\"",
            "l.toml: line 6: parameter a: text.npy: no NPY file; write it with numpy.save",
        ),
        (
            "raw = \"y.bin\"",
            "line 6: parameter a: y.bin: cannot be read",
        ),
        (
            "raw = \"odd.bin\"",
            "line 6: parameter a: odd.bin has 6 bytes, no multiple of the 4 of s32",
        ),
        (
            "raw = \"x.bin\"\nshape = [5]",
            "line 6: parameter a: x.bin has 6 numbers, the buffer 5",
        ),
        (
            "shape = [6]\nexpect = \"in/x.npy\"",
            "line 7: parameter a: in/x.npy: its shape is [2, 3]",
        ),
    ] {
        let said = read(text).expect_err(text);
        assert!(said.contains(message), "{message}: {said}");
    }
    let said = buffer("type = \"u32\"\nfile = \"in/x.npy\"", &files).unwrap_err();
    assert!(said.ends_with(
        "in/x.npy: its numbers are s32, and the buffer has u32; convert them with astype, or change the type"
    ), "{said}");
}

#[test]
fn expected_contents() {
    let files = [(
        "end.npy",
        npy(
            ElementType::F32,
            &[2],
            [1f32, f32::NAN].map(f32::to_le_bytes).concat(),
        ),
    )];
    let read = |text: &str| buffer(&format!("type = \"f32\"\nshape = [2]\n{text}"), &files);
    let end = [1f32, f32::NAN].map(f32::to_le_bytes).concat();
    let expected = |relative, absolute| Expected {
        bytes: end.clone(),
        relative,
        absolute,
    };
    assert_eq!(
        read("expect = \"end.npy\"").unwrap().expect,
        Some(expected(0.0, 0.0))
    );
    assert_eq!(
        read("expect = [1, nan]\nrelative = 1e-3\nabsolute = 2")
            .unwrap()
            .expect,
        Some(expected(1e-3, 2.0))
    );
    assert_eq!(
        read("output = \"out.npy\"").unwrap().output.as_deref(),
        Some("out.npy")
    );
}

#[test]
fn refused_expected_contents() {
    let read = |text: &str| buffer(&format!("type = \"f32\"\nshape = [2]\n{text}"), &[]);
    for (text, message) in [
        (
            "expect = [1]",
            "line 7: parameter a: 1 expected numbers for a buffer of 2",
        ),
        ("expect = [1, true]", "line 7: invalid type"),
        (
            "expect = 1",
            "line 7: invalid type: integer `1`, expected a list of numbers or the name of a file",
        ),
        (
            "expect = [1, 1e39]",
            "line 7: parameter a: expect[1] is 1e39, which is no f32",
        ),
        (
            "expect = \"other.npy\"",
            "line 7: parameter a: other.npy: cannot be read",
        ),
        (
            "relative = 0.5",
            "line 7: parameter a: relative has no effect without expect",
        ),
        (
            "absolute = 0.5",
            "line 7: parameter a: absolute has no effect without expect",
        ),
        (
            "expect = [1, 2]\nrelative = -0.5",
            "line 8: parameter a: relative is -0.5, not a number from 0 on",
        ),
        (
            "expect = [1, 2]\nabsolute = nan",
            "line 8: parameter a: absolute is NaN",
        ),
        (
            "output = \"out.bin\"",
            "line 7: parameter a: output is out.bin, which does not end in .npy",
        ),
    ] {
        let said = read(text).expect_err(text);
        assert!(said.contains(message), "{message}: {said}");
    }
    let said = buffer(
        "type = \"s32\"\nvalues = [1]\nexpect = [1]\nrelative = 0.5",
        &[],
    )
    .unwrap_err();
    assert!(
        said.contains("relative is for floats, not for s32"),
        "{said}"
    );
    let one = "[[param]]\ntype = \"u8\"\nshape = [1]\noutput = \"o.npy\"\n";
    let said = refused(&format!("{one}{one}"));
    assert!(
        said.contains("line 7: parameter 1: another one is written to o.npy"),
        "{said}"
    );
}

#[test]
fn shared_buffers() {
    let both = |rest: &str| {
        format!(
            "[[param]]\nname = \"b\"\nsame_as = \"a\"\n{rest}\n[[param]]\nname = \"a\"\ntype = \"s32\"\nshape = [4]\n"
        )
    };
    let same = |text: &str| params(text).swap_remove(0).1;
    assert_eq!(
        same(&both("")),
        ParamValue::Alias {
            buffer: 0,
            offset: 0
        }
    );
    assert_eq!(
        same(&both("offset = 16")),
        ParamValue::Alias {
            buffer: 0,
            offset: 16
        }
    );
    for (text, message) in [
        (both("offset = 17"), "line 3: parameter b: byte 17 is past the end of a, which has 16"),
        (both("type = \"s32\""), "line 6: parameter b: type does not go with same_as"),
        (both("expect = [1]"), "line 6: parameter b: expect does not go with same_as"),
        (
            "[[param]]\nname = \"b\"\nsame_as = \"a\"".to_owned(),
            "line 3: parameter b: there is no parameter a",
        ),
        (
            "[[param]]\nname = \"b\"\nsame_as = \"b\"".to_owned(),
            "parameter b: b is no buffer of its own",
        ),
        (
            "[[param]]\nname = \"b\"\nsame_as = \"a\"\n[[param]]\nname = \"a\"\ntype = \"u8\"\nvalue = 1".to_owned(),
            "parameter b: a is no buffer of its own",
        ),
    ] {
        assert!(refused(&text).contains(message), "{}", refused(&text));
    }
}

#[test]
fn numbers_that_may_vary() {
    let read = |text: &str| match params(&format!("[[param]]\n{text}")).as_slice() {
        [(_, ParamValue::Scalar { bytes, vary, .. })] => (bytes.clone(), *vary),
        other => panic!("{other:?}"),
    };
    let (bytes, vary) = read("type = \"s16\"\nvalue = 7\nvary = [-1, 2]");
    assert_eq!(bytes, [7, 0], "the launch itself has the value");
    let vary = vary.expect("it may vary");
    let number = |seed| match vary.bytes(seed).as_slice() {
        &[low, high] => i16::from_le_bytes([low, high]),
        other => panic!("{other:?}"),
    };
    let mut numbers: Vec<i16> = (0..100).map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers, [-1, 0, 1, 2]);
    assert_eq!(read("type = \"s16\"\nvalue = 7").1, None);
    for (text, message) in [
        (
            "value = 1\nvary = [2, 1]",
            "line 6: parameter 0: nothing is between 2 and 1",
        ),
        (
            "value = 1\nvary = [0, 256]",
            "256 is no bound of a random u8",
        ),
        (
            "value = 1\nvary = [0, 0.5]",
            "0.5 is no bound of a random u8",
        ),
        (
            "vary = [0, 1]",
            "line 5: parameter 0: vary needs a value, the one of this launch",
        ),
        ("shape = [2]\nvary = [0, 1]", "does not go with"),
    ] {
        let said = refused(&format!("[[param]]\ntype = \"u8\"\n{text}"));
        assert!(said.contains(message), "{said}");
    }
}

/// Addresses lie inside their object and point into an existing buffer.
#[test]
fn addresses_in_buffers_and_structures() {
    let head = "[[param]]\nname = \"s\"\nbytes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n\
        [[param]]\nname = \"n\"\ntype = \"s32\"\nvalue = 1\n\
        [[param]]\nname = \"a\"\ntype = \"u64\"\nshape = [4]\n\
        [[variable]]\nname = \"v\"\ntype = \"u64\"\nshape = [2]\n\
        [[buffer]]\nname = \"b\"\ntype = \"s32\"\nshape = [10]\n";
    let pointer = |keys: &str| format!("{head}[[pointer]]\n{keys}\n");
    let read = |keys: &str| {
        let launch = with_files(&format!("{HEAD}{}", pointer(keys)), &[]).expect("it can be read");
        launch.pointers[0]
    };
    let one = read("in = \"s\"\noffset = 8\nto = \"b\"");
    assert_eq!((one.location, one.buffer), (PointerLocation::Param(0), 1));
    assert_eq!(one.addresses().collect::<Vec<_>>(), [(8, 0)]);
    let many = read("in = \"a\"\nto = \"b\"\nto_offset = 8\ncount = 4\nto_step = 4");
    assert_eq!(
        (many.location, many.buffer),
        (PointerLocation::Buffer(0), 1)
    );
    assert_eq!(
        many.addresses().collect::<Vec<_>>(),
        [(0, 8), (8, 12), (16, 16), (24, 20)]
    );
    // One byte past the end is the address of an empty array.
    let last = read("in = \"v\"\nto = \"a\"\nto_offset = 32\ncount = 1\nstep = 16");
    assert_eq!(
        (last.location, last.buffer),
        (PointerLocation::Variable(0), 0)
    );
    for (keys, message) in [
        (
            "in = \"x\"\nto = \"b\"",
            "pointer in x: nothing of this name holds addresses",
        ),
        (
            "in = \"n\"\nto = \"b\"",
            "pointer in n: nothing of this name holds addresses",
        ),
        (
            "in = \"a\"\nto = \"v\"",
            "pointer in a: there is no buffer v",
        ),
        (
            "in = \"a\"\nto = \"s\"",
            "pointer in a: there is no buffer s",
        ),
        (
            "in = \"s\"\noffset = 9\nto = \"b\"",
            "no space for 1 of 8 bytes: s has 16",
        ),
        (
            "in = \"s\"\noffset = 18446744073709551615\nto = \"b\"",
            "no space",
        ),
        (
            "in = \"a\"\nto = \"b\"\ncount = 5",
            "no space for 5 of 8 bytes: a has 32",
        ),
        (
            "in = \"a\"\nto = \"b\"\ncount = 0",
            "there must be one at least",
        ),
        (
            "in = \"a\"\nto = \"b\"\ncount = 2\nstep = 4",
            "8 bytes for each",
        ),
        (
            "in = \"a\"\nto = \"b\"\nto_offset = 41",
            "it points past the end of b, which has 40 bytes",
        ),
        (
            "in = \"a\"\nto = \"b\"\ncount = 3\nto_step = 21",
            "it points past the end of b",
        ),
        ("in = \"a\"\nto = \"b\"\nat = 3", "unknown field `at`"),
    ] {
        let said = refused(&pointer(keys));
        assert!(said.contains(message), "{said}");
        assert!(said.starts_with("l.toml: line "), "{said}");
    }
}
