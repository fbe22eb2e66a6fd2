//! Formats of GCN3 and the bits of their fields (AMD "Graphics Core Next Architecture, Generation 3", chapter 13).
//!
//! For example, `s_add_u32 s0, s1, s2` is the dword 0x80000201 in format SOP2: bits 31:30 are the format, 29:23 the
//! opcode 0, 22:16 `s0`, 15:8 `s2`, 7:0 `s1`.

use warpbound_base::BitRange;

/// Format of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Encoding {
    /// Scalar, two sources.
    Sop2,
    /// Scalar, constant of 16 bits.
    Sopk,
    /// Scalar, one source.
    Sop1,
    /// Scalar comparison.
    Sopc,
    /// Program control.
    Sopp,
    /// Scalar memory.
    Smem,
    /// Vector, two sources; perhaps with SDWA or DPP.
    Vop2,
    /// Vector, one source; perhaps with SDWA or DPP.
    Vop1,
    /// Vector comparison into VCC; perhaps with SDWA.
    Vopc,
    /// Vector, up to three sources, 8 bytes.
    Vop3a,
    /// As [`Encoding::Vop3a`], with a second, scalar, destination.
    Vop3b,
    /// Interpolation of attributes.
    Vintrp,
    /// LDS and GDS.
    Ds,
    /// Flat memory.
    Flat,
    /// Untyped buffer.
    Mubuf,
    /// Typed buffer.
    Mtbuf,
    /// Image.
    Mimg,
    /// Export.
    Exp,
}

impl Encoding {
    /// Format of a first dword, [`Encoding::Vop3a`] for both formats of VOP3. `None` if its fixed bits belong to no
    /// format.
    pub(crate) fn of_word(word: u32) -> Option<Encoding> {
        let encoding = match (word >> 23, word >> 26) {
            // SOP1, SOPC and SOPP begin with the prefix of SOPK, and SOPK begins with the prefix of SOP2: the longest
            // one is tested first.
            (0x17d, _) => Encoding::Sop1,
            (0x17e, _) => Encoding::Sopc,
            (0x17f, _) => Encoding::Sopp,
            (top, _) if top >> 5 == 0b1011 => Encoding::Sopk,
            (top, _) if top >> 7 == 0b10 => Encoding::Sop2,
            (top, _) if top >> 2 == 0x3f => Encoding::Vop1,
            (top, _) if top >> 2 == 0x3e => Encoding::Vopc,
            // VOP1 and VOPC are the two highest opcodes of VOP2, so they are tested above.
            (top, _) if top >> 8 == 0 => Encoding::Vop2,
            (_, 0b110000) => Encoding::Smem,
            (_, 0b110001) => Encoding::Exp,
            (_, 0b110100) => Encoding::Vop3a,
            (_, 0b110101) => Encoding::Vintrp,
            (_, 0b110110) => Encoding::Ds,
            (_, 0b110111) => Encoding::Flat,
            (_, 0b111000) => Encoding::Mubuf,
            (_, 0b111010) => Encoding::Mtbuf,
            (_, 0b111100) => Encoding::Mimg,
            _ => return None,
        };
        Some(encoding)
    }

    /// Bits of the opcode in the first dword. Exports have no opcode; their fixed bits are used instead.
    pub(crate) fn opcode(self) -> BitRange {
        let (hi, lo) = match self {
            Encoding::Sop2 => (29, 23),
            Encoding::Sopk => (27, 23),
            Encoding::Sop1 => (15, 8),
            Encoding::Sopc | Encoding::Sopp => (22, 16),
            Encoding::Smem => (25, 18),
            Encoding::Vop2 => (30, 25),
            Encoding::Vop1 => (16, 9),
            Encoding::Vopc | Encoding::Ds => (24, 17),
            Encoding::Vop3a | Encoding::Vop3b => (25, 16),
            Encoding::Vintrp => (17, 16),
            Encoding::Flat | Encoding::Mubuf | Encoding::Mimg => (24, 18),
            Encoding::Mtbuf => (18, 15),
            Encoding::Exp => (31, 26),
        };
        BitRange { hi, lo }
    }

