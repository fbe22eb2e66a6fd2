//! Values of counters, and the files that hold them. For example, the line `0x0148,issues,37` of a CSV file says that
//! warps executed the block at 0x148 37 times.

use warpbound_base::Diagnostic;
use warpbound_launch::{ElementType, NpyArray};
use warpbound_report::ProbePlan;

/// Values of the counters of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProbeCounters {
    /// Digest of the plan that was measured ([`ProbePlan::digest`]), if the file states it.
    pub plan: Option<u64>,
    /// Digest of the code that was instrumented, if the file states it.
    pub code: Option<String>,
    /// Digest of the launch that was measured ([`super::launch_digest()`]), if the file states it.
    pub launch: Option<String>,
    /// Names of the values, if the file states them: [`ProbePlan::counter_name`].
    pub names: Vec<String>,
    /// Values in the order of the plan's counters; sums in two's complement.
    pub values: Vec<u64>,
    /// Whether some sum over parts of the launch exceeds 64 bits, as an unsigned count and as a signed number.
    pub exceeds: [bool; 2],
}

impl ProbeCounters {
    /// Parses the text of a file of values. It has the lines `plan,DIGEST`, `code,DIGEST` and perhaps
    /// `launch,DIGEST`, and then lines `0xADDRESS,issues|lanes,VALUE` or `sum,NUMBER,VALUE`. Empty lines and lines
    /// that begin with `#` are skipped. Values of sums may be negative.
    ///
    /// # Errors
    ///
    /// A line has another form, or no line has the digest of the code.
    pub fn from_csv(text: &str) -> Result<ProbeCounters, Diagnostic> {
        let mut counters = ProbeCounters::default();
        for (number, line) in text.lines().enumerate() {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let fail = || Diagnostic::new(format!("line {}: {line:?} is no counter", number + 1));
            match *cells {
                [""] => {}
                [first, ..] if first.starts_with('#') => {}
                ["plan", digest] => {
                    let digest = u64::from_str_radix(digest, 16).map_err(|_| fail())?;
                    counters.plan = Some(digest);
                }
                ["code", digest] => counters.code = Some(digest.to_owned()),
                ["launch", digest] => counters.launch = Some(digest.to_owned()),
                ["sum", number, text] => {
                    let number: usize = number.parse().map_err(|_| fail())?;
                    // A sum is a word in two's complement: as `-3` or as an unsigned word of 64 bits.
                    let value = text.parse::<i64>().map(|value| value as u64);
                    let value = value.or_else(|_| text.parse::<u64>());
                    counters.names.push(format!("sum,{number}"));
                    counters.values.push(value.map_err(|_| fail())?);
                }
                [at, quantity, value] => {
                    let at = at.strip_prefix("0x").unwrap_or(at);
                    let at = u32::from_str_radix(at, 16).map_err(|_| fail())?;
                    counters.names.push(format!("0x{at:04x},{quantity}"));
                    counters.values.push(value.parse().map_err(|_| fail())?);
                }
                _ => return Err(fail()),
            }
        }
        if counters.code.is_none() {
            return Err(Diagnostic::new(
                "no line \"code,DIGEST\" says which code was measured",
            ));
        }
        Ok(counters)
    }

    /// Returns the text of a CSV file with the values of a plan's counters.
    pub fn to_csv(plan: &ProbePlan, values: &[u64]) -> String {
        let mut text = format!("code,{}\nplan,{:016x}\n", plan.code, plan.digest());
        if let Some(launch) = &plan.launch {
            text += &format!("launch,{launch}\n");
        }
        for (slot, &value) in values.iter().enumerate().take(plan.counters()) {
            let name = plan.counter_name(slot);
            text += &match plan.sums.is_empty() {
                true => format!("{name},{value}\n"),
                false => format!("{name},{}\n", value as i64),
            };
        }
        text
    }

