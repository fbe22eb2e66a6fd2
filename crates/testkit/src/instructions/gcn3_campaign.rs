//! Comparison of the meanings of GCN3 instructions with the references: random words of every opcode of the scalar and
//! the vector unit, on random waves.

use std::collections::BTreeMap;

use warpbound_base::CodeAddr;
use warpbound_ir::{Cell, Expr, Meaning, WordHalf, meaning_with_mode};
use warpbound_isa::amd::{GcnEffects, GcnInstr};
use warpbound_isa::{Reg, RegisterKind, SpecialReg, TargetStyle};

use super::gcn3::{ComparedBits, FloatKind, LANES, MODE, SCC, WaveChanges, WaveState, execute};

/// First number of EXEC.
const EXEC: usize = 126;

/// Encoding with an opcode field: name, fixed bits, position and number of its opcodes.
const ENCODINGS: [(&str, u32, u32, u32); 8] = [
    ("SOP2", 0x8000_0000, 23, 96),
    ("SOPK", 0xb000_0000, 23, 29),
    ("SOP1", 0xbe80_0000, 8, 256),
    ("SOPC", 0xbf00_0000, 16, 128),
    ("VOP2", 0x0000_0000, 25, 62),
    ("VOP1", 0x7e00_0000, 9, 256),
    ("VOPC", 0x7c00_0000, 17, 256),
    ("VOP3", 0xd000_0000, 16, 1024),
];

/// Comparison of one mnemonic in one encoding.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Inputs, one for each active lane of vector instructions, that were compared.
    pub inputs: u64,
    /// Words with a meaning but no reference.
    pub without_reference: u64,
    /// Words with a reference but no meaning.
    pub without_meaning: u64,
    /// First differences.
    pub differences: Vec<String>,
}

/// Compared instructions, by encoding and mnemonic.
pub type Comparisons = BTreeMap<(&'static str, String), Compared>;

/// Names of the encodings with scalar and vector operations.
pub fn encodings() -> impl Iterator<Item = &'static str> {
    ENCODINGS.into_iter().map(|(name, _, _, _)| name)
}

/// Compares all opcodes of an encoding, each with at least `inputs` inputs where it has a meaning and a reference.
/// `change` may change meanings and effects: a planted fault that tests use.
pub fn compare_encoding(
    encoding: &str,
    seed: u64,
    inputs: u64,
    change: &dyn Fn(&str, &mut Meaning, &mut GcnEffects),
) -> Comparisons {
    let mut all = Comparisons::new();
    let chosen = ENCODINGS
        .into_iter()
        .filter(|(name, _, _, _)| *name == encoding);
    for (encoding, base, at, count) in chosen {
        for opcode in 0..count {
            let seed = seed ^ u64::from(base | opcode);
            let mut campaign = Campaign {
                random: Random(fastrand::Rng::with_seed(seed)),
                change,
            };
            campaign.compare_opcode(encoding, base | opcode << at, inputs, &mut all);
        }
    }
    all
}

/// Source of instructions and waves, and what happens to meanings before they are compared.
struct Campaign<'a> {
    random: Random,
    change: &'a dyn Fn(&str, &mut Meaning, &mut GcnEffects),
}

