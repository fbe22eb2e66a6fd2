use warpbound_launch::{
    AddressMode, ElementType, Expected, ImageBinding, LaunchBuffer, LaunchFile, LaunchParam,
    LaunchPointer, LaunchVariable, ParamValue, PointerLocation, StartCaches, TexelBuffer,
    TexelLayout, TextureBinding,
};

/// Element type of buffers.
pub trait LaunchNumber: Copy {
    /// The element type in launch files.
    const ELEMENT: ElementType;

    /// Returns the bytes, lowest first.
    fn bytes(self) -> Vec<u8>;

    /// Returns the number with these bytes, lowest first; missing bytes are 0.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($number:ty: $element:ident,)*) => {
        $(impl LaunchNumber for $number {
            const ELEMENT: ElementType = ElementType::$element;

            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }

            fn from_bytes(bytes: &[u8]) -> $number {
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

/// Builder of a launch; parameters are added in the order of the kernel's.
pub struct TestLaunch(LaunchFile);

impl TestLaunch {
    /// Starts a launch without parameters.
    pub fn of(kernel: &str, grid: [u32; 3], block: [u32; 3]) -> TestLaunch {
        TestLaunch(LaunchFile {
            file: "launch".to_owned(),
            kernel: Some(kernel.to_owned()),
            grid,
            block,
            dynamic_shared: 0,
            stack: None,
            caches: StartCaches::Cold,
            variables: Vec::new(),
            params: Vec::new(),
            texels: Vec::new(),
            textures: Vec::new(),
            surfaces: Vec::new(),
            pointers: Vec::new(),
        })
    }

    /// Sets the dynamic shared memory, in bytes.
    #[must_use]
    pub fn dynamic_shared(mut self, bytes: u32) -> TestLaunch {
        self.0.dynamic_shared = bytes;
        self
    }

    /// Sets the local memory of a thread, in bytes, in place of the size in the cubin.
    #[must_use]
    pub fn stack(mut self, bytes: u32) -> TestLaunch {
        self.0.stack = Some(bytes);
        self
    }

    /// Adds a scalar parameter.
    #[must_use]
    pub fn value<N: LaunchNumber>(self, name: &str, value: N) -> TestLaunch {
        let value = ParamValue::Scalar {
            element: Some(N::ELEMENT),
            bytes: value.bytes(),
            vary: None,
        };
        self.param(name, value)
    }

    /// Adds a buffer that is only read: its contents must not change.
    #[must_use]
    pub fn input<N: LaunchNumber>(self, name: &str, start: &[N]) -> TestLaunch {
        self.buffer(name, start, Some((start, 0.0, 0.0)))
    }

    /// Adds a buffer with its exact final contents.
    #[must_use]
    pub fn output<N: LaunchNumber>(self, name: &str, start: &[N], end: &[N]) -> TestLaunch {
        self.buffer(name, start, Some((end, 0.0, 0.0)))
    }

    /// Adds a buffer of floats with its final contents, up to a relative and an absolute error.
    #[must_use]
    pub fn output_within<N: LaunchNumber>(
        self,
        name: &str,
        start: &[N],
        end: &[N],
        relative: f64,
        absolute: f64,
    ) -> TestLaunch {
        self.buffer(name, start, Some((end, relative, absolute)))
    }

    /// Adds a buffer whose final contents are not compared.
    #[must_use]
    pub fn scratch<N: LaunchNumber>(self, name: &str, start: &[N]) -> TestLaunch {
        self.buffer(name, start, None)
    }

    /// Sets a module variable from its first element on; `end` are its final contents, if they are compared.
    #[must_use]
    pub fn variable<N: LaunchNumber>(
        mut self,
        name: &str,
        start: &[N],
        end: Option<&[N]>,
    ) -> TestLaunch {
        self.0.variables.push(LaunchVariable {
            name: name.to_owned(),
            buffer: contents(name, start, end.map(|end| (end, 0.0, 0.0))),
        });
        self
    }

    /// Adds a texture object, with its texels in a buffer of their own that must not change. `set` changes the sampling
    /// state, which by default is one channel, point filtering, unnormalised coordinates and clamping.
    ///
    /// # Panics
    ///
    /// There are fewer texels than the sizes require.
    #[must_use]
    pub fn texture<N: LaunchNumber>(
        self,
        name: &str,
        kind: TexelLayout,
        sizes: &[u32],
        texels: &[N],
        set: impl FnOnce(&mut TextureBinding),
    ) -> TestLaunch {
        let (launch, number) = self.add_texture(name, kind, sizes, texels, set);
        launch.param(name, ParamValue::Texture(number))
    }

    /// Adds a texture that is bound to the texture reference of its name; otherwise as [`TestLaunch::texture`].
    #[must_use]
    pub fn bound_texture<N: LaunchNumber>(
        self,
        name: &str,
        kind: TexelLayout,
        sizes: &[u32],
        texels: &[N],
        set: impl FnOnce(&mut TextureBinding),
    ) -> TestLaunch {
        self.add_texture(name, kind, sizes, texels, set).0
    }

    fn add_texture<N: LaunchNumber>(
        self,
        name: &str,
        kind: TexelLayout,
        sizes: &[u32],
        texels: &[N],
        set: impl FnOnce(&mut TextureBinding),
    ) -> (TestLaunch, usize) {
        let (mut launch, image) = self.image(name, kind, sizes, texels, texels);
        let mut texture = TextureBinding {
            image,
            linear_memory: false,
            normalized_read: false,
            linear_filter: false,
            address: [AddressMode::Clamp; 3],
            normalized_coordinates: false,
        };
        set(&mut texture);
        let number = launch.0.textures.len();
        launch.0.textures.push(texture);
        (launch, number)
    }

    /// Adds a surface object with its initial and exact final contents; the channels of a texel are adjacent.
    ///
    /// # Panics
    ///
    /// There are fewer texels than the sizes require.
    #[must_use]
    pub fn surface<N: LaunchNumber>(
        self,
        name: &str,
        kind: TexelLayout,
        sizes: &[u32],
        channels: u8,
        start: &[N],
        end: &[N],
    ) -> TestLaunch {
        let launch = self.bound_surface(name, kind, sizes, channels, start, end);
        let number = launch.0.surfaces.len() - 1;
        launch.param(name, ParamValue::Surface(number))
    }

    /// Adds a surface that is bound to the surface reference of its name; otherwise as [`TestLaunch::surface`].
    #[must_use]
    pub fn bound_surface<N: LaunchNumber>(
        self,
        name: &str,
        kind: TexelLayout,
        sizes: &[u32],
        channels: u8,
        start: &[N],
        end: &[N],
    ) -> TestLaunch {
        let (mut launch, mut image) = self.image(name, kind, sizes, start, end);
        image.channels = channels;
        launch.0.surfaces.push(image);
        launch
    }

    /// Adds a buffer that is not a parameter and must not change. No buffer parameter and no image may be added after
    /// it.
    #[must_use]
    pub fn extra_buffer<N: LaunchNumber>(mut self, name: &str, start: &[N]) -> TestLaunch {
        self.0.texels.push(TexelBuffer {
            name: name.to_owned(),
            buffer: contents(name, start, Some((start, 0.0, 0.0))),
        });
        self
    }

    /// Adds a structure that is passed by value, as bytes.
    #[must_use]
    pub fn structure(self, name: &str, bytes: Vec<u8>) -> TestLaunch {
        let value = ParamValue::Scalar {
            element: None,
            bytes,
            vary: None,
        };
        self.param(name, value)
    }

    /// Writes the address of byte `to_offset` of a buffer to byte `offset` of a buffer, structure or variable that was
    /// added before. No image may be added after it.
    ///
    /// # Panics
    ///
    /// No object or buffer has the name.
    #[must_use]
    pub fn pointer(mut self, holder: &str, offset: u64, to: &str, to_offset: u64) -> TestLaunch {
        let buffer = |name: &str| self.0.buffers().position(|(other, _)| other == name);
        let params = || self.0.params.iter().position(|param| param.name == holder);
        let mut variables = self.0.variables.iter();
        let holder = buffer(holder)
            .map(PointerLocation::Buffer)
            .or_else(|| params().map(PointerLocation::Param))
            .or_else(|| {
                let number = variables.position(|variable| variable.name == holder);
                number.map(PointerLocation::Variable)
            });
        self.0.pointers.push(LaunchPointer {
            location: holder.expect("something has this name"),
            offset,
            buffer: buffer(to).expect("a buffer has this name"),
            to_offset,
            count: 1,
            step: 8,
            to_step: 0,
        });
        self
    }

    fn image<N: LaunchNumber>(
        mut self,
        name: &str,
        kind: TexelLayout,
        sizes: &[u32],
        start: &[N],
        end: &[N],
    ) -> (TestLaunch, ImageBinding) {
        let all: u32 = sizes.iter().product();
        assert!(start.len() >= all as usize, "{name} has too few texels");
        let (axes, layers) = match (kind, sizes) {
            (TexelLayout::Layered1 | TexelLayout::Layered2, [axes @ .., layers]) => (axes, *layers),
            _ => (sizes, 1),
        };
        let mut size = [1; 3];
        size[..axes.len()].copy_from_slice(axes);
        // Index among the texel buffers; `done` adds the number of parameter buffers.
        let buffer = self.0.texels.len();
        self.0.texels.push(TexelBuffer {
            name: format!("{name}_texels"),
            buffer: contents(name, start, Some((end, 0.0, 0.0))),
        });
        let image = ImageBinding {
            name: name.to_owned(),
            buffer,
            kind,
            size,
            layers,
            channels: 1,
        };
        (self, image)
    }

    /// Returns the finished launch.
    pub fn finish(mut self) -> LaunchFile {
        // Until here, buffers of images are counted among texel buffers only; parameter buffers precede them.
        let params = self.0.params.iter();
        let before = params
            .filter(|param| matches!(param.value, ParamValue::Buffer(_)))
            .count();
        let textures = self.0.textures.iter_mut().map(|texture| &mut texture.image);
        for image in textures.chain(&mut self.0.surfaces) {
            image.buffer += before;
        }
        self.0
    }

    fn buffer<N: LaunchNumber>(
        self,
        name: &str,
        start: &[N],
        end: Option<(&[N], f64, f64)>,
    ) -> TestLaunch {
        self.param(name, ParamValue::Buffer(contents(name, start, end)))
    }

    fn param(mut self, name: &str, value: ParamValue) -> TestLaunch {
        self.0.params.push(LaunchParam {
            name: name.to_owned(),
            value,
        });
        self
    }
}

fn contents<N: LaunchNumber>(
    name: &str,
    start: &[N],
    end: Option<(&[N], f64, f64)>,
) -> LaunchBuffer {
    let bytes = |numbers: &[N]| numbers.iter().flat_map(|n| n.bytes()).collect::<Vec<u8>>();
    let expect = end.map(|(end, relative, absolute)| {
        assert_eq!(start.len(), end.len(), "{name} changes its size");
        Expected {
            bytes: bytes(end),
            relative,
            absolute,
        }
    });
    LaunchBuffer {
        element: N::ELEMENT,
        shape: vec![start.len() as u64],
        bytes: bytes(start),
        expect,
        output: None,
        range: None,
    }
}
