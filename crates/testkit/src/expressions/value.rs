//! Types of CUDA C expressions, and their values as bit patterns.

/// Type of an expression.
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

    /// Returns the type's name, and the letter that names variables and arrays of it.
    pub fn name_and_letter(self) -> (&'static str, char) {
        match self {
            Type::I32 => ("int", 'i'),
            Type::U32 => ("unsigned", 'u'),
            Type::I64 => ("long long", 'l'),
            Type::U64 => ("unsigned long long", 'w'),
            Type::F32 => ("float", 'f'),
            Type::F64 => ("double", 'd'),
        }
    }

    /// Returns a constant of the type as CUDA C.
    pub fn constant(self, bits: u64) -> String {
        match self {
            Type::I32 if bits as i32 == i32::MIN => "(-2147483647 - 1)".to_owned(),
            Type::I32 => format!("({})", bits as i32),
            Type::U32 => format!("{}u", bits as u32),
            Type::I64 if bits as i64 == i64::MIN => "(-9223372036854775807ll - 1ll)".to_owned(),
            Type::I64 => format!("({}ll)", bits as i64),
            Type::U64 => format!("{bits}ull"),
            // The shortest digits that are read back as the same number.
            Type::F32 => format!("({:e}f)", f32::from_bits(bits as u32)),
            Type::F64 => format!("({:e})", f64::from_bits(bits)),
        }
    }

    /// Returns a CUDA C expression for the bits of `text`, an expression of this type.
    pub fn bits_expression(self, text: &str) -> String {
        match self {
            Type::I32 | Type::U32 => format!("(unsigned long long)(unsigned)({text})"),
            Type::I64 | Type::U64 => format!("(unsigned long long)({text})"),
            Type::F32 => format!("(unsigned long long)__float_as_uint({text})"),
            Type::F64 => format!("(unsigned long long)__double_as_longlong({text})"),
        }
    }

    /// Size of a value in bytes.
    pub fn size(self) -> usize {
        match self {
            Type::I32 | Type::U32 | Type::F32 => 4,
            Type::I64 | Type::U64 | Type::F64 => 8,
        }
    }

    /// Whether the bits encode a NaN.
    pub fn is_nan(self, bits: u64) -> bool {
        match self {
            Type::F32 => f32::from_bits(bits as u32).is_nan(),
            Type::F64 => f64::from_bits(bits).is_nan(),
            _ => false,
        }
    }
}

/// Rust type that corresponds to a [`Type`].
pub trait NativeNumber: Copy {
    /// The type in CUDA C.
    const TYPE: Type;

    /// Returns the number with these bits; bits above the type's size are ignored.
    fn from_bits(bits: u64) -> Self;

    /// Returns the bits, zero-extended.
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($number:ident $unsigned:ident $name:ident,)*) => {
        $(impl NativeNumber for $number {
            const TYPE: Type = Type::$name;

            fn from_bits(bits: u64) -> Self {
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

    fn from_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl NativeNumber for f64 {
    const TYPE: Type = Type::F64;

    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }
}
