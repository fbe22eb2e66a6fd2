//! `cargo xtask launches`: launch files of our own kernels, with the results that the references expect.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, bail, ensure};
use warpbound_launch::{
    ElementType, ImageBinding, LaunchBuffer, LaunchFile, LaunchParam, LaunchPointer, NpyArray,
    ParamValue, PointerLocation, StartCaches, TextureBinding,
};
use warpbound_testkit::kernels;

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask launches [--check]

Writes the first three launches of each kernel that has a reference in crates/testkit/src/kernels into
  kernels/launches/SOURCE.KERNEL.N.toml, and the contents of buffers at start and end into NPY files next to it
Launches whose NPY files exceed 64 kB together are left out, and named.

  --check   write nothing; fail if a file is missing, differs, or belongs to no launch";

/// Number of launches of each kernel.
const LAUNCHES: u64 = 3;

/// Maximum size of the NPY files of a launch, in bytes.
const MAX_BYTES: usize = 64_000;

/// Contents of files, by name.
type Files = BTreeMap<String, Vec<u8>>;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let check = match arguments {
        [] => false,
        [only] if only == "--check" => true,
        _ => bail!("the only argument is --check"),
    };
    let (mut files, mut launches) = (Files::new(), 0);
    for reference in kernels::all()
        .into_iter()
        .chain(kernels::of_nvrtc_11_8())
        .chain(kernels::gcn3_launches())
    {
        for number in 0..LAUNCHES {
            let name = format!(
                "{}.{}.{number}",
                reference.source,
                file_name_of_kernel(reference.kernel)
            );
            let launch = (reference.launch)(number);
            let own = launch_files(&name, reference.kernel, &launch)?;
            let bytes: usize = own
                .iter()
                .filter(|(name, _)| name.ends_with(".npy"))
                .map(|(_, contents)| contents.len())
                .sum();
            if bytes > MAX_BYTES {
                println!("{name} is left out: {bytes} bytes");
                continue;
            }
            launches += 1;
            for (file, contents) in own {
                ensure!(
                    files.insert(file.clone(), contents).is_none(),
                    "two launches are called {file}"
                );
            }
        }
    }
    let folder = repository.launches();
    fs::create_dir_all(&folder).context("cannot create kernels/launches")?;
    let mut present = BTreeSet::new();
    for entry in fs::read_dir(&folder).context("cannot list kernels/launches")? {
        let name = entry.context("cannot list kernels/launches")?.file_name();
        present.insert(name.to_string_lossy().into_owned());
    }
    let mut problems = Vec::new();
    for (name, contents) in &files {
        let path = folder.join(name);
        if !check {
            fs::write(&path, contents).with_context(|| format!("cannot write {name}"))?;
        } else if !present.contains(name) {
            problems.push(format!("{name} is missing"));
        } else if fs::read(&path).ok().as_ref() != Some(contents) {
            problems.push(format!("{name} differs from its reference"));
        }
    }
    for name in present.iter().filter(|name| !files.contains_key(*name)) {
        if check {
            problems.push(format!("{name} belongs to no launch"));
        } else {
            fs::remove_file(folder.join(name)).with_context(|| format!("cannot remove {name}"))?;
        }
    }
    if !problems.is_empty() {
        let count = problems.len();
        bail!("{count} of kernels/launches: {}", problems.join(", "));
    }
    let done = if check { "are up to date" } else { "written" };
    println!("{launches} launches {done}");
    Ok(())
}

/// Returns a kernel's name as part of a file name: `reduction_int_256` of `void reduction<int, 256>(const int*)`.
fn file_name_of_kernel(kernel: &str) -> String {
    let name = kernel.strip_prefix("void ").unwrap_or(kernel);
    let name = name.split('(').next().unwrap_or(name);
    let words = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("_")
}

