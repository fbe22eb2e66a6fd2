//! Line tables (`.debug_line`, `.nv_debug_line_sass`): their programs, rewritten for new addresses.
//!
//! NVIDIA's records of inlined calls refer to rows by number, so each row of the file becomes exactly one row. Only
//! the operations that change the address are written anew. For example, a special operation that advances 8 bytes
//! and 1 line becomes `ADVANCE_PC`, `ADVANCE_LINE 1`, `COPY`: after insertions, the advance may no longer fit the
//! special form.

use std::collections::BTreeMap;

use warpbound_base::{CodeAddr, Diagnostic};

use crate::code::CodeMap;
use crate::elf::{Fields, fault};

/// Operations of line programs (DWARF 4, 6.2.5).
const EXTENDED: u8 = 0;
const COPY: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const CONST_ADD_PC: u8 = 8;
const FIXED_ADVANCE_PC: u8 = 9;
const END_SEQUENCE: u8 = 1;
const SET_ADDRESS: u8 = 2;

/// Code to which a relocated address of a line table refers.
pub(super) struct Base<'a> {
    /// Value of the symbol in the file that was read, and in the new one.
    pub(super) old_value: u64,
    pub(super) new_value: u64,
    /// New addresses; `None` if the code was not edited.
    pub(super) map: Option<&'a CodeMap>,
}

/// A line table with new addresses.
pub(super) struct MovedLines {
    pub(super) bytes: Vec<u8>,
    /// New offsets of the fields that hold addresses, by their old offsets.
    pub(super) fields: BTreeMap<u64, u64>,
}

/// Moves the addresses of a line table; `bases` are the relocations by offset in the section.
///
/// # Errors
///
/// For a table that cannot be read, and for an address that is not between instructions.
pub(super) fn moved(
    data: &[u8],
    offset: u64,
    bases: &BTreeMap<u64, Base<'_>>,
) -> Result<MovedLines, Diagnostic> {
    let mut out = MovedLines {
        bytes: Vec::with_capacity(data.len()),
        fields: BTreeMap::new(),
    };
    let mut at = 0;
    while at < data.len() {
        let unit = Unit::read(data, at);
        let unit = unit.ok_or_else(|| {
            let at = offset.saturating_add(at as u64);
            fault(at, "a line table cannot be read, so it cannot be moved")
        })?;
        let start = out.bytes.len();
        out.bytes
            .extend(data.get(at..unit.program).unwrap_or_default());
        let end = unit.end;
        let mut program = Program {
            data,
            at: unit.program,
            unit,
            bases,
            base: None,
            old: 0,
            new: 0,
            out: &mut out,
        };
        program.run().ok_or_else(|| {
            let at = offset.saturating_add(program.at as u64);
            fault(at, "a row of the line table cannot be moved")
        })?;
        // The length field itself, 4 bytes, is not counted in it.
        let length = u32::try_from(out.bytes.len() - start - 4).unwrap_or(0);
        if let Some(field) = out.bytes.get_mut(start..start + 4) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        at = end;
    }
    Ok(out)
}

/// Header of a line table.
struct Unit {
    /// First byte of the program, and the byte after it.
    program: usize,
    end: usize,
    // Line programs advance the address by multiples of this number of bytes.
    unit_of_address: u64,
    line_base: i8,
    line_range: u8,
    opcode_base: u8,
    /// Number of operands of each standard operation, beginning with operation 1.
    operands: Vec<u8>,
}

impl Unit {
    /// Reads the header at an offset, for 32-bit DWARF of versions 2 to 4.
    fn read(data: &[u8], at: usize) -> Option<Unit> {
        let fields = Fields(data);
        let length = usize::try_from(fields.u32(at)?).ok()?;
        let end = at.checked_add(4)?.checked_add(length)?;
        let version = fields.u16(at + 4)?;
        if !(2..=4).contains(&version) || end > data.len() {
            return None;
        }
        let header = usize::try_from(fields.u32(at + 6)?).ok()?;
        let program = (at + 10).checked_add(header).filter(|p| *p <= end)?;
        // Version 4 has one more field, the maximum number of operations per instruction.
        let after = at + 10 + usize::from(version == 4);
        let byte = |at: usize| data.get(at).copied();
        let opcode_base = byte(after + 4)?;
        let operands = data.get(after + 5..after + 4 + usize::from(opcode_base.max(1)))?;
        Some(Unit {
            program,
            end,
            unit_of_address: byte(at + 10)?.into(),
            line_base: byte(after + 2)?.cast_signed(),
            line_range: byte(after + 3).filter(|range| *range != 0)?,
            opcode_base,
            operands: operands.to_vec(),
        })
    }
}

/// State of a line program during its rewriting.
struct Program<'a, 'o> {
    data: &'a [u8],
    at: usize,
    unit: Unit,
    bases: &'a BTreeMap<u64, Base<'a>>,
    base: Option<&'a Base<'a>>,
    /// Address register in the file and in the new table.
    old: u64,
    new: u64,
    out: &'o mut MovedLines,
}

