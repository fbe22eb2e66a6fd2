//! Sums and products of singles with directed rounding, from the nearest double and its error.

/// Rounding direction of a result between two neighbouring singles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Down,
    Up,
    Zero,
}

/// Returns a + b as the nearest double and its error (Knuth's TwoSum, exact).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// Rounds `value` + `rest` to a single; `rest` is smaller than half a unit in the last place of `value`.
pub(super) fn round(value: f64, rest: f64, to: Direction) -> f32 {
    let near = value as f32;
    if value.is_nan() || value.is_infinite() {
        return near;
    }
    // The error has the sign of the exact number minus the nearest single, which may be infinite.
    let difference = value - f64::from(near);
    let error = if difference == 0.0 { rest } else { difference };
    let to = match to {
        Direction::Zero if value > 0.0 || value == 0.0 && rest > 0.0 => Direction::Down,
        Direction::Zero => Direction::Up,
        to => to,
    };
    match to {
        Direction::Down if error < 0.0 => near.next_down(),
        Direction::Up if error > 0.0 => near.next_up(),
        _ => near,
    }
}

/// Returns a + b, rounded once.
pub(super) fn add(a: f32, b: f32, to: Direction) -> f32 {
    fma(1.0, a, b, to)
}

/// Returns a * b, rounded once.
pub(super) fn mul(a: f32, b: f32, to: Direction) -> f32 {
    let product = f64::from(a) * f64::from(b);
    // A zero product keeps its sign in every rounding direction.
    round(product, 0.0, to)
}

/// Returns a * b + c, rounded once.
pub(super) fn fma(a: f32, b: f32, c: f32, to: Direction) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let (sum, rest) = two_sum(product, c);
    let rest = if sum.is_finite() { rest } else { 0.0 };
    if sum == 0.0 && rest == 0.0 {
        // IEEE 754, 6.3: zeros of one sign keep it; an exact cancellation is -0 only when rounding towards negative
        // infinity.
        let same = product.is_sign_negative() == c.is_sign_negative() && product == 0.0;
        let negative = if same {
            c.is_sign_negative()
        } else {
            to == Direction::Down
        };
        return if negative { -0.0 } else { 0.0 };
    }
    round(sum, rest, to)
}
