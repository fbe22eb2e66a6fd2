//! Initial state of a kernel: constant banks, variables, buffers.

use std::collections::HashMap;

use warpbound_base::{ConstantBanks, Diagnostic, LaunchBlock};
use warpbound_ir::Code;
use warpbound_load::{Image, Kernel, Variable, VariableLocation, demangle};

use crate::file::{ImageBinding, LaunchFile, PointerLocation};
use crate::launch::{Launch, PathOrder, window_words};
use crate::memory::{Buffer, GlobalMemory};
use crate::{bindings, buffers, gcn, limits, pointers};

/// Least size of the launch block in bytes. Kernels may have more bytes of parameters.
const LAUNCH_BLOCK: usize = 0x2000;

/// Banks of kernels that have a launch block.
const BANKS: &ConstantBanks = ConstantBanks::OF_CUBINS;

/// Relocation of an 8-byte address (`R_CUDA_64`).
const WHOLE_ADDRESS: u32 = 2;

/// Relocations of bank words that receive the objects of texture and surface references (`R_CUDA_TEX_HEADER_INDEX`,
/// `R_CUDA_SURF_HEADER_INDEX`).
const TEXTURE_REFERENCE: u32 = 6;
const SURFACE_REFERENCE: u32 = 52;

/// Applies a launch file to a kernel of `image` whose code is `code`; returns the launch, limited to `max_instructions`
/// warp instructions, and its initial memory.
///
/// # Errors
///
/// The launch exceeds a limit of the GPU or of the kernel ([`check_limits`](crate::check_limits)), or the launch file does
/// not match the parameters of the kernel or the variables of its module.
pub fn bind(
    file: &LaunchFile,
    image: &Image,
    kernel: &Kernel,
    code: &Code,
    order: PathOrder,
    max_instructions: u64,
) -> Result<(Launch, GlobalMemory), Diagnostic> {
    limits::check_limits(image.isa(), kernel, file)?;
    if let Some(object) = &kernel.code_object {
        return gcn::bind(file, image, kernel, object, code, order, max_instructions);
    }
    let fault = |message: String| {
        Diagnostic::new(message)
            .in_kernel(kernel.demangled())
            .in_file(file.file.as_str())
    };
    let mut memory = GlobalMemory::default();
    let values = buffers::place(file, &mut memory);
    let layout = image.isa().launch_block();
    let layout = layout.ok_or_else(|| {
        fault(format!(
            "where {} keeps the sizes of a launch is not known",
            image.isa()
        ))
    })?;
    let (bank, block) = launch_block(kernel, file, layout, &values).map_err(fault)?;
    let mut constants = vec![(bank, block)];
    for other in kernel.banks.iter().filter(|other| other.number != bank) {
        constants.push((other.number, other.bytes().to_vec()));
    }
    set_variables(image, file, &mut constants, &mut memory).map_err(fault)?;
    // Variables follow the buffers in memory; a buffer may have the same name.
    let variables = memory.buffers().iter().skip(file.buffers().count());
    write_addresses(&Addresses::new(variables), kernel, code, &mut constants).map_err(fault)?;
    write_references(file, kernel, &mut constants).map_err(|message| {
        let hint = "bind it with a [[texture]] or [[surface]] of this name";
        fault(message).hint(hint)
    })?;
    let (textures, surfaces) = bindings::bind(file, &memory)?;
    let shared = kernel.static_shared.unwrap_or(0);
    let launch = Launch {
        grid: file.grid,
        block: file.block,
        // `limits::check_limits` has limited the sum.
        shared: shared
            .saturating_add(file.dynamic_shared)
            .saturating_add(image.isa().reserved_shared()),
        local: local(kernel, file).map_err(fault)?,
        constants,
        textures,
        surfaces,
        max_instructions,
        order,
        wave_entry: None,
    };
    Ok((launch, memory))
}

