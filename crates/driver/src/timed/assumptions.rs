//! What the cycles of a run rest on and no source states.

use warpbound_machine::{Parameter, Provenance, Unit};
use warpbound_report::timed::{UnpublishedNumber, Taken};

use super::Timed;

impl Timed<'_> {
    /// The machine where it is not for the code, the scheduler, and those of its numbers that the run has asked for.
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
        if self.options.scheduler.is_none() && choices.policy_standing != Provenance::Published {
            out.push(choice(
                "scheduler.policy",
                &choices.policy.to_string(),
                choices.policy_standing,
                choices.policy_source.clone(),
            ));
        }
        for &parameter in touched.iter().filter(|p| !self.is_set(**p)) {
            let figure = device.figure(parameter);
            if figure.standing != Provenance::Published {
                out.push(UnpublishedNumber {
                    name: parameter.name().to_owned(),
                    value: Taken::Number(self.setup.machine[parameter]),
                    least: Some(figure.least),
                    most: Some(figure.most),
                    unit: unit(parameter),
                    standing: standing_name(figure.standing),
                    source: figure.source.clone(),
                });
            }
        }
        out
    }
}

/// An assumption that is no number.
fn choice(name: &str, value: &str, standing: Provenance, source: String) -> UnpublishedNumber {
    UnpublishedNumber {
        name: name.to_owned(),
        value: Taken::Choice(value.to_owned()),
        least: None,
        most: None,
        unit: None,
        standing: standing_name(standing),
        source,
    }
}

fn standing_name(standing: Provenance) -> &'static str {
    match standing {
        Provenance::Published => "published",
        Provenance::Assumed => "assumed",
        Provenance::Fitted => "fitted",
    }
}

fn unit(parameter: Parameter) -> Option<&'static str> {
    match parameter.unit() {
        Unit::Cycles => Some("cycles"),
        Unit::Bytes => Some("bytes"),
        Unit::BytesPerKilocycle => Some("bytes in 1000 cycles"),
        Unit::Kilohertz => Some("kHz"),
        Unit::PerMille => Some("thousandths"),
        Unit::Count => None,
    }
}
