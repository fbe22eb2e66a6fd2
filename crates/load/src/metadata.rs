//! Interpretation of the attributes that describe one kernel (`.nv.info.<kernel>`). For example, `EXIT_INSTR_OFFSETS`
//! becomes a list of code addresses, each checked to be the address of an instruction.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpbound_base::{CodeAddr, Diagnostic};

use crate::attribute::{self as eiattr, Attribute};
use crate::elf::Elf;

/// One kernel parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Position in the parameter list, from 0.
    pub ordinal: u16,
    /// Byte offset from the start of the parameter block.
    pub offset: u16,
    /// Size in bytes.
    pub size: u16,
}

/// Location of the parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamBlock {
    /// Constant bank number.
    pub bank: u8,
    /// Byte offset of the first parameter in the bank.
    pub offset: u16,
    /// Size of all parameters in bytes.
    pub size: u16,
}

/// One indirect branch (SYNC, BRK, BRX, and indirect calls) as the
/// compiler recorded it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndirectBranch {
    /// Address of the instruction.
    pub at: CodeAddr,
    /// Branch or call.
    pub kind: IndirectKind,
    /// Possible targets, in the order of the file. Empty for a call, whose targets are not recorded.
    pub targets: Vec<CodeAddr>,
}

/// Kinds of indirect branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndirectKind {
    /// A branch; its targets are listed.
    Branch,
    /// A call through a pointer or into the system.
    Call,
    /// A kind whose meaning is not known here.
    Unknown(u32),
}

/// Sizes of a kernel's code in bytes.
#[derive(Clone, Copy)]
pub(crate) struct CodeSizes {
    /// Size of the code section.
    pub(crate) section: u32,
    /// Size of an instruction.
    pub(crate) instruction: u32,
}

/// The contents of `.nv.info.<kernel>`.
#[derive(Default)]
pub(crate) struct Metadata {
    pub(crate) params: Vec<Param>,
    pub(crate) param_bank: Option<ParamBank>,
    pub(crate) required_block: Option<[u32; 3]>,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_cluster: Option<[u32; 3]>,
    pub(crate) max_cluster_blocks: Option<u32>,
    /// `NUM_BARRIERS`.
    pub(crate) barriers: Option<Attribute>,
    pub(crate) exits: Vec<CodeAddr>,
    pub(crate) ctaid_reads: Vec<CodeAddr>,
    pub(crate) system_calls: Vec<CodeAddr>,
    pub(crate) uses_ctaid_z: bool,
    pub(crate) indirect_branches: Vec<IndirectBranch>,
    pub(crate) crs_stack_size: Option<u32>,
    pub(crate) register_limit: Option<u16>,
    pub(crate) externs: Vec<Arc<str>>,
    pub(crate) others: Vec<Attribute>,
}

/// `PARAM_CBANK`: location of the parameters; the symbol of its section names the bank.
pub(crate) struct ParamBank {
    /// Symbol index.
    pub(crate) symbol: u32,
    /// Byte offset in the bank.
    pub(crate) offset: u16,
    /// Size in bytes.
    pub(crate) size: u16,
    /// The record itself, for diagnostics.
    pub(crate) record: Attribute,
}

