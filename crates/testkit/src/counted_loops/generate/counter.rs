//! Counters: what a loop counts with, from the start to the update.

use super::ProgramDraft;
use super::condition::{Continues, LoopCondition};
use super::value::ValueTags;

const STARTS: ValueTags = [
    "start: constant",
    "start: parameter",
    "start: part of a parameter",
    "start: thread",
    "start: outer counter",
    "start: counter of an ended loop",
    "start: loaded",
];

const LIMITS: ValueTags = [
    "limit: constant",
    "limit: parameter",
    "limit: part of a parameter",
    "limit: thread",
    "limit: outer counter",
    "limit: counter of an ended loop",
    "limit: loaded",
];

/// Change of a counter in an iteration.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Sum with an operand.
    Add(String),
    /// Difference with an operand.
    Sub(String),
    /// Function of the counter, with the operand to which it is applied: `shr({}, 1)`.
    Apply([&'static str; 2]),
    /// Sum with an operand; the limit decreases by a number.
    Approach(String, u32),
    /// Sum with a step that changes as well.
    Accelerate(String),
    /// Binary search between two registers; the counter is the lower one.
    Search {
        upper: String,
        /// Whether the lower end moves beyond the middle.
        beyond: bool,
    },
    /// Sum of 64 bits: high word, and words of the step.
    Pair(String, u32),
    /// Value that does not depend on the one before.
    Load,
}

/// Counter of a loop.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    pub(super) register: String,
    pub(super) change: Change,
    pub(super) limit: String,
    /// High word of the limit, of a counter of 64 bits.
    pub(super) limit_high: Option<String>,
    pub(super) continues: Continues,
    pub(super) signed: bool,
    /// Function of the counter that is compared, if not the counter.
    pub(super) compared: Option<String>,
    /// Word loaded at the test before, whose difference from the one of this test is added to what is compared.
    pub(super) loaded_before: Option<String>,
}

