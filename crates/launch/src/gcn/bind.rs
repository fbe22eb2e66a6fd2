//! Binding of a launch file to a kernel of an AMD GPU.

use warpbound_base::Diagnostic;
use warpbound_ir::Code;
use warpbound_load::{
    CodeObjectKernel, GcnDescriptor, Image, Kernel, LoadedFile, LoadedSegment, VariableLocation,
    demangle,
};

use super::entry::WaveEntry;
use super::kernarg::{self, DynamicShared, HiddenValues};
use super::packet::{self, PacketFacts};
use super::{LANES, aperture, words};
use crate::file::{LaunchFile, PointerLocation};
use crate::launch::{Launch, PathOrder};
use crate::memory::GlobalMemory;
use crate::{buffers, pointers};

/// Alignment of the scratch of a lane in bytes: the scratch of a wave is a multiple of 1 KiB.
const SCRATCH_ALIGNMENT: u32 = 16;

/// Largest scratch of a lane in bytes.
const MAX_SCRATCH: u32 = 1 << 20;

/// Applies a launch file to a kernel, see [`crate::bind()`].
pub(crate) fn bind(
    file: &LaunchFile,
    image: &Image,
    kernel: &Kernel,
    object: &CodeObjectKernel,
    code: &Code,
    order: PathOrder,
    max_instructions: u64,
) -> Result<(Launch, GlobalMemory), Diagnostic> {
    let fault = |message: String| {
        Diagnostic::new(message)
            .in_kernel(kernel.demangled())
            .in_file(file.file.as_str())
    };
    check_file(file).map_err(fault)?;
    let mut memory = GlobalMemory::default();
    let values = buffers::place(file, &mut memory);
    let of_file = memory.buffers().len();
    let shared = kernarg::dynamic_shared(object, file, &values).map_err(fault)?;
    let lane_scratch = lane_scratch(&object.descriptor, file).map_err(fault)?;
    let launched = LaunchedKernel {
        file,
        image,
        kernel,
        object,
    };
    let addresses = Addresses::place(launched, &values, &shared, lane_scratch, &mut memory);
    let addresses = addresses.map_err(fault)?;
    // Launches of a set may change the buffers of the file, but nothing that the runtime owns.
    memory.mark_of_runtime(of_file);
    // The registers hold addresses of what has been placed.
    let user = user_registers(&object.descriptor, file, &addresses, lane_scratch).map_err(fault)?;
    let entry = WaveEntry {
        descriptor: object.descriptor,
        block: file.block,
        grid: file.grid,
        user,
        lane_scratch,
        code_base: addresses.file.wrapping_add(object.code_address),
    };
    let mut code_words = Vec::with_capacity(4 * code.address_words.len());
    for word in &code.address_words {
        if !word.symbol.is_empty() {
            let message = format!(
                "the code needs the address of {}, which the file does not define",
                word.symbol
            );
            return Err(fault(message));
        }
        // Without a symbol, the word is an address in the code itself.
        let address = entry.code_base.wrapping_add_signed(word.addend);
        code_words.extend_from_slice(&word.half.of(address).to_le_bytes());
    }
    let launch = Launch {
        grid: file.grid,
        block: file.block,
        shared: shared.bytes,
        local: lane_scratch,
        constants: vec![(Code::ADDRESS_BANK, code_words)],
        textures: Vec::new(),
        surfaces: Vec::new(),
        max_instructions,
        order,
        wave_entry: Some(entry),
    };
    Ok((launch, memory))
}

/// Refuses what launches of AMD's GPUs do not have here.
fn check_file(file: &LaunchFile) -> Result<(), String> {
    if !file.textures.is_empty() || !file.surfaces.is_empty() {
        return Err("textures and surfaces are not supported on AMD's GPUs".to_owned());
    }
    Ok(())
}

