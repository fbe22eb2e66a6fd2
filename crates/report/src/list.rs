//! Reports of `list`: the images of a file and the kernels of an image.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::left_out::LeftOutImages;
use crate::table::{Align, counted, table};

/// Report of `list` about a file, as one JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct ListReport {
    /// Always `warpbound.list/1`.
    pub schema: &'static str,
    /// The file as the user named it.
    pub file: String,
    /// `cubin`, `code object`, `fat binary`, `offload bundle`, `host file`, `archive`, `text`.
    pub kind: &'static str,
    /// Selected images, or all images without a selection.
    pub images: Vec<ListedImage>,
    /// Images for unsupported architectures, if kernels are listed by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutImages>,
}

impl ListReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.list/1";
}

/// Image, with its kernels if they were requested.
#[derive(Clone, Debug, Serialize)]
pub struct ListedImage {
    /// Entry of the directory.
    #[serde(flatten)]
    pub image: ImageSummary,
    /// Kernels; `None` if only the directory was requested.
    pub contents: Option<FileReport>,
}

/// Kernels of an image.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The file as the user named it.
    pub file: String,
    /// Architecture, as [`Isa`](warpbound_base::Isa) prints it: `gfx803`.
    pub isa: String,
    /// Whether the image is linked. If not, calls and addresses may still be missing.
    pub linked: bool,
    /// Reason why the kernels cannot be read.
    pub refused: Option<String>,
    /// Reason why calls and loops are not counted, though the kernels can be listed; else absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<String>,
    /// Kernels.
    pub kernels: Vec<KernelSummary>,
    /// Contents that are not kernels, as text.
    pub others: Vec<String>,
    /// Sections that are counted and not read; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedSummary>,
    /// Defects of the file that do not affect its code.
    pub warnings: Vec<String>,
}

/// Sections of one kind that are not read.
#[derive(Clone, Debug, Serialize)]
pub struct SkippedSummary {
    /// `Mercury code and its metadata`, `compatibility records`, `notes`.
    pub what: &'static str,
    /// Number of the sections.
    pub sections: usize,
    /// Sum of their sizes in bytes.
    pub bytes: u64,
}

/// Summary of a kernel.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KernelSummary {
    /// Demangled name.
    pub name: String,
    /// Name in the symbol table.
    pub symbol: String,
    /// Instructions of the code section, including functions after the kernel and padding.
    pub instructions: usize,
    /// General registers per thread.
    pub registers: u32,
    /// Static shared memory in bytes; unknown in relocatable files.
    pub shared: Option<u32>,
    /// Bytes of shared memory before these that belong to the system; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub reserved_shared: u32,
    /// Stack frame of a thread in local memory, in bytes.
    pub local: Option<u32>,
    /// Constant memory with contents in the file, in bytes.
    pub constant: u64,
    /// Kernel parameters: their number and their size in bytes.
    pub parameters: (usize, u64),
    /// Barriers.
    pub barriers: u32,
    /// Call instructions; `None` if instructions cannot be decoded.
    pub calls: Option<usize>,
    /// Loops; `None` if the control flow cannot be followed.
    pub loops: Option<usize>,
    /// Required number of threads of a block in x, y, z.
    pub required_block: Option<[u32; 3]>,
    /// Required number of blocks of a cluster in x, y, z; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_cluster: Option<[u32; 3]>,
    /// Reason why the control flow cannot be followed.
    pub refused: Option<String>,
    /// Facts that a code object for an AMD GPU states; absent for other kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_object: Option<CodeObjectSummary>,
}

/// Facts that a code object states about a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct CodeObjectSummary {
    /// `v2` to `v6`.
    pub version: String,
    /// VGPRs allocated for a work-item.
    pub vector_registers: u32,
    /// SGPRs allocated for a wave.
    pub scalar_registers: u32,
    /// Scratch of a work-item in bytes.
    pub scratch: u32,
    /// Size of all arguments in bytes, including hidden ones.
    pub kernarg: u32,
    /// Hidden arguments.
    pub hidden: usize,
}

/// Directory of a file with many images.
#[derive(Clone, Debug, Serialize)]
pub struct Directory {
    /// The file as the user named it.
    pub file: String,
    /// `fat binary`, `offload bundle`, `host file`, `archive`.
    pub kind: &'static str,
    /// Images of the file.
    pub images: Vec<ImageSummary>,
}

