//! What the cycles of a run rest on and no source states.

use warpbound_machine::{Parameter, Standing, Unit};
use warpbound_report::timed::{Assumption, Taken};

use super::Timed;

impl Timed<'_> {
    /// The machine where it is not for the code, the scheduler, and those of its numbers that the run has asked for.
    pub(super) fn assumptions(&self, touched: &[Parameter]) -> Vec<Assumption> {
        let device = &self.options.machine;
        let mut out = Vec::new();
        let isa = self.session.image.isa().to_string();
        if !device.is_for(&isa) {
            let source = format!(
                "the code is for {isa}, the machine for {}",
                device.architectures.join(", ")
            );
            out.push(choice("machine", &device.name, Standing::Assumed, source));
        }
        let choices = &device.choices;
        if self.options.scheduler.is_none() && choices.policy_standing != Standing::Published {
            out.push(choice(
                "scheduler.policy",
                &choices.policy.to_string(),
                choices.policy_standing,
                choices.policy_source.clone(),
            ));
        }
        for &parameter in touched.iter().filter(|p| !self.is_set(**p)) {
            let figure = device.figure(parameter);
            if figure.standing != Standing::Published {
                out.push(Assumption {
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
fn choice(name: &str, value: &str, standing: Standing, source: String) -> Assumption {
    Assumption {
        name: name.to_owned(),
        value: Taken::Choice(value.to_owned()),
        least: None,
        most: None,
        unit: None,
        standing: standing_name(standing),
        source,
    }
}

fn standing_name(standing: Standing) -> &'static str {
    match standing {
        Standing::Published => "published",
        Standing::Assumed => "assumed",
        Standing::Fitted => "fitted",
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
