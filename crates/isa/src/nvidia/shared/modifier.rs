//! Modifiers, selected parts and word operands of instructions as values. For example, `HADD2.F32 R0, R1.H0_H0, R2`
//! has the modifier [`Modifier::F32`] and a first source with [`Part::LowTwice`].

use smallvec::SmallVec;

macro_rules! modifiers {
    ($($variant:ident = $name:literal,)+) => {
        /// One word of an instruction's modifiers: `IADD.SAT` has [`Modifier::Sat`], `ATOM.ADD.F32.FTZ.RN` has five.
        ///
        /// Words to which no meaning and no timing refers are [`Modifier::Other`], including words of invalid
        /// encodings.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "a variant is named as the word that it stands for")]
        pub enum Modifier {
            $($variant,)+
            Other,
        }

        /// Words with their modifiers, as in the list.
        const LISTED: &[(&str, Modifier)] = &[$(($name, Modifier::$variant),)+];
    };
}

modifiers! {
    B128 = "128",
    B16 = "16",
    Shape168128 = "168128",
    Shape16816 = "16816",
    Shape168256 = "168256",
    Shape16832 = "16832",
    Shape1684 = "1684",
    Shape16864 = "16864",
    Shape1688 = "1688",
    Shape16x8x16 = "16x8x16",
    Shape16x8x4 = "16x8x4",
    Shape16x8x8 = "16x8x8",
    Dim1 = "1D",
    Dim1Array = "1D_ARRAY",
    N2 = "2",
    A2 = "2A",
    Dim2 = "2D",
    Dim2Array = "2D_ARRAY",
    B32 = "32",
    Dim3 = "3D",
    N4 = "4",
    A4 = "4A",
    B64 = "64",
    Shape88128 = "88128",
    Shape8816 = "8816",
    Shape8832 = "8832",
    Shape884 = "884",
    Shape8x8x4 = "8x8x4",
    A = "A",
    Acc = "ACC",
    Add = "ADD",
    All = "ALL",
    And = "AND",
    Any = "ANY",
    Aoffi = "AOFFI",
    Arv = "ARV",
    B = "B",
    B1 = "B1",
    B2 = "B2",
    B3 = "B3",
    B4e = "B4E",
    Ba = "BA",
    Bf = "BF",
    Bf16 = "BF16",
    Bf16V2 = "BF16_V2",
    Bfly = "BFLY",
    Brev = "BREV",
    Bypass = "BYPASS",
    C = "C",
    Cas = "CAS",
    Cast = "CAST",
    Cbcc = "CBCC",
    Ceil = "CEIL",
    Cg = "CG",
    Chi = "CHI",
    Ci = "CI",
    Cl = "CL",
    Clear = "CLEAR",
    Clo = "CLO",
    Collective = "COLLECTIVE",
    Constant = "CONSTANT",
    Cos = "COS",
    Cs = "CS",
    Csfu = "CSFU",
    CsmMx = "CSM_MX",
    CsmTa = "CSM_TA",
    CsmTr = "CSM_TR",
    Cta = "CTA",
    Cv = "CV",
    D = "D",
    D2 = "D2",
    D4 = "D4",
    D8 = "D8",
    Dec = "DEC",
    DeferBlocking = "DEFER_BLOCKING",
    Div = "DIV",
    Divide = "DIVIDE",
    Down = "DOWN",
    E = "E",
    E4m3 = "E4M3",
    E5m2 = "E5M2",
    Ecl = "ECL",
    Ecr = "ECR",
    Ef = "EF",
    El = "EL",
    Eq = "EQ",
    Equ = "EQU",
    Eu = "EU",
    Ex = "EX",
    Ex2 = "EX2",
    Exch = "EXCH",
    F = "F",
    F16 = "F16",
    F16x2 = "F16x2",
    F32 = "F32",
    F4e = "F4E",
    F64 = "F64",
    FcsmMx = "FCSM_MX",
    FcsmTa = "FCSM_TA",
    FcsmTr = "FCSM_TR",
    Floor = "FLOOR",
    Fmz = "FMZ",
    Ftz = "FTZ",
    G = "G",
    Ge = "GE",
    Geu = "GEU",
    Gpu = "GPU",
    Gt = "GT",
    Gtu = "GTU",
    Hi = "HI",
    Hs = "HS",
    HAnd = "H_AND",
    Iadd = "IADD",
    Idx = "IDX",
    Ign = "IGN",
    Inc = "INC",
    L = "L",
    Lb = "LB",
    Le = "LE",
    Leu = "LEU",
    Lg2 = "LG2",
    Ll = "LL",
    Lo = "LO",
    Ls = "LS",
    Lt = "LT",
    Ltc128b = "LTC128B",
    Ltc256b = "LTC256B",
    Ltc64b = "LTC64B",
    Ltu = "LTU",
    Lu = "LU",
    Lut = "LUT",
    Lz = "LZ",
    M2 = "M2",
    M4 = "M4",
    M8 = "M8",
    M88 = "M88",
    Max = "MAX",
    Min = "MIN",
    Mma = "MMA",
    Mmio = "MMIO",
    Mov = "MOV",
    Mrg = "MRG",
    Mrg16h = "MRG_16H",
    Mrg16l = "MRG_16L",
    Mrg8b0 = "MRG_8B0",
    Mrg8b2 = "MRG_8B2",
    Mt88 = "MT88",
    Mx = "MX",
    Na = "NA",
    Nan = "NAN",
    Ndv = "NDV",
    Ne = "NE",
    Neu = "NEU",
    Nodep = "NODEP",
    Ntz = "NTZ",
    Num = "NUM",
    Nz = "NZ",
    Off = "OFF",
    Oft = "OFT",
    Or = "OR",
    P = "P",
    PackAb = "PACK_AB",
    Pand = "PAND",
    PassB = "PASS_B",
    Pf1 = "PF1",
    Pf2 = "PF2",
    Po = "PO",
    Popc = "POPC",
    Private = "PRIVATE",
    Psl = "PSL",
    Qry1 = "QRY1",
    R = "R",
    Rc16 = "RC16",
    Rc8 = "RC8",
    Rcp = "RCP",
    Rcp64h = "RCP64H",
    Red = "RED",
    Result = "RESULT",
    Rgt = "RGT",
    Rle = "RLE",
    Relu = "RELU",
    Rm = "RM",
    Rn = "RN",
    Round = "ROUND",
    Rp = "RP",
    Rs = "RS",
    Rsq = "RSQ",
    Rsq64h = "RSQ64H",
    Rz = "RZ",
    S = "S",
    S16 = "S16",
    S16x2 = "S16x2",
    S32 = "S32",
    S4 = "S4",
    S64 = "S64",
    S8 = "S8",
    Sat = "SAT",
    Scr = "SCR",
    Sd = "SD",
    Sff = "SFF",
    Sft = "SFT",
    Sh = "SH",
    Shl = "SHL",
    Shr15 = "SHR_15",
    Shr7 = "SHR_7",
    Sin = "SIN",
    Sincos = "SINCOS",
    Sm = "SM",
    Spin = "SPIN",
    Sqrt = "SQRT",
    Strong = "STRONG",
    Sum = "SUM",
    Sx32 = "SX32",
    Sync = "SYNC",
    Sys = "SYS",
    T = "T",
    Tanh = "TANH",
    Tf32 = "TF32",
    Trap = "TRAP",
    Trunc = "TRUNC",
    U = "U",
    U128 = "U128",
    U16 = "U16",
    U16x2 = "U16x2",
    U32 = "U32",
    U4 = "U4",
    U64 = "U64",
    U8 = "U8",
    U8x4 = "U8x4",
    Ud = "UD",
    Up = "UP",
    Vc = "VC",
    W = "W",
    Weak = "WEAK",
    Wide = "WIDE",
    Wt = "WT",
    X = "X",
    Xhi = "XHI",
    Xlo = "XLO",
    Xor = "XOR",
    Z = "Z",
    Zfill = "ZFILL",
}

