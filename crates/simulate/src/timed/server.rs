//! Whatever serves one request after the other.

/// Thousandths of a cycle: bandwidths are seldom whole numbers of cycles for each request.
const MILLI: u64 = 1000;

/// Serves one request after the other, in the order in which they come.
#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    /// When it has served all so far, in thousandths of a cycle.
    free: u64,
}

impl Server {
    /// A request comes at a cycle and takes so many; the cycle in which it is served.
    pub(super) fn reserve(&mut self, at: u64, cycles: u64) -> u64 {
        self.reserve_milli(at, cycles * MILLI)
    }

    /// A request for bytes comes at a cycle; the cycle in which it is served.
    pub(super) fn transfer(&mut self, at: u64, bytes: u64, bytes_per_kilocycle: u64) -> u64 {
        self.reserve_milli(at, bytes * MILLI * MILLI / bytes_per_kilocycle.max(1))
    }

    /// As [`Server::reserve`], for thousandths of cycles.
    pub(super) fn reserve_milli(&mut self, at: u64, milli: u64) -> u64 {
        let begin = self.free.max(at * MILLI);
        self.free = begin + milli;
        begin / MILLI
    }
}

#[cfg(test)]
mod tests {
    use super::Server;

    #[test]
    fn requests_wait_for_those_before() {
        let mut server = Server::default();
        assert_eq!(server.reserve(10, 3), 10);
        assert_eq!(server.reserve(11, 3), 13);
        assert_eq!(server.reserve(100, 3), 100);
    }

    /// 64 bytes each cycle: four requests of 32 bytes are served in two cycles.
    #[test]
    fn bandwidths_are_exact_over_many_requests() {
        let mut server = Server::default();
        let served: Vec<u64> = (0..4).map(|_| server.transfer(5, 32, 64_000)).collect();
        assert_eq!(served, [5, 5, 6, 6]);
    }
}
