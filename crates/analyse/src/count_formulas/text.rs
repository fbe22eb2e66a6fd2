//! Formulas as text.

use std::collections::BTreeMap;

use warpbound_base::Named;
use warpbound_graph::LoopIndex;
use warpbound_ir::{BinaryOp, OpIndex, TernaryOp};

use super::CountFormulas;
use super::expression::{Count, Factor, Test};
use super::rounds::{Distance, LoopRounds};
use super::sums::{GuardedIndex, IndexGuard, axis_name};
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial, constant};
use crate::symbolic::conditions::Condition;
use crate::symbolic::span::Reading;
use crate::symbolic::values::{special_text, ternary_name};

/// Number of iterations of a loop in formulas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopText {
    /// Name of the number, for example `n1`.
    pub name: String,
    /// Branch by which the loop is left.
    pub exit: OpIndex,
    /// Iterations after which the loop goes on, each time that it is entered.
    pub rounds: String,
    /// Conditions under which that number holds; empty if it always does.
    pub valid: Vec<String>,
}

impl CountFormulas<'_> {
    /// The formula of a block as text; `None` if it has none.
    pub fn text(&self, block: OpIndex) -> Option<String> {
        let formula = self.blocks.get(&block)?.as_ref().ok()?;
        let names = self.names();
        let parts = formula.parts.iter();
        let parts: Vec<String> = parts
            .map(|part| self.count_text(&part.count, &names))
            .collect();
        Some(match parts.is_empty() {
            true => "0".to_owned(),
            false => parts.join(" + "),
        })
    }

    /// The sum of the formula of a block over all threads of a launch, where it is simple.
    pub fn sum_text(&self, block: OpIndex) -> Option<String> {
        let formula = self.blocks.get(&block)?.as_ref().ok()?;
        // A sum over several contexts is not one product with a number of threads.
        let [part] = formula.parts.as_slice() else {
            return None;
        };
        let names = self.names();
        let sum = self.launch_sum(&part.count)?;
        let passing = match &sum.guard {
            None => "threads".to_owned(),
            Some(guard) => self.guard_text(guard, &names),
        };
        Some(match self.count_text(&sum.equal, &names).as_str() {
            "1" => passing,
            "0" => "0".to_owned(),
            equal => format!("{}*{passing}", factor(equal)),
        })
    }

    /// The number of threads that pass a guard.
    fn guard_text(&self, guard: &IndexGuard, names: &BTreeMap<LoopIndex, usize>) -> String {
        let axis = axis_name(guard.axis);
        let all = match guard.index {
            GuardedIndex::Thread => format!("blockDim.{axis}"),
            GuardedIndex::Block => format!("gridDim.{axis}"),
            GuardedIndex::Global => format!("blockDim.{axis}*gridDim.{axis}"),
        };
        let mut limit = self.word_text(&guard.word, names);
        if guard.with_equal {
            limit = format!("{limit} + 1");
        }
        let below = match guard.reading {
            // A signed limit may be negative; then no index is below it.
            Reading::Signed => format!("min(max({limit}, 0), {all})"),
            Reading::Unsigned => format!("min({limit}, {all})"),
        };
        let passing = match guard.is_complement {
            true => format!("({all} - {below})"),
            false => below,
        };
        // Each value of the index belongs to `threads/all` threads.
        format!("{passing}*threads/{}", grouped(&all))
    }

    /// Whether warps execute a block that has a formula with all their live lanes.
    pub fn is_whole(&self, block: OpIndex) -> bool {
        let formula = self
            .blocks
            .get(&block)
            .and_then(|found| found.as_ref().ok());
        formula.is_some_and(|formula| formula.parts.iter().all(|part| part.is_whole))
    }

    /// The numbers of iterations that the formula of a block mentions, directly or in others.
    pub fn loops_of(&self, block: OpIndex) -> Vec<String> {
        let names = self.names();
        let Some(Ok(formula)) = self.blocks.get(&block) else {
            return Vec::new();
        };
        let loops = formula
            .parts
            .iter()
            .flat_map(|part| self.all_loops(&part.count));
        loops.map(|index| name("n", index, &names)).collect()
    }

    /// The numbers of iterations, in the order of their names.
    pub fn loops(&self) -> Vec<LoopText> {
        let names = self.names();
        let mut texts: Vec<(usize, LoopText)> = Vec::new();
        for (&index, rounds) in &self.rounds {
            let (number, valid) = self.rounds_text(index, rounds, &names);
            let text = LoopText {
                name: name("n", index, &names),
                exit: rounds.exit,
                rounds: number,
                valid,
            };
            texts.push((names.get(&index).copied().unwrap_or(0), text));
        }
        texts.sort_by_key(|(number, _)| *number);
        texts.into_iter().map(|(_, text)| text).collect()
    }

    /// Numbers of the loops in names, in order of their exits.
    fn names(&self) -> BTreeMap<LoopIndex, usize> {
        let mut order: Vec<(OpIndex, LoopIndex)> = (self.rounds.iter())
            .map(|(&index, rounds)| (rounds.exit, index))
            .collect();
        // Numbered by their exits, so that the names follow the order of the code.
        order.sort_unstable();
        (order.into_iter().enumerate())
            .map(|(number, (_, index))| (index, number + 1))
            .collect()
    }

    fn count_text(&self, count: &Count, names: &BTreeMap<LoopIndex, usize>) -> String {
        let products = count.products.iter().map(|product| {
            let factors = product.iter().map(|factor| self.factor_text(factor, names));
            let factors: Vec<String> = factors.collect();
            match factors.as_slice() {
                [] => "1".to_owned(),
                [only] => only.clone(),
                several => {
                    let several: Vec<String> = several.iter().map(|text| factor(text)).collect();
                    several.join("*")
                }
            }
        });
        let products: Vec<String> = products.collect();
        match products.is_empty() {
            true => "0".to_owned(),
            false => products.join(" + "),
        }
    }

    fn factor_text(&self, factor: &Factor, names: &BTreeMap<LoopIndex, usize>) -> String {
        match factor {
            Factor::Holds(test) => format!("[{}]", self.test_text(test, names)),
            Factor::GoesOn(index) => format!("[{} goes on]", name("k", *index, names)),
            Factor::Rounds(index) => name("n", *index, names),
            Factor::Headers(index) => format!("{} + 1", name("n", *index, names)),
            Factor::Sum {
                over,
                with_last,
                of,
            } => {
                let sign = if *with_last { "<=" } else { "<" };
                format!(
                    "sum(0 <= {} {sign} {}: {})",
                    name("k", *over, names),
                    name("n", *over, names),
                    self.count_text(of, names)
                )
            }
        }
    }

    fn test_text(&self, test: &Test, names: &BTreeMap<LoopIndex, usize>) -> String {
        let conditions = test.conditions.iter();
        let texts: Vec<String> = conditions.map(|c| self.condition_text(c, names)).collect();
        let all = match texts.is_empty() {
            true => "true".to_owned(),
            false => texts.join(" and "),
        };
        match test.all_hold {
            true => all,
            false => format!("not ({all})"),
        }
    }

    fn condition_text(&self, condition: &Condition, names: &BTreeMap<LoopIndex, usize>) -> String {
        let equation = |word: &WordPolynomial, sign: &str| {
            let (left, right) = sides_of_equation(word);
            format!(
                "{} {sign} {}",
                self.word_text(&left, names),
                self.word_text(&right, names)
            )
        };
        match condition {
            Condition::Less {
                a,
                b,
                or_equal,
                reading,
            } => {
                let sign = match (or_equal, reading) {
                    (false, Reading::Signed) => "<",
                    (true, Reading::Signed) => "<=",
                    (false, Reading::Unsigned) => "<u",
                    (true, Reading::Unsigned) => "<=u",
                };
                format!(
                    "{} {sign} {}",
                    self.word_text(a, names),
                    self.word_text(b, names)
                )
            }
            Condition::Zero(word) => equation(word, "="),
            Condition::NotZero(word) => equation(word, "!="),
            Condition::Never => "false".to_owned(),
        }
    }

    fn rounds_text(
        &self,
        index: LoopIndex,
        rounds: &LoopRounds,
        names: &BTreeMap<LoopIndex, usize>,
    ) -> (String, Vec<String>) {
        let mut valid = Vec::new();
        let number = name("n", index, names);
        let texts = rounds.distances.iter();
        let mut texts: Vec<String> = texts
            .map(|distance| self.distance_text(distance, &number, names, &mut valid))
            .collect();
        let text = match texts.len() {
            0 => {
                let fails = self.test_text(&rounds.test.opposite(), names);
                format!("least {} with {fails}", name("k", index, names))
            }
            1 => texts.remove(0),
            _ => format!("min({})", texts.join(", ")),
        };
        (text, valid)
    }

    fn distance_text(
        &self,
        distance: &Distance,
        number: &str,
        names: &BTreeMap<LoopIndex, usize>,
        valid: &mut Vec<String>,
    ) -> String {
        let word = |word: &WordPolynomial| self.word_text(word, names);
        match distance {
            Distance::Less {
                a,
                b,
                or_equal,
                reading,
            } => {
                let constants = [&a[0], &a[1], &b[0], &b[1]].map(|word| word.as_constant());
                if let [Some(_), Some(_), Some(_), Some(_)] = constants
                    && let Some(number) = self.constant_distance(distance)
                {
                    return number.to_string();
                }
                let mut missing = word(&b[0]);
                if a[0].as_constant() != Some(0) {
                    missing = format!("{missing} - {}", grouped(&word(&a[0])));
                }
                if *or_equal {
                    missing.push_str(" + 1");
                }
                let (low, high) = reading.limits();
                let mut limit = |of: &[WordPolynomial; 2]| {
                    let step = of[1].as_constant();
                    // A word that does not change cannot leave the range.
                    if step == Some(0) {
                        return;
                    }
                    let steps = match step {
                        Some(1) => number.to_owned(),
                        _ => format!("{}*{number}", grouped(&word(&of[1]))),
                    };
                    let last = match of[0].as_constant() {
                        Some(0) => steps,
                        _ => format!("{} + {steps}", word(&of[0])),
                    };
                    // Only the limit in the direction of the steps can be passed.
                    valid.push(match step.map(|step| step as i32) {
                        Some(0..) => format!("{last} <= {high}"),
                        Some(_) => format!("{last} >= {low}"),
                        None => format!("{low} <= {last} <= {high}"),
                    });
                };
                limit(a);
                limit(b);
                let closed = a[1].plus(&b[1], u32::MAX);
                let closed = closed.unwrap_or_else(|| a[1].clone());
                // The distance has to shrink, which a step that is no constant may not bring about.
                if closed.as_constant().is_none() {
                    valid.push(format!("{} > 0", word(&closed)));
                }
                match closed.as_constant() {
                    Some(1) => format!("max(0, {missing})"),
                    _ => format!("max(0, ceil(({missing})/{}))", grouped(&word(&closed))),
                }
            }
            Distance::NotZero { first, step } => {
                if first.as_constant().is_some()
                    && let Some(number) = self.constant_distance(distance)
                {
                    return number.to_string();
                }
                let negative = first.scaled(u32::MAX);
                let distance = match (*step > 0, negative) {
                    (true, Some(negative)) => word(&negative),
                    (true, None) => format!("-({})", word(first)),
                    (false, _) => word(first),
                };
                match step.unsigned_abs() {
                    1 => distance,
                    size => {
                        // Steps that do not divide the distance miss 0.
                        valid.push(format!("{size} divides {distance}, read as unsigned"));
                        format!("{}/{size}", grouped(&distance))
                    }
                }
            }
        }
    }

    fn word_text(&self, word: &WordPolynomial, names: &BTreeMap<LoopIndex, usize>) -> String {
        let mut text = String::new();
        // The constant comes last, as people write it.
        let (constants, others): (Vec<_>, Vec<_>) = word
            .terms()
            .iter()
            .partition(|(unknowns, _)| unknowns.is_empty());
        for (unknowns, coefficient) in others.into_iter().chain(constants) {
            let signed = *coefficient as i32;
            text.push_str(match (signed < 0, text.is_empty()) {
                (true, true) => "-",
                (true, false) => " - ",
                (false, true) => "",
                (false, false) => " + ",
            });
            let mut factors: Vec<String> = Vec::new();
            if signed.unsigned_abs() != 1 || unknowns.is_empty() {
                factors.push(signed.unsigned_abs().to_string());
            }
            factors.extend(unknowns.iter().map(|&id| self.atom_text(id, names)));
            text.push_str(&factors.join("*"));
        }
        match text.is_empty() {
            true => "0".to_owned(),
            false => text,
        }
    }

    fn atom_text(&self, id: AtomId, names: &BTreeMap<LoopIndex, usize>) -> String {
        let word = |of: &WordPolynomial| self.word_text(of, names);
        let symbolic = &self.words.symbolic;
        match symbolic.atoms.get(id) {
            Atom::Special(register) => special_text(*register),
            Atom::Iteration(index) => name("k", *index, names),
            Atom::Nested(number) => format!("value{number}"),
            Atom::Constant(bank, address) => match address.as_constant() {
                Some(address) => symbolic.constant_name(*bank, address),
                None => format!("c[{bank:#x}][{}]", word(address)),
            },
            Atom::Value(_, cell) => cell.to_string(),
            Atom::Unary(op, a) => format!("{}({})", op.name(), word(a)),
            Atom::Binary(op, [a, b]) => {
                let sign = match op {
                    BinaryOp::Shr => ">>u",
                    BinaryOp::Sar => ">>",
                    BinaryOp::Shl => "<<",
                    BinaryOp::And => "&",
                    BinaryOp::Or => "|",
                    BinaryOp::Xor => "^",
                    _ => return format!("{}({}, {})", op.name(), word(a), word(b)),
                };
                format!("({} {sign} {})", grouped(&word(a)), grouped(&word(b)))
            }
            Atom::Ternary(TernaryOp::Select, [truth, yes, no]) => {
                format!("({} != 0 ? {} : {})", word(truth), word(yes), word(no))
            }
            Atom::Ternary(op, operands) => {
                let operands: Vec<String> = operands.iter().map(word).collect();
                format!("{}({})", ternary_name(*op), operands.join(", "))
            }
        }
    }
}

