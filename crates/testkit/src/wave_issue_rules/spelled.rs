//! Instructions of a wave as far as their spelling says: kind, unit time, registers, waits. Nothing here reads the
//! tables of timing classes and effects that the simulator reads.

use warpbound_isa::TargetStyle;
use warpbound_isa::amd::GcnProgram;
use warpbound_machine::{MachineConfig, Parameter};

/// Kind of an instruction, by the beginning of its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum SpelledKind {
    Vector,
    Scalar,
    Branch,
    VectorMemory,
    Lds,
    ScalarMemory,
    Message,
    Internal,
    Other,
}

/// Register, or a flag that stands for one. A pair such as VCC is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum SpelledRegister {
    Vector(u16),
    Scalar(u16),
    Vcc,
    Exec,
    Scc,
    M0,
}

/// An instruction.
pub(super) struct SpelledInstr {
    pub(super) kind: SpelledKind,
    pub(super) name: String,
    pub(super) writes: Vec<SpelledRegister>,
    pub(super) reads: Vec<SpelledRegister>,
    /// Counts that s_waitcnt lets pass.
    pub(super) vm: Option<u64>,
    pub(super) lgkm: Option<u64>,
    /// Operand of s_nop or s_sleep.
    pub(super) idle: u64,
    /// Dwords of the data of an access.
    pub(super) dwords: u64,
}

impl SpelledInstr {
    /// Reads all instructions of a program; `None` for a word that is none.
    pub(super) fn all(program: &GcnProgram) -> Vec<Option<SpelledInstr>> {
        let instrs = program.instrs.iter();
        instrs
            .map(|instr| instr.text(TargetStyle::Hex).map(|text| of(&text)))
            .collect()
    }

    fn is(&self, name: &str) -> bool {
        self.name == name
    }

    pub(super) fn is_barrier(&self) -> bool {
        self.is("s_barrier")
    }

    /// Minimum number of cycles up to the next issue of the wave, for an instruction that idles.
    pub(super) fn idle_cycles(&self, machine: &MachineConfig) -> u64 {
        match self.name.as_str() {
            "s_nop" => (self.idle + 1) * machine[Parameter::NopState],
            "s_sleep" => self.idle * machine[Parameter::SleepUnit],
            _ => 0,
        }
    }

    /// Minimum number of cycles for which the instruction occupies its unit.
    pub(super) fn unit_cycles(&self, machine: &MachineConfig) -> u64 {
        let full = machine[Parameter::ValuCycles];
        match self.kind {
            SpelledKind::Vector if is_quarter(&self.name) => machine[Parameter::ValuQuarter],
            SpelledKind::Vector if self.name.starts_with("v_fma_f64") => {
                machine[Parameter::ValuF64Mul]
            }
            SpelledKind::Vector if self.name.starts_with("v_add_f64") => {
                machine[Parameter::ValuF64Add]
            }
            SpelledKind::Vector => full,
            SpelledKind::Scalar => machine[Parameter::SaluCycles],
            SpelledKind::Branch => machine[Parameter::BranchCycles],
            SpelledKind::VectorMemory => machine[Parameter::VmemCycles] * self.dwords,
            SpelledKind::Lds => machine[Parameter::LdsCycles],
            SpelledKind::ScalarMemory => match self.dwords {
                16 => machine[Parameter::SmemCycles16],
                8 => machine[Parameter::SmemCycles8],
                _ => machine[Parameter::SmemCycles],
            },
            SpelledKind::Message | SpelledKind::Internal | SpelledKind::Other => 0,
        }
    }

    /// Cycles from the issue to the issue of an instruction that reads `register`, which this one writes.
    pub(super) fn latency(&self, register: SpelledRegister, machine: &MachineConfig) -> u64 {
        match (self.kind, register) {
            (SpelledKind::Vector, SpelledRegister::Vector(_)) => machine[Parameter::ValuLatency],
            (SpelledKind::Vector, _) => machine[Parameter::ValuToScalar],
            (SpelledKind::Scalar, _)
                if self.name.contains("saveexec") || self.name.starts_with("s_setreg") =>
            {
                machine[Parameter::SaluSlow]
            }
            (SpelledKind::Scalar, _) => machine[Parameter::SaluLatency],
            // Results of memory are waited for by s_waitcnt.
            _ => 0,
        }
    }
}

