//! Digest of a launch, over everything that decides the counts of its run. For example, another value of a scalar
//! parameter changes the digest, and another name of a buffer does not.

use warpbound_launch::{LaunchBuffer, LaunchFile, ParamValue};

use crate::COUNTERS;

/// Returns a digest of the grid, the block, the parameters and the contents of a launch, as 16 hexadecimal digits
/// (64-bit FNV-1a, like digests of code). Names of parameters, expected contents, output files and the variable with
/// counters do not count.
pub fn launch_digest(launch: &LaunchFile) -> String {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    hash.text(&format!(
        "{:?} {:?} {} {:?}",
        launch.grid, launch.block, launch.dynamic_shared, launch.stack
    ));
    for param in &launch.params {
        match &param.value {
            ParamValue::Scalar { bytes, .. } => {
                hash.text("scalar");
                hash.sized(bytes);
            }
            ParamValue::Buffer(buffer) => hash.buffer(buffer),
            ParamValue::Alias { buffer, offset } => hash.text(&format!("alias {buffer} {offset}")),
            ParamValue::Texture(number) => hash.text(&format!("texture {number}")),
            ParamValue::Surface(number) => hash.text(&format!("surface {number}")),
        }
    }
    // The launch of an instrumented kernel has this variable in addition, and must have the digest of the plan's
    // launch.
    for variable in launch.variables.iter().filter(|of| of.name != COUNTERS) {
        hash.text(&variable.name);
        hash.buffer(&variable.buffer);
    }
    for texels in &launch.texels {
        hash.buffer(&texels.buffer);
    }
    hash.text(&format!(
        "{:?} {:?} {:?}",
        launch.textures, launch.surfaces, launch.pointers
    ));
    format!("{:016x}", hash.0)
}

struct Fnv(u64);

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Hashes the number of bytes before the bytes, so that `ab`, `c` and `a`, `bc` differ.
    fn sized(&mut self, bytes: &[u8]) {
        self.bytes(&(bytes.len() as u64).to_le_bytes());
        self.bytes(bytes);
    }

    fn text(&mut self, text: &str) {
        self.sized(text.as_bytes());
    }

    fn buffer(&mut self, buffer: &LaunchBuffer) {
        self.text(&format!("{:?} {:?}", buffer.element, buffer.shape));
        self.sized(&buffer.bytes);
    }
}
