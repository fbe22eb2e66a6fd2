//! Random mini-SIMT programs, as text.
//!
//! Programs read only words below [`READ_ONLY`] and write only words from there on, so that the path of a lane does not
//! depend on the schedule of other lanes. All loops end. A program is a deterministic function of the random generator:
//! the order of random draws must not change.

use std::fmt::Write as _;

use fastrand::Rng;

/// Number of words from address 0 that are read and never written.
pub const READ_ONLY: u32 = 64;

/// Number of words of the memory.
pub const MEMORY: u32 = 128;

/// Launch constants of every program: threads of the block, and two numbers.
pub const PARAMS: [&str; 3] = ["threads", "n", "m"];

/// A random program.
#[derive(Clone, Debug)]
pub struct Generated {
    /// Source text.
    pub text: String,
    /// Loop facts: labels of the headers, separated by spaces, and the most header executions by one thread per entry.
    pub facts: Vec<(String, u64)>,
}

/// Generates a structured program for launches whose constants `n` and `m` are at most `most`.
pub fn program(rng: &mut Rng, most: u32) -> Generated {
    let mut generator = Generator {
        text: String::new(),
        facts: Vec::new(),
        labels: 0,
        counters: 0,
        barriers: rng.u8(0..3) == 0,
        most,
        budget: rng.usize(4..30),
        rng,
    };
    let _ = writeln!(
        generator.text,
        ".kernel Random\n.param {}",
        PARAMS.join(", ")
    );
    for (index, name) in VARIABLES.iter().enumerate() {
        let from = ["Tid", "n", "m", "3", "threads", "0"][(index + generator.rng.usize(..6)) % 6];
        generator.line(&format!("const {name} = {from}"));
    }
    generator.body(0, true);
    generator.line("binop at = Tid % 64");
    generator.line(&format!("binop at = at + {READ_ONLY}"));
    generator.line("store at = a");
    generator.text.push_str("end:\n");
    Generated {
        text: generator.text,
        facts: generator.facts,
    }
}

/// Generates a program whose branches and jumps have random targets: irreducible loops, branches that leave several
/// loops, unreachable code. Every join has a `sync`, so every branch has a reconvergence point.
///
/// The facts are the most executions of each block by one thread in all.
pub fn unstructured_program(rng: &mut Rng) -> Generated {
    let blocks = rng.usize(2..9);
    let mut text = format!(
        ".kernel Tangled\n.param {}\nconst a = Tid\n",
        PARAMS.join(", ")
    );
    let fuel = rng.u32(3..20);
    for block in 0..blocks {
        let _ = writeln!(
            text,
            "l{block}: sync\nbinop f = f + 1\nbinop p = f > {fuel}"
        );
        // Fuel, so that most programs end: a lane that has used it up jumps to the last label.
        let _ = writeln!(text, "bnz p, l{blocks}\nsync");
        for _ in 0..rng.usize(0..4) {
            let to = rng.usize(..blocks + 1);
            let (op, with) = (
                ["+", "*", "^", ">>"][rng.usize(..4)],
                ["Tid", "n", "3", "f"][rng.usize(..4)],
            );
            let _ = match rng.u8(0..9) {
                0..=2 => writeln!(text, "binop a = a {op} {with}"),
                3 => writeln!(text, "binop q = a & 63\nload a = q"),
                4 => writeln!(text, "binop q = a & 63\nbinop q = q + 64\nstore q = a"),
                5 => writeln!(text, "jump l{to}"),
                6 if rng.u8(0..8) == 0 => writeln!(text, "barrier {}, threads", rng.u8(0..2)),
                n => {
                    let branch = ["bz", "bnz"][usize::from(n % 2)];
                    writeln!(
                        text,
                        "binop p = a & {}\n{branch} p, l{to}\nsync",
                        rng.u8(1..4)
                    )
                }
            };
        }
    }
    let _ = writeln!(
        text,
        "l{blocks}:{}",
        [" sync\nbinop q = a & 63\nbinop q = q + 64\nstore q = f", ""][rng.usize(..2)]
    );
    let facts = (0..blocks).map(|block| (format!("l{block}"), u64::from(fuel) + 2));
    Generated {
        facts: facts.collect(),
        text,
    }
}

