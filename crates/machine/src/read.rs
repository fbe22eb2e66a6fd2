//! Parser of the machine files of GPUs: returns a complete and checked [`GpuModel`], or the first error.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpbound_base::{Diagnostic, Family, Isa};

use crate::policy::SchedulerPolicy;
use crate::{
    ClockBasis, ClockMode, GpuModel, ModelChoices, Parameter, ParameterRange, ParameterSum,
    Provenance, validity,
};

/// Parses a machine file; `file` is its name in messages.
pub(crate) fn parse_gpu_model(file: &str, text: &str) -> Result<GpuModel, Diagnostic> {
    let error = |message: String| Diagnostic::new(message).in_file(file);
    let raw: RawModel = toml::from_str(text).map_err(|error| {
        let at = error.span().map(|span| span.start);
        Diagnostic::for_text(file, text, error.message(), at)
    })?;
    // Read first, because a file without architectures has the family of the model that it inherits from.
    let base = base_model(file, &raw)?;
    let family = family_of(&raw.architectures, base.as_ref()).map_err(error)?;
    let mut sections = Sections {
        file,
        text,
        sections: raw.sections,
    };
    let clock = sections.take_modes(family)?;
    let mut ranges = Vec::with_capacity(Parameter::ALL.len());
    // In this order, the other summand of a sum is known before the part that the sum states.
    for &parameter in Parameter::ALL {
        let range = match parameter.is_of(family) {
            true => sections.take_parameter(parameter, base.as_ref(), &raw.same, &ranges)?,
            false => absent(),
        };
        ranges.push(range);
    }
    // All known keys have been taken, so any key left is unknown or belongs to another family.
    if let Some(name) = sections.first_unknown(family) {
        let message = match Parameter::named(&name) {
            Ok(_) => format!("{name} is not known of {family}"),
            Err(_) => format!("{name} is not known"),
        };
        return Err(Diagnostic::for_text(file, text, &message, None));
    }
    let stated: Vec<[u64; 3]> = ranges.iter().map(ParameterRange::stated).collect();
    // Runs may select any stated value, so all combinations have to describe a machine, not only the typical values.
    validity::check(family, &stated).map_err(error)?;
    Ok(GpuModel {
        choices: model_choices(raw.scheduler, base)
            .map_err(|diagnostic| diagnostic.in_file(file))?,
        name: raw.name,
        title: raw.title,
        architectures: raw.architectures,
        family,
        clock,
        ranges,
    })
}

/// Returns the family of a machine: the family of its architectures or, if it lists none, of the model that it
/// inherits from.
fn family_of(architectures: &[String], base: Option<&GpuModel>) -> Result<Family, String> {
    let families = architectures.iter().map(|name| family_named(name));
    let families = families.collect::<Result<Vec<Family>, String>>()?;
    let inherited = base.map(GpuModel::family);
    let Some(family) = families.first().copied().or(inherited) else {
        return Err("architectures: there is none, and no machine to inherit from".to_owned());
    };
    if families.iter().any(|&other| other != family) {
        return Err("architectures: they belong to machines of different kinds".to_owned());
    }
    match (base, inherited) {
        (Some(base), Some(inherited)) if inherited != family => Err(format!(
            "like: {} is one of the {inherited}, but the architectures are of {family}",
            base.name
        )),
        _ => Ok(family),
    }
}

/// Returns the family of the machines for code of an architecture, such as `gfx803`.
fn family_named(architecture: &str) -> Result<Family, String> {
    let in_list = |why: String| format!("architectures: {why}");
    let isa: Isa = architecture.parse().map_err(in_list)?;
    let supported = isa.check_timed().map_err(|why| in_list(why.to_string()));
    let family = isa.family();
    supported.and_then(|()| family.ok_or_else(|| in_list(format!("{isa} has no family"))))
}

/// Returns the range, 0 to 0, of a parameter that the machines of a family lack.
fn absent() -> ParameterRange {
    ParameterRange {
        least: 0,
        most: 0,
        typical: 0,
        provenance: Provenance::Published,
        source: String::new(),
    }
}

/// Returns the choices that a file states or inherits.
fn model_choices(
    stated: Option<RawScheduler>,
    base: Option<GpuModel>,
) -> Result<ModelChoices, Diagnostic> {
    match (stated, base) {
        (Some(RawScheduler { policy }), _) => {
            if policy.source.trim().is_empty() {
                let message = "scheduler.policy does not say where it is from";
                return Err(Diagnostic::new(message.to_owned()));
            }
            Ok(ModelChoices {
                policy: policy.value,
                policy_source: policy.source,
                policy_provenance: policy.standing,
            })
        }
        // The source is about the other device, so an inherited policy is an assumption.
        (None, Some(base)) => Ok(ModelChoices {
            policy_source: inherited_source(&base, &base.choices.policy_source),
            policy_provenance: Provenance::Assumed,
            ..base.choices
        }),
        (None, None) => {
            let hint = "policy = { value, source } in a section [scheduler]";
            Err(Diagnostic::new("scheduler.policy is missing".to_owned()).hint(hint))
        }
    }
}