impl Program<'_, '_> {
    /// Rewrites all operations; `None` if one cannot be rewritten.
    fn run(&mut self) -> Option<()> {
        while self.at < self.unit.end {
            let start = self.at;
            let opcode = self.byte()?;
            match opcode {
                EXTENDED => self.extended(start)?,
                opcode if opcode >= self.unit.opcode_base => self.special(opcode)?,
                COPY => {
                    self.reach()?;
                    self.out.bytes.push(COPY);
                }
                ADVANCE_PC => {
                    let units = self.unsigned()?;
                    self.advance(units)?;
                }
                CONST_ADD_PC => {
                    // Defined by DWARF as the address advance of special operation 255.
                    let special = u64::from(255 - self.unit.opcode_base);
                    self.advance(special / u64::from(self.unit.line_range))?;
                }
                FIXED_ADVANCE_PC => {
                    // This operation counts bytes, not units of instructions.
                    let bytes = Fields(self.data).u16(self.at)?;
                    self.at += 2;
                    self.old = self.old.checked_add(bytes.into())?;
                }
                // The other standard operations do not change the address, and all their operands are LEB128 numbers.
                _ => {
                    let count = *self.unit.operands.get(usize::from(opcode) - 1)?;
                    for _ in 0..count {
                        self.unsigned()?;
                    }
                    self.copy_from(start);
                }
            }
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.data.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    /// Reads a number in unsigned LEB128.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        // Ten bytes hold 64 bits, so a longer number is damaged.
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Copies the bytes from `start` up to here.
    fn copy_from(&mut self, start: usize) {
        let bytes = self.data.get(start..self.at).unwrap_or_default();
        self.out.bytes.extend(bytes);
    }

    /// Advances the old address by units of instructions.
    fn advance(&mut self, units: u64) -> Option<()> {
        let bytes = units.checked_mul(self.unit.unit_of_address)?;
        self.old = self.old.checked_add(bytes)?;
        Some(())
    }

    /// New address for an address of the file, both relative to the symbol.
    fn moved(&self, old: u64) -> Option<u64> {
        let Some(Base {
            old_value,
            new_value,
            map: Some(map),
        }) = self.base
        else {
            // The code was not edited, or has no relocation: the address stays.
            return Some(old);
        };
        let old = CodeAddr(u32::try_from(old.checked_add(*old_value)?).ok()?);
        // The boundary, so that inserted code belongs to the row of the instruction after it.
        u64::from(map.boundary(old)?.0).checked_sub(*new_value)
    }

    /// Writes an advance of the address register to the new address.
    fn reach(&mut self) -> Option<()> {
        let new = self.moved(self.old)?;
        // `ADVANCE_PC` has no sign, so a row that goes back cannot be written.
        let bytes = new.checked_sub(self.new)?;
        self.new = new;
        let unit = self.unit.unit_of_address;
        // No advance can be written then, and none is needed if the address stays.
        if unit == 0 || !bytes.is_multiple_of(unit) {
            return (bytes == 0).then_some(());
        }
        if bytes != 0 {
            self.out.bytes.push(ADVANCE_PC);
            write_unsigned(&mut self.out.bytes, bytes / unit);
        }
        Some(())
    }

    /// Rewrites an operation that advances address and line and then makes a row.
    fn special(&mut self, opcode: u8) -> Option<()> {
        let adjusted = opcode - self.unit.opcode_base;
        self.advance((adjusted / self.unit.line_range).into())?;
        let line = i64::from(self.unit.line_base) + i64::from(adjusted % self.unit.line_range);
        self.reach()?;
        if line != 0 {
            self.out.bytes.push(ADVANCE_LINE);
            write_signed(&mut self.out.bytes, line);
        }
        self.out.bytes.push(COPY);
        Some(())
    }

    /// Rewrites an extended operation that began at `start`.
    fn extended(&mut self, start: usize) -> Option<()> {
        let length = usize::try_from(self.unsigned()?).ok()?;
        let contents = self.at;
        let end = contents
            .checked_add(length)
            .filter(|end| *end <= self.unit.end)?;
        match self.data.get(contents).copied() {
            Some(END_SEQUENCE) => {
                self.reach()?;
                self.at = end;
                self.copy_from(start);
                // DWARF resets the registers at the end of a sequence.
                (self.old, self.new, self.base) = (0, 0, None);
            }
            // One byte for the operation and eight for the address.
            Some(SET_ADDRESS) if length == 9 => {
                self.old = Fields(self.data).u64(contents + 1)?;
                let field = (contents + 1) as u64;
                self.base = self.bases.get(&field);
                self.new = self.moved(self.old)?;
                let head = self.data.get(start..contents + 1).unwrap_or_default();
                self.out.bytes.extend(head);
                self.out.fields.insert(field, self.out.bytes.len() as u64);
                self.out.bytes.extend(self.new.to_le_bytes());
                self.at = end;
            }
            _ => {
                self.at = end;
                self.copy_from(start);
            }
        }
        Some(())
    }
}

/// Writes a number in unsigned LEB128.
fn write_unsigned(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

/// Writes a number in signed LEB128.
fn write_signed(out: &mut Vec<u8>, mut value: i64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        // Bit 6 of the last byte is the sign, so it must agree with the remaining bits.
        let is_last = (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0);
        if is_last {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}