/// Returns the files of a launch, and checks that parsing them gives the same launch.
fn launch_files(name: &str, kernel: &str, launch: &LaunchFile) -> anyhow::Result<Files> {
    let mut files = Files::new();
    let mut text = format!("kernel = {}\n", toml_string(kernel));
    writeln!(text, "grid = {:?}\nblock = {:?}", launch.grid, launch.block)?;
    if launch.dynamic_shared > 0 {
        writeln!(text, "dynamic_shared = {}", launch.dynamic_shared)?;
    }
    if let Some(stack) = launch.stack {
        writeln!(text, "stack = {stack}")?;
    }
    if launch.caches == StartCaches::Warm {
        writeln!(text, "caches = \"warm\"")?;
    }
    for param in &launch.params {
        write_param(name, param, launch, &mut text, &mut files)?;
    }
    for variable in &launch.variables {
        writeln!(
            text,
            "\n[[variable]]\nname = {}",
            toml_string(&variable.name)
        )?;
        write_buffer(
            name,
            &variable.name,
            &variable.buffer,
            &mut text,
            &mut files,
        )?;
    }
    for texels in &launch.texels {
        writeln!(text, "\n[[buffer]]\nname = {}", toml_string(&texels.name))?;
        write_buffer(name, &texels.name, &texels.buffer, &mut text, &mut files)?;
    }
    for texture in &launch.textures {
        write_texture(texture, launch, &mut text)?;
    }
    for surface in &launch.surfaces {
        writeln!(text, "\n[[surface]]")?;
        write_image(surface, surface.kind.name(), launch, &mut text)?;
    }
    for pointer in &launch.pointers {
        write_pointer(pointer, launch, &mut text)?;
    }
    let file = format!("{name}.toml");
    let read = |name: &str| {
        let found = files.get(name).cloned();
        found.ok_or_else(|| warpbound_base::Diagnostic::new("not written"))
    };
    let again = LaunchFile::parse(&launch.file, &text, &read)?;
    let same = LaunchFile {
        kernel: Some(kernel.to_owned()),
        ..launch.clone()
    };
    ensure!(
        again == same,
        "{file} differs from its reference when it is read"
    );
    files.insert(file, text.into_bytes());
    Ok(files)
}

fn write_param(
    name: &str,
    param: &LaunchParam,
    launch: &LaunchFile,
    text: &mut String,
    files: &mut Files,
) -> anyhow::Result<()> {
    writeln!(text, "\n[[param]]\nname = {}", toml_string(&param.name))?;
    match &param.value {
        ParamValue::Scalar {
            element: Some(element),
            bytes,
            ..
        } => {
            let value = toml_number(*element, bytes);
            writeln!(text, "type = \"{element}\"\nvalue = {value}")?;
        }
        ParamValue::Scalar {
            element: None,
            bytes,
            ..
        } => writeln!(text, "bytes = {bytes:?}")?,
        ParamValue::Alias { buffer, offset } => {
            let (other, _) = launch.buffers().nth(*buffer).context("no such buffer")?;
            writeln!(text, "same_as = {}", toml_string(other))?;
            if *offset > 0 {
                writeln!(text, "offset = {offset}")?;
            }
        }
        ParamValue::Texture(number) => {
            let texture = launch.textures.get(*number).context("no such texture")?;
            writeln!(text, "texture = {}", toml_string(&texture.image.name))?;
        }
        ParamValue::Surface(number) => {
            let surface = launch.surfaces.get(*number).context("no such surface")?;
            writeln!(text, "surface = {}", toml_string(&surface.name))?;
        }
        ParamValue::Buffer(buffer) => write_buffer(name, &param.name, buffer, text, files)?,
    }
    Ok(())
}

fn write_pointer(
    pointer: &LaunchPointer,
    launch: &LaunchFile,
    text: &mut String,
) -> anyhow::Result<()> {
    let buffer = |number: usize| launch.buffers().nth(number).map(|(name, _)| name);
    let holder = match pointer.location {
        PointerLocation::Param(position) => launch.params.get(position).map(|p| p.name.as_str()),
        PointerLocation::Buffer(number) => buffer(number),
        PointerLocation::Variable(number) => launch.variables.get(number).map(|v| v.name.as_str()),
    };
    let holder = holder.context("no object contains the pointer")?;
    writeln!(text, "\n[[pointer]]\nin = {}", toml_string(holder))?;
    writeln!(text, "offset = {}", pointer.offset)?;
    let to = buffer(pointer.buffer).context("no such buffer")?;
    writeln!(
        text,
        "to = {}\nto_offset = {}",
        toml_string(to),
        pointer.to_offset
    )?;
    if pointer.count > 1 {
        let LaunchPointer {
            count,
            step,
            to_step,
            ..
        } = pointer;
        writeln!(text, "count = {count}\nstep = {step}\nto_step = {to_step}")?;
    }
    Ok(())
}

