//! Values that loops begin with, step by and end at.

use super::ProgramDraft;

/// Names of the kinds of a value, as properties of a loop: constant, parameter, part of a parameter, thread index,
/// counter of a loop around, counter of a loop that has ended, loaded value.
pub(super) type ValueTags = [&'static str; 7];

impl ProgramDraft<'_> {
    /// Draws a number at which counters begin: small, or near the end of a range of numbers.
    pub(super) fn start_number(&mut self) -> u32 {
        let near = self.rng.u32(0..24);
        match self.rng.u8(0..16) {
            0..=5 => near,
            6..=7 => 0,
            8 => near.wrapping_neg(),
            9..=10 => (1 << 31) + near,
            11 => (1 << 31) - near,
            12 => (1 << 16) - near,
            13 => self.rng.u32(0..100_000),
            14 => self.rng.u32(..),
            _ => near.wrapping_neg().wrapping_sub(self.rng.u32(0..1000)),
        }
    }

    /// Writes a value that is `nominal` in the launch for which the program is written, or near it; returns its
    /// expression.
    pub(super) fn value(&mut self, nominal: u32, tags: ValueTags) -> String {
        let [constant, parameter, part, thread, outer, finished, loaded] = tags;
        let (tag, value) = match self.rng.u8(0..26) {
            0..=6 => (constant, format!("0x{nominal:x}")),
            7..=11 => {
                let word = self.out.parameter(nominal);
                let value = match self.rng.u8(0..3) {
                    0 => word,
                    _ => self.out.set(&word),
                };
                (parameter, value)
            }
            12..=15 => (part, self.part_of_parameter(nominal)),
            16..=18 => (thread, self.thread_value(nominal)),
            19..=20 if !self.counters.is_empty() => {
                let at = self.rng.usize(0..self.counters.len());
                let counter = self.counters[at].clone();
                let added = self.pick(&[0, 0, 1, 3, u32::MAX]);
                (outer, self.out.set(&format!("add({counter}, 0x{added:x})")))
            }
            21..=22 if !self.finished.is_empty() => {
                let at = self.rng.usize(0..self.finished.len());
                let counter = self.finished[at].clone();
                let added = self.pick(&[0, 1, 10, 20, u32::MAX]);
                let value = self.out.set(&format!("add({counter}, 0x{added:x})"));
                (finished, value)
            }
            23 | 24 => (loaded, self.loaded()),
            _ => (parameter, self.joined_values(nominal)),
        };
        self.tags.push(tag);
        value
    }

    /// Writes bit fields, quotients, minima of parameters: limits of unrolled loops and their remainders.
    fn part_of_parameter(&mut self, nominal: u32) -> String {
        let shift = self.rng.u32(1..5);
        let mask = (1 << shift) - 1;
        let expression = match self.rng.u8(0..10) {
            shifted @ 0..=2 => {
                let word = self
                    .out
                    .parameter(nominal << shift | self.rng.u32(0..=mask));
                let operation = if shifted == 2 { "sar" } else { "shr" };
                format!("{operation}({word}, {shift})")
            }
            3 => {
                let word = self.out.parameter(nominal);
                format!("and({word}, {mask})")
            }
            4 => {
                // The part that an unrolled loop handles.
                let word = self.out.parameter(nominal);
                let rest = self.out.set(&format!("and({word}, {mask})"));
                format!("sub({word}, {rest})")
            }
            5 => {
                let word = self.out.parameter(nominal);
                let least = self.pick(&["min_s", "min_u"]);
                let limit = self.rng.u32(1..64);
                format!("{least}({word}, {limit})")
            }
            6 => {
                let word = self.out.parameter(nominal);
                let most = self.pick(&["max_s", "max_u"]);
                let limit = self.rng.u32(1..16);
                format!("{most}({word}, {limit})")
            }
            7 => {
                let word = self.out.parameter(nominal >> shift);
                format!("shl({word}, {shift})")
            }
            8 => {
                let added = self.rng.u32(0..9);
                let word = self.out.parameter(nominal.wrapping_sub(added));
                format!("add({word}, {added})")
            }
            _ => {
                let word = self.out.parameter(nominal);
                let small = self.rng.u32(0..4);
                let other = self.out.parameter(small);
                format!("sub({word}, {other})")
            }
        };
        self.out.set(&expression)
    }

    /// Writes a value of thread and block indices, plus a number.
    pub(super) fn thread_value(&mut self, nominal: u32) -> String {
        let names = [
            "thread_x", "thread_x", "thread_y", "block_x", "block_x", "lane",
        ];
        let name = self.pick(&names);
        let own = self.special(name);
        match self.rng.u8(0..8) {
            0 => own,
            1 => {
                let shift = self.rng.u32(1..4);
                self.out
                    .set(&format!("add(shl({own}, {shift}), 0x{nominal:x})"))
            }
            2 => self.out.set(&format!("sub(0x{nominal:x}, {own})")),
            3 => {
                let word = self.out.parameter(nominal);
                self.out.set(&format!("add({word}, {own})"))
            }
            4..=5 => self.global_index(),
            _ => self.out.set(&format!("add({own}, 0x{nominal:x})")),
        }
    }

    /// Writes the read of a special register.
    pub(super) fn special(&mut self, name: &str) -> String {
        let register = self.out.register();
        self.out.line(format!("{register} = ?special.{name}()"));
        register
    }

    /// Writes the index of the thread in the grid.
    pub(super) fn global_index(&mut self) -> String {
        let thread = self.special("thread_x");
        let block = self.special("block_x");
        self.product(&block, "c[0][0x8]", &thread)
    }

    /// Writes `a · b + c`: as a product, or as the chain of 16-bit multiplications of a compiler.
    pub(super) fn product(&mut self, a: &str, b: &str, c: &str) -> String {
        if self.one_in(3) {
            return self.out.set(&format!("add(mul({a}, {b}), {c})"));
        }
        self.tags.push("16-bit multiply chain");
        let low = format!("add(mul(and({a}, 0xffff), and({b}, 0xffff)), {c})");
        let low = self.out.set(&low);
        let cross = format!("mul(and({a}, 0xffff), and(shr({b}, 16), 0xffff))");
        let cross = format!("or(and(add({cross}, 0), 0xffff), shl({b}, 16))");
        let cross = self.out.set(&cross);
        let high =
            format!("shl(mul(and(shr({a}, 16), 0xffff), and(shr({cross}, 16), 0xffff)), 16)");
        self.out
            .set(&format!("add({high}, add({low}, shl({cross}, 16)))"))
    }

    /// Writes a load.
    pub(super) fn loaded(&mut self) -> String {
        let register = self.out.register();
        let width = self.pick(&["", "", ".u8", ".s8", ".u16"]);
        self.out
            .line(format!("{register} = load{width} global[{register}]"));
        register
    }

    /// Writes a value that is one of two.
    fn joined_values(&mut self, nominal: u32) -> String {
        let condition = self.any_condition();
        let word = self.out.parameter(nominal);
        let other = nominal.wrapping_add(self.rng.u32(0..5));
        if self.rng.bool() {
            let value = self.out.set(&word);
            let guard = condition.guard();
            self.out.line(format!("if {guard} {value} = 0x{other:x}"));
            return value;
        }
        let predicate = condition.predicate;
        self.out
            .set(&format!("select({predicate}, {word}, 0x{other:x})"))
    }

    /// Writes an invariant value.
    pub(super) fn invariant(&mut self) -> String {
        match self.rng.u8(0..4) {
            0 => self.loaded(),
            1 => {
                let word = self.out.parameter(3);
                self.out.set(&word)
            }
            2 => self.thread_value(1),
            _ => {
                let register = self.out.register();
                self.out.line(format!("{register} = ?lane()"));
                register
            }
        }
    }

    /// Returns a counter, of a loop around or of one that has ended, or an invariant; R0 if there is none.
    pub(super) fn any_register(&mut self) -> String {
        let known = self.counters.iter().chain(&self.invariants);
        let known: Vec<&String> = known.chain(&self.finished).collect();
        match known.is_empty() {
            true => "R0".to_owned(),
            false => known[self.rng.usize(0..known.len())].clone(),
        }
    }
}
