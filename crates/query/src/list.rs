//! Directory of a file and kernels of an image.

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::loops::Loops;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::Diagnostic;
use warpbound_ir::{Code, ControlEffect, lift_flow};
use warpbound_load::{
    CodeObjectKernel, ContainerKind, FatbinEntry, Kernel, Linkage, NamePattern, OtherKind,
    RefusedKernel, SkippedKind,
};
use warpbound_report::list::{
    CodeObjectSummary, Directory, FileReport, ImageSummary, KernelSummary, SkippedSummary,
};

use crate::own_code::own_ops;
use crate::prepared::Prepared;
use crate::{CodeKind, Library, Session};

impl Library {
    /// Lists the images of the file; loads them only to find copies that are not linked.
    pub fn directory(&self) -> Directory {
        let copies = self.unlinked_copies();
        let summary = |(number, entry): (usize, &FatbinEntry)| ImageSummary {
            number,
            kind: entry.kind.to_string(),
            isa: entry.isa.to_string(),
            supported: entry.kind.is_code() && entry.isa.is_supported(),
            listed: entry.kind.is_code() && entry.isa.has_readable_metadata(),
            decoded: entry.kind.is_code() && entry.isa.is_decoded(),
            runs: entry.kind.is_code() && entry.isa.is_run(),
            measured: entry.kind.is_code() && entry.isa.check_measured().is_ok(),
            stored: entry.packed_size,
            size: entry.size,
            packing: entry.packing.to_string(),
            member: entry.member.as_ref().map(ToString::to_string),
            linked_in: copies
                .iter()
                .find(|copy| copy.image == number)
                .map(|copy| copy.linked),
        };
        Directory {
            file: self.file.clone(),
            kind: match self.library.container() {
                ContainerKind::Cubin => "cubin",
                ContainerKind::CodeObject => "code object",
                ContainerKind::FatBinary => "fat binary",
                ContainerKind::OffloadBundle => "offload bundle",
                ContainerKind::Host => "host file",
                ContainerKind::Archive => "archive",
                ContainerKind::Text => "text",
            },
            images: (1..).zip(self.library.entries()).map(summary).collect(),
        }
    }
}

/// Summarises the facts that a code object states about a kernel.
fn code_object_summary(object: &CodeObjectKernel) -> CodeObjectSummary {
    CodeObjectSummary {
        version: object.version.to_string(),
        vector_registers: object.descriptor.vector_registers().into(),
        scalar_registers: object.descriptor.scalar_registers().into(),
        scratch: object.descriptor.private_segment,
        kernarg: object.kernarg_size,
        hidden: object
            .args
            .iter()
            .filter(|arg| arg.kind.is_hidden())
            .count(),
    }
}

/// Summarises the metadata of a kernel. Its instructions are those that its size implies.
fn stated_summary(kernel: &Kernel) -> KernelSummary {
    KernelSummary {
        name: kernel.demangled(),
        symbol: kernel.name.to_string(),
        instructions: kernel.instruction_slots().unwrap_or(0),
        registers: kernel.registers.into(),
        shared: kernel.static_shared,
        reserved_shared: kernel.reserved_shared,
        local: kernel.frame_size.or(kernel.min_stack_size),
        constant: kernel.banks.iter().map(|b| b.bytes().len() as u64).sum(),
        parameters: (
            kernel.params.len(),
            kernel.params.iter().map(|p| u64::from(p.size)).sum(),
        ),
        barriers: kernel.barriers.into(),
        required_block: kernel.required_block,
        required_cluster: kernel.required_cluster,
        code_object: kernel.code_object.as_ref().map(code_object_summary),
        ..KernelSummary::default()
    }
}

/// Summarises a kernel whose parts are damaged.
fn refused_summary(kernel: &RefusedKernel) -> KernelSummary {
    KernelSummary {
        name: kernel.demangled(),
        symbol: kernel.name.to_string(),
        refused: Some(kernel.error.to_string()),
        calls: Some(0),
        ..KernelSummary::default()
    }
}

impl Session {
    /// Lists the kernels of the file; of an unsupported architecture what their metadata states, or only their names.
    pub fn list(&self) -> FileReport {
        self.list_matching(None)
    }

