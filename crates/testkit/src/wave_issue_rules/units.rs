//! Turns of SIMDs and pipelines of units, as far as issues show them.

use warpbound_simt::Mask;

use super::spelled::SpelledKind;

/// Instructions that a SIMD has issued in its present turn.
#[derive(Default)]
pub(super) struct Turn {
    cycle: u64,
    issued: Vec<(SpelledKind, (u64, u32), Mask)>,
}

/// Broken rule of a turn.
pub(super) enum TurnFault {
    Kinds(String),
    Siblings(String),
}

impl Turn {
    /// Adds an issue of some lanes of a launch wave to the turn of its cycle. `together` is the number of siblings
    /// that may issue one kind, and `most_kinds` the number of kinds.
    pub(super) fn issue(
        &mut self,
        cycle: u64,
        (kind, wave, lanes): (SpelledKind, (u64, u32), Mask),
        together: usize,
        most_kinds: u64,
    ) -> Option<TurnFault> {
        if self.cycle != cycle {
            self.cycle = cycle;
            self.issued.clear();
        }
        // No unit executes internal instructions: all waves may issue them.
        if kind == SpelledKind::Internal {
            return None;
        }
        let same: Vec<_> = self.issued.iter().filter(|(of, ..)| *of == kind).collect();
        let fault = match same.as_slice() {
            [] => self.too_many_kinds(kind, most_kinds),
            same if same.iter().any(|(_, other, _)| *other != wave) => Some(TurnFault::Siblings(
                format!("two launch waves issue {kind:?} in one turn"),
            )),
            same if same.iter().any(|(_, _, other)| other & lanes != 0) => Some(
                TurnFault::Siblings(format!("two splits with one lane issue {kind:?} together")),
            ),
            same => {
                let copied = [
                    SpelledKind::Vector,
                    SpelledKind::Scalar,
                    SpelledKind::Branch,
                ];
                (!copied.contains(&kind) || same.len() >= together).then(|| {
                    TurnFault::Kinds(format!("{} of {kind:?} in one turn", same.len() + 1))
                })
            }
        };
        self.issued.push((kind, wave, lanes));
        fault
    }

    fn too_many_kinds(&self, kind: SpelledKind, most: u64) -> Option<TurnFault> {
        let mut kinds: Vec<SpelledKind> = self.issued.iter().map(|(of, ..)| *of).collect();
        kinds.sort_unstable();
        kinds.dedup();
        (kinds.len() as u64 >= most)
            .then(|| TurnFault::Kinds(format!("{} kinds before {kind:?}", kinds.len())))
    }
}

/// Pipelines of a unit: the cycle from which each is free, and the launch wave that it serves.
#[derive(Default)]
pub(super) struct UnitPool {
    pipelines: Vec<(u64, (u64, u32))>,
}

impl UnitPool {
    /// Occupies a pipeline of `count`; returns why none is free.
    pub(super) fn accept(
        &mut self,
        cycle: u64,
        cycles: u64,
        wave: (u64, u32),
        count: usize,
    ) -> Option<String> {
        self.pipelines.resize(count.max(1), (0, (0, 0)));
        let (until, served) = self.pipelines[0];
        if until <= cycle {
            self.pipelines[0] = (cycle + cycles, wave);
            return None;
        }
        let fault = || Some(format!("the unit is busy until {until} for {served:?}"));
        if served != wave {
            return fault();
        }
        let further = self.pipelines.iter_mut().skip(1);
        match further.into_iter().find(|(until, _)| *until <= cycle) {
            Some(pipeline) => {
                *pipeline = (cycle + cycles, wave);
                None
            }
            None => fault(),
        }
    }
}
