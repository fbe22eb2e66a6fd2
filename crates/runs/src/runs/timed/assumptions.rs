//! Parameters without a published source that the cycles of a simulation depend on.

use warpbound_machine::{Parameter, Provenance, Unit};
use warpbound_report::timed::{ParameterValue, UnpublishedNumber};

use super::TimedLaunch;

impl TimedLaunch<'_> {
    /// Lists what the cycles rest on without a published source: the machine if it is for another architecture than
    /// the code, the scheduler policy, and parameters that the simulation has read.
    pub(super) fn assumptions(&self, touched: &[Parameter]) -> Vec<UnpublishedNumber> {
        let device = &self.options.machine;
        let mut out = Vec::new();
        let isa = self.session.image.isa().to_string();
        if !device.is_for(&isa) {
            let source = format!(
                "the code is for {isa}, the machine for {}",
                device.architectures.join(", ")
            );
            out.push(choice("machine", &device.name, Provenance::Assumed, source));
        }
        let choices = &device.choices;
        if self.options.scheduler.is_none() && !choices.policy_provenance.is_of_device() {
            out.push(choice(
                "scheduler.policy",
                &choices.policy.to_string(),
                choices.policy_provenance,
                choices.policy_source.clone(),
            ));
        }
        // A value that the user has set is the user's, and the source in the machine file says nothing about it.
        for &parameter in touched.iter().filter(|p| !self.is_set(**p)) {
            let figure = device.range(parameter);
            if !figure.provenance.is_of_device() {
                out.push(UnpublishedNumber {
                    name: parameter.name().to_owned(),
                    value: ParameterValue::Number(self.setup.machine()[parameter]),
                    least: Some(figure.least),
                    most: Some(figure.most),
                    unit: unit_name(parameter),
                    provenance: provenance_name(figure.provenance),
                    source: figure.source.clone(),
                });
            }
        }
        out
    }
}

/// Returns the entry of a choice that is not a number.
fn choice(name: &str, value: &str, standing: Provenance, source: String) -> UnpublishedNumber {
    UnpublishedNumber {
        name: name.to_owned(),
        value: ParameterValue::Choice(value.to_owned()),
        least: None,
        most: None,
        unit: None,
        provenance: provenance_name(standing),
        source,
    }
}

/// Returns the name of a provenance in reports.
pub fn provenance_name(standing: Provenance) -> &'static str {
    match standing {
        Provenance::Published => "published",
        Provenance::Assumed => "assumed",
        Provenance::Fitted => "fitted",
        Provenance::Measured => "measured",
    }
}

/// Returns the unit of a parameter in reports.
pub fn unit_name(parameter: Parameter) -> Option<&'static str> {
    match parameter.unit() {
        Unit::Cycles => Some("cycles"),
        Unit::Bytes => Some("bytes"),
        Unit::BytesPerKilocycle => Some("bytes in 1000 cycles"),
        Unit::Kilohertz => Some("kHz"),
        Unit::PerMille => Some("thousandths"),
        Unit::Count => None,
    }
}
