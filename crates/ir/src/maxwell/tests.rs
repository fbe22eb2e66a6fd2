//! Meanings of encoded instructions against references that share no code with them: arithmetic on wide integers.

use std::cmp::Ordering;

use warpbound_isa::nvidia::{SassProgram, table};
use warpbound_isa::{Arch, View};

use super::meaning;
use crate::float::FloatOp;
use crate::{Cell, Expr, Meaning};

const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;
const D: u32 = 4;

/// The instruction of a word with the guard PT.
fn view(word: u64) -> View {
    let word = word & !(0xf << 16) | 7 << 16;
    let mut group = [0u8; 32];
    group[8..16].copy_from_slice(&word.to_le_bytes());
    let program = SassProgram::decode(Arch::Sm61, &group).expect("a group");
    program.view(&program.instrs[0]).expect("an instruction")
}

/// Register operands D, A, B, C in their usual fields.
fn registers(opcode: u64) -> u64 {
    opcode | u64::from(D) | u64::from(A) << 8 | u64::from(B) << 20 | u64::from(C) << 39
}

/// The same without C.
fn two_registers(opcode: u64) -> u64 {
    registers(opcode) & !(0xff << 39) | opcode
}

struct Lane {
    registers: [u32; 8],
    predicates: [u32; 8],
    cc: u32,
}

impl Lane {
    fn evaluate(&self, expr: &Expr) -> u32 {
        let eval = |e: &Expr| self.evaluate(e);
        match expr {
            Expr::Const(n) => *n,
            Expr::Cell(Cell::CC) => self.cc,
            Expr::Cell(cell) if cell.is_predicate() => self.predicates[cell.index() - 256],
            Expr::Cell(cell) => self.registers[cell.index()],
            Expr::Unary(op, a) => op.apply(eval(a)),
            Expr::Binary(op, a, b) => op.apply(eval(a), eval(b)).expect("no division"),
            Expr::Float(op, words, half) => {
                let mut values = [0; FloatOp::MAX_WORDS];
                for (value, word) in values.iter_mut().zip(words) {
                    *value = eval(word);
                }
                half.of(op.apply(values))
            }
            Expr::Ternary(op, a, b, c) => op.apply(eval(a), eval(b), eval(c)),
            Expr::Constant(..)
            | Expr::ThreadId
            | Expr::Special(_)
            | Expr::Ballot(..)
            | Expr::FromLane(..) => panic!("{expr:?}"),
        }
    }

    fn execute(&mut self, meaning: &Meaning) {
        let Meaning::Set(writes) = meaning else {
            panic!("{meaning:?}");
        };
        let values: Vec<(Cell, u32)> = writes.iter().map(|(c, e)| (*c, self.evaluate(e))).collect();
        for (cell, value) in values {
            match cell {
                Cell::CC => self.cc = value,
                cell if cell.is_predicate() => self.predicates[cell.index() - 256] = value,
                cell => self.registers[cell.index()] = value,
            }
        }
    }
}

const EDGES: [u32; 14] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    u32::MAX,
];

/// All triples of edge values and 10 000 random ones.
fn each(mut check: impl FnMut(u32, u32, u32)) {
    for a in EDGES {
        for b in EDGES {
            for c in EDGES {
                check(a, b, c);
            }
        }
    }
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = (state >> 16) as u32;
        // Small numbers, and numbers that differ in few bits, are more likely than chance would have it.
        word >> (state & 31) as u32
    };
    for _ in 0..10_000 {
        check(random(), random(), random());
    }
}

/// Value of D after the instruction, for registers A, B, C and flags.
fn result(word: u64, a: u32, b: u32, c: u32) -> u32 {
    run(word, a, b, c).registers[D as usize]
}

fn run(word: u64, a: u32, b: u32, c: u32) -> Lane {
    let mut lane = Lane {
        registers: [0, a, b, c, 0xdead_beef, 0, 0, 0],
        predicates: [0, 1, 0, 1, 0, 1, 0, 1],
        cc: 0,
    };
    let view = view(word);
    let found = meaning(&view).unwrap_or_else(|| panic!("{view:?} has no meaning"));
    lane.execute(&found);
    lane
}

