//! Limits of bounds in cycles: `--limit`.
//!
//! For example, `2ms` is exceeded by a bound of 3,300,000 cycles at 1607 MHz, which takes 2.05 ms.

use warpbound_base::Diagnostic;
use warpbound_report::KernelBound;

/// Limit of a bound in cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum CycleLimit {
    /// Cycles.
    Cycles(u64),
    /// Milliseconds at the slowest clock for which durations are stated.
    Milliseconds(f64),
}

impl CycleLimit {
    /// Parses a number of cycles, or a time in `ns`, `us`, `ms` or `s`.
    pub(crate) fn parse(text: &str) -> Result<CycleLimit, String> {
        let wrong =
            || format!("{text:?} is neither a number of cycles nor a time as 2ms, 350us or 1.5s");
        if let Ok(cycles) = text.parse() {
            return Ok(CycleLimit::Cycles(cycles));
        }
        // A factor and a divisor: `350us` is exactly 350 / 1000, while 350 times 0.001 would be rounded twice.
        let units = [
            ("ns", (1.0, 1e6)),
            ("us", (1.0, 1e3)),
            ("ms", (1.0, 1.0)),
            // Last, because every other unit ends in it as well.
            ("s", (1e3, 1.0)),
        ];
        let found = units
            .into_iter()
            .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
        let (number, (times, parts)) = found.ok_or_else(wrong)?;
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        // `parse` accepts NaN and infinity.
        match number.is_finite() && number >= 0.0 {
            true => Ok(CycleLimit::Milliseconds(number * times / parts)),
            false => Err(wrong()),
        }
    }

    /// Returns a message if the bound of a kernel exceeds the limit.
    pub(crate) fn exceeded(self, kernel: &KernelBound) -> Option<Diagnostic> {
        let cycles = kernel.cycles.as_ref()?;
        let exceeded = self.exceeded_by(cycles.bound?, cycles.milliseconds?)?;
        Some(exceeded.in_kernel(kernel.name.clone()))
    }

    /// Returns a message if a bound, in cycles and in milliseconds, exceeds the limit.
    pub(crate) fn exceeded_by(self, bound: u64, milliseconds: f64) -> Option<Diagnostic> {
        let message = match self {
            CycleLimit::Cycles(limit) if bound > limit => {
                format!("the bound of {bound} cycles is over the limit of {limit}")
            }
            CycleLimit::Milliseconds(limit) if milliseconds > limit => format!(
                "the bound of {bound} cycles takes {milliseconds:.6} ms at the slowest clock, over the limit of \
                 {limit} ms"
            ),
            _ => return None,
        };
        Some(Diagnostic::new(message))
    }
}

#[cfg(test)]
mod tests {
    use super::CycleLimit;

    #[test]
    fn limits_have_units() {
        assert_eq!(CycleLimit::parse("5000"), Ok(CycleLimit::Cycles(5000)));
        assert_eq!(CycleLimit::parse("2ms"), Ok(CycleLimit::Milliseconds(2.0)));
        assert_eq!(
            CycleLimit::parse("1.5s"),
            Ok(CycleLimit::Milliseconds(1500.0))
        );
        assert_eq!(
            CycleLimit::parse("350us"),
            Ok(CycleLimit::Milliseconds(0.35))
        );
        for wrong in ["", "fast", "-1ms", "1e999s", "NaNms", "3 parsecs"] {
            assert!(CycleLimit::parse(wrong).is_err(), "{wrong}");
        }
    }
}
