//! Block dispatcher: assigns the blocks of kernels to SMs.
//!
//! Kernels are queued twice: in the queue of their stream, then in the execution engine (EE) queue of their priority.
//! The rules were found by experiments on a Jetson TX2; comments cite them by their names in these sources:
//!
//! * `AMERT17`: Amert, Otterness, Yang, Anderson, Smith, "GPU Scheduling on the NVIDIA TX2: Hidden Details Revealed",
//!   RTSS 2017: G1 to G4, X1, R1 to R3 (section 3.2), N1 and N2 (4.1), A1 and A2 (4.2).
//! * `BAKITA24`: Bakita, Anderson, RTAS 2024, R2 and corollary 1: a stream needs one of a few channels.
//! * `GILMAN21`: Gilman, Ogden, Guo, Walls, "Demystifying the Placement Policies of the NVIDIA GPU Thread Block
//!   Scheduler for Concurrent Kernels", Performance Evaluation Review 48(3), section 4: placement of a block on an SM.
//!
//! Copies between host and GPU are not modelled: the caller submits a kernel when the copies before it are complete.
//! The caller also reports the ends of blocks, in the order of its choice if several end at the same time.

use std::collections::VecDeque;

use warpbound_machine::BlockResources;

/// Stream: a queue of kernels that are executed one after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stream(pub u32);

impl Stream {
    /// The NULL stream, whose kernels do not overlap with kernels of other streams.
    pub const NULL: Stream = Stream(0);
}

/// Priority of a stream. The TX2 has two; the default is the low one (`AMERT17` 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// Dispatched before all kernels of low priority.
    High,
    /// Dispatched after all kernels of high priority.
    Low,
}

/// Kernel to be launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelLaunch {
    /// Stream of the launch.
    pub stream: Stream,
    /// Priority of that stream.
    pub priority: Priority,
    /// Number of blocks of the grid.
    pub blocks: u64,
    /// Resources of an SM that a block needs.
    pub need: BlockResources,
}

/// Submitted kernel: its position in the order of launches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KernelId(usize);

/// Assignment of a block to an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The kernel.
    pub kernel: KernelId,
    /// Linear index of the block in the grid.
    pub block: u64,
    /// The SM.
    pub sm: usize,
}

/// Policy that selects the SM of a block that fits on several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// The SM that could take the most blocks of the same kernel, the lowest of several: found by experiment
    /// (`GILMAN21` 4.2 and 4.3; later GPUs order equal SMs otherwise). For example, an SM with room for three blocks
    /// comes before one with room for two.
    #[default]
    MostRoom,
    /// The next SM, after the SM of the previous block, on which the block fits: the earlier hypothesis (`GILMAN21`
    /// 4.1), for comparison.
    RoundRobin,
}

/// Block dispatcher: queues of kernels, and the free resources of each SM.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    /// Resources of an empty SM.
    sm_resources: BlockResources,
    /// Free resources of each SM.
    free: Vec<BlockResources>,
    placement: Placement,
    /// SM of the block assigned last.
    last_sm: Option<usize>,
    channels: usize,
    /// All kernels, in the order of launches.
    kernels: Vec<KernelProgress>,
    streams: Vec<StreamQueue>,
    /// EE queues, high priority first (A1).
    ee_queues: [VecDeque<KernelId>; 2],
}

#[derive(Clone, Debug)]
struct KernelProgress {
    kernel: KernelLaunch,
    /// Index of its stream.
    stream: usize,
    /// Whether it is or was in an EE queue.
    queued: bool,
    /// Number of blocks assigned to SMs.
    assigned: u64,
    /// Number of assigned blocks that have ended.
    finished: u64,
}

impl KernelProgress {
    fn is_fully_dispatched(&self) -> bool {
        self.assigned == self.kernel.blocks
    }
}

#[derive(Clone, Debug)]
struct StreamQueue {
    stream: Stream,
    kernels: VecDeque<KernelId>,
    has_channel: bool,
}