/// Modifiers of an instruction in the order of printing.
pub(crate) type Modifiers = SmallVec<[Modifier; 6]>;

/// Maximum number of bytes of a modifier's word, so that a word fits into an integer.
const WORD_BYTES: usize = 16;

/// Modifiers by their words as big-endian numbers, ascending. Comparing numbers is much faster than comparing texts.
static MODIFIERS: [(u128, Modifier); LISTED.len()] = sorted();

const fn sorted() -> [(u128, Modifier); LISTED.len()] {
    let mut sorted = [(0, Modifier::Other); LISTED.len()];
    let mut at = 0;
    while at < LISTED.len() {
        let (word, modifier) = LISTED[at];
        assert!(word.len() <= WORD_BYTES, "{}", word);
        let number = number_of(word);
        let mut to = at;
        // Insertion sort, because no sort of the library is a `const fn`.
        while to > 0 && sorted[to - 1].0 > number {
            sorted[to] = sorted[to - 1];
            to -= 1;
        }
        sorted[to] = (number, modifier);
        at += 1;
    }
    sorted
}

const fn number_of(word: &str) -> u128 {
    let mut number = 0;
    let mut at = 0;
    while at < word.len() {
        number = number << 8 | word.as_bytes()[at] as u128;
        at += 1;
    }
    number
}

