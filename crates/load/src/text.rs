//! Files of mini-SIMT text: several kernels, each from its `.kernel` line to the next. Only these lines and comments
//! are recognised here; the crate for instruction sets parses the instructions.

use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::{CodeAddr, Diagnostic};

use crate::image::{Image, Linkage};
use crate::kernel::Kernel;
use warpbound_base::Isa;

/// Splits a file into kernels.
pub(crate) fn parse(file: &Bytes) -> Result<Image, Diagnostic> {
    let mut image = Image {
        isa: Isa::MiniSimt,
        linkage: Linkage::Executable,
        kernel_names: Vec::new(),
        kernels: Vec::new(),
        refused: Vec::new(),
        device_functions: Vec::new(),
        others: Vec::new(),
        variables: Vec::new(),
        other_attributes: Vec::new(),
        loaded_file: None,
        warnings: Vec::new(),
    };
    // Name, first line and offset of the current kernel.
    let mut open: Option<(Arc<str>, u32, usize)> = None;
    let mut offset = 0;
    for (number, line) in (1u32..).zip(file.split_inclusive(|&byte| byte == b'\n')) {
        let fault = |message: String| Diagnostic::new(message).at(format_args!("line {number}"));
        // A comment may contain `.kernel`.
        let code = line.split(|&byte| byte == b';').next().unwrap_or(line);
        let mut words = code
            .split(|byte| byte.is_ascii_whitespace())
            .filter(|word| !word.is_empty());
        match words.next() {
            Some(b".kernel") => {
                let name = words.next().and_then(|name| std::str::from_utf8(name).ok());
                // Names are printed in messages of one line.
                let name = name.filter(|name| !name.contains(char::is_control));
                let (Some(name), None) = (name, words.next()) else {
                    return Err(fault("a .kernel line has one name".to_owned()));
                };
                let known = image.kernel_names.iter().any(|known| **known == *name);
                if known || open.as_ref().is_some_and(|(known, ..)| **known == *name) {
                    return Err(fault(format!("second kernel {name}")));
                }
                if let Some((name, first_line, start)) = open.replace((name.into(), number, offset))
                {
                    close(&mut image, file, name, first_line, start, offset);
                }
            }
            Some(_) if open.is_none() => {
                return Err(
                    fault("the file does not begin with a .kernel line".to_owned())
                        .hint("`.kernel NAME` precedes the instructions of a kernel"),
                );
            }
            _ => {}
        }
        offset += line.len();
    }
    match open {
        Some((name, first_line, start)) => {
            close(&mut image, file, name, first_line, start, offset);
        }
        None => {
            let lines = file.split(|&byte| byte == b'\n').count();
            let nothing = Diagnostic::new("there is no kernel up to the end of the file");
            return Err(nothing
                .at(format_args!("line {lines}"))
                .hint("`.kernel NAME` precedes the instructions of a kernel"));
        }
    }
    Ok(image)
}

/// Adds the kernel from offset `start` to `end`.
fn close(
    image: &mut Image,
    file: &Bytes,
    name: Arc<str>,
    first_line: u32,
    start: usize,
    end: usize,
) {
    image.kernel_names.push(Arc::clone(&name));
    image.kernels.push(Kernel {
        name,
        entry: CodeAddr(0),
        file_offset: start as u64,
        // Messages about an instruction add its line in the kernel to this.
        first_line,
        code: file.slice(start..end),
        ..Kernel::default()
    });
}
