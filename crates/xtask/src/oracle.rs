//! `cargo xtask oracle`: fetch the third-party tools that serve as oracles.
//!
//! Most are members of public Python wheels, pinned by version and SHA-256 and downloaded with pip. The versions
//! matter: nvdisasm 12.4 and NVRTC 12.9 are among the last that support Maxwell, Pascal and Volta (13.0 dropped sm_50
//! to sm_72); NVRTC 11.8 is the last that supports texture references; NVRTC 13.5 knows GPUs that 12.9 does not. The assembler of LLVM 14 is a package of Debian;
//! what it prints for GCN3 is the reference.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask oracle [--libraries] [--llvm-22] [--force]

Downloads wheels with pip, pinned by version and SHA-256, and unpacks
  oracle/bin/  nvdisasm, cuobjdump, ptxas (CUDA 12.4) and fatbinary (CUDA 13.0)
  oracle/bin/cu13/  nvdisasm and cuobjdump (CUDA 13.5)
  oracle/lib/  the NVRTC libraries (CUDA 13.5, 12.9 and 11.8)
  oracle/bin/zig  clang and lld 22.1.8 with the target AMDGPU, in one program (ziglang 0.17.1)
Makes oracle/bin/llvm-mc-14 start LLVM's assembler and disassembler 14: the installed one, or that of the packages
llvm-14 and libllvm14, which apt-get downloads and dpkg unpacks into oracle/llvm-14.
The folder is ignored by git; the tools stay under their own licences. Linux on x86-64 only.

  --libraries   also libraries with kernels for Maxwell to Blackwell, into oracle/libraries (2.1 GB to download,
                3.3 GB unpacked): cuFFT 10.9.0.58, cuSOLVER 11.4.1.48, cuSPARSE 11.7.5.86; and into the folders
                cu11 and cu12 below it cuBLAS and cuBLASLt 11.10.3.66 and 12.4.5.8, NCCL 2.21.5, cuRAND
                10.3.0.86 and 10.3.5.147, and into wide cuSPARSE 12.5.10.65, cuRAND 10.4.5.25, nvJPEG 13.3.2.43
  --llvm-22     also oracle/bin/llvm-mc-22, as a second opinion (packages llvm-22 and libllvm22)
  --force       download again even if everything is there";

/// A wheel and the members that are unpacked.
struct Wheel {
    requirement: &'static str,
    sha256: &'static str,
    /// Path inside the wheel, path below `oracle/`, executable.
    members: &'static [(&'static str, &'static str, bool)],
}

