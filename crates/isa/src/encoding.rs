//! Tables of machine encodings: rows that match words of 32, 64 or 128 bits, and the division of code into
//! instructions. One table may have rows of several widths.
//!
//! A table is a text file with one row per line. The part of a row before its first bar is parsed at compile time,
//! and the decoding index is built then: at run time both would take a good part of the time of a short listing.
//! [`encoding_table`] makes an [`EncodingTable`] from a [`TableDescription`]; the format of a row is in
//! `isa/nvidia/README.md`.
//!
//! [`encoding_table`]: crate::encoding_table

mod description;
mod layout;
mod row;
pub(crate) mod span;
mod table;

pub(crate) use layout::GROUP;

pub use description::TableDescription;
pub use layout::{CodeLayout, EncodedInstr, WordWidth};
pub use row::{ArchSet, LiteralCondition, RowHead};
pub use table::{EncodingTable, EncodingWord, RowPattern};

/// Defines a constant of type [`EncodingTable`]: parses the first columns of its rows and builds its index at compile
/// time. A fault in a row is a build error that shows the line.
///
/// The type after the name is the unsigned integer as which words are compared; no row is wider.
///
/// [`EncodingTable`]: crate::encoding::EncodingTable
#[macro_export]
macro_rules! encoding_table {
    ($(#[$attribute:meta])* $visibility:vis const $name:ident: $word:ty = $description:expr;) => {
        $(#[$attribute])*
        $visibility const $name: $crate::encoding::EncodingTable<$word> = {
            const TABLE: $crate::encoding::TableDescription = $description;
            const ROWS: usize = TABLE.rows();
            const BUCKETS: usize = TABLE.buckets();
            static HEADS: [$crate::encoding::RowHead; ROWS] = TABLE.heads(<$word>::BITS);
            static PATTERNS: [$crate::encoding::RowPattern<$word>; ROWS] = {
                use $crate::encoding::RowPattern;
                let mut patterns = [RowPattern::<$word>::EMPTY; ROWS];
                let mut row = 0;
                while row < ROWS {
                    patterns[row] = RowPattern::<$word>::of(&HEADS[row]);
                    row += 1;
                }
                patterns
            };
            static STARTS: [u16; BUCKETS + 1] = TABLE.starts(&HEADS);
            const LENGTH: usize = STARTS[BUCKETS] as usize;
            static CANDIDATES: [u16; LENGTH] = TABLE.candidates(&HEADS, &STARTS);
            $crate::encoding::EncodingTable::new(TABLE, &HEADS, &PATTERNS, &STARTS, &CANDIDATES)
        };
    };
}
