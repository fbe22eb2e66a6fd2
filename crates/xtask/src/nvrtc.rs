//! Thin wrapper of NVIDIA's run-time compiler (NVRTC), from CUDA source to cubin.

#![allow(
    unsafe_code,
    reason = "the only module of the workspace that calls a C library"
)]

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr;

use anyhow::{Context, bail};
use libloading::{Library, Symbol};

/// `nvrtcProgram`: an opaque pointer.
type Program = *mut std::ffi::c_void;

type CreateProgram = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type CompileProgram = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type DestroyProgram = unsafe extern "C" fn(*mut Program) -> c_int;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type GetBytes = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

/// Releases of the compiler in `oracle/lib`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Release {
    /// Release 11.8, the last with texture references.
    Cuda11,
    /// Release 12.9, the last for Maxwell and Pascal.
    Cuda12,
    /// Release 13.5, for Turing and later.
    Cuda13,
}

/// The loaded library.
pub(crate) struct Nvrtc {
    library: Library,
}

/// Result of a compilation.
pub(crate) struct Compiled {
    /// The cubin.
    pub(crate) cubin: Vec<u8>,
    /// Messages of the compiler; empty if there are none.
    pub(crate) log: String,
}

impl Nvrtc {
    /// Loads a compiler from `directory`.
    pub(crate) fn load(directory: &Path, release: Release) -> anyhow::Result<Self> {
        let path = directory.join(match release {
            Release::Cuda11 => "libnvrtc.so.11.2",
            Release::Cuda12 => "libnvrtc.so.12",
            Release::Cuda13 => "libnvrtc.so.13",
        });
        if !path.is_file() {
            bail!(
                "{} is missing; `cargo xtask oracle` fetches it",
                path.display()
            );
        }
        // SAFETY: the file is the pinned NVRTC library; its initialisers have no preconditions.
        let library = unsafe { Library::new(&path) }
            .with_context(|| format!("cannot load {}", path.display()))?;
        Ok(Self { library })
    }

    /// Compiles `source` under the file name `name`, which appears in line tables and messages. The line table also
    /// contains the current directory of the process.
    ///
    /// # Errors
    ///
    /// The compiler rejects the source; the error contains its log.
    pub(crate) fn compile(
        &self,
        source: &str,
        name: &str,
        options: &[String],
    ) -> anyhow::Result<Compiled> {
        let source = CString::new(source).context("the source holds a NUL byte")?;
        let name = CString::new(name).context("the name holds a NUL byte")?;
        let options: Vec<CString> = options
            .iter()
            .map(|o| CString::new(o.as_str()))
            .collect::<Result<_, _>>()
            .context("an option holds a NUL byte")?;
        let options: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let option_count = c_int::try_from(options.len()).context("too many options")?;

        // SAFETY: nvrtc.h 11.8, 12.9 and 13.5 declare these types for these names.
        let (create, compile, destroy) = unsafe {
            (
                self.symbol::<CreateProgram>(b"nvrtcCreateProgram\0")?,
                self.symbol::<CompileProgram>(b"nvrtcCompileProgram\0")?,
                self.symbol::<DestroyProgram>(b"nvrtcDestroyProgram\0")?,
            )
        };
        let mut program: Program = ptr::null_mut();
        // SAFETY: `source` and `name` are NUL-terminated and live; zero headers, so null lists are allowed.
        let code = unsafe {
            create(
                &mut program,
                source.as_ptr(),
                name.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        if code != 0 {
            bail!("nvrtcCreateProgram failed with code {code}");
        }
        // SAFETY: `program` was created above; `options` points to `option_count` live C strings.
        let code = unsafe { compile(program, option_count, options.as_ptr()) };
        let log = self.bytes(
            program,
            b"nvrtcGetProgramLogSize\0",
            b"nvrtcGetProgramLog\0",
        );
        let cubin = if code == 0 {
            Some(self.bytes(program, b"nvrtcGetCUBINSize\0", b"nvrtcGetCUBIN\0"))
        } else {
            None
        };
        // SAFETY: `program` was created above and is not used afterwards.
        unsafe { destroy(&mut program) };

        let log = String::from_utf8_lossy(&log?)
            .trim_end_matches('\0')
            .trim()
            .to_owned();
        match cubin {
            Some(cubin) => Ok(Compiled { cubin: cubin?, log }),
            None => bail!("rejected with code {code}:\n{log}"),
        }
    }

    /// Reads one of the program's outputs through its pair of size and content functions.
    fn bytes(
        &self,
        program: Program,
        size_name: &[u8],
        content_name: &[u8],
    ) -> anyhow::Result<Vec<u8>> {
        // SAFETY: callers pass names of functions that have these two types in nvrtc.h.
        let (get_size, get) = unsafe {
            (
                self.symbol::<GetSize>(size_name)?,
                self.symbol::<GetBytes>(content_name)?,
            )
        };
        let mut size = 0usize;
        // SAFETY: `program` is alive, `size` is writable.
        let code = unsafe { get_size(program, &mut size) };
        if code != 0 {
            bail!("reading the size of a result failed with code {code}");
        }
        let mut bytes = vec![0u8; size];
        // SAFETY: the buffer has exactly the size that the library requested.
        let code = unsafe { get(program, bytes.as_mut_ptr().cast()) };
        if code != 0 {
            bail!("reading a result failed with code {code}");
        }
        Ok(bytes)
    }

    /// Looks up a function of the library.
    ///
    /// # Safety
    ///
    /// `T` must be the type that the function called `name` has in nvrtc.h.
    unsafe fn symbol<T>(&self, name: &[u8]) -> anyhow::Result<Symbol<'_, T>> {
        // SAFETY: promised by the caller.
        unsafe { self.library.get(name) }.context("the NVRTC library lacks an expected function")
    }
}