    /// Like [`Session::list`], with only the kernels that a name fits best.
    pub fn list_matching(&self, name: Option<&NamePattern>) -> FileReport {
        let mut report = FileReport {
            file: self.file.clone(),
            isa: self.image.isa().to_string(),
            linked: self.image.linkage() == Linkage::Executable,
            refused: None,
            uncounted: None,
            kernels: Vec::new(),
            others: self.others(),
            skipped: self.skipped(),
            warnings: self
                .image
                .warnings()
                .iter()
                .map(ToString::to_string)
                .collect(),
        };
        // Calls and loops follow from the control flow, which is known only where kernels are analysed.
        let analysed = self.image.isa().check_supported();
        match self.image.kernels() {
            _ if analysed.is_err() && self.image.isa().has_readable_metadata() => {
                report.uncounted = analysed.err().map(|why| why.to_string());
                report.kernels = self.stated_kernels(name);
            }
            Ok(kernels) => {
                let selected = self.find(name, CodeKind::Kernels).unwrap_or_default();
                report.kernels = selected
                    .into_iter()
                    .filter_map(|index| match kernels.get(index) {
                        Some(kernel) => Some(self.summary(kernel)),
                        // Positions after the readable kernels are of refused ones.
                        None => self.refused_at(index).map(refused_summary),
                    })
                    .collect();
            }
            Err(why) => {
                report.refused = Some(why.to_string());
                let name_only = |name: &str| KernelSummary {
                    name: warpbound_load::demangle(name),
                    symbol: name.to_owned(),
                    calls: Some(0),
                    ..KernelSummary::default()
                };
                // The symbol table has names for any architecture, even if the code cannot be decoded.
                let names = self.image.kernel_names();
                let selected = match name {
                    None => names.collect(),
                    Some(name) => name.best_matches(names.map(|symbol| (symbol, symbol))),
                };
                report.kernels = selected.into_iter().map(name_only).collect();
            }
        }
        report
    }

    /// Lists what the metadata of the kernels states, where kernels are not analysed.
    fn stated_kernels(&self, name: Option<&NamePattern>) -> Vec<KernelSummary> {
        let kernels = self.image.all_kernels();
        let refused = self.image.all_refused();
        let names = kernels.iter().map(|kernel| &kernel.name);
        let names = names.chain(refused.iter().map(|kernel| &kernel.name));
        let selected: Vec<usize> = match name {
            Some(name) => name.best_matches(names.enumerate()),
            None => (0..names.count()).collect(),
        };
        let summary = |index: usize| match kernels.get(index) {
            Some(kernel) => Some(stated_summary(kernel)),
            // Positions after the readable kernels are of refused ones.
            None => refused.get(index - kernels.len()).map(refused_summary),
        };
        selected.into_iter().filter_map(summary).collect()
    }

    /// Counts the sections that are not read.
    fn skipped(&self) -> Vec<SkippedSummary> {
        let all = self.image.skipped().into_iter();
        all.map(|skipped| SkippedSummary {
            what: match skipped.kind {
                SkippedKind::Mercury => "Mercury code and its metadata",
                SkippedKind::Compatibility => "compatibility records",
                SkippedKind::Notes => "notes",
            },
            sections: skipped.sections,
            bytes: skipped.bytes,
        })
        .collect()
    }

    /// Describes contents of the image that are not kernels.
    fn others(&self) -> Vec<String> {
        self.image
            .others()
            .iter()
            .filter_map(|other| {
                let kind = match other.kind {
                    OtherKind::DeviceFunction => "device function",
                    OtherKind::Variable => "variable",
                    OtherKind::External => "outside",
                    OtherKind::TextureReference => "texture reference",
                    OtherKind::SurfaceReference => "surface reference",
                    // Sections without code or data of kernels: debug information, notes.
                    OtherKind::Section(_) => return None,
                };
                let size = match other.size {
                    0 => String::new(),
                    n => format!(", {n} bytes"),
                };
                Some(format!(
                    "{kind} {}{size}",
                    warpbound_load::demangle(&other.name)
                ))
            })
            .collect()
    }

    /// Returns the summary of a kernel.
    fn summary(&self, kernel: &Kernel) -> KernelSummary {
        let mut summary = stated_summary(kernel);
        summary.instructions = 0;
        summary.calls = Some(0);
        let code = match self.code_of_flow(kernel) {
            Ok(code) => code,
            Err(why) => {
                summary.refused = Some(why.to_string());
                return summary;
            }
        };
        let own = own_ops(kernel, &code);
        let ops = own.iter().filter_map(|at| code.get(*at));
        let is_call = |control: &ControlEffect| match control {
            ControlEffect::Call(_)
            | ControlEffect::LinkedCall(_)
            | ControlEffect::LinkedIndirect { .. } => true,
            // PRET pushes a return address, as CAL does.
            ControlEffect::Push(token, _) => *token == warpbound_isa::StackToken::Ret,
            _ => false,
        };
        summary.instructions = own.len();
        summary.calls = Some(ops.filter(|op| is_call(&op.control)).count());
        match ThreadCfg::build(&code, &Limits::default()) {
            Ok(thread) => {
                summary.loops = Some(Loops::of_thread(&code, &thread).sites.len());
            }
            Err(refusal) => {
                summary.refused = Some(format!("{}: {}", refusal.at, refusal.reason));
            }
        }
        summary
    }

    /// Lifts the control flow of a kernel, which suffices to find loops.
    fn code_of_flow(&self, kernel: &Kernel) -> Result<Code, Diagnostic> {
        let here = |diagnostic: Diagnostic| diagnostic.in_kernel(kernel.demangled());
        Prepared::decode(kernel, self.image.isa())
            .and_then(|program| lift_flow(kernel, &program).map_err(here))
            .map_err(|diagnostic| self.locate(diagnostic))
    }
}
