//! Timing class of each opcode: the lines of `gfx803.classes`.
//!
//! A model with time gives each class its latency and rate. Classes are finer than units: for example, `v_add_f64`
//! and `v_mul_f64` have the unit `valu`, but the classes `f64_add` and `f64_mul`.

use std::sync::OnceLock;

use warpbound_base::Named;

use super::opcode::GcnOpcode;

/// Timing class of an opcode: the property on which its time depends. The times themselves are parameters of a
/// machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GcnClass {
    /// Vector ALU at its full rate.
    Full,
    /// Vector ALU at a quarter of its rate.
    Quarter,
    /// Vector ALU with 64 bits, as fast as an addition of doubles.
    F64Add,
    /// Vector ALU with 64 bits, as fast as a multiplication of doubles.
    F64Mul,
    /// Scalar ALU.
    Scalar,
    /// Scalar ALU, with a longer latency: s_setreg, *_saveexec.
    ScalarSlow,
    /// Scalar memory.
    ScalarMemory,
    /// LDS.
    Lds,
    /// Flat memory.
    Flat,
    /// Buffers.
    Buffer,
    /// Branches.
    Branch,
    /// Messages.
    Message,
    /// s_nop.
    Nop,
    /// s_sleep.
    Sleep,
    /// s_waitcnt.
    Wait,
    /// s_barrier.
    Barrier,
    /// s_endpgm.
    End,
    /// Other instructions without a unit.
    Internal,
    /// No class: images, exports, instructions of the whole GPU, and those that no analysis follows.
    None,
}

impl Named for GcnClass {
    const ALL: &'static [(GcnClass, &'static str)] = &[
        (GcnClass::Full, "full"),
        (GcnClass::Quarter, "quarter"),
        (GcnClass::F64Add, "f64_add"),
        (GcnClass::F64Mul, "f64_mul"),
        (GcnClass::Scalar, "scalar"),
        (GcnClass::ScalarSlow, "scalar_slow"),
        (GcnClass::ScalarMemory, "scalar_memory"),
        (GcnClass::Lds, "lds"),
        (GcnClass::Flat, "flat"),
        (GcnClass::Buffer, "buffer"),
        (GcnClass::Branch, "branch"),
        (GcnClass::Message, "message"),
        (GcnClass::Nop, "nop"),
        (GcnClass::Sleep, "sleep"),
        (GcnClass::Wait, "wait"),
        (GcnClass::Barrier, "barrier"),
        (GcnClass::End, "end"),
        (GcnClass::Internal, "internal"),
        (GcnClass::None, "none"),
    ];
}

const TABLE: &str = include_str!("../../../../isa/amd/gfx803.classes");

/// Opcodes of each line of the table, with the name of their class.
fn lines() -> impl Iterator<Item = (&'static str, std::str::SplitWhitespace<'static>)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words))
    })
}

/// Classes by the number of the opcode. Opcodes that the table lacks have no class.
fn classes() -> Vec<GcnClass> {
    let mut classes = vec![GcnClass::None; GcnOpcode::ALL.len()];
    for (name, opcodes) in lines() {
        let class = GcnClass::ALL.iter().find(|(_, own)| *own == name);
        for opcode in opcodes {
            let number = GcnOpcode::ALL.iter().position(|own| own.name() == opcode);
            // A fault in the compiled-in table leaves `None` here; a test finds it, so that loading need not fail.
            if let (Some((class, _)), Some(number)) = (class, number) {
                classes[number] = *class;
            }
        }
    }
    classes
}

impl GcnOpcode {
    /// Timing class.
    pub fn class(self) -> GcnClass {
        static CLASSES: OnceLock<Vec<GcnClass>> = OnceLock::new();
        let classes = CLASSES.get_or_init(classes);
        // The variants of the enum are in the order of the list, so the discriminant is the index.
        let class = classes.get(self as usize);
        class.copied().unwrap_or(GcnClass::None)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::amd::{GcnFlow, GcnInstr, GcnUnit, form_patterns};

    /// Each opcode is in one line, and each line names a class and opcodes.
    #[test]
    fn each_opcode_has_one_class() {
        let mut lines_of: BTreeMap<&str, usize> = BTreeMap::new();
        for (class, opcodes) in lines() {
            assert!(
                GcnClass::ALL.iter().any(|(_, own)| *own == class),
                "{class}"
            );
            for opcode in opcodes {
                *lines_of.entry(opcode).or_default() += 1;
            }
        }
        assert!(lines_of.values().all(|count| *count == 1));
        let listed: Vec<&str> = lines_of.into_keys().collect();
        let mut opcodes: Vec<&str> = GcnOpcode::ALL.iter().map(|own| own.name()).collect();
        opcodes.sort_unstable();
        assert_eq!(listed, opcodes);
        for (number, opcode) in GcnOpcode::ALL.iter().enumerate() {
            assert_eq!(*opcode as usize, number);
        }
    }

    /// Classes suit the units of the rows. An instruction that analyses follow has a class, except images and
    /// exports.
    #[test]
    fn classes_suit_units() {
        use GcnClass as C;
        for (value, _) in form_patterns() {
            let (first, second) = (value as u32, (value >> 32) as u32);
            let instr = GcnInstr::decode(warpbound_base::CodeAddr(0), first, Some(second));
            let (Some(opcode), Some(unit)) = (instr.opcode(), instr.unit()) else {
                continue;
            };
            let class = opcode.class();
            let suits = match unit {
                GcnUnit::Vector => matches!(class, C::Full | C::Quarter | C::F64Add | C::F64Mul),
                GcnUnit::Transcendental => matches!(class, C::Quarter | C::F64Mul),
                GcnUnit::Scalar => matches!(class, C::Scalar | C::ScalarSlow),
                GcnUnit::ScalarMemory => class == C::ScalarMemory,
                GcnUnit::Lds => matches!(class, C::Lds | C::None),
                GcnUnit::Flat => class == C::Flat,
                GcnUnit::VectorMemory => class == C::Buffer,
                GcnUnit::Branch => class == C::Branch,
                GcnUnit::Message => class == C::Message,
                GcnUnit::Image | GcnUnit::Export => class == C::None,
                GcnUnit::Internal => matches!(
                    class,
                    C::Nop | C::Sleep | C::Wait | C::Barrier | C::End | C::Internal | C::None
                ),
            };
            assert!(suits, "{} {unit:?} {class:?}", opcode.name());
            let flows = instr.effects().flow != GcnFlow::Unsupported;
            if class == C::None && flows {
                let name = opcode.name();
                let known = matches!(unit, GcnUnit::Image | GcnUnit::Export)
                    || name.starts_with("ds_gws")
                    || name == "ds_ordered_count"
                    || unit == GcnUnit::Internal;
                assert!(known, "{name}");
            }
        }
    }
}
