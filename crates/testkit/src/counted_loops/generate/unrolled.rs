//! Loops as compilers unroll them: a main loop, steps that halve, a loop of the smallest step, and a remainder. The
//! counter goes from each to the next, on ways that skip some of them.

use super::ProgramDraft;
use crate::counted_loops::writer::LineLabel;

/// Numbers of an unrolled loop.
struct Unrolling {
    /// Iterations that one round of the loop of the smallest step stands for.
    unit: u32,
    /// Rounds of that loop in one round of the main loop.
    factor: u32,
    /// Register that counts down what is left.
    left: String,
    /// Register that counts up what is done.
    done: String,
}

impl ProgramDraft<'_> {
    /// Writes an unrolled loop of about `nominal` iterations. Every constant is wrong in some programs, and every
    /// guard is left out in some, so that counters wrap around or miss their end.
    pub(super) fn unrolled_loop(&mut self) {
        self.loops_left = self.loops_left.saturating_sub(1);
        self.tags = vec!["unrolled by a compiler"];
        let nominal = self.rng.u32(0..70);
        let count = self.value(nominal, ["unrolled"; 7]);
        let unit = self.pick(&[1u32, 2, 4, 4, 4, 8]);
        let rest = self.out.set(&format!("and({count}, {})", unit - 1));
        let left = match self.one_in(10) {
            true => self.out.set(&count),
            false => self.out.set(&format!("sub({count}, {rest})")),
        };
        let first = self.pick(&["0", "0", "0", "R0"]);
        let of = Unrolling {
            unit,
            factor: self.pick(&[2, 4, 4, 8]),
            left,
            done: self.out.set(first),
        };
        let (remainder, end) = (self.out.label(), self.out.label());
        if !self.one_in(6) {
            let signed = self.pick(&["lt_s", "lt_s", "lt_u"]);
            self.skip(&format!("{signed}({count}, 1)"), end);
        }
        if !self.one_in(6) {
            let small = self.out.set(&format!("sub({count}, 1)"));
            self.skip(&format!("lt_u({small}, {})", unit - 1), remainder);
        }
        match self.rng.u8(0..3) {
            0 => self.remainder_first(&of, &rest, &count, end),
            _ => self.main_loop_first(&of, remainder),
        }
        self.out.bind(remainder);
        if self.rng.bool() {
            self.rest_of_loop(&rest, &of.done);
        }
        self.out.bind(end);
        self.finished.extend([of.left, of.done]);
    }

    /// Writes the main loop, the steps, and the loop of the smallest step, as NVRTC orders them.
    fn main_loop_first(&mut self, of: &Unrolling, remainder: LineLabel) {
        let Unrolling { unit, factor, .. } = *of;
        let last = self.out.label();
        let steps = self.out.label();
        let only = self.out.predicate();
        if !self.one_in(4) {
            self.skip(&format!("le_s({}, 0)", of.left), last);
        }
        self.out.line(format!("{only} = 1"));
        let most = self.disturbed((factor - 1) * unit);
        self.skip(&format!("le_s({}, {most})", of.left), steps);
        self.out.line(format!("{only} = 0"));
        let step = self.disturbed(factor * unit);
        self.counted_down(of, step, &format!("lt_s({most}, {})", of.left));
        self.out.bind(steps);
        let mut part = factor / 2;
        while part > 1 {
            let after = self.out.label();
            let most = self.disturbed((part - 1) * unit);
            self.skip(&format!("le_s({}, {most})", of.left), after);
            self.out.line(format!("{only} = 0"));
            let step = self.disturbed(part * unit);
            self.advance(of, step);
            self.out.bind(after);
            part /= 2;
        }
        // The loop of the smallest step is entered where something is left.
        let enters = self.out.predicate();
        let test = match self.rng.u8(0..6) {
            0 => format!("ne({}, 0)", of.left),
            1 => format!("lt_s(0, {})", of.left),
            _ => format!("or(ne({}, 0), {only})", of.left),
        };
        self.out.line(format!("{enters} = {test}"));
        self.out.line_to(format!("if !{enters} jump"), remainder);
        self.out.bind(last);
        let step = self.disturbed(unit);
        let goes_on = match self.rng.u8(0..4) {
            0 => format!("lt_s(0, {})", of.left),
            _ => format!("ne({}, 0)", of.left),
        };
        self.counted_down(of, step, &goes_on);
    }

    /// Writes the remainder before the main loop, which begins at what the remainder has done (loops from a thread
    /// index on).
    fn remainder_first(&mut self, of: &Unrolling, rest: &str, count: &str, end: LineLabel) {
        let whole = self.out.label();
        self.skip(&format!("eq({rest}, 0)"), whole);
        self.rest_of_loop(rest, &of.done);
        self.out.bind(whole);
        let step = self.disturbed(of.unit);
        if !self.one_in(5) {
            self.skip(&format!("le_s({count}, {})", of.done), end);
        }
        let head = self.loop_head();
        self.out.line(format!("{0} = add({0}, {step})", of.done));
        self.skip(&format!("lt_s({}, {count})", of.done), head);
    }

    /// Writes a loop that counts down to 0 by 1.
    fn rest_of_loop(&mut self, rest: &str, done: &str) {
        let after = self.out.label();
        if !self.one_in(4) {
            self.skip(&format!("eq({rest}, 0)"), after);
        }
        let head = self.loop_head();
        self.out.line(format!("{rest} = sub({rest}, 1)"));
        self.out.line(format!("{done} = add({done}, 1)"));
        self.skip(&format!("ne({rest}, 0)"), head);
        self.out.bind(after);
    }

    fn counted_down(&mut self, of: &Unrolling, step: u32, goes_on: &str) {
        let head = self.loop_head();
        self.advance(of, step);
        self.skip(goes_on, head);
    }

    fn advance(&mut self, of: &Unrolling, step: u32) {
        self.out.line(format!("{0} = sub({0}, {step})", of.left));
        self.out.line(format!("{0} = add({0}, {step})", of.done));
    }

    pub(super) fn loop_head(&mut self) -> LineLabel {
        let head = self.out.here();
        self.shapes.push((head, self.tags.clone()));
        head
    }

    pub(super) fn skip(&mut self, condition: &str, to: LineLabel) {
        let predicate = self.out.predicate();
        self.out.line(format!("{predicate} = {condition}"));
        self.out.line_to(format!("if {predicate} jump"), to);
    }

    /// A number, in some programs another one near it.
    pub(super) fn disturbed(&mut self, number: u32) -> u32 {
        match self.rng.u8(0..24) {
            0 => number + 1,
            1 => number.saturating_sub(1).max(1),
            2 => number * 2,
            _ => number,
        }
    }
}
