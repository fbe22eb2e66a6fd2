//! Functions in code sections of their own, placed after the code of the kernels that call them.
//!
//! The linker leaves such a function (`-rdc`, `-G`, `ptxas -c`) in its section, and the loader places all sections.
//! Addresses in a kernel are relative to its own code section; the sections of the functions follow it, each as a
//! whole. For example, a kernel of 64 bytes that calls a function of 32 bytes has 96 bytes of code, and the call
//! jumps to address 64. This order is a convention: the loader's is not known, so a path that runs past the end of a
//! section is refused (SOUNDNESS 3.4).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::BytesMut;
use warpbound_base::{CodeAddr, Diagnostic, SmFacts};

use crate::image::Linkage;
use crate::kernel::{Function, JoinedSection, Kernel};
use crate::metadata::IndirectBranch;
use crate::relocation::Relocation;

/// Minimum size of a metadata record in a file, in bytes.
const RECORD_BYTES: usize = 16;

/// Upper bound on the size of all joined code and metadata, as a multiple of the size of the file. Many kernels may
/// call one function, and each gets a copy.
const MOST_COPIES: u64 = 16;

/// Joins functions to the kernels of a file.
pub(crate) struct Joiner<'a> {
    /// Functions by the index of their code section.
    functions: &'a BTreeMap<usize, Kernel>,
    linkage: Linkage,
    /// Alignment of code sections in bytes; their sizes are multiples of it.
    alignment: usize,
    /// Number of bytes of code and metadata that may still be joined.
    left: u64,
}

