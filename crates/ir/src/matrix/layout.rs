//! Positions of the elements of matrices in the registers of a warp (PTX manual, "Matrix Fragments for mma").
//!
//! One rule covers all shapes. Eight lines of a matrix (rows of `a` and of sums, columns of `b`) form a block, where four
//! lanes share each line and take turns by *runs* of elements. A lane holds a run of each block, then the next run of each.
//! For example, `a` with 16 rows of halves has runs of two: the first register of lane 5 has the elements 2 and 3 of row 1,
//! its second one the same elements of row 9, and the third one the elements 10 and 11 of row 1.

use super::LANES;

/// Lanes that share a line.
const LANES_OF_LINE: usize = 4;

/// Lines of a block.
const BLOCK_LINES: usize = LANES / LANES_OF_LINE;

/// Layout of the fragments of one matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Lines of the matrix, a multiple of 8.
    lines: usize,
    /// Elements of a line.
    length: usize,
    /// Bits of an element.
    bits: usize,
    /// Elements of a line that one lane holds together.
    run: usize,
}

impl Fragment {
    /// Layout of a factor, whose runs fill registers.
    pub fn of_factor(lines: usize, length: usize, bits: usize) -> Fragment {
        let run = (32 / bits).max(1);
        Fragment {
            lines,
            length,
            bits,
            run,
        }
    }

    /// Layout of sums, whose runs are pairs.
    pub fn of_sums(lines: usize, length: usize, bits: usize) -> Fragment {
        Fragment {
            lines,
            length,
            bits,
            run: 2,
        }
    }

    /// Number of words in each lane.
    pub fn word_count(self) -> usize {
        self.lines * self.length * self.bits / (32 * LANES)
    }

    /// Place of an element among the elements of all lines, by its number in a lane.
    fn place(self, lane: usize, number: usize) -> usize {
        let (within_block, member) = (lane / LANES_OF_LINE, lane % LANES_OF_LINE);
        let (run, within_run) = (number / self.run, number % self.run);
        let blocks = self.lines / BLOCK_LINES;
        let line = run % blocks * BLOCK_LINES + within_block;
        let turn = run / blocks;
        line * self.length + (turn * LANES_OF_LINE + member) * self.run + within_run
    }

    /// Whether lanes share each line by whole runs.
    pub fn has_whole_runs(self) -> bool {
        self.length > 0 && self.length.is_multiple_of(LANES_OF_LINE * self.run)
    }

    /// Collects the elements of all lines, one line after the other, from the words of all lanes.
    pub fn elements(self, words: &[[u32; LANES]]) -> Vec<u64> {
        let mut elements = vec![0; self.lines * self.length];
        self.for_each(|slot| {
            let Slot { word, lane, .. } = slot;
            // Fragments of other numbers of words are refused where meanings are made, so nothing is missing here.
            let Some(row) = words.get(word) else { return };
            let low = u64::from(row[lane]);
            // Only elements of 64 bits go on in the next word.
            let next = words.get(word + 1);
            let high = next.map_or(0, |next| u64::from(next[lane]) << 32);
            elements[slot.element] = (high | low) >> slot.shift & slot.mask;
        });
        elements
    }

    /// Distributes elements to the words of all lanes.
    pub fn words(self, elements: &[u64]) -> Vec<[u32; LANES]> {
        let mut words = vec![[0; LANES]; self.word_count()];
        self.for_each(|slot| {
            let value = (elements[slot.element] & slot.mask) << slot.shift;
            // Elements that share a register are written one after the other.
            words[slot.word][slot.lane] |= value as u32;
            if self.bits > 32 {
                words[slot.word + 1][slot.lane] = (value >> 32) as u32;
            }
        });
        words
    }

    /// Calls a function for each element with its place in the registers.
    fn for_each(self, mut visit: impl FnMut(Slot)) {
        // No format has 0 bits, so the shift is less than 64.
        let mask = u64::MAX >> (64 - self.bits);
        for lane in 0..LANES {
            // All lanes hold equally many elements, because each shape fills whole registers.
            for number in 0..self.lines * self.length / LANES {
                // Elements are packed from the low bit on, and none of them crosses a register unless it fills two.
                let bit = number * self.bits;
                visit(Slot {
                    element: self.place(lane, number),
                    word: bit / 32,
                    lane,
                    shift: bit % 32,
                    mask,
                });
            }
        }
    }
}

/// Place of an element in the registers of the warp.
#[derive(Clone, Copy)]
struct Slot {
    /// Number among the elements of all lines.
    element: usize,
    /// First word of the lane's fragment that holds it.
    word: usize,
    lane: usize,
    /// Position of its low bit in the word.
    shift: usize,
    /// Ones for its bits, shifted to the low end.
    mask: u64,
}

/// Words of the transposed matrix of 8 by 8 elements of 16 bits.
pub fn transposed(words: &[u32; LANES]) -> [u32; LANES] {
    let tile = Fragment::of_factor(8, 8, 16);
    let elements = tile.elements(&[*words]);
    let swapped: Vec<u64> = (0..64).map(|at| elements[at % 8 * 8 + at / 8]).collect();
    let words = tile.words(&swapped);
    words.first().copied().unwrap_or([0; LANES])
}