fn write_texture(
    texture: &TextureBinding,
    launch: &LaunchFile,
    text: &mut String,
) -> anyhow::Result<()> {
    writeln!(text, "\n[[texture]]")?;
    let kind = match texture.linear_memory {
        true => "linear",
        false => texture.image.kind.name(),
    };
    write_image(&texture.image, kind, launch, text)?;
    if texture.normalized_read {
        writeln!(text, "read = \"normalized\"")?;
    }
    if texture.linear_filter {
        writeln!(text, "filter = \"linear\"")?;
    }
    if !texture.linear_memory {
        let axes = texture.image.sizes().len() - usize::from(kind.ends_with("-layered"));
        let modes = texture.address.iter().take(axes);
        let modes: Vec<&str> = modes.map(|mode| mode.name()).collect();
        writeln!(text, "address = {modes:?}")?;
    }
    if texture.normalized_coordinates {
        writeln!(text, "normalized_coordinates = true")?;
    }
    Ok(())
}

fn write_image(
    image: &ImageBinding,
    kind: &str,
    launch: &LaunchFile,
    text: &mut String,
) -> anyhow::Result<()> {
    let buffer = launch.buffers().nth(image.buffer);
    let (texels, _) = buffer.context("no such buffer")?;
    writeln!(
        text,
        "name = {}\ntexels = {}",
        toml_string(&image.name),
        toml_string(texels)
    )?;
    writeln!(text, "kind = \"{kind}\"\nsize = {:?}", image.sizes())?;
    if image.channels != 1 {
        writeln!(text, "channels = {}", image.channels)?;
    }
    Ok(())
}

fn write_buffer(
    launch: &str,
    own: &str,
    buffer: &LaunchBuffer,
    text: &mut String,
    files: &mut Files,
) -> anyhow::Result<()> {
    writeln!(text, "type = \"{}\"", buffer.element)?;
    let mut file = |end: &str, bytes: &[u8]| {
        let name = format!("{launch}.{own}{end}.npy");
        let array = NpyArray {
            element: buffer.element,
            shape: buffer.shape.clone(),
            bytes: bytes.to_owned(),
        };
        files.insert(name.clone(), array.to_npy());
        toml_string(&name)
    };
    let start = match buffer.bytes.iter().all(|&byte| byte == 0) {
        true => {
            writeln!(text, "shape = {:?}", buffer.shape)?;
            None
        }
        false => {
            let name = file("", &buffer.bytes);
            writeln!(text, "file = {name}")?;
            Some(name)
        }
    };
    if let Some(expect) = &buffer.expect {
        let name = match start {
            Some(name) if expect.bytes == buffer.bytes => name,
            _ => file(".end", &expect.bytes),
        };
        writeln!(text, "expect = {name}")?;
        for (key, tolerance) in [("relative", expect.relative), ("absolute", expect.absolute)] {
            if tolerance != 0.0 {
                writeln!(text, "{key} = {tolerance:?}")?;
            }
        }
    }
    Ok(())
}

/// Returns a number as TOML that reads as the same bytes.
fn toml_number(element: ElementType, bytes: &[u8]) -> String {
    match element.to_f64(bytes) {
        Some(value) if value.is_finite() => format!("{value:?}"),
        Some(value) if value.is_nan() => "\"nan\"".to_owned(),
        Some(value) => format!("\"{value}\""),
        None if element == ElementType::U64 => toml_string(&element.format_value(bytes)),
        None => element.format_value(bytes),
    }
}

/// Returns a TOML string.
fn toml_string(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", c as u32),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}
