//! Steps and places that no thread comes to, as a person states them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use warpbound_base::CodeAddr;

/// Something that no thread does, whatever the input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Never {
    /// Execution of a block, named by the address of one of its instructions.
    Block(CodeAddr),
    /// A step from the last instruction of a block to the first of another, or of the same.
    Step {
        /// The last instruction.
        from: CodeAddr,
        /// The first instruction.
        to: CodeAddr,
    },
}

impl Never {
    /// Reads `0x0200` and `0x01a8 -> 0x0200`.
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

/// The address that a text spells, like `0x0128`.
pub(crate) fn address(text: &str) -> Option<CodeAddr> {
    let digits = text.strip_prefix("0x")?;
    // `from_str_radix` takes a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok().map(CodeAddr)
}

/// Statements by the addresses that they name, each with its number.
#[derive(Clone, Debug, Default)]
pub struct NeverIndex {
    blocks: BTreeMap<CodeAddr, usize>,
    steps: BTreeMap<(CodeAddr, CodeAddr), usize>,
}

impl NeverIndex {
    /// The index of some statements; of equal ones the last.
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

    /// Tells if there is no statement.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.steps.is_empty()
    }

    /// The numbers of the statements that exclude to execute a block with these first and last instructions.
    pub fn of_block(&self, block: RangeInclusive<CodeAddr>) -> impl Iterator<Item = usize> + '_ {
        // A block of a damaged graph could end before it begins.
        let ordered = (block.start() <= block.end()).then_some(block);
        let ranges = ordered.into_iter();
        ranges.flat_map(|block| self.blocks.range(block).map(|(_, &number)| number))
    }

    /// The number of the statement that excludes the step.
    pub fn of_step(&self, from: CodeAddr, to: CodeAddr) -> Option<usize> {
        self.steps.get(&(from, to)).copied()
    }
}
