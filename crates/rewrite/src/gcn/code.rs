//! Code section with its insertions: the places of instructions, and their bytes with new distances.
//!
//! For example, a body of 8 bytes inserted before address 0x10 moves the instruction there to 0x18, but jumps to 0x10
//! still lead to 0x10, where the body now begins.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_isa::BranchTarget;
use warpbound_isa::amd::{GcnFlow, GcnInstr, GcnOpcode, GcnProgram, GcnValue};

use super::sequence::NewGcnInstr;
use super::{CodeObjectRewriter, InsertedGcn};

/// Alignment of the first instruction of a kernel in bytes. The hardware register holds the address without its low
/// 8 bits (LLVM, "Kernel Descriptor").
const ENTRY_ALIGNMENT: u32 = 256;

/// `s_nop 0`.
const PADDING: u32 = 0xbf80_0000;

/// New places of instructions, relative to the code section.
#[derive(Clone, Debug)]
pub(super) struct NewPlaces {
    /// Place to which jumps lead, by the old address of the instruction; one more entry stands for the end of the
    /// code.
    labels: BTreeMap<u32, u32>,
    /// Place where the waves of a kernel start, by the old address of its first instruction.
    starts: BTreeMap<u32, u32>,
    /// End of the instruction before a kernel, without padding and insertions, by the same address as `starts`.
    ends: BTreeMap<u32, u32>,
    /// Bytes of the new code.
    pub(super) size: u32,
    /// Whether nothing moves.
    pub(super) is_identity: bool,
}

impl NewPlaces {
    /// Lays the code out.
    pub(super) fn of(rewriter: &CodeObjectRewriter<'_>) -> Result<NewPlaces, Diagnostic> {
        let entries: BTreeSet<u32> = rewriter.kernels.iter().map(|k| k.entry.0).collect();
        let (mut labels, mut starts) = (BTreeMap::new(), BTreeMap::new());
        let mut ends = BTreeMap::new();
        let mut at = 0u32;
        let mut end = 0;
        let too_long = || Diagnostic::new("the code would be longer than 4 GiB");
        for instr in &rewriter.program.instrs {
            let inserted = rewriter.inserted.get(&instr.addr);
            if entries.contains(&instr.addr.0) {
                // Recorded before the padding, so that the function before the kernel does not grow by it.
                ends.insert(instr.addr.0, at);
                at = at
                    .checked_next_multiple_of(ENTRY_ALIGNMENT)
                    .ok_or_else(too_long)?;
                starts.insert(instr.addr.0, at);
            }
            let of = |part: fn(&InsertedGcn) -> &Vec<NewGcnInstr>| {
                inserted.map_or(0, |inserted| length(part(inserted)))
            };
            // The prologue comes before the label, because only waves that start here execute it.
            at = at.checked_add(of(|i| &i.prologue)).ok_or_else(too_long)?;
            labels.insert(instr.addr.0, at);
            let own = of(|i| &i.body).checked_add(instr.bytes.into());
            at = own
                .and_then(|own| at.checked_add(own))
                .ok_or_else(too_long)?;
            end = instr.addr.0 + u32::from(instr.bytes);
        }
        labels.insert(end, at);
        // Alignment alone may move code, even if nothing is inserted.
        let is_identity = rewriter.inserted.is_empty() && at == end;
        Ok(NewPlaces {
            labels,
            starts,
            ends,
            size: at,
            is_identity,
        })
    }

    /// New place of an instruction, or of the end of the code; `None` inside an instruction.
    pub(super) fn label(&self, addr: u32) -> Option<u32> {
        self.labels.get(&addr).copied()
    }

    /// New end of the code that ended at an address.
    pub(super) fn end(&self, addr: u32) -> Option<u32> {
        self.ends.get(&addr).copied().or_else(|| self.label(addr))
    }

    /// New start of the waves of a kernel, given its first instruction.
    pub(super) fn start(&self, entry: u32) -> Option<u32> {
        self.starts.get(&entry).copied()
    }
}

pub(super) fn length(instrs: &[NewGcnInstr]) -> u32 {
    instrs.iter().map(|instr| u32::from(instr.bytes)).sum()
}

