//! Text of a program, line by line, with labels, registers and parameters.

use std::fmt::Write as _;

use warpbound_base::CodeAddr;

/// Byte offset of the first parameter in constant bank 0.
pub(super) const PARAMETERS: u32 = 0x140;

/// Label of a line, bound when the line is written.
#[derive(Clone, Copy)]
pub(super) struct LineLabel(usize);

/// Line of a program: text, and the label that follows it.
struct TextLine {
    text: String,
    target: Option<LineLabel>,
}

/// Writer of the text of a program.
#[derive(Default)]
pub(super) struct TextWriter {
    /// Lines before all others: assignments to registers that the program does not begin with otherwise.
    prologue: Vec<String>,
    lines: Vec<TextLine>,
    labels: Vec<usize>,
    functions: Vec<LineLabel>,
    registers: u8,
    predicates: u8,
    /// Nominal contents of the parameters.
    pub(super) parameters: Vec<u32>,
}

impl TextWriter {
    /// Returns a register that the program does not use yet.
    pub(super) fn register(&mut self) -> String {
        // Registers above are for long programs, where some are shared.
        self.registers = (self.registers + 1) % 250;
        format!("R{}", self.registers)
    }

    /// Returns a predicate; with more than seven live ones, some are shared.
    pub(super) fn predicate(&mut self) -> String {
        self.predicates = (self.predicates + 1) % 7;
        format!("P{}", self.predicates)
    }

    /// Returns the expression of a new parameter.
    pub(super) fn parameter(&mut self, nominal: u32) -> String {
        let offset = PARAMETERS + 4 * self.parameters.len() as u32;
        self.parameters.push(nominal);
        format!("c[0][0x{offset:x}]")
    }

    /// Returns a label without a line.
    pub(super) fn label(&mut self) -> LineLabel {
        self.labels.push(usize::MAX);
        LineLabel(self.labels.len() - 1)
    }

    /// Binds a label to the next line.
    pub(super) fn bind(&mut self, label: LineLabel) {
        self.labels[label.0] = self.lines.len();
    }

    /// Binds a label that begins a function.
    pub(super) fn bind_function(&mut self, label: LineLabel) {
        self.bind(label);
        self.functions.push(label);
    }

    /// Returns a label of the next line.
    pub(super) fn here(&mut self) -> LineLabel {
        let label = self.label();
        self.bind(label);
        label
    }

    /// Appends a line.
    pub(super) fn line(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.lines.push(TextLine { text, target: None });
    }

    /// Appends a line whose text ends with the address of a label.
    pub(super) fn line_to(&mut self, text: impl Into<String>, to: LineLabel) {
        let (text, target) = (text.into(), Some(to));
        self.lines.push(TextLine { text, target });
    }

    /// Appends a line to the prologue.
    pub(super) fn before_all(&mut self, text: impl Into<String>) {
        self.prologue.push(text.into());
    }

    /// Appends the assignment of an expression to a new register, which it returns.
    pub(super) fn set(&mut self, expression: &str) -> String {
        let register = self.register();
        self.line(format!("{register} = {expression}"));
        register
    }

    /// Returns the address of a label, after the last line is written.
    pub(super) fn addr(&self, label: LineLabel) -> CodeAddr {
        CodeAddr((8 * (self.prologue.len() + self.labels[label.0])) as u32)
    }

    /// Returns the text.
    pub(super) fn finish(&self) -> String {
        let mut text = String::new();
        for (number, &function) in self.functions.iter().enumerate() {
            let addr = self.addr(function);
            let _ = writeln!(text, "function {addr} \"f{number}\"");
        }
        let prologue = self.prologue.iter().map(|line| (line, None));
        let lines = self.lines.iter().map(|line| (&line.text, line.target));
        for (number, (line, target)) in prologue.chain(lines).enumerate() {
            let _ = write!(text, "0x{:04x}: {line}", 8 * number);
            if let Some(target) = target {
                let _ = write!(text, " {}", self.addr(target));
            }
            text.push('\n');
        }
        text
    }
}