/// Gives the variables that the launch names their contents; the loaded file is the last buffer.
fn set_variables(
    image: &Image,
    file: &LaunchFile,
    memory: &mut GlobalMemory,
) -> Result<(), String> {
    for (number, given) in file.variables.iter().enumerate() {
        let (name, size) = (&given.name, given.buffer.bytes.len());
        let all = image.variables().iter();
        let mut named = all.filter(|v| *v.name == **name || demangle(&v.name) == **name);
        let Some(variable) = named.next() else {
            return Err(format!("the module has no variable {name}"));
        };
        if named.next().is_some() {
            return Err(format!("several variables of the module are called {name}"));
        }
        if size > variable.size as usize {
            return Err(format!(
                "variable {name} has {} bytes, the launch gives it {size}",
                variable.size
            ));
        }
        let location = PointerLocation::Variable(number);
        let bytes = pointers::with_pointers(&given.buffer.bytes, location, file, memory);
        let range = match variable.location {
            VariableLocation::Loaded(at) => usize::try_from(at).ok().and_then(|start| {
                let end = start.checked_add(variable.size as usize)?;
                Some(start..end)
            }),
            _ => None,
        };
        if !range.is_some_and(|range| memory.add_inner(name, range, &bytes)) {
            return Err(format!("variable {name} lies outside the code object"));
        }
    }
    Ok(())
}

/// Returns the bytes of scratch of a lane.
fn lane_scratch(descriptor: &GcnDescriptor, file: &LaunchFile) -> Result<u32, String> {
    // With less than the kernel states, lanes would overwrite each other's scratch.
    let bytes = file.stack.unwrap_or(0).max(descriptor.private_segment);
    match bytes.checked_next_multiple_of(SCRATCH_ALIGNMENT) {
        Some(aligned) if aligned <= MAX_SCRATCH => Ok(aligned),
        _ => Err(format!(
            "a work-item has {bytes} bytes of scratch, at most {MAX_SCRATCH} are supported"
        )),
    }
}

/// Name of the buffer with the code object, from its address 0 on.
pub const LOADED_FILE: &str = "the code object";

/// Largest size of a code object in memory, in bytes.
const MAX_LOADED: u64 = 1 << 28;

/// Returns the bytes of a code object in memory, from its address 0 on.
fn loaded_bytes(loaded: &LoadedFile) -> Result<Vec<u8>, String> {
    if let Some(name) = loaded.undefined.first() {
        return Err(format!(
            "the code object needs the address of {name}, which another file defines"
        ));
    }
    let end = |segment: &LoadedSegment| segment.address.checked_add(segment.size);
    let mut bytes = Vec::new();
    for segment in &loaded.segments {
        // Checked before the allocation, because a damaged file may state any size.
        let end = end(segment).filter(|end| *end <= MAX_LOADED);
        let end = end.and_then(|end| usize::try_from(end).ok());
        let end = end
            .ok_or_else(|| format!("the code object has more than {MAX_LOADED} bytes in memory"))?;
        if bytes.len() < end {
            // Past its bytes in the file, a segment is 0.
            bytes.resize(end, 0);
        }
        let start = usize::try_from(segment.address).unwrap_or(usize::MAX);
        packet::put(&mut bytes, start, &segment.bytes);
    }
    Ok(bytes)
}

/// Kernel with the launch file that is applied to it.
#[derive(Clone, Copy)]
struct LaunchedKernel<'a> {
    /// Launch file.
    file: &'a LaunchFile,
    /// Code object with the kernel.
    image: &'a Image,
    /// Code and parameters.
    kernel: &'a Kernel,
    /// Facts that the code object states about the kernel.
    object: &'a CodeObjectKernel,
}

/// Addresses of what the runtime places in memory for a launch.
struct Addresses {
    queue: u64,
    kernarg: u64,
    packet: u64,
    /// Address 0 of the file.
    file: u64,
}