/// Summary of an image.
#[derive(Clone, Debug, Serialize)]
pub struct ImageSummary {
    /// Number of the image, from 1.
    pub number: usize,
    /// `cubin`, `PTX`.
    pub kind: String,
    /// Architecture, as [`Isa`](warpbound_base::Isa) prints it.
    pub isa: String,
    /// Whether the image is machine code that warpbound can bound.
    pub supported: bool,
    /// Whether the image is machine code whose kernels can be listed.
    #[serde(skip)]
    pub listed: bool,
    /// Whether the image is machine code whose kernels can be disassembled.
    #[serde(skip)]
    pub decoded: bool,
    /// Whether kernels can be run. Not in JSON.
    #[serde(skip)]
    pub runs: bool,
    /// Whether kernels can be measured and rewritten, too. Not in JSON.
    #[serde(skip)]
    pub measured: bool,
    /// Bytes in the file.
    pub stored: u64,
    /// Bytes after decompression.
    pub size: u64,
    /// `plain`, `lz4`, `zstd`.
    pub packing: String,
    /// Archive member that contains the image.
    pub member: Option<String>,
    /// Number of the image where the same kernels are linked, if they are not linked here. Queries then leave this
    /// image out unless it is selected by number.
    pub linked_in: Option<usize>,
}

impl ImageSummary {
    /// Returns what queries can do with the image, if that is not all.
    fn note(&self) -> &'static str {
        match (self.supported, self.decoded, self.listed) {
            (true, ..) if self.measured => "",
            (true, ..) if self.runs => {
                "kernels can be bounded, run and predicted, neither measured nor rewritten"
            }
            (true, ..) => "kernels can be bounded in instructions, not run",
            (false, true, _) => "kernels can be listed or disassembled, not bounded",
            (false, false, true) => "kernels can be listed, not disassembled",
            (false, false, false) => "not supported",
        }
    }
}

/// Number of an architecture of NVIDIA, so that sm_100 follows sm_90; 0 for others.
fn sm_number(isa: &str) -> u32 {
    let name = isa.strip_prefix("sm_").unwrap_or_default();
    name.trim_end_matches(char::is_alphabetic)
        .parse()
        .unwrap_or(0)
}

/// Whether a number is left out of JSON.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Directory {
    /// Returns a table by kind and architecture, and one line for each image whose kernels can be listed.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{}  {}, {}\n",
            self.file,
            self.kind,
            counted(self.images.len(), "image")
        );
        let mut sums: BTreeMap<(&str, u32, &str), (usize, u64, &str)> = BTreeMap::new();
        for image in &self.images {
            // A file may have many images, so each kind and architecture has one row.
            let key = (&*image.kind, sm_number(&image.isa), &*image.isa);
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + 1, sum.1 + image.size, image.note());
        }
        let heads = ["images", "bytes", "kind", "isa", ""];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        for ((kind, _, isa), (count, size, note)) in sums {
            rows.push(vec![
                count.to_string(),
                size.to_string(),
                kind.to_owned(),
                isa.to_owned(),
                note.to_owned(),
            ]);
        }
        let columns = [
            Align::Right,
            Align::Right,
            Align::Left,
            Align::Left,
            Align::Left,
        ];
        out.push_str(&table(2, &columns, &rows));
        let heads = ["image", "isa", "bytes", "stored", "as", "member", ""];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        for image in self.images.iter().filter(|image| image.listed) {
            rows.push(vec![
                image.number.to_string(),
                image.isa.clone(),
                image.size.to_string(),
                image.stored.to_string(),
                image.packing.clone(),
                image.member.clone().unwrap_or_default(),
                image.linked_in.map_or(String::new(), |linked| {
                    format!("not linked: a copy of image {linked}")
                }),
            ]);
        }
        // Otherwise the kernels of no image can be listed, and the table has heads alone.
        if rows.len() > 1 {
            let columns = [
                Align::Right,
                Align::Left,
                Align::Right,
                Align::Right,
                Align::Left,
                Align::Left,
                Align::Left,
            ];
            out.push('\n');
            out.push_str(&table(2, &columns, &rows));
            out.push_str("\n--image N lists the kernels of an image, --arch sm_NN the kernels for an architecture, --kernel K the kernels of a name\n");
        }
        out
    }
}

