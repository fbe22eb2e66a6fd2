//! Variations of a launch: random buffer contents, varied scalars, and the order of diverged lanes.
//!
//! For example, a variation may permute one buffer, fill another one with zeros, and let the lanes that fall through
//! continue first. The grid, the blocks and the sizes of buffers stay as they are, and so do scalars that the file
//! does not allow to vary.

use fastrand::Rng;
use warpbound_launch::PathOrder;
use warpbound_launch::{DataRange, ElementType, LaunchBuffer, LaunchFile, ParamValue};

/// Contents of a buffer.
#[derive(Clone, Copy, Debug)]
enum Contents {
    Given,
    /// Permutation of the given elements: valid indices stay valid.
    Shuffled,
    Zeros,
    /// The same small number in all elements.
    Equal,
    /// Numbers from 0 to 7.
    Small,
    /// Ascending numbers up to the length of the buffer, at most 100.
    Sorted,
    /// Numbers at the ends of the type: zeros, extremes, infinities, NaN.
    Edges,
    /// Random bits.
    Random,
}

/// Kinds from which each buffer draws one. Kinds that keep the given elements occur twice.
const KINDS: [Contents; 10] = [
    Contents::Given,
    Contents::Given,
    Contents::Shuffled,
    Contents::Shuffled,
    Contents::Zeros,
    Contents::Equal,
    Contents::Small,
    Contents::Sorted,
    Contents::Edges,
    Contents::Random,
];

/// Variation of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Variation {
    /// The launch.
    pub launch: LaunchFile,
    /// Lanes that continue first after a divergent branch.
    pub order: PathOrder,
}

/// Returns the launch with other contents of its buffers, and with other values of the scalars that the launch file
/// allows to vary. It expects no results. Equal seeds give equal variations.
pub fn variation(given: &LaunchFile, seed: u64) -> Variation {
    let mut rng = Rng::with_seed(seed);
    let mut launch = given.clone();
    let vary = |buffer: &mut LaunchBuffer, rng: &mut Rng| {
        // The expected results belong to the given contents.
        buffer.expect = None;
        buffer.output = None;
        let kind = KINDS.get(rng.usize(..KINDS.len())).copied();
        let kind = kind.unwrap_or(Contents::Given);
        match buffer.range {
            None => fill(buffer.element, &mut buffer.bytes, kind, rng),
            // The file states that all numbers are in this range (`data-ranges`), so variations keep to it.
            Some(range) => fill_within(range, buffer.element, &mut buffer.bytes, kind, rng),
        }
    };
    for param in &mut launch.params {
        match &mut param.value {
            ParamValue::Scalar {
                bytes,
                vary: Some(vary),
                ..
            } => *bytes = vary.bytes(rng.u64(..)),
            ParamValue::Buffer(buffer) => vary(buffer, &mut rng),
            ParamValue::Scalar { .. }
            | ParamValue::Alias { .. }
            | ParamValue::Texture(_)
            | ParamValue::Surface(_) => {}
        }
    }
    for texels in &mut launch.texels {
        vary(&mut texels.buffer, &mut rng);
    }
    // The hardware may run either side of a branch first (SOUNDNESS 7), so both orders are tried.
    let order = match rng.bool() {
        true => PathOrder::TakenFirst,
        false => PathOrder::FallThroughFirst,
    };
    Variation { launch, order }
}

/// Returns the launch with floating-point buffers whose numbers are at the ends of their type: large, small and
/// subnormal ones, which make divisions and roots take their slow paths. With an even seed, every second number keeps
/// its given value. The launch expects no results. Equal seeds give equal variations.
pub fn extreme_variation(given: &LaunchFile, seed: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(seed);
    let mut launch = given.clone();
    for param in &mut launch.params {
        if let ParamValue::Buffer(buffer) = &mut param.value {
            buffer.expect = None;
            buffer.output = None;
            // Numbers in a stated range are whole, so no extreme float is among them.
            let fields = exponent_fields(buffer.element).filter(|_| buffer.range.is_none());
            if let Some(fields) = fields {
                let kept = seed.is_multiple_of(2);
                let chunks = buffer.bytes.chunks_mut(buffer.element.size());
                for (number, chunk) in chunks.enumerate() {
                    if !kept || number % 2 == 0 {
                        fill_elements(chunk, chunk.len(), || fields.extreme(&mut rng));
                    }
                }
            }
        }
    }
    launch
}