impl<'a> Joiner<'a> {
    /// Prepares the functions of a file of `size` bytes, by the index of their code section.
    pub(crate) fn new(
        functions: &'a BTreeMap<usize, Kernel>,
        facts: &SmFacts,
        linkage: Linkage,
        size: usize,
    ) -> Joiner<'a> {
        Joiner {
            functions,
            linkage,
            // The alignments of the table are small.
            alignment: usize::try_from(facts.code_alignment).unwrap_or(usize::MAX),
            left: (size as u64).saturating_mul(MOST_COPIES),
        }
    }

    /// Appends to a kernel the functions that it may call, directly or through others, and resolves the references
    /// between them.
    ///
    /// # Errors
    ///
    /// If they cannot be joined. The kernel is unchanged then, and its calls lead outside its code.
    pub(crate) fn join(&mut self, section: usize, kernel: &mut Kernel) -> Result<(), Diagnostic> {
        let own = Placed {
            start: 0,
            bytes: kernel.code.len(),
        };
        let mut starts = BTreeMap::from([(section, own)]);
        // A kernel may refer to its own section, whether or not it calls functions of others.
        resolve(&mut kernel.relocations, &starts);
        let called = self.called(section, kernel);
        if called.is_empty() {
            return Ok(());
        }
        let end = self.place(kernel, &called, &mut starts)?;
        let mut code = BytesMut::with_capacity(end);
        code.extend_from_slice(&kernel.code);
        let mut functions: Vec<Function> = kernel.functions.to_vec();
        for (index, function) in &called {
            let base = starts.get(index).map_or(0, |placed| placed.start);
            code.extend_from_slice(&function.code);
            functions.extend(function.functions.iter().map(|inner| Function {
                start: moved(inner.start, base),
                ..inner.clone()
            }));
            kernel.joined.push(JoinedSection {
                name: Arc::clone(&function.name),
                start: CodeAddr(base),
                file_offset: function.file_offset,
                lines: function.lines.clone(),
            });
            append(kernel, function, base);
        }
        kernel
            .relocations
            .sort_by_key(|relocation| relocation.offset);
        resolve(&mut kernel.relocations, &starts);
        kernel.code = code.freeze();
        kernel.functions = functions.into();
        Ok(())
    }

    /// The functions that a kernel refers to, directly or through others, in the order of the references.
    fn called(&self, section: usize, kernel: &Kernel) -> Vec<(usize, &'a Kernel)> {
        let mut seen = BTreeSet::from([section]);
        // A list in the order of the references, because the order decides the addresses of the functions.
        let mut called: Vec<(usize, &Kernel)> = Vec::new();
        let mut new = |relocations: &[Relocation], called: &mut Vec<(usize, &'a Kernel)>| {
            for relocation in relocations {
                let symbol = &relocation.symbol;
                // The linker may replace a weak function by another file's definition, so its code here proves
                // nothing.
                let is_final = self.linkage == Linkage::Executable || !symbol.is_weak;
                let index = symbol.section.filter(|_| is_final);
                let function = index.and_then(|index| Some((index, self.functions.get(&index)?)));
                if let Some((index, function)) = function
                    && seen.insert(index)
                {
                    called.push((index, function));
                }
            }
        };
        new(&kernel.relocations, &mut called);
        let mut next = 0;
        while let Some(&(_, function)) = called.get(next) {
            new(&function.relocations, &mut called);
            next += 1;
        }
        called
    }

    /// Adds the address of each function to `starts`, and returns the size of all code.
    fn place(
        &mut self,
        kernel: &Kernel,
        called: &[(usize, &Kernel)],
        starts: &mut BTreeMap<usize, Placed>,
    ) -> Result<usize, Diagnostic> {
        let fail = |message: String| {
            let message = format!(
                "{message}: calls of functions with sections of their own lead outside the kernel"
            );
            Err(Diagnostic::new(message).in_kernel(kernel.demangled()))
        };
        let mut end = kernel.code.len();
        for (index, function) in called {
            // A control word describes the instructions of its group, so a section must not begin in the middle of a
            // group.
            let size = function.code.len();
            let is_whole =
                end.is_multiple_of(self.alignment) && size.is_multiple_of(self.alignment);
            let Some(start) = u32::try_from(end).ok().filter(|_| is_whole) else {
                return fail("the code sections are not whole groups of instructions".to_owned());
            };
            if function.code.is_empty() {
                let name = function.demangled();
                return fail(format!("function {name} has no code"));
            }
            // The linker merges the literals of a function into the bank of each kernel that calls it, so the words
            // that the function reads are unknown before that.
            if function.banks.iter().any(|bank| !bank.is_shared_by_kernels) {
                let name = function.demangled();
                return fail(format!("function {name} has a constant bank of its own"));
            }
            let bytes = function.code.len();
            starts.insert(*index, Placed { start, bytes });
            end += bytes;
        }
        let records = called.iter().map(|(_, function)| records(function));
        let size = (end + RECORD_BYTES * records.sum::<usize>()) as u64;
        // The code is copied only after this check, so a refused kernel costs no memory.
        match self.left.checked_sub(size) {
            Some(left) if u32::try_from(end).is_ok() => self.left = left,
            _ => {
                return fail(format!(
                    "kernels with their functions have more than {MOST_COPIES} times the size of the file"
                ));
            }
        }
        Ok(end)
    }
}

/// Address and size of a section in the code of a kernel.
#[derive(Clone, Copy)]
struct Placed {
    start: u32,
    bytes: usize,
}

/// Number of metadata records that each calling kernel gets a copy of.
fn records(function: &Kernel) -> usize {
    let branches = function.indirect_branches.iter();
    function.relocations.len()
        + function.functions.len()
        + function.exits.len()
        + function.ctaid_reads.len()
        + function.system_calls.len()
        + function.externs.len()
        + function.other_attributes.len()
        + branches
            .map(|branch| 1 + branch.targets.len())
            .sum::<usize>()
}