const WHEELS: &[Wheel] = &[
    Wheel {
        requirement: "triton==3.1.0",
        sha256: "0f34f6e7885d1bf0eaaf7ba875a5f0ce6f3c13ba98f9503651c1e6dc6757ed5c",
        members: &[
            ("triton/backends/nvidia/bin/nvdisasm", "bin/nvdisasm", true),
            (
                "triton/backends/nvidia/bin/cuobjdump",
                "bin/cuobjdump",
                true,
            ),
            ("triton/backends/nvidia/bin/ptxas", "bin/ptxas", true),
        ],
    },
    // The wheels of CUDA 12 contain no fatbinary.
    Wheel {
        requirement: "nvidia-cuda-nvcc==13.0.88",
        sha256: "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
        members: &[("nvidia/cu13/bin/fatbinary", "bin/fatbinary", true)],
    },
    // Releases from 13.0 on know no GPU before sm_75.
    Wheel {
        requirement: "ziglang==0.17.1",
        sha256: "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
        members: &[("ziglang/zig", "bin/zig", true)],
    },
    Wheel {
        requirement: "nvidia-cuda-nvrtc-cu12==12.9.86",
        sha256: "210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4",
        members: &[
            (
                "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "lib/libnvrtc.so.12",
                false,
            ),
            // Loaded by libnvrtc.so.12 from its own directory.
            (
                "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.9",
                "lib/libnvrtc-builtins.so.12.9",
                false,
            ),
        ],
    },
    Wheel {
        requirement: "nvidia-cuda-nvrtc==13.5.37",
        sha256: "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc",
        members: &[
            (
                "nvidia/cu13/lib/libnvrtc.so.13",
                "lib/libnvrtc.so.13",
                false,
            ),
            // Loaded by libnvrtc.so.13 from its own directory.
            (
                "nvidia/cu13/lib/libnvrtc-builtins.so.13.5",
                "lib/libnvrtc-builtins.so.13.5",
                false,
            ),
        ],
    },
    // These tools know sm_75 to sm_121, and the tools of CUDA 12.4 know sm_50 to sm_90.
    Wheel {
        requirement: "nvidia-cuda-nvdisasm==13.5.37",
        sha256: "d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca",
        members: &[("nvidia/cu13/bin/nvdisasm", "bin/cu13/nvdisasm", true)],
    },
    Wheel {
        requirement: "nvidia-cuda-cuobjdump==13.5.37",
        sha256: "38780fee50863252a0b8926357faa91615ca1c8346490563f33a06100cd73f58",
        members: &[("nvidia/cu13/bin/cuobjdump", "bin/cu13/cuobjdump", true)],
    },
    Wheel {
        requirement: "nvidia-cuda-nvrtc-cu11==11.8.89",
        sha256: "a8d02f3cba345be56b1ffc3e74d8f61f02bb758dd31b0f20e12277a5a244f756",
        members: &[
            (
                "nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2",
                "lib/libnvrtc.so.11.2",
                false,
            ),
            // Loaded by libnvrtc.so.11.2 from its own directory.
            (
                "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.11.8",
                "lib/libnvrtc-builtins.so.11.8",
                false,
            ),
        ],
    },
];

