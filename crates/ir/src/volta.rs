//! Meaning of instructions from Volta to Blackwell (sources: the PTX manual for operations that SASS shares with it; the
//! output of compilers; results of an H200).
//!
//! [`meaning`] names the function for each opcode; operations that Maxwell has as well are in [`crate::maxwell`]. As there,
//! a function matches modifiers exactly: an instruction with a modifier that no arm matches has no meaning, and its results
//! are unknown to analyses. Carries are in predicates: `IADD3 R4, P0, PT, R2, R6, RZ` adds the low words of two 64-bit
//! numbers, and `IADD3.X R5, PT, PT, R3, R7, RZ, P0, !PT` the high ones.

mod atomic;
mod compare;
mod convert;
mod float;
mod integer;
mod logic;
mod matrix;
mod memory;
mod texture;
mod warp_wide;

use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::{Arch, Modifier, Opcode};
use warpbound_isa::{OperandValue, View};

use crate::Meaning;
use crate::maxwell::{
    float as maxwell_float, half, logic as maxwell_logic, memory as maxwell_memory, video,
    warp_wide as maxwell_warp_wide,
};
use crate::nvidia::operands::Operands;

/// Returns the meaning of an instruction of an architecture; `None` if it is unknown. Only the arithmetic of matrix units differs
/// between architectures.
#[allow(clippy::too_many_lines, reason = "a table: one row per opcode")]
pub(crate) fn meaning(view: &View, arch: Arch) -> Option<Meaning> {
    let o = &mut Operands::new(view);
    // Some forms have a field for a predicate that they do not write. Compilers put P0 there.
    o.writes.retain(|operand| {
        operand.shown || !matches!(operand.value, OperandValue::Pred { pred: Some(_), .. })
    });
    let o = &*o;
    let m = view.modifiers.as_slice();
    match view.opcode {
        Opcode::Mov | Opcode::Umov => logic::moved(m, o),
        Opcode::Iadd3 | Opcode::Uiadd3 => integer::sum(m, o, 3),
        Opcode::Iadd | Opcode::Viadd => integer::sum(m, o, 2),
        Opcode::Imad | Opcode::Uimad => integer::product_and_sum(m, o),
        Opcode::Lea | Opcode::Ulea => integer::scaled_sum(m, o),
        Opcode::Iabs => plain(m).and_then(|()| integer::absolute(o)),
        Opcode::Imnmx | Opcode::Uimnmx | Opcode::Vimnmx | Opcode::Uvimnmx => integer::min_max(m, o),
        Opcode::Vimnmx3 => integer::min_max_of_three(m, o),
        Opcode::Viaddmnmx => integer::sum_min_max(m, o),
        Opcode::Vabsdiff => integer::difference_and_sum(m, o),
        Opcode::Vabsdiff4 => integer::differences_of_bytes(m, o),
        Opcode::Idp => video::dot_product(m, o),

        Opcode::Shf | Opcode::Ushf => logic::shift(m, o),
        Opcode::Lop3 | Opcode::Ulop3 => logic::look_up(m, o),
        Opcode::Plop3 | Opcode::Uplop3 => logic::predicate_look_up(m, o),
        Opcode::Sel | Opcode::Usel => logic::select(m, o),
        Opcode::Popc | Opcode::Upopc => plain(m).and_then(|()| maxwell_logic::population(o)),
        Opcode::Flo | Opcode::Uflo => maxwell_logic::find_leading_one(m, o),
        Opcode::Brev | Opcode::Ubrev => plain(m).and_then(|()| logic::reversed(o)),
        Opcode::Prmt | Opcode::Uprmt => maxwell_logic::permute(m, o),
        Opcode::Sgxt | Opcode::Usgxt => logic::extension(m, o),
        Opcode::Bmsk | Opcode::Ubmsk => logic::bit_mask(m, o),
        Opcode::P2r => plain(m).and_then(|()| logic::predicates_to_register(o)),
        Opcode::R2p => plain(m).and_then(|()| logic::register_to_predicates(o)),
        Opcode::Cs2r => logic::zeros(o),

        Opcode::Isetp | Opcode::Uisetp => compare::integer_set_predicates(m, o),
        Opcode::Fsetp | Opcode::Ufsetp => maxwell_float::single_set_predicates(m, o),
        Opcode::Dsetp => compare::double_set_predicates(m, o),
        Opcode::Hset2 => half::set(m, o),
        Opcode::Hsetp2 => half::set_predicate_pair(m, o),

        Opcode::Fadd | Opcode::Ufadd => maxwell_float::single_sum(m, o),
        Opcode::Fmul | Opcode::Ufmul => maxwell_float::single_product(m, o),
        Opcode::Ffma | Opcode::Uffma => maxwell_float::single_fma(m, o),
        Opcode::Fsel | Opcode::Ufsel => plain(m).and_then(|()| float::select(o)),
        Opcode::Fmnmx | Opcode::Ufmnmx => float::min_max(m, o),
        Opcode::Fmnmx3 => float::min_max_of_three(m, o),
        Opcode::Fchk => plain(m).and_then(|()| float::division_check(o)),
        Opcode::Mufu => float::special_function(m, o),
        Opcode::Dadd => maxwell_float::double_sum(m, o),
        Opcode::Dmul => maxwell_float::double_product(m, o),
        Opcode::Dfma => maxwell_float::double_fma(m, o),
        Opcode::Hadd2 => half::sum(m, o),
        Opcode::Hmul2 => half::product(m, o),
        Opcode::Hfma2 => float::half_fma(m, o),

        Opcode::F2f => convert::float_to_float(m, o),
        Opcode::F2fp => convert::pack(m, o),
        Opcode::F2i | Opcode::Uf2i => convert::float_to_integer(m, o),
        Opcode::F2ip => convert::float_to_packed_integer(m, o),
        Opcode::I2f | Opcode::Ui2f => convert::integer_to_float(m, o),
        Opcode::I2fp | Opcode::Ui2fp => convert::integer_to_single(m, o),
        Opcode::Frnd => convert::round(m, o),

        Opcode::Ld => memory::access(m, o, MemorySpace::Generic, true),
        Opcode::Ldg => memory::access(m, o, MemorySpace::Global, true),
        Opcode::Lds => memory::access(m, o, MemorySpace::Shared, true),
        Opcode::Ldl => memory::access(m, o, MemorySpace::Local, true),
        Opcode::St => memory::access(m, o, MemorySpace::Generic, false),
        Opcode::Stg => memory::access(m, o, MemorySpace::Global, false),
        Opcode::Sts => memory::access(m, o, MemorySpace::Shared, false),
        Opcode::Stl => memory::access(m, o, MemorySpace::Local, false),
        Opcode::Ldc | Opcode::Uldc | Opcode::Ldcu => memory::constant(m, o),
        Opcode::Atom => atomic::atomic(m, o, MemorySpace::Generic),
        Opcode::Atomg | Opcode::Redg => atomic::atomic(m, o, MemorySpace::Global),
        // Up to Hopper, RED is for global memory; from sm_90 on, REDG is, and RED for addresses of unknown space.
        Opcode::Red => atomic::atomic(m, o, MemorySpace::Generic),
        Opcode::Atoms => atomic::atomic(m, o, MemorySpace::Shared),
        Opcode::Bar => memory::barrier(m, o),
        Opcode::B2r => maxwell_memory::barrier_result(m, o),
        Opcode::Bpt => maxwell_memory::breakpoint(m),

        Opcode::Hmma => matrix::half_product(m, o, arch),
        Opcode::Qmma => matrix::byte_product(m, o, arch),
        Opcode::Imma => matrix::integer_product(m, o),
        Opcode::Bmma => matrix::bit_product(m, o),
        Opcode::Dmma => matrix::double_product(m, o),
        Opcode::Movm => matrix::transposition(m, o),
        Opcode::Ldsm => matrix::access(m, o, true),
        Opcode::Stsm => matrix::access(m, o, false),
        Opcode::Ldgsts => matrix::copy(view),

        Opcode::Tex => texture::sample(view, o),
        Opcode::Txd => texture::sample_gradient(view, o),
        Opcode::Tld => texture::texel(view, o),
        Opcode::Tld4 => texture::gather(view, o),
        Opcode::Txq => texture::size_query(view, o),
        Opcode::Suld => texture::surface_load(m, o),
        Opcode::Sust => texture::surface_store(m, o),

        Opcode::Shfl => maxwell_warp_wide::shuffle(m, o),
        Opcode::Vote | Opcode::Voteu => maxwell_warp_wide::vote(m, o),
        Opcode::Redux | Opcode::Credux => warp_wide::reduction(m, o),
        Opcode::Match => warp_wide::matching(m, o),
        Opcode::R2ur => warp_wide::first_lane(view),

        // Control operations, fences, waits and hints for caches have no effect on data.
        Opcode::Nop
        | Opcode::Membar
        | Opcode::Depbar
        | Opcode::Ldgdepbar
        | Opcode::Errbar
        | Opcode::Cgaerrbar
        | Opcode::Cctl
        | Opcode::Brx
        | Opcode::Jmp
        | Opcode::Jmx
        | Opcode::Bssy
        | Opcode::Bsync
        | Opcode::Break
        | Opcode::Call
        | Opcode::Ret
        | Opcode::Yield
        | Opcode::Nanosleep
        | Opcode::Exit => Some(Meaning::nothing()),
        Opcode::Bmov => memory::barrier_move(m, o),
        Opcode::Bra => warp_wide::branch(view),
        Opcode::Warpsync => warp_wide::meeting(m, o),
        Opcode::Endcollective => plain(m).and_then(|()| warp_wide::parting(o)),

        // Not modelled yet.
        _ => None,
    }
}

/// Fails unless an instruction has no modifiers.
fn plain(modifiers: &[Modifier]) -> Option<()> {
    modifiers.is_empty().then_some(())
}