/// Generates a program whose first `split` warps of `width` lanes enter a loop in two parts, one of them after a
/// barrier. Data decide the loop, and lanes of both parts diverge in it. The `other` warps wait at the same barriers
/// and load in between. Most barriers expect the threads that arrive, and some open for one part only.
///
/// In one case of six the first part enters the loop at another operation than the reconvergence point, so that the
/// loop has two entries.
pub fn split_loop_entry(rng: &mut Rng, width: u32, split: u32, other: u32) -> Generated {
    let (half, rest) = (split * width / 2, other * width);
    let mut text = format!(
        ".kernel Parted\n.param {}\nbinop g = Tid >= {}\nbnz g, other\nbinop p = Tid % 2\nbz p, even\n",
        PARAMS.join(", "),
        split * width
    );
    // Number of barriers that the other warps reach, and the expected count of each: mostly the threads that arrive.
    let passed = rng.usize(1..4);
    let with_rest = |n: u32, comes: bool| if comes { n + rest } else { n };
    let all = [half + rest, with_rest(2 * half, passed > 1), rest];
    let strange = half + rest;
    let [first, second, third] = all.map(|n| if rng.u8(0..5) == 0 { strange } else { n });
    let barrier = format!("barrier 0, {first}\n");
    let in_even = rng.bool();
    let arm = |with: bool| {
        if with {
            barrier.as_str()
        } else {
            "binop z = z + 1\n"
        }
    };
    let (back, headers) = match rng.u8(0..6) {
        0 => ("before", "before head"),
        _ => ("head", "head"),
    };
    let _ = write!(text, "{}jump {back}\neven: {}", arm(!in_even), arm(in_even));
    if back != "head" {
        text.push_str("jump head\nbefore: load y = 21\n");
    }
    text.push_str("head: sync\n");
    let _ = writeln!(
        text,
        "load x = Tid\nbinop u = x & {}\nbz u, A",
        rng.u8(1..3)
    );
    let loads =
        |rng: &mut Rng| format!("load y = {}\n", rng.u32(0..READ_ONLY)).repeat(rng.usize(1..5));
    let _ = write!(text, "{}jump F\nA: {}F: sync\n", loads(rng), loads(rng));
    let way_out = ["y", "x", "v"][rng.usize(..3)];
    let _ = writeln!(
        text,
        "binop i = i + 1\nbinop v = i > x\nbnz {way_out}, out\nbinop q = i < n\nbnz q, {back}\nout: sync\nbarrier 0, {second}\njump end"
    );
    // The other warps: that number of barriers, some after a loop of loads.
    let _ = writeln!(text, "other:");
    let mut facts = vec![(headers.to_owned(), 12 * headers.split(' ').count() as u64)];
    let barriers = [first, second, third];
    for (number, count) in barriers.iter().take(passed).enumerate() {
        if rng.bool() {
            let most = rng.u8(1..60);
            let _ = writeln!(
                text,
                "const j = 0\nw{number}: load y = 20\nbinop j = j + 1\nbinop q = j < {most}\nbnz q, w{number}\nsync"
            );
            facts.push((format!("w{number}"), u64::from(most)));
        }
        let _ = writeln!(text, "barrier 0, {count}");
    }
    text.push_str("end:\n");
    Generated { text, facts }
}

const VARIABLES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Writer of a structured random program.
struct Generator<'r> {
    text: String,
    facts: Vec<(String, u64)>,
    labels: usize,
    counters: usize,
    /// Whether the program may have barriers; if so, no thread exits early.
    barriers: bool,
    most: u32,
    /// Number of statements that may still be generated.
    budget: usize,
    rng: &'r mut Rng,
}

