//! Which block of which kernel goes to which SM.
//!
//! Kernels wait in two kinds of queues: each stream has one, and each priority has one of the execution engine, the EE
//! queue. The rules are those found by experiment on a Jetson TX2 and keep the names that they have in these sources:
//!
//! * `AMERT17`: Amert, Otterness, Yang, Anderson, Smith, "GPU Scheduling on the NVIDIA TX2: Hidden Details Revealed",
//!   RTSS 2017: G1 to G4, X1, R1 to R3 (section 3.2), N1 and N2 (4.1), A1 and A2 (4.2).
//! * `BAKITA24`: Bakita, Anderson, RTAS 2024, R2 and corollary 1: a stream needs a channel, and there are few.
//! * `GILMAN21`: Gilman, Ogden, Guo, Walls, "Demystifying the Placement Policies of the NVIDIA GPU Thread Block
//!   Scheduler for Concurrent Kernels", Performance Evaluation Review 48(3), section 4: on which SM a block goes.
//!
//! Copies between host and GPU are not dispatched here: who submits a kernel does it when the copies before it are
//! done. When a block ends is the caller's business as well, and in which order blocks end that end at the same time.

use std::collections::VecDeque;

use warpbound_machine::BlockResources;

/// A queue of kernels that run one after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stream(pub u32);

impl Stream {
    /// The stream that takes turns with all others.
    pub const NULL: Stream = Stream(0);
}

/// The priority of a stream. The TX2 has these two; a stream without a priority has the low one (`AMERT17` 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// Before all others.
    High,
    /// After them.
    Low,
}

/// A kernel that is launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelLaunch {
    /// Its stream.
    pub stream: Stream,
    /// The priority of that stream.
    pub priority: Priority,
    /// The blocks of its grid.
    pub blocks: u64,
    /// What a block takes of an SM.
    pub need: BlockResources,
}

/// A kernel that was submitted: its place in the order of the launches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KernelId(usize);

/// A block goes to an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The kernel.
    pub kernel: KernelId,
    /// The block: how many blocks of the grid are before it.
    pub block: u64,
    /// The SM.
    pub sm: usize,
}

/// Which SM a block goes to where it fits on several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// The one that could take the most blocks of the same kernel, of equal ones the lowest: found on a Pascal GPU
    /// (`GILMAN21` 4.2 and 4.3; later GPUs have another order of equal ones).
    #[default]
    MostRoom,
    /// The next one after that of the block before: what was believed before (`GILMAN21` 4.1). For comparison.
    RoundRobin,
}

/// The queues, and what each SM has left.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    /// What an empty SM has.
    whole: BlockResources,
    /// What each SM has left.
    free: Vec<BlockResources>,
    placement: Placement,
    /// The SM of the block before.
    last: Option<usize>,
    channels: usize,
    /// All kernels, in the order of their launches.
    kernels: Vec<Progress>,
    streams: Vec<StreamQueue>,
    /// The EE queues, that of the high priority first (A1).
    engine: [VecDeque<KernelId>; 2],
}

#[derive(Clone, Debug)]
struct Progress {
    kernel: KernelLaunch,
    /// Index of its stream.
    stream: usize,
    /// It is, or was, in an EE queue.
    queued: bool,
    /// Blocks that went to an SM.
    assigned: u64,
    /// Those of them that have ended.
    finished: u64,
}

impl Progress {
    fn fully_dispatched(&self) -> bool {
        self.assigned == self.kernel.blocks
    }
}

#[derive(Clone, Debug)]
struct StreamQueue {
    stream: Stream,
    kernels: VecDeque<KernelId>,
    /// It has a channel.
    channel: bool,
}

impl Dispatcher {
    /// Empty SMs, each with the same room; no limit of channels.
    pub fn new(sms: usize, room_of_sm: BlockResources) -> Dispatcher {
        Dispatcher {
            whole: room_of_sm,
            free: vec![room_of_sm; sms],
            placement: Placement::default(),
            last: None,
            channels: usize::MAX,
            kernels: Vec::new(),
            streams: Vec::new(),
            engine: [VecDeque::new(), VecDeque::new()],
        }
    }

    /// With another choice of SMs.
    #[must_use]
    pub fn with_placement(self, placement: Placement) -> Dispatcher {
        Dispatcher { placement, ..self }
    }

    /// With so many channels, at least one (`BAKITA24` R2: by default eight, on Jetson boards as few as two).
    ///
    /// A stream has a channel from the launch of a kernel, if one is free, until all its kernels are fully dispatched
    /// (corollary 1); kernels that have to wait for the NULL stream do not count, else streams could wait for each
    /// other (assumption). Free channels go to streams in the order of the launches (assumption: corollary 2 says that
    /// this is not the order, but not what is). The NULL stream needs none: when its turn comes, nobody else is in an
    /// EE queue.
    #[must_use]
    pub fn with_channels(self, channels: usize) -> Dispatcher {
        Dispatcher {
            channels: channels.max(1),
            ..self
        }
    }

    /// Launches a kernel: it goes to the end of its stream (G1).
    ///
    /// `None` where it has no blocks, or one would not fit on an empty SM: it would be in the way for ever.
    pub fn submit(&mut self, kernel: KernelLaunch) -> Option<KernelId> {
        if kernel.blocks == 0 || self.free.is_empty() || self.whole.without(&kernel.need).is_none()
        {
            return None;
        }
        let known = |queue: &StreamQueue| queue.stream == kernel.stream;
        let stream = self.streams.iter().position(known).unwrap_or_else(|| {
            self.streams.push(StreamQueue {
                stream: kernel.stream,
                kernels: VecDeque::new(),
                channel: false,
            });
            self.streams.len() - 1
        });
        let id = KernelId(self.kernels.len());
        self.kernels.push(Progress {
            kernel,
            stream,
            queued: false,
            assigned: 0,
            finished: 0,
        });
        self.streams[stream].kernels.push_back(id);
        self.fill_engine();
        Some(id)
    }

