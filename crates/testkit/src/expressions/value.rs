//! The types of CUDA C that expressions have, and numbers of them as bits.

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Type {
    /// `int`
    I32,
    /// `unsigned`
    U32,
    /// `long long`
    I64,
    /// `unsigned long long`
    U64,
    /// `float`
    F32,
    /// `double`
    F64,
}

impl Type {
    /// All types.
    pub const ALL: [Type; 6] = [
        Type::I32,
        Type::U32,
        Type::I64,
        Type::U64,
        Type::F32,
        Type::F64,
    ];

    /// Its name, and the letter of variables and arrays of it.
    pub fn spelled(self) -> (&'static str, char) {
        match self {
            Type::I32 => ("int", 'i'),
            Type::U32 => ("unsigned", 'u'),
            Type::I64 => ("long long", 'l'),
            Type::U64 => ("unsigned long long", 'w'),
            Type::F32 => ("float", 'f'),
            Type::F64 => ("double", 'd'),
        }
    }

    /// A constant of the type.
    pub fn constant(self, bits: u64) -> String {
        match self {
            Type::I32 if bits as i32 == i32::MIN => "(-2147483647 - 1)".to_owned(),
            Type::I32 => format!("({})", bits as i32),
            Type::U32 => format!("{}u", bits as u32),
            Type::I64 if bits as i64 == i64::MIN => "(-9223372036854775807ll - 1ll)".to_owned(),
            Type::I64 => format!("({}ll)", bits as i64),
            Type::U64 => format!("{bits}ull"),
            // Digits enough that they are read as the same number.
            Type::F32 => format!("({:e}f)", f32::from_bits(bits as u32)),
            Type::F64 => format!("({:e})", f64::from_bits(bits)),
        }
    }

    /// An expression of the type as its bits.
    pub fn bits_of(self, text: &str) -> String {
        match self {
            Type::I32 | Type::U32 => format!("(unsigned long long)(unsigned)({text})"),
            Type::I64 | Type::U64 => format!("(unsigned long long)({text})"),
            Type::F32 => format!("(unsigned long long)__float_as_uint({text})"),
            Type::F64 => format!("(unsigned long long)__double_as_longlong({text})"),
        }
    }

    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Type::I32 | Type::U32 | Type::F32 => 4,
            Type::I64 | Type::U64 | Type::F64 => 8,
        }
    }

    /// Whether the bits are a NaN.
    pub fn is_nan(self, bits: u64) -> bool {
        match self {
            Type::F32 => f32::from_bits(bits as u32).is_nan(),
            Type::F64 => f64::from_bits(bits).is_nan(),
            _ => false,
        }
    }
}

/// A Rust type of numbers.
pub trait NativeNumber: Copy {
    /// Its type in CUDA C.
    const TYPE: Type;

    /// From bits; those above the type do not matter.
    fn of(bits: u64) -> Self;

    /// Its bits, zeros above them.
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($number:ident $unsigned:ident $name:ident,)*) => {
        $(impl Number for $number {
            const TYPE: Type = Type::$name;

            fn of(bits: u64) -> Self {
                bits as $number
            }

            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
        })*
    };
}

integers! { i32 u32 I32, u32 u32 U32, i64 u64 I64, u64 u64 U64, }

impl NativeNumber for f32 {
    const TYPE: Type = Type::F32;

    fn of(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl NativeNumber for f64 {
    const TYPE: Type = Type::F64;

    fn of(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }
}