impl Generator<'_> {
    fn line(&mut self, instruction: &str) {
        let _ = writeln!(self.text, "        {instruction}");
    }

    fn label(&mut self, name: &str) {
        let _ = writeln!(self.text, "{name}:");
    }

    fn new_label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    fn variable(&mut self) -> &'static str {
        VARIABLES[self.rng.usize(..VARIABLES.len())]
    }

    fn operand(&mut self) -> String {
        match self.rng.u8(0..8) {
            0 => "Tid".to_owned(),
            1 => PARAMS[self.rng.usize(..PARAMS.len())].to_owned(),
            2 | 3 => self.rng.i32(-4..9).to_string(),
            _ => self.variable().to_owned(),
        }
    }

    /// Emits statements. With `together`, all threads of the block execute them, equally often, so that barriers may
    /// occur.
    fn body(&mut self, depth: usize, together: bool) {
        for _ in 0..self.rng.usize(1..5) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            match self.rng.u8(0..15) {
                14 if depth < 3 => {
                    self.loop_at_reconvergence_point(depth);
                    if self.barriers && together && self.rng.bool() {
                        self.line("barrier 1, threads");
                    }
                }
                0..=3 => self.compute(),
                4 | 5 => self.load(),
                6 => self.store(),
                7 | 8 if depth < 4 => self.branch(depth),
                9 | 10 if depth < 3 => self.counted_loop(depth, together),
                11 if depth < 3 => self.data_loop(depth),
                12 if self.barriers && together => {
                    let number = self.rng.u8(0..2);
                    self.line(&format!("barrier {number}, threads"));
                }
                // A barrier that some threads may never reach, or that opens before all have arrived.
                13 if self.barriers && self.rng.u8(0..4) == 0 => {
                    let few = self.rng.u32(1..9).to_string();
                    let expected = ["threads", few.as_str()][self.rng.usize(..2)];
                    self.line(&format!("barrier 2, {expected}"));
                }
                13 if !self.barriers && self.rng.u8(0..3) == 0 => {
                    self.condition();
                    self.line("bnz p, end");
                }
                _ => self.compute(),
            }
        }
    }

    fn compute(&mut self) {
        let (dest, a, b) = (self.variable(), self.operand(), self.operand());
        match self.rng.u8(0..12) {
            0 => self.line(&format!("const {dest} = {a}")),
            1 => {
                // An odd divisor is not zero.
                self.line(&format!("binop q = {b} | 1"));
                let op = ["/", "%"][self.rng.usize(..2)];
                self.line(&format!("binop {dest} = {a} {op} q"));
            }
            n => {
                let ops = [
                    "+", "-", "*", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "min", "max",
                    "<<", ">>",
                ];
                let op = match n {
                    2..=5 => ops[self.rng.usize(..4)],
                    _ => ops[self.rng.usize(..ops.len())],
                };
                self.line(&format!("binop {dest} = {a} {op} {b}"));
            }
        }
    }

    fn load(&mut self) {
        let (dest, at) = (self.variable(), self.operand());
        self.line(&format!("binop at = {at} & {}", READ_ONLY - 1));
        self.line(&format!("load {dest} = at"));
    }

    fn store(&mut self) {
        let (value, at) = (self.operand(), self.operand());
        self.line(&format!("binop at = {at} & {}", MEMORY - READ_ONLY - 1));
        self.line(&format!("binop at = at + {READ_ONLY}"));
        self.line(&format!("store at = {value}"));
    }

    /// Sets `p` to a value that is sometimes zero.
    fn condition(&mut self) {
        let a = match self.rng.u8(0..4) {
            0 => "Tid".to_owned(),
            1 => "n".to_owned(),
            _ => self.variable().to_owned(),
        };
        let n = self.rng.u8(1..5);
        match self.rng.u8(0..3) {
            0 => self.line(&format!("binop p = {a} & {n}")),
            1 => self.line(&format!("binop p = {a} % {}", n + 1)),
            _ => self.line(&format!("binop p = {a} < {n}")),
        }
    }

    /// Sets `p` to a value that depends on memory and the thread and is often zero.
    fn loaded_condition(&mut self) {
        let turn = self.operand();
        self.line(&format!("binop at = {turn} + Tid"));
        self.line(&format!("binop at = at & {}", READ_ONLY - 1));
        self.line("load p = at");
        let of = self.rng.u8(2..5);
        self.line(&format!("binop p = p % {of}"));
    }

    fn branch(&mut self, depth: usize) {
        let (other, meet) = (self.new_label(), self.new_label());
        let op = ["bz", "bnz"][self.rng.usize(..2)];
        self.condition();
        if self.rng.bool() {
            self.line(&format!("{op} p, {other}"));
            self.body(depth + 1, false);
            self.line(&format!("jump {meet}"));
            self.label(&other);
            self.body(depth + 1, false);
        } else {
            self.line(&format!("{op} p, {meet}"));
            self.body(depth + 1, false);
        }
        self.label(&meet);
        self.line("sync");
    }

    /// Emits a loop whose iteration count follows from the launch and the thread, in some cases with an early exit.
    fn counted_loop(&mut self, depth: usize, together: bool) {
        self.counters += 1;
        let (i, limit) = (format!("i{}", self.counters), format!("t{}", self.counters));
        let (head, done) = (self.new_label(), self.new_label());
        let step = self.rng.u8(1..4);
        let uniform = self.rng.bool();
        let most = u64::from(self.most) + 4;
        if uniform {
            let (n, k) = (["n", "m"][self.rng.usize(..2)], self.rng.u8(0..3));
            self.line(&format!("binop {limit} = {n} + {k}"));
        } else {
            // At most n + 3 iterations for any thread.
            self.line("binop q = Tid & 3");
            self.line(&format!("binop {limit} = n + q"));
        }
        let is_convergent = together && uniform;
        match self.rng.u8(0..4) {
            // A loop that tests at its end and runs at least once.
            0 => {
                self.line(&format!("const {i} = 0"));
                self.label(&head);
                self.body(depth + 1, is_convergent);
                self.line(&format!("binop {i} = {i} + {step}"));
                self.line(&format!("binop p = {i} < {limit}"));
                self.line(&format!("bnz p, {head}"));
                self.line("sync");
                self.facts.push((head, most));
            }
            1 => {
                self.line(&format!("const {i} = {limit}"));
                self.label(&head);
                self.line(&format!("binop p = {i} > 0"));
                self.line(&format!("bz p, {done}"));
                self.body(depth + 1, is_convergent);
                self.line(&format!("binop {i} = {i} - {step}"));
                self.line(&format!("jump {head}"));
                self.label(&done);
                self.line("sync");
                self.facts.push((head, most + 1));
            }
            kind => {
                self.line(&format!("const {i} = 0"));
                self.label(&head);
                self.line(&format!("binop p = {i} < {limit}"));
                self.line(&format!("bz p, {done}"));
                let breaks = kind == 2 && self.rng.bool();
                self.body(depth + 1, is_convergent && !breaks);
                if breaks {
                    self.condition();
                    self.line(&format!("bnz p, {done}"));
                    self.body(depth + 1, false);
                }
                self.line(&format!("binop {i} = {i} + {step}"));
                self.line(&format!("jump {head}"));
                self.label(&done);
                self.line("sync");
                self.facts.push((head, most + 1));
            }
        }
    }

    /// Emits an if/else whose lanes reconverge at the header of a counted loop, which data may end: lanes reach the
    /// loop in parts, and become active in it. One of three such loops has a second entry: the lanes of one side enter
    /// it before the reconvergence point.
    fn loop_at_reconvergence_point(&mut self, depth: usize) {
        self.counters += 1;
        let i = format!("i{}", self.counters);
        let (other, head, done) = (self.new_label(), self.new_label(), self.new_label());
        self.line(&format!("const {i} = 0"));
        self.condition();
        self.line(&format!("bz p, {other}"));
        self.body(depth + 1, false);
        if self.rng.bool() {
            // A third part, whose branch has the same reconvergence point.
            self.condition();
            self.line(&format!("bnz p, {head}"));
            self.body(depth + 1, false);
        }
        let two_ways = self.rng.u8(0..3) == 0;
        let back = if two_ways {
            self.new_label()
        } else {
            head.clone()
        };
        self.line(&format!("jump {back}"));
        self.label(&other);
        self.body(depth + 1, false);
        if two_ways {
            self.line(&format!("jump {head}"));
            self.label(&back);
            self.load();
        }
        self.label(&head);
        self.line("sync");
        // Lanes diverge in the loop.
        let (odd, join) = (self.new_label(), self.new_label());
        self.loaded_condition();
        self.line(&format!("bz p, {odd}"));
        self.load();
        self.body(depth + 1, false);
        self.line(&format!("jump {join}"));
        self.label(&odd);
        self.load();
        self.body(depth + 1, false);
        self.label(&join);
        self.line("sync");
        if self.rng.u8(0..4) > 0 {
            self.loaded_condition();
            self.line(&format!("bnz p, {done}"));
        }
        self.line(&format!("binop {i} = {i} + 1"));
        let limit = ["n", "m", "4"][self.rng.usize(..3)];
        self.line(&format!("binop p = {i} < {limit}"));
        self.line(&format!("bnz p, {back}"));
        self.label(&done);
        self.line("sync");
        let most = u64::from(self.most.max(4));
        self.facts.push(match two_ways {
            true => (format!("{back} {head}"), 2 * most),
            false => (head, most),
        });
    }

    /// Emits a loop whose iteration count is loaded from memory.
    fn data_loop(&mut self, depth: usize) {
        self.counters += 1;
        let i = format!("i{}", self.counters);
        let (head, done) = (self.new_label(), self.new_label());
        let most = self.rng.u8(2..8);
        let at = self.operand();
        self.line(&format!("binop at = {at} & {}", READ_ONLY - 1));
        self.line(&format!("load {i} = at"));
        self.line(&format!("binop {i} = {i} & 255"));
        self.line(&format!("binop {i} = {i} % {most}"));
        self.label(&head);
        self.line(&format!("bz {i}, {done}"));
        self.body(depth + 1, false);
        self.line(&format!("binop {i} = {i} - 1"));
        self.line(&format!("jump {head}"));
        self.label(&done);
        self.line("sync");
        self.facts.push((head, u64::from(most)));
    }
}
