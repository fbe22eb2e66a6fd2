//! Models of GPUs: ranges for all parameters of the timing model of their family.

use std::ops::RangeInclusive;

use serde::Deserialize;
use warpbound_base::{Diagnostic, Family};

use crate::policy::SchedulerPolicy;
use crate::{Parameter, read};

/// Built-in models: name and machine file. Files may inherit (`like`) from files before them; the first file that lists
/// an architecture is the default for its code.
const BUILT_IN: &[(&str, &str)] = &[
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
    (
        "gem5-apu",
        include_str!("../../../machine/amd/gem5-apu.toml"),
    ),
    ("r9-nano", include_str!("../../../machine/amd/r9-nano.toml")),
    ("h200", include_str!("../../../machine/nvidia/h200.toml")),
    ("h100", include_str!("../../../machine/nvidia/h100.toml")),
    ("a100", include_str!("../../../machine/nvidia/a100.toml")),
    (
        "rtx3090",
        include_str!("../../../machine/nvidia/rtx3090.toml"),
    ),
    (
        "jetson-orin",
        include_str!("../../../machine/nvidia/jetson-orin.toml"),
    ),
    (
        "rtx4090",
        include_str!("../../../machine/nvidia/rtx4090.toml"),
    ),
    ("t4", include_str!("../../../machine/nvidia/t4.toml")),
    ("b200", include_str!("../../../machine/nvidia/b200.toml")),
    ("thor", include_str!("../../../machine/nvidia/thor.toml")),
    (
        "rtx5090",
        include_str!("../../../machine/nvidia/rtx5090.toml"),
    ),
];

/// Provenance of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Published for this device, by the source.
    #[default]
    Published,
    /// Not published; the source gives the reason for the value.
    Assumed,
    /// Fitted to a measurement that the source names.
    Fitted,
    /// Measured on this device, by the experiment that the source names; its record is in the repository.
    Measured,
}

impl Provenance {
    /// Whether the range is known of this device: published or measured.
    pub fn is_of_device(self) -> bool {
        matches!(self, Provenance::Published | Provenance::Measured)
    }
}

/// Range of a parameter of a device, with its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterRange {
    /// Minimum value.
    pub least: u64,
    /// Maximum value.
    pub most: u64,
    /// Value that runs use by default.
    pub typical: u64,
    /// Provenance of the range.
    pub provenance: Provenance,
    /// Source: author, publication and table, or the reason for an assumption.
    pub source: String,
}

impl ParameterRange {
    /// Returns the minimum, the typical and the maximum value, in this order.
    pub fn stated(&self) -> [u64; 3] {
        [self.least, self.typical, self.most]
    }
}

/// Mode of the clock that the user of a device chooses, such as with `nvpmodel`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockMode {
    /// Name of the mode.
    pub name: String,
    /// Frequency of the SMs in kHz.
    pub frequency: u64,
    /// Source: author, publication and table.
    pub source: String,
}

/// Clocks of a device for which times are stated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClockBasis {
    /// Minimum frequency in the machine file: the base clock.
    Base,
    /// Modes of the machine file.
    Modes(Vec<ClockMode>),
    /// Minimum frequency of a range that the user states.
    Stated,
}

/// Choices of a model that are not numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelChoices {
    /// Warp scheduling policy.
    pub policy: SchedulerPolicy,
    /// Source of the policy.
    pub policy_source: String,
    /// Provenance of the policy.
    pub policy_provenance: Provenance,
}

/// Model of a GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuModel {
    /// Name, as in `--machine`.
    pub name: String,
    /// Name of the product and the chip.
    pub title: String,
    /// Architectures whose code it executes, such as `sm_62`; all of one family.
    pub architectures: Vec<String>,
    /// Choices that are not numbers.
    pub choices: ModelChoices,
    /// Family, which decides what parameters it has.
    pub(crate) family: Family,
    /// Clocks for which times are stated.
    pub(crate) clock: ClockBasis,
    /// Range of each parameter, in the order of [`Parameter::ALL`]; 0 to 0 for parameters of other families.
    pub(crate) ranges: Vec<ParameterRange>,
}

/// Returns an architecture without the letter of its variant: code for `sm_90a` runs on the SMs of `sm_90`, and code for
/// `sm_100f` on the SMs of `sm_100`.
pub(crate) fn without_variant(architecture: &str) -> &str {
    let is_nvidia = architecture.starts_with("sm_");
    let base = architecture.strip_suffix(['a', 'f']);
    base.filter(|_| is_nvidia).unwrap_or(architecture)
}