impl Campaign<'_> {
    fn compare_opcode(
        &mut self,
        encoding: &'static str,
        base: u32,
        inputs: u64,
        all: &mut Comparisons,
    ) {
        // Operands and modifiers are parts of the words, so there are many words, each with several waves.
        let words = inputs.div_ceil(100).max(4);
        let mut fruitless = 0;
        let mut compared = 0;
        while compared < inputs && fruitless < 120 * words {
            let Some(instr) = self.random.instr(encoding, base) else {
                fruitless += 1;
                continue;
            };
            let Some(text) = instr.text(TargetStyle::default()) else {
                fruitless += 1;
                continue;
            };
            let mnemonic = text.split(['\t', ' ']).next().unwrap_or_default();
            let name = mnemonic.trim_end_matches("_e32").trim_end_matches("_e64");
            let name = name.trim_end_matches("_sdwa").trim_end_matches("_dpp");
            let entry = all.entry((encoding, name.to_owned())).or_default();
            match self.compare_word(&instr, &text, entry) {
                0 => fruitless += 1,
                n => compared += n,
            }
        }
    }

    /// Compares a word on some waves; returns the number of inputs.
    fn compare_word(&mut self, instr: &GcnInstr, text: &str, entry: &mut Compared) -> u64 {
        let random = &mut self.random;
        let mode = random.mode();
        let mut effects = instr.effects();
        let mut meaning = meaning_with_mode(instr, mode);
        if let Some(meaning) = &mut meaning {
            (self.change)(text, meaning, &mut effects);
        }
        let writes = match meaning {
            Some(Meaning::Set(writes)) => Some(writes),
            _ => None,
        };
        let mut inputs = 0;
        let waves = if effects.is_warp_scope { 20 } else { 3 };
        for number in 0..waves {
            let state = random.wave(mode);
            let Some(expected) = execute(text, &state) else {
                entry.without_reference += u64::from(writes.is_some());
                return inputs;
            };
            let mut note = |difference: String| {
                if entry.differences.len() < 3 {
                    let difference = format!("{text} (mode {mode:#x}): {difference}");
                    entry.differences.push(difference);
                }
            };
            if number == 0 {
                let other = random.wave(mode);
                let unstated = unstated_effect(text, &effects, (&state, &expected), other);
                unstated.into_iter().for_each(&mut note);
            }
            let Some(writes) = &writes else {
                entry.without_meaning += 1;
                return inputs;
            };
            let mut found = evaluate(writes, effects.is_warp_scope, &state);
            // Registers that the instruction writes, and the meaning does not, are unknown: they have any value.
            for register in &effects.writes {
                let number = register.number;
                if writes.iter().any(|(cell, _)| cell.register() == *register) {
                    continue;
                }
                match register.kind {
                    RegisterKind::Scalar => {
                        let known = expected.scalars.get(&number);
                        found.scalars.extend(known.map(|&value| (number, value)));
                    }
                    _ => {
                        let known = expected.vectors.get(&number);
                        found.vectors.extend(known.map(|&row| (number, row)));
                    }
                }
            }
            inputs += match effects.is_warp_scope {
                true => 1,
                false => u64::from(lanes_of(&state).count_ones()),
            };
            difference(&state, &expected, &found)
                .into_iter()
                .for_each(&mut note);
        }
        entry.inputs += inputs;
        inputs
    }
}

/// Describes a register that the instruction changes without stating it among its writes, or that its results depend
/// on without stating it among its reads. In a second execution, registers that are not read have the values of
/// `other`.
fn unstated_effect(
    text: &str,
    effects: &GcnEffects,
    (state, expected): (&WaveState, &WaveChanges),
    mut other: WaveState,
) -> Option<String> {
    let is_among = |all: &[Reg], kind, number: u8| {
        let is_it = |register: &Reg| (register.kind, register.number) == (kind, number);
        all.iter().any(is_it)
    };
    let unwritten = expected.scalars.keys();
    let unwritten = unwritten.map(|&n| (RegisterKind::Scalar, n));
    let vectors = expected.vectors.keys().map(|&n| (RegisterKind::Vector, n));
    let mut unwritten = unwritten.chain(vectors);
    let unwritten = unwritten.find(|&(kind, n)| !is_among(&effects.writes, kind, n));
    if let Some((kind, n)) = unwritten {
        return Some(format!("{kind:?} {n} is written, and not among the writes"));
    }
    for n in 0..=MODE {
        if n == MODE || is_among(&effects.reads, RegisterKind::Scalar, n) {
            other.scalars[usize::from(n)] = state.scalars[usize::from(n)];
        }
    }
    for n in 0..VECTORS {
        if is_among(&effects.reads, RegisterKind::Vector, n) {
            other.vectors[usize::from(n)] = state.vectors[usize::from(n)];
        }
    }
    let again = execute(text, &other)?;
    let lanes = match effects.is_warp_scope {
        // A lane is written whatever EXEC is; the others keep their values, so the register is among the reads.
        true => u64::MAX,
        false => lanes_of(state),
    };
    for (n, row) in &expected.vectors {
        let second = again.vectors.get(n)?;
        if let Some(lane) = (0..LANES).find(|&l| lanes >> l & 1 == 1 && row[l] != second[l]) {
            return Some(format!(
                "lane {lane} of v{n} depends on a register that is not among the reads"
            ));
        }
    }
    let mut scalars = expected.scalars.iter();
    let found = scalars.find(|(n, value)| again.scalars.get(n) != Some(value));
    found.map(|(n, _)| format!("scalar {n} depends on a register that is not among the reads"))
}

fn lanes_of(state: &WaveState) -> u64 {
    u64::from(state.scalars[EXEC]) | u64::from(state.scalars[EXEC + 1]) << 32
}