/// Name of a number of a loop.
fn name(letter: &str, index: LoopIndex, names: &BTreeMap<LoopIndex, usize>) -> String {
    match names.get(&index) {
        Some(number) => format!("{letter}{number}"),
        None => format!("{letter}?"),
    }
}

/// Text in parentheses, unless it is one name, number or group.
fn grouped(text: &str) -> String {
    enclosed(text, &[' ', '-', '*', '/'])
}

/// Text in parentheses, if it is a sum.
fn factor(text: &str) -> String {
    enclosed(text, &[' ', '-'])
}

/// Text in parentheses, if one of these characters is outside of all groups.
fn enclosed(text: &str, characters: &[char]) -> String {
    let mut depth = 0u32;
    let mut is_one = true;
    for character in text.chars() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => is_one &= depth > 0 || !characters.contains(&character),
        }
    }
    match is_one {
        true => text.to_owned(),
        false => format!("({text})"),
    }
}

/// Writes the condition that a word is 0 as an equation, with subtracted terms on the right.
fn sides_of_equation(word: &WordPolynomial) -> (WordPolynomial, WordPolynomial) {
    let (mut left, mut right) = (constant(0), constant(0));
    for (unknowns, coefficient) in word.terms() {
        let product = unknowns.iter().try_fold(constant(1), |product, &unknown| {
            product.times(&WordPolynomial::unknown(unknown))
        });
        let Some(product) = product else {
            return (word.clone(), constant(0));
        };
        let side = match (*coefficient as i32) < 0 {
            true => right
                .plus(&product, coefficient.wrapping_neg())
                .map(|sum| right = sum),
            false => left.plus(&product, *coefficient).map(|sum| left = sum),
        };
        if side.is_none() {
            return (word.clone(), constant(0));
        }
    }
    (left, right)
}
