//! Tests of words as polynomials.

use warpbound_isa::Axis;

use super::*;

/// Two words about which nothing is known.
fn words(atoms: &mut Atoms) -> [WordPolynomial; 2] {
    [Axis::X, Axis::Y].map(|axis| atoms.word(Atom::Special(SpecialReg::BlockIndex(axis))))
}

fn binary(
    atoms: &mut Atoms,
    op: BinaryOp,
    a: &WordPolynomial,
    b: &WordPolynomial,
) -> WordPolynomial {
    atoms
        .binary(op, a.clone(), b.clone())
        .unwrap_or_else(|| constant(0))
}

/// The three instructions (XMAD, XMAD.MRG, XMAD.PSL.CBCC) by which compilers multiply words; without the upper half
/// of the first product unless `is_carry_kept`.
fn product_of_halves(
    atoms: &mut Atoms,
    [x, y]: &[WordPolynomial; 2],
    is_carry_kept: bool,
) -> WordPolynomial {
    let sixteen = constant(16);
    let mask = constant(0xffff);
    let low = |atoms: &mut Atoms, word: &WordPolynomial| binary(atoms, BinaryOp::And, word, &mask);
    let high =
        |atoms: &mut Atoms, word: &WordPolynomial| binary(atoms, BinaryOp::Shr, word, &sixteen);
    let (x_low, y_low) = (low(atoms, x), low(atoms, y));
    let (x_high, y_high) = (high(atoms, x), high(atoms, y));
    let mut first = binary(atoms, BinaryOp::Mul, &x_low, &y_low);
    if !is_carry_kept {
        first = low(atoms, &first);
    }
    let cross = binary(atoms, BinaryOp::Mul, &x_low, &y_high);
    let cross_low = low(atoms, &cross);
    let y_up = binary(atoms, BinaryOp::Shl, y, &sixteen);
    let merged = binary(atoms, BinaryOp::Or, &cross_low, &y_up);
    let merged_high = high(atoms, &merged);
    let other = binary(atoms, BinaryOp::Mul, &x_high, &merged_high);
    let other = binary(atoms, BinaryOp::Shl, &other, &sixteen);
    let merged_up = binary(atoms, BinaryOp::Shl, &merged, &sixteen);
    let sum = binary(atoms, BinaryOp::Add, &first, &merged_up);
    binary(atoms, BinaryOp::Add, &other, &sum)
}

/// Fault: a carry of the multiply chain dropped.
#[test]
fn the_products_of_halves_are_the_product_only_with_their_carry() {
    let mut atoms = Atoms::default();
    let both = words(&mut atoms);
    let product = both[0].times(&both[1]);
    let kept = product_of_halves(&mut atoms, &both, true);
    assert_eq!(Some(kept), product);
    let dropped = product_of_halves(&mut atoms, &both, false);
    assert_ne!(Some(dropped), product);
}

#[test]
fn shifts_and_masks_of_a_word_put_it_together_again() {
    let mut atoms = Atoms::default();
    let [x, _] = words(&mut atoms);
    for bits in 1..32 {
        let low = binary(&mut atoms, BinaryOp::And, &x, &constant(low_mask(bits)));
        let high = binary(&mut atoms, BinaryOp::Shr, &x, &constant(bits));
        let up = binary(&mut atoms, BinaryOp::Shl, &high, &constant(bits));
        let whole = binary(&mut atoms, BinaryOp::Or, &low, &up);
        assert_eq!(whole, x, "{bits} bits");
        let again = binary(&mut atoms, BinaryOp::Shr, &up, &constant(bits));
        assert_eq!(again, high, "{bits} bits");
    }
}