/// Describes the first difference between two results, as values of registers.
fn difference(state: &WaveState, expected: &WaveChanges, found: &WaveChanges) -> Option<String> {
    for n in expected.scalars.keys().chain(found.scalars.keys()) {
        let of = |changes: &WaveChanges| {
            let value = changes.scalars.get(n).copied();
            value.unwrap_or(state.scalars[usize::from(*n)])
        };
        let ignored = match expected.mask.map(|first| n.wrapping_sub(first)) {
            Some(0) => WordHalf::Low.of(expected.unknown),
            Some(1) => WordHalf::High.of(expected.unknown),
            _ => 0,
        };
        if (of(expected) ^ of(found)) & !ignored != 0 {
            return Some(format!(
                "scalar {n} is {:#x}, not {:#x}",
                of(found),
                of(expected)
            ));
        }
    }
    let of = |changes: &WaveChanges, n: u8| {
        let row = changes.vectors.get(&n).copied();
        row.unwrap_or(state.vectors[usize::from(n)])
    };
    let mut registers = expected.vectors.keys().chain(found.vectors.keys()).copied();
    let is_wide = matches!(
        expected.compare,
        ComparedBits::AnyNan(FloatKind::F64) | ComparedBits::Ulps(FloatKind::F64, _)
    );
    if let (true, Some(first)) = (is_wide, expected.vectors.keys().next().copied()) {
        let pair = |changes: &WaveChanges, lane: usize| {
            let word = |n| u64::from(of(changes, n)[lane]);
            word(first) | word(first + 1) << 32
        };
        return (0..LANES).find_map(|lane| {
            let (expected_bits, bits) = (pair(expected, lane), pair(found, lane));
            let differs = !is_near(expected.compare, expected_bits, bits);
            (differs && expected.unknown >> lane & 1 == 0)
                .then(|| format!("lane {lane} is {bits:#x}, not {expected_bits:#x}"))
        });
    }
    registers.find_map(|n| {
        let (expected_row, row) = (of(expected, n), of(found, n));
        (0..LANES).find_map(|lane| {
            let (wanted, bits) = (expected_row[lane], row[lane]);
            let differs = !is_near(expected.compare, wanted.into(), bits.into());
            (differs && expected.unknown >> lane & 1 == 0)
                .then(|| format!("v{n} in lane {lane} is {bits:#x}, not {wanted:#x}"))
        })
    })
}

/// Whether a result is as near to the result of the reference as the comparison asks for.
fn is_near(compare: ComparedBits, expected: u64, found: u64) -> bool {
    let (kind, ulps) = match compare {
        _ if expected == found => return true,
        ComparedBits::Exact => return false,
        ComparedBits::AnyNan(kind) => (kind, 0),
        ComparedBits::Ulps(kind, ulps) => (kind, ulps),
        ComparedBits::Absolute => {
            let number = |bits: u64| f64::from(f32::from_bits(bits as u32));
            let (a, b) = (number(expected), number(found));
            return a.is_nan() && b.is_nan() || (a - b).abs() <= 2f64.powi(-21);
        }
    };
    let (bits, fraction) = match kind {
        FloatKind::F16 => (16, 10),
        FloatKind::F32 => (32, 23),
        FloatKind::F64 => (64, 52),
    };
    let sign = 1u64 << (bits - 1);
    let infinity = ((1u64 << (bits - 1 - fraction)) - 1) << fraction;
    let is_nan = |x: u64| x & !sign & (u64::MAX >> (64 - bits)) > infinity;
    if is_nan(expected) || is_nan(found) {
        return is_nan(expected) && is_nan(found);
    }
    let rank = |x: u64| match x & sign {
        0 => i128::from(x),
        _ => -i128::from(x & !sign),
    };
    ulps > 0 && (rank(expected) - rank(found)).abs() <= i128::from(ulps)
}

/// Evaluates a meaning on a wave.
fn evaluate(writes: &[(Cell, Expr)], is_of_wave: bool, state: &WaveState) -> WaveChanges {
    let mut changes = WaveChanges::default();
    let exec = lanes_of(state);
    for (cell, value) in writes {
        let register = cell.register();
        let number = register.number;
        if register.kind == RegisterKind::Scalar {
            let word = match value {
                Expr::Ballot(bit, half) => {
                    let lanes = (0..LANES).filter(|lane| exec >> lane & 1 == 1);
                    let set = lanes.filter(|&lane| word(bit, lane, state) != 0);
                    half.of(set.fold(0, |mask, lane| mask | 1 << lane))
                }
                _ => word(value, 0, state),
            };
            changes.scalars.insert(number, word);
            continue;
        }
        let mut row = state.vectors[usize::from(number)];
        for (lane, slot) in row.iter_mut().enumerate() {
            if is_of_wave || exec >> lane & 1 == 1 {
                *slot = word(value, lane, state);
            }
        }
        changes.vectors.insert(number, row);
    }
    changes
}

