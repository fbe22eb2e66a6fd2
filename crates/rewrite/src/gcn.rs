//! Code objects of GCN3 (gfx803), taken apart and written again with instructions inserted.
//!
//! The code section is decoded as a whole. Branches with a constant distance get new distances. Of the addresses that
//! code computes, only the idiom of compilers is followed: `s_getpc_b64`, then the distance to a symbol added to both
//! words. Descriptors, symbols and relocations of the loader get the new addresses. Any other way to an address of
//! the code is refused with its address. A section that no longer fits between its neighbours moves to the end of the
//! loaded file; nothing else moves. Debug sections of changed code are emptied.

mod code;
mod elf;
mod finish;
mod metadata;
mod probes;
mod scc;
mod sequence;

use std::collections::BTreeMap;

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_isa::amd::{GcnInstr, GcnProgram};
use warpbound_load::GcnDescriptor;

use elf::ObjectFile;
pub use probes::{ScalarProbes, ScalarProbesPlaced};
pub use sequence::NewGcnInstr;

/// Kernel of a code object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectKernel {
    /// Name.
    pub name: String,
    /// First instruction, relative to the code section.
    pub entry: CodeAddr,
    /// End of its function, relative to the code section: the end of the symbol, or else the next kernel.
    pub end: CodeAddr,
    /// Address of the descriptor in the loaded file, and its offset in the file.
    descriptor: (u64, usize),
    /// Descriptor.
    pub facts: GcnDescriptor,
}

/// Instructions inserted before one instruction of the code.
#[derive(Clone, Default, Debug)]
struct InsertedGcn {
    /// Executed when a wave starts here, but not by jumps to this place.
    prologue: Vec<NewGcnInstr>,
    /// Executed each time before the instruction.
    body: Vec<NewGcnInstr>,
}

/// Code object under edit.
#[derive(Clone, Debug)]
pub struct CodeObjectRewriter<'a> {
    object: ObjectFile<'a>,
    program: GcnProgram,
    kernels: Vec<ObjectKernel>,
    inserted: BTreeMap<CodeAddr, InsertedGcn>,
    /// Minimum register counts of kernels: SGPRs, including VCC, FLAT_SCRATCH and XNACK_MASK, and VGPRs.
    registers: (u16, u16),
    /// Name and bytes of the added variable.
    variable: Option<(String, u64)>,
}

