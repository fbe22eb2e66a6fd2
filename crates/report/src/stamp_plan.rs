//! Places of time stamps in a kernel: the file that `warpbound instrument --stamps` writes and `warpbound hybrid`
//! reads.

use serde::{Deserialize, Serialize};

/// Time stamps of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StampPlan {
    /// Always [`StampPlan::SCHEMA`].
    pub schema: String,
    /// Demangled name.
    pub kernel: String,
    /// Digest of the code.
    pub code: String,
    /// Addresses of the points in ascending order: the entries of the blocks that a thread may reach.
    pub points: Vec<u32>,
    /// Minimum number of cycles of a stamp by its control words, at a point and at an exit.
    pub cycles: [u32; 2],
}

impl StampPlan {
    /// Name and version of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.stamps/1";

    /// Reads a plan.
    ///
    /// # Errors
    ///
    /// If the text is no such plan, or if its points are not in order.
    pub fn from_json(text: &str) -> Result<StampPlan, String> {
        let plan: StampPlan = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if plan.schema != StampPlan::SCHEMA {
            return Err(format!(
                "its schema is {:?}, this version reads {:?}",
                plan.schema,
                StampPlan::SCHEMA
            ));
        }
        // Counters belong to points by position, so another order would attribute times to the wrong blocks.
        if !plan.points.is_sorted_by(|a, b| a < b) {
            return Err("its points are not in order".to_owned());
        }
        Ok(plan)
    }

    /// Digest of everything that the times depend on: code and points (64-bit FNV-1a, as in digests of code).
    pub fn digest(&self) -> u64 {
        let points = self.points.iter().map(|at| format!("{at:x}"));
        // The word keeps this digest apart from the digest of a plan of probes for the same code.
        let parts = [self.code.clone(), "stamps".to_owned()];
        let text: Vec<String> = parts.into_iter().chain(points).collect();
        let bytes = text.join("\n").into_bytes();
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read_again() {
        let plan = StampPlan {
            schema: StampPlan::SCHEMA.to_owned(),
            kernel: "k".to_owned(),
            code: "0123".to_owned(),
            points: vec![8, 0x40],
            cycles: [20, 40],
        };
        let text = crate::to_json(&plan);
        assert_eq!(StampPlan::from_json(&text), Ok(plan.clone()));
        let other = StampPlan {
            points: vec![8, 0x48],
            ..plan.clone()
        };
        assert_ne!(plan.digest(), other.digest());
        let unsorted = StampPlan {
            points: vec![0x40, 8],
            ..plan
        };
        assert!(StampPlan::from_json(&crate::to_json(&unsorted)).is_err());
        assert!(StampPlan::from_json("{}").is_err());
    }
}
