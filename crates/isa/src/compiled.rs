//! Rows of the tables that are compiled in, as the build script has parsed them.
//!
//! For example, `HEADS` has the mask and the value of each row of a table, and `STARTS` and `CANDIDATES` its decoding
//! index.

/// Defines a module with the statics of a generated file.
macro_rules! compiled {
    ($(#[$attribute:meta])* $name:ident, $file:literal) => {
        $(#[$attribute])*
        pub(crate) mod $name {
            #[allow(unused_imports, reason = "not all tables have all kinds of values")]
            use crate::amd::GcnOpcode;
            #[allow(unused_imports, reason = "not all tables have all kinds of values")]
            use crate::encoding::{
                ArchSet, LiteralCondition, RowHead, RowPattern,
                WordWidth::{Bits32, Bits64, Bits128},
                span::Span,
            };
            #[allow(unused_imports, reason = "not all tables have all kinds of values")]
            use crate::nvidia::shared::list_entry::{
                Entry,
                EntryKind::{Count, Names, Timing},
            };
            #[allow(unused_imports, reason = "not all tables have all kinds of values")]
            use crate::nvidia::Opcode;
            #[allow(unused_imports, reason = "not all tables have all kinds of values")]
            use warpbound_base::BitRange;

            include!(concat!(env!("OUT_DIR"), "/", $file));
        }
    };
}

pub(crate) use compiled;
