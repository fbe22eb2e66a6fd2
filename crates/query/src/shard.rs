//! Parts of a query that several processes share.

use std::str::FromStr;

/// Part of a sequence of kernels or launches: every `count`-th item, beginning with one of the first `count`. The
/// parts of one count are disjoint, and together they are the sequence. For example, part 2/3 has the items 2, 5, 8
/// and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Position of the first item, less than `count`.
    first: u64,
    count: u64,
}

impl Shard {
    /// The whole sequence.
    pub const ALL: Shard = Shard { first: 0, count: 1 };

    /// Returns part `number` of `count`, both from 1; `None` if there is no such part.
    pub fn new(number: u64, count: u64) -> Option<Shard> {
        let first = number.checked_sub(1)?;
        (number <= count).then_some(Shard { first, count })
    }

    /// Whether the item at a position, counted from 0, is in the part.
    pub fn contains(self, position: u64) -> bool {
        // The count is at least 1, because a part has a number from 1 to the count.
        position % self.count == self.first
    }
}

impl Default for Shard {
    fn default() -> Shard {
        Shard::ALL
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Parses `NUMBER/COUNT`.
    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').and_then(|(number, count)| {
            let (number, count) = (number.parse().ok()?, count.parse().ok()?);
            Shard::new(number, count)
        });
        numbers.ok_or_else(|| "expected NUMBER/COUNT, as in 1/4, with 1 to COUNT".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_in_one_part() {
        for count in 1..=7 {
            let parts: Vec<Shard> = (1..=count).filter_map(|n| Shard::new(n, count)).collect();
            assert_eq!(parts.len(), 7.min(count) as usize);
            for position in 0..50 {
                let with = parts.iter().filter(|part| part.contains(position));
                assert_eq!(with.count(), 1, "{position} of {count}");
            }
        }
    }

    #[test]
    fn parts_are_parsed() {
        assert_eq!("2/3".parse(), Ok(Shard { first: 1, count: 3 }));
        for wrong in ["", "0/3", "4/3", "1", "1/0", "/", "1/2/3", "-1/3", "a/b"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
