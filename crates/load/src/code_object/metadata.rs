//! Metadata of kernels: sizes and arguments, as the notes of a file state them.
//!
//! Version 2 writes YAML and states alignments of arguments; later versions write MessagePack and state offsets. The
//! keys differ too: `Kernels` and `CodeProps` in version 2, `amdhsa.kernels` and `.kernarg_segment_size` later. One
//! reader handles both with a table of key names.

use std::collections::HashMap;

use rmpv::Value;
use warpbound_base::Diagnostic;

use super::argument::{ArgKind, KernelArg};
use crate::elf::fault;

/// Metadata of one kernel.
#[derive(Default)]
pub(super) struct StatedKernel {
    pub(super) args: Vec<KernelArg>,
    pub(super) kernarg_size: Option<u32>,
    pub(super) group_segment: Option<u32>,
    pub(super) private_segment: Option<u32>,
    pub(super) vector_registers: Option<u32>,
    pub(super) required_block: Option<[u32; 3]>,
    pub(super) max_block: Option<u32>,
    pub(super) uses_dynamic_stack: bool,
}

/// Metadata of the kernels by symbol name, without `.kd` or `@kd`; or the error of one kernel.
pub(super) type StatedKernels = HashMap<String, Result<StatedKernel, Diagnostic>>;

/// Names of keys; an empty name is a key that the version does not have.
struct Keys {
    kernels: &'static str,
    /// Key of the map with the sizes of a kernel; empty if they are in the kernel's own map.
    sizes: &'static str,
    attributes: &'static str,
    name: &'static str,
    args: &'static str,
    arg_name: &'static str,
    kind: &'static str,
    offset: &'static str,
    size: &'static str,
    align: &'static str,
    kernarg_size: &'static str,
    group_segment: &'static str,
    private_segment: &'static str,
    vector_registers: &'static str,
    required_block: &'static str,
    max_block: &'static str,
    dynamic_stack: &'static str,
    wave_lanes: &'static str,
}

const KEYS: Keys = Keys {
    kernels: "amdhsa.kernels",
    sizes: "",
    attributes: "",
    name: ".symbol",
    args: ".args",
    arg_name: ".name",
    kind: ".value_kind",
    offset: ".offset",
    size: ".size",
    align: "",
    kernarg_size: ".kernarg_segment_size",
    group_segment: ".group_segment_fixed_size",
    private_segment: ".private_segment_fixed_size",
    vector_registers: ".vgpr_count",
    required_block: ".reqd_workgroup_size",
    max_block: ".max_flat_workgroup_size",
    dynamic_stack: ".uses_dynamic_stack",
    wave_lanes: ".wavefront_size",
};

const KEYS_V2: Keys = Keys {
    kernels: "Kernels",
    sizes: "CodeProps",
    attributes: "Attrs",
    name: "Name",
    args: "Args",
    arg_name: "Name",
    kind: "ValueKind",
    offset: "",
    size: "Size",
    align: "Align",
    kernarg_size: "KernargSegmentSize",
    group_segment: "GroupSegmentFixedSize",
    private_segment: "PrivateSegmentFixedSize",
    vector_registers: "NumVGPRs",
    required_block: "ReqdWorkGroupSize",
    max_block: "MaxFlatWorkGroupSize",
    dynamic_stack: "",
    wave_lanes: "WavefrontSize",
};

/// Reads the kernels from the metadata at `offset`. `is_v2` selects the names of keys.
pub(super) fn read(offset: u64, root: &Value, is_v2: bool) -> Result<StatedKernels, Diagnostic> {
    let reader = Reader {
        offset,
        keys: if is_v2 { &KEYS_V2 } else { &KEYS },
    };
    let mut kernels = StatedKernels::new();
    if !root.is_map() {
        return Err(reader.fault("", "it is no map"));
    }
    let Some(list) = get(root, reader.keys.kernels) else {
        return Ok(kernels);
    };
    let list = list
        .as_array()
        .ok_or_else(|| reader.fault("", "the kernels are no list"))?;
    for kernel in list {
        let name = get(kernel, reader.keys.name).and_then(Value::as_str);
        let name = name.ok_or_else(|| reader.fault("", "a kernel has no name"))?;
        let name = name.strip_suffix(".kd").unwrap_or(name);
        // The error of one kernel stays with it, so that others of the file can be read.
        let stated = reader.kernel(name, kernel);
        if kernels.insert(name.to_owned(), stated).is_some() {
            return Err(reader.fault(name, "the kernel is there twice"));
        }
    }
    Ok(kernels)
}

/// The value of a key of a map; `None` for the empty key.
fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    let entries = map.as_map()?.iter();
    let mut found = entries.filter(|(name, _)| !key.is_empty() && name.as_str() == Some(key));
    found.next().map(|(_, value)| value)
}

/// Reader of the metadata of a file.
struct Reader {
    offset: u64,
    keys: &'static Keys,
}

impl Reader {
    /// Returns a diagnostic about a kernel, or about the file if the name is empty.
    fn fault(&self, kernel: &str, message: impl std::fmt::Display) -> Diagnostic {
        let name = match kernel {
            "" => String::new(),
            _ => format!(" of kernel {}", kernel.replace(char::is_control, "?")),
        };
        fault(self.offset, format!("the metadata{name}: {message}"))
    }

