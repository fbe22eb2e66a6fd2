//! Products of matrices against results of GPUs, and against sums that are computed element by element.

use warpbound_ir::{ElementFormat, MatrixProduct, SumFormat, SumRule};
use warpbound_isa::nvidia::Arch;

/// Sums that eight GPUs computed (`cargo xtask recordings --matrices FOLDER --sample 40`; data of Khattak and Mikaitis,
/// "Accurate Models of NVIDIA Tensor Cores", arXiv 2512.07004).
const RECORDED: &str = include_str!("../data/matrix_units.txt");

/// A recorded sum: `d = a * b + c`.
struct Record<'a> {
    arch: Arch,
    format: ElementFormat,
    sums: SumFormat,
    a: Vec<u64>,
    b: Vec<u64>,
    c: u64,
    d: u64,
    line: &'a str,
}

fn records() -> Vec<Record<'static>> {
    let number = |word: &str| u64::from_str_radix(word, 16).expect("a number");
    let list = |words: &str| words.split(',').map(number).collect();
    let record = |line: &'static str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [arch, format, sums, a, b, c, d] = words.try_into().expect("seven words");
        let format = match format {
            "fp16" => ElementFormat::F16,
            "bf16" => ElementFormat::Bf16,
            "tf32" => ElementFormat::Tf32,
            "E4M3" => ElementFormat::E4m3,
            _ => ElementFormat::E5m2,
        };
        Record {
            arch: arch
                .strip_prefix("sm_")
                .and_then(|sm| Arch::from_sm(sm.parse().ok()?))
                .expect("an architecture"),
            format,
            sums: match sums {
                "fp16" => SumFormat::F16,
                _ => SumFormat::F32,
            },
            a: list(a),
            b: list(b),
            c: number(c),
            d: number(d),
            line,
        }
    };
    RECORDED.lines().map(record).collect()
}

fn product(format: ElementFormat, sums: SumFormat, rule: SumRule, depth: usize) -> MatrixProduct {
    let factors = [format; 2];
    let mut product = MatrixProduct::without_words(16, depth as u16, factors, sums, rule);
    // Each lane has at least one word of each factor.
    product.depth = product.depth.max(128 / format.bits() as u16);
    product
}

/// Computes `a * b + c` as the element at a place of a product whose other elements are 0.
fn sum_at(product: &MatrixProduct, [row, column]: [usize; 2], record: &Record<'_>) -> u64 {
    let depth = usize::from(product.depth);
    let [rows, columns, sums] = product.fragments();
    let line = |values: &[u64], count: usize, at: usize| {
        let mut all = vec![0; count * depth];
        all[at * depth..][..values.len()].copy_from_slice(values);
        all
    };
    let mut c = vec![0; 16 * 8];
    c[row * 8 + column] = record.c;
    let d = product.multiply(
        &rows.words(&line(&record.a, 16, row)),
        &columns.words(&line(&record.b, 8, column)),
        &sums.words(&c),
    );
    let d = sums.elements(&d);
    // An infinity times the zeros of the other lines is no number.
    let exponents = |values: &[u64]| values.iter().any(|value| value & 0x7c00 == 0x7c00);
    if !exponents(&record.a) && !exponents(&record.b) {
        let mut others = d
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != row * 8 + column);
        assert!(others.all(|(_, value)| *value == 0), "{}", record.line);
    }
    d[row * 8 + column]
}

#[test]
fn sums_are_those_of_gpus() {
    let records = records();
    assert!(records.len() > 1000);
    for (number, record) in records.iter().enumerate() {
        let rule = SumRule::of_unit(record.arch, record.format).expect("a unit");
        let product = product(record.format, record.sums, rule, record.a.len());
        let place = [number * 5 % 16, number * 3 % 8];
        assert_eq!(sum_at(&product, place, record), record.d, "{}", record.line);
    }
}

/// With one product or one bit more or less, some recorded sum differs.
#[test]
fn other_arithmetic_differs_from_gpus() {
    for arch in [70, 80, 86, 89, 90, 100].map(|sm| Arch::from_sm(sm).expect("an architecture")) {
        let own: Vec<_> = records()
            .into_iter()
            .filter(|record| record.arch == arch)
            .collect();
        let other = |change: fn(u8, u8) -> (u8, u8)| {
            own.iter().any(|record| {
                let rule = SumRule::of_unit(arch, record.format);
                let Some(SumRule::Aligned { terms, fraction }) = rule else {
                    return false;
                };
                let (terms, fraction) = change(terms, fraction);
                let rule = SumRule::Aligned { terms, fraction };
                let product = product(record.format, record.sums, rule, record.a.len());
                sum_at(&product, [0, 0], record) != record.d
            })
        };
        assert!(
            other(|terms, fraction| (terms / 2, fraction)),
            "{arch}: blocks"
        );
        assert!(
            other(|terms, fraction| (terms, fraction + 1)),
            "{arch}: one bit more"
        );
        assert!(
            other(|terms, fraction| (terms, fraction - 1)),
            "{arch}: one bit less"
        );
    }
}