impl Modifier {
    /// Word that the modifier stands for, without a dot; `None` for [`Modifier::Other`].
    pub(crate) fn word(self) -> Option<&'static str> {
        let found = LISTED.iter().find(|(_, modifier)| *modifier == self);
        found.map(|(word, _)| *word)
    }

    /// Appends the modifiers of a text such as `.F32.FTZ.RN`; none for a text without a leading dot.
    pub(crate) fn push_all(text: &str, out: &mut Modifiers) {
        let Some((b'.', words)) = text.as_bytes().split_first() else {
            return;
        };
        let (mut number, mut length) = (0u128, 0);
        // The added dot ends the last word.
        for &byte in words.iter().chain(b".") {
            if byte != b'.' {
                number = number << 8 | u128::from(byte);
                length += 1;
                continue;
            }
            let found = MODIFIERS.binary_search_by_key(&number, |&(word, _)| word);
            // The number of a longer word has lost its first bytes, so it could equal another word's.
            let known = found.ok().filter(|_| length <= WORD_BYTES);
            let modifier = known.and_then(|at| MODIFIERS.get(at));
            out.push(modifier.map_or(Modifier::Other, |&(_, modifier)| modifier));
            (number, length) = (0, 0);
        }
    }
}

/// Part of an operand that an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// Low half: `.H0`.
    H0,
    /// High half: `.H1`.
    H1,
    /// Second byte from below: `.B1`.
    B1,
    /// Third byte: `.B2`.
    B2,
    /// Highest byte: `.B3`.
    B3,
    /// Pair of two low halves: `.H0_H0`.
    LowTwice,
    /// Pair of two high halves: `.H1_H1`.
    HighTwice,
    /// The word as a single instead of a pair of halves: `.F32`.
    Single,
    /// Matrix by rows: `.ROW`.
    ByRows,
    /// Matrix by columns: `.COL`.
    ByColumns,
    /// Encoding without a meaning.
    Undefined,
}

impl Part {
    /// Text of the part, as it is printed after an operand; `None` for [`Part::Undefined`].
    pub(crate) fn text(self) -> Option<&'static str> {
        Some(match self {
            Part::Whole => "",
            Part::H0 => ".H0",
            Part::H1 => ".H1",
            Part::B1 => ".B1",
            Part::B2 => ".B2",
            Part::B3 => ".B3",
            Part::LowTwice => ".H0_H0",
            Part::HighTwice => ".H1_H1",
            Part::Single => ".F32",
            Part::ByRows => ".ROW",
            Part::ByColumns => ".COL",
            Part::Undefined => return None,
        })
    }

    pub(crate) fn parse(text: &str) -> Part {
        match text {
            "" => Part::Whole,
            ".H0" => Part::H0,
            ".H1" => Part::H1,
            ".B1" => Part::B1,
            ".B2" => Part::B2,
            ".B3" => Part::B3,
            ".H0_H0" => Part::LowTwice,
            ".H1_H1" => Part::HighTwice,
            ".F32" => Part::Single,
            ".ROW" => Part::ByRows,
            ".COL" => Part::ByColumns,
            _ => Part::Undefined,
        }
    }
}

