//! One disassembler for many learners: their questions are put together, because starting the tool takes longer than
//! listing thousands of words.

use std::sync::{Condvar, Mutex, PoisonError};

use warpbound_isa::nvidia::Arch;

use super::answers::Disassembler;
use crate::disasm_compare::Oracles;

/// Words for each start of the tool, at most what [`Oracles::texts`] lists at once.
const BATCH: usize = 30_000;

/// Bytes of a word.
const WORD: u32 = 16;

/// Lines of one question.
type Lines = Vec<(u32, Option<String>)>;

/// Disassembler of one chip that several threads ask.
pub(super) struct Together<'o> {
    oracles: &'o Oracles,
    arch: Arch,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Threads that may still ask.
    asking: usize,
    /// Number of the next question.
    next: u64,
    open: Vec<(u64, Vec<u128>)>,
    answered: Vec<(u64, Lines)>,
    failed: Option<String>,
}

/// A thread that asks; dropping it lets the others go on.
pub(super) struct Asker<'t, 'o>(&'t Together<'o>);

impl<'o> Together<'o> {
    /// Disassembler of a chip for a number of threads; each makes one [`Asker`].
    pub(super) fn new(oracles: &'o Oracles, arch: Arch, threads: usize) -> Together<'o> {
        let state = State {
            asking: threads,
            ..State::default()
        };
        Together {
            oracles,
            arch,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Handle of one thread.
    pub(super) fn asker<'t>(&'t self) -> Asker<'t, 'o> {
        Asker(self)
    }

    /// Lists words; those on which the tool crashes are left out by halving.
    fn list(&self, words: &[u128]) -> anyhow::Result<Lines> {
        let mut lines = Vec::with_capacity(words.len());
        for words in words.chunks(BATCH) {
            match self.oracles.texts(self.arch, words) {
                Ok(texts) => lines.extend((0..).step_by(WORD as usize).zip(texts)),
                Err(_) if words.len() == 1 => lines.push((0, None)),
                Err(error) if words.is_empty() => return Err(error),
                Err(_) => {
                    let (first, second) = words.split_at(words.len() / 2);
                    lines.extend(self.list(first)?);
                    lines.extend(self.list(second)?);
                }
            }
        }
        Ok(lines)
    }
}

impl Drop for Asker<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asking = state.asking.saturating_sub(1);
        self.0.changed.notify_all();
    }
}

impl Disassembler for Asker<'_, '_> {
    fn divided(&self, threads: usize) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asking = (state.asking + threads).saturating_sub(1);
    }

    fn ended(&self, last: bool) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        match last {
            true => state.asking += 1,
            false => state.asking = state.asking.saturating_sub(1),
        }
        self.0.changed.notify_all();
    }

    fn lines(&self, words: &[u128]) -> anyhow::Result<Lines> {
        let together = self.0;
        let mut state = together
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next += 1;
        state.open.push((number, words.to_vec()));
        together.changed.notify_all();
        loop {
            if let Some(at) = state.answered.iter().position(|(of, _)| *of == number) {
                return Ok(state.answered.swap_remove(at).1);
            }
            if let Some(error) = &state.failed {
                anyhow::bail!("{error}");
            }
            // All threads wait, so one of them lists the words of all.
            if state.open.len() >= state.asking {
                let open = std::mem::take(&mut state.open);
                let all: Vec<u128> = open.iter().flat_map(|(_, words)| words).copied().collect();
                match together.list(&all) {
                    Ok(mut lines) => {
                        for (number, words) in open {
                            let rest = lines.split_off(words.len().min(lines.len()));
                            state.answered.push((number, lines));
                            lines = rest;
                        }
                    }
                    Err(error) => state.failed = Some(format!("{error:#}")),
                }
                together.changed.notify_all();
                continue;
            }
            state = together
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
