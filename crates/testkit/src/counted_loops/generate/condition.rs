//! Conditions: comparisons of counters, and what they are joined with.

use super::ProgramDraft;

/// Comparison with which a loop continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Continues {
    /// Counter below the limit.
    Below,
    /// Counter at most the limit.
    UpTo,
    /// Counter above the limit.
    Above,
    /// Counter at least the limit.
    DownTo,
    /// Counter and limit are equal.
    While,
    /// Counter and limit differ.
    Until,
}

impl Continues {
    fn negated(self) -> Continues {
        match self {
            Continues::Below => Continues::DownTo,
            Continues::UpTo => Continues::Above,
            Continues::Above => Continues::UpTo,
            Continues::DownTo => Continues::Below,
            Continues::While => Continues::Until,
            Continues::Until => Continues::While,
        }
    }

    /// Expression of the comparison, 0 or 1.
    fn expression(self, signed: bool, counter: &str, limit: &str) -> String {
        let sign = if signed { 's' } else { 'u' };
        match self {
            Continues::Below => format!("lt_{sign}({counter}, {limit})"),
            Continues::UpTo => format!("le_{sign}({counter}, {limit})"),
            Continues::Above => format!("lt_{sign}({limit}, {counter})"),
            Continues::DownTo => format!("le_{sign}({limit}, {counter})"),
            Continues::While => format!("eq({counter}, {limit})"),
            Continues::Until => format!("ne({counter}, {limit})"),
        }
    }
}

/// Condition: a predicate, perhaps negated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LoopCondition {
    pub(super) predicate: String,
    pub(super) negated: bool,
}

impl LoopCondition {
    /// Guard that holds where the condition does.
    pub(super) fn guard(&self) -> String {
        let not = if self.negated { "!" } else { "" };
        format!("{not}{}", self.predicate)
    }

    /// Guard that holds where the condition does not.
    pub(super) fn otherwise(&self) -> String {
        let negated = !self.negated;
        let predicate = self.predicate.clone();
        LoopCondition { predicate, negated }.guard()
    }

    /// Expression of the condition, 0 or 1.
    fn truth(&self) -> String {
        match self.negated {
            true => format!("xor({}, 1)", self.predicate),
            false => self.predicate.clone(),
        }
    }

    /// Expression of its complement.
    fn falsehood(&self) -> String {
        match self.negated {
            true => self.predicate.clone(),
            false => format!("xor({}, 1)", self.predicate),
        }
    }
}

impl ProgramDraft<'_> {
    /// Writes a predicate that holds where a comparison does, perhaps joined with others.
    pub(super) fn condition_of(
        &mut self,
        continues: Continues,
        signed: bool,
        counter: &str,
        limit: &str,
    ) -> LoopCondition {
        let negated = self.rng.bool();
        let stated = match negated {
            true => continues.negated(),
            false => continues,
        };
        let comparison = match self.one_in(8) {
            true => {
                let opposite = stated.negated().expression(signed, counter, limit);
                format!("xor({opposite}, 1)")
            }
            false => stated.expression(signed, counter, limit),
        };
        let predicate = self.out.predicate();
        self.out.line(format!("{predicate} = and({comparison}, 1)"));
        self.extended(LoopCondition { predicate, negated })
    }

    /// Joins a condition with another or copies it, sometimes.
    pub(super) fn extended(&mut self, condition: LoopCondition) -> LoopCondition {
        let condition = match self.rng.u8(0..12) {
            0 => self.joined_with(&condition),
            1 => self.either_of(&condition),
            _ => condition,
        };
        if !self.one_in(8) {
            return condition;
        }
        self.tags.push("copied predicate");
        let predicate = self.out.predicate();
        self.out
            .line(format!("{predicate} = {}", condition.predicate));
        LoopCondition {
            predicate,
            ..condition
        }
    }

    /// Writes the conjunction of a condition with another.
    fn joined_with(&mut self, condition: &LoopCondition) -> LoopCondition {
        self.tags.push("joined by and");
        let other = self.any_condition();
        let (a, b) = (condition.truth(), other.truth());
        let (not_a, not_b) = (condition.falsehood(), other.falsehood());
        let joined = self.out.predicate();
        let negated = self.rng.bool();
        let expression = match negated {
            true => format!("and(or({not_a}, {not_b}), 1)"),
            false => format!("and({a}, {b})"),
        };
        self.out.line(format!("{joined} = {expression}"));
        LoopCondition {
            predicate: joined,
            negated,
        }
    }

    /// Writes the disjunction of a condition with another.
    fn either_of(&mut self, condition: &LoopCondition) -> LoopCondition {
        self.tags.push("joined by or");
        let other = match self.counters.last().cloned() {
            Some(counter) if self.rng.bool() => {
                let predicate = self.out.predicate();
                let limit = self.rng.u32(0..32);
                self.out
                    .line(format!("{predicate} = lt_u({counter}, {limit})"));
                LoopCondition {
                    predicate,
                    negated: false,
                }
            }
            _ => self.any_condition(),
        };
        let joined = self.out.predicate();
        let negated = self.rng.bool();
        let expression = match negated {
            true => format!("and({}, {})", condition.falsehood(), other.falsehood()),
            false => format!("or({}, {})", condition.truth(), other.truth()),
        };
        self.out.line(format!("{joined} = {expression}"));
        LoopCondition {
            predicate: joined,
            negated,
        }
    }

    /// Writes a condition on anything: memory, the thread, a parameter, a counter.
    pub(super) fn any_condition(&mut self) -> LoopCondition {
        let predicate = self.out.predicate();
        let expression = match self.rng.u8(0..6) {
            0 => "?lane()".to_owned(),
            1 => {
                let register = self.out.register();
                self.out
                    .line(format!("{register} = load.u8 global[{register}]"));
                format!("lt_u({register}, 3)")
            }
            2 => {
                let word = self.out.parameter(5);
                let limit = self.rng.u32(0..10);
                format!("lt_s({word}, {limit})")
            }
            3 => {
                let register = self.special("thread_x");
                format!("eq(and({register}, 1), 0)")
            }
            _ => {
                let register = self.any_register();
                let limit = self.rng.u32(0..20);
                let compared = self.pick(&["lt_s", "lt_u", "eq", "ne"]);
                format!("{compared}({register}, {limit})")
            }
        };
        self.out.line(format!("{predicate} = {expression}"));
        LoopCondition {
            predicate,
            negated: self.rng.bool(),
        }
    }
}