/// Checks that the instruction assigns `expected` to D.
fn check(word: u64, expected: impl Fn(u32, u32, u32) -> u32) {
    let view = view(word);
    let found = meaning(&view).unwrap_or_else(|| panic!("{view:?} has no meaning"));
    each(|a, b, c| {
        let mut lane = Lane {
            registers: [0, a, b, c, 0xdead_beef, 0, 0, 0],
            predicates: [0, 1, 0, 1, 0, 1, 0, 1],
            cc: 0,
        };
        lane.execute(&found);
        let expected = expected(a, b, c);
        let got = lane.registers[D as usize];
        assert_eq!(
            got, expected,
            "{} {:?} of {a:#x}, {b:#x}, {c:#x}",
            view.opcode, view.modifiers
        );
    });
}

const IADD: u64 = 0x5c10_0000_0000_0000;
const ISETP: u64 = 0x5b60_0000_0000_0000;

#[test]
fn sums() {
    check(two_registers(IADD), |a, b, _| a.wrapping_add(b));
    check(two_registers(IADD) | 1 << 48, |a, b, _| a.wrapping_sub(b));
    check(two_registers(IADD) | 1 << 49, |a, b, _| b.wrapping_sub(a));
    check(two_registers(IADD) | 3 << 48, |a, b, _| {
        a.wrapping_add(b).wrapping_add(1)
    });
    check(registers(0x5cc0_0000_0000_0000), |a, b, c| {
        (i64::from(a) + i64::from(b) + i64::from(c)) as u32
    });
    // IADD3 D, A.H1, -B, C.H0
    check(
        registers(0x5cc0_0000_0000_0000) | 2 << 35 | 1 << 50 | 1 << 31,
        |a, b, c| (i64::from(a >> 16) - i64::from(b) + i64::from(c & 0xffff)) as u32,
    );
    // ISCADD D, A, B, 5; shift in bits 43:39.
    check(
        0x5c18_0000_0000_0000 | u64::from(D) | 1 << 8 | 2 << 20 | 5 << 39,
        |a, b, _| (u64::from(a) * 32 + u64::from(b)) as u32,
    );
}

/// Sums and differences of 64 bits by two instructions, the carry between them.
#[test]
fn carries() {
    for minus in [false, true] {
        let sign = u64::from(minus) << 48;
        let low = meaning(&view(two_registers(IADD) | sign | 1 << 47)).expect("a sum with flags");
        let high =
            meaning(&view(two_registers(IADD) | sign | 1 << 43)).expect("a sum with a carry");
        each(|a, b, c| {
            let mut lane = Lane {
                registers: [0, a, b, 0, 0, 0, 0, 0],
                predicates: [0; 8],
                cc: 0,
            };
            lane.execute(&low);
            let low_word = lane.registers[D as usize];
            // High words: c, and a combined with b.
            let other = a ^ b.rotate_left(7);
            lane.registers[A as usize] = c;
            lane.registers[B as usize] = other;
            lane.execute(&high);
            let high_word = lane.registers[D as usize];
            let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
            let (x, y) = (wide(a, c), wide(b, other));
            let expected = if minus {
                x.wrapping_sub(y)
            } else {
                x.wrapping_add(y)
            };
            assert_eq!(wide(low_word, high_word), expected, "{x:#x} {y:#x} {minus}");
        });
    }
}

/// The comparisons as instructions number them.
fn holds(code: u64, order: Ordering) -> bool {
    match code {
        0 => false,
        1 => order.is_lt(),
        2 => order.is_eq(),
        3 => order.is_le(),
        4 => order.is_gt(),
        5 => order.is_ne(),
        6 => order.is_ge(),
        _ => true,
    }
}

