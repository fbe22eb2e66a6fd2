//! Resource that serves one request at a time: a pipe, a port, an L2 slice, the DRAM bus.

use std::collections::VecDeque;

/// Thousandths of a cycle, the unit of service times: few bandwidths are whole numbers of cycles per request.
pub(super) const MILLI: u64 = 1000;

/// Work-conserving server: serves one request at a time and never idles while a request waits.
///
/// Reservations are made in the order of issue, but requests need not arrive at the resource in that order. A
/// reservation therefore takes the first idle time after its arrival, in several pieces if later arrivals were
/// reserved before it. Invariant: between the arrival of a request and the end of its service the resource is busy
/// throughout, so the waiting time of a request is the service time of others. For example, requests of 10 cycles
/// that arrive in cycles 0 and 20 leave cycles 10 to 20 idle. A request of 15 cycles that arrives in cycle 5 and is
/// reserved third is served from 10 to 20 and from 30 to 35.
#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    /// Busy intervals (start, end) in thousandths of cycles, ascending; no two are adjacent.
    busy: VecDeque<(u64, u64)>,
}

impl Server {
    /// Reserves `cycles` for a request that arrives in cycle `at`. Returns the end of its service less `cycles`: the
    /// cycle when service starts if it is in one piece. No later reservation has an arrival before `now`.
    pub(super) fn reserve(&mut self, now: u64, at: u64, cycles: u64) -> u64 {
        self.reserve_milli(now, at, cycles * MILLI)
    }

    /// Reserves the time that `bytes` take at a bandwidth in bytes per 1000 cycles, as [`Server::reserve`].
    pub(super) fn transfer(&mut self, now: u64, at: u64, bytes: u64, per_kilocycle: u64) -> u64 {
        self.reserve_milli(now, at, bytes * MILLI * MILLI / per_kilocycle.max(1))
    }

    /// Reserves thousandths of cycles, as [`Server::reserve`].
    pub(super) fn reserve_milli(&mut self, now: u64, at: u64, milli: u64) -> u64 {
        // No later request arrives before `now`: intervals that ended before it delay none.
        while let Some(&(_, to)) = self.busy.front()
            && to < now * MILLI
        {
            self.busy.pop_front();
        }
        let arrival = at * MILLI;
        // Fast path: most requests arrive in the last busy interval.
        if let Some((from, to)) = self.busy.back_mut()
            && *from <= arrival
            && arrival <= *to
        {
            let begin = *to;
            *to += milli;
            return begin / MILLI;
        }
        let fit = self.fit(arrival, milli);
        let merged = (fit.busy_start, fit.busy_end);
        match fit.last - fit.first {
            // A request without service leaves no busy interval.
            _ if milli == 0 => {}
            0 => self.busy.insert(fit.first, merged),
            1 => self.busy[fit.first] = merged,
            _ => {
                self.busy[fit.first] = merged;
                self.busy.drain(fit.first + 1..fit.last);
            }
        }
        (fit.end - milli) / MILLI
    }

    /// Returns what [`Server::reserve_milli`] would return, without a reservation.
    pub(super) fn probe(&self, at: u64, milli: u64) -> u64 {
        (self.fit(at * MILLI, milli).end - milli) / MILLI
    }

    /// Finds the service time of a request that arrives at a time; all in thousandths of cycles.
    fn fit(&self, at: u64, milli: u64) -> Fit {
        let first = match self.busy.back() {
            Some(&(_, to)) if to < at => self.busy.len(),
            _ => self.busy.partition_point(|&(_, to)| to < at),
        };
        let mut fit = Fit {
            first,
            last: first,
            busy_start: at,
            busy_end: at,
            end: at,
        };
        let mut left = milli;
        // An interval that begins where the service ends is merged too, as no two intervals may be adjacent.
        while let Some(&(from, to)) = self.busy.get(fit.last)
            && from <= fit.busy_end + left
        {
            // Saturating: the first interval may contain the arrival, and has no idle time before it then.
            let idle = from.saturating_sub(fit.busy_end);
            fit.busy_start = fit.busy_start.min(from);
            fit.busy_end = to;
            fit.last += 1;
            left -= idle;
            if left == 0 && idle > 0 {
                fit.end = from;
                return fit;
            }
        }
        fit.busy_end += left;
        fit.end = fit.busy_end;
        fit
    }
}

/// Service time of a request among the busy intervals.
struct Fit {
    /// Range `first..last` of the busy intervals that the reservation merges into one.
    first: usize,
    last: usize,
    /// Start and end of the merged interval.
    busy_start: u64,
    busy_end: u64,
    /// End of the service of the request.
    end: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_those_before() {
        let mut server = Server::default();
        assert_eq!(server.reserve(0, 10, 3), 10);
        assert_eq!(server.reserve(0, 11, 3), 13);
        assert_eq!(server.reserve(0, 100, 3), 100);
    }

    /// 64 bytes per cycle: four requests of 32 bytes are served in two cycles.
    #[test]
    fn bandwidths_are_exact_over_many_requests() {
        let mut server = Server::default();
        let served: Vec<u64> = (0..4).map(|_| server.transfer(0, 5, 32, 64_000)).collect();
        assert_eq!(served, [5, 5, 6, 6]);
    }

    /// The idle time before a reservation is available to other requests.
    #[test]
    fn a_reservation_ahead_delays_no_earlier_arrival() {
        let mut server = Server::default();
        assert_eq!(server.reserve(0, 1000, 10), 1000);
        assert_eq!(server.reserve(0, 100, 10), 100);
        // In two pieces: 995 to 1000 and 1010 to 1015.
        assert_eq!(server.probe(995, 10 * MILLI), 1005);
        assert_eq!(server.reserve(0, 995, 10), 1005);
        assert_eq!(server.reserve(0, 990, 5), 990);
        assert_eq!(server.reserve(0, 990, 1), 1015);
    }

    /// A million random requests against a table of time slots: each takes the first idle slots after its arrival, so
    /// that the server never idles while a request waits, and serves no two requests at once.
    #[test]
    fn a_server_never_idles_while_a_request_waits() {
        let mut random = fastrand::Rng::with_seed(12);
        for round in 0..20 {
            let lead = 1 << random.u32(0..12);
            let most = 1 << random.u32(0..5);
            // Load from half of the server's capacity to twice that.
            let pace = random.u64(most / 2..=2 * most);
            let mut server = Server::default();
            let mut slots = vec![false; 1 << 16];
            let (mut now, mut last) = (0, 0);
            for _ in 0..50_000 {
                now += random.u64(0..=pace);
                // Bounds the backlog of an overloaded server, and so the table of slots.
                if last > now + 4096 {
                    now = last;
                }
                let at = now + random.u64(0..lead);
                let cycles = random.u64(0..=most);
                let (mut left, mut slot) = (cycles, at as usize);
                let mut end = at;
                loop {
                    if slot >= slots.len() {
                        slots.resize(2 * slot + 1, false);
                    }
                    if !slots[slot] {
                        if left == 0 {
                            break;
                        }
                        slots[slot] = true;
                        left -= 1;
                        end = slot as u64 + 1;
                        if left == 0 {
                            break;
                        }
                    }
                    slot += 1;
                }
                // A request without service starts in the first idle slot.
                let expected = if cycles == 0 {
                    slot as u64
                } else {
                    end - cycles
                };
                assert_eq!(server.probe(at, cycles * MILLI), expected, "round {round}");
                assert_eq!(server.reserve(now, at, cycles), expected, "round {round}");
                last = end;
            }
        }
    }
}
