//! Memory that the runtime of AMD's GPUs places for a launch: the queue, the code object, the arguments and the
//! dispatch packet. Scalar loads read it without a translation, so its pages count only if vector accesses touch it
//! (SOUNDNESS 11.7). For example, lanes that look up a table of constants in the code object touch it.

use std::ops::Range;

use warpbound_analyse::runtime_pointers::may_reach_accesses;
use warpbound_base::Diagnostic;
use warpbound_ir::{Cell, Code};
use warpbound_launch::{Launch, LaunchFile};
use warpbound_report::BoundAssumption;

use warpbound_query::prepared::Prepared;
use warpbound_query::{KernelFlow, Session};

/// Whether vector accesses of a launch may follow the pointers to memory of the runtime.
pub(super) fn may_be_accessed(code: &Code, flow: &KernelFlow, launch: &Launch) -> bool {
    let entry = launch.wave_entry.as_ref();
    entry.is_some_and(|entry| {
        let pointers: Vec<Cell> = entry.runtime_pointers().map(Cell::scalar).collect();
        may_reach_accesses(code, &flow.thread, &pointers)
    })
}

/// States that vector accesses stay out of the memory of the runtime.
pub(super) fn assumption() -> BoundAssumption {
    BoundAssumption {
        id: "runtime-memory",
        text: "no lane accesses the queue, the code object, the arguments or the dispatch packet, unless the kernel computes \
               addresses of lanes from the pointers to them that a wave begins with, or from its program counter: no index \
               leads out of a buffer into them, and lanes follow no address of them that is loaded"
            .to_owned(),
    }
}

/// Returns the addresses that no vector access of a launch touches, by the assumption `runtime-memory`. There are
/// none for NVIDIA's GPUs.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn untouched_memory(
    session: &Session,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    launch: &LaunchFile,
) -> Result<Vec<Range<u64>>, Diagnostic> {
    let (launch, memory) = session.bind(prepared, launch, Default::default(), 0)?;
    if may_be_accessed(&prepared.code, flow, &launch) {
        return Ok(Vec::new());
    }
    let buffers = memory.buffers().iter();
    let of_runtime = buffers.filter(|buffer| buffer.of_runtime.is_some());
    let ranges =
        of_runtime.map(|buffer| buffer.address..buffer.address + buffer.bytes.len() as u64);
    Ok(ranges.collect())
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "tests")]
mod tests {
    use std::path::Path;

    use super::*;
    use warpbound_query::BoundOptions;

    /// Ranges that no vector access of a launch of `kernels/practice` touches.
    fn untouched(name: &str) -> usize {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/practice");
        let read = |end: &str| std::fs::read(folder.join(format!("{name}{end}"))).expect("a file");
        let session = Session::open(name, &read(".gfx803.co")).expect("it loads");
        let text = String::from_utf8(read(".toml")).expect("text");
        let files = |file: &str| Err(Diagnostic::new(format!("{file} is no part of the launch")));
        let launch = LaunchFile::parse(name, &text, &files).expect("a launch file");
        let kernel = session.launched_kernel(None, launch.kernel.as_deref());
        let prepared = session
            .prepare(kernel.expect("it has it"))
            .expect("it decodes");
        let options = BoundOptions::default();
        let knowledge = session.launch(prepared.kernel, &options);
        let context = knowledge.expect("no statement").context;
        let flow = session.flow(&prepared, &context, &options);
        let flow = flow.expect("it is followed");
        let ranges = untouched_memory(&session, &prepared, &flow, &launch);
        ranges.expect("the launch suits the kernel").len()
    }

    /// Tables of constants lie in the code object: lanes look up words of the first two kernels there.
    #[test]
    fn tables_in_the_code_object_are_memory_of_the_runtime() {
        assert_eq!(untouched("adpcm_decode"), 0);
        assert_eq!(untouched("base64_encode"), 0);
        // Queue, code object, arguments, dispatch packet.
        assert_eq!(untouched("ell_spmv"), 4);
    }
}