/// Comparisons of 64 bits: the difference of the low words, then ISETP.X of the high ones.
#[test]
fn chained_comparisons() {
    let low = meaning(&view(two_registers(IADD) | 1 << 48 | 1 << 47)).expect("a difference");
    for (code, signed) in (0..8u64).flat_map(|code| [(code, false), (code, true)]) {
        // P0, PT = A cmp B and PT; bit 48 is set for signed numbers.
        let word = ISETP | 7 | u64::from(A) << 8 | u64::from(B) << 20 | 7 << 39;
        let word = word | code << 49 | u64::from(signed) << 48 | 1 << 43;
        let word = word & !(7 << 3);
        let high = meaning(&view(word)).unwrap_or_else(|| panic!("{:?}", view(word)));
        each(|a, b, c| {
            for other in [c, c.wrapping_add(1), a] {
                let mut lane = Lane {
                    registers: [0, a, b, 0, 0, 0, 0, 0],
                    predicates: [9; 8],
                    cc: 0,
                };
                lane.execute(&low);
                lane.registers[A as usize] = c;
                lane.registers[B as usize] = other;
                lane.execute(&high);
                let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
                let (x, y) = (wide(a, c), wide(b, other));
                let order = if signed {
                    (x as i64).cmp(&(y as i64))
                } else {
                    x.cmp(&y)
                };
                let expected = holds(code, order);
                assert_eq!(
                    lane.predicates[0],
                    u32::from(expected),
                    "{code} {x:#x} {y:#x} {signed}"
                );
            }
        });
    }
}

/// 32-bit products as compilers make them of three XMAD, and products of halves.
#[test]
fn products() {
    const XMAD: u64 = 0x5b00_0000_0000_0000;
    check(registers(XMAD), |a, b, c| {
        (a & 0xffff).wrapping_mul(b & 0xffff).wrapping_add(c)
    });
    check(registers(XMAD) | 1 << 53 | 1 << 35, |a, b, c| {
        (a >> 16).wrapping_mul(b >> 16).wrapping_add(c)
    });
    check(registers(XMAD) | 3 << 48, |a, b, c| {
        (i64::from(a as i16) * i64::from(b as i16) + i64::from(c)) as u32
    });
    let merge = meaning(&view(registers(XMAD) | 1 << 37 | 1 << 35)).expect("XMAD.MRG");
    let last = meaning(&view(
        registers(XMAD) | 1 << 36 | 4 << 50 | 1 << 53 | 1 << 35,
    ))
    .expect("XMAD.PSL.CBCC");
    let first = meaning(&view(registers(XMAD))).expect("XMAD");
    each(|a, b, c| {
        let lane = |a, b, c| Lane {
            registers: [0, a, b, c, 0, 0, 0, 0],
            predicates: [0; 8],
            cc: 0,
        };
        let mut merged = lane(a, b, 0);
        merged.execute(&merge);
        let mut low = lane(a, b, c);
        low.execute(&first);
        let mut all = lane(a, merged.registers[D as usize], low.registers[D as usize]);
        all.execute(&last);
        assert_eq!(
            all.registers[D as usize],
            a.wrapping_mul(b).wrapping_add(c),
            "{a:#x} {b:#x} {c:#x}"
        );
    });
    const IMUL: u64 = 0x5c38_0000_0000_0000;
    check(two_registers(IMUL) | 3 << 40, |a, b, _| {
        (i64::from(a as i32) * i64::from(b as i32)) as u32
    });
    check(two_registers(IMUL) | 3 << 40 | 1 << 39, |a, b, _| {
        ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
    });
    check(two_registers(IMUL) | 1 << 39, |a, b, _| {
        ((u64::from(a) * u64::from(b)) >> 32) as u32
    });
}

#[test]
fn scaled_addresses() {
    // LEA D, A, B, 3 and LEA.HI D, A, B, C, 3
    check(
        0x5bd0_0000_0000_0000 | u64::from(D) | 1 << 8 | 2 << 20 | 3 << 39 | 7 << 48,
        |a, b, _| (u64::from(a) * 8 + u64::from(b)) as u32,
    );
    check(
        registers(0x5bd8_0000_0000_0000) | 3 << 28 | 7 << 48,
        |a, b, c| {
            let pair = u64::from(c) << 32 | u64::from(a);
            (((pair << 3) >> 32) as u32).wrapping_add(b)
        },
    );
}