/// Sections of a machine file, from which parameters are taken one by one.
struct Sections<'a> {
    file: &'a str,
    text: &'a str,
    sections: BTreeMap<String, toml::Value>,
}

impl Sections<'_> {
    /// Takes the modes of the clock. Without any, times are stated at the base clock.
    fn take_modes(&mut self, family: Family) -> Result<ClockBasis, Diagnostic> {
        let section = self.sections.get_mut("clock");
        // Removed, because `first_unknown` refuses what no parameter has taken.
        let modes = section.and_then(|section| section.as_table_mut()?.remove("modes"));
        let Some(modes) = modes else {
            return Ok(ClockBasis::Base);
        };
        let fail = |message: &str| Diagnostic::for_text(self.file, self.text, message, None);
        let modes: Vec<ClockMode> = modes
            .try_into()
            .map_err(|error: toml::de::Error| fail(&format!("clock.modes: {}", error.message())))?;
        if modes.is_empty() {
            return Err(fail("clock.modes is empty"));
        }
        for mode in &modes {
            validity::check_value(family, Parameter::Clock, mode.frequency)
                .map_err(|why| fail(&format!("clock.modes, {}: {why}", mode.name)))?;
            if mode.source.trim().is_empty() {
                let message = format!(
                    "clock.modes, {}: it does not say where it is from",
                    mode.name
                );
                return Err(fail(&message));
            }
        }
        Ok(ClockBasis::Modes(modes))
    }

    /// Takes the range of a parameter: stated, stated as a sum with another parameter, or inherited. `before` has the
    /// ranges of the parameters that precede it.
    fn take_parameter(
        &mut self,
        parameter: Parameter,
        base: Option<&GpuModel>,
        same: &[String],
        before: &[ParameterRange],
    ) -> Result<ParameterRange, Diagnostic> {
        let name = parameter.name();
        let own = self.take(name)?;
        let sum = match ParameterSum::of(parameter) {
            Some(sum) => self.take(sum.name())?.map(|range| (sum, range)),
            None => None,
        };
        match (own, sum, base) {
            (Some(_), Some((sum, _)), _) => {
                let (sum, other) = (sum.name(), sum.other().name());
                let message = format!(
                    "{name} and {sum} are both there, but {sum} is {name} and {other} together"
                );
                Err(Diagnostic::new(message).in_file(self.file))
            }
            (Some(range), None, _) => Ok(range),
            (None, Some((sum, range)), _) => Ok(subtract_other(sum, range, before)),
            (None, None, Some(base)) => Ok(inherit(base, parameter, same)),
            (None, None, None) => {
                let missing = Diagnostic::new(format!("{name} is missing")).in_file(self.file);
                Err(missing.hint(format!("it is: {}", parameter.meaning())))
            }
        }
    }

    /// Takes the range stated under a name, `section.key`.
    fn take(&mut self, name: &str) -> Result<Option<ParameterRange>, Diagnostic> {
        let stated = name.split_once('.').and_then(|(section, key)| {
            let keys = self.sections.get_mut(section)?.as_table_mut()?;
            keys.remove(key)
        });
        let Some(stated) = stated else {
            return Ok(None);
        };
        let range: RawRange = stated.try_into().map_err(|error: toml::de::Error| {
            let message = format!("{name}: {}", error.message());
            Diagnostic::for_text(self.file, self.text, &message, None)
        })?;
        let checked = range.check(name);
        let range = checked.map_err(|message| Diagnostic::new(message).in_file(self.file))?;
        Ok(Some(range))
    }

    /// Returns the first key or section that no parameter of a family has. All known keys have been taken before.
    fn first_unknown(&self, family: Family) -> Option<String> {
        self.sections.iter().find_map(|(section, keys)| {
            let is_in = |parameter: Parameter| section_of(parameter.name()) == Some(section);
            match keys.as_table().map(|keys| keys.keys().next()) {
                Some(Some(key)) if Parameter::ALL.iter().copied().any(is_in) => {
                    Some(format!("{section}.{key}"))
                }
                // An empty section of the family has had its keys taken.
                Some(None) if Parameter::of_family(family).any(is_in) => None,
                // No table, or a section that no parameter of the family has.
                _ => Some(section.clone()),
            }
        })
    }
}