impl Dispatcher {
    /// Returns a dispatcher for empty SMs of equal resources, without a limit of channels.
    pub fn new(sms: usize, sm_resources: BlockResources) -> Dispatcher {
        Dispatcher {
            sm_resources,
            free: vec![sm_resources; sms],
            placement: Placement::default(),
            last_sm: None,
            channels: usize::MAX,
            kernels: Vec::new(),
            streams: Vec::new(),
            ee_queues: [VecDeque::new(), VecDeque::new()],
        }
    }

    /// Sets the placement policy.
    #[must_use]
    pub fn with_placement(self, placement: Placement) -> Dispatcher {
        Dispatcher { placement, ..self }
    }

    /// Limits the number of channels, at least one (`BAKITA24` R2: eight by default, two on some Jetson boards).
    ///
    /// A stream holds a channel from the launch of a kernel, if one is free, until all its kernels are fully dispatched
    /// (corollary 1). Kernels that wait for the NULL stream do not count, else streams could wait for each other
    /// (assumption). Free channels are granted in the order of launches (assumption: corollary 2 says that this is not
    /// the order, but gives no other). The NULL stream needs no channel: when it is its turn, the EE queues are empty.
    #[must_use]
    pub fn with_channels(self, channels: usize) -> Dispatcher {
        Dispatcher {
            channels: channels.max(1),
            ..self
        }
    }

    /// Submits a kernel to the end of its stream (G1).
    ///
    /// Returns `None` if it has no blocks, or if a block does not fit on an empty SM: it would block its queue forever.
    pub fn submit(&mut self, kernel: KernelLaunch) -> Option<KernelId> {
        if kernel.blocks == 0
            || self.free.is_empty()
            || self.sm_resources.without(&kernel.need).is_none()
        {
            return None;
        }
        let is_own = |queue: &StreamQueue| queue.stream == kernel.stream;
        let stream = self.streams.iter().position(is_own).unwrap_or_else(|| {
            self.streams.push(StreamQueue {
                stream: kernel.stream,
                kernels: VecDeque::new(),
                has_channel: false,
            });
            self.streams.len() - 1
        });
        let id = KernelId(self.kernels.len());
        self.kernels.push(KernelProgress {
            kernel,
            stream,
            queued: false,
            assigned: 0,
            finished: 0,
        });
        self.streams[stream].kernels.push_back(id);
        self.fill_ee_queues();
        Some(id)
    }

    /// Assigns one block if the rules allow it: a block of the kernel at the head of its EE queue (X1), of the queue
    /// of high priority unless that is empty (A2), and only if one SM has all resources that the block needs (R1 to
    /// R3).
    pub fn assign(&mut self) -> Option<Assignment> {
        let queue = self.ee_queues.iter().position(|queue| !queue.is_empty())?;
        let id = *self.ee_queues[queue].front()?;
        let need = self.kernels[id.0].kernel.need;
        // A block that fits nowhere holds up all kernels after its own (X1).
        let sm = self.select_sm(&need)?;
        self.free[sm] = self.free[sm].without(&need)?;
        self.last_sm = Some(sm);
        let progress = &mut self.kernels[id.0];
        let block = progress.assigned;
        progress.assigned += 1;
        if progress.is_fully_dispatched() {
            // G3.
            self.ee_queues[queue].pop_front();
            self.fill_ee_queues();
        }
        Some(Assignment {
            kernel: id,
            block,
            sm,
        })
    }

    /// Frees the resources of a block that ended on the SM that it was assigned to. Returns whether its kernel is
    /// complete.
    pub fn block_finished(&mut self, kernel: KernelId, sm: usize) -> bool {
        let progress = &mut self.kernels[kernel.0];
        debug_assert!(progress.finished < progress.assigned);
        progress.finished += 1;
        self.free[sm] = self.free[sm].with(&progress.kernel.need);
        let complete = progress.finished == progress.kernel.blocks;
        if complete {
            // G4. It is the head: no other kernel of the stream was in an EE queue.
            let stream = progress.stream;
            self.streams[stream].kernels.pop_front();
            self.fill_ee_queues();
        }
        complete
    }