/// NVIDIA's libraries with kernels for Maxwell and Pascal, and for Turing to Blackwell.
const LIBRARIES: &[Wheel] = &[
    Wheel {
        requirement: "nvidia-cufft-cu11==10.9.0.58",
        sha256: "e21037259995243cc370dd63c430d77ae9280bedb68d5b5a18226bfc92e5d748",
        members: &[(
            "nvidia/cufft/lib/libcufft.so.10",
            "libraries/libcufft.so.10",
            false,
        )],
    },
    Wheel {
        requirement: "nvidia-cusolver-cu11==11.4.1.48",
        sha256: "ea9fb1ad8c644ca9ed55af13cc39af3b7ba4c3eb5aef18471fe1fe77d94383cb",
        members: &[
            (
                "nvidia/cusolver/lib/libcusolver.so.11",
                "libraries/libcusolver.so.11",
                false,
            ),
            (
                "nvidia/cusolver/lib/libcusolverMg.so.11",
                "libraries/libcusolverMg.so.11",
                false,
            ),
        ],
    },
    Wheel {
        requirement: "nvidia-cusparse-cu11==11.7.5.86",
        sha256: "8d7cf1628fd8d462b5d2ba6678fae34733a48ecb80495b9c68672ec6a6dde5ef",
        members: &[(
            "nvidia/cusparse/lib/libcusparse.so.11",
            "libraries/libcusparse.so.11",
            false,
        )],
    },
    Wheel {
        requirement: "nvidia-cublas-cu11==11.10.3.66",
        sha256: "d32e4d75f94ddfb93ea0a5dda08389bcc65d8916a25cb9f37ac89edaeed3bded",
        members: &[
            (
                "nvidia/cublas/lib/libcublas.so.11",
                "libraries/cu11/libcublas.so.11",
                false,
            ),
            (
                "nvidia/cublas/lib/libcublasLt.so.11",
                "libraries/cu11/libcublasLt.so.11",
                false,
            ),
        ],
    },
    Wheel {
        requirement: "nvidia-cublas-cu12==12.4.5.8",
        sha256: "2fc8da60df463fdefa81e323eef2e36489e1c94335b5358bcb38360adf75ac9b",
        members: &[
            (
                "nvidia/cublas/lib/libcublas.so.12",
                "libraries/cu12/libcublas.so.12",
                false,
            ),
            (
                "nvidia/cublas/lib/libcublasLt.so.12",
                "libraries/cu12/libcublasLt.so.12",
                false,
            ),
        ],
    },
    Wheel {
        requirement: "nvidia-nccl-cu11==2.21.5",
        sha256: "49d8350629c7888701d1fd200934942671cb5c728f49acc5a0b3a768820bed29",
        members: &[(
            "nvidia/nccl/lib/libnccl.so.2",
            "libraries/cu11/libnccl.so.2",
            false,
        )],
    },
    Wheel {
        requirement: "nvidia-nccl-cu12==2.21.5",
        sha256: "8579076d30a8c24988834445f8d633c697d42397e92ffc3f63fa26766d25e0a0",
        members: &[(
            "nvidia/nccl/lib/libnccl.so.2",
            "libraries/cu12/libnccl.so.2",
            false,
        )],
    },
    Wheel {
        requirement: "nvidia-curand-cu11==10.3.0.86",
        sha256: "cd4cffbf78bb06580206b4814d5dc696d1161c902aae37b2bba00056832379e6",
        members: &[(
            "nvidia/curand/lib/libcurand.so.10",
            "libraries/cu11/libcurand.so.10",
            false,
        )],
    },
    Wheel {
        requirement: "nvidia-curand-cu12==10.3.5.147",
        sha256: "a88f583d4e0bb643c49743469964103aa59f7f708d862c3ddb0fc07f851e3b8b",
        members: &[(
            "nvidia/curand/lib/libcurand.so.10",
            "libraries/cu12/libcurand.so.10",
            false,
        )],
    },
    Wheel {
        requirement: "nvidia-cusparse-cu12==12.5.10.65",
        sha256: "73060ce019ac064a057267c585bf1fd5a353734151f87472ff02b2c5c9984e78",
        members: &[(
            "nvidia/cusparse/lib/libcusparse.so.12",
            "libraries/wide/libcusparse.so.12",
            false,
        )],
    },
    Wheel {
        requirement: "nvidia-curand==10.4.5.25",
        sha256: "22bb226a857e5888fe6b54ae465fc4371296bcff13a35f79e19691bcf454f529",
        members: &[(
            "nvidia/cu13/lib/libcurand.so.10",
            "libraries/wide/libcurand.so.10",
            false,
        )],
    },
    Wheel {
        requirement: "nvidia-nvjpeg==13.3.2.43",
        sha256: "27f9c4a25a73f1d1ad35c342c8d657c8ff43e23877f338ef15fb2602ac2e5aa8",
        members: &[(
            "nvidia/cu13/lib/libnvjpeg.so.13",
            "libraries/wide/libnvjpeg.so.13",
            false,
        )],
    },
];

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut force, mut libraries) = (false, false);
    let mut assemblers = vec!["14"];
    for argument in arguments {
        match argument.as_str() {
            "--force" => force = true,
            "--libraries" => libraries = true,
            "--llvm-22" => assemblers.push("22"),
            other => bail!("unknown argument {other:?}"),
        }
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("the oracle tools exist for Linux on x86-64 only");
    }
    let oracle = repository.oracle();
    let more = if libraries { LIBRARIES } else { &[] };
    for wheel in WHEELS.iter().chain(more) {
        let complete = wheel
            .members
            .iter()
            .all(|(_, to, _)| oracle.join(to).is_file());
        if complete && !force {
            println!("{} is already unpacked", wheel.requirement);
            continue;
        }
        fetch(wheel, &oracle).with_context(|| format!("fetching {}", wheel.requirement))?;
        println!("{} unpacked into {}", wheel.requirement, oracle.display());
    }
    for version in assemblers {
        assembler(version, &oracle, force)
            .with_context(|| format!("the assembler of LLVM {version}"))?;
    }
    Ok(())
}