/// Places the variables of the module after the buffers, with the contents that the launch gives them.
fn set_variables(
    image: &Image,
    file: &LaunchFile,
    constants: &mut [(u8, Vec<u8>)],
    memory: &mut GlobalMemory,
) -> Result<(), String> {
    let variables = image.variables();
    let has_name = |variable: &Variable, name: &str| {
        *variable.name == *name || demangle(&variable.name) == name
    };
    for given in &file.variables {
        let (name, size) = (&given.name, given.buffer.bytes.len());
        let variable = variables.iter().find(|variable| has_name(variable, name));
        let has_final_contents = given.buffer.expect.is_some() || given.buffer.output.is_some();
        match variable {
            Some(variable)
                if has_final_contents
                    && matches!(variable.location, VariableLocation::Constant { .. }) =>
            {
                return Err(format!(
                    "variable {name} is constant: it cannot have expect or output"
                ));
            }
            Some(variable) if size <= variable.size as usize => {}
            Some(variable) => {
                return Err(format!(
                    "variable {name} has {} bytes, the launch gives it {size}",
                    variable.size
                ));
            }
            None => return Err(format!("the module has no variable {name}")),
        }
    }
    // Modules may state any size, so the total is checked before each allocation.
    let mut left = LaunchFile::MAX_BYTES;
    for variable in variables {
        let in_memory = matches!(variable.location, VariableLocation::Global(_));
        left = match in_memory {
            true => left.checked_sub(variable.size.into()),
            false => Some(left),
        }
        .ok_or_else(|| {
            format!(
                "the variables of the module have more than {} bytes, the last of them {}",
                LaunchFile::MAX_BYTES,
                demangle(&variable.name)
            )
        })?;
        let mut all = file.variables.iter().enumerate();
        let given = all.find(|(_, given)| has_name(variable, &given.name));
        let given = given.map(|(number, given)| {
            let location = PointerLocation::Variable(number);
            pointers::with_pointers(&given.buffer.bytes, location, file, memory)
        });
        let given = given.as_deref().unwrap_or_default();
        match &variable.location {
            VariableLocation::Constant { bank, offset } => {
                write_bank(constants, *bank, *offset as usize, given);
            }
            VariableLocation::Global(start) => {
                let mut bytes = vec![0; variable.size as usize];
                // Contents from the launch file replace the initial value of the module, from the first byte on.
                for contents in [start, given] {
                    for (to, from) in bytes.iter_mut().zip(contents) {
                        *to = *from;
                    }
                }
                memory.add(&*variable.name, bytes);
            }
            // `gcn::bind` handles code objects.
            VariableLocation::Loaded(_) => (),
        }
    }
    Ok(())
}

/// Addresses of the variables in global memory by symbol; `None` if several variables share the symbol.
struct Addresses<'a>(HashMap<&'a str, Option<u64>>);