/// Appends the metadata of a function whose code begins at `base`.
fn append(kernel: &mut Kernel, function: &Kernel, base: u32) {
    let addresses = |all: &[CodeAddr]| -> Vec<CodeAddr> {
        all.iter().map(|&address| moved(address, base)).collect()
    };
    // Calls run in the registers of the caller, so the kernel needs the maximum, not the sum.
    kernel.registers = kernel.registers.max(function.registers);
    kernel.barriers = kernel.barriers.max(function.barriers);
    kernel.exits.extend(addresses(&function.exits));
    kernel.ctaid_reads.extend(addresses(&function.ctaid_reads));
    kernel
        .system_calls
        .extend(addresses(&function.system_calls));
    kernel.uses_ctaid_z |= function.uses_ctaid_z;
    kernel.has_unknown_stack |= function.has_unknown_stack;
    let branches = function.indirect_branches.iter();
    kernel
        .indirect_branches
        .extend(branches.map(|branch| IndirectBranch {
            at: moved(branch.at, base),
            kind: branch.kind,
            targets: addresses(&branch.targets),
        }));
    for name in &function.externs {
        if !kernel.externs.contains(name) {
            kernel.externs.push(Arc::clone(name));
        }
    }
    let relocations = function.relocations.iter();
    kernel
        .relocations
        .extend(relocations.map(|relocation| Relocation {
            offset: relocation.offset.saturating_add(base),
            ..relocation.clone()
        }));
    kernel
        .other_attributes
        .extend(function.other_attributes.iter().cloned());
}

/// Address in the code of the kernel, for an address in a function's section that is placed at `base`.
fn moved(address: CodeAddr, base: u32) -> CodeAddr {
    CodeAddr(address.0.saturating_add(base))
}

