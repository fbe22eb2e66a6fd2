//! Sums and products of singles rounded in a direction: by what the nearest double is off.

/// Where a result between two neighbours goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Down,
    Up,
    Zero,
}

/// a + b, a double and what it lacks (Knuth's TwoSum; exact for sums and products of singles).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// `value` and a `rest` that is smaller than half a unit of it, as a single.
pub(super) fn round(value: f64, rest: f64, to: To) -> f32 {
    let near = value as f32;
    if value.is_nan() || value.is_infinite() {
        return near;
    }
    // Whether the exact number lies above the nearest one. Infinity lies above all.
    let difference = value - f64::from(near);
    let beyond = if difference == 0.0 { rest } else { difference };
    let to = match to {
        To::Zero if value > 0.0 || value == 0.0 && rest > 0.0 => To::Down,
        To::Zero => To::Up,
        to => to,
    };
    match to {
        To::Down if beyond < 0.0 => near.next_down(),
        To::Up if beyond > 0.0 => near.next_up(),
        _ => near,
    }
}

/// a + b.
pub(super) fn add(a: f32, b: f32, to: To) -> f32 {
    fma(1.0, a, b, to)
}

/// a * b.
pub(super) fn mul(a: f32, b: f32, to: To) -> f32 {
    let product = f64::from(a) * f64::from(b);
    // Towards negative infinity or positive, a zero keeps its sign.
    round(product, 0.0, to)
}

/// a * b + c.
pub(super) fn fma(a: f32, b: f32, c: f32, to: To) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let (sum, rest) = two_sum(product, c);
    let rest = if sum.is_finite() { rest } else { 0.0 };
    if sum == 0.0 && rest == 0.0 {
        // Two zeros of one sign keep it; what cancels is -0 towards negative infinity only.
        let same = product.is_sign_negative() == c.is_sign_negative() && product == 0.0;
        let negative = if same {
            c.is_sign_negative()
        } else {
            to == To::Down
        };
        return if negative { -0.0 } else { 0.0 };
    }
    round(sum, rest, to)
}
