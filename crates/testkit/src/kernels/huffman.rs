//! Reference of Huffman coding of bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("huffman", "huffman_lengths", lengths),
    ("huffman", "huffman_encode", encode),
    ("huffman", "huffman_decode", decode),
];

/// Number of distinct symbols.
const SYMBOLS: usize = 64;

/// Number of symbols that a block of the encoding kernels handles.
const BLOCK: usize = 96;

/// Code of a symbol: its bits, first bit first.
type Code = Vec<bool>;

/// Code tree over all symbols: pairs of children of inner nodes, with leaves as complemented symbols; and the codes.
struct Coding {
    tree: Vec<i16>,
    codes: Vec<Code>,
}

impl Coding {
    /// Builds the Huffman code by joining the two rarest nodes repeatedly. With at most 46367 counted symbols no code
    /// has more than 24 bits, since the counts along a code of n bits grow at least as the Fibonacci numbers.
    fn of(counts: &[u64]) -> Coding {
        enum Node {
            Leaf(usize),
            Inner(usize, usize),
        }
        let mut nodes: Vec<Node> = (0..counts.len()).map(Node::Leaf).collect();
        let mut rarest: BinaryHeap<Reverse<(u64, usize)>> = counts
            .iter()
            .enumerate()
            .map(|(symbol, &count)| Reverse((count, symbol)))
            .collect();
        while let (Some(Reverse(a)), Some(Reverse(b))) = (rarest.pop(), rarest.pop()) {
            nodes.push(Node::Inner(a.1, b.1));
            if rarest.is_empty() {
                break;
            }
            rarest.push(Reverse((a.0 + b.0, nodes.len() - 1)));
        }
        let mut coding = Coding {
            tree: vec![0; 2],
            codes: vec![Code::new(); counts.len()],
        };
        // Node, index in the tree that refers to it, and its code.
        let mut pending = vec![(nodes.len() - 1, None, Code::new())];
        let mut inner = 0;
        while let Some((node, index, bits)) = pending.pop() {
            let number = match nodes[node] {
                Node::Leaf(symbol) => {
                    coding.codes[symbol] = bits;
                    !(symbol as i16)
                }
                Node::Inner(zero, one) => {
                    let own = inner;
                    inner += 1;
                    coding.tree.resize(2 * inner, 0);
                    for (bit, child) in [(false, zero), (true, one)] {
                        let mut longer = bits.clone();
                        longer.push(bit);
                        pending.push((child, Some(2 * own + usize::from(bit)), longer));
                    }
                    own as i16
                }
            };
            if let Some(index) = index {
                coding.tree[index] = number;
            }
        }
        assert!(
            coding
                .codes
                .iter()
                .all(|code| (1..=24).contains(&code.len()))
        );
        coding
    }

    /// Returns the encoded bits of symbols.
    fn bits(&self, symbols: &[u8]) -> Vec<bool> {
        let codes = symbols
            .iter()
            .map(|&symbol| &self.codes[usize::from(symbol)]);
        codes.flatten().copied().collect()
    }
}

/// Packs bits into words, first bit highest, with a spare word at the end.
fn words(bits: &[bool]) -> Vec<u32> {
    let mut words = vec![0; bits.len() / 32 + 2];
    for (at, &bit) in bits.iter().enumerate() {
        words[at / 32] |= u32::from(bit) << (31 - at % 32);
    }
    words
}

