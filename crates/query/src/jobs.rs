//! Parallel map over a sequence with results in order.
//!
//! For example, kernels of a library are analysed on eight threads and reported in the order of the file, so that the
//! output does not depend on the number of threads.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum number of results per thread that wait for an earlier one. Without a limit, all results after a slow item
/// would accumulate in memory.
const MAX_AHEAD: usize = 16;

/// Applies `work` to all items on `jobs` threads and passes the results to `each` in the order of the items, on the
/// calling thread. Stops early if `each` returns an error.
///
/// # Errors
///
/// The error of `each`.
pub fn map_in_order<T, R: Send, E>(
    jobs: usize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> R + Sync,
    mut each: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    if jobs <= 1 {
        // No threads, so each result is passed on before the next item is taken.
        return items.map(work).try_for_each(each);
    }
    let shared = Shared {
        items: Mutex::new((0, items)),
        emitted: Mutex::new(Some(0)),
        moved: Condvar::new(),
        window: jobs * MAX_AHEAD,
    };
    let (send, receive) = sync_channel(jobs);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let send = send.clone();
            let (shared, work) = (&shared, &work);
            scope.spawn(move || {
                let _stop = StopOnPanic(shared);
                while let Some((number, item)) = shared.next() {
                    if send.send((number, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        // Only workers keep senders, so the loop below ends when the last worker ends.
        drop(send);
        let _stop = StopOnPanic(&shared);
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        let mut outcome = Ok(());
        // The receiver is drained even after an error, so that no worker blocks on a full channel.
        for (number, result) in receive {
            waiting.insert(number, result);
            while let (Ok(()), Some(result)) = (&outcome, waiting.remove(&next)) {
                outcome = each(result);
                next += 1;
                match outcome {
                    Ok(()) => shared.emit(next),
                    Err(_) => shared.stop(),
                }
            }
        }
        outcome
    })
}

/// State that the workers share.
struct Shared<I> {
    /// Number of the next item, and the remaining items.
    items: Mutex<(usize, I)>,
    /// Number of results passed to `each`; `None` once the work is stopped.
    emitted: Mutex<Option<usize>>,
    moved: Condvar,
    window: usize,
}

impl<T, I: Iterator<Item = T>> Shared<I> {
    /// Returns the next item and its number, as soon as it is within the window.
    fn next(&self) -> Option<(usize, T)> {
        // The lock is held while this worker waits: other workers could take only later items, which must wait too.
        let mut items = lock(&self.items);
        let number = items.0;
        let mut completed = lock(&self.emitted);
        // The earliest item without a result is always within the window, so its worker never waits here, and the
        // results of that worker wake the others.
        while number >= (*completed)?.saturating_add(self.window) {
            completed = self
                .moved
                .wait(completed)
                .unwrap_or_else(PoisonError::into_inner);
        }
        (*completed)?;
        // The iterator may be slow, and `emit` needs this lock.
        drop(completed);
        let item = items.1.next()?;
        items.0 += 1;
        Some((number, item))
    }

    fn emit(&self, count: usize) {
        if let Some(emitted) = &mut *lock(&self.emitted) {
            *emitted = count;
        }
        self.moved.notify_all();
    }
}

impl<I> Shared<I> {
    /// Stops the workers.
    fn stop(&self) {
        *lock(&self.emitted) = None;
        self.moved.notify_all();
    }
}

/// Guard that stops the workers after a panic, since a missing result would block them; the scope propagates the
/// panic.
struct StopOnPanic<'a, I>(&'a Shared<I>);

impl<I> Drop for StopOnPanic<'_, I> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Locks a mutex even if it is poisoned: the shared state, numbers and items, is consistent after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_however_long_each_takes() {
        for jobs in [1, 2, 3, 8] {
            let mut seen = Vec::new();
            let work = |n: u64| {
                std::thread::sleep(std::time::Duration::from_micros(n * 37 % 200));
                n * n
            };
            let done = map_in_order(jobs, 0..500, work, |n| {
                seen.push(n);
                Ok::<(), ()>(())
            });
            assert_eq!(done, Ok(()));
            assert_eq!(seen, (0..500).map(|n| n * n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_it() {
        for jobs in [1, 4] {
            let mut seen = 0;
            let done = map_in_order(
                jobs,
                0..,
                |n: u64| n,
                |n| {
                    seen += 1;
                    if n == 100 { Err(n) } else { Ok(()) }
                },
            );
            assert_eq!((done, seen), (Err(100), 101));
        }
    }

    /// If a panic were not propagated, this test would block.
    #[test]
    fn a_panic_ends_it() {
        for jobs in [1, 2, 4] {
            let in_work = std::panic::catch_unwind(|| {
                let work = |n: u64| {
                    assert_ne!(n, 5);
                    n
                };
                map_in_order(jobs, 0..1000, work, |_| Ok::<(), ()>(()))
            });
            assert!(in_work.is_err(), "{jobs} jobs");
            let in_each = std::panic::catch_unwind(|| {
                let work = |n: u64| {
                    if n == 0 {
                        std::thread::sleep(std::time::Duration::from_millis(20));
                    }
                    n
                };
                map_in_order(jobs, 0..1000, work, |n| {
                    assert_ne!(n, 0);
                    Ok::<(), ()>(())
                })
            });
            assert!(in_each.is_err(), "{jobs} jobs");
        }
    }

    #[test]
    fn few_results_wait_behind_a_slow_item() {
        let started = Mutex::new(0);
        let work = |n: u64| {
            *lock(&started) += 1;
            if n == 0 {
                std::thread::sleep(std::time::Duration::from_millis(50));
                return *lock(&started);
            }
            0
        };
        let mut most_started = 0;
        let done = map_in_order(2, 0..10_000, work, |count| {
            most_started = most_started.max(count);
            Ok::<(), ()>(())
        });
        assert_eq!(done, Ok(()));
        assert!(most_started <= 2 * MAX_AHEAD + 1, "{most_started}");
    }
}
