//! Functions in code sections of their own, and sizes that files do not know.

use warpbound_base::CodeAddr;
use warpbound_load::Image;

use crate::support::foreign;

#[test]
fn a_called_function_follows_the_code_of_the_kernel() {
    let image = Image::parse(&foreign("linked_functions.cubin")).expect("a cubin");
    let kernel = image.kernel("mix").expect("it is there");
    let [function] = image.device_functions() else {
        panic!("one function");
    };
    let own = kernel.own_section();
    assert_eq!((own.code().len(), function.code().len()), (0x140, 0x640));
    assert_eq!(kernel.code(), [own.code(), function.code()].concat());
    let [joined] = kernel.joined.as_slice() else {
        panic!("{:?}", kernel.joined);
    };
    assert_eq!(
        (&*joined.name, joined.start),
        ("_Z5blendffi", CodeAddr(0x140))
    );
    let starts: Vec<(&str, u32)> = kernel
        .functions
        .iter()
        .map(|function| (&*function.name, function.start.0))
        .collect();
    assert_eq!(starts, [("mix", 0), ("_Z5blendffi", 0x140)]);
    // The call leads to the function; relocations of the function are where its code is.
    let call = &kernel.relocations[0];
    assert_eq!(
        (call.offset, call.symbol.in_code),
        (0xc8, Some(CodeAddr(0x140)))
    );
    let offsets: Vec<u32> = kernel.relocations.iter().map(|r| r.offset).collect();
    assert_eq!(offsets, [0xc8, 0x1c8, 0x1d0, 0x698, 0x6b0]);
    assert!(kernel.ends_section(CodeAddr(0x138)) && !kernel.ends_section(CodeAddr(0x140)));
    for (address, file) in [(0x8, "tu1.cu"), (0x148, "tu2.cu")] {
        let line = kernel.source_line(CodeAddr(address)).expect("a line");
        assert!(line.file.ends_with(file), "{line}");
    }
    assert_ne!(kernel.code_digest(), own.code_digest());
}

#[test]
fn kernels_have_the_registers_of_the_functions_that_they_call() {
    let file = foreign("unlinked_copy.fatbin");
    let starts: Vec<usize> = (0..file.len() - 4)
        .filter(|&at| file[at..].starts_with(b"\x7fELF"))
        .collect();
    let [unlinked, linked] = starts.as_slice() else {
        panic!("{starts:?}");
    };
    let linked = Image::parse(&file[*linked..]).expect("a cubin");
    let kernel = linked.kernel("dbl").expect("it is there");
    assert_eq!((kernel.registers, kernel.joined.len()), (44, 3));
    assert!(linked.warnings().is_empty(), "{:?}", linked.warnings());
    // Before the linker has merged the literals of the functions, their code is not that of the kernel.
    let unlinked = Image::parse(&file[*unlinked..]).expect("a cubin");
    let kernel = unlinked.kernel("dbl").expect("it is there");
    assert_eq!((kernel.registers, kernel.joined.len()), (32, 0));
    let why = unlinked.warnings().first().map(ToString::to_string);
    assert!(
        why.as_ref()
            .is_some_and(|why| why.contains("has a constant bank of its own")),
        "{why:?}"
    );
}

/// Offset of a record of the file's attributes, by its first eight bytes.
fn record(file: &[u8], head: [u8; 8]) -> usize {
    let found = file.windows(8).position(|bytes| bytes == head);
    found.expect("the record")
}

#[test]
fn a_size_that_is_not_known_is_no_number() {
    let mut file = foreign("recursive_stack.cubin");
    let image = Image::parse(&file).expect("a cubin");
    let kernel = image.kernel("rec").expect("it is there");
    assert!(kernel.has_unknown_stack);
    assert_eq!(kernel.min_stack_size, None);
    // MIN_STACK_SIZE of symbol 5 with another value: the size is known.
    let words = [0x04, 0x12, 0x08, 0x00];
    let at = file
        .windows(12)
        .position(|bytes| bytes.starts_with(&words) && bytes[8..] == [0xff; 4])
        .expect("the record");
    file[at + 8..at + 12].copy_from_slice(&64u32.to_le_bytes());
    let image = Image::parse(&file).expect("a cubin");
    let kernel = image.kernel("rec").expect("it is there");
    assert_eq!(
        (kernel.has_unknown_stack, kernel.min_stack_size),
        (false, Some(64))
    );
}

#[test]
fn a_size_stated_twice_is_the_larger_one() {
    let mut file = foreign("linked_functions.cubin");
    let image = Image::parse(&file).expect("a cubin");
    let symbol = 12u8;
    assert_eq!(
        image.kernel("mix").expect("it is there").min_stack_size,
        Some(0)
    );
    // The record of FRAME_SIZE becomes a second one of MIN_STACK_SIZE.
    let at = record(&file, [0x04, 0x11, 0x08, 0x00, symbol, 0, 0, 0]);
    file[at + 1] = 0x12;
    file[at + 8] = 0x40;
    let image = Image::parse(&file).expect("a cubin");
    let kernel = image.kernel("mix").expect("it is there");
    assert_eq!(kernel.min_stack_size, Some(0x40));
}