/// Operations of a quarter of the rate that no source disputes.
fn is_quarter(name: &str) -> bool {
    let names = [
        "v_mul_lo_u32",
        "v_mul_hi_u32",
        "v_rcp_f32",
        "v_rsq_f32",
        "v_sqrt_f32",
        "v_sin_f32",
        "v_cos_f32",
        "v_exp_f32",
        "v_log_f32",
    ];
    names.iter().any(|quarter| name.starts_with(quarter))
}

fn kind(name: &str) -> SpelledKind {
    let begins = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
    if begins(&["v_"]) {
        SpelledKind::Vector
    } else if begins(&["flat_", "buffer_", "tbuffer_"]) {
        SpelledKind::VectorMemory
    } else if begins(&["ds_"]) {
        SpelledKind::Lds
    } else if begins(&["s_load", "s_buffer_", "s_store", "s_dcache", "s_mem"]) {
        SpelledKind::ScalarMemory
    } else if begins(&["s_cbranch", "s_branch", "s_setpc", "s_swappc", "s_call"]) {
        SpelledKind::Branch
    } else if begins(&["s_sendmsg"]) {
        SpelledKind::Message
    } else if begins(&[
        "s_waitcnt",
        "s_nop",
        "s_barrier",
        "s_endpgm",
        "s_sleep",
        "s_setprio",
        "s_icache",
        "s_inc",
        "s_dec",
        "s_ttrace",
        "s_sethalt",
    ]) {
        SpelledKind::Internal
    } else if begins(&["s_"]) {
        SpelledKind::Scalar
    } else {
        SpelledKind::Other
    }
}

/// Reads `v3`, `s[4:5]`, `vcc`; nothing from a constant. Signs and modifiers around a register do not matter.
fn registers(operand: &str) -> Vec<SpelledRegister> {
    let bare = operand.trim_matches(|c: char| "-|() ".contains(c));
    let bare = bare.trim_start_matches("abs(").trim_start_matches("sext(");
    let bare = bare.split_whitespace().next().unwrap_or("");
    let bare = bare.trim_matches(|c: char| "-|()".contains(c));
    match bare {
        "vcc" | "vcc_lo" | "vcc_hi" => return vec![SpelledRegister::Vcc],
        "exec" | "exec_lo" | "exec_hi" => return vec![SpelledRegister::Exec],
        "m0" => return vec![SpelledRegister::M0],
        _ => {}
    }
    let make: fn(u16) -> SpelledRegister = match bare.chars().next() {
        Some('v') => SpelledRegister::Vector,
        Some('s') => SpelledRegister::Scalar,
        _ => return Vec::new(),
    };
    let rest = &bare[1..];
    let range = match rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
        Some(range) => range.split_once(':').unwrap_or((range, range)),
        None => (rest, rest),
    };
    match (range.0.parse(), range.1.parse()) {
        (Ok(first), Ok(last)) => (first..=last).map(make).collect(),
        _ => Vec::new(),
    }
}

