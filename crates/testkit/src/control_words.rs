//! Random programs of machine code with random control words: every instruction may have any stall count, scoreboards
//! and waits, whether or not they protect its operands. A simulated run computes values at issue, so control words
//! change its cycles only.

mod cubin;
pub mod fixtures;
mod generate;
mod idioms;
mod listing;
mod odd;
mod rows;
mod short;
mod slot;
mod words;

use fastrand::Rng;
use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_ipet::facts::FactsFile;
use warpbound_launch::LaunchFile;
use warpbound_query::{Prepared, Session};
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::EventListener;

use crate::execute::mix;
use crate::kernels::TestLaunch;

use cubin::KernelImage;
use generate::ProgramDraft;

pub use odd::{
    barriers_in_lines, lines_before_a_loop, odd_program, parts_of_constant_lines,
    shuffles_without_scoreboards, stores_of_ended_blocks,
};
pub use rows::row_program;
pub use short::{segment_program, short_program};

/// Name of the kernel of each program.
pub const KERNEL: &str = "control_words";

/// Words of each of the two buffers of a launch.
const BUFFER_WORDS: usize = 4096;

/// Random program, its launch and the bounds of its loops.
#[derive(Clone, Debug)]
pub struct ControlWordProgram {
    /// Number from which it was generated.
    pub seed: u64,
    /// Groups of a control word and three instructions.
    pub code: Vec<u8>,
    /// Loops of the program, in order of address.
    pub loops: Vec<CountedHeader>,
    /// Threads of its launch: one warp, in x.
    pub threads: u32,
    /// Third parameter, on which uniform branches depend.
    pub limit: u32,
}

/// Loop of a random program and its bound, which holds for all launches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountedHeader {
    /// Address of the header.
    pub header: CodeAddr,
    /// Address of the branch to the header.
    pub latch: CodeAddr,
    /// Maximum of header executions of a thread for each entry of the loop.
    pub per_entry: u64,
}

/// Generates the program of a seed.
pub fn program(seed: u64) -> ControlWordProgram {
    let mut rng = Rng::with_seed(mix(&[0xc0de, seed]));
    let mut draft = ProgramDraft::new(&mut rng);
    draft.write();
    let (code, loops) = draft.finish();
    ControlWordProgram {
        seed,
        code,
        loops,
        threads: match rng.u8(0..3) {
            0 => rng.u32(1..=32),
            _ => 32,
        },
        limit: rng.u32(0..16),
    }
}

impl ControlWordProgram {
    /// Returns a cubin with the program as its only kernel, for an architecture such as 61; the words are valid from
    /// sm_52 on.
    pub fn cubin(&self, sm: u8) -> Vec<u8> {
        KernelImage {
            name: KERNEL,
            sm,
            code: &self.code,
            registers: words::REGISTERS,
            barriers: 2,
            params: &[8, 8, 4],
            shared: generate::SHARED_BYTES,
            frame: generate::LOCAL_BYTES,
            constants: &constants(self.seed),
        }
        .to_elf()
    }

    /// Returns a session with [`ControlWordProgram::cubin`].
    ///
    /// # Panics
    ///
    /// The loader refuses the file.
    pub fn session(&self, sm: u8) -> Session {
        let name = format!("{KERNEL}_{:#x}.sm_{sm}.cubin", self.seed);
        Session::open(&name, &self.cubin(sm)).expect("the writer and the loader agree")
    }

    /// Returns a launch of one warp. `contents` selects the contents of its buffers, which no claim may depend on.
    pub fn launch(&self, contents: u64) -> LaunchFile {
        let mut rng = Rng::with_seed(mix(&[0xb0f, self.seed, contents]));
        // Small numbers, so that values from memory pass some comparisons and fail others.
        let mut buffer = || -> Vec<u32> {
            let wide = rng.bool();
            let word = |rng: &mut Rng| match wide {
                true => rng.u32(..),
                false => rng.u32(0..64),
            };
            (0..BUFFER_WORDS).map(|_| word(&mut rng)).collect()
        };
        TestLaunch::of(KERNEL, [1; 3], [self.threads, 1, 1])
            .scratch("a", &buffer())
            .scratch("b", &buffer())
            .value("limit", self.limit)
            .finish()
    }

    /// Returns the bounds of its loops as a facts file for a session of it.
    ///
    /// # Panics
    ///
    /// The session is not of this program.
    pub fn facts(&self, session: &Session) -> FactsFile {
        let kernel = session.launched_kernel(None, Some(KERNEL));
        let digest = kernel.expect("a session of this program").code_digest();
        let mut text = format!("[[kernel]]\nname = \"{KERNEL}\"\ncode = \"{digest}\"\nloops = [\n");
        for fact in &self.loops {
            let (header, bound) = (fact.header, fact.per_entry);
            text.push_str(&format!("    {{ at = \"{header}\", bound = {bound} }},\n"));
        }
        text.push_str("]\n");
        FactsFile::parse("facts", &text).expect("facts in their format")
    }

    /// Simulates a launch on the machine of the options; returns the cycles.
    ///
    /// # Errors
    ///
    /// Errors of [`simulate`](warpbound_runs::simulate); the program itself causes none.
    pub fn cycles(
        &self,
        session: &Session,
        launch: &LaunchFile,
        options: &TimedOptions,
        listener: &mut impl EventListener,
    ) -> Result<u64, Diagnostic> {
        let prepared = self.prepared(session)?;
        let run = simulate_with(session, &prepared, launch, options, listener)?;
        Ok(run.cycles.0.0)
    }

    /// Returns the prepared kernel of a session of this program.
    ///
    /// # Errors
    ///
    /// Errors of [`Session::prepare`]; the program itself causes none.
    pub fn prepared<'s>(&self, session: &'s Session) -> Result<Prepared<'s>, Diagnostic> {
        session.prepare(session.launched_kernel(None, Some(KERNEL))?)
    }
}

/// Returns the contents of constant bank 3.
fn constants(seed: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(mix(&[0xc04, seed]));
    (0..words::CONSTANT_BYTES).map(|_| rng.u8(..)).collect()
}
