//! Servers of a replay: reservations of a resource that serves one request at a time.

/// Order of service at the servers of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceOrder {
    /// In the order of the requests: no request is served before an earlier one. The rule of bounds.
    Requests,
    /// In the first idle time after the arrival of each request. It may lie before the service of an earlier request
    /// that arrives later. The rule of the simulator. For example, a request that arrives at 0 is served before an
    /// earlier one that arrives at 50.
    Gaps,
}

/// Server; times in thousandths of cycles.
#[derive(Clone, Debug)]
pub(super) struct ReplayServer {
    order: ServiceOrder,
    /// Busy times (start, end) in ascending order, disjoint.
    busy: Vec<(i64, i64)>,
}

impl ReplayServer {
    pub(super) fn new(order: ServiceOrder) -> ReplayServer {
        ReplayServer {
            order,
            busy: Vec::new(),
        }
    }

    /// Forgets busy times that end before `now`.
    fn forget(&mut self, now: i64) {
        let past = self.busy.iter().take_while(|(_, end)| *end < now).count();
        self.busy.drain(..past);
    }

    /// Pieces of idle time that a request takes if it arrives at a time.
    fn idle_from(&self, at: i64, service: i64) -> Vec<(i64, i64)> {
        let mut pieces = Vec::new();
        let (mut time, mut left) = (at, service);
        for &(start, end) in &self.busy {
            if self.order == ServiceOrder::Gaps && start > time {
                let idle = (start - time).min(left);
                pieces.push((time, time + idle));
                left -= idle;
                if left == 0 {
                    return pieces;
                }
            }
            time = time.max(end);
        }
        pieces.push((time, time + left));
        pieces
    }

    /// Returns the end of the service of a request, less the service, without a reservation.
    pub(super) fn probe(&self, at: i64, service: i64) -> i64 {
        let pieces = self.idle_from(at, service);
        pieces.last().map_or(at, |(_, end)| *end) - service
    }

    /// Reserves the server for a request; returns the end of its service, less the service. No later request arrives
    /// before `now`.
    pub(super) fn reserve(&mut self, now: i64, at: i64, service: i64) -> i64 {
        self.forget(now);
        let pieces = self.idle_from(at, service);
        let end = pieces.last().map_or(at, |(_, end)| *end);
        for piece in pieces.into_iter().filter(|(start, end)| start < end) {
            let position = self.busy.partition_point(|busy| *busy < piece);
            self.busy.insert(position, piece);
        }
        // Adjacent busy times become one.
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(self.busy.len());
        for &(start, end) in &self.busy {
            match merged.last_mut() {
                Some((_, last)) if *last == start => *last = end,
                _ => merged.push((start, end)),
            }
        }
        self.busy = merged;
        end - service
    }
}

/// Limit of the sectors in flight: MSHRs, or the store buffer.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    capacity: u64,
    /// Completions with their sectors.
    completions: Vec<(i64, u64)>,
}

impl InFlight {
    pub(super) fn new(capacity: u64) -> InFlight {
        InFlight {
            capacity: capacity.max(1),
            completions: Vec::new(),
        }
    }

    /// Returns the first time from `at` on when `count` more sectors may be in flight. All others must be complete if
    /// `count` exceeds the limit.
    pub(super) fn free_from(&mut self, at: i64, count: u64) -> i64 {
        self.completions.sort_by_key(|(done, _)| *done);
        let mut time = at;
        let mut left: u64 = self.completions.iter().map(|(_, count)| count).sum();
        let mut complete = 0;
        for &(done, sectors) in &self.completions {
            if done > time && left + count <= self.capacity {
                break;
            }
            // Sectors that complete by then make room without a wait.
            time = time.max(done);
            left -= sectors;
            complete += 1;
        }
        self.completions.drain(..complete);
        time
    }

    pub(super) fn enter(&mut self, count: u64, done: i64) {
        self.completions.push((done, count));
    }
}