    /// Bits of a field; bits of the second dword are numbered from 32. `None` if the format has no such field.
    pub(crate) fn field(self, name: &str) -> Option<BitRange> {
        let fields: &[(&str, u8, u8)] = match self {
            Encoding::Sop2 | Encoding::Sop1 | Encoding::Sopc | Encoding::Sopp | Encoding::Sopk => {
                SCALAR
            }
            Encoding::Smem => SMEM,
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => VECTOR,
            Encoding::Vop3a | Encoding::Vop3b => VOP3,
            Encoding::Vintrp => VINTRP,
            Encoding::Ds => DS,
            Encoding::Flat => FLAT,
            Encoding::Mubuf => MUBUF,
            Encoding::Mtbuf => MTBUF,
            Encoding::Mimg => MIMG,
            Encoding::Exp => EXP,
        };
        let (_, hi, lo) = *fields.iter().find(|(known, ..)| *known == name)?;
        Some(BitRange { hi, lo })
    }
}

const SCALAR: &[(&str, u8, u8)] = &[
    ("sdst", 22, 16),
    ("ssrc1", 15, 8),
    ("ssrc0", 7, 0),
    ("simm16", 15, 0),
    ("imm32", 63, 32),
];

const SMEM: &[(&str, u8, u8)] = &[
    ("imm", 17, 17),
    ("glc", 16, 16),
    ("sdata", 12, 6),
    ("sbase", 5, 0),
    ("offset", 51, 32),
];

/// VOP1, VOP2 and VOPC, with SDWA or DPP in the second dword.
const VECTOR: &[(&str, u8, u8)] = &[
    ("vdst", 24, 17),
    ("vsrc1", 16, 9),
    ("src0", 8, 0),
    ("imm32", 63, 32),
    ("clamp", 45, 45),
];

const VOP3: &[(&str, u8, u8)] = &[
    ("vdst", 7, 0),
    ("sdst", 14, 8),
    ("src0", 40, 32),
    ("src1", 49, 41),
    ("src2", 58, 50),
    ("clamp", 15, 15),
    ("omod", 60, 59),
    ("attr", 39, 32),
    ("high", 40, 40),
];

const VINTRP: &[(&str, u8, u8)] = &[("vdst", 25, 18), ("vsrc", 7, 0), ("attr", 15, 8)];

const DS: &[(&str, u8, u8)] = &[
    ("gds", 16, 16),
    ("offset", 15, 0),
    ("swizzle", 15, 0),
    ("offset1", 15, 8),
    ("offset0", 7, 0),
    ("vdst", 63, 56),
    ("data1", 55, 48),
    ("data0", 47, 40),
    ("addr", 39, 32),
];

const FLAT: &[(&str, u8, u8)] = &[
    ("slc", 17, 17),
    ("glc", 16, 16),
    ("offset", 12, 0),
    ("vdst", 63, 56),
    ("tfe", 55, 55),
    ("data", 47, 40),
    ("addr", 39, 32),
];

const MUBUF: &[(&str, u8, u8)] = &[
    ("slc", 17, 17),
    ("lds", 16, 16),
    ("glc", 14, 14),
    ("idxen", 13, 13),
    ("offen", 12, 12),
    ("offset", 11, 0),
    ("soffset", 63, 56),
    ("tfe", 55, 55),
    ("srsrc", 52, 48),
    ("vdata", 47, 40),
    ("vaddr", 39, 32),
];

const MTBUF: &[(&str, u8, u8)] = &[
    ("format", 25, 19),
    ("slc", 54, 54),
    ("glc", 14, 14),
    ("idxen", 13, 13),
    ("offen", 12, 12),
    ("offset", 11, 0),
    ("soffset", 63, 56),
    ("tfe", 55, 55),
    ("srsrc", 52, 48),
    ("vdata", 47, 40),
    ("vaddr", 39, 32),
];

const MIMG: &[(&str, u8, u8)] = &[
    ("slc", 25, 25),
    ("lwe", 17, 17),
    ("tfe", 16, 16),
    ("r128", 15, 15),
    ("da", 14, 14),
    ("glc", 13, 13),
    ("unorm", 12, 12),
    ("dmask", 11, 8),
    ("d16", 63, 63),
    ("ssamp", 57, 53),
    ("srsrc", 52, 48),
    ("vdata", 47, 40),
    ("vaddr", 39, 32),
];

const EXP: &[(&str, u8, u8)] = &[
    ("vm", 12, 12),
    ("done", 11, 11),
    ("compr", 10, 10),
    ("target", 9, 4),
    ("en", 3, 0),
    ("v0", 39, 32),
    ("v1", 47, 40),
    ("v2", 55, 48),
    ("v3", 63, 56),
];