impl Metadata {
    /// Reads the attributes of a kernel with this code.
    pub(crate) fn read(
        elf: &Elf<'_>,
        attributes: &[Attribute],
        code: CodeSizes,
    ) -> Result<Metadata, Diagnostic> {
        let mut metadata = Metadata::default();
        // Compilers list parameters in descending order; the map sorts them by ordinal.
        let mut params = BTreeMap::new();
        let mut params_size = None;
        for attribute in attributes {
            match attribute.code {
                eiattr::KPARAM_INFO | eiattr::KPARAM_INFO_V2 => {
                    let param = param(attribute)?;
                    if params.insert(param.ordinal, param).is_some() {
                        return Err(attribute.fault(format_args!(
                            "parameter {} is described twice",
                            param.ordinal
                        )));
                    }
                }
                eiattr::PARAM_CBANK => {
                    if metadata.param_bank.is_some() {
                        return Err(attribute.fault("appears twice"));
                    }
                    let [symbol, place] = attribute.exact_words()?;
                    let (offset, size) = halves(place);
                    metadata.param_bank = Some(ParamBank {
                        symbol,
                        offset,
                        size,
                        record: attribute.clone(),
                    });
                }
                eiattr::CBANK_PARAM_SIZE => {
                    let size = attribute.half()?;
                    set_once(&mut params_size, size, attribute)?;
                }
                eiattr::REQNTID
                | eiattr::MAX_THREADS
                | eiattr::CTA_PER_CLUSTER
                | eiattr::MAX_CLUSTER_RANK => metadata.read_launch_limit(attribute)?,
                eiattr::NUM_BARRIERS => {
                    let earlier = metadata.barriers.replace(attribute.clone());
                    if earlier.is_some_and(|earlier| earlier.payload != attribute.payload) {
                        return Err(attribute.fault("contradicts an earlier one"));
                    }
                }
                eiattr::EXIT_INSTR_OFFSETS => {
                    metadata.exits.extend(addresses(attribute, code)?);
                }
                eiattr::S2RCTAID_INSTR_OFFSETS => {
                    metadata.ctaid_reads.extend(addresses(attribute, code)?);
                }
                eiattr::SYSCALL_OFFSETS => {
                    metadata.system_calls.extend(addresses(attribute, code)?);
                }
                eiattr::CTAIDZ_USED => metadata.uses_ctaid_z = true,
                eiattr::INDIRECT_BRANCH_TARGETS => {
                    metadata
                        .indirect_branches
                        .extend(indirect_branches(attribute, code)?);
                }
                eiattr::CRS_STACK_SIZE => {
                    let [size] = attribute.exact_words()?;
                    // The maximum of several statements is safe, because the size is an amount of memory that
                    // suffices.
                    metadata.crs_stack_size = metadata.crs_stack_size.max(Some(size));
                }
                eiattr::MAXREG_COUNT => {
                    let limit = attribute.half()?;
                    metadata.register_limit = metadata.register_limit.max(Some(limit));
                }
                eiattr::EXTERNS => metadata.externs.extend(symbol_names(elf, attribute)?),
                _ => metadata.others.push(attribute.clone()),
            }
        }
        metadata.params = params.into_values().collect();
        metadata.check_params(params_size)?;
        Ok(metadata)
    }

    /// Reads an attribute that limits the sizes of launches.
    fn read_launch_limit(&mut self, attribute: &Attribute) -> Result<(), Diagnostic> {
        let sizes = match attribute.code {
            eiattr::REQNTID => &mut self.required_block,
            eiattr::CTA_PER_CLUSTER => &mut self.required_cluster,
            eiattr::MAX_CLUSTER_RANK => {
                let [blocks] = attribute.exact_words()?;
                return set_once(&mut self.max_cluster_blocks, blocks, attribute);
            }
            _ => &mut self.max_threads,
        };
        set_once(sizes, attribute.exact_words()?, attribute)
    }

    /// Checks that both records of the total size of the parameters agree, and that every parameter lies within it.
    fn check_params(&self, stated_size: Option<u16>) -> Result<(), Diagnostic> {
        let Some(bank) = &self.param_bank else {
            // Without the block there is no size to compare the parameters with.
            return Ok(());
        };
        let size = bank.size;
        if let Some(stated) = stated_size.filter(|stated| *stated != size) {
            return Err(bank.record.fault(format_args!(
                "the parameters take {size} bytes, but {stated} by CBANK_PARAM_SIZE"
            )));
        }
        let outside = self
            .params
            .iter()
            .find(|param| u32::from(param.offset) + u32::from(param.size) > u32::from(size));
        match outside {
            Some(param) => Err(bank.record.fault(format_args!(
                "parameter {} of {} bytes at offset {} lies outside the block of {size} bytes",
                param.ordinal, param.size, param.offset
            ))),
            None => Ok(()),
        }
    }
}

