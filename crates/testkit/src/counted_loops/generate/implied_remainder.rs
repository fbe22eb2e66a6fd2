//! Loops as compilers for GPUs from Blackwell on unroll them: rounds of 16, a step of 8, a step of 4, and the rest one by one.
//! No test before the last loop asks whether something is left, because the tests before the others imply it.

use super::ProgramDraft;

impl ProgramDraft<'_> {
    /// Writes such a loop. Every constant is wrong in some programs, and every test is left out in some, so that the last loop
    /// counts from 0.
    pub(super) fn implied_remainder(&mut self) {
        self.loops_left = self.loops_left.saturating_sub(1);
        self.tags = vec!["unrolled, remainder implied"];
        let count = self.trip_count();
        let rounds = self.pick(&[16u32, 16, 8, 4]);
        let (lower, end) = (self.out.label(), self.out.label());
        if !self.one_in(6) {
            let test = self.pick(&["lt_s", "lt_s", "lt_u"]);
            self.skip(&format!("{test}({count}, 1)"), end);
        }
        let mut rest = self.out.set(&format!("and({count}, {})", rounds - 1));
        let least = self.disturbed(rounds);
        self.skip(&format!("lt_u({count}, {least})"), lower);
        let whole = !(rounds - 1);
        let whole = self.out.set(&format!("and({count}, 0x{whole:x})"));
        let step = self.disturbed(rounds);
        self.counted_up_to_0(&whole, step);
        if !self.one_in(8) {
            self.skip(&format!("eq({rest}, 0)"), end);
        }
        self.out.bind(lower);
        let mut part = rounds / 2;
        while part >= 4 {
            let after = self.out.label();
            let of = if self.one_in(3) { &rest } else { &count };
            let next = self.out.set(&format!("and({of}, {})", part - 1));
            let least = self.disturbed(part);
            self.skip(&format!("lt_u({rest}, {least})"), after);
            if !self.one_in(8) {
                self.skip(&format!("eq({next}, 0)"), end);
            }
            self.out.bind(after);
            rest = next;
            part /= 2;
        }
        self.counted_up_to_0(&rest, 1);
        self.out.bind(end);
    }

    /// Writes the number of iterations: a value, or what is between two values in steps of a power of two.
    fn trip_count(&mut self) -> String {
        let nominal = self.rng.u32(0..70);
        if self.rng.bool() {
            return self.value(nominal, ["implied"; 7]);
        }
        let bits = self.rng.u32(0..6);
        let first = match self.rng.bool() {
            true => self.thread_value(nominal),
            false => {
                let thread = self.special("thread_x");
                let lane = self.out.set(&format!("and({thread}, {})", (1 << bits) - 1));
                match self.rng.bool() {
                    true => lane,
                    false => {
                        let more = self.value(nominal, ["implied"; 7]);
                        self.out.set(&format!("add({lane}, {more})"))
                    }
                }
            }
        };
        let limit = self.value(nominal << bits, ["implied"; 7]);
        let next = self.out.set(&format!("add({first}, {})", 1 << bits));
        let last = self.out.set(&format!("max_s({limit}, {next})"));
        let between = self.out.set(&format!("sub(sub({last}, 1), {first})"));
        self.out.set(&format!("add(shr({between}, {bits}), 1)"))
    }

    /// Writes a loop that counts from the negative of a register up to 0.
    fn counted_up_to_0(&mut self, from: &str, step: u32) {
        let counter = self.out.set(&format!("sub(0, {from})"));
        let head = self.loop_head();
        self.out.line(format!("{counter} = add({counter}, {step})"));
        self.skip(&format!("ne({counter}, 0)"), head);
    }
}
