//! The state in which a kernel begins: constant banks, variables, buffers.

use std::collections::HashMap;

use warpbound_base::Diagnostic;
use warpbound_ir::Code;
use warpbound_load::{
    LaunchFile, ImageBinding, Kernel, PointerPlace, Variable, VariablePlace, demangle,
};
use warpbound_simulate::functional::{Buffer, GlobalMemory, Launch, PathOrder};

use super::{buffers, images, pointers};
use crate::{Prepared, Session};

/// Where the launch block of the constants has what (experiments with the compiler's output): threads of a block, blocks
/// of the grid, the top of the local stack.
const BLOCK_AT: usize = 0x8;
const GRID_AT: usize = 0x14;
const STACK_AT: usize = 0x20;

/// Bytes of the launch block: more than all parameters take.
const LAUNCH_BLOCK: usize = 0x2000;

/// The bank with the addresses of variables, and the relocation that asks for 8 bytes (`R_CUDA_64`).
const ADDRESSES: u8 = 4;
const WHOLE_ADDRESS: u32 = 2;

/// The relocations of words of a bank that get the objects of references (`R_CUDA_TEX_HEADER_INDEX`,
/// `R_CUDA_SURF_HEADER_INDEX`).
const TEXTURE_REFERENCE: u32 = 6;
const SURFACE_REFERENCE: u32 = 52;

impl Session {
    /// A launch of at most so many warp instructions, and the memory that it begins with.
    ///
    /// # Errors
    ///
    /// Where the launch does not suit the kernel or its module.
    pub(crate) fn start(
        &self,
        prepared: &Prepared<'_>,
        grid: &LaunchFile,
        order: PathOrder,
        max_instructions: u64,
    ) -> Result<(Launch, GlobalMemory), Diagnostic> {
        let kernel = prepared.kernel;
        let fault = |what: String| {
            Diagnostic::new(what)
                .in_kernel(kernel.demangled())
                .in_file(grid.file.as_str())
        };
        let mut memory = GlobalMemory::default();
        let values = buffers::place(grid, &mut memory);
        let (bank, block) = launch_block(kernel, grid, &values).map_err(fault)?;
        let mut constants = vec![(bank, block)];
        for other in kernel.banks.iter().filter(|other| other.number != bank) {
            constants.push((other.number, other.bytes().to_vec()));
        }
        self.set_variables(grid, &mut constants, &mut memory)
            .map_err(fault)?;
        // Behind the buffers, which may have the same names.
        let variables = memory.buffers().iter().skip(grid.buffers().count());
        write_addresses(&Addresses::of(variables), prepared, &mut constants).map_err(fault)?;
        write_references(grid, kernel, &mut constants).map_err(|what| {
            let hint = "a [[texture]] or [[surface]] of this name is what is bound to it";
            fault(what).hint(hint)
        })?;
        let (textures, surfaces) = images::bind(grid, &memory)?;
        let shared = kernel.static_shared.unwrap_or(0);
        let launch = Launch {
            grid: grid.grid,
            block: grid.block,
            shared: shared.saturating_add(grid.dynamic_shared),
            local: local(kernel, grid),
            constants,
            textures,
            surfaces,
            max_instructions,
            order,
        };
        Ok((launch, memory))
    }

