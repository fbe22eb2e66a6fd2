//! Guard and control field: effects of a row that do not depend on its other bits.

use super::model::RowModel;
use super::printed::Slot;
use super::row::Learner;

/// Guard and its negation.
const GUARD: u128 = 0xf000;

/// Guard P2.
const GUARD_P2: u128 = 0x2000;

/// Stall code 17, the first with which bits 124:122 keep operands in the reuse cache.
const STALL: u128 = 31 << 105;
const STALL_17: u128 = 17 << 105;

/// Lowest of the bits that keep operands in the reuse cache.
const REUSE: u8 = 122;

/// Finds the effects for guard and control field, and the operands that the reuse cache can keep.
pub(super) fn find(learner: &mut Learner<'_>, model: &mut RowModel) -> anyhow::Result<()> {
    let mut base = model.base & !STALL | STALL_17;
    for ((at, slot), field) in &model.fields.numbers {
        // RZ is never kept.
        let register = model
            .frame
            .shapes
            .get(*at)
            .is_some_and(|shape| shape == "R");
        if register && *slot == Slot::Number && field.bits.mask() & model.scope.mask == 0 {
            base = field.bits.put(base, 2);
        }
    }
    let mut words = vec![model.base & !GUARD | GUARD_P2];
    words.extend((0..8u128).map(|code| base & !(7 << REUSE) | code << REUSE));
    let texts = learner.answers.plain(&words)?;
    let Some((guarded, reused)) = texts.split_first() else {
        return Ok(());
    };
    let mut effects = Vec::new();
    let legal: Vec<usize> = (0..8)
        .filter(|code| reused.get(*code).is_some_and(Option::is_some))
        .collect();
    for bit in 0..3u8 {
        let Some(Some(text)) = reused.get(1 << bit) else {
            continue;
        };
        let operands = text.split(',');
        if let Some(at) = operands
            .into_iter()
            .position(|operand| operand.contains(".reuse"))
        {
            model.reuse.insert(at, REUSE + bit);
        }
    }
    match &legal[..] {
        [0] => effects.push("reuse:0".to_owned()),
        [.., most] if !model.reuse.is_empty() => effects.push(format!("reuse:{most}")),
        [0, 1, 2, 3, 4, 5] => effects.push("batch".to_owned()),
        _ => {}
    }
    match guarded {
        Some(text) if text.starts_with("@UP") => effects.push("uguard".to_owned()),
        Some(text) if !text.starts_with('@') => effects.push("noguard".to_owned()),
        _ => {}
    }
    model.effects = effects;
    // Only bits that do not follow from the place of the register are spelled.
    let fields = &model.fields.numbers;
    model.reuse.retain(|at, bit| {
        let field = fields.get(&(*at, Slot::Number));
        let usual = match field.map(|field| field.bits.low()) {
            Some(24) => 122,
            Some(32) => 123,
            Some(64) => 124,
            _ => 0,
        };
        field.is_some() && *bit != usual
    });
    Ok(())
}