/// Draws a text and builds a code for it.
fn text(number: u64) -> (Vec<u8>, Coding, fastrand::Rng) {
    let mut rng = fastrand::Rng::with_seed(number);
    let length = match number {
        0 => 2 * BLOCK,
        1 => 1,
        2 => 5 * BLOCK + 41,
        _ => rng.usize(1..8 * BLOCK),
    };
    // Symbol frequencies fall geometrically: not at all, or so steeply that codes become long.
    let steep = [0.2, 0.0, 0.6].get(number as usize).copied();
    let steep = steep.unwrap_or_else(|| rng.f64() * 0.7);
    let counts: Vec<u64> = (0..SYMBOLS)
        .map(|rank| 1 + (8000.0 * (-steep * rank as f64).exp()) as u64)
        .collect();
    let total: u64 = counts.iter().sum::<u64>();
    let symbols = (0..length)
        .map(|_| {
            // Half of the symbols are uniform, so that long codes occur too.
            if rng.bool() {
                return rng.u8(..SYMBOLS as u8);
            }
            let mut left = rng.u64(..total);
            let symbol = counts.iter().position(|&count| {
                let is_here = left < count;
                left = left.saturating_sub(count);
                is_here
            });
            symbol.unwrap_or(0) as u8
        })
        .collect();
    // Scales the counts so that no code is longer than 24 bits.
    let scale = total.div_ceil(40_000);
    let scaled: Vec<u64> = counts.iter().map(|count| 1 + count / scale).collect();
    (symbols, Coding::of(&scaled), rng)
}

/// Number of bits of each block of symbols.
fn totals(symbols: &[u8], coding: &Coding) -> Vec<u32> {
    symbols
        .chunks(BLOCK)
        .map(|block| coding.bits(block).len() as u32)
        .collect()
}

/// Position of the first bit of each block, if the first block begins at `at`.
fn starts(mut at: u32, totals: &[u32]) -> Vec<u32> {
    let mut starts = Vec::new();
    for total in totals {
        starts.push(at);
        at += total;
    }
    starts
}

fn lengths(number: u64) -> LaunchFile {
    let (symbols, coding, _) = text(number);
    let totals = totals(&symbols, &coding);
    let lengths: Vec<u8> = coding.codes.iter().map(|code| code.len() as u8).collect();
    TestLaunch::of(
        "huffman_lengths",
        [totals.len() as u32, 1, 1],
        [BLOCK as u32, 1, 1],
    )
    .input("symbols", &symbols)
    .input("lengths", &lengths)
    .output("totals", &vec![0; totals.len()], &totals)
    .value("count", symbols.len() as i32)
    .finish()
}

fn encode(number: u64) -> LaunchFile {
    let (symbols, coding, mut rng) = text(number);
    let totals = totals(&symbols, &coding);
    // Bits already in the output.
    let mut bits: Vec<bool> = (0..rng.usize(..70)).map(|_| rng.bool()).collect();
    let starts = starts(bits.len() as u32, &totals);
    let mut before = words(&bits);
    bits.extend(coding.bits(&symbols));
    let end = words(&bits);
    before.resize(end.len(), 0);
    let table: Vec<u32> = coding
        .codes
        .iter()
        .flat_map(|code| {
            let bits = code.iter().fold(0, |bits, &bit| 2 * bits + u32::from(bit));
            [bits, code.len() as u32]
        })
        .collect();
    TestLaunch::of(
        "huffman_encode",
        [totals.len() as u32, 1, 1],
        [BLOCK as u32, 1, 1],
    )
    .input("symbols", &symbols)
    .input("table", &table)
    .input("starts", &starts)
    .output("words", &before, &end)
    .value("count", symbols.len() as i32)
    .finish()
}

fn decode(number: u64) -> LaunchFile {
    let (symbols, coding, mut rng) = text(number);
    let chunk = rng.usize(1..12);
    let totals: Vec<u32> = symbols
        .chunks(chunk)
        .map(|chunk| coding.bits(chunk).len() as u32)
        .collect();
    let blocks = totals.len().div_ceil(48) as u32;
    TestLaunch::of("huffman_decode", [blocks, 1, 1], [48, 1, 1])
        .input("words", &words(&coding.bits(&symbols)))
        .input("tree", &coding.tree)
        .input("starts", &starts(0, &totals))
        .output("symbols", &vec![255; symbols.len()], &symbols)
        .value("chunk", chunk as i32)
        .value("count", symbols.len() as i32)
        .finish()
}
