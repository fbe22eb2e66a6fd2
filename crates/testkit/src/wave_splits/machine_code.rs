//! Writer of GCN3 machine code, for the instructions that compiled programs have. The words follow
//! `isa/amd/gfx803.forms`, and branches go to labels.

/// Operand of an instruction, as scalar and vector sources encode it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Scalar register, or the first of a pair.
    Scalar(u8),
    /// Vector register.
    Vector(u8),
    /// Number: inline up to 64, else a literal, which only some encodings have.
    Number(u32),
}

/// First scalar register of VCC.
pub const VCC: u8 = 106;

/// First scalar register of EXEC.
pub const EXEC: u8 = 126;

/// Scalar register that limits addresses of LDS.
pub const M0: u8 = 124;

/// Low word of FLAT_SCRATCH.
pub const FLAT_SCRATCH: u8 = 102;

impl Source {
    /// Number of the encoding, and the literal.
    fn encoding(self) -> (u32, Option<u32>) {
        match self {
            Source::Scalar(number) => (number.into(), None),
            Source::Vector(number) => (256 + u32::from(number), None),
            Source::Number(value @ 0..=64) => (128 + value, None),
            Source::Number(value) => (255, Some(value)),
        }
    }
}

/// Target of branches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Label(usize);

/// Machine code in writing.
#[derive(Clone, Debug, Default)]
pub struct MachineCode {
    words: Vec<u32>,
    /// Byte addresses of the instructions.
    addresses: Vec<u32>,
    /// By label: its byte address, once it is known.
    labels: Vec<Option<u32>>,
    /// Words of branches, and their labels.
    branches: Vec<(usize, Label)>,
}

impl MachineCode {
    /// Number of instructions.
    pub fn count(&self) -> u32 {
        self.addresses.len() as u32
    }

    /// Bytes of the instructions so far.
    pub fn bytes(&self) -> u32 {
        4 * self.words.len() as u32
    }

    /// Writes an instruction of some words.
    pub fn put(&mut self, words: &[u32]) {
        self.addresses.push(4 * self.words.len() as u32);
        self.words.extend(words);
    }

    fn with_literal(&mut self, word: u32, literals: [Option<u32>; 2]) {
        let literal = literals.into_iter().flatten().next();
        let words: Vec<u32> = std::iter::once(word).chain(literal).collect();
        self.put(&words);
    }

    /// SOP1: `form` is the word without operands.
    pub fn sop1(&mut self, form: u32, dest: u8, a: Source) {
        let (a, literal) = a.encoding();
        self.with_literal(form | u32::from(dest) << 16 | a, [literal, None]);
    }

    /// SOP2, and SOPC with a destination of 0.
    pub fn sop2(&mut self, form: u32, dest: u8, a: Source, b: Source) {
        let ((a, first), (b, second)) = (a.encoding(), b.encoding());
        self.with_literal(form | u32::from(dest) << 16 | b << 8 | a, [first, second]);
    }

    /// VOP1.
    pub fn vop1(&mut self, form: u32, dest: u8, a: Source) {
        let (a, literal) = a.encoding();
        self.with_literal(form | u32::from(dest) << 17 | a, [literal, None]);
    }

    /// VOP2, and VOPC with a destination of 0.
    pub fn vop2(&mut self, form: u32, dest: u8, a: Source, b: u8) {
        let (a, literal) = a.encoding();
        let word = form | u32::from(dest) << 17 | u32::from(b) << 9 | a;
        self.with_literal(word, [literal, None]);
    }

    /// VOP3 with two operands, neither a literal.
    pub fn vop3(&mut self, form: u32, dest: u8, a: Source, b: Source) {
        let ((a, _), (b, _)) = (a.encoding(), b.encoding());
        self.put(&[form | u32::from(dest), a | b << 9]);
    }

    /// FLAT, DS: address, data, destination.
    pub fn memory(&mut self, form: u32, address: u8, data: u8, dest: u8) {
        let [address, data, dest] = [address, data, dest].map(u32::from);
        self.put(&[form, address | data << 8 | dest << 24]);
    }

    /// MUBUF with an offset in a vector register: data, descriptor, scalar offset.
    pub fn buffer(&mut self, form: u32, address: u8, data: u8, descriptor: u8, offset: u8) {
        const OFFEN: u32 = 1 << 12;
        let [address, data, offset] = [address, data, offset].map(u32::from);
        let descriptor = u32::from(descriptor / 4) << 16;
        self.put(&[
            form | OFFEN,
            address | data << 8 | descriptor | offset << 24,
        ]);
    }

    /// A label without a place.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label before the next instruction.
    pub fn land(&mut self, label: Label) {
        let here = 4 * self.words.len() as u32;
        if let Some(place) = self.labels.get_mut(label.0) {
            *place = Some(here);
        }
    }

    /// Writes a branch.
    pub fn branch(&mut self, form: u32, label: Label) {
        self.branches.push((self.words.len(), label));
        self.put(&[form]);
    }

    /// The code, with its branches; `None` if a label has no place or is too far away.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        for (word, label) in &self.branches {
            let target = (*self.labels.get(label.0)?)?;
            // In words from the next instruction.
            let distance = i64::from(target) / 4 - (*word as i64 + 1);
            let distance = i16::try_from(distance).ok()?;
            *self.words.get_mut(*word)? |= u32::from(distance as u16);
        }
        Some(
            self.words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect(),
        )
    }
}
