//! Occupancy of kernels, from the resources that their files state.
//!
//! For example, on an SM with 65,536 registers a kernel with 64 registers per thread and blocks of 256 threads has 4
//! resident blocks, which are 32 warps. Dynamic shared memory is not counted, because a launch sets it and no file
//! states it.

use std::collections::BTreeMap;

use warpbound_base::Family;
use warpbound_load::Kernel;
use warpbound_machine::{
    GpuModel, Limit, MachineConfig, Occupancy, Selection, SmResources, WaveNeeds,
};

/// Warps of a kernel that an SM or a compute unit holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KernelOccupancy {
    /// Resident warps; 0 if no block fits.
    pub warps: u64,
    /// Maximum number of resident warps of an SM or compute unit.
    pub most_warps: u64,
    /// Threads of a block: the known number, else the smallest tried size with the most resident warps.
    pub threads: u64,
    /// Whether the threads of a block are known.
    pub is_known: bool,
    /// Resources that are exhausted for one more block.
    pub limits: Vec<&'static str>,
}

impl KernelOccupancy {
    /// Returns what limits the occupancy, in words.
    pub(crate) fn limited(&self) -> String {
        let (most, threads, limits) = (self.most_warps, self.threads, self.limits.join(" and "));
        let blocks = match self.is_known {
            true => format!("blocks of {threads} threads"),
            false => format!("blocks of {threads} threads, the best size"),
        };
        format!("of {most}, limited by {limits}, {blocks}")
    }
}

/// Machine of an architecture, as far as it is known.
enum KnownMachine {
    /// Of a machine file.
    File(MachineConfig),
    /// Only the resources of an SM.
    Resources(SmResources),
}

/// Calculator of occupancies on the default machine of each architecture.
#[derive(Default)]
pub struct OccupancyCalculator {
    machines: BTreeMap<String, Option<KnownMachine>>,
}

/// Maximum number of threads per block.
const MOST_THREADS: u64 = 1024;

/// Step between the block sizes that are tried: the 64 lanes of a wave, or two warps.
const STEP: u64 = Family::Gcn3.lanes() as u64;

impl OccupancyCalculator {
    /// Adds the machine of an architecture.
    pub(super) fn learn(&mut self, isa: &str) {
        let machine = || match GpuModel::for_architecture(isa) {
            Ok(model) => Some(KnownMachine::File(model.select(Selection::Typical))),
            Err(_) => Some(KnownMachine::Resources(SmResources::of(isa).ok()??)),
        };
        self.machines.entry(isa.to_owned()).or_insert_with(machine);
    }

    /// Returns the occupancy of a kernel with blocks of the given size, else of the size that the kernel requires,
    /// else of the size with the most resident warps. `None` if shared memory or the machine is not known.
    pub(super) fn occupancy(
        &self,
        kernel: &Kernel,
        isa: &str,
        block: Option<[u32; 3]>,
    ) -> Option<KernelOccupancy> {
        let machine = self.machines.get(isa)?.as_ref()?;
        let shared = u64::from(kernel.static_shared?);
        let product = |block: [u32; 3]| block.iter().map(|&n| u64::from(n)).product::<u64>();
        let of = |threads: u64| OccupancyQuery {
            machine,
            kernel,
            threads,
            shared,
        };
        if let Some(threads) = block.or(kernel.required_block).map(product) {
            return Some(of(threads).answer(true));
        }
        let most = kernel.max_threads.map_or(MOST_THREADS, product);
        // Whole waves only, because inactive lanes of a partial one occupy registers all the same. At least one size
        // is tried, even if the kernel allows fewer threads.
        let sizes = (1..=most.clamp(STEP, MOST_THREADS) / STEP).map(|n| n * STEP);
        let all = sizes.map(|threads| of(threads).answer(false));
        // Sizes ascend, so of equal ones the smallest is kept.
        all.reduce(|best, next| match next.warps > best.warps {
            true => next,
            false => best,
        })
    }
}

/// Kernel and size of a block.
struct OccupancyQuery<'a> {
    machine: &'a KnownMachine,
    kernel: &'a Kernel,
    threads: u64,
    shared: u64,
}

impl OccupancyQuery<'_> {
    fn answer(&self, is_known: bool) -> KernelOccupancy {
        let (machine, kernel, threads) = (self.machine, self.kernel, self.threads);
        let registers = kernel.registers.into();
        let found = match (machine, &kernel.code_object) {
            (KnownMachine::File(machine), Some(object)) => {
                let needs = WaveNeeds {
                    vgprs: object.descriptor.vector_registers().into(),
                    sgprs: object.descriptor.scalar_registers().into(),
                };
                Occupancy::of_cu(machine, threads, &needs, self.shared)
            }
            (KnownMachine::File(machine), None) => {
                Occupancy::of(machine, threads, registers, self.shared)
            }
            (KnownMachine::Resources(sm), _) => Occupancy::of(sm, threads, registers, self.shared),
        };
        let name = match kernel.code_object {
            None => Limit::name,
            Some(_) => Limit::gcn3_name,
        };
        match found {
            Ok(found) => KernelOccupancy {
                warps: found.warps,
                most_warps: found.most_warps,
                threads,
                is_known,
                limits: found.limits.iter().copied().map(name).collect(),
            },
            // A block that does not fit is a figure, 0 warps, and not an error: other kernels of the build are
            // compared all the same.
            Err(_) => KernelOccupancy {
                warps: 0,
                most_warps: 0,
                threads,
                is_known,
                limits: vec!["no block fits"],
            },
        }
    }
}
