//! Opcodes of NVIDIA's GPUs, as the rows of `maxwell.forms` and `volta.forms` spell them, and their statistics classes.
//!
//! Analyses match on the variants, not on text. For example, `FFMA.FTZ R0, R1, R2, R3` has the opcode `FFMA`; `.FTZ`
//! is a modifier.

use std::fmt;

use warpbound_base::Named;

/// Class under which statistics of runs count an opcode. A comparison has the class of the numbers that it compares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InstrClass {
    /// Integer arithmetic, comparison and bit operations.
    Integer,
    /// Single precision.
    Fp32,
    /// Double precision.
    Fp64,
    /// Half precision.
    Fp16,
    /// Conversion between number formats.
    Conversion,
    /// Special functions and their range reduction.
    SpecialFunction,
    /// Operations on predicates and the condition code.
    Predicate,
    /// Moves, selections and reads of special registers.
    Move,
    /// Exchange between lanes and votes.
    ShuffleVote,
    /// Loads and stores.
    LoadStore,
    /// Atomic operations.
    Atomic,
    /// Barriers of blocks and memory.
    Barrier,
    /// Control flow.
    Control,
    /// Textures and surfaces.
    TextureSurface,
    /// Everything else, including words that are no instruction.
    Other,
}

impl Named for InstrClass {
    const ALL: &[(Self, &str)] = &[
        (InstrClass::Integer, "integer"),
        (InstrClass::Fp32, "fp32"),
        (InstrClass::Fp64, "fp64"),
        (InstrClass::Fp16, "fp16"),
        (InstrClass::Conversion, "conversion"),
        (InstrClass::SpecialFunction, "special function"),
        (InstrClass::Predicate, "predicate"),
        (InstrClass::Move, "move"),
        (InstrClass::ShuffleVote, "shuffle/vote"),
        (InstrClass::LoadStore, "load/store"),
        (InstrClass::Atomic, "atomic"),
        (InstrClass::Barrier, "barrier"),
        (InstrClass::Control, "control"),
        (InstrClass::TextureSurface, "texture/surface"),
        (InstrClass::Other, "other"),
    ];
}

macro_rules! opcodes {
    ($($variant:ident = $name:literal, $class:ident;)+) => {
        /// Opcode of an instruction: the operation apart from its modifiers and operands.
        ///
        /// Each mnemonic of `maxwell.forms` is one of these, and each of these has a row: the first is checked when the
        /// crate is built, the second by a test.
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

            /// Statistics class.
            pub const fn class(self) -> InstrClass {
                match self {
                    $(Opcode::$variant => InstrClass::$class,)+
                }
            }

            /// Opcode with a mnemonic.
            pub(crate) fn with_name(name: &str) -> Option<Opcode> {
                let mut all = Opcode::ALL.iter().copied();
                all.find(|opcode| opcode.name() == name)
            }
        }
    };
}

