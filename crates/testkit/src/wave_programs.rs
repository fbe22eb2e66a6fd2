//! Random programs of GCN3 machine code whose time is hard to limit: loops, waits for all counts, accesses to all
//! memories, results of all latencies. Waits protect nothing: a simulated run computes values at issue, so they
//! change its cycles only.
//!
//! The code replaces the code of a kernel of `kernels/built`, whose arguments and registers it uses.

mod words;

use fastrand::Rng;
use warpbound_base::CodeAddr;
use warpbound_launch::LaunchFile;
use warpbound_query::Session;

use crate::execute::mix;
use crate::kernels::TestLaunch;

use words::Words;

/// Kernel whose code is replaced.
pub const KERNEL: &str = "heart_wall";

/// Code object with the kernel.
const OBJECT: &[u8] = include_bytes!("../../../kernels/built/heart_wall.gfx803.co");

/// First two dwords of its code, and the bytes of its code.
const FIRST: [u32; 2] = [0xd0ca_0000, 0x0002_0080];
const CODE_BYTES: usize = 0x730;

/// Bytes of LDS that lanes access, and the words of a buffer.
const LDS_BYTES: u32 = 8192;
const BUFFER_WORDS: usize = 8192;

/// Random program, its loops and its launch.
#[derive(Clone, Debug)]
pub struct WaveProgram {
    /// Number from which it was generated.
    pub seed: u64,
    /// Machine code.
    pub code: Vec<u32>,
    /// Headers of loops, and the most executions for each entry.
    pub loops: Vec<(CodeAddr, u64)>,
    /// Lanes of its only wave.
    pub threads: u32,
}

/// Generates the program of a seed.
pub fn wave_program(seed: u64) -> WaveProgram {
    let mut rng = Rng::with_seed(mix(&[0x3a7e, seed]));
    let size = rng.usize(8..=48);
    let mut words = Words::new(&mut rng);
    words.prologue();
    words.block(size, 0);
    words.end();
    let (code, loops) = words.finish();
    WaveProgram {
        seed,
        code,
        loops,
        threads: if rng.u8(0..3) == 0 {
            rng.u32(1..=64)
        } else {
            64
        },
    }
}

impl WaveProgram {
    /// Returns a program of given words, such as those after [`WaveProgram::with_prologue`].
    pub fn with_prologue(words: &[u32]) -> WaveProgram {
        let mut rng = Rng::with_seed(1);
        let mut prologue = Words::new(&mut rng);
        prologue.prologue();
        prologue.append(words);
        let (code, loops) = prologue.finish();
        WaveProgram {
            seed: 0,
            code,
            loops,
            threads: 64,
        }
    }

    /// Returns a session of the code object with the program.
    ///
    /// # Panics
    ///
    /// The program is longer than the code that it replaces.
    pub fn session(&self) -> Session {
        let first: Vec<u8> = FIRST.iter().flat_map(|word| word.to_le_bytes()).collect();
        let places = OBJECT.windows(first.len());
        let place = places.enumerate().find(|(_, bytes)| *bytes == first);
        let (place, _) = place.expect("the code of the kernel");
        assert!(
            self.code.len() * 4 <= CODE_BYTES,
            "{} words",
            self.code.len()
        );
        let mut object = OBJECT.to_vec();
        let mut bytes: Vec<u8> = self
            .code
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        // The rest is no part of the program: it ends.
        while bytes.len() < CODE_BYTES {
            bytes.extend(words::ENDPGM.to_le_bytes());
        }
        object[place..place + CODE_BYTES].copy_from_slice(&bytes);
        let name = format!("wave_program_{:#x}.co", self.seed);
        Session::open(&name, &object).expect("the code object of a kernel")
    }

    /// Returns a launch of one wave with some contents of its buffers.
    pub fn launch(&self, contents: u64) -> LaunchFile {
        let mut rng = Rng::with_seed(mix(&[0xb0f, self.seed, contents]));
        let mut buffer = || -> Vec<u32> { (0..BUFFER_WORDS).map(|_| rng.u32(0..64)).collect() };
        let launch = TestLaunch::of(KERNEL, [1; 3], [self.threads, 1, 1])
            .scratch("frame", &buffer())
            .value("width", 40_u32)
            .value("height", 40_u32)
            .scratch("points", &buffer())
            .scratch("templates", &buffer())
            .value("reach", 3_u32)
            .scratch("places", &buffer())
            .scratch("fits", &buffer());
        let mut launch = launch.finish();
        launch.dynamic_shared = LDS_BYTES;
        launch
    }
}