    /// Whether all kernels are complete.
    pub fn is_done(&self) -> bool {
        self.streams.iter().all(|queue| queue.kernels.is_empty())
    }

    /// Selects the SM of a block; `None` if it fits on none.
    fn select_sm(&self, need: &BlockResources) -> Option<usize> {
        match self.placement {
            Placement::MostRoom => {
                // Strictly more blocks: the lowest of equal SMs stays.
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
                let first = self.last_sm.map_or(0, |last| last + 1);
                let sms = self.free.len();
                (first..first + sms)
                    .map(|sm| sm % sms)
                    .find(|&sm| self.free[sm].without(need).is_some())
            }
        }
    }

    /// Moves kernels from the heads of their streams to the EE queues, in the order of launches (G2).
    fn fill_ee_queues(&mut self) {
        self.assign_channels();
        while let Some(id) = self.next_for_ee_queue() {
            let progress = &mut self.kernels[id.0];
            progress.queued = true;
            // A1.
            let queue = match progress.kernel.priority {
                Priority::High => 0,
                Priority::Low => 1,
            };
            self.ee_queues[queue].push_back(id);
        }
    }

    /// Returns the first kernel, in the order of launches, that may enter an EE queue.
    fn next_for_ee_queue(&self) -> Option<KernelId> {
        let heads = || {
            self.streams
                .iter()
                .filter_map(|queue| queue.kernels.front())
        };
        let may_enter = |queue: &StreamQueue| {
            let head = *queue.kernels.front()?;
            let is_its_turn = if queue.stream == Stream::NULL {
                // N1.
                heads().min() == Some(&head)
            } else {
                // N2 and `BAKITA24` R2: kernels that wait for the NULL stream have no channel.
                queue.has_channel
            };
            (is_its_turn && !self.kernels[head.0].queued).then_some(head)
        };
        self.streams.iter().filter_map(may_enter).min()
    }

    /// Releases the channels that streams no longer need, and grants free channels.
    fn assign_channels(&mut self) {
        let kernels = &self.kernels;
        let null = self.streams.iter().find(|q| q.stream == Stream::NULL);
        let null = null.and_then(|queue| queue.kernels.front().copied());
        // First kernel for which a stream needs a channel: not fully dispatched, and not waiting for the NULL stream
        // (N2).
        let needs = |queue: &StreamQueue| {
            let waits = |id: &KernelId| {
                !kernels[id.0].is_fully_dispatched() && null.is_none_or(|null| *id < null)
            };
            let mut waiting = queue.kernels.iter().copied().filter(waits);
            waiting.next().filter(|_| queue.stream != Stream::NULL)
        };
        let mut used = 0;
        for queue in &mut self.streams {
            queue.has_channel &= needs(queue).is_some();
            used += usize::from(queue.has_channel);
        }
        while used < self.channels {
            let without = self.streams.iter_mut().filter(|queue| !queue.has_channel);
            let next = without
                .filter_map(|queue| Some((needs(queue)?, queue)))
                .min_by_key(|(first, _)| *first);
            let Some((_, queue)) = next else { break };
            queue.has_channel = true;
            used += 1;
        }
    }
}

/// Returns the number of blocks that fit at once: the scarcest resource limits it (`GILMAN21` 4.2).
fn blocks_that_fit(free: &BlockResources, need: &BlockResources) -> u64 {
    [
        (free.threads, need.threads),
        (free.warps, need.warps),
        (free.blocks, need.blocks),
        (free.registers, need.registers),
        (free.shared, need.shared),
        (free.barriers, need.barriers),
    ]
    .into_iter()
    // A resource that the block does not need does not limit it.
    .filter_map(|(free, need)| free.checked_div(need))
    .min()
    .unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
