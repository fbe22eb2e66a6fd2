//! Paths in the repository.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// Checkout on which a command works.
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Finds the nearest directory at or above the current one that contains `kernels/cuda` and `Cargo.lock`.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("the current directory cannot be read")?;
        here.ancestors()
            .find(|dir| dir.join("kernels/cuda").is_dir() && dir.join("Cargo.lock").is_file())
            .map(|root| Self {
                root: root.to_path_buf(),
            })
            .context("not inside a checkout of warpbound")
    }

    /// Absolute path of the top directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Directory of the sources of our own kernels.
    pub(crate) fn kernel_sources(&self) -> PathBuf {
        self.root.join("kernels/cuda")
    }

    /// Directory of the sources with tensor cores, which `kernels --tensor` builds.
    pub(crate) fn tensor_sources(&self) -> PathBuf {
        self.root.join("kernels/tensor")
    }

    /// Directory of the sources of our own kernels for GCN3.
    pub(crate) fn gcn3_sources(&self) -> PathBuf {
        self.root.join("kernels/gcn3")
    }

    /// Directory of the cubins and code objects built from both.
    pub(crate) fn built_kernels(&self) -> PathBuf {
        self.root.join("kernels/built")
    }

    /// Directory of the cubins of some of them for GPUs with instructions of 128 bits.
    pub(crate) fn wide_kernels(&self) -> PathBuf {
        self.root.join("kernels/wide")
    }

    /// Directory of the changes of sources, and the cubins built with them; see the command `rebuilt`.
    pub(crate) fn rebuilt_kernels(&self) -> PathBuf {
        self.root.join("kernels/rebuilt")
    }

    /// Directory of their launch files, with expected results.
    pub(crate) fn launches(&self) -> PathBuf {
        self.root.join("kernels/launches")
    }

    /// Launch files of kernels for NVIDIA's GPUs, sorted by name: launches whose source is in `kernels/cuda`. Kernels
    /// for GCN3 that compute the same have the same launches.
    pub(crate) fn cuda_launches(&self) -> anyhow::Result<Vec<PathBuf>> {
        self.launches_of(|source| self.kernel_sources().join(format!("{source}.cu")))
    }

    /// Launch files of kernels that are built for GCN3, sorted by name.
    pub(crate) fn gcn3_launches(&self) -> anyhow::Result<Vec<PathBuf>> {
        self.launches_of(|source| self.built_kernels().join(format!("{source}.gfx803.co")))
    }

    /// Folders whose launches and code are in the same folder as their sources: kernels as other authors write them.
    pub(crate) fn folders_beside(&self) -> [PathBuf; 2] {
        ["plain", "practice"].map(|folder| self.root.join("kernels").join(folder))
    }

    /// Launch files of CUDA kernels in these folders, sorted by name.
    pub(crate) fn launches_beside(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for folder in self.folders_beside() {
            files.extend(files_with_extension(&folder, "toml")?);
        }
        files.retain(|file| file.with_extension("cu").is_file());
        Ok(files)
    }

    /// Launch files of the sources for which a file exists.
    fn launches_of(&self, file_of: impl Fn(&str) -> PathBuf) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = files_with_extension(&self.launches(), "toml")?;
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            file_of(name.split('.').next().unwrap_or_default()).is_file()
        });
        Ok(files)
    }

    /// Directory of the kernels of random expressions; see the command `expressions`.
    pub(crate) fn expressions(&self) -> PathBuf {
        self.root.join("kernels/expressions")
    }

    /// Directory of third-party tools, which are never committed; see the command `oracle`.
    pub(crate) fn oracle(&self) -> PathBuf {
        self.root.join("oracle")
    }
}

/// Returns the files directly in `dir` with the extension, sorted by name.
pub(crate) fn files_with_extension(dir: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let path = entry
            .with_context(|| format!("cannot list {}", dir.display()))?
            .path();
        if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
