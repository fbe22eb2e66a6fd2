//! Factors as whole numbers.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::Multiplier;

/// Makes factors whole numbers without a common divisor. Returns them with the factor of their sum, so that
/// `Σ factor · x = returned factor · Σ whole · x`. `None` if there are none, or if a number exceeds 31 bits. For
/// example, the factors 1/2 and 3/4 become 2 and 3 with the factor 1/4.
pub fn whole_factors(terms: &[(usize, Multiplier)]) -> Option<(Vec<(usize, i64)>, Multiplier)> {
    let denominators = terms.iter().map(|(_, factor)| factor.denom());
    let scale = denominators.fold(BigInt::one(), |scale, of| {
        let common = gcd(scale.clone(), of.clone());
        scale * of / common
    });
    let scaled = |factor: &Multiplier| factor.numer() * (&scale / factor.denom());
    let numbers: Vec<BigInt> = terms.iter().map(|(_, factor)| scaled(factor)).collect();
    let divisor = numbers.iter().cloned().fold(BigInt::zero(), gcd);
    if divisor.is_zero() {
        return None;
    }
    let numbers = numbers.iter().map(|number| (number / &divisor).to_i32());
    let numbers = numbers.collect::<Option<Vec<i32>>>()?;
    let places = terms.iter().map(|(at, _)| *at);
    let whole = places.zip(numbers.into_iter().map(i64::from)).collect();
    Some((whole, Multiplier::new(divisor, scale)))
}

/// Returns the greatest common divisor; of 0 and n it is |n|.
fn gcd(mut a: BigInt, mut b: BigInt) -> BigInt {
    while !b.is_zero() {
        (a, b) = (b.clone(), a % b);
    }
    a.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(numerator: i64, denominator: i64) -> Multiplier {
        Multiplier::new(numerator.into(), denominator.into())
    }

    #[test]
    fn whole_numbers_without_a_common_divisor() {
        let terms = [(3, factor(-4, 3)), (5, factor(2, 1)), (8, factor(10, 9))];
        let (whole, by) = whole_factors(&terms).expect("small numbers");
        assert_eq!(whole, [(3, -6), (5, 9), (8, 5)]);
        assert_eq!(by, factor(2, 9));
        assert_eq!(whole_factors(&[]), None);
        assert_eq!(
            whole_factors(&[(0, factor(1, 1)), (1, factor(1 << 40, 1))]),
            None
        );
    }
}
