//! Work on all cores: tasks that are independent of each other, and totals that add up in any order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Calls `find` for each number below `count` on all cores, and adds what it finds to `total`, one result at a time.
pub(crate) fn for_each_number<R, A: Send>(
    count: u64,
    find: impl Fn(u64) -> R + Sync,
    total: A,
    add: impl Fn(&mut A, u64, R) + Sync,
) -> A {
    let (next, total) = (AtomicU64::new(0), Mutex::new(total));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let found = find(number);
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    add(&mut total, number, found);
                }
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `find` for each task, as [`for_each_number`] does for numbers.
pub(crate) fn for_each_task<'t, T: Sync, R, A: Send>(
    tasks: &'t [T],
    find: impl Fn(&'t T) -> R + Sync,
    total: A,
    add: impl Fn(&mut A, &'t T, R) + Sync,
) -> A {
    let find = |number: u64| {
        let task = usize::try_from(number).ok();
        let task = task.and_then(|number| tasks.get(number))?;
        Some((task, find(task)))
    };
    for_each_number(tasks.len() as u64, find, total, |total, _, found| {
        if let Some((task, found)) = found {
            add(total, task, found);
        }
    })
}
