//! Maxwell and Pascal GPUs, as the timing model sees them.

use std::ops::Index;

use serde::Deserialize;
use warpbound_base::Diagnostic;

use crate::{Domain, Parameter, read, sense};

/// The devices that come with the tool: name and file.
/// A file may be like one in front of it. For code of an architecture it is the first that lists it.
const BUILT_IN: [(&str, &str); 8] = [
    (
        "jetson-tx2",
        include_str!("../../../machine/nvidia/jetson-tx2.toml"),
    ),
    (
        "gtx1080",
        include_str!("../../../machine/nvidia/gtx1080.toml"),
    ),
    ("p100", include_str!("../../../machine/nvidia/p100.toml")),
    (
        "titan-x-maxwell",
        include_str!("../../../machine/nvidia/titan-x-maxwell.toml"),
    ),
    (
        "gtx1080ti",
        include_str!("../../../machine/nvidia/gtx1080ti.toml"),
    ),
    (
        "titan-xp",
        include_str!("../../../machine/nvidia/titan-xp.toml"),
    ),
    ("p40", include_str!("../../../machine/nvidia/p40.toml")),
    (
        "gtx980",
        include_str!("../../../machine/nvidia/gtx980.toml"),
    ),
];

/// How sure a number is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// The source says it.
    #[default]
    Published,
    /// No source says it; the file says why it was taken.
    Assumed,
    /// Fitted on a measurement that the source names.
    Fitted,
}

/// A number of a device: between `least` and `most`, and what is taken when nothing else is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figure {
    /// Never less.
    pub least: u64,
    /// Never more.
    pub most: u64,
    /// What is taken when nothing else is said.
    pub typical: u64,
    /// How sure it is.
    pub standing: Standing,
    /// Where it is from.
    pub source: String,
}

impl Figure {
    /// The values that the file states: least, typical and most.
    pub fn stated(&self) -> [u64; 3] {
        [self.least, self.typical, self.most]
    }
}

/// Which of the ready warps of a scheduler issues next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The first ready one behind the warp that issued last, cyclically (loose round robin).
    Lrr,
    /// The one that issued last as long as it is ready and does not yield, else the oldest ready one.
    Gto,
    /// The oldest ready one.
    Oldest,
    /// The one that issued last until it ends or waits at a barrier, then the oldest (`pastis-2022`, IV.C).
    RunToBarrier,
}

/// What is chosen, not counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choices {
    /// Which ready warp issues next.
    pub policy: Policy,
    /// Where that is from.
    pub policy_source: String,
    /// How sure it is.
    pub policy_standing: Standing,
}

/// A Maxwell or Pascal GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The architectures whose code it is for, such as `sm_62`.
    pub architectures: Vec<String>,
    /// What is chosen.
    pub choices: Choices,
    /// A number for each parameter, in their order.
    pub(crate) figures: Vec<Figure>,
}

/// Which values of the numbers a run takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pick {
    /// Those that a file names as typical.
    #[default]
    Typical,
    /// The least of each.
    Least,
    /// The most of each.
    Most,
    /// Each at random between its least and its most, the same for the same seed; sizes ([`Domain::Size`]) are one of
    /// the three values that the file states.
    Seed(u64),
}

/// A value for each parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picked {
    values: Vec<u64>,
}

impl Index<Parameter> for Picked {
    type Output = u64;

    #[inline(always)]
    fn index(&self, parameter: Parameter) -> &u64 {
        &self.values[parameter as usize]
    }
}

impl Picked {
    /// The same but for one value.
    #[must_use]
    pub fn with(mut self, parameter: Parameter, value: u64) -> Picked {
        self.values[parameter as usize] = value;
        self
    }

    /// Whether the values together describe a machine: those that a file states do, others need not.
    ///
    /// # Errors
    ///
    /// What is wrong with which number.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let over = Parameter::ALL.iter().zip(&self.values);
        if let Some((parameter, value)) = over.into_iter().find(|(_, v)| **v > Device::MOST) {
            let (name, most) = (parameter.name(), Device::MOST);
            return Err(Diagnostic::new(format!(
                "{name} is {value}, but at most {most} is understood"
            )));
        }
        let values: Vec<[u64; 1]> = self.values.iter().map(|&value| [value]).collect();
        sense::check(&values).map_err(Diagnostic::new)
    }
}

impl Device {
    /// The largest number that a file may state.
    pub const MOST: u64 = 1 << 40;

    /// The names of those that come with the tool.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// A device that comes with the tool.
    ///
    /// # Errors
    ///
    /// Where there is none of this name.
    pub fn built_in(name: &str) -> Result<Device, Diagnostic> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Device::parse(name, text),
            None => {
                let names: Vec<&str> = Device::names().collect();
                let what = Diagnostic::new(format!("there is no machine {name:?}"));
                Err(what.hint(format!(
                    "there are {}, and files that end in .toml",
                    names.join(", ")
                )))
            }
        }
    }

    /// The device that code of an architecture (`sm_62`) runs on when nothing else is said.
    ///
    /// # Errors
    ///
    /// Where no device is for it.
    pub fn for_architecture(architecture: &str) -> Result<Device, Diagnostic> {
        for name in Device::names() {
            let device = Device::built_in(name)?;
            if device.is_for(architecture) {
                return Ok(device);
            }
        }
        let what = Diagnostic::new(format!("no machine is for {architecture}"));
        let names: Vec<&str> = Device::names().collect();
        Err(what.hint(format!("choose with --machine: {}", names.join(", "))))
    }

    /// Whether it is for code of an architecture.
    pub fn is_for(&self, architecture: &str) -> bool {
        self.architectures.iter().any(|known| known == architecture)
    }

    /// Reads a machine file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// One line naming file, position and cause.
    pub fn parse(file: &str, text: &str) -> Result<Device, Diagnostic> {
        read::device(file, text)
    }

    /// What a file says of a number.
    pub fn figure(&self, parameter: Parameter) -> &Figure {
        &self.figures[parameter as usize]
    }

    /// A value for each parameter.
    pub fn pick(&self, pick: Pick) -> Picked {
        let value = |(&parameter, figure): (&Parameter, &Figure)| match pick {
            Pick::Typical => figure.typical,
            Pick::Least => figure.least,
            Pick::Most => figure.most,
            Pick::Seed(seed) => {
                let random = scrambled(scrambled(seed) ^ parameter as u64);
                match parameter.domain() {
                    Domain::Size | Domain::PowerOfTwo => figure.stated()[(random % 3) as usize],
                    _ => figure.least + random % (figure.most - figure.least + 1),
                }
            }
        };
        Picked {
            values: Parameter::ALL
                .iter()
                .zip(&self.figures)
                .map(value)
                .collect(),
        }
    }
}

/// A number that looks random (SplitMix64).
fn scrambled(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