#[test]
fn shifts_and_fields() {
    let wide = |value: u32, by: u32| if by > 31 { 0 } else { u64::from(value) << by };
    check(two_registers(0x5c48_0000_0000_0000), |a, b, _| {
        wide(a, b) as u32
    });
    check(two_registers(0x5c48_0000_0000_0000) | 1 << 39, |a, b, _| {
        wide(a, b & 31) as u32
    });
    check(two_registers(0x5c28_0000_0000_0000), |a, b, _| {
        if b > 31 { 0 } else { a >> b }
    });
    check(two_registers(0x5c28_0000_0000_0000) | 1 << 48, |a, b, _| {
        (i64::from(a as i32) >> b.min(40)) as u32
    });
    // SHF.L and SHF.R of the pair C:A by B.
    let pair = |a: u32, c: u32| u64::from(c) << 32 | u64::from(a);
    check(registers(0x5bf8_0000_0000_0000), |a, b, c| {
        ((pair(a, c) << b.min(32)) >> 32) as u32
    });
    check(registers(0x5cf8_0000_0000_0000), |a, b, c| {
        (pair(a, c) >> b.min(32)) as u32
    });
    check(registers(0x5cf8_0000_0000_0000) | 1 << 50, |a, b, c| {
        (pair(a, c) >> (b & 31)) as u32
    });
    // BFE: bit by bit.
    let field = |a: u32, b: u32, signed: bool| {
        let (position, length) = (b & 0xff, b >> 8 & 0xff);
        let sign_at = (position + length).wrapping_sub(1).min(31);
        let bit = |at: u32| if at > 31 { 0 } else { a >> at & 1 };
        let fill = if signed && length > 0 {
            bit(sign_at)
        } else {
            0
        };
        (0..32)
            .map(|at| {
                let inside = at < length && position + at <= 31;
                (if inside { bit(position + at) } else { fill }) << at
            })
            .sum::<u32>()
    };
    check(two_registers(0x5c00_0000_0000_0000), |a, b, _| {
        field(a, b, false)
    });
    check(two_registers(0x5c00_0000_0000_0000) | 1 << 48, |a, b, _| {
        field(a, b, true)
    });
    check(registers(0x5bf0_0000_0000_0000), |a, b, c| {
        let (position, length) = (b & 0xff, b >> 8 & 0xff);
        (0..32)
            .map(|at| {
                let inside = at >= position && at < position + length;
                (if inside {
                    a >> (at - position) & 1
                } else {
                    c >> at & 1
                }) << at
            })
            .sum()
    });
}

#[test]
fn logic() {
    const LOP: u64 = 0x5c40_0000_0000_0000;
    let no_predicate = 7 << 48;
    for (code, expected) in [
        (0u64, (|a, b| a & b) as fn(u32, u32) -> u32),
        (1, |a, b| a | b),
        (2, |a, b| a ^ b),
        (3, |_, b| b),
    ] {
        let word = two_registers(LOP) | code << 41 | no_predicate;
        check(word, |a, b, _| expected(a, b));
        check(word | 1 << 39, |a, b, _| expected(!a, b));
        check(word | 1 << 40, |a, b, _| expected(a, !b));
    }
    for table in [0x00u64, 0x96, 0xe8, 0xca, 0xff, 0x01, 0x80, 0x3c] {
        let word = registers(0x5be0_0000_0000_0000) | table << 28 | no_predicate;
        check(word, |a, b, c| {
            (0..32)
                .map(|at| {
                    let number = (a >> at & 1) << 2 | (b >> at & 1) << 1 | (c >> at & 1);
                    ((table >> number & 1) as u32) << at
                })
                .sum()
        });
    }
    check(0x5c08_0000_0000_0000 | u64::from(D) | 2 << 20, |_, b, _| {
        (0..32).map(|at| b >> at & 1).sum()
    });
    // FLO.U32 and FLO.
    let highest = |value: u32| (0..32).rev().find(|at| value >> at & 1 == 1);
    check(0x5c30_0000_0000_0000 | u64::from(D) | 2 << 20, |_, b, _| {
        highest(b).unwrap_or(u32::MAX)
    });
    check(
        0x5c30_0000_0000_0000 | u64::from(D) | 2 << 20 | 1 << 48,
        |_, b, _| {
            let other = if b >> 31 == 1 { !b } else { b };
            highest(other).unwrap_or(u32::MAX)
        },
    );
    // PRMT D, A, B, C: bytes of C:A.
    check(registers(0x5bc0_0000_0000_0000), |a, b, c| {
        let bytes = [a, a >> 8, a >> 16, a >> 24, c, c >> 8, c >> 16, c >> 24];
        (0..4)
            .map(|index| {
                let digit = b >> (4 * index) & 15;
                let byte = bytes[(digit & 7) as usize] & 0xff;
                let byte = if digit > 7 { (byte >> 7) * 0xff } else { byte };
                byte << (8 * index)
            })
            .sum()
    });
}