/// Sets the address in the code of each relocation's symbol; `starts` has the place of each section.
fn resolve(relocations: &mut [Relocation], starts: &BTreeMap<usize, Placed>) {
    for relocation in relocations {
        let symbol = &mut relocation.symbol;
        let placed = symbol.section.and_then(|section| starts.get(&section));
        let value = u32::try_from(symbol.value).ok();
        let address = placed.zip(value).and_then(|(placed, value)| {
            // An address at the end of a section belongs to the next one in this order only, not in memory.
            let is_inside = (value as usize) < placed.bytes;
            placed.start.checked_add(value).filter(|_| is_inside)
        });
        symbol.in_code = address.map(CodeAddr);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use warpbound_base::Sm;

    use super::*;
    use crate::bank::ConstBank;
    use crate::relocation::Symbol;

    /// A call of the function in a section, at offset 8.
    fn call(section: usize, is_weak: bool) -> Relocation {
        Relocation {
            offset: 8,
            number: 42,
            symbol: Symbol {
                name: Arc::from("f"),
                is_defined: true,
                is_global: false,
                value: 0,
                in_code: None,
                section: Some(section),
                is_weak,
            },
            addend: None,
        }
    }

    fn code(bytes: usize, calls: Vec<Relocation>) -> Kernel {
        Kernel {
            code: Bytes::from(vec![0; bytes]),
            relocations: calls,
            ..Kernel::default()
        }
    }

    /// Joins the functions to a kernel of 64 bytes in section 1 that calls section 2; returns the size of its code.
    fn joined(
        functions: &BTreeMap<usize, Kernel>,
        (linkage, size): (Linkage, usize),
        is_weak: bool,
    ) -> Result<usize, String> {
        let mut kernel = code(64, vec![call(2, is_weak)]);
        let mut joiner = Joiner::new(functions, facts(), linkage, size);
        let done = joiner.join(1, &mut kernel);
        done.map_err(|why| why.to_string())?;
        Ok(kernel.code().len())
    }

    fn facts() -> &'static SmFacts {
        Sm::of(61).facts().expect("it has a row")
    }

    const LINKED: (Linkage, usize) = (Linkage::Executable, 1000);

    #[test]
    fn functions_that_functions_call_are_joined_once() {
        let functions = BTreeMap::from([
            (2, code(32, vec![call(3, false), call(2, false)])),
            (3, code(96, vec![call(2, false), call(1, false)])),
            (4, code(32, vec![])),
        ]);
        let mut kernel = code(64, vec![call(2, false)]);
        let mut joiner = Joiner::new(&functions, facts(), Linkage::Executable, 1000);
        joiner.join(1, &mut kernel).expect("they are joined");
        let calls: Vec<(u32, Option<u32>)> = kernel
            .relocations
            .iter()
            .map(|call| (call.offset, call.symbol.in_code.map(|at| at.0)))
            .collect();
        // The kernel at 0, section 2 at 64, section 3 at 96.
        let expected = [(8, 64), (72, 96), (72, 64), (104, 64), (104, 0)];
        assert_eq!(calls, expected.map(|(at, to)| (at, Some(to))));
        assert_eq!(kernel.code().len(), 64 + 32 + 96);
    }

    #[test]
    fn many_copies_of_a_large_function_are_not_made() {
        let functions = BTreeMap::from([(2, code(320, vec![]))]);
        let mut joiner = Joiner::new(&functions, facts(), Linkage::Executable, 100);
        let mut sizes = Vec::new();
        for _ in 0..6 {
            let mut kernel = code(64, vec![call(2, false)]);
            let done = joiner.join(1, &mut kernel).is_ok();
            sizes.push((done, kernel.code().len()));
        }
        // 16 times 100 bytes suffice for four of 384.
        assert_eq!(sizes[..4], [(true, 384); 4]);
        assert_eq!(sizes[4..], [(false, 64); 2]);
    }

    /// Metadata counts as well as code: a small function with many relocations is copied only a few times.
    #[test]
    fn many_copies_of_metadata_are_not_made() {
        let functions = BTreeMap::from([(2, code(32, vec![call(2, false); 1000]))]);
        let mut joiner = Joiner::new(&functions, facts(), Linkage::Executable, 2000);
        let done = (0..3).map(|_| joiner.join(1, &mut code(64, vec![call(2, false)])).is_ok());
        assert_eq!(done.collect::<Vec<_>>(), [true, false, false]);
    }

    /// A symbol at the end of its section is no function of the one after it.
    #[test]
    fn symbols_past_their_section_are_outside() {
        let functions = BTreeMap::from([(2, code(32, vec![])), (3, code(32, vec![]))]);
        let mut past = call(2, false);
        past.symbol.value = 32;
        let mut kernel = code(64, vec![past, call(3, false)]);
        let mut joiner = Joiner::new(&functions, facts(), Linkage::Executable, 1000);
        joiner.join(1, &mut kernel).expect("they are joined");
        let targets = kernel.relocations.iter().map(|call| call.symbol.in_code);
        assert_eq!(targets.collect::<Vec<_>>(), [None, Some(CodeAddr(96))]);
    }

    #[test]
    fn what_the_linker_may_change_stays_outside() {
        let functions = BTreeMap::from([(2, code(32, vec![]))]);
        assert_eq!(joined(&functions, LINKED, true), Ok(96));
        let unlinked = (Linkage::Relocatable, 1000);
        assert_eq!(joined(&functions, unlinked, false), Ok(96));
        assert_eq!(joined(&functions, unlinked, true), Ok(64));
        let mut with_bank = functions.clone();
        let bank = ConstBank {
            number: 2,
            is_shared_by_kernels: false,
            file_offset: 0,
            relocations: Arc::from([]),
            contents: Bytes::new(),
        };
        with_bank.get_mut(&2).expect("it is there").banks.push(bank);
        for file in [LINKED, unlinked] {
            let why = joined(&with_bank, file, false).expect_err("it is left outside");
            assert!(why.contains("constant bank of its own"), "{why}");
        }
        let empty = BTreeMap::from([(2, code(0, vec![]))]);
        let why = joined(&empty, LINKED, false).expect_err("it is left outside");
        assert!(why.contains("has no code"), "{why}");
        let odd = BTreeMap::from([(2, code(40, vec![]))]);
        let why = joined(&odd, LINKED, false).expect_err("it is left outside");
        assert!(why.contains("whole groups"), "{why}");
    }
}