impl FileReport {
    /// Returns one line for each kernel, with column heads.
    pub fn text(&self) -> String {
        let state = if self.linked { "" } else { ", not linked" };
        let mut out = format!("{}  {}{state}\n", self.file, self.isa);
        if self.refused.is_some() {
            // The reason is already printed as a diagnostic.
            for kernel in &self.kernels {
                out.push_str(&format!("  {}\n", kernel.name));
            }
            return out;
        }
        out.push_str(&self.kernel_table());
        out.push_str(&self.notes());
        if self.kernels.iter().any(|k| k.refused.is_some()) {
            out.push_str("\nnot followed:\n");
        }
        for k in &self.kernels {
            if let Some(why) = &k.refused {
                out.push_str(&format!("  {}: {why}\n", k.name));
            }
        }
        if !self.others.is_empty() {
            out.push_str("\nalso in the file:\n");
        }
        for other in &self.others {
            out.push_str(&format!("  {other}\n"));
        }
        if !self.skipped.is_empty() {
            let bytes = |of: &SkippedSummary| {
                let sections = counted(of.sections, "section");
                format!("{} ({sections}, {} bytes)", of.what, of.bytes)
            };
            let all: Vec<String> = self.skipped.iter().map(bytes).collect();
            out.push_str(&format!("\nnot read: {}\n", all.join(", ")));
        }
        for warning in &self.warnings {
            out.push_str(&format!("warning: {warning}\n"));
        }
        out
    }

    /// Returns what columns of the table leave out.
    fn notes(&self) -> String {
        let mut out = String::new();
        let reserved = self.kernels.iter().map(|k| k.reserved_shared).max();
        if let Some(bytes) = reserved.filter(|bytes| *bytes > 0) {
            out.push_str(&format!(
                "shared: without the {bytes} bytes of each block that belong to the system\n"
            ));
        }
        if let Some(why) = &self.uncounted {
            out.push_str(&format!("calls, loops: not counted, {why}\n"));
        }
        out
    }

    /// Returns the table of the kernels.
    fn kernel_table(&self) -> String {
        // Kernels of AMD's GPUs have other resources, so they have another table.
        if self.kernels.iter().any(|k| k.code_object.is_some()) {
            return self.code_object_table();
        }
        // Few kernels require a size of clusters, so its column is there only for them.
        let has_clusters = self.kernels.iter().any(|k| k.required_cluster.is_some());
        let mut heads = vec![
            "instr", "regs", "shared", "local", "const", "params", "bars", "calls", "loops",
            "block",
        ];
        heads.extend(has_clusters.then_some("cluster"));
        heads.push("kernel");
        let mut columns = vec![Align::Right; heads.len()];
        if let Some(last) = columns.last_mut() {
            *last = Align::Left;
        }
        let mut rows = vec![heads.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        let size = |size: Option<[u32; 3]>| match size {
            Some([x, y, z]) => format!("{x},{y},{z}"),
            None => "-".to_owned(),
        };
        for k in &self.kernels {
            let or_unknown = |n: Option<u32>| n.map_or("?".to_owned(), |n| n.to_string());
            let mut row = vec![
                k.instructions.to_string(),
                k.registers.to_string(),
                or_unknown(k.shared),
                k.local.unwrap_or(0).to_string(),
                k.constant.to_string(),
                format!("{}/{}", k.parameters.0, k.parameters.1),
                k.barriers.to_string(),
                k.calls.map_or("-".to_owned(), |n| n.to_string()),
                // Without a graph the number of loops is not known.
                k.loops.map_or("-".to_owned(), |n| n.to_string()),
                size(k.required_block),
            ];
            row.extend(has_clusters.then(|| size(k.required_cluster)));
            row.push(k.name.clone());
            rows.push(row);
        }
        table(0, &columns, &rows)
    }

    /// Returns the table of the kernels of a code object.
    fn code_object_table(&self) -> String {
        let heads = [
            "instr", "vgprs", "sgprs", "lds", "scratch", "kernarg", "params", "hidden", "calls",
            "loops", "block", "code", "kernel",
        ];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        for k in &self.kernels {
            // A refused kernel has no facts.
            let fact = |fact: fn(&CodeObjectSummary) -> String| {
                k.code_object.as_ref().map_or("-".to_owned(), fact)
            };
            rows.push(vec![
                k.instructions.to_string(),
                fact(|o| o.vector_registers.to_string()),
                fact(|o| o.scalar_registers.to_string()),
                k.shared.map_or("-".to_owned(), |n| n.to_string()),
                fact(|o| o.scratch.to_string()),
                fact(|o| o.kernarg.to_string()),
                format!("{}/{}", k.parameters.0, k.parameters.1),
                fact(|o| o.hidden.to_string()),
                k.calls.map_or("-".to_owned(), |n| n.to_string()),
                k.loops.map_or("-".to_owned(), |n| n.to_string()),
                k.required_block
                    .map_or("-".to_owned(), |[x, y, z]| format!("{x},{y},{z}")),
                fact(|o| o.version.clone()),
                k.name.clone(),
            ]);
        }
        let mut columns = [Align::Right; 13];
        columns[12] = Align::Left;
        table(0, &columns, &rows)
    }
}
