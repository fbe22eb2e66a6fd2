//! `cargo xtask containers`: containers of cubins (fat binaries, objects, archives) for the tests of `load`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask containers

Packs cubins of kernels/built and of crates/load/tests/data with NVIDIA's fatbinary 13.0 (see `oracle`), and the
results with gcc and ar, into crates/load/tests/data/containers:
  plain.fatbin, lz4.fatbin, zstd.fatbin   two cubins and a PTX text, with different compression
  host.o           an object file with one of them
  relocatable.o    an object file with relocatable device code
  host.so          a shared object with two containers in one section
  host.a           an archive of a text file and the two object files";

/// Names and `--compress-mode` of the fat binaries.
const MODES: [(&str, &str); 3] = [("plain", "none"), ("lz4", "speed"), ("zstd", "size")];

const PTX: &str = "\
.version 7.0
.target sm_61
.address_size 64
.visible .entry nothing() { ret; }
";

/// Declarations of NVIDIA's header `fatbinary_section.h` that the output of `fatbinary` needs.
const PRELUDE: &str = "\
#define __SKIP_INTERNAL_FATBINARY_HEADERS
typedef struct { int magic; int version; const void *data; void *name; } __fatBinC_Wrapper_t;
";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    if let Some(other) = arguments.first() {
        bail!("unknown argument {other:?}");
    }
    let data = repository.root().join("crates/load/tests/data");
    let out = data.join("containers");
    fs::create_dir_all(&out)?;
    let scratch = tempfile::tempdir()?;
    let at = |name: &str| scratch.path().join(name).display().to_string();
    fs::write(at("nothing.ptx"), PTX)?;
    fs::write(at("notes.txt"), "An archive may hold anything.\n")?;
    let built = |name: &str| repository.built_kernels().join(name).display().to_string();
    let images = [
        format!("kind=elf,sm=61,file={}", built("if_else.sm_61.cubin")),
        format!("kind=elf,sm=62,file={}", built("vote.sm_62.cubin")),
        format!("kind=ptx,sm=61,file={}", at("nothing.ptx")),
    ];
    let relocatable = data.join("features_relocatable.sm_61.cubin");
    let relocatable = [format!("kind=elf,sm=61,file={}", relocatable.display())];

    let fatbinary = repository.oracle().join("bin/fatbinary");
    let pack = |name: &str, mode: &str, images: &[String], linked: bool| {
        let mut command = Command::new(&fatbinary);
        command.args(["-64", "--compress-all", "--compress-mode", mode]);
        if !linked {
            command.arg("--device-c");
        }
        command.args(images.iter().map(|image| format!("--image3={image}")));
        command.args(["--create", &at(&format!("{name}.fatbin"))]);
        command.args(["--embedded-fatbin", &at(&format!("{name}.inc"))]);
        run_tool(&mut command)?;
        let included = fs::read_to_string(at(&format!("{name}.inc")))?;
        // Two of them are linked into one shared object, so their symbols must differ.
        let unique = included.replace("fatbinData", &format!("fatbinData_{name}"));
        fs::write(at(&format!("{name}.c")), format!("{PRELUDE}{unique}"))?;
        let mut gcc = Command::new("gcc");
        gcc.args(["-c", "-fPIC", "-O1"])
            .arg(at(&format!("{name}.c")));
        run_tool(gcc.arg("-o").arg(at(&format!("{name}.o"))))
    };
    for (name, mode) in MODES {
        pack(name, mode, &images, true)?;
        fs::copy(
            at(&format!("{name}.fatbin")),
            out.join(format!("{name}.fatbin")),
        )?;
    }
    pack("relocatable", "speed", &relocatable, false)?;
    for (from, to) in [("zstd.o", "host.o"), ("relocatable.o", "relocatable.o")] {
        fs::copy(at(from), out.join(to))?;
    }
    let shared = out.join("host.so");
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-nostdlib", "-o"]).arg(&shared);
    run_tool(gcc.args([at("zstd.o"), at("lz4.o")]))?;
    let archive = out.join("host.a");
    let _ = fs::remove_file(&archive);
    let mut ar = Command::new("ar");
    ar.arg("rcsD").arg(&archive);
    run_tool(ar.args([at("notes.txt"), at("zstd.o"), at("relocatable.o")]))?;
    report(&out)
}

fn run_tool(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| {
        format!("cannot start {name}; `cargo xtask oracle` fetches NVIDIA's tools")
    })?;
    if !status.success() {
        bail!("{name} failed ({status})");
    }
    Ok(())
}

fn report(out: &Path) -> anyhow::Result<()> {
    let mut names: Vec<_> = fs::read_dir(out)?.collect::<Result<_, _>>()?;
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let size = entry.metadata()?.len();
        println!("{:>8}  {}", size, entry.file_name().to_string_lossy());
    }
    Ok(())
}