/// Fields of a floating-point format: bits of the fraction and of the exponent.
#[derive(Clone, Copy)]
struct ExponentFields {
    fraction: u32,
    exponent: u32,
}

/// Fields of the numbers of a buffer; `None` if they are no floating-point numbers.
fn exponent_fields(element: ElementType) -> Option<ExponentFields> {
    let (fraction, exponent) = match element {
        ElementType::F16 => (10, 5),
        ElementType::F32 => (23, 8),
        ElementType::F64 => (52, 11),
        _ => return None,
    };
    Some(ExponentFields { fraction, exponent })
}

impl ExponentFields {
    /// Returns a number whose exponent field is one of the two smallest, including the field of subnormal numbers, or
    /// one of the two largest of finite numbers. For example, fields of F32 are 0, 1, 253 and 254.
    fn extreme(self, rng: &mut Rng) -> u64 {
        // The largest field is reserved for infinities and NaNs.
        let most = (1u64 << self.exponent) - 2;
        let exponent = match rng.u64(..4) {
            small @ (0 | 1) => small,
            large => most - (large - 2),
        };
        let sign = u64::from(rng.bool()) << (self.exponent + self.fraction);
        sign | exponent << self.fraction | rng.u64(..1 << self.fraction)
    }
}

/// Fills a buffer with contents of a kind.
fn fill(element: ElementType, bytes: &mut [u8], contents: Contents, rng: &mut Rng) {
    let size = element.size();
    let count = (bytes.len() / size) as u64;
    match contents {
        Contents::Given => {}
        Contents::Shuffled => {
            let mut chunks: Vec<Vec<u8>> = bytes.chunks(size).map(<[u8]>::to_vec).collect();
            rng.shuffle(&mut chunks);
            for (to, from) in bytes.iter_mut().zip(chunks.concat()) {
                *to = from;
            }
        }
        Contents::Zeros => bytes.fill(0),
        Contents::Equal => {
            let number = small_number(element, rng.u64(0..8));
            fill_elements(bytes, size, || number);
        }
        Contents::Small => fill_elements(bytes, size, || small_number(element, rng.u64(0..8))),
        Contents::Sorted => {
            // At most 100, so that every element type represents the numbers exactly.
            let most = count.min(100);
            let mut numbers: Vec<u64> = (0..count).map(|_| rng.u64(0..=most)).collect();
            numbers.sort_unstable();
            let mut numbers = numbers.into_iter();
            fill_elements(bytes, size, || {
                small_number(element, numbers.next().unwrap_or(most))
            });
        }
        Contents::Edges => {
            let edges = edges(element);
            fill_elements(bytes, size, || {
                let at = rng.usize(..edges.len());
                edges.get(at).copied().unwrap_or(0)
            });
        }
        Contents::Random => fill_elements(bytes, size, || rng.u64(..)),
    }
}

/// Fills a buffer with contents of a kind whose numbers are in a range.
fn fill_within(
    range: DataRange,
    element: ElementType,
    bytes: &mut [u8],
    contents: Contents,
    rng: &mut Rng,
) {
    let size = element.size();
    let any = |rng: &mut Rng| rng.i64(range.least..=range.most);
    match contents {
        Contents::Given | Contents::Shuffled => fill(element, bytes, contents, rng),
        // Zero may be outside the range, so the lower limit takes its place.
        Contents::Zeros => fill_elements(bytes, size, || range.least as u64),
        Contents::Equal => {
            let number = any(rng);
            fill_elements(bytes, size, || number as u64);
        }
        Contents::Edges => fill_elements(bytes, size, || match rng.bool() {
            true => range.least as u64,
            false => range.most as u64,
        }),
        Contents::Sorted => {
            let mut numbers: Vec<i64> = (0..bytes.len() / size).map(|_| any(rng)).collect();
            numbers.sort_unstable();
            let mut numbers = numbers.into_iter();
            fill_elements(bytes, size, || numbers.next().unwrap_or(range.most) as u64);
        }
        Contents::Small | Contents::Random => fill_elements(bytes, size, || any(rng) as u64),
    }
}

/// Fills the elements with the low bytes of successive words.
fn fill_elements(bytes: &mut [u8], size: usize, mut word: impl FnMut() -> u64) {
    for chunk in bytes.chunks_mut(size) {
        for (to, from) in chunk.iter_mut().zip(word().to_le_bytes()) {
            *to = from;
        }
    }
}

/// Returns the bits of a small number as an element.
fn small_number(element: ElementType, number: u64) -> u64 {
    match element {
        ElementType::F16 => half(number),
        ElementType::F32 => (number as f32).to_bits().into(),
        ElementType::F64 => (number as f64).to_bits(),
        _ => number,
    }
}