/// Writes the code for a new address of the loaded file.
pub(super) fn write(
    rewriter: &CodeObjectRewriter<'_>,
    places: &NewPlaces,
    address: u64,
) -> Result<Vec<u8>, Diagnostic> {
    let program = &rewriter.program;
    let targets = branch_targets(program);
    let mut out = Vec::with_capacity(places.size as usize);
    // The additions follow their `s_getpc_b64`, so their new literals are known before they are written.
    let mut literals: BTreeMap<usize, u32> = BTreeMap::new();
    for (index, instr) in program.instrs.iter().enumerate() {
        let inserted = rewriter.inserted.get(&instr.addr);
        if let Some(start) = places.start(instr.addr.0) {
            while out.len() < start as usize {
                out.extend_from_slice(&PADDING.to_le_bytes());
            }
        }
        if let Some(inserted) = inserted {
            write_inserted(&inserted.prologue, address, &mut out)?;
            write_inserted(&inserted.body, address, &mut out)?;
        }
        // Without a move every address stays right, so also one that cannot be proven is no reason to refuse.
        if instr.opcode() == Some(GcnOpcode::SGetpcB64) && !places.is_identity {
            let old = computed_address(rewriter, index, &targets)?;
            let target = new_address(rewriter, places, address, old)
                .ok_or_else(|| unproven(instr, "it computes an address inside an instruction"))?;
            // `s_getpc_b64` has 4 bytes and gives the address of the next instruction.
            let after = out.len() as u64 + 4;
            // Distances may be negative, so sums wrap, as the additions of the code do.
            let distance = target.wrapping_sub(address.wrapping_add(after));
            literals.insert(index + 1, distance as u32);
            literals.insert(index + 2, (distance >> 32) as u32);
        }
        let word = match literals.get(&index) {
            Some(literal) => with_literal(instr, *literal)?,
            None => retargeted(instr, places, out.len())?,
        };
        let bytes = word.to_le_bytes();
        out.extend(bytes.iter().take(instr.bytes.into()));
    }
    Ok(out)
}

/// Writes inserted instructions, and computes the literals of distances.
fn write_inserted(
    instrs: &[NewGcnInstr],
    address: u64,
    out: &mut Vec<u8>,
) -> Result<(), Diagnostic> {
    let begin = out.len() as u64;
    for instr in instrs {
        let mut word = instr.word;
        if let Some(distance) = instr.distance {
            let before = instrs.get(..=distance.from).map(length);
            let before = before.ok_or_else(|| Diagnostic::new("a distance without a start"))?;
            let anchor = address.wrapping_add(begin).wrapping_add(before.into());
            let value = distance.to.wrapping_sub(anchor);
            let half = if distance.is_high { value >> 32 } else { value };
            word = word & u64::from(u32::MAX) | half << 32;
        }
        out.extend(word.to_le_bytes().iter().take(instr.bytes.into()));
    }
    Ok(())
}

/// Addresses to which branches with a constant distance lead.
fn branch_targets(program: &GcnProgram) -> BTreeSet<CodeAddr> {
    let targets = program
        .instrs
        .iter()
        .filter_map(|instr| match instr.effects().flow {
            GcnFlow::Jump(BranchTarget::Code(to)) => Some(to),
            GcnFlow::Branch(_, BranchTarget::Code(to)) => Some(to),
            _ => None,
        });
    targets.collect()
}

fn unproven(instr: &GcnInstr, reason: &str) -> Diagnostic {
    let name = instr.opcode().map_or("a word", |opcode| opcode.name());
    Diagnostic::new(format!("{name} cannot be moved: {reason}")).at(instr.addr)
}

/// Addresses of the loaded file that the code computes, each with the instruction that begins the computation.
pub(super) fn computed_addresses(
    rewriter: &CodeObjectRewriter<'_>,
) -> Result<Vec<(CodeAddr, u64)>, Diagnostic> {
    let targets = branch_targets(&rewriter.program);
    let instrs = rewriter.program.instrs.iter().enumerate();
    let begins = instrs.filter(|(_, instr)| instr.opcode() == Some(GcnOpcode::SGetpcB64));
    let addresses = begins.map(|(index, instr)| {
        let address = computed_address(rewriter, index, &targets)?;
        Ok((instr.addr, address))
    });
    addresses.collect()
}

