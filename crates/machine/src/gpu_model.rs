//! Maxwell and Pascal GPUs, as the timing model sees them.

use serde::Deserialize;
use warpbound_base::Diagnostic;

use crate::policy::SchedulerPolicy;
use crate::{Parameter, read};

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
pub enum Provenance {
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
pub struct ParameterRange {
    /// Never less.
    pub least: u64,
    /// Never more.
    pub most: u64,
    /// What is taken when nothing else is said.
    pub typical: u64,
    /// How sure it is.
    pub provenance: Provenance,
    /// Where it is from.
    pub source: String,
}

impl ParameterRange {
    /// The values that the file states: least, typical and most.
    pub fn stated(&self) -> [u64; 3] {
        [self.least, self.typical, self.most]
    }
}

/// What is chosen, not counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelChoices {
    /// Which ready warp issues next.
    pub policy: SchedulerPolicy,
    /// Where that is from.
    pub policy_source: String,
    /// How sure it is.
    pub policy_provenance: Provenance,
}

/// A Maxwell or Pascal GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuModel {
    /// Its name.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The architectures whose code it is for, such as `sm_62`.
    pub architectures: Vec<String>,
    /// What is chosen.
    pub choices: ModelChoices,
    /// A number for each parameter, in their order.
    pub(crate) ranges: Vec<ParameterRange>,
}

impl GpuModel {
    /// The largest number that a file may state.
    pub const MAX_VALUE: u64 = 1 << 40;

    /// The names of those that come with the tool.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// A device that comes with the tool.
    ///
    /// # Errors
    ///
    /// Where there is none of this name.
    pub fn built_in(name: &str) -> Result<GpuModel, Diagnostic> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => GpuModel::parse(name, text),
            None => {
                let names: Vec<&str> = GpuModel::names().collect();
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
    pub fn for_architecture(architecture: &str) -> Result<GpuModel, Diagnostic> {
        for name in GpuModel::names() {
            let device = GpuModel::built_in(name)?;
            if device.is_for(architecture) {
                return Ok(device);
            }
        }
        let what = Diagnostic::new(format!("no machine is for {architecture}"));
        let names: Vec<&str> = GpuModel::names().collect();
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
    pub fn parse(file: &str, text: &str) -> Result<GpuModel, Diagnostic> {
        read::device(file, text)
    }

    /// What a file says of a number.
    pub fn range(&self, parameter: Parameter) -> &ParameterRange {
        &self.ranges[parameter as usize]
    }
}