/// Evaluates an expression in a lane.
fn word(expr: &Expr, lane: usize, state: &WaveState) -> u32 {
    let of = |e: &Expr| word(e, lane, state);
    match expr {
        Expr::Const(n) => *n,
        Expr::Cell(cell) => read(*cell, lane, state),
        Expr::Special(SpecialReg::LaneId) => lane as u32,
        Expr::Unary(op, a) => op.apply(of(a)),
        Expr::Binary(op, a, b) => op.apply(of(a), of(b)).unwrap_or_default(),
        Expr::Ternary(op, a, b, c) => op.apply(of(a), of(b), of(c)),
        Expr::Float(op, operands, half) => {
            let mut words = [0; warpbound_ir::float::FloatOp::MAX_WORDS];
            for (to, from) in words.iter_mut().zip(operands) {
                *to = of(from);
            }
            half.of(op.apply(words))
        }
        Expr::FromLane(cell, from) => read(*cell, of(from) as usize % LANES, state),
        other => unreachable!("{other:?}"),
    }
}

fn read(cell: Cell, lane: usize, state: &WaveState) -> u32 {
    let register = cell.register();
    let number = usize::from(register.number);
    match register.kind {
        RegisterKind::Scalar => state.scalars[number],
        _ => state.vectors[number][lane],
    }
}

/// Random instructions and waves.
struct Random(fastrand::Rng);

/// Bit patterns at which integers and floats of all widths change their behaviour.
const EDGES: [u32; 44] = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0x8001,
    0xffff,
    0x1_0000,
    0x7f_ffff,
    0x80_0000,
    0xff_ffff,
    0x100_0000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0xffff_8000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0x7f7f_ffff,
    0x3c00,
    0x7c00,
    0x7c01,
    0x7ff0_0000,
    0x3ff0_0000,
];

impl Random {
    /// Draws an instruction with an opcode.
    fn instr(&mut self, encoding: &str, base: u32) -> Option<GcnInstr> {
        let count = self.0.u32(1..4);
        let first = match encoding {
            "SOP2" | "SOPC" => base | self.scalar_source() | self.scalar_source() << 8,
            "SOP1" => base | self.scalar_source(),
            // Half of the numbers name MODE where they name a hardware register.
            "SOPK" => match self.0.bool() {
                true => base | u32::from(self.0.u16(..)),
                false => base | u32::from(self.0.u16(..) & !0x3f | 1),
            },
            _ => base,
        };
        let first = match encoding {
            "SOP2" | "SOP1" | "SOPK" => first | self.scalar_target() << 16,
            "VOP1" => first | self.vector_source(true) | self.register() << 17,
            "VOP2" => {
                first | self.vector_source(true) | self.register() << 9 | self.register() << 17
            }
            "VOPC" => first | self.vector_source(true) | self.register() << 9,
            "VOP3" => {
                // Fields that an instruction does not have must be 0: there are one to three sources, a second result
                // or modifiers.
                let fields = match self.0.u8(..6) {
                    0 => self.0.u32(..) & ((1 << count) - 1) << 8 | self.0.u32(..2) << 15,
                    1 | 2 => self.scalar_target() << 8 & 0x7f00,
                    _ => 0,
                };
                first | self.register() | fields
            }
            _ => first,
        };
        let second = match encoding {
            "VOP3" => {
                let sources = (0..count).map(|n| self.vector_source(false) << (9 * n));
                let sources = sources.fold(0, |all, source| all | source);
                match self.0.u8(..4) {
                    0 => sources | (self.0.u32(..) & ((1 << count) - 1)) << 29,
                    1 => sources | self.0.u32(..4) << 27,
                    _ => sources,
                }
            }
            _ => self.second(first),
        };
        let instr = GcnInstr::decode(CodeAddr(0), first, Some(second));
        instr.form.map(|_| instr)
    }