/// Bytes of a word whose high half alone is unknown.
#[test]
fn a_constant_below_a_high_half_is_known_byte_by_byte() {
    let mut atoms = Atoms::default();
    let [x, _] = words(&mut atoms);
    let word = x.scaled(1 << 16).and_then(|x| x.plus(&constant(265), 1));
    let word = word.expect("a word");
    let low = binary(&mut atoms, BinaryOp::And, &word, &constant(0xff));
    assert_eq!(low.as_constant(), Some(9));
    let next = binary(&mut atoms, BinaryOp::Shr, &word, &constant(8));
    let next = binary(&mut atoms, BinaryOp::And, &next, &constant(0xff));
    assert_eq!(next.as_constant(), Some(1));
}

/// Evaluates a word with words in place of the two unknowns.
fn value(atoms: &Atoms, word: &WordPolynomial, given: [u32; 2]) -> u32 {
    let mut sum = 0u32;
    for (unknowns, coefficient) in word.terms() {
        let factors = unknowns.iter().map(|&id| match atoms.get(id) {
            Atom::Special(SpecialReg::BlockIndex(Axis::X)) => given[0],
            Atom::Special(_) => given[1],
            Atom::Unary(op, a) => op.apply(value(atoms, a, given)),
            Atom::Binary(op, [a, b]) => op
                .apply(value(atoms, a, given), value(atoms, b, given))
                .unwrap_or(0),
            Atom::Ternary(op, operands) => {
                let [a, b, c] = operands.each_ref().map(|o| value(atoms, o, given));
                op.apply(a, b, c)
            }
            _ => 0,
        });
        sum = sum.wrapping_add(factors.fold(*coefficient, u32::wrapping_mul));
    }
    sum
}

/// Random operations on random words: the polynomial has the value of the operations, and its span contains it.
#[test]
fn polynomials_have_the_values_of_the_operations() {
    const OPS: [BinaryOp; 18] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::Shl,
        BinaryOp::Shr,
        BinaryOp::Sar,
        BinaryOp::MinU,
        BinaryOp::MaxU,
        BinaryOp::MinS,
        BinaryOp::MaxS,
        BinaryOp::LtS,
        BinaryOp::LeU,
        BinaryOp::Eq,
        BinaryOp::MulHighU,
        BinaryOp::MulHighS,
    ];
    let mut seed = 7u64;
    let mut random = |below: u64| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    for _ in 0..20_000 {
        let mut atoms = Atoms::default();
        let unknown = words(&mut atoms);
        // Sometimes small words, so that limits are used.
        let most = [u32::MAX, 1, 31, 0xffff, 1000][random(5) as usize];
        for word in &unknown {
            if let Some(id) = word.as_unknown() {
                atoms.limit_leaf(id, Span::between(0, most.into()));
            }
        }
        let given = [0, 1].map(|_| (random(u64::from(most) + 1)) as u32);
        let mut known: Vec<(WordPolynomial, u32)> = unknown.iter().cloned().zip(given).collect();
        for constant_word in [0, 1, 2, 16, 31, 0xff, 0xffff, u32::MAX, 0x8000_0000] {
            known.push((constant(constant_word), constant_word));
        }
        for _ in 0..8 {
            let [a, b] = [0, 1].map(|_| known[random(known.len() as u64) as usize].clone());
            let op = OPS[random(OPS.len() as u64) as usize];
            let Some(word) = atoms.binary(op, a.0.clone(), b.0.clone()) else {
                continue;
            };
            let expected = op.apply(a.1, b.1).unwrap_or(0);
            assert_eq!(
                value(&atoms, &word, given),
                expected,
                "{op:?} {a:?} {b:?} {given:?}"
            );
            let span = atoms.span(&word);
            for (reading, number) in [
                (Reading::Unsigned, i64::from(expected)),
                (Reading::Signed, i64::from(expected as i32)),
            ] {
                let (least, most) = span.as_numbers(reading);
                assert!(
                    (least..=most).contains(&number),
                    "{op:?} {a:?} {b:?} {span:?}"
                );
            }
            let (modulus, residue) = atoms.residue(&word);
            assert_eq!(u64::from(expected) % modulus, residue, "{op:?} {a:?} {b:?}");
            known.push((word, expected));
        }
    }
}
