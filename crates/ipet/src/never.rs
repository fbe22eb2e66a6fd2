//! Infeasibility facts (`never`): blocks and control-flow steps that no thread executes.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use warpbound_base::CodeAddr;

/// Fact that no thread executes a block or a step, whatever the input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Never {
    /// Block that contains the instruction at this address.
    Block(CodeAddr),
    /// Step from the last instruction of a block to the first one of another, or of the same block.
    Step {
        /// Address of the last instruction.
        from: CodeAddr,
        /// Address of the first instruction.
        to: CodeAddr,
    },
}

impl Never {
    /// Parses `0x0200` and `0x01a8 -> 0x0200`.
    pub(crate) fn parse(text: &str) -> Option<Never> {
        match text.split_once("->") {
            None => address(text.trim()).map(Never::Block),
            Some((from, to)) => Some(Never::Step {
                from: address(from.trim())?,
                to: address(to.trim())?,
            }),
        }
    }
}

impl fmt::Display for Never {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Never::Block(at) => write!(f, "{at}"),
            Never::Step { from, to } => write!(f, "{from} -> {to}"),
        }
    }
}

/// Parses an address like `0x0128`.
pub(crate) fn address(text: &str) -> Option<CodeAddr> {
    // Without the prefix a decimal number could be meant.
    let digits = text.strip_prefix("0x")?;
    // `from_str_radix` would accept a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok().map(CodeAddr)
}

/// Index of facts by their addresses; values are fact numbers.
#[derive(Clone, Debug, Default)]
pub struct NeverIndex {
    blocks: BTreeMap<CodeAddr, usize>,
    steps: BTreeMap<(CodeAddr, CodeAddr), usize>,
}

impl NeverIndex {
    /// Builds the index. If several facts are equal, the last one counts.
    pub fn new(all: &[Never]) -> NeverIndex {
        let mut index = NeverIndex::default();
        for (number, never) in all.iter().enumerate() {
            match *never {
                Never::Block(at) => index.blocks.insert(at, number),
                Never::Step { from, to } => index.steps.insert((from, to), number),
            };
        }
        index
    }

    /// Whether there are no facts.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.steps.is_empty()
    }

    /// Numbers of the facts that exclude the execution of a block with these first and last instructions.
    pub fn of_block(&self, block: RangeInclusive<CodeAddr>) -> impl Iterator<Item = usize> + '_ {
        // `BTreeMap::range` panics on a reversed range, which a block of a damaged graph could have.
        let ordered = (block.start() <= block.end()).then_some(block);
        let ranges = ordered.into_iter();
        ranges.flat_map(|block| self.blocks.range(block).map(|(_, &number)| number))
    }

    /// Number of the fact that excludes the step.
    pub fn of_step(&self, from: CodeAddr, to: CodeAddr) -> Option<usize> {
        self.steps.get(&(from, to)).copied()
    }
}
