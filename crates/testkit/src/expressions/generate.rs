//! Random expressions, and kernels that compute many of them. The same seed gives the same kernel.

use super::rows::{OperatorRow, rows};
use super::value::Type;

/// Device functions of the kernels, around PTX instructions.
const PRELUDE: &str = r#"static __device__ float float_of_half(unsigned x) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((unsigned short)x));
    return f;
}
static __device__ float half_of(float x) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return float_of_half(h);
}
static __device__ float half_sum(unsigned a, unsigned b) {
    unsigned short h;
    asm("add.f16 %0, %1, %2;" : "=h"(h) : "h"((unsigned short)a), "h"((unsigned short)b));
    return float_of_half(h);
}
static __device__ float half_product(unsigned a, unsigned b) {
    unsigned short h;
    asm("{ .reg .f16 z; mov.b16 z, 0x8000U; fma.rn.f16 %0, %1, %2, z; }"
        : "=h"(h) : "h"((unsigned short)a), "h"((unsigned short)b));
    return float_of_half(h);
}
static __device__ unsigned permuted(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
"#;

/// Number of variables of each type.
pub(super) const VARIABLES: usize = 3;

/// Maximum depth of an expression, in operators and functions.
const DEPTH: usize = 5;

/// Expression of CUDA C.
pub enum Expression {
    /// Variable of a type, by number.
    Variable(Type, usize),
    /// Constant of a type, as bits.
    Constant(Type, u64),
    /// Operator or function, applied to operands.
    Apply(&'static OperatorRow, Vec<Expression>),
}

impl Expression {
    /// Type of the result.
    pub fn result(&self) -> Type {
        match self {
            Expression::Variable(of, _) | Expression::Constant(of, _) => *of,
            Expression::Apply(row, _) => row.result,
        }
    }

    /// Maximum error of the result in units of the last place.
    pub fn ulps(&self) -> u32 {
        match self {
            Expression::Apply(row, _) => row.ulps,
            _ => 0,
        }
    }

    /// Returns the value as bits. `variable` returns the bits of a variable.
    pub fn value(&self, variable: &impl Fn(Type, usize) -> u64) -> u64 {
        match self {
            Expression::Variable(of, number) => variable(*of, *number),
            Expression::Constant(_, bits) => *bits,
            Expression::Apply(row, operands) => {
                let operands: Vec<u64> = operands.iter().map(|o| o.value(variable)).collect();
                (row.value)(&operands)
            }
        }
    }

    /// Returns the expression as CUDA C.
    pub fn text(&self) -> String {
        match self {
            Expression::Variable(of, number) => format!("{}{number}", of.name_and_letter().1),
            Expression::Constant(of, bits) => of.constant(*bits),
            Expression::Apply(row, operands) => {
                let mut parts = row.template.split('$');
                let mut text = parts.next().unwrap_or_default().to_owned();
                for part in parts {
                    let (digit, rest) = part.split_at(1.min(part.len()));
                    let operand = digit.parse().ok().and_then(|n: usize| operands.get(n));
                    text.push_str(&operand.map(Expression::text).unwrap_or_default());
                    text.push_str(rest);
                }
                format!("({text})")
            }
        }
    }
}

/// Expressions of one kernel.
pub struct Batch {
    /// Seed of the random generator.
    pub seed: u64,
    /// The expressions.
    pub expressions: Vec<Expression>,
}

impl Batch {
    /// Generates `count` random expressions.
    pub fn new(seed: u64, count: usize) -> Batch {
        let mut random = SplitMix(seed);
        let expressions = (0..count).map(|_| {
            let of = random.choose(&Type::ALL);
            random.draw_expression(of, DEPTH, true)
        });
        Batch {
            seed,
            expressions: expressions.collect(),
        }
    }

    /// Returns the source of a kernel `expressions` that computes each expression from arrays of variables.
    pub fn source(&self) -> String {
        let mut text = format!(
            "// {} random expressions of seed {}; `cargo xtask expressions` writes such files.\n",
            self.expressions.len(),
            self.seed
        );
        text.push_str(PRELUDE);
        text.push_str("extern \"C\" __global__ void expressions(");
        for of in Type::ALL {
            let (name, letter) = of.name_and_letter();
            text.push_str(&format!("const {name}* {letter}, "));
        }
        text.push_str("unsigned long long* out, int n) {\n");
        text.push_str(
            "    int t = blockIdx.x * blockDim.x + threadIdx.x;\n    if (t >= n) return;\n",
        );
        for of in Type::ALL {
            let (name, letter) = of.name_and_letter();
            for number in 0..VARIABLES {
                text.push_str(&format!(
                    "    {name} {letter}{number} = {letter}[{number} * n + t];\n"
                ));
            }
        }
        for (number, expression) in self.expressions.iter().enumerate() {
            let bits = expression.result().bits_expression(&expression.text());
            text.push_str(&format!("    out[{number} * n + t] = {bits};\n"));
        }
        text.push_str("}\n");
        text
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014), kept here so that seeds give the same numbers with any version of a library.
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(super) fn draw_below(&mut self, limit: usize) -> usize {
        (self.bits() % limit.max(1) as u64) as usize
    }

    fn choose<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.draw_below(list.len())]
    }

    fn draw_expression(&mut self, of: Type, depth: usize, is_root: bool) -> Expression {
        let stops = if is_root { 0 } else { 2 };
        if depth == 0 || self.draw_below(10) < stops {
            return match self.draw_below(5) {
                0 => Expression::Constant(of, self.constant(of)),
                _ => Expression::Variable(of, self.draw_below(VARIABLES)),
            };
        }
        let all: Vec<&'static OperatorRow> = rows()
            .filter(|row| row.result == of && (is_root || row.ulps == 0))
            .collect();
        let row = self.choose(&all);
        let operands = row
            .operands
            .iter()
            .map(|&operand| match row.takes_variables_only {
                true => Expression::Variable(operand, self.draw_below(VARIABLES)),
                false => self.draw_expression(operand, depth - 1, false),
            });
        Expression::Apply(row, operands.collect())
    }

    /// Draws a constant that CUDA C can write.
    fn constant(&mut self, of: Type) -> u64 {
        let small = self.draw_below(200) as i64 - 100;
        match of {
            Type::I32 | Type::U32 => match self.draw_below(3) {
                0 => u64::from(self.bits() as u32),
                _ => u64::from(small as u32),
            },
            Type::I64 | Type::U64 => match self.draw_below(3) {
                0 => self.bits(),
                _ => small as u64,
            },
            Type::F32 => {
                let power = self.draw_below(60) as i32 - 30;
                u64::from((small as f32 * 1.1 * 2f32.powi(power)).to_bits())
            }
            Type::F64 => {
                let power = self.draw_below(200) as i32 - 100;
                (small as f64 * 1.1 * 2f64.powi(power)).to_bits()
            }
        }
    }

    /// Draws the bits of a variable: uniform, small, or an edge case.
    pub(super) fn variable(&mut self, of: Type) -> u64 {
        let any = self.bits();
        match of {
            Type::I32 | Type::U32 => match self.draw_below(4) {
                0 => self.choose(&EDGES_32),
                1 => u64::from((any as u32) >> self.draw_below(32)),
                _ => u64::from(any as u32),
            },
            Type::I64 | Type::U64 => match self.draw_below(5) {
                0 => self.choose(&EDGES_64),
                1 | 2 => any >> self.draw_below(64),
                _ => any,
            },
            Type::F32 => match self.draw_below(8) {
                0 => u64::from(any as u32),
                1 => u64::from(self.choose(&EDGES_F32) | (any as u32) & 1 << 31),
                2 => u64::from(((any % 2000) as f32 / 4.0 - 250.0).to_bits()),
                _ => {
                    let exponent = 127 + self.draw_exponent(-20, 30);
                    u64::from((any as u32) & 0x807f_ffff | (exponent as u32) << 23)
                }
            },
            Type::F64 => match self.draw_below(8) {
                0 => any,
                1 => self.choose(&EDGES_F64) | any & 1 << 63,
                2 => ((any % 2000) as f64 / 4.0 - 250.0).to_bits(),
                _ => {
                    let exponent = 1023 + self.draw_exponent(-40, 60);
                    any & 0x800f_ffff_ffff_ffff | (exponent as u64) << 52
                }
            },
        }
    }

    fn draw_exponent(&mut self, low: i32, high: i32) -> i32 {
        low + self.draw_below((high - low) as usize) as i32
    }
}

/// Edge cases of 32-bit integers.
const EDGES_32: [u64; 11] = [
    0,
    1,
    2,
    31,
    32,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0xffff,
    0x10000,
];

/// Edge cases of 64-bit integers.
const EDGES_64: [u64; 7] = [
    0,
    1,
    u64::MAX,
    1 << 63,
    i64::MAX as u64,
    1 << 32,
    0xffff_ffff,
];

/// Edge cases of singles without sign, as bits: zero, limits of the subnormal and normal numbers, 1 and its
/// predecessor, powers of two at which conversions change, infinity, NaN, 1/2.
const EDGES_F32: [u32; 12] = [
    0,
    1,
    0x7f_ffff,
    0x80_0000,
    0x3f80_0000,
    0x3f7f_ffff,
    0x4b00_0000,
    0x4f00_0000,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7fc0_0000,
    0x3f00_0000,
];

/// Edge cases of doubles without sign, as bits.
const EDGES_F64: [u64; 9] = [
    0,
    1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0x41e0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
];
