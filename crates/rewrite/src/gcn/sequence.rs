//! Instructions of GCN3 for insertion.

use warpbound_base::CodeAddr;
use warpbound_isa::amd::{Encoding, GcnModifiers, GcnOpcode, GcnValue, GcnView};

/// Instruction to insert.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewGcnInstr {
    /// First dword in the low half, second one or 0 in the high half.
    pub word: u64,
    /// Number of bytes: 4 or 8.
    pub bytes: u8,
    /// Distance that becomes the literal of the instruction.
    pub(super) distance: Option<LiteralDistance>,
}

/// Half of the distance from the end of an instruction to an address of the loaded file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LiteralDistance {
    /// Index of the instruction (`s_getpc_b64`) among those that are inserted together.
    pub(super) from: usize,
    /// Address in the loaded file.
    pub(super) to: u64,
    /// Whether this is the high half.
    pub(super) is_high: bool,
}

/// Appends instructions; their distances still start at the same instructions.
pub(super) fn append(list: &mut Vec<NewGcnInstr>, instrs: Vec<NewGcnInstr>) {
    let before = list.len();
    list.extend(instrs.into_iter().map(|mut instr| {
        if let Some(distance) = &mut instr.distance {
            distance.from += before;
        }
        instr
    }));
}

/// Sequence of instructions for an insertion. One instruction without an encoding makes the whole sequence invalid.
#[derive(Clone, Default, Debug)]
pub(super) struct GcnSequence {
    instrs: Vec<NewGcnInstr>,
    is_invalid: bool,
}

impl GcnSequence {
    /// Appends an instruction.
    pub(super) fn push(&mut self, opcode: GcnOpcode, encoding: Encoding, values: &[GcnValue]) {
        self.push_with(opcode, encoding, values, None);
    }

    /// Appends an instruction whose literal is a distance.
    pub(super) fn push_with(
        &mut self,
        opcode: GcnOpcode,
        encoding: Encoding,
        values: &[GcnValue],
        distance: Option<LiteralDistance>,
    ) {
        let view = GcnView::new(opcode, encoding, values, GcnModifiers::default());
        // Instructions of probes do not name code addresses, so the address of the encoding does not matter.
        match view.and_then(|view| view.encode(CodeAddr(0))) {
            Some((word, bytes)) => self.instrs.push(NewGcnInstr {
                word,
                bytes,
                distance,
            }),
            None => self.is_invalid = true,
        }
    }

    /// Number of instructions.
    pub(super) fn len(&self) -> usize {
        self.instrs.len()
    }

    /// Returns the instructions, or `None` if one of them has no encoding.
    pub(super) fn finish(self) -> Option<Vec<NewGcnInstr>> {
        (!self.is_invalid).then_some(self.instrs)
    }
}

impl NewGcnInstr {
    /// Creates an instruction from a view without code addresses; `None` if it has no encoding.
    pub fn of_view(view: &GcnView) -> Option<NewGcnInstr> {
        let (word, bytes) = view.encode(CodeAddr(0))?;
        Some(NewGcnInstr {
            word,
            bytes,
            distance: None,
        })
    }
}