/// Makes `oracle/bin/llvm-mc-VERSION` start the assembler of this version of LLVM.
fn assembler(version: &str, oracle: &Path, force: bool) -> anyhow::Result<()> {
    // The script has an absolute path.
    fs::create_dir_all(oracle.join("bin")).context("cannot create oracle/bin")?;
    let oracle = oracle.canonicalize().context("oracle/ is unreadable")?;
    let own = oracle.join(format!("bin/llvm-mc-{version}"));
    if own.is_file() && !force {
        println!("llvm-mc-{version} is already there");
        return Ok(());
    }
    let installed = Path::new("/usr/lib").join(format!("llvm-{version}"));
    let folder = match installed.join("bin/llvm-mc").is_file() {
        true => installed,
        false => {
            let unpacked = oracle.join(format!("llvm-{version}"));
            unpack_packages(version, &unpacked)?;
            unpacked.join("usr/lib").join(format!("llvm-{version}"))
        }
    };
    // The library is next to the folder of the version.
    let libraries = [
        folder.join("lib"),
        folder.with_file_name("x86_64-linux-gnu"),
    ];
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH={}:{} exec {} \"$@\"\n",
        libraries[0].display(),
        libraries[1].display(),
        folder.join("bin/llvm-mc").display(),
    );
    fs::write(&own, script).with_context(|| format!("cannot write {}", own.display()))?;
    make_executable(&File::open(&own)?).context("cannot make it executable")?;
    println!("llvm-mc-{version} starts {}", folder.display());
    Ok(())
}

/// Downloads and unpacks Debian's packages of a version of LLVM.
fn unpack_packages(version: &str, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let packages = [format!("llvm-{version}"), format!("libllvm{version}")];
    let mut download = Command::new("apt-get");
    download.arg("download").args(&packages).current_dir(folder);
    if !download.status().context("cannot start apt-get")?.success() {
        bail!(
            "apt-get cannot download {}; does `apt-get update` help?",
            packages.join(" and ")
        );
    }
    for package in crate::repository::files_with_extension(folder, "deb")? {
        let mut unpack = Command::new("dpkg");
        unpack.arg("-x").arg(&package).arg(folder);
        if !unpack.status().context("cannot start dpkg")?.success() {
            bail!("dpkg cannot unpack {}", package.display());
        }
        fs::remove_file(&package).context("cannot remove the package")?;
    }
    Ok(())
}

/// Downloads one wheel into a scratch folder, unpacks its members and removes the wheel again.
fn fetch(wheel: &Wheel, oracle: &Path) -> anyhow::Result<()> {
    let scratch = oracle.join("download");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).context("cannot empty oracle/download")?;
    }
    fs::create_dir_all(&scratch).context("cannot create oracle/download")?;
    // pip accepts hashes only in a requirements file.
    let requirements = scratch.join("requirements.txt");
    fs::write(
        &requirements,
        format!("{} --hash=sha256:{}\n", wheel.requirement, wheel.sha256),
    )
    .context("cannot write the requirements file")?;
    let status = Command::new("python3")
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ])
        .args(["--only-binary=:all:", "--require-hashes"])
        .args([
            "--implementation",
            "cp",
            "--python-version",
            "3.11",
            "--platform",
            "manylinux2014_x86_64",
        ])
        .arg("--dest")
        .arg(&scratch)
        .arg("--requirement")
        .arg(&requirements)
        .status()
        .context("cannot start python3")?;
    if !status.success() {
        bail!("pip download failed ({status})");
    }
    let files = crate::repository::files_with_extension(&scratch, "whl")?;
    let [file] = files.as_slice() else {
        bail!("pip left {} wheels where one was expected", files.len());
    };
    unpack(file, wheel, oracle)?;
    fs::remove_dir_all(&scratch).context("cannot remove oracle/download")
}

fn unpack(file: &Path, wheel: &Wheel, oracle: &Path) -> anyhow::Result<()> {
    let mut archive =
        zip::ZipArchive::new(File::open(file)?).context("the wheel is not a readable zip file")?;
    for (from, to, executable) in wheel.members {
        let to = oracle.join(to);
        let mut member = archive
            .by_name(from)
            .with_context(|| format!("the wheel has no {from}"))?;
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot create {}", parent.display()))?;
        }
        let mut out =
            File::create(&to).with_context(|| format!("cannot write {}", to.display()))?;
        io::copy(&mut member, &mut out).with_context(|| format!("cannot unpack {from}"))?;
        if *executable {
            make_executable(&out)
                .with_context(|| format!("cannot make {} executable", to.display()))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}
