//! The frame of a row: mnemonic and kinds of operands. Texts that leave operands out are aligned to it.

use super::printed::{Printed, Shape, Slots};

/// Mnemonic and shapes of the operands of the longest texts of a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Frame {
    pub(super) mnemonic: String,
    pub(super) shapes: Vec<Shape>,
}

/// Slots of each operand of a frame; `None` for one that is not printed.
pub(super) type Aligned<'a> = Vec<Option<&'a Slots>>;

/// Shapes of operands that texts leave out.
const OPTIONAL: &str = "RGPLBIW";

/// Alignments that are compared at most.
const ALIGNMENTS: usize = 40;

impl Frame {
    /// Frame of a text.
    pub(super) fn of(printed: &Printed) -> Frame {
        Frame {
            mnemonic: printed.mnemonic.clone(),
            shapes: printed.shapes(),
        }
    }

    /// Assigns the operands of a text to places of the frame: of several ways, the one with the fewest slots that
    /// differ from `expected`. `None` if mnemonic or shapes do not fit.
    pub(super) fn align<'a>(
        &self,
        printed: &'a Printed,
        expected: &[Slots],
    ) -> Option<Aligned<'a>> {
        if printed.mnemonic != self.mnemonic || printed.operands.len() > self.shapes.len() {
            return None;
        }
        let mut ways = Vec::new();
        self.embed(printed, &mut Vec::new(), &mut ways);
        let aligned = |way: &[Option<usize>]| -> Aligned<'a> {
            let slots = way.iter().map(|at| printed.operands.get((*at)?));
            slots.map(|operand| Some(&operand?.slots)).collect()
        };
        let cost = |aligned: &Aligned<'a>| {
            let pairs = aligned.iter().zip(expected);
            let differing = pairs.map(|(slots, expected)| match slots {
                Some(slots) => expected
                    .iter()
                    .filter(|(k, v)| slots.get(k) != Some(v))
                    .count(),
                None => 0,
            });
            differing.sum::<usize>()
        };
        let ways = ways.iter().map(|way| aligned(way));
        ways.min_by_key(cost)
    }

    /// Extends `way`, the operand for each place so far, in all ways.
    fn embed(
        &self,
        printed: &Printed,
        way: &mut Vec<Option<usize>>,
        ways: &mut Vec<Vec<Option<usize>>>,
    ) {
        if ways.len() >= ALIGNMENTS {
            return;
        }
        let used = way.iter().flatten().count();
        let left = printed.operands.len() - used;
        let Some(shape) = self.shapes.get(way.len()) else {
            if left == 0 {
                ways.push(way.clone());
            }
            return;
        };
        let next = printed.operands.get(used);
        if next.is_some_and(|operand| operand.shape == *shape) {
            way.push(Some(used));
            self.embed(printed, way, ways);
            way.pop();
        }
        let spare = self.shapes.len() - way.len() > left;
        if spare && OPTIONAL.contains(shape.trim()) {
            way.push(None);
            self.embed(printed, way, ways);
            way.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::printed::{Printed, Slot, Style, Value};
    use super::Frame;

    #[test]
    fn operands_that_are_left_out() {
        let style = Style {
            uniform_zero: 63,
            next: None,
        };
        let full = Printed::parse("SEL R1, R2, R3, !P1", style);
        let frame = Frame::of(&full);
        let expected: Vec<_> = full.operands.iter().map(|o| o.slots.clone()).collect();
        let short = Printed::parse("SEL R1, R3", style);
        let aligned = frame.align(&short, &expected).expect("fits");
        assert!(aligned[1].is_none() && aligned[3].is_none());
        assert_eq!(aligned[2].unwrap()[&Slot::Number], Value::Number(3));
        let other = Printed::parse("SEL P1, R3", style);
        assert!(frame.align(&other, &expected).is_none());
    }
}