    /// Reads a kernel.
    fn kernel(&self, name: &str, kernel: &Value) -> Result<StatedKernel, Diagnostic> {
        let keys = self.keys;
        let part = |key: &str| match key {
            "" => Some(kernel),
            key => get(kernel, key),
        };
        let number = |map: Option<&Value>, key: &str| self.number(name, map, key);
        let (sizes, attributes) = (part(keys.sizes), part(keys.attributes));
        let is_true = |key: &str| get(kernel, key).and_then(Value::as_bool) == Some(true);
        if let Some(lanes) = number(sizes, keys.wave_lanes)?.filter(|lanes| *lanes != 64) {
            return Err(self.fault(name, format!("waves have {lanes} lanes, not 64")));
        }
        Ok(StatedKernel {
            args: self.args(name, get(kernel, keys.args))?,
            kernarg_size: number(sizes, keys.kernarg_size)?,
            group_segment: number(sizes, keys.group_segment)?,
            private_segment: number(sizes, keys.private_segment)?,
            vector_registers: number(sizes, keys.vector_registers)?,
            required_block: self.block(name, attributes)?,
            max_block: number(sizes, keys.max_block)?,
            uses_dynamic_stack: is_true(keys.dynamic_stack),
        })
    }

    /// A number of a map; `None` if it is absent.
    fn number(
        &self,
        kernel: &str,
        map: Option<&Value>,
        key: &str,
    ) -> Result<Option<u32>, Diagnostic> {
        let Some(value) = map.and_then(|map| get(map, key)) else {
            return Ok(None);
        };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number {
            Some(number) => Ok(Some(number)),
            None => Err(self.fault(kernel, format!("{key} is no number of 32 bits"))),
        }
    }

    /// Reads the block size that every launch must use.
    fn block(&self, kernel: &str, map: Option<&Value>) -> Result<Option<[u32; 3]>, Diagnostic> {
        let key = self.keys.required_block;
        let Some(value) = map.and_then(|map| get(map, key)) else {
            return Ok(None);
        };
        let sizes: Option<Vec<u32>> = value.as_array().and_then(|sizes| {
            let number = |size: &Value| u32::try_from(size.as_u64()?).ok();
            sizes.iter().map(number).collect()
        });
        match sizes.as_deref() {
            Some(&[x, y, z]) => Ok(Some([x, y, z])),
            _ => Err(self.fault(kernel, format!("{key} is not three numbers"))),
        }
    }

    /// Reads the arguments. Version 2 states alignments instead of offsets. For example, arguments with sizes 4 and 8
    /// and alignments 4 and 8 are at offsets 0 and 8.
    fn args(&self, kernel: &str, list: Option<&Value>) -> Result<Vec<KernelArg>, Diagnostic> {
        let keys = self.keys;
        let Some(list) = list.filter(|list| !list.is_nil()) else {
            return Ok(Vec::new());
        };
        let list = list
            .as_array()
            .ok_or_else(|| self.fault(kernel, "the arguments are no list"))?;
        let mut args: Vec<KernelArg> = Vec::with_capacity(list.len());
        for arg in list {
            let missing = |key: &str| self.fault(kernel, format!("an argument has no {key}"));
            let number = |key: &str| self.number(kernel, Some(arg), key);
            let size = number(keys.size)?.ok_or_else(|| missing(keys.size))?;
            let offset = match keys.offset {
                "" => {
                    let align = number(keys.align)?.ok_or_else(|| missing(keys.align))?;
                    // Version 2 lists the arguments in the order of their offsets, so the previous one is the last in
                    // memory.
                    let end = args.last().map_or(0, |last| last.offset + last.size);
                    end.checked_next_multiple_of(align)
                }
                key => Some(number(key)?.ok_or_else(|| missing(key))?),
            };
            // The check also keeps the sum above within 32 bits.
            let offset = offset.filter(|offset| offset.checked_add(size).is_some());
            let offset =
                offset.ok_or_else(|| self.fault(kernel, "an argument lies beyond 4 GiB"))?;
            let kind = get(arg, keys.kind).and_then(Value::as_str);
            let kind = kind.ok_or_else(|| missing(keys.kind))?;
            let known = match keys.offset {
                "" => ArgKind::from_name(&spelling_of_v3(kind)),
                _ => ArgKind::from_name(kind),
            };
            let kind = known.ok_or_else(|| {
                let kind = kind.replace(char::is_control, "?");
                self.fault(kernel, format!("arguments of kind {kind:?} are not known"))
            })?;
            let name = get(arg, keys.arg_name).and_then(Value::as_str);
            args.push(KernelArg {
                name: name.map(Into::into),
                offset,
                size,
                kind,
            });
        }
        // Later versions may list them in any order.
        args.sort_by_key(|arg| arg.offset);
        Ok(args)
    }
}

/// Name of a kind of arguments of version 2 (`HiddenGlobalOffsetX`) as later versions spell it.
fn spelling_of_v3(name: &str) -> String {
    let mut spelled = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !spelled.is_empty() {
            spelled.push('_');
        }
        spelled.push(c.to_ascii_lowercase());
    }
    // `HiddenMultiGridSyncArg` is the only name that splits a word that later versions do not split.
    spelled.replace("multi_grid", "multigrid")
}

#[cfg(test)]
mod tests {
    use super::spelling_of_v3;

    #[test]
    fn spellings() {
        assert_eq!(spelling_of_v3("ByValue"), "by_value");
        assert_eq!(
            spelling_of_v3("HiddenGlobalOffsetX"),
            "hidden_global_offset_x"
        );
        assert_eq!(
            spelling_of_v3("HiddenMultiGridSyncArg"),
            "hidden_multigrid_sync_arg"
        );
    }
}