    /// Reads an array of unsigned integers of 64 bits: the digest of the plan and the values, or several such rows
    /// with the values of parts of the launch, which are summed.
    ///
    /// # Errors
    ///
    /// The file is no such array, or its rows are of several plans.
    pub fn from_npy(contents: &[u8]) -> Result<ProbeCounters, Diagnostic> {
        let array = NpyArray::from_npy(contents)?;
        let words: Vec<u64> = match array.element {
            ElementType::U64 => {
                let words = array.bytes.as_chunks::<8>().0;
                words.iter().map(|word| u64::from_le_bytes(*word)).collect()
            }
            _ => return Err(Diagnostic::new("counters are unsigned integers of 64 bits")),
        };
        // Each part of a launch may write a row of its own.
        let width = match array.shape.as_slice() {
            [columns] | [_, columns] => usize::try_from(*columns).unwrap_or(usize::MAX),
            _ => return Err(Diagnostic::new("counters have one or two axes")),
        };
        let mut counters = ProbeCounters::default();
        for row in words.chunks(width.max(1)) {
            let Some((digest, values)) = row.split_first() else {
                continue;
            };
            if counters.plan.is_some_and(|plan| plan != *digest) {
                return Err(Diagnostic::new(
                    "the rows of the counters are of several plans",
                ));
            }
            counters.plan = Some(*digest);
            counters.values.resize(values.len(), 0);
            for (sum, value) in counters.values.iter_mut().zip(values) {
                // Only the plan says whether the values are counts or signed sums, so both are recorded for `check`.
                let [count, signed] = &mut counters.exceeds;
                *count |= sum.checked_add(*value).is_none();
                *signed |= (*sum as i64).checked_add(*value as i64).is_none();
                *sum = sum.wrapping_add(*value);
            }
        }
        Ok(counters)
    }

    /// Whether the values are the paper's two sums over the probes of a plan.
    pub(super) fn are_paper_sums(&self, plan: &ProbePlan) -> bool {
        self.plan == Some(plan.digest_of_paper_sums())
    }

    /// Checks that sums over parts of the launch did not overflow.
    ///
    /// # Errors
    ///
    /// A sum exceeds 64 bits.
    pub(super) fn check_sums(&self) -> Result<(), Diagnostic> {
        match self.exceeds[0] {
            true => Err(Diagnostic::new("a sum of counters exceeds 64 bits")),
            false => Ok(()),
        }
    }

    /// Checks that the values belong to a plan's counters.
    ///
    /// # Errors
    ///
    /// They belong to other code, another plan or another launch, or a sum exceeds 64 bits.
    pub(super) fn check(&self, plan: &ProbePlan) -> Result<(), Diagnostic> {
        let digest = plan.digest();
        if let Some(code) = self.code.as_ref().filter(|code| **code != plan.code) {
            let message = format!(
                "the counters are of code {code}, the plan is for {}",
                plan.code
            );
            return Err(Diagnostic::new(message));
        }
        if let Some(of) = self.plan.filter(|of| *of != digest) {
            let message = format!("the counters are of plan {of:016x}, this is {digest:016x}");
            return Err(Diagnostic::new(message));
        }
        let launches = self.launch.as_ref().zip(plan.launch.as_ref());
        if let Some((of, planned)) = launches.filter(|(of, planned)| of != planned) {
            let message = format!("the counters are of launch {of}, the plan is for {planned}");
            return Err(Diagnostic::new(message));
        }
        if self.exceeds[usize::from(!plan.sums.is_empty())] {
            return Err(Diagnostic::new("a sum of counters exceeds 64 bits"));
        }
        // Values belong to counters by position, so a missing one would shift the others.
        if self.values.len() != plan.counters() {
            let (have, need) = (self.values.len(), plan.counters());
            let message = format!("there are {have} counters, the plan has {need}");
            return Err(Diagnostic::new(message));
        }
        for (slot, name) in self.names.iter().enumerate() {
            if *name != plan.counter_name(slot) {
                let message = format!("the plan has no counter {name} as its number {slot}");
                return Err(Diagnostic::new(message));
            }
        }
        Ok(())
    }
}