    /// Assigns one block, if the rules allow it now: one of the kernel at the head of the EE queue (X1), of the high
    /// priority if there is any (A2), and only where all that the block needs is free on one SM (R1 to R3).
    pub fn assign(&mut self) -> Option<Assignment> {
        let queue = self.engine.iter().position(|queue| !queue.is_empty())?;
        let id = *self.engine[queue].front()?;
        let need = self.kernels[id.0].kernel.need;
        let sm = self.place(&need)?;
        self.free[sm] = self.free[sm].without(&need)?;
        self.last = Some(sm);
        let progress = &mut self.kernels[id.0];
        let block = progress.assigned;
        progress.assigned += 1;
        if progress.fully_dispatched() {
            // G3.
            self.engine[queue].pop_front();
            self.fill_engine();
        }
        Some(Assignment {
            kernel: id,
            block,
            sm,
        })
    }

    /// A block of the kernel has ended on the SM that it was assigned to. Says whether the kernel is complete with it.
    pub fn block_finished(&mut self, kernel: KernelId, sm: usize) -> bool {
        let progress = &mut self.kernels[kernel.0];
        debug_assert!(progress.finished < progress.assigned);
        progress.finished += 1;
        self.free[sm] = self.free[sm].with(&progress.kernel.need);
        let complete = progress.finished == progress.kernel.blocks;
        if complete {
            // G4: it is the head, as no other kernel of the stream was in an EE queue.
            let stream = progress.stream;
            self.streams[stream].kernels.pop_front();
            self.fill_engine();
        }
        complete
    }

    /// Whether all kernels are complete.
    pub fn is_done(&self) -> bool {
        self.streams.iter().all(|queue| queue.kernels.is_empty())
    }

    /// The SM for a block, where it fits on one.
    fn place(&self, need: &BlockResources) -> Option<usize> {
        match self.placement {
            Placement::MostRoom => {
                let mut best = None;
                let mut most = 0;
                for (sm, free) in self.free.iter().enumerate() {
                    let fit = blocks_that_fit(free, need);
                    if fit > most {
                        (best, most) = (Some(sm), fit);
                    }
                }
                best
            }
            Placement::RoundRobin => {
                let first = self.last.map_or(0, |last| last + 1);
                let sms = self.free.len();
                (first..first + sms)
                    .map(|sm| sm % sms)
                    .find(|&sm| self.free[sm].without(need).is_some())
            }
        }
    }

    /// Kernels go from the heads of their streams to the EE queues, in the order of their launches (G2).
    fn fill_engine(&mut self) {
        self.share_channels();
        while let Some(id) = self.next_for_engine() {
            let progress = &mut self.kernels[id.0];
            progress.queued = true;
            // A1.
            self.engine[match progress.kernel.priority {
                Priority::High => 0,
                Priority::Low => 1,
            }]
            .push_back(id);
        }
    }

    /// Of the kernels that may go to an EE queue, the one launched first.
    fn next_for_engine(&self) -> Option<KernelId> {
        let heads = || {
            self.streams
                .iter()
                .filter_map(|queue| queue.kernels.front())
        };
        let may_go = |queue: &StreamQueue| {
            let head = *queue.kernels.front()?;
            let turn = if queue.stream == Stream::NULL {
                // N1.
                heads().min() == Some(&head)
            } else {
                // N2 and `BAKITA24` R2: there is no channel for what has to wait for the NULL stream.
                queue.channel
            };
            (turn && !self.kernels[head.0].queued).then_some(head)
        };
        self.streams.iter().filter_map(may_go).min()
    }

    /// Streams give back channels that they do not need, and take those that are free.
    fn share_channels(&mut self) {
        let kernels = &self.kernels;
        let null = self.streams.iter().find(|q| q.stream == Stream::NULL);
        let null = null.and_then(|queue| queue.kernels.front().copied());
        // The first kernel for which a stream needs a channel: one that waits, but not for the NULL stream (N2).
        let needs = |queue: &StreamQueue| {
            let waits = |id: &KernelId| {
                !kernels[id.0].fully_dispatched() && null.is_none_or(|null| *id < null)
            };
            let mut waiting = queue.kernels.iter().copied().filter(waits);
            waiting.next().filter(|_| queue.stream != Stream::NULL)
        };
        let mut used = 0;
        for queue in &mut self.streams {
            queue.channel &= needs(queue).is_some();
            used += usize::from(queue.channel);
        }
        while used < self.channels {
            let without = self.streams.iter_mut().filter(|queue| !queue.channel);
            let next = without
                .filter_map(|queue| Some((needs(queue)?, queue)))
                .min_by_key(|(first, _)| *first);
            let Some((_, queue)) = next else { break };
            queue.channel = true;
            used += 1;
        }
    }
}

/// How many blocks fit at once: the first resource to run out decides (`GILMAN21` 4.2).
fn blocks_that_fit(free: &BlockResources, need: &BlockResources) -> u64 {
    [
        (free.threads, need.threads),
        (free.warps, need.warps),
        (free.blocks, need.blocks),
        (free.registers, need.registers),
        (free.shared, need.shared),
    ]
    .into_iter()
    .filter_map(|(free, need)| free.checked_div(need))
    .min()
    .unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
