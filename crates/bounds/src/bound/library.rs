//! Bounds of many kernels of a file, on several threads.

use std::sync::Arc;

use crate::{bound::bound, bound::refused_bound};
use warpbound_report::bound::KernelBound;

use warpbound_query::jobs::map_in_order;
use warpbound_query::{AskedImages, BoundOptions, Library, Session, Shard, Unusable};

/// Bounds the kernels of some images, or the kernels with a name, on `jobs` threads. With a shard, only the kernels
/// at its positions are bounded. `each` receives the positions and results in the order of the file, for any number
/// of threads. An unusable image has one position. Images that were left out have one position each, after all
/// kernels. Stops when `each` returns an error.
///
/// # Errors
///
/// The error of `each`.
pub fn bounds<E>(
    library: &Library,
    asked: AskedImages<'_>,
    name: Option<&str>,
    options: &BoundOptions,
    shard: Shard,
    jobs: usize,
    mut each: impl FnMut(u64, Result<KernelBound, Unusable>) -> Result<(), E>,
) -> Result<(), E> {
    let bound = |item: Result<(Arc<Session>, usize), Unusable>| {
        let (session, index) = item?;
        match session.kernel_at(index) {
            Ok(kernel) => bound(&session, kernel, options).map_err(Unusable::Kernel),
            Err(why) => match session.refused_at(index) {
                Some(refused) => Ok(refused_bound(&session, &refused.name, &refused.error)),
                None => Err(Unusable::Kernel(why)),
            },
        }
    };
    let kernels = library.kernels(asked.images, name);
    let kernels = kernels.map(|item| item.map_err(Unusable::Image));
    let left_out = asked.left_out.iter().cloned();
    let left_out = left_out.map(|images| Err(Unusable::LeftOut(images)));
    let items = (0..).zip(kernels.chain(left_out));
    let items = items.filter(|(position, _)| shard.contains(*position));
    let work = |(position, item)| (position, bound(item));
    map_in_order(jobs, items, work, |(position, result)| {
        each(position, result)
    })
}
