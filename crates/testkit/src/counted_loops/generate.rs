//! Generator of programs with counted loops of many shapes.
//!
//! A loop is drawn for a number of iterations: start, step and limit fit together. Then values move into parameters,
//! comparisons change, and wrap-around happens near the ends of the ranges of numbers.

mod condition;
mod counter;
mod frame;
mod implied_remainder;
mod unrolled;
mod value;

use std::collections::BTreeMap;

use fastrand::Rng;
use warpbound_base::CodeAddr;
use warpbound_ir::{Code, text};

use super::writer::{LineLabel, TextWriter};

/// Program with counted loops.
pub struct LoopProgram {
    /// Text of the program.
    pub text: String,
    /// The program.
    pub code: Code,
    /// Properties of each loop, by the address of the header with which it was written.
    pub shapes: BTreeMap<CodeAddr, Vec<&'static str>>,
    /// Contents of the parameters for which it was written.
    pub parameters: Vec<u32>,
}

impl LoopProgram {
    /// Generates a program.
    pub fn generate(rng: &mut Rng) -> LoopProgram {
        let mut program = ProgramDraft::new(rng);
        program.write();
        program.finish()
    }
}

/// Program while it is written.
struct ProgramDraft<'r> {
    rng: &'r mut Rng,
    out: TextWriter,
    /// Counters of the loops around, the innermost last.
    counters: Vec<String>,
    /// Counters of loops that have ended.
    finished: Vec<String>,
    /// Properties of the loop that is written.
    tags: Vec<&'static str>,
    shapes: Vec<(LineLabel, Vec<&'static str>)>,
    /// Functions that the program calls.
    functions: Vec<LineLabel>,
    /// Registers with an invariant value that is not known as a number.
    invariants: Vec<String>,
    /// Loops that may still be written.
    loops_left: usize,
}

impl<'r> ProgramDraft<'r> {
    fn new(rng: &'r mut Rng) -> ProgramDraft<'r> {
        ProgramDraft {
            rng,
            out: TextWriter::default(),
            counters: Vec::new(),
            finished: Vec::new(),
            tags: Vec::new(),
            shapes: Vec::new(),
            functions: Vec::new(),
            invariants: Vec::new(),
            loops_left: 0,
        }
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(0..choices.len())]
    }

    fn write(&mut self) {
        // Most programs have one loop, so that a failure is easy to read.
        self.loops_left = self.pick(&[1, 1, 1, 1, 2, 2, 3, 4]);
        let depth = self.pick(&[1, 1, 2, 2, 3]);
        let functions = match self.one_in(8) {
            true => self.rng.usize(1..3),
            false => 0,
        };
        self.functions = (0..functions).map(|_| self.out.label()).collect();
        for _ in 0..self.rng.usize(0..3) {
            let invariant = self.invariant();
            self.invariants.push(invariant);
        }
        while self.loops_left > 0 {
            match self.one_in(5) {
                true if self.rng.bool() => self.implied_remainder(),
                true => self.unrolled_loop(),
                false => self.any_loop(depth),
            }
            if self.one_in(6) {
                self.early_exit();
            }
        }
        for function in self.functions.clone() {
            if self.rng.bool() {
                self.out.line_to("call", function);
            }
        }
        self.out.line("exit");
        // Functions call nothing.
        for function in std::mem::take(&mut self.functions) {
            self.out.bind_function(function);
            self.loops_left = 1;
            self.counters.clear();
            self.any_loop(1);
            self.out.line("pop ret");
        }
    }

    fn finish(self) -> LoopProgram {
        let text = self.out.finish();
        let code = text::parse("program", &text).expect("the generator writes valid text");
        let shapes = self.shapes.into_iter();
        LoopProgram {
            code,
            shapes: shapes
                .map(|(label, tags)| (self.out.addr(label), tags))
                .collect(),
            parameters: self.out.parameters,
            text,
        }
    }

    fn early_exit(&mut self) {
        let condition = self.any_condition();
        self.out.line(format!("if {} exit", condition.guard()));
    }

    /// Writes the body of a loop without its counter.
    fn body(&mut self, depth: usize) {
        for _ in 0..self.rng.usize(0..3) {
            match self.rng.u8(0..12) {
                0..=4 if depth > 0 && self.loops_left > 0 => {
                    let tags = std::mem::take(&mut self.tags);
                    match self.one_in(6) {
                        true => self.unrolled_loop(),
                        false => self.any_loop(depth - 1),
                    }
                    self.tags = tags;
                }
                5 if !self.functions.is_empty() && depth > 0 => {
                    let at = self.rng.usize(0..self.functions.len());
                    self.tags.push("call in the body");
                    self.out.line_to("call", self.functions[at]);
                }
                6 => self.two_sides(),
                7 => {
                    self.tags.push("exit in the body");
                    self.early_exit();
                }
                8 if self.one_in(3) => self.disturb_counter(),
                _ => {
                    let a = self.any_register();
                    self.out.set(&format!("add({a}, 1)"));
                }
            }
        }
    }

    /// Writes a conditional with an assignment on each side.
    fn two_sides(&mut self) {
        let condition = self.any_condition();
        let (other, end) = (self.out.label(), self.out.label());
        let reconverges = self.rng.bool();
        if reconverges {
            self.out.line_to("push sync", end);
        }
        let guard = condition.guard();
        self.out.line_to(format!("if {guard} jump"), other);
        let a = self.any_register();
        let copy = self.out.set(&a);
        match reconverges {
            true => self.out.line("pop sync"),
            false => self.out.line_to("jump", end),
        }
        self.out.bind(other);
        self.out.line(format!("{copy} = add({copy}, 3)"));
        if reconverges {
            self.out.line("pop sync");
        }
        self.out.bind(end);
    }

    /// Writes an assignment to the counter of a loop around.
    fn disturb_counter(&mut self) {
        if self.counters.is_empty() {
            return;
        }
        let at = self.rng.usize(0..self.counters.len());
        let counter = self.counters[at].clone();
        let change = self.pick(&["add", "sub", "or", "max_s", "min_s", "and", "shr"]);
        let amount = self.pick(&[0u32, 1, 1, 2, 3, 0xff, u32::MAX]);
        let guard = match self.rng.bool() {
            true => format!("if {} ", self.any_condition().guard()),
            false => String::new(),
        };
        self.tags.push("counter changed in the body");
        self.out.line(format!(
            "{guard}{counter} = {change}({counter}, 0x{amount:x})"
        ));
    }
}