impl ProgramDraft<'_> {
    /// Writes the start and the limit of a counter.
    pub(super) fn counter(&mut self) -> Counter {
        match self.rng.u8(0..20) {
            0..=11 => self.affine(),
            12..=14 => self.geometric(),
            15..=16 => self.search(),
            17 => self.pair(),
            18 => self.two_moving(),
            _ => self.irregular(),
        }
    }

    /// Draws the number of iterations for which a loop is written.
    fn iterations(&mut self) -> u32 {
        match self.rng.u8(0..10) {
            0..=5 => self.rng.u32(0..12),
            6..=8 => self.rng.u32(0..40),
            _ => self.rng.u32(0..200),
        }
    }

    /// Writes the start of a counter to its register.
    fn start(&mut self, nominal: u32) -> String {
        let register = self.out.register();
        if self.one_in(12) {
            // Not begun anew when the loop is entered again.
            self.tags.push("start: kept from before");
            self.out.before_all(format!("{register} = 0x{nominal:x}"));
            return register;
        }
        let value = self.value(nominal, STARTS);
        self.out.line(format!("{register} = {value}"));
        register
    }

    /// Writes a counter with constant or invariant steps.
    fn affine(&mut self) -> Counter {
        let first = self.start_number();
        let sizes = [
            1,
            1,
            1,
            1,
            2,
            3,
            4,
            5,
            7,
            8,
            16,
            32,
            100,
            256,
            1 << 16,
            1 << 28,
            0x7fff_ffff,
        ];
        let size = self.pick(&sizes);
        let down = self.one_in(3);
        let step = if down { 0u32.wrapping_sub(size) } else { size };
        let continues = match self.rng.u8(0..16) {
            0..=4 if down => Continues::Above,
            5..=9 if down => Continues::DownTo,
            0..=4 => Continues::Below,
            5..=9 => Continues::UpTo,
            10..=13 => Continues::Until,
            14 => Continues::While,
            _ => self.pick(&[Continues::Below, Continues::Above]),
        };
        self.tags.push(match continues {
            Continues::Until => "affine: ne",
            Continues::While => "affine: eq",
            _ if down => "affine: down",
            _ => "affine: up",
        });
        let noise = match self.rng.u8(0..12) {
            0 | 1 => 1,
            2 | 3 => u32::MAX,
            // The counter is beyond the limit from the beginning.
            4 => step.wrapping_mul(self.rng.u32(0..300)).wrapping_neg(),
            _ => 0,
        };
        let last = self
            .iterations()
            .wrapping_mul(step)
            .wrapping_add(first)
            .wrapping_add(noise);
        let register = self.start(first);
        let (compared, last) = self.compared(&register, size, last);
        if compared.is_some() {
            self.tags.push("compared: a function of the counter");
        }
        let loaded_before = self.one_in(20).then(|| {
            self.tags.push("compared: with a difference of loads");
            self.out.set("0")
        });
        let limit = self.value(last, LIMITS);
        let signed = self.rng.bool();
        self.tags.push(if signed { "signed" } else { "unsigned" });
        Counter {
            change: self.step(step, down),
            register,
            limit,
            limit_high: None,
            continues,
            signed,
            compared,
            loaded_before,
        }
    }

    /// Function of a counter that is compared, if not the counter, and the limit that suits it.
    fn compared(&mut self, register: &str, size: u32, last: u32) -> (Option<String>, u32) {
        match self.rng.u8(0..16) {
            0 => (
                Some(format!("add({register}, {size})")),
                last.wrapping_add(size),
            ),
            1 => (Some(format!("shl({register}, 2)")), last.wrapping_shl(2)),
            2 => (
                Some(format!("sub(0x1000, {register})")),
                0x1000u32.wrapping_sub(last),
            ),
            3 => (Some(format!("shr({register}, 1)")), last >> 1),
            4 => {
                let mask = self.pick(&[1u32, 5, 6, 0xff, 0xffff, 0xffff_fff0]);
                (Some(format!("and({register}, 0x{mask:x})")), last & mask)
            }
            _ => (None, last),
        }
    }

    /// Writes the step of an affine counter.
    fn step(&mut self, step: u32, down: bool) -> Change {
        let size = if down { step.wrapping_neg() } else { step };
        let (tag, operand) = match self.rng.u8(0..12) {
            0 => {
                let word = self.out.parameter(size);
                ("step: parameter", self.out.set(&word))
            }
            1 => {
                let zero = self.out.set("0");
                ("step: grid", self.product("c[0][0x14]", "c[0][0x8]", &zero))
            }
            2 => ("step: block", "c[0][0x8]".to_owned()),
            3 => {
                let own = self.special("thread_x");
                ("step: thread", self.out.set(&format!("add({own}, {size})")))
            }
            4 if self.one_in(3) => ("step: loaded", self.loaded()),
            _ if down && self.rng.bool() => {
                self.tags.push("step: constant");
                return Change::Sub(format!("0x{size:x}"));
            }
            _ => {
                self.tags.push("step: constant");
                return Change::Add(format!("0x{step:x}"));
            }
        };
        self.tags.push(tag);
        match down {
            true => Change::Sub(operand),
            false => Change::Add(operand),
        }
    }

    /// Writes a counter that is shifted or multiplied.
    fn geometric(&mut self) -> Counter {
        self.tags.push("geometric");
        let rounds = self.rng.u32(0..34).min(31);
        let small = self.rng.u32(0..4);
        let (change, first, last, continues) = match self.rng.u8(0..7) {
            0 | 1 => {
                let first = (1u32 << rounds).wrapping_add(small).wrapping_sub(1);
                let continues = self.pick(&[Continues::Above, Continues::Until, Continues::DownTo]);
                (Change::Apply(["shr(", ", 1)"]), first, small / 2, continues)
            }
            2 => {
                let first = (1u32 << rounds).wrapping_sub(small);
                let first = if self.rng.bool() {
                    first
                } else {
                    first.wrapping_neg()
                };
                let continues = self.pick(&[Continues::Above, Continues::Until]);
                (Change::Apply(["sar(", ", 1)"]), first, 0, continues)
            }
            3 | 4 => {
                let last = (1 + small) << rounds;
                let continues = self.pick(&[Continues::Below, Continues::UpTo, Continues::Until]);
                (Change::Apply(["shl(", ", 1)"]), 1 + small, last, continues)
            }
            5 => {
                let factor = 3u32.checked_pow(rounds / 2).unwrap_or(u32::MAX);
                let last = factor.wrapping_add(small);
                let continues = self.pick(&[Continues::Below, Continues::UpTo]);
                (Change::Apply(["mul(", ", 3)"]), 1, last, continues)
            }
            _ => {
                let first = 5u32.saturating_pow(rounds / 3);
                (
                    Change::Apply(["div_s(", ", 5)"]),
                    first,
                    0,
                    Continues::Above,
                )
            }
        };
        let register = self.start(first);
        let limit = self.value(last, LIMITS);
        let signed = self.rng.bool();
        Counter {
            register,
            change,
            limit,
            limit_high: None,
            continues,
            signed,
            compared: None,
            loaded_before: None,
        }
    }

    /// Writes a binary search.
    fn search(&mut self) -> Counter {
        self.tags.push("halving");
        let first = match self.rng.bool() {
            true => 0,
            false => self.start_number(),
        };
        let size = self.rng.u32(0..1000);
        let register = self.start(first);
        let upper = self.value(first.wrapping_add(size), LIMITS);
        let upper = self.out.set(&upper);
        // Without moving beyond the middle, the search must end with a distance of 1.
        let beyond = self.one_in(2) || self.one_in(4);
        let signed = self.rng.bool();
        let (compared, limit, continues) = match beyond {
            true => (
                None,
                upper.clone(),
                self.pick(&[Continues::Below, Continues::UpTo]),
            ),
            false => {
                let distance = format!("sub({upper}, {register})");
                (Some(distance), "1".to_owned(), Continues::Above)
            }
        };
        Counter {
            register,
            change: Change::Search { upper, beyond },
            limit,
            limit_high: None,
            continues,
            signed,
            compared,
            loaded_before: None,
        }
    }

    /// Writes a counter of 64 bits.
    fn pair(&mut self) -> Counter {
        self.tags.push("64-bit counter");
        let first = self.start_number();
        let step = self.pick(&[1, 4, 8, 32, 128]);
        let count = self.iterations();
        let [low, high] = [first, 1].map(|word| self.out.parameter(word));
        let [register, high] = [low, high].map(|word| self.out.set(&word));
        let (sum, carry) = first.overflowing_add(count * step);
        let (limit, limit_high) = match self.rng.bool() {
            true => {
                // The end of an array that begins at the start.
                let word = self.out.parameter(count);
                let bytes = self.out.set(&format!("mul({word}, {step})"));
                let end = self.out.set(&add_with_flags(&register, &bytes));
                let top = self.out.set(&format!("add({high}, {CARRY})"));
                (end, top)
            }
            false => {
                let [low, high] = [sum, 1 + u32::from(carry)].map(|word| self.out.parameter(word));
                (low, high)
            }
        };
        Counter {
            register,
            change: Change::Pair(high, step),
            limit,
            limit_high: Some(limit_high),
            continues: self.pick(&[Continues::Below, Continues::Until]),
            signed: false,
            compared: None,
            loaded_before: None,
        }
    }

    /// Writes a counter whose limit moves towards it, or away from it.
    fn two_moving(&mut self) -> Counter {
        self.tags.push("two moving ends");
        let mut counter = self.affine();
        counter.limit = self.out.set(&counter.limit);
        let amount = self.pick(&[1, 1, 2, u32::MAX]);
        if let Change::Add(step) = counter.change {
            counter.change = Change::Approach(step, amount);
        }
        counter
    }

    /// Writes a counter that is no simple function of the iteration.
    fn irregular(&mut self) -> Counter {
        self.tags.push("irregular");
        let mut counter = self.affine();
        counter.change = match self.rng.bool() {
            true => {
                let step = self.out.set("1");
                Change::Accelerate(step)
            }
            false => Change::Load,
        };
        counter
    }

    /// Writes the test with which the loop continues, of a counter or of its copy `value`.
    pub(super) fn test(&mut self, counter: &Counter, value: &str) -> LoopCondition {
        let Counter {
            continues, signed, ..
        } = *counter;
        if let (Some(high), Change::Pair(top, _)) = (&counter.limit_high, &counter.change) {
            let (high, top) = (high.clone(), top.clone());
            return self.test_of_pair(continues, [value, &top], [&counter.limit, &high]);
        }
        let compared = match &counter.compared {
            Some(compared) => compared.replace(&counter.register, value),
            None => value.to_owned(),
        };
        let limit = counter.limit.clone();
        let Some(before) = &counter.loaded_before else {
            return self.condition_of(continues, signed, &compared, &limit);
        };
        let now = self.loaded();
        let compared = format!("add(sub({before}, {now}), {compared})");
        let condition = self.condition_of(continues, signed, &compared, &limit);
        self.out.line(format!("{before} = {now}"));
        condition
    }

    fn test_of_pair(
        &mut self,
        continues: Continues,
        [low, high]: [&str; 2],
        [limit, limit_high]: [&str; 2],
    ) -> LoopCondition {
        let predicate = self.out.predicate();
        if continues == Continues::Until && self.rng.bool() {
            let words = format!("or(ne({low}, {limit}), ne({high}, {limit_high}))");
            self.out.line(format!("{predicate} = {words}"));
        } else {
            // The difference, as a comparison of 64 bits is compiled.
            let sum = format!("add(add({low}, not({limit})), 1)");
            let zero = format!("shl(eq({sum}, 0), 0)");
            let carry = format!("shl(carry({low}, not({limit}), 1), 2)");
            self.out.line(format!("CC = or({zero}, {carry})"));
            let expression = match continues {
                Continues::Until => {
                    let sum = format!("add(add({high}, not({limit_high})), {CARRY})");
                    format!("and(xor(and(eq({sum}, 0), and(shr(CC, 0), 1)), 1), 1)")
                }
                _ => format!("and(xor(carry({high}, not({limit_high}), {CARRY}), 1), 1)"),
            };
            self.out.line(format!("{predicate} = {expression}"));
        }
        self.extended(LoopCondition {
            predicate,
            negated: false,
        })
    }
}

/// Carry flag of the condition code.
pub(super) const CARRY: &str = "and(shr(CC, 2), 1)";

/// Sum, with the carry in the condition code.
pub(super) fn add_with_flags(a: &str, b: &str) -> String {
    let sum = format!("add({a}, {b})");
    let order = format!("or(shl(eq({sum}, 0), 0), shl(shr({sum}, 31), 1))");
    let carry = format!("shl(carry({a}, {b}, 0), 2)");
    let overflow = format!("shl(shr(and(xor({a}, {sum}), xor({b}, {sum})), 31), 3)");
    format!("{sum}, CC = or({order}, or({carry}, {overflow}))")
}