/// Returns the section of a parameter name, for example `l2` for `l2.hit`.
fn section_of(name: &str) -> Option<&str> {
    name.split_once('.').map(|(section, _)| section)
}

/// Returns the model that a file inherits from.
fn base_model(file: &str, raw: &RawModel) -> Result<Option<GpuModel>, Diagnostic> {
    let error = |message: String| Diagnostic::new(message).in_file(file);
    let is_known = |same: &&String| {
        let matches = |parameter: &Parameter| {
            let name = parameter.name();
            name == same.as_str() || section_of(name) == Some(same.as_str())
        };
        Parameter::ALL.iter().any(matches)
    };
    if let Some(unknown) = raw.same.iter().find(|same| !is_known(same)) {
        let message = format!("same: {unknown:?} is neither a section nor a number of a machine");
        return Err(error(message));
    }
    match &raw.like {
        Some(name) => {
            let model = GpuModel::built_in(name);
            model
                .map(Some)
                .map_err(|diagnostic| diagnostic.in_file(file))
        }
        None if !raw.same.is_empty() => {
            let message = "same is there, but no other machine that it is the same as";
            Err(error(message.to_owned()).hint("like = \"gtx1080\" names one"))
        }
        None => Ok(None),
    }
}

/// Returns an inherited range. It keeps its provenance if the file lists the parameter, or its section, as the same
/// on both devices. Otherwise it is assumed, because its source is about the other device.
fn inherit(base: &GpuModel, parameter: Parameter, same: &[String]) -> ParameterRange {
    let name = parameter.name();
    let section = section_of(name).unwrap_or(name);
    let range = base.range(parameter).clone();
    if same.iter().any(|same| same == name || same == section) {
        return range;
    }
    ParameterRange {
        provenance: Provenance::Assumed,
        source: inherited_source(base, &range.source),
        ..range
    }
}

/// Converts the range of a sum into a range of its part, by subtracting the typical value of the other summand.
/// `before` has the ranges of the preceding parameters. For example, if `dram.latency` is 300 to 400 and `l2.hit`
/// typically 200, then `dram.beyond_l2` is 100 to 200.
fn subtract_other(
    sum: ParameterSum,
    range: ParameterRange,
    before: &[ParameterRange],
) -> ParameterRange {
    // The other summand precedes the part, as a test of `ParameterSum` checks.
    let other = before.get(sum.other() as usize);
    let other = other.map_or(0, |range| range.typical);
    let (name, of) = (sum.name(), sum.other().name());
    ParameterRange {
        // A sum below the typical value of the other summand leaves nothing for the part.
        least: range.least.saturating_sub(other),
        most: range.most.saturating_sub(other),
        typical: range.typical.saturating_sub(other),
        provenance: range.provenance,
        source: format!("{name} less the {other} of {of}: {}", range.source),
    }
}

/// Source text of a value that is inherited from a model.
fn inherited_source(base: &GpuModel, source: &str) -> String {
    format!("as {}: {source}", base.name)
}

#[derive(Deserialize)]
struct RawModel {
    name: String,
    title: String,
    architectures: Vec<String>,
    /// Built-in model from which parameters that the file does not state are inherited.
    like: Option<String>,
    /// Names or sections of parameters whose sources apply to this device as well.
    #[serde(default)]
    same: Vec<String>,
    scheduler: Option<RawScheduler>,
    // A sorted map, so that the first unknown key is the same in each run.
    #[serde(flatten)]
    sections: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScheduler {
    policy: RawPolicy,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPolicy {
    value: SchedulerPolicy,
    source: String,
    #[serde(default)]
    standing: Provenance,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRange {
    value: [u64; 2],
    typical: Option<u64>,
    source: String,
    #[serde(default)]
    standing: Provenance,
}

impl RawRange {
    /// Checks a range on its own; the error names the parameter.
    fn check(self, name: &str) -> Result<ParameterRange, String> {
        let [least, most] = self.value;
        if self.source.trim().is_empty() {
            return Err(format!("{name} does not say where it is from"));
        }
        if least > most || most > GpuModel::MAX_VALUE {
            return Err(format!(
                "{name} is between {least} and {most}; at most {} is understood",
                GpuModel::MAX_VALUE
            ));
        }
        let typical = match self.typical {
            Some(typical) => typical,
            None if least == most => least,
            None => return Err(format!("{name} has a range but no typical value")),
        };
        if !(least..=most).contains(&typical) {
            return Err(format!(
                "{name} is typically {typical}, outside {least} to {most}"
            ));
        }
        Ok(ParameterRange {
            least,
            most,
            typical,
            provenance: self.standing,
            source: self.source,
        })
    }
}
