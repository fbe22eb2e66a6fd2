//! Meaning of Maxwell and Pascal instructions (sources: the PTX manual for operations that SASS shares with it,
//! `pastis-2022` section 4, experiments with the compiler's output).
//!
//! [`meaning`] names the function for each opcode. Every function matches modifiers exactly: an instruction with a
//! modifier that no arm matches has no meaning, and its results are unknown to analyses. A wrong meaning would be
//! unsound, while a missing one is only imprecise. For example, `IADD.SAT R0.CC, R1, R2` has no meaning, because the
//! flags of a clamped sum are not known.

pub(crate) mod atomic;
pub(crate) mod compare;
pub(crate) mod convert;
mod flags;
pub(crate) mod float;
pub(crate) mod half;
mod integer;
pub(crate) mod logic;
pub(crate) mod memory;
pub(crate) mod modifier_reader;
pub(crate) mod number;
mod products;
mod resize;
pub(crate) mod surface;
#[cfg(test)]
mod tests;
pub(crate) mod texture;
pub(crate) mod video;
pub(crate) mod warp_wide;

use warpbound_isa::View;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::Opcode;

use crate::Meaning;
use crate::nvidia::operands::Operands;
pub use flags::{cc_test, further_test};

/// Returns the meaning of an instruction; `None` if it is unknown.
#[allow(clippy::too_many_lines, reason = "a table: one row per opcode")]
pub fn meaning(view: &View) -> Option<Meaning> {
    let o = &Operands::new(view);
    let m = view.modifiers.as_slice();
    // For opcodes without modifiers: a modifier that the table gains later must not go unnoticed.
    let plain = |meaning: fn(&Operands<'_>) -> Option<Meaning>| match m {
        [] => meaning(o),
        _ => None,
    };
    match view.opcode {
        Opcode::Iadd | Opcode::Iadd32i => integer::sum(m, o),
        Opcode::Iadd3 => integer::sum_of_three(m, o),
        Opcode::Iscadd | Opcode::Iscadd32i => integer::scaled_sum(m, o),
        Opcode::Lea => integer::scaled_address(m, o),
        Opcode::Imnmx => integer::min_max(m, o),

        Opcode::Xmad => products::multiply_halves(m, o),
        Opcode::Imul | Opcode::Imul32i => products::multiply(m, o),
        Opcode::Imad | Opcode::Imad32i => products::multiply_and_add(m, o),
        Opcode::I2i => resize::resize(m, o),

        Opcode::Mov | Opcode::Mov32i => plain(logic::mov),
        Opcode::Sel => plain(logic::select),
        Opcode::Lop | Opcode::Lop32i => logic::bitwise(m, o),
        Opcode::Lop3 => logic::look_up(m, o),
        Opcode::Shl => logic::shift_left(m, o),
        Opcode::Shr => logic::shift_right(m, o),
        Opcode::Shf => logic::funnel(m, o),
        Opcode::Bfe => logic::field_extract(m, o),
        Opcode::Bfi => plain(logic::field_insert),
        Opcode::Popc => plain(logic::population),
        Opcode::Flo => logic::find_leading_one(m, o),
        Opcode::Prmt => logic::permute(m, o),

        Opcode::Isetp => compare::integer_set_predicates(m, o),
        Opcode::Iset => compare::integer_set(m, o),
        Opcode::Icmp => compare::integer_select(m, o),
        Opcode::Psetp => compare::predicate_set_predicates(m, o),
        Opcode::Pset => compare::predicate_set(m, o),
        Opcode::Csetp => compare::code_set_predicates(m, o),
        Opcode::Cset => compare::code_set(m, o),
        Opcode::P2r => compare::predicates_to_register(m, o),
        Opcode::R2p => plain(compare::register_to_predicates),

        Opcode::Fadd | Opcode::Fadd32i => float::single_sum(m, o),
        Opcode::Fmul | Opcode::Fmul32i => float::single_product(m, o),
        Opcode::Ffma | Opcode::Ffma32i => float::single_fma(m, o),
        Opcode::Fmnmx => float::single_min_max(m, o),
        Opcode::Fcmp => float::single_select(m, o),
        Opcode::Fset => float::single_set(m, o),
        Opcode::Fsetp => float::single_set_predicates(m, o),
        Opcode::Mufu => float::special_function(m, o),
        Opcode::Rro => float::range_reduction(m, o),
        Opcode::Fchk => float::division_check(m, o),
        Opcode::Dadd => float::double_sum(m, o),
        Opcode::Dmul => float::double_product(m, o),
        Opcode::Dfma => float::double_fma(m, o),
        Opcode::Dmnmx => plain(float::double_min_max),
        Opcode::Dset => float::double_set(m, o),
        Opcode::Dsetp => float::double_set_predicates(m, o),
        Opcode::F2f => convert::float_to_float(m, o),
        Opcode::F2i => convert::float_to_integer(m, o),
        Opcode::I2f => convert::integer_to_float(m, o),

        Opcode::Hadd2 | Opcode::Hadd2_32i => half::sum(m, o),
        Opcode::Hmul2 | Opcode::Hmul2_32i => half::product(m, o),
        Opcode::Hfma2 | Opcode::Hfma2_32i => half::fma(m, o),
        Opcode::Hset2 => half::set(m, o),
        Opcode::Hsetp2 => half::set_predicate_pair(m, o),

        Opcode::Vadd => video::sum(m, o),
        Opcode::Vabsdiff => video::difference(m, o),
        Opcode::Vmnmx => video::min_max(m, o),
        Opcode::Vshl => video::shift_left(m, o),
        Opcode::Vshr => video::shift_right(m, o),
        Opcode::Vset => video::comparison(m, o),
        Opcode::Vsetp => video::predicate(m, o),
        Opcode::Vmad => video::product_and_sum(m, o),
        Opcode::Vabsdiff4 => video::differences_of_bytes(m, o),
        Opcode::Idp => video::dot_product(m, o),

        Opcode::Ld => memory::access(m, o, MemorySpace::Generic, true),
        Opcode::Ldg => memory::access(m, o, MemorySpace::Global, true),
        Opcode::Lds => memory::access(m, o, MemorySpace::Shared, true),
        Opcode::Ldl => memory::access(m, o, MemorySpace::Local, true),
        Opcode::St => memory::access(m, o, MemorySpace::Generic, false),
        Opcode::Stg => memory::access(m, o, MemorySpace::Global, false),
        Opcode::Sts => memory::access(m, o, MemorySpace::Shared, false),
        Opcode::Stl => memory::access(m, o, MemorySpace::Local, false),
        Opcode::Ldc => memory::constants(m, o),
        // ATOM and RED take generic addresses: compilers emit them for pointers of unknown space.
        Opcode::Atom | Opcode::Red => atomic::atomic(m, o, MemorySpace::Generic),
        Opcode::Atoms => atomic::atomic(m, o, MemorySpace::Shared),
        Opcode::Cctl | Opcode::Cctll | Opcode::Cctlt => memory::cache_control(m),
        Opcode::Bar => memory::barrier(m, o),
        Opcode::B2r => memory::barrier_result(m, o),
        Opcode::Bpt => memory::breakpoint(m),

        Opcode::Tex => texture::sample(m, o),
        Opcode::Txd => texture::sample_gradient(m, o),
        Opcode::Tld => texture::texel(m, o),
        Opcode::Tld4 => texture::gather(m, o),
        Opcode::Texs => texture::short_sample(m, o),
        Opcode::Tlds => texture::short_texel(m, o),
        Opcode::Tld4s => texture::short_gather(m, o),
        Opcode::Txq => texture::size_query(m, o),
        Opcode::Suld => surface::load(m, o),
        Opcode::Sust => surface::store(m, o),
        Opcode::Sured => surface::reduce(m, o),

        Opcode::Shfl => warp_wide::shuffle(m, o),
        Opcode::Vote => warp_wide::vote(m, o),

        // Control operations, fences and waits have no effect on data.
        Opcode::Nop
        | Opcode::Membar
        | Opcode::Depbar
        | Opcode::Bra
        | Opcode::Brx
        | Opcode::Jmx
        | Opcode::Ssy
        | Opcode::Sync
        | Opcode::Pbk
        | Opcode::Brk
        | Opcode::Pcnt
        | Opcode::Cont
        | Opcode::Cal
        | Opcode::Jcal
        | Opcode::Pret
        | Opcode::Ret
        | Opcode::Exit => Some(Meaning::nothing()),

        // Special registers have no meaning, because the value follows from `ValueDependence::Special`.
        Opcode::S2r | Opcode::Cs2r => None,

        // Not modelled: jumps that no compiler emits, graphics, and instructions whose effect is not documented.
        Opcode::Jmp
        | Opcode::Kil
        | Opcode::Plongjmp
        | Opcode::Longjmp
        | Opcode::Pexit
        | Opcode::Sam
        | Opcode::Ram
        | Opcode::Rtt
        | Opcode::Ide
        | Opcode::Fswzadd
        | Opcode::Ipa
        | Opcode::Imadsp
        | Opcode::Tmml
        | Opcode::Txa
        | Opcode::Suatom
        | Opcode::Stp
        | Opcode::Al2p
        | Opcode::Ald
        | Opcode::Ast
        | Opcode::Out
        | Opcode::Pixld
        | Opcode::Isberd
        | Opcode::R2b
        | Opcode::Lepc
        | Opcode::Setcrsptr
        | Opcode::Getcrsptr
        | Opcode::Setlmembase
        | Opcode::Getlmembase => None,

        // Opcodes that only later families have. That each opcode of this one is decided above is a test.
        _ => None,
    }
}