/// Stores a value that a file may state once; a second, different value is a contradiction.
fn set_once<T: PartialEq>(
    slot: &mut Option<T>,
    value: T,
    attribute: &Attribute,
) -> Result<(), Diagnostic> {
    match slot {
        Some(old) if *old != value => Err(attribute.fault("contradicts an earlier one")),
        _ => {
            *slot = Some(value);
            Ok(())
        }
    }
}

/// Decodes a `KPARAM_INFO` record, or the second version of it, which compilers write for kernels with more than 4 KiB
/// of parameters (experiment: NVRTC 12.9 and 13.5).
fn param(attribute: &Attribute) -> Result<Param, Diagnostic> {
    let [_index, position, shape] = attribute.exact_words()?;
    let (ordinal, offset) = halves(position);
    let size = match attribute.code {
        // Bits 15:0; the high bits have another meaning (0x05 in bits 31:24 of pointers on sm_120).
        eiattr::KPARAM_INFO_V2 => halves(shape).0,
        // The size is in bits 31:18.
        _ => halves(shape).1 >> 2,
    };
    Ok(Param {
        ordinal,
        offset,
        size,
    })
}

/// The low and the high half of a word.
fn halves(word: u32) -> (u16, u16) {
    let [a, b, c, d] = word.to_le_bytes();
    (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
}

/// Checks that an instruction address lies inside the code.
fn address(attribute: &Attribute, word: u32, code: CodeSizes) -> Result<CodeAddr, Diagnostic> {
    let code_size = code.section;
    if word < code_size && word.is_multiple_of(code.instruction) {
        Ok(CodeAddr(word))
    } else {
        Err(attribute.fault(format_args!(
            "0x{word:x} is not the address of an instruction (the code has 0x{code_size:x} bytes)"
        )))
    }
}

/// Decodes a list of instruction addresses.
fn addresses(attribute: &Attribute, code: CodeSizes) -> Result<Vec<CodeAddr>, Diagnostic> {
    attribute
        .words()?
        .into_iter()
        .map(|word| address(attribute, word, code))
        .collect()
}

/// Parses branch records of four-byte words: instruction address, kind (0 branch, 1 call; experiment with
/// `cuobjdump -elf`), count, as many target addresses.
fn indirect_branches(
    attribute: &Attribute,
    code: CodeSizes,
) -> Result<Vec<IndirectBranch>, Diagnostic> {
    let words = attribute.words()?;
    let mut rest = words.as_slice();
    let mut branches = Vec::new();
    while let [at, kind, count, tail @ ..] = rest {
        // The count comes from the file: it may only take words that exist.
        let targets = usize::try_from(*count)
            .ok()
            .and_then(|count| tail.split_at_checked(count));
        let Some((targets, tail)) = targets else {
            return Err(attribute.fault(format_args!(
                "a branch claims {count} targets, more than there are"
            )));
        };
        branches.push(IndirectBranch {
            at: address(attribute, *at, code)?,
            kind: match kind {
                0 => IndirectKind::Branch,
                1 => IndirectKind::Call,
                other => IndirectKind::Unknown(*other),
            },
            targets: targets
                .iter()
                .map(|word| address(attribute, *word, code))
                .collect::<Result<_, _>>()?,
        });
        rest = tail;
    }
    if rest.is_empty() {
        Ok(branches)
    } else {
        Err(attribute.fault("the last branch is cut short"))
    }
}

/// Decodes a list of symbol indices to names.
fn symbol_names(elf: &Elf<'_>, attribute: &Attribute) -> Result<Vec<Arc<str>>, Diagnostic> {
    attribute
        .words()?
        .into_iter()
        .map(|index| {
            usize::try_from(index)
                .ok()
                .and_then(|index| elf.symbols.get(index))
                .map(|symbol| Arc::clone(&symbol.name))
                .ok_or_else(|| attribute.fault(format_args!("symbol {index} does not exist")))
        })
        .collect()
}