impl<'a> CodeObjectRewriter<'a> {
    /// Takes a code object apart.
    ///
    /// # Errors
    ///
    /// Fails for a file other than a linked code object of version 3 or later for gfx803, and for a file whose code
    /// is in several sections or shares its segment.
    pub fn open(file: &'a [u8]) -> Result<CodeObjectRewriter<'a>, Diagnostic> {
        let object = ObjectFile::parse(file)?;
        let program = GcnProgram::decode(object.code())?;
        let kernels = object.kernels()?;
        Ok(CodeObjectRewriter {
            object,
            program,
            kernels,
            inserted: BTreeMap::new(),
            registers: (0, 0),
            variable: None,
        })
    }

    /// Whether a file is an ELF file for an AMD GPU, linked or not.
    pub fn is_code_object(file: &[u8]) -> bool {
        elf::is_for_amd(file)
    }

    /// Instructions of the code section; addresses are relative to it.
    pub fn program(&self) -> &GcnProgram {
        &self.program
    }

    /// Kernels in the order of their entries.
    pub fn kernels(&self) -> &[ObjectKernel] {
        &self.kernels
    }

    /// Address of the code section in the loaded file.
    pub fn code_address(&self) -> u64 {
        self.object.text().address
    }

    /// Inserts instructions before an instruction of the code; jumps to that address execute them as well.
    /// Instructions that were inserted there earlier are executed first.
    ///
    /// # Errors
    ///
    /// Fails if no instruction begins at the address, which is relative to the code section.
    pub fn insert_before(
        &mut self,
        at: CodeAddr,
        instrs: Vec<NewGcnInstr>,
    ) -> Result<(), Diagnostic> {
        // Checked here, so that the error belongs to this call.
        self.instr(at)?;
        sequence::append(&mut self.inserted.entry(at).or_default().body, instrs);
        Ok(())
    }

    /// Inserts instructions that each wave of a kernel executes once, at its start.
    ///
    /// # Errors
    ///
    /// Fails if the instruction before the kernel's first one falls through.
    pub fn insert_at_start(
        &mut self,
        kernel: &ObjectKernel,
        instrs: Vec<NewGcnInstr>,
    ) -> Result<(), Diagnostic> {
        // Waves that fall into the kernel from the code before would execute the prologue as well.
        self.check_start(kernel)?;
        let inserted = self.inserted.entry(kernel.entry).or_default();
        sequence::append(&mut inserted.prologue, instrs);
        Ok(())
    }

    /// Demands a minimum number of registers for all kernels: numbered SGPRs (VCC, FLAT_SCRATCH and XNACK_MASK are
    /// added) and VGPRs. A kernel with more registers keeps its number.
    pub fn require_registers(&mut self, scalar: u16, vector: u16) {
        /// Number of registers for VCC, FLAT_SCRATCH and XNACK_MASK.
        const NAMED: u16 = 6;
        let (scalar, (least, least_vector)) = (scalar.saturating_add(NAMED), self.registers);
        self.registers = (scalar.max(least), vector.max(least_vector));
    }

    /// Adds a variable, initially zero, to the writable memory of the loaded file. Returns its address there. A file
    /// has at most one.
    ///
    /// # Errors
    ///
    /// Fails if there is one already, or if the last segment of the file is not writable.
    pub fn add_variable(&mut self, name: &str, bytes: u64) -> Result<u64, Diagnostic> {
        if self.variable.is_some() {
            return Err(Diagnostic::new(
                "the code object has an added variable already",
            ));
        }
        let address = self.object.variable_address()?;
        self.variable = Some((name.to_owned(), bytes));
        Ok(address)
    }

    /// New places of each instruction by its address: where jumps to it lead, which is what is inserted before it,
    /// and the place of the instruction itself. All addresses are relative to the code section.
    ///
    /// # Errors
    ///
    /// Fails if the code becomes longer than 4 GiB.
    pub fn moved(&self) -> Result<BTreeMap<CodeAddr, (CodeAddr, CodeAddr)>, Diagnostic> {
        let places = code::NewPlaces::of(self)?;
        let instrs = self.program.instrs.iter().map(|instr| instr.addr);
        let moved = instrs.filter_map(|addr| {
            let inserted = self.inserted.get(&addr);
            let body = inserted.map_or(0, |inserted| code::length(&inserted.body));
            let label = places.label(addr.0)?;
            let own = CodeAddr(label.saturating_add(body));
            Some((addr, (CodeAddr(label), own)))
        });
        Ok(moved.collect())
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// Fails with the address of an instruction whose target cannot be proven or is out of reach at its new place.
    pub fn finish(self) -> Result<Vec<u8>, Diagnostic> {
        finish::finish(&self)
    }

    /// Returns the instruction that begins at an address.
    fn instr(&self, at: CodeAddr) -> Result<&GcnInstr, Diagnostic> {
        let found = self.program.at(at);
        found.ok_or_else(|| Diagnostic::new("no instruction begins here").at(at))
    }

    /// Checks that the code before a kernel cannot run into it. Padding after a jump or an end is unreachable.
    fn check_start(&self, kernel: &ObjectKernel) -> Result<(), Diagnostic> {
        use warpbound_isa::amd::{GcnFlow, GcnOpcode};
        let index = self.program.index_of(kernel.entry);
        let index = index.ok_or_else(|| {
            Diagnostic::new("no instruction begins at the kernel's entry").at(kernel.entry)
        })?;
        let before = self.program.instrs.iter().take(index).rev();
        for instr in before {
            match (instr.opcode(), instr.effects().flow) {
                // Linkers fill gaps with zeros, which decode as an instruction.
                (None | Some(GcnOpcode::SNop), _) => {}
                _ if instr.word == 0 => {}
                (_, GcnFlow::Jump(_) | GcnFlow::Indirect { .. } | GcnFlow::Exit) => return Ok(()),
                _ => {
                    return Err(Diagnostic::new(
                        "the instruction before the kernel's first one falls through into it",
                    )
                    .at(instr.addr));
                }
            }
        }
        Ok(())
    }
}