impl<'a> Addresses<'a> {
    /// Indexes variables by symbol.
    fn new(variables: impl Iterator<Item = &'a Buffer>) -> Addresses<'a> {
        let mut addresses = HashMap::new();
        for variable in variables {
            addresses
                // An ambiguous symbol is an error only if the kernel needs its address.
                .entry(&*variable.name)
                .and_modify(|address| *address = None)
                .or_insert(Some(variable.address));
        }
        Addresses(addresses)
    }

    /// Returns the address of a variable, or `None` if the module has no such variable; an error if the symbol is
    /// ambiguous.
    fn get(&self, symbol: &str) -> Result<Option<u64>, String> {
        match self.0.get(symbol) {
            Some(None) => Err(format!(
                "several variables of the module are called {symbol}"
            )),
            Some(&address) => Ok(address),
            None => Ok(None),
        }
    }
}

/// Writes the addresses of variables as the loader does: into bank 4, and into the immediates of instructions.
fn write_addresses(
    variables: &Addresses<'_>,
    kernel: &Kernel,
    code: &Code,
    constants: &mut Vec<(u8, Vec<u8>)>,
) -> Result<(), String> {
    let banks = kernel.banks.iter();
    for bank in banks.filter(|bank| bank.number == BANKS.addresses) {
        for relocation in bank.relocations.iter() {
            if relocation.number == WHOLE_ADDRESS
                && let Some(address) = variables.get(&relocation.symbol.name)?
            {
                let at = relocation.offset as usize;
                write_bank(constants, BANKS.addresses, at, &address.to_le_bytes());
            }
        }
    }
    let mut addresses = Vec::with_capacity(4 * code.address_words.len());
    for word in &code.address_words {
        let variable = variables.get(&word.symbol)?;
        let variable = variable
            .ok_or_else(|| format!("the code names {}, which is no variable", word.symbol))?;
        let address = variable.wrapping_add_signed(word.addend);
        addresses.extend_from_slice(&word.half.of(address).to_le_bytes());
    }
    constants.push((Code::ADDRESS_BANK, addresses));
    Ok(())
}

/// Writes the objects of textures and surfaces to the bank words that the code reads for references.
fn write_references(
    file: &LaunchFile,
    kernel: &Kernel,
    constants: &mut [(u8, Vec<u8>)],
) -> Result<(), String> {
    for bank in &kernel.banks {
        for relocation in bank.relocations.iter() {
            let name = &*relocation.symbol.name;
            let has_name =
                |image: &ImageBinding| image.name == name || image.name == demangle(name);
            let (kind, object) = match relocation.number {
                TEXTURE_REFERENCE => {
                    let number = file
                        .textures
                        .iter()
                        .position(|texture| has_name(&texture.image));
                    ("texture", number.map(bindings::texture_object))
                }
                SURFACE_REFERENCE => {
                    let number = file.surfaces.iter().position(has_name);
                    ("surface", number.map(|n| bindings::surface_object(file, n)))
                }
                _ => continue,
            };
            let Some(object) = object else {
                let name = demangle(name);
                return Err(format!("nothing is bound to the {kind} reference {name}"));
            };
            let at = relocation.offset as usize;
            write_bank(constants, bank.number, at, &object.to_le_bytes());
        }
    }
    Ok(())
}

/// Stack size of a thread in bytes if the file states none, or 0 as for recursion: CUDA's default of
/// `cudaLimitStackSize`.
const STACK: u32 = 1024;

/// Returns the bytes of stack that a launch gives each thread of a kernel whose file does not know its stack size;
/// `None` if the file knows it or the launch file states it.
pub fn assumed_stack(kernel: &Kernel, file: &LaunchFile) -> Option<u32> {
    (kernel.has_unknown_stack && file.stack.is_none()).then(|| stated_stack(kernel))
}

/// Returns the bytes of stack of a thread according to the file of the kernel: at least CUDA's default if recursive
/// code may need more than the file states.
fn stated_stack(kernel: &Kernel) -> u32 {
    let needed = kernel.min_stack_size.filter(|&needed| needed > 0);
    let least = if kernel.has_unknown_stack { STACK } else { 0 };
    let own = kernel.frame_size.unwrap_or(0);
    needed.unwrap_or(STACK).max(own).max(least)
}

/// Returns the bytes of local memory of a thread.
///
/// # Errors
///
/// The file states more than a GPU provides.
fn local(kernel: &Kernel, file: &LaunchFile) -> Result<u32, String> {
    let bytes = file.stack.unwrap_or_else(|| stated_stack(kernel));
    match bytes <= LaunchFile::MAX_STACK {
        true => Ok(bytes),
        false => Err(format!(
            "a thread has {bytes} bytes of local memory by the file, and may have {}",
            LaunchFile::MAX_STACK
        )),
    }
}

/// Writes bytes to a constant bank, and drops bytes past its end.
fn write_bank(constants: &mut [(u8, Vec<u8>)], bank: u8, at: usize, bytes: &[u8]) {
    if let Some((_, contents)) = constants.iter_mut().find(|(number, _)| *number == bank) {
        for (to, from) in contents.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    }
}

/// Returns the launch block with the parameters, and the number of its bank.
fn launch_block(
    kernel: &Kernel,
    file: &LaunchFile,
    layout: &LaunchBlock,
    values: &[Vec<u8>],
) -> Result<(u8, Vec<u8>), String> {
    if file.params.len() != kernel.params.len() {
        return Err(format!(
            "the kernel has {} parameters, the launch {}",
            kernel.params.len(),
            file.params.len()
        ));
    }
    let (bank, first) = match &kernel.param_block {
        Some(block) => (block.bank, u32::from(block.offset)),
        // Without parameters their offset does not matter.
        None if file.params.is_empty() => (BANKS.launch, 0),
        None => return Err("the file does not state where the parameters are".to_owned()),
    };
    let ends = kernel.params.iter();
    let ends =
        ends.map(|param| first as usize + usize::from(param.offset) + usize::from(param.size));
    let mut block = vec![0u8; ends.fold(LAUNCH_BLOCK, usize::max)];
    let mut put = |at: u32, bytes: &[u8]| {
        for (to, from) in block.iter_mut().skip(at as usize).zip(bytes) {
            *to = *from;
        }
    };
    for (at, size) in [
        (layout.block_size, file.block),
        (layout.grid_size, file.grid),
    ] {
        for (at, number) in (at..).step_by(4).zip(size) {
            put(at, &number.to_le_bytes());
        }
    }
    put(layout.stack, &local(kernel, file)?.to_le_bytes());
    for (at, word) in window_words(layout) {
        put(at, &word.to_le_bytes());
    }
    for ((param, given), bytes) in kernel.params.iter().zip(&file.params).zip(values) {
        if bytes.len() != usize::from(param.size) {
            return Err(format!(
                "parameter {} has {} bytes, and {} in the kernel",
                given.name,
                bytes.len(),
                param.size
            ));
        }
        put(first + u32::from(param.offset), bytes);
    }
    Ok((bank, block))
}
