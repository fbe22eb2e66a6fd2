//! Frames of loops: where the test stands, how the loop is left and entered, how the counter is updated.

use super::ProgramDraft;
use super::condition::LoopCondition;
use super::counter::{CARRY, Change, Counter, add_with_flags};
use crate::counted_loops::writer::LineLabel;

/// Place of the test in a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TestPlace {
    /// At the head.
    Head,
    /// After the update, at the end.
    Tail,
    /// At the end, of the value before the update.
    TailOfOld,
    /// At the end, with a predicate from before the update.
    EarlyPredicate,
    /// Between two halves of the body.
    Middle,
    /// At the head, with a predicate from the iteration before.
    Carried,
}

/// Way to leave a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leaving {
    /// By a jump.
    Jump,
    /// By a pop of this tag.
    Pop(&'static str),
}

impl ProgramDraft<'_> {
    /// Writes a loop.
    pub(super) fn any_loop(&mut self, depth: usize) {
        self.loops_left = self.loops_left.saturating_sub(1);
        self.tags = Vec::new();
        let counter = self.counter();
        let place = self.pick(&[
            TestPlace::Head,
            TestPlace::Head,
            TestPlace::Tail,
            TestPlace::Tail,
            TestPlace::Tail,
            TestPlace::TailOfOld,
            TestPlace::EarlyPredicate,
            TestPlace::Middle,
            TestPlace::Carried,
        ]);
        self.tags.push(match place {
            TestPlace::Head => "tested at the head",
            TestPlace::Tail => "tested at the end",
            TestPlace::TailOfOld => "old value tested at the end",
            TestPlace::EarlyPredicate => "tested at the end by an earlier predicate",
            TestPlace::Middle => "tested in the middle",
            TestPlace::Carried => "tested by the predicate of the iteration before",
        });
        let leaving = match self.rng.u8(0..8) {
            0 => Leaving::Pop("brk"),
            1 => Leaving::Pop("sync"),
            _ => Leaving::Jump,
        };
        let exit = self.out.label();
        if let Leaving::Pop(tag) = leaving {
            self.tags.push("left by a pop");
            self.out.line_to(format!("push {tag}"), exit);
        }
        if self.one_in(4) {
            self.tags.push("entered by a guard");
            let condition = self.test(&counter, &counter.register.clone());
            self.leave(&condition.otherwise(), leaving, exit);
        }
        let middle = match place {
            TestPlace::Carried => None,
            _ => self.entry_in_the_middle(),
        };
        let head = self.meeting_point();
        self.counters.push(counter.register.clone());
        match place {
            TestPlace::Carried => self.carried_loop(&counter, leaving, exit, depth),
            _ => self.plain_loop(&counter, place, leaving, [head, exit], middle, depth),
        }
        self.finished.extend(self.counters.pop());
        self.out.bind(exit);
        // The header of a carried loop is the line after its first test, which `carried_loop` binds.
        if place != TestPlace::Carried {
            self.shapes.push((head, std::mem::take(&mut self.tags)));
        }
    }

    /// Writes a jump into the middle of the loop that follows; returns the label.
    fn entry_in_the_middle(&mut self) -> Option<LineLabel> {
        self.one_in(20).then(|| {
            self.tags.push("entered in the middle");
            let middle = self.out.label();
            let condition = self.any_condition();
            self.out
                .line_to(format!("if {} jump", condition.guard()), middle);
            middle
        })
    }

    /// Writes the place of a header, in some loops as the point at which two sides of a branch meet.
    fn meeting_point(&mut self) -> LineLabel {
        let head = self.out.label();
        if self.one_in(12) {
            self.tags.push("header where sides meet");
            let condition = self.any_condition();
            let other = self.out.label();
            self.out.line_to("push sync", head);
            self.out
                .line_to(format!("if {} jump", condition.guard()), other);
            self.out.line("pop sync");
            self.out.bind(other);
            self.out.line("nop");
            self.out.line("pop sync");
        }
        self.out.bind(head);
        head
    }

    fn leave(&mut self, guard: &str, leaving: Leaving, exit: LineLabel) {
        match leaving {
            Leaving::Jump => self.out.line_to(format!("if {guard} jump"), exit),
            Leaving::Pop(tag) => self.out.line(format!("if {guard} pop {tag}")),
        }
    }

    /// Writes the end of a loop that continues with a condition.
    fn repeat(
        &mut self,
        condition: &LoopCondition,
        leaving: Leaving,
        [head, exit]: [LineLabel; 2],
    ) {
        match leaving {
            Leaving::Jump if self.rng.bool() => {
                let guard = condition.guard();
                self.out.line_to(format!("if {guard} jump"), head);
            }
            _ => {
                self.leave(&condition.otherwise(), leaving, exit);
                self.out.line_to("jump", head);
            }
        }
    }

    fn plain_loop(
        &mut self,
        counter: &Counter,
        place: TestPlace,
        leaving: Leaving,
        [head, exit]: [LineLabel; 2],
        middle: Option<LineLabel>,
        depth: usize,
    ) {
        let register = counter.register.clone();
        let value = match place {
            TestPlace::TailOfOld => self.out.set(&register),
            _ => register,
        };
        let mut early = None;
        match place {
            TestPlace::Head => {
                let condition = self.test(counter, &value);
                self.leave(&condition.otherwise(), leaving, exit);
            }
            TestPlace::Middle => {
                self.body(depth);
                let condition = self.test(counter, &value);
                self.leave(&condition.otherwise(), leaving, exit);
            }
            TestPlace::EarlyPredicate => early = Some(self.test(counter, &value)),
            _ => {}
        }
        self.body(depth);
        if self.one_in(8) {
            self.tags.push("another exit");
            let condition = self.any_condition();
            self.leave(&condition.guard(), leaving, exit);
        }
        if let Some(middle) = middle {
            self.out.bind(middle);
        }
        if self.one_in(12) {
            self.tags.push("two latches");
            let condition = self.any_condition();
            let after = self.out.label();
            self.out
                .line_to(format!("if {} jump", condition.guard()), after);
            self.update(counter);
            self.out.line_to("jump", head);
            self.out.bind(after);
        }
        self.update(counter);
        match place {
            TestPlace::Tail | TestPlace::TailOfOld => {
                let condition = self.test(counter, &value);
                self.repeat(&condition, leaving, [head, exit]);
            }
            TestPlace::EarlyPredicate => {
                if let Some(condition) = early {
                    self.repeat(&condition, leaving, [head, exit]);
                }
            }
            _ => self.out.line_to("jump", head),
        }
    }

    /// Writes a loop whose test is computed in the iteration before.
    fn carried_loop(&mut self, counter: &Counter, leaving: Leaving, exit: LineLabel, depth: usize) {
        let register = counter.register.clone();
        let first = self.test(counter, &register);
        let head = self.out.here();
        self.leave(&first.otherwise(), leaving, exit);
        self.body(depth);
        self.update(counter);
        let next = self.test(counter, &register);
        let negated = match next.negated == first.negated {
            true => next.predicate,
            false => format!("xor({}, 1)", next.predicate),
        };
        self.out.line(format!("{} = {negated}", first.predicate));
        self.out.line_to("jump", head);
        self.shapes.push((head, std::mem::take(&mut self.tags)));
    }

    /// Writes the update of a counter.
    fn update(&mut self, counter: &Counter) {
        match self.rng.u8(0..14) {
            0 => {
                self.tags.push("guarded update");
                let condition = self.any_condition();
                self.change(counter, &format!("if {} ", condition.guard()));
            }
            1 => {
                self.tags.push("update on both sides");
                let condition = self.any_condition();
                self.change(counter, &format!("if {} ", condition.guard()));
                let otherwise = format!("if {} ", condition.otherwise());
                self.change(counter, &otherwise);
                if self.rng.bool() {
                    // In one of two, the sides step differently.
                    let register = &counter.register;
                    self.out
                        .line(format!("{otherwise}{register} = add({register}, 1)"));
                }
            }
            2 => {
                self.tags.push("update on one side");
                let condition = self.any_condition();
                let after = self.out.label();
                self.out
                    .line_to(format!("if {} jump", condition.guard()), after);
                self.change(counter, "");
                self.out.bind(after);
            }
            3 => {
                self.tags.push("updated twice");
                self.change(counter, "");
                self.change(counter, "");
            }
            4 => {
                self.tags.push("updated through a copy");
                let copy = self.out.set(&counter.register);
                let through = Counter {
                    register: copy.clone(),
                    ..counter.clone()
                };
                self.change(&through, "");
                self.out.line(format!("{} = {copy}", counter.register));
            }
            _ => self.change(counter, ""),
        }
    }

    /// Writes the change of a counter, under a guard.
    fn change(&mut self, counter: &Counter, guard: &str) {
        let register = &counter.register;
        match &counter.change {
            Change::Add(step) => self
                .out
                .line(format!("{guard}{register} = add({register}, {step})")),
            Change::Sub(step) => self
                .out
                .line(format!("{guard}{register} = sub({register}, {step})")),
            Change::Apply([before, after]) => self
                .out
                .line(format!("{guard}{register} = {before}{register}{after}")),
            Change::Approach(step, amount) => {
                let limit = &counter.limit;
                self.out
                    .line(format!("{guard}{register} = add({register}, {step})"));
                self.out
                    .line(format!("{guard}{limit} = sub({limit}, 0x{amount:x})"));
            }
            Change::Accelerate(step) => {
                self.out
                    .line(format!("{guard}{register} = add({register}, {step})"));
                self.out.line(format!("{guard}{step} = add({step}, 1)"));
            }
            Change::Load => self
                .out
                .line(format!("{guard}{register} = load global[{register}]")),
            Change::Pair(high, step) => {
                let sum = add_with_flags(register, &format!("0x{step:x}"));
                self.out.line(format!("{guard}{register} = {sum}"));
                self.out
                    .line(format!("{guard}{high} = add({high}, {CARRY})"));
            }
            Change::Search { upper, beyond } => self.halve(register, upper, *beyond, guard),
        }
    }

    /// Writes a step of a binary search.
    fn halve(&mut self, lower: &str, upper: &str, beyond: bool, guard: &str) {
        // The half of a signed number, rounded towards zero.
        let half = |number: String| format!("sar(add({number}, shr({number}, 31)), 1)");
        let middle = match self.rng.u8(0..5) {
            0 => format!("shr(add({lower}, {upper}), 1)"),
            1 => format!("sar(add({lower}, {upper}), 1)"),
            2 => half(format!("add({lower}, {upper})")),
            3 => format!("add({lower}, {})", half(format!("sub({upper}, {lower})"))),
            _ => format!("add({lower}, shr(sub({upper}, {lower}), 1))"),
        };
        let middle = self.out.set(&middle);
        let found = self.loaded();
        let predicate = self.out.predicate();
        self.out.line(format!("{predicate} = lt_s({found}, 3)"));
        let above = match beyond {
            true => self.out.set(&format!("add({middle}, 1)")),
            false => middle.clone(),
        };
        match self.rng.bool() {
            true => {
                self.out.line(format!(
                    "{guard}{upper} = select({predicate}, {middle}, {upper})"
                ));
                self.out.line(format!(
                    "{guard}{lower} = select({predicate}, {lower}, {above})"
                ));
            }
            false => {
                self.out.line(format!("if {predicate} {upper} = {middle}"));
                self.out.line(format!("if !{predicate} {lower} = {above}"));
            }
        }
    }
}
