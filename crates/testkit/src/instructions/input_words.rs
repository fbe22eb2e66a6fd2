//! Random words as inputs of instructions, with edge values.

/// Words at which instructions change their behaviour: limits of signs, shifts, bytes and halves.
pub const EDGES: [u32; 16] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    u32::MAX,
];

/// Generator of words from a seed that is not 0.
pub struct InputWords(u64);

impl InputWords {
    /// Generator from a seed. A seed of 0 would give zeros only, and is replaced.
    pub fn new(seed: u64) -> InputWords {
        InputWords(seed.max(1))
    }

    /// Draws 64 bits (xorshift).
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Draws an edge value, a number of few bits, or a uniform one.
    pub fn word(&mut self) -> u32 {
        let bits = self.bits();
        let word = (bits >> 16) as u32;
        let edge = |at: u64| {
            EDGES
                .get(at as usize % EDGES.len())
                .copied()
                .unwrap_or_default()
        };
        match bits % 4 {
            0 => edge(bits >> 8),
            1 => word >> (bits >> 8 & 31),
            2 => word & (word >> 8) & edge(bits >> 12),
            _ => word,
        }
    }
}
