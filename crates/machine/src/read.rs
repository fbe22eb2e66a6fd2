//! Machine files of GPUs: what is in them becomes a [`Device`], or is refused.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpbound_base::Diagnostic;

use crate::policy::SchedulerPolicy;
use crate::{ModelChoices, GpuModel, ParameterRange, Parameter, Provenance, ParameterSum, validity};

/// The device of a file, whose name is `file` in messages.
pub(crate) fn device(file: &str, text: &str) -> Result<GpuModel, Diagnostic> {
    let fault = |what: String| Diagnostic::new(what).in_file(file);
    let raw: RawDevice = toml::from_str(text).map_err(|error| {
        let at = error.span().map(|span| span.start);
        Diagnostic::for_text(file, text, error.message(), at)
    })?;
    let like = relative(file, &raw)?;
    let mut sections = raw.sections;
    let mut figures = Vec::with_capacity(Parameter::ALL.len());
    for &parameter in Parameter::ALL {
        let name = parameter.name();
        let mut take = |name: &str| {
            let stated = name.split_once('.').and_then(|(section, key)| {
                let keys = sections.get_mut(section)?.as_table_mut()?;
                keys.remove(key)
            });
            let read = |stated: toml::Value| {
                let figure: RawFigure = stated.try_into().map_err(|error: toml::de::Error| {
                    let said = format!("{name}: {}", error.message());
                    Diagnostic::for_text(file, text, &said, None)
                })?;
                figure.check(name).map_err(fault)
            };
            stated.map(read).transpose()
        };
        let own = take(name)?;
        let sum = match ParameterSum::of(parameter) {
            Some(sum) => take(sum.name())?.map(|figure| (sum, figure)),
            None => None,
        };
        let figure = match (own, sum, &like) {
            (Some(_), Some((sum, _)), _) => {
                let (sum, other) = (sum.name(), sum.other().name());
                return Err(fault(format!(
                    "{name} and {sum} are both there, but {sum} is {name} and {other} together"
                )));
            }
            (Some(figure), None, _) => figure,
            (None, Some((sum, figure)), _) => rest(sum, figure, &figures),
            (None, None, Some(like)) => inherited(like, parameter, &raw.same),
            (None, None, None) => {
                let hint = format!("it is: {}", parameter.meaning());
                return Err(fault(format!("{name} is missing")).hint(hint));
            }
        };
        figures.push(figure);
    }
    if let Some(name) = left_over(&sections) {
        let what = format!("{name} is not known");
        return Err(Diagnostic::for_text(file, text, &what, None));
    }
    let stated: Vec<[u64; 3]> = figures.iter().map(ParameterRange::stated).collect();
    validity::check(&stated).map_err(fault)?;
    let choices = match (raw.scheduler, like) {
        (Some(RawScheduler { policy }), _) => {
            if policy.source.trim().is_empty() {
                let what = "scheduler.policy does not say where it is from";
                return Err(fault(what.to_owned()));
            }
            ModelChoices {
                policy: policy.value,
                policy_source: policy.source,
                policy_provenance: policy.standing,
            }
        }
        (None, Some(like)) => ModelChoices {
            policy_source: as_of(&like, &like.choices.policy_source),
            policy_provenance: Provenance::Assumed,
            ..like.choices
        },
        (None, None) => {
            let hint = "policy = { value, source } in a section [scheduler]";
            return Err(fault("scheduler.policy is missing".to_owned()).hint(hint));
        }
    };
    Ok(GpuModel {
        name: raw.name,
        title: raw.title,
        architectures: raw.architectures,
        choices,
        ranges: figures,
    })
}

/// The device whose numbers a file takes where it states none.
fn relative(file: &str, raw: &RawDevice) -> Result<Option<GpuModel>, Diagnostic> {
    let fault = |what: String| Diagnostic::new(what).in_file(file);
    let known = |same: &&String| {
        let begins = |parameter: &Parameter| {
            let name = parameter.name();
            name == same.as_str()
                || name
                    .split_once('.')
                    .is_some_and(|(s, _)| s == same.as_str())
        };
        Parameter::ALL.iter().any(begins)
    };
    if let Some(odd) = raw.same.iter().find(|same| !known(same)) {
        let what = format!("same: {odd:?} is neither a section nor a number of a machine");
        return Err(fault(what));
    }
    match &raw.like {
        Some(name) => {
            let device = GpuModel::built_in(name);
            device.map(Some).map_err(|fault| fault.in_file(file))
        }
        None if !raw.same.is_empty() => {
            let what = "same is there, but no other machine that it is the same as";
            Err(fault(what.to_owned()).hint("like = \"gtx1080\" names one"))
        }
        None => Ok(None),
    }
}

/// A number as a relative has it. It is as sure as there where a file says that its source is about both devices, by number
/// or by section; otherwise it is assumed.
fn inherited(like: &GpuModel, parameter: Parameter, same: &[String]) -> ParameterRange {
    let name = parameter.name();
    let section = name.split_once('.').map_or(name, |(section, _)| section);
    let figure = like.range(parameter).clone();
    if same.iter().any(|same| same == name || same == section) {
        return figure;
    }
    ParameterRange {
        provenance: Provenance::Assumed,
        source: as_of(like, &figure.source),
        ..figure
    }
}

/// What is left of a sum without its other part, as that typically is; `before` has the numbers in front of it.
fn rest(sum: ParameterSum, figure: ParameterRange, before: &[ParameterRange]) -> ParameterRange {
    let other = before.get(sum.other() as usize).map_or(0, |f| f.typical);
    let (name, of) = (sum.name(), sum.other().name());
    ParameterRange {
        least: figure.least.saturating_sub(other),
        most: figure.most.saturating_sub(other),
        typical: figure.typical.saturating_sub(other),
        provenance: figure.provenance,
        source: format!("{name} less the {other} of {of}: {}", figure.source),
    }
}

/// The source of what is taken from a relative.
fn as_of(like: &GpuModel, source: &str) -> String {
    format!("as {}: {source}", like.name)
}

/// A key of a file that no parameter has, or a section without any.
fn left_over(sections: &BTreeMap<String, toml::Value>) -> Option<String> {
    sections.iter().find_map(|(section, keys)| {
        let known = |name: &str| name.split_once('.').is_some_and(|(of, _)| of == section);
        match keys.as_table() {
            Some(keys)
                if Parameter::ALL
                    .iter()
                    .any(|parameter| known(parameter.name())) =>
            {
                let key = keys.keys().next()?;
                Some(format!("{section}.{key}"))
            }
            _ => Some(section.clone()),
        }
    })
}

#[derive(Deserialize)]
struct RawDevice {
    name: String,
    title: String,
    architectures: Vec<String>,
    /// The device that comes with the tool and has the numbers that this file does not state.
    like: Option<String>,
    /// Numbers of it, or sections, whose sources are about this device as well.
    #[serde(default)]
    same: Vec<String>,
    scheduler: Option<RawScheduler>,
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
struct RawFigure {
    value: [u64; 2],
    typical: Option<u64>,
    source: String,
    #[serde(default)]
    standing: Provenance,
}

impl RawFigure {
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
