//! Opcodes of Maxwell and Pascal, as the rows of `maxwell.forms` spell them.

use std::fmt;

macro_rules! opcodes {
    ($($variant:ident = $name:literal,)+) => {
        /// Opcode of an instruction: the operation apart from its modifiers and operands.
        ///
        /// Each mnemonic of `maxwell.forms` is one of these, and each of these has a row: the first is checked when the
        /// table is compiled, the second by a test.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "the name of a variant is its mnemonic")]
        pub enum Opcode {
            $($variant,)+
        }

        impl Opcode {
            /// All opcodes, in the order of the table.
            pub const ALL: &[Opcode] = &[$(Opcode::$variant,)+];

            /// Mnemonic as the disassembler prints it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Opcode::$variant => $name,)+
                }
            }

            /// Opcode with a mnemonic.
            pub(crate) const fn with_name(name: &str) -> Option<Opcode> {
                let mut at = 0;
                while at < Opcode::ALL.len() {
                    if is_equal(Opcode::ALL[at].name(), name) {
                        return Some(Opcode::ALL[at]);
                    }
                    at += 1;
                }
                None
            }
        }
    };
}

opcodes! {
    Ffma = "FFMA",
    Ffma32i = "FFMA32I",
    Fadd = "FADD",
    Fadd32i = "FADD32I",
    Fcmp = "FCMP",
    Fswzadd = "FSWZADD",
    Fmul = "FMUL",
    Fmul32i = "FMUL32I",
    Fmnmx = "FMNMX",
    Fset = "FSET",
    Fsetp = "FSETP",
    Ipa = "IPA",
    Rro = "RRO",
    Mufu = "MUFU",
    Fchk = "FCHK",
    Dfma = "DFMA",
    Dadd = "DADD",
    Dmul = "DMUL",
    Dmnmx = "DMNMX",
    Dset = "DSET",
    Dsetp = "DSETP",
    Imad = "IMAD",
    Imad32i = "IMAD32I",
    Imadsp = "IMADSP",
    Imul = "IMUL",
    Imul32i = "IMUL32I",
    Iadd = "IADD",
    Iadd3 = "IADD3",
    Iadd32i = "IADD32I",
    Iscadd = "ISCADD",
    Iscadd32i = "ISCADD32I",
    Imnmx = "IMNMX",
    Bfe = "BFE",
    Bfi = "BFI",
    Shr = "SHR",
    Shl = "SHL",
    Shf = "SHF",
    Lop = "LOP",
    Lop32i = "LOP32I",
    Lop3 = "LOP3",
    Flo = "FLO",
    Iset = "ISET",
    Isetp = "ISETP",
    Icmp = "ICMP",
    Popc = "POPC",
    Xmad = "XMAD",
    Vmad = "VMAD",
    Vadd = "VADD",
    Vabsdiff = "VABSDIFF",
    Vmnmx = "VMNMX",
    Vset = "VSET",
    Vsetp = "VSETP",
    Vshl = "VSHL",
    Vshr = "VSHR",
    Vabsdiff4 = "VABSDIFF4",
    F2f = "F2F",
    F2i = "F2I",
    I2f = "I2F",
    I2i = "I2I",
    Mov = "MOV",
    Mov32i = "MOV32I",
    Sel = "SEL",
    Prmt = "PRMT",
    Shfl = "SHFL",
    P2r = "P2R",
    R2p = "R2P",
    Cset = "CSET",
    Csetp = "CSETP",
    Pset = "PSET",
    Psetp = "PSETP",
    Stp = "STP",
    Tex = "TEX",
    Texs = "TEXS",
    Tlds = "TLDS",
    Tld4s = "TLD4S",
    Tld = "TLD",
    Tld4 = "TLD4",
    Tmml = "TMML",
    Txd = "TXD",
    Txq = "TXQ",
    Txa = "TXA",
    Depbar = "DEPBAR",
    Al2p = "AL2P",
    Ald = "ALD",
    Ast = "AST",
    Out = "OUT",
    Pixld = "PIXLD",
    Isberd = "ISBERD",
    Ldc = "LDC",
    Ld = "LD",
    Ldg = "LDG",
    Ldl = "LDL",
    Lds = "LDS",
    St = "ST",
    Stg = "STG",
    Stl = "STL",
    Sts = "STS",
    Lea = "LEA",
    Atom = "ATOM",
    Atoms = "ATOMS",
    Red = "RED",
    Cctl = "CCTL",
    Cctll = "CCTLL",
    Cctlt = "CCTLT",
    Membar = "MEMBAR",
    Suld = "SULD",
    Sust = "SUST",
    Sured = "SURED",
    Suatom = "SUATOM",
    Bra = "BRA",
    Brx = "BRX",
    Jmp = "JMP",
    Jmx = "JMX",
    Cal = "CAL",
    Pret = "PRET",
    Jcal = "JCAL",
    Ssy = "SSY",
    Plongjmp = "PLONGJMP",
    Pbk = "PBK",
    Pcnt = "PCNT",
    Ret = "RET",
    Longjmp = "LONGJMP",
    Kil = "KIL",
    Brk = "BRK",
    Cont = "CONT",
    Sync = "SYNC",
    Exit = "EXIT",
    Pexit = "PEXIT",
    Sam = "SAM",
    Ram = "RAM",
    Bpt = "BPT",
    Rtt = "RTT",
    Ide = "IDE",
    Nop = "NOP",
    S2r = "S2R",
    Cs2r = "CS2R",
    B2r = "B2R",
    R2b = "R2B",
    Lepc = "LEPC",
    Bar = "BAR",
    Vote = "VOTE",
    Setcrsptr = "SETCRSPTR",
    Getcrsptr = "GETCRSPTR",
    Setlmembase = "SETLMEMBASE",
    Getlmembase = "GETLMEMBASE",
    Hfma2 = "HFMA2",
    Hfma2_32i = "HFMA2_32I",
    Hadd2 = "HADD2",
    Hadd2_32i = "HADD2_32I",
    Hmul2 = "HMUL2",
    Hmul2_32i = "HMUL2_32I",
    Hset2 = "HSET2",
    Hsetp2 = "HSETP2",
    Idp = "IDP",
}

/// Whether two texts are equal; `==` is not available at compile time.
const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