/// Returns the bits of a whole number from 0 to 1024 in the binary16 format.
fn half(number: u64) -> u64 {
    match number.checked_ilog2() {
        None => 0,
        // The leading bit of a normal number is implicit, so the mask removes it.
        Some(log) => u64::from(15 + log) << 10 | (number << (10 - log.min(10)) & 0x3ff),
    }
}

/// Returns the bits of the numbers at the ends of a type.
fn edges(element: ElementType) -> Vec<u64> {
    match element {
        ElementType::F32 => {
            let most = [f32::MAX, f32::MIN, f32::MIN_POSITIVE, f32::from_bits(1)];
            let odd = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::NAN,
            ];
            most.iter()
                .chain(&odd)
                .map(|x| x.to_bits().into())
                .collect()
        }
        ElementType::F64 => {
            let most = [f64::MAX, f64::MIN, f64::MIN_POSITIVE, f64::from_bits(1)];
            let odd = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
            ];
            most.iter().chain(&odd).map(|x| x.to_bits()).collect()
        }
        // In binary16 these bits are zeros, subnormal numbers and NaNs.
        _ => {
            let top = 1u64 << (8 * element.size() - 1);
            vec![0, 1, 2, u64::MAX, top, top - 1, top + 1]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpbound_launch::{LaunchParam, StartCaches};

    fn launch(element: ElementType) -> LaunchFile {
        let bytes = (0..20 * element.size()).map(|n| n as u8).collect();
        LaunchFile {
            file: "launch".to_owned(),
            kernel: None,
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared: 0,
            stack: None,
            caches: StartCaches::Cold,
            variables: Vec::new(),
            params: vec![LaunchParam {
                name: "buffer".to_owned(),
                value: ParamValue::Buffer(LaunchBuffer {
                    element,
                    shape: vec![20],
                    bytes,
                    expect: None,
                    output: None,
                    range: None,
                }),
            }],
            texels: Vec::new(),
            textures: Vec::new(),
            surfaces: Vec::new(),
            pointers: Vec::new(),
        }
    }

    #[test]
    fn variations_are_reproducible_and_seeds_differ() {
        let given = launch(ElementType::S32);
        let all: Vec<Variation> = (0..50).map(|seed| variation(&given, seed)).collect();
        for (seed, one) in (0..).zip(&all) {
            assert_eq!(*one, variation(&given, seed));
        }
        let other = all.iter().filter(|one| one.launch != given).count();
        assert!(
            (20..50).contains(&other),
            "{other} of 50 differ from what is given"
        );
    }

    #[test]
    fn sizes_stay_and_shuffling_keeps_the_numbers() {
        for element in [
            ElementType::U8,
            ElementType::S16,
            ElementType::F32,
            ElementType::F64,
        ] {
            let given = launch(element);
            let ParamValue::Buffer(buffer) = &given.params[0].value else {
                unreachable!("a buffer")
            };
            let bytes = &buffer.bytes;
            for kind in KINDS {
                let mut filled = bytes.clone();
                fill(element, &mut filled, kind, &mut Rng::with_seed(1));
                assert_eq!(filled.len(), bytes.len());
                let sorted = |bytes: &[u8]| {
                    let mut all: Vec<Vec<u8>> =
                        bytes.chunks(element.size()).map(<[u8]>::to_vec).collect();
                    all.sort();
                    all
                };
                if let Contents::Shuffled = kind {
                    assert_ne!(filled, *bytes);
                    assert_eq!(sorted(&filled), sorted(bytes));
                }
            }
        }
    }

    #[test]
    fn small_halves() {
        for (number, bits) in [
            (0, 0),
            (1, 0x3c00),
            (2, 0x4000),
            (3, 0x4200),
            (7, 0x4700),
            (100, 0x5640),
        ] {
            assert_eq!(half(number), bits, "{number}");
        }
    }

    #[test]
    fn sorted_floats_ascend() {
        let mut bytes = vec![0; 4 * 50];
        fill(
            ElementType::F32,
            &mut bytes,
            Contents::Sorted,
            &mut Rng::with_seed(3),
        );
        let (chunks, _) = bytes.as_chunks::<4>();
        let numbers: Vec<f32> = chunks.iter().map(|&b| f32::from_le_bytes(b)).collect();
        assert!(numbers.is_sorted());
        assert!(numbers.first() < numbers.last());
    }
}