impl GpuModel {
    /// Clocks for which times are stated.
    pub fn clock(&self) -> &ClockBasis {
        &self.clock
    }

    /// Returns the model with a range of clock frequencies that the user states, in kHz.
    ///
    /// # Errors
    ///
    /// A frequency is outside the range of real GPUs: for example, 1500 kHz, which is probably in MHz.
    pub fn with_clock(mut self, kilohertz: RangeInclusive<u64>) -> Result<GpuModel, Diagnostic> {
        let (least, most) = kilohertz.into_inner();
        // Runs may use either end.
        for value in [least, most] {
            crate::validity::check_value(self.family, Parameter::Clock, value)
                .map_err(Diagnostic::new)?;
        }
        if let Some(range) = self.ranges.get_mut(Parameter::Clock as usize) {
            *range = ParameterRange {
                least,
                most,
                // Times are stated for the minimum frequency (SOUNDNESS 2, `clock`).
                typical: least,
                provenance: Provenance::Published,
                source: "stated by the user".to_owned(),
            };
        }
        self.clock = ClockBasis::Stated;
        Ok(self)
    }

    /// Largest value that a machine file may state.
    pub const MAX_VALUE: u64 = 1 << 40;

    /// Names of the built-in models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Names of the built-in models of a family.
    pub fn names_of(family: Family) -> impl Iterator<Item = &'static str> {
        let is_of =
            move |name: &&str| GpuModel::built_in(name).is_ok_and(|model| model.family() == family);
        GpuModel::names().filter(is_of)
    }

    /// Returns a built-in model.
    ///
    /// # Errors
    ///
    /// No built-in model has this name.
    pub fn built_in(name: &str) -> Result<GpuModel, Diagnostic> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => GpuModel::parse(name, text),
            None => {
                let names: Vec<&str> = GpuModel::names().collect();
                let error = Diagnostic::new(format!("there is no machine {name:?}"));
                Err(error.hint(format!(
                    "there are {}, and files that end in .toml",
                    names.join(", ")
                )))
            }
        }
    }

    /// Returns the default model for code of an architecture (`sm_62`).
    ///
    /// # Errors
    ///
    /// No built-in model executes such code.
    pub fn for_architecture(architecture: &str) -> Result<GpuModel, Diagnostic> {
        for name in GpuModel::names() {
            let device = GpuModel::built_in(name)?;
            if device.is_for(architecture) {
                return Ok(device);
            }
        }
        let error = Diagnostic::new(format!("no machine is for {architecture}"));
        let names: Vec<&str> = GpuModel::names().collect();
        Err(error.hint(format!("choose with --machine: {}", names.join(", "))))
    }

    /// Whether the model executes code of an architecture.
    pub fn is_for(&self, architecture: &str) -> bool {
        let architecture = without_variant(architecture);
        self.architectures.iter().any(|known| known == architecture)
    }

    /// Parses a machine file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// The first error, with file, position and cause.
    pub fn parse(file: &str, text: &str) -> Result<GpuModel, Diagnostic> {
        read::parse_gpu_model(file, text)
    }

    /// Family of the model.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Parameters of the model's family, in the order of [`Parameter::ALL`].
    pub fn parameters(&self) -> impl Iterator<Item = Parameter> + use<> {
        Parameter::of_family(self.family)
    }

    /// Returns the model with the range of a parameter reduced to one value. The code that uses a configuration
    /// checks whether its values together describe a machine.
    #[must_use]
    pub fn with(mut self, parameter: Parameter, value: u64) -> GpuModel {
        // One entry for each parameter, so the index is in bounds.
        let range = &mut self.ranges[parameter as usize];
        (range.least, range.most, range.typical) = (value, value, value);
        self
    }

    /// Returns the model with the range of a parameter extended so that it contains a value.
    #[must_use]
    pub fn extended(mut self, parameter: Parameter, value: u64) -> GpuModel {
        let range = &mut self.ranges[parameter as usize];
        (range.least, range.most) = (range.least.min(value), range.most.max(value));
        self
    }

    /// Range of a parameter; 0 to 0 if machines of this family lack it.
    pub fn range(&self, parameter: Parameter) -> &ParameterRange {
        &self.ranges[parameter as usize]
    }
}