#[test]
fn numbers_that_are_none_and_infinities_go_through() {
    let rule = SumRule::of_unit(Arch::Sm80, ElementFormat::F16).expect("a unit");
    let sum_of = |format: ElementFormat, a: &[u64], b: &[u64], c: u64| {
        let record = Record {
            arch: Arch::Sm80,
            format,
            sums: SumFormat::F32,
            a: a.to_vec(),
            b: b.to_vec(),
            c,
            d: 0,
            line: "",
        };
        let product = product(record.format, record.sums, rule, 8);
        sum_at(&product, [1, 2], &record)
    };
    let sum = |a: &[u64], b: &[u64], c: u64| sum_of(ElementFormat::F16, a, b, c);
    const NAN: u64 = 0x7fff_ffff;
    let [one, infinite, less, none] = [0x3c00, 0x7c00, 0xfc00, 0x7e00];
    assert_eq!(sum(&[infinite], &[one], 0), 0x7f80_0000);
    assert_eq!(sum(&[infinite], &[less], 0), 0xff80_0000);
    assert_eq!(sum(&[infinite, less], &[one, one], 0), NAN);
    assert_eq!(sum(&[infinite], &[0], 0), NAN);
    assert_eq!(sum(&[none], &[one], 0), NAN);
    assert_eq!(sum(&[one], &[one], 0xff80_0000), 0xff80_0000);
    // A sum beyond the greatest single is an infinity, although sums are rounded towards zero.
    let greatest = sum_of(ElementFormat::Bf16, &[0x7f7f], &[0x3f80], 0x7f7f_ffff);
    assert_eq!(greatest, 0x7f80_0000);
    assert_eq!(sum(&[0], &[one], 0x8000_0000), 0);
}

/// Value of the integer or bit at a place of a word.
fn value(format: ElementFormat, word: u32, at: usize) -> i64 {
    let bits = format.bits();
    let field = (i64::from(word) >> (bits * at)) & ((1 << bits) - 1);
    match format {
        ElementFormat::S8 | ElementFormat::S4 if field >> (bits - 1) == 1 => field - (1 << bits),
        _ => field,
    }
}

/// Products of integers and bits of all shapes, against sums over the elements at the places that PTX's manual gives.
#[test]
fn integers_are_added_at_the_places_of_the_manual() {
    let shapes = [
        (8, 16, ElementFormat::S8, ElementFormat::U8),
        (16, 16, ElementFormat::U8, ElementFormat::S8),
        (16, 32, ElementFormat::S8, ElementFormat::S8),
        (8, 32, ElementFormat::S4, ElementFormat::U4),
        (16, 64, ElementFormat::U4, ElementFormat::S4),
        (8, 128, ElementFormat::Bit, ElementFormat::Bit),
        (16, 256, ElementFormat::Bit, ElementFormat::Bit),
    ];
    let mut state = 1u64;
    let mut draw = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    for (rows, depth, a_format, b_format) in shapes {
        let is_bit = a_format == ElementFormat::Bit;
        let rules = match is_bit {
            true => [SumRule::CountCommon, SumRule::CountDifferent],
            false => [SumRule::Wrapping, SumRule::Saturating],
        };
        for rule in rules {
            let factors = [a_format, b_format];
            let sums = SumFormat::S32;
            let product = MatrixProduct::without_words(rows, depth, factors, sums, rule);
            let per_word = 32 / a_format.bits();
            let words = |count: usize, draw: &mut dyn FnMut() -> u32| -> Vec<[u32; 32]> {
                (0..count)
                    .map(|_| std::array::from_fn(|_| draw()))
                    .collect()
            };
            let depth = usize::from(depth);
            let blocks = usize::from(rows) / 8;
            let a = words(blocks * depth / (4 * per_word), &mut draw);
            let b = words(depth / (4 * per_word), &mut draw);
            let c = words(2 * blocks, &mut draw);
            let d = product.multiply(&a, &b, &c);
            for lane in 0..32 {
                for number in 0..2 * blocks {
                    // c and d: row lane / 4 (+ 8), column 2 * (lane % 4) + number % 2.
                    let (row, column) = (lane / 4 + 8 * (number / 2), 2 * (lane % 4) + number % 2);
                    let mut sum = i64::from(c[number][lane] as i32);
                    for k in 0..depth {
                        let (group, within) = (k / (4 * per_word), k % (4 * per_word));
                        let (member, at) = (within / per_word, within % per_word);
                        let x = value(
                            a_format,
                            a[group * blocks + row / 8][4 * (row % 8) + member],
                            at,
                        );
                        let y = value(b_format, b[group][4 * column + member], at);
                        sum += match rule {
                            SumRule::CountCommon => x & y,
                            SumRule::CountDifferent => x ^ y,
                            _ => x * y,
                        };
                    }
                    let expected = match rule {
                        SumRule::Saturating => sum.clamp(i32::MIN.into(), i32::MAX.into()),
                        _ => sum,
                    };
                    assert_eq!(d[number][lane], expected as u32, "{rows} {depth} {rule:?}");
                }
            }
        }
    }
}
