use warpbound_load::{
    Element, Expected, GridBuffer, GridFile, GridParam, GridVariable, ParamValue,
};

/// A number that buffers hold.
pub trait Number: Copy {
    /// Its type.
    const ELEMENT: Element;

    /// Its bytes, the lowest first.
    fn bytes(self) -> Vec<u8>;

    /// The number of these bytes, the lowest first; bytes that are missing are 0.
    fn of_bytes(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($number:ty: $element:ident,)*) => {
        $(impl Number for $number {
            const ELEMENT: Element = Element::$element;

            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }

            fn of_bytes(bytes: &[u8]) -> $number {
                let mut array = [0; size_of::<$number>()];
                for (to, from) in array.iter_mut().zip(bytes) {
                    *to = *from;
                }
                <$number>::from_le_bytes(array)
            }
        })*
    };
}

numbers! {
    u8: U8, i8: S8, u16: U16, i16: S16, u32: U32, i32: S32, u64: U64, i64: S64, f32: F32, f64: F64,
}

/// A launch being written: its parameters in the order of the kernel's.
pub struct Launch(GridFile);

impl Launch {
    /// A launch without parameters.
    pub fn of(kernel: &str, grid: [u32; 3], block: [u32; 3]) -> Launch {
        Launch(GridFile {
            file: "launch".to_owned(),
            kernel: Some(kernel.to_owned()),
            grid,
            block,
            dynamic_shared: 0,
            variables: Vec::new(),
            params: Vec::new(),
        })
    }

    /// Bytes of shared memory that the launch adds.
    #[must_use]
    pub fn dynamic_shared(mut self, bytes: u32) -> Launch {
        self.0.dynamic_shared = bytes;
        self
    }

    /// A number.
    #[must_use]
    pub fn value<N: Number>(self, name: &str, value: N) -> Launch {
        let value = ParamValue::Scalar {
            element: Some(N::ELEMENT),
            bytes: value.bytes(),
            vary: None,
        };
        self.param(name, value)
    }

    /// A buffer that is only read: it holds the same at the end.
    #[must_use]
    pub fn input<N: Number>(self, name: &str, start: &[N]) -> Launch {
        self.buffer(name, start, Some((start, 0.0, 0.0)))
    }

    /// A buffer that holds exactly this at the end.
    #[must_use]
    pub fn output<N: Number>(self, name: &str, start: &[N], end: &[N]) -> Launch {
        self.buffer(name, start, Some((end, 0.0, 0.0)))
    }

    /// A buffer of floats that holds about this at the end.
    #[must_use]
    pub fn near<N: Number>(
        self,
        name: &str,
        start: &[N],
        end: &[N],
        relative: f64,
        absolute: f64,
    ) -> Launch {
        self.buffer(name, start, Some((end, relative, absolute)))
    }

    /// A buffer of which nothing is said.
    #[must_use]
    pub fn scratch<N: Number>(self, name: &str, start: &[N]) -> Launch {
        self.buffer(name, start, None)
    }

    /// A variable of the module, from its first element on, and what it holds at the end, if that is said.
    #[must_use]
    pub fn variable<N: Number>(mut self, name: &str, start: &[N], end: Option<&[N]>) -> Launch {
        self.0.variables.push(GridVariable {
            name: name.to_owned(),
            buffer: grid_buffer(name, start, end.map(|end| (end, 0.0, 0.0))),
        });
        self
    }

    /// The launch.
    pub fn done(self) -> GridFile {
        self.0
    }

    fn buffer<N: Number>(self, name: &str, start: &[N], end: Option<(&[N], f64, f64)>) -> Launch {
        self.param(name, ParamValue::Buffer(grid_buffer(name, start, end)))
    }

    fn param(mut self, name: &str, value: ParamValue) -> Launch {
        self.0.params.push(GridParam {
            name: name.to_owned(),
            value,
        });
        self
    }
}

fn grid_buffer<N: Number>(name: &str, start: &[N], end: Option<(&[N], f64, f64)>) -> GridBuffer {
    let bytes = |numbers: &[N]| numbers.iter().flat_map(|n| n.bytes()).collect::<Vec<u8>>();
    let expect = end.map(|(end, relative, absolute)| {
        assert_eq!(start.len(), end.len(), "{name} changes its size");
        Expected {
            bytes: bytes(end),
            relative,
            absolute,
        }
    });
    GridBuffer {
        element: N::ELEMENT,
        shape: vec![start.len() as u64],
        bytes: bytes(start),
        expect,
        output: None,
    }
}