/// Whether the first operand of a scalar instruction is read only.
fn writes_no_scalar(name: &str) -> bool {
    ["s_cmp", "s_bitcmp", "s_setreg", "s_cmpk"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Whether an instruction writes SCC; a part of those that do.
fn writes_scc(name: &str) -> bool {
    ["s_cmp", "s_bitcmp", "s_add_", "s_and_", "s_or_", "s_andn2_"]
        .iter()
        .any(|start| name.starts_with(start))
}

fn of(text: &str) -> SpelledInstr {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let kind = kind(name);
    let operands: Vec<&str> = rest.split(',').map(str::trim).collect();
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    match kind {
        SpelledKind::Vector | SpelledKind::Scalar => {
            // Sums with a carry, v_mad_u64 and v_div_scale write a second operand.
            let has_carry = ["v_add_u32", "v_addc", "v_sub_u32", "v_subb", "v_subrev_u32"];
            let has_pair = ["v_mad_u64", "v_mad_i64", "v_div_scale"];
            let second = has_carry.iter().chain(&has_pair);
            let second = second.into_iter().any(|start| name.starts_with(start));
            let first = match kind == SpelledKind::Scalar && writes_no_scalar(name) {
                true => 0,
                false => 1 + usize::from(second),
            };
            let (to, from) = operands.split_at(first.min(operands.len()));
            writes.extend(to.iter().flat_map(|operand| registers(operand)));
            reads.extend(from.iter().flat_map(|operand| registers(operand)));
        }
        SpelledKind::Branch => reads.extend(operands.iter().flat_map(|operand| registers(operand))),
        _ => {}
    }
    // They access one lane, active or not.
    let is_of_one_lane = ["v_readlane", "v_writelane"]
        .iter()
        .any(|start| name.starts_with(start));
    if kind == SpelledKind::Vector && !is_of_one_lane {
        reads.push(SpelledRegister::Exec);
        if name.starts_with("v_div_fmas") {
            reads.push(SpelledRegister::Vcc);
        }
        if name.starts_with("v_cmpx") {
            writes.push(SpelledRegister::Exec);
        }
    }
    if name.contains("saveexec") {
        reads.push(SpelledRegister::Exec);
        writes.push(SpelledRegister::Exec);
    }
    if kind == SpelledKind::Scalar && writes_scc(name) {
        writes.push(SpelledRegister::Scc);
    }
    for (tested, register) in [
        ("vcc", SpelledRegister::Vcc),
        ("exec", SpelledRegister::Exec),
        ("scc", SpelledRegister::Scc),
    ] {
        if name
            .strip_prefix("s_cbranch_")
            .is_some_and(|on| on.starts_with(tested))
        {
            reads.push(register);
        }
    }
    SpelledInstr {
        kind,
        vm: count(rest, "vmcnt("),
        lgkm: count(rest, "lgkmcnt("),
        idle: match name {
            "s_nop" | "s_sleep" => number(rest),
            _ => 0,
        },
        dwords: dwords(name),
        name: name.to_owned(),
        writes,
        reads,
    }
}

/// Dwords of the data, as the name of an access ends.
fn dwords(name: &str) -> u64 {
    match name.rsplit_once("dword") {
        Some((_, "x2")) => 2,
        Some((_, "x3")) => 3,
        Some((_, "x4")) => 4,
        Some((_, "x8")) => 8,
        Some((_, "x16")) => 16,
        _ => 1,
    }
}

fn count(text: &str, counter: &str) -> Option<u64> {
    let from = text.find(counter)? + counter.len();
    // `vmcnt(` is no part of another name, but `lgkmcnt(` ends with `mcnt(`.
    let digits = text[from..].split(')').next()?;
    digits.parse().ok()
}

fn number(text: &str) -> u64 {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap_or(0),
        None => text.parse().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::SpelledRegister::{Exec, Scalar, Scc, Vcc, Vector};
    use super::*;

    #[test]
    fn instructions_are_read_from_their_text() {
        let add = of("v_addc_u32_e32 v1, vcc, v2, v3, vcc");
        assert_eq!(add.kind, SpelledKind::Vector);
        assert_eq!(add.writes, [Vector(1), Vcc]);
        assert_eq!(add.reads, [Vector(2), Vector(3), Vcc, Exec]);
        let save = of("s_and_saveexec_b64 s[0:1], vcc");
        assert_eq!(save.writes, [Scalar(0), Scalar(1), Exec, Scc]);
        assert_eq!(save.reads, [Vcc, Exec]);
        let compare = of("s_cmp_eq_u32 s3, 7");
        assert_eq!(
            (compare.writes, compare.reads),
            (vec![Scc], vec![Scalar(3)])
        );
        assert_eq!(of("s_cbranch_scc1 40").reads, [Scc]);
        let wait = of("s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(3)");
        assert_eq!((wait.vm, wait.lgkm), (Some(0), Some(3)));
        assert_eq!(of("s_waitcnt lgkmcnt(1)").vm, None);
        assert_eq!(of("flat_load_dwordx4 v[2:5], v[0:1]").dwords, 4);
        assert_eq!(of("s_load_dword s0, s[4:5], 0x4").dwords, 1);
        assert_eq!(of("s_nop 0x3").idle, 3);
        assert_eq!(
            of("v_max_f32_e64 v1, -|v4|, s2").reads,
            [Vector(4), Scalar(2), Exec]
        );
        assert!(of("s_barrier").is_barrier());
    }
}