    /// The second dword of an instruction with a literal, SDWA or DPP.
    fn second(&mut self, first: u32) -> u32 {
        match first & 0x1ff {
            // Parts of operands and results: byte, half or all.
            0xf9 => {
                let select = |r: &mut Random| r.0.u32(..7);
                let modifiers = match self.0.u8(..2) {
                    0 => 0,
                    _ => self.0.u32(..) & 0x3838_2000,
                };
                let target = select(self) << 8 | self.0.u32(..3) << 11;
                self.register() | target | select(self) << 16 | select(self) << 24 | modifiers
            }
            0xfa => {
                let controls = [
                    self.0.u32(..0x100),
                    0x100 + self.0.u32(1..16),
                    0x110 + self.0.u32(1..16),
                    0x120 + self.0.u32(1..16),
                    0x130,
                    0x134,
                    0x138,
                    0x13c,
                    0x140,
                    0x141,
                    0x142,
                    0x143,
                ];
                let control = controls[self.0.usize(..controls.len())];
                let masks = match self.0.bool() {
                    true => 0xff00_0000,
                    false => self.0.u32(..) & 0xff00_0000,
                };
                self.register() | control << 8 | self.0.u32(..2) << 19 | masks
            }
            _ => loop {
                // The text of a double is the same for small literals, which are its high half, and for inline
                // constants.
                let word = self.word();
                if !(-16..=64).contains(&(word as i32)) {
                    return word;
                }
            },
        }
    }

    /// A register of the lanes that waves have.
    fn register(&mut self) -> u32 {
        self.0.u32(..u32::from(VECTORS) - 3)
    }

    fn scalar_target(&mut self) -> u32 {
        match self.0.u8(..8) {
            0 => 106,
            1 => 126,
            2 => 124,
            _ => self.0.u32(..50) * 2,
        }
    }

    fn scalar_source(&mut self) -> u32 {
        match self.0.u8(..8) {
            0 => 106,
            1 => 126,
            2 => self.0.u32(128..209),
            3 => self.0.u32(240..249),
            4 => 255,
            5 => 124,
            _ => self.0.u32(..50) * 2,
        }
    }

    fn vector_source(&mut self, is_short: bool) -> u32 {
        match self.0.u8(..10) {
            0 => self.scalar_source(),
            1 if is_short => 0xf9,
            2 | 3 if is_short => 0xfa,
            1..3 => self.scalar_source(),
            _ => 256 + self.register(),
        }
    }

    /// Rounding, subnormal numbers, clamping and signalling NaNs.
    fn mode(&mut self) -> u32 {
        match self.0.u8(..4) {
            // The modes that compilers set, and one without subnormal numbers.
            0 => 0x3c0,
            1 => 0x3f0,
            2 => 0x300,
            _ => self.0.u32(..0x400),
        }
    }

    /// Draws an edge, a number of few bits, a float near 1, or a uniform one.
    fn word(&mut self) -> u32 {
        let word = self.0.u32(..);
        match self.0.u8(..6) {
            0 | 1 => EDGES[self.0.usize(..EDGES.len())],
            2 => word >> self.0.u32(..32),
            3 => word & 0x803f_ffff | self.0.u32(0x7c..0x84) << 23,
            4 => word & 0x83ff_83ff | self.0.u32(13..18) << 10 | self.0.u32(13..18) << 26,
            _ => word,
        }
    }

    fn wave(&mut self, mode: u32) -> WaveState {
        let mut scalars = std::array::from_fn(|_| self.word());
        let mask = match self.0.u8(..5) {
            0 => 0,
            1 => 1 << self.0.u32(..64),
            2 => self.0.u64(..),
            _ => u64::MAX,
        };
        scalars[EXEC] = WordHalf::Low.of(mask);
        scalars[EXEC + 1] = WordHalf::High.of(mask);
        scalars[usize::from(SCC)] = self.0.u32(..2);
        scalars[usize::from(MODE)] = mode;
        let rows = (0..VECTORS).map(|_| std::array::from_fn(|_| self.word()));
        let mut vectors: Vec<[u32; LANES]> = rows.collect();
        // Equal and opposite operands.
        for lane in 0..LANES {
            let (from, to) = (self.0.usize(..vectors.len()), self.0.usize(..vectors.len()));
            vectors[to][lane] = match self.0.u8(..3) {
                0 => vectors[from][lane].wrapping_neg(),
                1 => vectors[from][lane] ^ 1 << 31,
                _ => vectors[from][lane],
            };
        }
        WaveState { scalars, vectors }
    }
}

/// Registers of the lanes in a wave: few, so that operands are often the same.
const VECTORS: u8 = 12;