/// Dimension of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextureDimension {
    /// `1D`.
    One,
    /// `ARRAY_1D`.
    OneArray,
    /// `2D`.
    Two,
    /// `ARRAY_2D`.
    TwoArray,
    /// `3D`.
    Three,
    /// `ARRAY_3D`.
    ThreeArray,
    /// `CUBE`.
    Cube,
    /// `ARRAY_CUBE`.
    CubeArray,
}

/// Operand that is a fixed word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandWord {
    /// No word: the value of the field prints nothing.
    Absent,
    /// `RZ`, or the special register `SRZ`: the constant 0.
    Zero,
    /// Dimension of a texture.
    Dimension(TextureDimension),
    /// Components of a texel, `RGA`: bit 0 for red, 1 for green, 2 for blue, 3 for alpha.
    Components(u8),
    /// Query of a texture's size (`TEX_HEADER_DIMENSION`).
    TextureSize,
    /// Scoreboard: `SB5`.
    Scoreboard(u8),
    /// Set of scoreboards, `{4,2}`: bit n for scoreboard n.
    Scoreboards(u8),
    /// Any other word, including special registers.
    Other,
}

impl OperandWord {
    pub(crate) fn parse(text: &str) -> OperandWord {
        let dimension = match text {
            "" => return OperandWord::Absent,
            "RZ" | "SRZ" => return OperandWord::Zero,
            "TEX_HEADER_DIMENSION" => return OperandWord::TextureSize,
            "1D" => TextureDimension::One,
            "ARRAY_1D" => TextureDimension::OneArray,
            "2D" => TextureDimension::Two,
            "ARRAY_2D" => TextureDimension::TwoArray,
            "3D" => TextureDimension::Three,
            "ARRAY_3D" => TextureDimension::ThreeArray,
            "CUBE" => TextureDimension::Cube,
            "ARRAY_CUBE" => TextureDimension::CubeArray,
            _ => {
                return parse_components(text)
                    .or_else(|| parse_scoreboard(text))
                    .or_else(|| parse_scoreboards(text))
                    .unwrap_or(OperandWord::Other);
            }
        };
        OperandWord::Dimension(dimension)
    }
}

fn parse_components(text: &str) -> Option<OperandWord> {
    let bits = text.chars().map(|name| Some(1u8 << "RGBA".find(name)?));
    // One unknown letter makes the sum `None`.
    let mask: Option<u8> = bits.sum();
    mask.map(OperandWord::Components)
}

fn parse_scoreboard(text: &str) -> Option<OperandWord> {
    let number = text.strip_prefix("SB")?.parse().ok()?;
    Some(OperandWord::Scoreboard(number))
}

fn parse_scoreboards(text: &str) -> Option<OperandWord> {
    let list = text.strip_prefix('{')?.strip_suffix('}')?;
    let bits = list
        .split(',')
        .map(|number| 1u8.checked_shl(number.parse().ok()?));
    let mask: Option<u8> = bits.sum();
    mask.map(OperandWord::Scoreboards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_found() {
        assert!(MODIFIERS.is_sorted_by(|(a, _), (b, _)| a < b));
        for &(word, modifier) in LISTED {
            assert_eq!(parse(&format!(".{word}")), [modifier]);
        }
    }

    fn parse(text: &str) -> Vec<Modifier> {
        let mut found = Modifiers::new();
        Modifier::push_all(text, &mut found);
        found.into_vec()
    }

    #[test]
    fn words_of_modifiers() {
        use Modifier::{F32, Ftz, Other, Rn};
        assert_eq!(parse(".F32.FTZ.RN"), [F32, Ftz, Rn]);
        assert_eq!(parse(".INVALIDFMZ3"), [Other]);
        assert_eq!(parse(".XXXXXXXXSAT"), [Other]);
        assert_eq!(parse(""), []);
        assert_eq!(parse("PP"), []);
    }

    #[test]
    fn word_operands() {
        assert_eq!(OperandWord::parse("RGA"), OperandWord::Components(0b1011));
        assert_eq!(OperandWord::parse("SB5"), OperandWord::Scoreboard(5));
        assert_eq!(
            OperandWord::parse("{3,1}"),
            OperandWord::Scoreboards(0b1010)
        );
        assert_eq!(OperandWord::parse("SR_LANEID"), OperandWord::Other);
        assert_eq!(OperandWord::parse("???6"), OperandWord::Other);
    }
}