opcodes! {
    Ffma = "FFMA", Fp32;
    Ffma32i = "FFMA32I", Fp32;
    Fadd = "FADD", Fp32;
    Fadd32i = "FADD32I", Fp32;
    Fcmp = "FCMP", Fp32;
    Fswzadd = "FSWZADD", Fp32;
    Fmul = "FMUL", Fp32;
    Fmul32i = "FMUL32I", Fp32;
    Fmnmx = "FMNMX", Fp32;
    Fset = "FSET", Fp32;
    Fsetp = "FSETP", Fp32;
    Ipa = "IPA", Other;
    Rro = "RRO", SpecialFunction;
    Mufu = "MUFU", SpecialFunction;
    Fchk = "FCHK", Fp32;
    Dfma = "DFMA", Fp64;
    Dadd = "DADD", Fp64;
    Dmul = "DMUL", Fp64;
    Dmnmx = "DMNMX", Fp64;
    Dset = "DSET", Fp64;
    Dsetp = "DSETP", Fp64;
    Imad = "IMAD", Integer;
    Imad32i = "IMAD32I", Integer;
    Imadsp = "IMADSP", Integer;
    Imul = "IMUL", Integer;
    Imul32i = "IMUL32I", Integer;
    Iadd = "IADD", Integer;
    Iadd3 = "IADD3", Integer;
    Iadd32i = "IADD32I", Integer;
    Iscadd = "ISCADD", Integer;
    Iscadd32i = "ISCADD32I", Integer;
    Imnmx = "IMNMX", Integer;
    Bfe = "BFE", Integer;
    Bfi = "BFI", Integer;
    Shr = "SHR", Integer;
    Shl = "SHL", Integer;
    Shf = "SHF", Integer;
    Lop = "LOP", Integer;
    Lop32i = "LOP32I", Integer;
    Lop3 = "LOP3", Integer;
    Flo = "FLO", Integer;
    Iset = "ISET", Integer;
    Isetp = "ISETP", Integer;
    Icmp = "ICMP", Integer;
    Popc = "POPC", Integer;
    Xmad = "XMAD", Integer;
    Vmad = "VMAD", Integer;
    Vadd = "VADD", Integer;
    Vabsdiff = "VABSDIFF", Integer;
    Vmnmx = "VMNMX", Integer;
    Vset = "VSET", Integer;
    Vsetp = "VSETP", Integer;
    Vshl = "VSHL", Integer;
    Vshr = "VSHR", Integer;
    Vabsdiff4 = "VABSDIFF4", Integer;
    F2f = "F2F", Conversion;
    F2i = "F2I", Conversion;
    I2f = "I2F", Conversion;
    I2i = "I2I", Conversion;
    Mov = "MOV", Move;
    Mov32i = "MOV32I", Move;
    Sel = "SEL", Move;
    Prmt = "PRMT", Integer;
    Shfl = "SHFL", ShuffleVote;
    P2r = "P2R", Predicate;
    R2p = "R2P", Predicate;
    Cset = "CSET", Predicate;
    Csetp = "CSETP", Predicate;
    Pset = "PSET", Predicate;
    Psetp = "PSETP", Predicate;
    Stp = "STP", Other;
    Tex = "TEX", TextureSurface;
    Texs = "TEXS", TextureSurface;
    Tlds = "TLDS", TextureSurface;
    Tld4s = "TLD4S", TextureSurface;
    Tld = "TLD", TextureSurface;
    Tld4 = "TLD4", TextureSurface;
    Tmml = "TMML", TextureSurface;
    Txd = "TXD", TextureSurface;
    Txq = "TXQ", TextureSurface;
    Txa = "TXA", TextureSurface;
    Depbar = "DEPBAR", Other;
    Al2p = "AL2P", Other;
    Ald = "ALD", Other;
    Ast = "AST", Other;
    Out = "OUT", Other;
    Pixld = "PIXLD", Other;
    Isberd = "ISBERD", Other;
    Ldc = "LDC", LoadStore;
    Ld = "LD", LoadStore;
    Ldg = "LDG", LoadStore;
    Ldl = "LDL", LoadStore;
    Lds = "LDS", LoadStore;
    St = "ST", LoadStore;
    Stg = "STG", LoadStore;
    Stl = "STL", LoadStore;
    Sts = "STS", LoadStore;
    Lea = "LEA", Integer;
    Atom = "ATOM", Atomic;
    Atoms = "ATOMS", Atomic;
    Red = "RED", Atomic;
    Cctl = "CCTL", Other;
    Cctll = "CCTLL", Other;
    Cctlt = "CCTLT", Other;
    Membar = "MEMBAR", Barrier;
    Suld = "SULD", TextureSurface;
    Sust = "SUST", TextureSurface;
    Sured = "SURED", TextureSurface;
    Suatom = "SUATOM", TextureSurface;
    Bra = "BRA", Control;
    Brx = "BRX", Control;
    Jmp = "JMP", Control;
    Jmx = "JMX", Control;
    Cal = "CAL", Control;
    Pret = "PRET", Control;
    Jcal = "JCAL", Control;
    Ssy = "SSY", Control;
    Plongjmp = "PLONGJMP", Control;
    Pbk = "PBK", Control;
    Pcnt = "PCNT", Control;
    Ret = "RET", Control;
    Longjmp = "LONGJMP", Control;
    Kil = "KIL", Control;
    Brk = "BRK", Control;
    Cont = "CONT", Control;
    Sync = "SYNC", Control;
    Exit = "EXIT", Control;
    Pexit = "PEXIT", Control;
    Sam = "SAM", Other;
    Ram = "RAM", Other;
    Bpt = "BPT", Other;
    Rtt = "RTT", Other;
    Ide = "IDE", Other;
    Nop = "NOP", Other;
    S2r = "S2R", Move;
    Cs2r = "CS2R", Move;
    B2r = "B2R", Other;
    R2b = "R2B", Other;
    Lepc = "LEPC", Other;
    Bar = "BAR", Barrier;
    Vote = "VOTE", ShuffleVote;
    Setcrsptr = "SETCRSPTR", Other;
    Getcrsptr = "GETCRSPTR", Other;
    Setlmembase = "SETLMEMBASE", Other;
    Getlmembase = "GETLMEMBASE", Other;
    Hfma2 = "HFMA2", Fp16;
    Hfma2_32i = "HFMA2_32I", Fp16;
    Hadd2 = "HADD2", Fp16;
    Hadd2_32i = "HADD2_32I", Fp16;
    Hmul2 = "HMUL2", Fp16;
    Hmul2_32i = "HMUL2_32I", Fp16;
    Hset2 = "HSET2", Fp16;
    Hsetp2 = "HSETP2", Fp16;
    Idp = "IDP", Integer;
    Acqbulk = "ACQBULK", Barrier;
    Acqshminit = "ACQSHMINIT", Barrier;
    Arrives = "ARRIVES", Barrier;
    Atomg = "ATOMG", Atomic;
    Bgmma = "BGMMA", Other;
    Bmma = "BMMA", Other;
    Bmov = "BMOV", Control;
    Bmsk = "BMSK", Integer;
    Break = "BREAK", Control;
    Brev = "BREV", Integer;
    Brxu = "BRXU", Control;
    Bssy = "BSSY", Control;
    Bsync = "BSYNC", Control;
    Call = "CALL", Control;
    Cgaerrbar = "CGAERRBAR", Barrier;
    Clmad = "CLMAD", Integer;
    Credux = "CREDUX", ShuffleVote;
    Cs2ur = "CS2UR", Move;
    Csmtest = "CSMTEST", Predicate;
    Dmma = "DMMA", Fp64;
    Elect = "ELECT", ShuffleVote;
    Endcollective = "ENDCOLLECTIVE", Control;
    Errbar = "ERRBAR", Barrier;
    F2fp = "F2FP", Conversion;
    F2ip = "F2IP", Conversion;
    Fadd2 = "FADD2", Fp32;
    Fence = "FENCE", Barrier;
    Ffma2 = "FFMA2", Fp32;
    Fmnmx3 = "FMNMX3", Fp32;
    Fmul2 = "FMUL2", Fp32;
    Frnd = "FRND", Conversion;
    Fsel = "FSEL", Fp32;
    Hgmma = "HGMMA", Other;
    Hmma = "HMMA", Other;
    Hmnmx2 = "HMNMX2", Fp16;
    I2fp = "I2FP", Conversion;
    I2ip = "I2IP", Conversion;
    Iabs = "IABS", Integer;
    Igmma = "IGMMA", Other;
    Imma = "IMMA", Other;
    Isbewr = "ISBEWR", Integer;
    Jmxu = "JMXU", Control;
    Kill = "KILL", Control;
    Ldcu = "LDCU", LoadStore;
    Ldgdepbar = "LDGDEPBAR", LoadStore;
    Ldsm = "LDSM", LoadStore;
    Ldtram = "LDTRAM", LoadStore;
    Match = "MATCH", ShuffleVote;
    Mov64iur = "MOV64IUR", Move;
    Movm = "MOVM", LoadStore;
    Nanosleep = "NANOSLEEP", Control;
    Omma = "OMMA", Other;
    Plop3 = "PLOP3", Predicate;
    Pmtrig = "PMTRIG", Other;
    Preexit = "PREEXIT", Control;
    Qadd4 = "QADD4", Other;
    Qfma4 = "QFMA4", Other;
    Qgmma = "QGMMA", Other;
    Qmma = "QMMA", Other;
    Qmul4 = "QMUL4", Other;
    Qspc = "QSPC", LoadStore;
    R2ur = "R2UR", Move;
    Redg = "REDG", Atomic;
    Redux = "REDUX", ShuffleVote;
    Rpcmov = "RPCMOV", Control;
    S2ur = "S2UR", Move;
    Setctaid = "SETCTAID", Other;
    Sgxt = "SGXT", Integer;
    Stsm = "STSM", LoadStore;
    Suquery = "SUQUERY", TextureSurface;
    Syncs = "SYNCS", Barrier;
    Ublkcp = "UBLKCP", LoadStore;
    Ublkpf = "UBLKPF", LoadStore;
    Ublkred = "UBLKRED", LoadStore;
    Ubmsk = "UBMSK", Integer;
    Ubrev = "UBREV", Integer;
    UcgabarArv = "UCGABAR_ARV", Barrier;
    UcgabarWait = "UCGABAR_WAIT", Barrier;
    Uclea = "UCLEA", Other;
    Uf2f = "UF2F", Conversion;
    Uf2fp = "UF2FP", Conversion;
    Uf2ip = "UF2IP", Conversion;
    Ufadd = "UFADD", Fp32;
    Uffma = "UFFMA", Fp32;
    Uflo = "UFLO", Fp32;
    Ufmnmx = "UFMNMX", Fp32;
    Ufmul = "UFMUL", Fp32;
    Ufrnd = "UFRND", Conversion;
    Ufsel = "UFSEL", Fp32;
    Ufset = "UFSET", Fp32;
    Ufsetp = "UFSETP", Fp32;
    Ugetnextworkid = "UGETNEXTWORKID", Other;
    Ui2f = "UI2F", Conversion;
    Ui2fp = "UI2FP", Conversion;
    Ui2i = "UI2I", Conversion;
    Ui2ip = "UI2IP", Conversion;
    Uiabs = "UIABS", Integer;
    Uiadd3 = "UIADD3", Integer;
    Uimad = "UIMAD", Integer;
    Uimnmx = "UIMNMX", Integer;
    Uisetp = "UISETP", Integer;
    Uldc = "ULDC", LoadStore;
    Ulea = "ULEA", Integer;
    Ulepc = "ULEPC", Other;
    Ulop3 = "ULOP3", Integer;
    Umemsets = "UMEMSETS", LoadStore;
    Umov = "UMOV", Move;
    Up2ur = "UP2UR", Move;
    Uplop3 = "UPLOP3", Predicate;
    Upopc = "UPOPC", Integer;
    Uprmt = "UPRMT", Integer;
    Ur2up = "UR2UP", Move;
    Uredgr = "UREDGR", LoadStore;
    Ustgr = "USTGR", LoadStore;
    Usel = "USEL", Move;
    Usetmaxreg = "USETMAXREG", Other;
    Usetshmsz = "USETSHMSZ", Other;
    Usgxt = "USGXT", Integer;
    Ushf = "USHF", Integer;
    Utcatomsws = "UTCATOMSWS", Atomic;
    Utcbar = "UTCBAR", Barrier;
    Footprint = "FOOTPRINT", TextureSurface;
    Ldgmc = "LDGMC", LoadStore;
    Ldgsts = "LDGSTS", LoadStore;
    Ldtm = "LDTM", LoadStore;
    Redas = "REDAS", Atomic;
    Stas = "STAS", LoadStore;
    Sttm = "STTM", LoadStore;
    Utccp = "UTCCP", Other;
    Utchmma = "UTCHMMA", Other;
    Utcshift = "UTCSHIFT", Other;
    Utcimma = "UTCIMMA", Other;
    Utcomma = "UTCOMMA", Other;
    Utcqmma = "UTCQMMA", Other;
    Utmacctl = "UTMACCTL", LoadStore;
    Utmacmdflush = "UTMACMDFLUSH", LoadStore;
    Utmaldg = "UTMALDG", LoadStore;
    Utmapf = "UTMAPF", LoadStore;
    Utmaredg = "UTMAREDG", LoadStore;
    Utmastg = "UTMASTG", LoadStore;
    Uviadd = "UVIADD", Integer;
    Uvimnmx = "UVIMNMX", Integer;
    Uvirtcount = "UVIRTCOUNT", Integer;
    Vhmnmx = "VHMNMX", Integer;
    Viadd = "VIADD", Integer;
    Viaddmnmx = "VIADDMNMX", Integer;
    Vimnmx = "VIMNMX", Integer;
    Vimnmx3 = "VIMNMX3", Integer;
    Voteu = "VOTEU", ShuffleVote;
    Warpgroup = "WARPGROUP", Barrier;
    Warpgroupset = "WARPGROUPSET", Barrier;
    Warpsync = "WARPSYNC", Control;
    Yield = "YIELD", Control;
    Hir0x1e0 = "__HIR0X1E0", Other;
    Hir0x1f0 = "__HIR0X1F0", Other;
    Fhadd = "FHADD", Fp16;
    Fhfma = "FHFMA", Fp16;
    Uf2i = "UF2I", Conversion;
    Ufhadd = "UFHADD", Fp32;
    Ufhfma = "UFHFMA", Fp32;
}

impl Opcode {
    /// Whether the forms of the opcode have a 32-bit immediate, into which the linker can write half of an address.
    pub const fn has_long_immediate(self) -> bool {
        matches!(
            self,
            Opcode::Ffma32i
                | Opcode::Fadd32i
                | Opcode::Fmul32i
                | Opcode::Imad32i
                | Opcode::Imul32i
                | Opcode::Iadd32i
                | Opcode::Iscadd32i
                | Opcode::Lop32i
                | Opcode::Mov32i
                | Opcode::Hfma2_32i
                | Opcode::Hadd2_32i
                | Opcode::Hmul2_32i
        )
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