#[test]
fn comparisons_and_choices() {
    for code in 0..8u64 {
        for signed in [false, true] {
            // P0, P2 = A cmp B and !P1 ... combined by OR with P2's old value 0.
            let word = ISETP | 2 | u64::from(A) << 8 | u64::from(B) << 20 | 7 << 39;
            let word = word | code << 49 | u64::from(signed) << 48;
            let mut seen = [false; 2];
            each(|a, b, _| {
                let lane = run_once(word, a, b);
                let order = if signed {
                    (a as i32).cmp(&(b as i32))
                } else {
                    a.cmp(&b)
                };
                let expected = holds(code, order);
                seen[usize::from(expected)] = true;
                assert_eq!(lane.predicates[0], u32::from(expected));
                assert_eq!(lane.predicates[2], u32::from(!expected));
            });
            assert!(seen[0] || code == 7);
        }
    }
    // SEL D, A, B, P1 (which is 1) and !P1.
    check(two_registers(0x5ca0_0000_0000_0000) | 1 << 39, |a, _, _| a);
    check(
        two_registers(0x5ca0_0000_0000_0000) | 1 << 39 | 1 << 42,
        |_, b, _| b,
    );
    // ICMP.LT D, A, B, C: A where C < 0.
    check(
        registers(0x5b40_0000_0000_0000) | 1 << 49 | 1 << 48,
        |a, b, c| {
            if (c as i32) < 0 { a } else { b }
        },
    );
    // IMNMX D, A, B, PT and !PT.
    let word = two_registers(0x5c20_0000_0000_0000) | 7 << 39;
    check(word | 1 << 48, |a, b, _| (a as i32).min(b as i32) as u32);
    check(word | 1 << 48 | 1 << 42, |a, b, _| {
        (a as i32).max(b as i32) as u32
    });
    check(word, |a, b, _| a.min(b));
    check(word | 1 << 42, |a, b, _| a.max(b));
}

fn run_once(word: u64, a: u32, b: u32) -> Lane {
    run(word, a, b, 0)
}

/// Unknown forms have no meaning.
#[test]
fn unknown_modifiers_have_no_meaning() {
    // IADD.X.SAT, SHL.X, XMAD.CSFU, SHL.CC
    for word in [
        two_registers(IADD) | 1 << 50 | 1 << 43,
        two_registers(0x5c48_0000_0000_0000) | 1 << 43,
        registers(0x5b00_0000_0000_0000) | 3 << 50,
        two_registers(0x5c48_0000_0000_0000) | 1 << 47,
    ] {
        assert_eq!(meaning(&view(word)), None, "{:?}", view(word));
    }
    assert_eq!(result(two_registers(IADD), 2, 3, 0), 5);
}

/// Stands in for the exhaustive match that opcodes of several families rule out.
#[test]
fn each_opcode_of_the_table_is_decided() {
    let source = include_str!("../maxwell.rs");
    for (_, form) in table(Arch::Sm61).forms() {
        let name = format!("Opcode::{:?}", form.opcode());
        let mut places = source.match_indices(&name);
        // The name of another opcode may begin with this one.
        let is_named = places.any(|(at, _)| {
            let rest = source.get(at + name.len()..).unwrap_or_default();
            !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        });
        assert!(
            is_named,
            "{name} has neither a meaning nor a reason for none"
        );
    }
}
