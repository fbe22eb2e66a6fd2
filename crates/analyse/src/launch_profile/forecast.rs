//! Forecast of the steps of a launch with many blocks.

/// Blocks after which the steps of the others are forecast.
const FORECAST_BLOCKS: u64 = 1024;

/// Forecast of the steps of the blocks of a launch whose index decides what they do.
///
/// Recognises early that the steps of a launch do not suffice: each block takes at least one step, and if the first
/// blocks all take more, the others are expected to take as many as the least of them. A wrong forecast loses a
/// profile, and nothing else.
pub(super) struct StepForecast {
    /// Blocks that are not done.
    blocks: u128,
    done: u64,
    /// Minimum number of steps of a block so far.
    least: u64,
    steps_left: u64,
}

impl StepForecast {
    pub(super) fn new(grid: [u32; 3], steps_left: u64) -> StepForecast {
        StepForecast {
            blocks: grid.iter().map(|&blocks| u128::from(blocks)).product(),
            done: 0,
            least: u64::MAX,
            steps_left,
        }
    }

    /// Enters another block, after which `steps_left` remain; returns whether the other blocks need more.
    pub(super) fn exceeds(&mut self, steps_left: u64) -> bool {
        self.least = self.least.min(self.steps_left.saturating_sub(steps_left));
        self.steps_left = steps_left;
        self.blocks = self.blocks.saturating_sub(1);
        self.done += 1;
        let each = match self.done {
            1 => 1,
            FORECAST_BLOCKS => self.least.max(1),
            _ => return false,
        };
        self.blocks.saturating_mul(each.into()) > u128::from(steps_left)
    }
}

#[cfg(test)]
mod tests {
    use super::{FORECAST_BLOCKS, StepForecast};

    #[test]
    fn blocks_beyond_the_steps_that_are_left_are_forecast() {
        // Each of nine further blocks takes a step at least.
        assert!(StepForecast::new([5, 2, 1], 20).exceeds(8));
        assert!(!StepForecast::new([5, 2, 1], 20).exceeds(9));
        // The others are expected to take three, as the least of the first ones.
        let after_some = |further: u32, left: u64| {
            let blocks = FORECAST_BLOCKS as u32 + further;
            let mut forecast = StepForecast::new([blocks, 1, 1], 4 * FORECAST_BLOCKS + left);
            let least = (1..FORECAST_BLOCKS)
                .any(|done| forecast.exceeds(4 * (FORECAST_BLOCKS - done) + left));
            assert!(!least);
            forecast.exceeds(left + 1)
        };
        assert!(after_some(1000, 2998));
        assert!(!after_some(1000, 2999));
    }
}
