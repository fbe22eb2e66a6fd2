//! Required distances from Volta on, from the table `isa/nvidia/volta.distances`.
//!
//! The classes are the timing classes of `volta.names`. A row has two classes, the kind of a register with its use, and
//! for each architecture the least distance and the number of samples (isa/nvidia/README.md). For example, `alu fma R 4:5000`
//! says that a register that an addition has written may be read by a multiplication after 4 cycles, because compilers
//! never leave fewer in 5000 places.

use std::sync::LazyLock;

use warpbound_base::Family;
use warpbound_isa::Arch;
use warpbound_isa::nvidia::{SassInstr, SassProgram, Timing};

use super::distances::{Classes, Distances, RegisterUse};
use super::hazards::result_queue;

/// Cycles after which every result of fixed latency is present.
const HORIZON: u8 = 40;

/// Classes of `volta.names`, and parts of them.
pub(super) const CLASSES: &[&str] = &[
    "alu",
    "dual",
    "viadd",
    "half",
    "half.alu",
    "half.mma",
    "disp64",
    "fma",
    "imad",
    "wide",
    "wide.second",
    "wide.addend",
    "udp",
    "umov",
    "fe",
    "fp64",
    "xu",
    "conv",
    "shfl",
    "lsu",
    "lds",
    "lsu.r",
    "ldc",
    "s2r",
    "texture",
    "mio",
    "r2ur",
    "bar",
    "membar",
    "depbar",
    "bru",
];

const TABLE: &str = include_str!("../../../../isa/nvidia/volta.distances");

/// Required distances of each architecture.
static DISTANCES: LazyLock<Vec<(Arch, Distances)>> = LazyLock::new(|| {
    let archs = Arch::of_family(Family::Volta);
    archs.map(|arch| (arch, read(arch))).collect()
});

/// Required distances of an architecture.
pub(super) fn distances(arch: Arch) -> Option<&'static Distances> {
    let mut all = DISTANCES.iter();
    all.find_map(|(known, distances)| (*known == arch).then_some(distances))
}

/// Classes of an instruction.
pub(super) fn classes(distances: &Distances, program: &SassProgram, instr: &SassInstr) -> Classes {
    let timing = program.timing(instr);
    let name = timing.map_or(Distances::UNLISTED, |timing| timing.name);
    Classes::of(distances, name, name)
}

/// All operations outside the sub-partition pass one queue, which reads their sources in order: compilers let a wait for
/// a later one of them stand for the sources of an earlier one.
pub(super) fn source_queue(timing: &Timing) -> Option<&'static str> {
    const SHARED: &str = "mio";
    match timing.pipes.contains(&SHARED) {
        true => Some(SHARED),
        false => result_queue(timing),
    }
}

/// Rows of the table: words of each line.
pub(super) fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>())
        .filter(|words| !words.is_empty())
}

fn read(arch: Arch) -> Distances {
    let mut rows = rows();
    // The first row names the architectures of the columns.
    let header = rows.next().unwrap_or_default();
    let name = arch.sm().to_string();
    let column = header.iter().position(|word| *word == name);
    let rows: Vec<Vec<&str>> = rows.collect();
    // Classes without a row are there too, because learning has to name what it finds.
    let mut distances = Distances::new(CLASSES, HORIZON);
    for row in &rows {
        let (&[producer, user, used, ..], Some(column)) = (&row[..], column) else {
            continue;
        };
        // The number of samples after the colon is for readers of the table.
        let number = row.get(column).and_then(|word| word.split(':').next());
        let number = number.and_then(|number| number.parse().ok());
        if let (Some(number), Some(used)) = (number, RegisterUse::named(used)) {
            let (producer, user) = (distances.class(producer), distances.class(user));
            distances.require(producer, user, used, number);
        }
    }
    distances
}