    /// Places the variables of the module behind the buffers, and gives them what the launch says.
    fn set_variables(
        &self,
        grid: &LaunchFile,
        constants: &mut [(u8, Vec<u8>)],
        memory: &mut GlobalMemory,
    ) -> Result<(), String> {
        let variables = self.image.variables();
        let is = |variable: &Variable, name: &str| {
            *variable.name == *name || demangle(&variable.name) == name
        };
        for given in &grid.variables {
            let (name, size) = (&given.name, given.buffer.bytes.len());
            let variable = variables.iter().find(|variable| is(variable, name));
            let is_end_said = given.buffer.expect.is_some() || given.buffer.output.is_some();
            match variable {
                Some(variable)
                    if is_end_said && matches!(variable.place, VariablePlace::Constant { .. }) =>
                {
                    return Err(format!(
                        "variable {name} is constant: nothing is to be said of its end"
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
        for variable in variables {
            let mut all = grid.variables.iter().enumerate();
            let given = all.find(|(_, given)| is(variable, &given.name));
            let given = given.map(|(number, given)| {
                let place = PointerPlace::Variable(number);
                pointers::filled(&given.buffer.bytes, place, grid, memory)
            });
            let given = given.as_deref().unwrap_or_default();
            match &variable.place {
                VariablePlace::Constant { bank, offset } => {
                    put(constants, *bank, *offset as usize, given);
                }
                VariablePlace::Global(start) => {
                    let mut bytes = start.to_vec();
                    bytes.resize(variable.size as usize, 0);
                    for (to, from) in bytes.iter_mut().zip(given) {
                        *to = *from;
                    }
                    memory.add(&*variable.name, bytes);
                }
            }
        }
        Ok(())
    }
}

/// Where the variables in global memory are, by symbol; `None` where several have the same.
struct Addresses<'a>(HashMap<&'a str, Option<u64>>);

impl<'a> Addresses<'a> {
    fn of(variables: impl Iterator<Item = &'a Buffer>) -> Addresses<'a> {
        let mut addresses = HashMap::new();
        for variable in variables {
            addresses
                .entry(&*variable.name)
                .and_modify(|address| *address = None)
                .or_insert(Some(variable.address));
        }
        Addresses(addresses)
    }

    /// The address of a variable; inside, `None` where the module has no such variable.
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

/// Writes the addresses of variables where the loader does: into bank 4, and into instructions.
fn write_addresses(
    variables: &Addresses<'_>,
    prepared: &Prepared<'_>,
    constants: &mut Vec<(u8, Vec<u8>)>,
) -> Result<(), String> {
    let banks = prepared.kernel.banks.iter();
    for bank in banks.filter(|bank| bank.number == ADDRESSES) {
        for relocation in bank.relocations.iter() {
            if relocation.number == WHOLE_ADDRESS
                && let Some(address) = variables.get(&relocation.symbol.name)?
            {
                let at = relocation.offset as usize;
                put(constants, ADDRESSES, at, &address.to_le_bytes());
            }
        }
    }
    let mut addresses = Vec::with_capacity(4 * prepared.code.address_words.len());
    for word in &prepared.code.address_words {
        let variable = variables.get(&word.symbol)?;
        let variable = variable
            .ok_or_else(|| format!("the code names {}, which is no variable", word.symbol))?;
        let address = variable.wrapping_add_signed(word.addend);
        addresses.extend_from_slice(&word.half.of(address).to_le_bytes());
    }
    constants.push((Code::ADDRESS_BANK, addresses));
    Ok(())
}

/// Writes the objects of textures and surfaces where the code looks for those that are bound to references.
fn write_references(
    grid: &LaunchFile,
    kernel: &Kernel,
    constants: &mut [(u8, Vec<u8>)],
) -> Result<(), String> {
    for bank in &kernel.banks {
        for relocation in bank.relocations.iter() {
            let name = &*relocation.symbol.name;
            let is = |image: &ImageBinding| image.name == name || image.name == demangle(name);
            let (kind, object) = match relocation.number {
                TEXTURE_REFERENCE => {
                    let number = grid.textures.iter().position(|texture| is(&texture.image));
                    ("texture", number.map(images::texture_object))
                }
                SURFACE_REFERENCE => {
                    let number = grid.surfaces.iter().position(is);
                    ("surface", number.map(|n| images::surface_object(grid, n)))
                }
                _ => continue,
            };
            let Some(object) = object else {
                let name = demangle(name);
                return Err(format!("nothing is bound to the {kind} reference {name}"));
            };
            let at = relocation.offset as usize;
            put(constants, bank.number, at, &object.to_le_bytes());
        }
    }
    Ok(())
}

/// Bytes of the stack of a thread where the file does not say how many are needed, or none, as for recursion: what CUDA
/// gives unless a program asks for more (`cudaLimitStackSize`).
const STACK: u32 = 1024;

/// Bytes of local memory of a thread.
fn local(kernel: &Kernel, grid: &LaunchFile) -> u32 {
    let needed = kernel.min_stack_size.filter(|&needed| needed > 0);
    let needed = needed.unwrap_or(STACK);
    let own = kernel.frame_size.unwrap_or(0);
    grid.stack.unwrap_or(needed.max(own))
}

/// Puts bytes into a constant bank; what lies beyond it is left out.
fn put(constants: &mut [(u8, Vec<u8>)], bank: u8, at: usize, bytes: &[u8]) {
    if let Some((_, contents)) = constants.iter_mut().find(|(number, _)| *number == bank) {
        for (to, from) in contents.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    }
}

/// The launch block with the parameters, and the number of its bank.
fn launch_block(
    kernel: &Kernel,
    grid: &LaunchFile,
    values: &[Vec<u8>],
) -> Result<(u8, Vec<u8>), String> {
    if grid.params.len() != kernel.params.len() {
        return Err(format!(
            "the kernel has {} parameters, the launch {}",
            kernel.params.len(),
            grid.params.len()
        ));
    }
    let (bank, first) = match &kernel.param_block {
        Some(block) => (block.bank, usize::from(block.offset)),
        None if grid.params.is_empty() => (0, 0),
        None => return Err("the file does not say where parameters lie".to_owned()),
    };
    let mut block = vec![0u8; LAUNCH_BLOCK];
    let mut put = |at: usize, bytes: &[u8]| {
        for (to, from) in block.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    };
    for (at, size) in [(BLOCK_AT, grid.block), (GRID_AT, grid.grid)] {
        for (nth, number) in size.iter().enumerate() {
            put(at + 4 * nth, &number.to_le_bytes());
        }
    }
    put(STACK_AT, &local(kernel, grid).to_le_bytes());
    for (at, word) in Launch::WINDOWS_AT {
        put(at, &word.to_le_bytes());
    }
    for ((param, given), bytes) in kernel.params.iter().zip(&grid.params).zip(values) {
        if bytes.len() != usize::from(param.size) {
            return Err(format!(
                "parameter {} has {} bytes, that of the kernel {}",
                given.name,
                bytes.len(),
                param.size
            ));
        }
        put(first + usize::from(param.offset), bytes);
    }
    Ok((bank, block))
}