/// Address of the loaded file that `s_getpc_b64` and the next two instructions compute. For example, with
/// `s_add_u32 s4, s4, 0x20` and `s_addc_u32 s5, s5, 0` after it, it is 0x20 bytes after the start of the first
/// addition.
fn computed_address(
    rewriter: &CodeObjectRewriter<'_>,
    index: usize,
    targets: &BTreeSet<CodeAddr>,
) -> Result<u64, Diagnostic> {
    let instrs = &rewriter.program.instrs;
    let (Some(first), Some(low), Some(high)) = (
        instrs.get(index),
        instrs.get(index + 1),
        instrs.get(index + 2),
    ) else {
        return Err(Diagnostic::new("the code ends after s_getpc_b64"));
    };
    let refuse = || {
        unproven(
            first,
            "the two instructions after it do not add a constant distance to both words",
        )
    };
    let view = first.view().ok_or_else(refuse)?;
    let pair = match view.operands.first().map(|operand| operand.value) {
        Some(GcnValue::Scalar(pair)) => pair,
        _ => return Err(refuse()),
    };
    let low_word = added(low, GcnOpcode::SAddU32, pair).ok_or_else(refuse)?;
    let high_word = added(high, GcnOpcode::SAddcU32, pair.wrapping_add(1)).ok_or_else(refuse)?;
    // A jump to one of the additions would add to another base, and an insertion would change the base.
    for inner in [low, high] {
        if targets.contains(&inner.addr) || rewriter.inserted.contains_key(&inner.addr) {
            return Err(unproven(
                first,
                "a jump or an insertion separates it from its distance",
            ));
        }
    }
    let anchor = first.addr.0.saturating_add(4);
    let base = rewriter.object.text().address.wrapping_add(anchor.into());
    let distance = u64::from(high_word) << 32 | u64::from(low_word);
    Ok(base.wrapping_add(distance))
}

/// Returns the constant that an instruction adds to a register.
fn added(instr: &GcnInstr, opcode: GcnOpcode, register: u8) -> Option<u32> {
    let view = instr.view().filter(|view| view.opcode == opcode)?;
    let [to, first, second] = view.operands.as_slice() else {
        return None;
    };
    let own = GcnValue::Scalar(register);
    // Addition is commutative, so the constant may be on either side.
    let constant = match (to.value == own, first.value == own, second.value == own) {
        (true, true, false) => second.value,
        (true, false, true) => first.value,
        _ => return None,
    };
    match constant {
        GcnValue::Literal(literal) => Some(literal),
        // Inline constants are sign-extended.
        GcnValue::Int(number) => Some(number as u32),
        _ => None,
    }
}

/// New address of a place in the loaded file; `None` inside an instruction.
pub(super) fn new_address(
    rewriter: &CodeObjectRewriter<'_>,
    places: &NewPlaces,
    address: u64,
    old: u64,
) -> Option<u64> {
    let text = rewriter.object.text();
    match old.checked_sub(text.address) {
        // The end of the code has a label as well.
        Some(offset) if offset <= text.size => {
            let label = places.label(u32::try_from(offset).ok()?)?;
            Some(address.wrapping_add(label.into()))
        }
        // Only code moves.
        _ => Some(old),
    }
}

/// Returns the word of an addition with another constant of the same length.
fn with_literal(instr: &GcnInstr, literal: u32) -> Result<u64, Diagnostic> {
    if instr.bytes == 8 {
        return Ok(instr.word & u64::from(u32::MAX) | u64::from(literal) << 32);
    }
    let view = instr.view();
    let operands = view.as_ref().map(|view| view.operands.as_slice());
    // A constant inside the first dword has few values, and a longer encoding would move the code after it.
    let mut constants = operands.unwrap_or_default().iter();
    match constants.any(|operand| operand.value == GcnValue::Int(literal as i32)) {
        true => Ok(instr.word),
        false => Err(unproven(instr, "its new distance needs a literal")),
    }
}

/// Returns the word of an instruction at a new place, with its branch target moved.
fn retargeted(instr: &GcnInstr, places: &NewPlaces, at: usize) -> Result<u64, Diagnostic> {
    let Some(mut view) = instr.view() else {
        return Ok(instr.word);
    };
    let is_branch = matches!(instr.effects().flow, GcnFlow::Jump(_) | GcnFlow::Branch(..));
    let mut is_changed = false;
    for operand in &mut view.operands {
        let GcnValue::Target(target) = &mut operand.value else {
            continue;
        };
        // Without a move every target stays right, whatever the instruction does with it.
        if !is_branch && !places.is_identity {
            return Err(unproven(
                instr,
                "what it does with its target is not modelled",
            ));
        }
        let BranchTarget::Code(old) = *target else {
            return Err(unproven(instr, "its target is outside the code"));
        };
        let label = places.label(old.0);
        let label = label.ok_or_else(|| unproven(instr, "its target is no instruction"))?;
        *target = BranchTarget::Code(CodeAddr(label));
        is_changed = true;
    }
    if !is_changed {
        return Ok(instr.word);
    }
    // A position that does not fit makes the distance too large to encode.
    let addr = CodeAddr(u32::try_from(at).unwrap_or(u32::MAX));
    match view.encode(addr) {
        Some((word, bytes)) if bytes == instr.bytes => Ok(word),
        _ => Err(unproven(instr, "its target is too far away")),
    }
}