impl Addresses {
    /// Places queue, loaded file, arguments and dispatch packet in memory, after the buffers of the launch file.
    fn place(
        launched: LaunchedKernel<'_>,
        values: &[Vec<u8>],
        shared: &DynamicShared,
        lane_scratch: u32,
        memory: &mut GlobalMemory,
    ) -> Result<Addresses, String> {
        let LaunchedKernel {
            file,
            image,
            kernel,
            object,
        } = launched;
        let [_, shared_base] = words(aperture::SHARED);
        let [_, private_base] = words(aperture::PRIVATE);
        let queue = memory.add("the queue", packet::queue(shared_base, private_base));
        let loaded = image.loaded_file().ok_or_else(|| {
            "the code object is not linked; link it first, e.g. with `ld.lld -shared`".to_owned()
        })?;
        let file_address = memory.add(LOADED_FILE, loaded_bytes(loaded)?);
        // The loader of the runtime writes these addresses, because the linker does not know where the file will lie.
        for field in &loaded.addresses {
            let address = file_address.wrapping_add(field.target);
            let at = file_address.wrapping_add(field.at);
            if !memory.write(at, &address.to_le_bytes()) {
                return Err(format!(
                    "an address at 0x{:x} lies outside the code object",
                    field.at
                ));
            }
        }
        // After the addresses of the loader, which the launch may replace.
        set_variables(image, file, memory)?;
        let hidden = HiddenValues {
            block: file.block,
            grid: file.grid,
            dynamic_shared: shared.bytes.saturating_sub(object.descriptor.group_segment),
            shared_base,
            private_base,
            queue,
        };
        let arguments = kernarg::segment(kernel, object, file, values, shared, &hidden)?;
        let kernarg = memory.add("the arguments", arguments);
        let packet = packet::packet(&PacketFacts {
            block: file.block,
            grid: file.grid,
            private_bytes: lane_scratch,
            group_bytes: shared.bytes,
            kernel_object: file_address.wrapping_add(object.descriptor_address),
            kernarg,
        });
        Ok(Addresses {
            queue,
            kernarg,
            packet: memory.add("the dispatch packet", packet),
            file: file_address,
        })
    }
}

/// Words of the buffer descriptor of scratch besides its base (LLVM, `SIFrameLowering.cpp`, and ROCR,
/// `FillBufRsrcWord3`): swizzled elements of 4 bytes, with the elements of the 64 lanes next to each other; the lane
/// is added to the index.
const SWIZZLE_ENABLE: u32 = 1 << 31;
const SCRATCH_LAYOUT: u32 = 1 << 19 | 3 << 21 | 1 << 23;

/// Returns the user SGPRs in order. The descriptor decides which of them exist.
fn user_registers(
    descriptor: &GcnDescriptor,
    file: &LaunchFile,
    addresses: &Addresses,
    lane_scratch: u32,
) -> Result<Vec<u32>, String> {
    let pair = |address: u64| words(address).to_vec();
    let [base, base_high] = words(aperture::SCRATCH);
    let waves = file.block.iter().product::<u32>().div_ceil(LANES);
    // The window has the scratch of all waves of the block, see [`aperture::SCRATCH`].
    let scratch = waves.saturating_mul(lane_scratch.saturating_mul(LANES));
    let registers = [
        (
            GcnDescriptor::PRIVATE_BUFFER,
            vec![base, base_high | SWIZZLE_ENABLE, scratch, SCRATCH_LAYOUT],
        ),
        (GcnDescriptor::DISPATCH_POINTER, pair(addresses.packet)),
        (GcnDescriptor::QUEUE_POINTER, pair(addresses.queue)),
        (GcnDescriptor::KERNARG_POINTER, pair(addresses.kernarg)),
        (GcnDescriptor::DISPATCH_ID, pair(0)),
        // The offset of the scratch of the queue, and the bytes of a lane.
        (GcnDescriptor::FLAT_SCRATCH, vec![0, lane_scratch]),
        (GcnDescriptor::PRIVATE_SIZE, vec![lane_scratch]),
    ];
    let mut values = Vec::new();
    for (property, words) in registers {
        if descriptor.has(property) {
            values.extend(words);
        }
    }
    for (axis, count) in (0..).zip(file.grid) {
        if descriptor.has(GcnDescriptor::GRID_COUNT_X << axis) {
            values.push(count);
        }
    }
    let stated = descriptor.user_registers();
    match u32::try_from(values.len()) {
        Ok(count) if count <= stated => Ok(values),
        _ => Err(format!(
            "the kernel's descriptor has {} user SGPRs, and states {stated}",
            values.len()
        )),
    }
}
