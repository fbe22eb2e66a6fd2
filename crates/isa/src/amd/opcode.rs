//! Opcodes of GCN3, as the rows of `gfx803.forms` spell them.
//!
//! The enum is generated from a list, so that analyses match on variants and not on text. For example, `s_add_u32` is
//! `GcnOpcode::SAddU32`. `v_add_f32_e32` and `v_add_f32_e64` are two forms of one opcode.

use std::fmt;

macro_rules! opcodes {
    ($($variant:ident = $name:literal;)+) => {
        /// Opcode of an instruction of GCN3: its mnemonic, without the suffix of its encoding.
        ///
        /// Each mnemonic of `gfx803.forms` is one of these, and each of these has a row.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "the name of a variant is its mnemonic")]
        pub enum GcnOpcode {
            $($variant,)+
        }

        impl GcnOpcode {
            /// All opcodes, in the order of their first rows.
            pub const ALL: &[GcnOpcode] = &[$(GcnOpcode::$variant,)+];

            /// Mnemonic.
            pub const fn name(self) -> &'static str {
                match self {
                    $(GcnOpcode::$variant => $name,)+
                }
            }
        }
    };
}

opcodes! {
    SAddU32 = "s_add_u32"; SSubU32 = "s_sub_u32"; SAddI32 = "s_add_i32"; SSubI32 = "s_sub_i32";
    SAddcU32 = "s_addc_u32"; SSubbU32 = "s_subb_u32"; SMinI32 = "s_min_i32"; SMinU32 = "s_min_u32";
    SMaxI32 = "s_max_i32"; SMaxU32 = "s_max_u32"; SCselectB32 = "s_cselect_b32"; SCselectB64 = "s_cselect_b64";
    SAndB32 = "s_and_b32"; SAndB64 = "s_and_b64"; SOrB32 = "s_or_b32"; SOrB64 = "s_or_b64"; SXorB32 = "s_xor_b32";
    SXorB64 = "s_xor_b64"; SAndn2B32 = "s_andn2_b32"; SAndn2B64 = "s_andn2_b64"; SOrn2B32 = "s_orn2_b32";
    SOrn2B64 = "s_orn2_b64"; SNandB32 = "s_nand_b32"; SNandB64 = "s_nand_b64"; SNorB32 = "s_nor_b32";
    SNorB64 = "s_nor_b64"; SXnorB32 = "s_xnor_b32"; SXnorB64 = "s_xnor_b64"; SLshlB32 = "s_lshl_b32";
    SLshlB64 = "s_lshl_b64"; SLshrB32 = "s_lshr_b32"; SLshrB64 = "s_lshr_b64"; SAshrI32 = "s_ashr_i32";
    SAshrI64 = "s_ashr_i64"; SBfmB32 = "s_bfm_b32"; SBfmB64 = "s_bfm_b64"; SMulI32 = "s_mul_i32";
    SBfeU32 = "s_bfe_u32"; SBfeI32 = "s_bfe_i32"; SBfeU64 = "s_bfe_u64"; SBfeI64 = "s_bfe_i64";
    SCbranchGFork = "s_cbranch_g_fork"; SAbsdiffI32 = "s_absdiff_i32"; SRfeRestoreB64 = "s_rfe_restore_b64";
    SMovkI32 = "s_movk_i32"; SCmovkI32 = "s_cmovk_i32"; SCmpkEqI32 = "s_cmpk_eq_i32"; SCmpkLgI32 = "s_cmpk_lg_i32";
    SCmpkGtI32 = "s_cmpk_gt_i32"; SCmpkGeI32 = "s_cmpk_ge_i32"; SCmpkLtI32 = "s_cmpk_lt_i32";
    SCmpkLeI32 = "s_cmpk_le_i32"; SCmpkEqU32 = "s_cmpk_eq_u32"; SCmpkLgU32 = "s_cmpk_lg_u32";
    SCmpkGtU32 = "s_cmpk_gt_u32"; SCmpkGeU32 = "s_cmpk_ge_u32"; SCmpkLtU32 = "s_cmpk_lt_u32";
    SCmpkLeU32 = "s_cmpk_le_u32"; SAddkI32 = "s_addk_i32"; SMulkI32 = "s_mulk_i32";
    SCbranchIFork = "s_cbranch_i_fork"; SGetregB32 = "s_getreg_b32"; SSetregB32 = "s_setreg_b32";
    SSetregImm32B32 = "s_setreg_imm32_b32"; SMovB32 = "s_mov_b32"; SMovB64 = "s_mov_b64"; SCmovB32 = "s_cmov_b32";
    SCmovB64 = "s_cmov_b64"; SNotB32 = "s_not_b32"; SNotB64 = "s_not_b64"; SWqmB32 = "s_wqm_b32";
    SWqmB64 = "s_wqm_b64"; SBrevB32 = "s_brev_b32"; SBrevB64 = "s_brev_b64"; SBcnt0I32B32 = "s_bcnt0_i32_b32";
    SBcnt0I32B64 = "s_bcnt0_i32_b64"; SBcnt1I32B32 = "s_bcnt1_i32_b32"; SBcnt1I32B64 = "s_bcnt1_i32_b64";
    SFf0I32B32 = "s_ff0_i32_b32"; SFf0I32B64 = "s_ff0_i32_b64"; SFf1I32B32 = "s_ff1_i32_b32";
    SFf1I32B64 = "s_ff1_i32_b64"; SFlbitI32B32 = "s_flbit_i32_b32"; SFlbitI32B64 = "s_flbit_i32_b64";
    SFlbitI32 = "s_flbit_i32"; SFlbitI32I64 = "s_flbit_i32_i64"; SSextI32I8 = "s_sext_i32_i8";
    SSextI32I16 = "s_sext_i32_i16"; SBitset0B32 = "s_bitset0_b32"; SBitset0B64 = "s_bitset0_b64";
    SBitset1B32 = "s_bitset1_b32"; SBitset1B64 = "s_bitset1_b64"; SGetpcB64 = "s_getpc_b64";
    SSetpcB64 = "s_setpc_b64"; SSwappcB64 = "s_swappc_b64"; SRfeB64 = "s_rfe_b64";
    SAndSaveexecB64 = "s_and_saveexec_b64"; SOrSaveexecB64 = "s_or_saveexec_b64";
    SXorSaveexecB64 = "s_xor_saveexec_b64"; SAndn2SaveexecB64 = "s_andn2_saveexec_b64";
    SOrn2SaveexecB64 = "s_orn2_saveexec_b64"; SNandSaveexecB64 = "s_nand_saveexec_b64";
    SNorSaveexecB64 = "s_nor_saveexec_b64"; SXnorSaveexecB64 = "s_xnor_saveexec_b64"; SQuadmaskB32 = "s_quadmask_b32";
    SQuadmaskB64 = "s_quadmask_b64"; SMovrelsB32 = "s_movrels_b32"; SMovrelsB64 = "s_movrels_b64";
    SMovreldB32 = "s_movreld_b32"; SMovreldB64 = "s_movreld_b64"; SCbranchJoin = "s_cbranch_join";
    SAbsI32 = "s_abs_i32"; SSetGprIdxIdx = "s_set_gpr_idx_idx"; SCmpEqI32 = "s_cmp_eq_i32";
    SCmpLgI32 = "s_cmp_lg_i32"; SCmpGtI32 = "s_cmp_gt_i32"; SCmpGeI32 = "s_cmp_ge_i32"; SCmpLtI32 = "s_cmp_lt_i32";
    SCmpLeI32 = "s_cmp_le_i32"; SCmpEqU32 = "s_cmp_eq_u32"; SCmpLgU32 = "s_cmp_lg_u32"; SCmpGtU32 = "s_cmp_gt_u32";
    SCmpGeU32 = "s_cmp_ge_u32"; SCmpLtU32 = "s_cmp_lt_u32"; SCmpLeU32 = "s_cmp_le_u32"; SBitcmp0B32 = "s_bitcmp0_b32";
    SBitcmp1B32 = "s_bitcmp1_b32"; SBitcmp0B64 = "s_bitcmp0_b64"; SBitcmp1B64 = "s_bitcmp1_b64";
    SSetvskip = "s_setvskip"; SSetGprIdxOn = "s_set_gpr_idx_on"; SCmpEqU64 = "s_cmp_eq_u64";
    SCmpLgU64 = "s_cmp_lg_u64"; SNop = "s_nop"; SEndpgm = "s_endpgm"; SBranch = "s_branch"; SWakeup = "s_wakeup";
    SCbranchScc0 = "s_cbranch_scc0"; SCbranchScc1 = "s_cbranch_scc1"; SCbranchVccz = "s_cbranch_vccz";
    SCbranchVccnz = "s_cbranch_vccnz"; SCbranchExecz = "s_cbranch_execz"; SCbranchExecnz = "s_cbranch_execnz";
    SBarrier = "s_barrier"; SSetkill = "s_setkill"; SWaitcnt = "s_waitcnt"; SSethalt = "s_sethalt";
    SSleep = "s_sleep"; SSetprio = "s_setprio"; SSendmsg = "s_sendmsg"; SSendmsghalt = "s_sendmsghalt";
    STrap = "s_trap"; SIcacheInv = "s_icache_inv"; SIncperflevel = "s_incperflevel"; SDecperflevel = "s_decperflevel";
    STtracedata = "s_ttracedata"; SCbranchCdbgsys = "s_cbranch_cdbgsys"; SCbranchCdbguser = "s_cbranch_cdbguser";
    SCbranchCdbgsysOrUser = "s_cbranch_cdbgsys_or_user"; SCbranchCdbgsysAndUser = "s_cbranch_cdbgsys_and_user";
    SEndpgmSaved = "s_endpgm_saved"; SSetGprIdxOff = "s_set_gpr_idx_off"; SSetGprIdxMode = "s_set_gpr_idx_mode";
    SLoadDword = "s_load_dword"; SLoadDwordx2 = "s_load_dwordx2"; SLoadDwordx4 = "s_load_dwordx4";
    SLoadDwordx8 = "s_load_dwordx8"; SLoadDwordx16 = "s_load_dwordx16"; SBufferLoadDword = "s_buffer_load_dword";
    SBufferLoadDwordx2 = "s_buffer_load_dwordx2"; SBufferLoadDwordx4 = "s_buffer_load_dwordx4";
    SBufferLoadDwordx8 = "s_buffer_load_dwordx8"; SBufferLoadDwordx16 = "s_buffer_load_dwordx16";
    SStoreDword = "s_store_dword"; SStoreDwordx2 = "s_store_dwordx2"; SStoreDwordx4 = "s_store_dwordx4";
    SBufferStoreDword = "s_buffer_store_dword"; SBufferStoreDwordx2 = "s_buffer_store_dwordx2";
    SBufferStoreDwordx4 = "s_buffer_store_dwordx4"; SDcacheInv = "s_dcache_inv"; SDcacheWb = "s_dcache_wb";
    SDcacheInvVol = "s_dcache_inv_vol"; SDcacheWbVol = "s_dcache_wb_vol"; SMemtime = "s_memtime";
    SMemrealtime = "s_memrealtime"; SAtcProbe = "s_atc_probe"; SAtcProbeBuffer = "s_atc_probe_buffer";
    VCndmaskB32 = "v_cndmask_b32"; VAddF32 = "v_add_f32"; VSubF32 = "v_sub_f32"; VSubrevF32 = "v_subrev_f32";
    VMulLegacyF32 = "v_mul_legacy_f32"; VMulF32 = "v_mul_f32"; VMulI32I24 = "v_mul_i32_i24";
    VMulHiI32I24 = "v_mul_hi_i32_i24"; VMulU32U24 = "v_mul_u32_u24"; VMulHiU32U24 = "v_mul_hi_u32_u24";
    VMinF32 = "v_min_f32"; VMaxF32 = "v_max_f32"; VMinI32 = "v_min_i32"; VMaxI32 = "v_max_i32"; VMinU32 = "v_min_u32";
    VMaxU32 = "v_max_u32"; VLshrrevB32 = "v_lshrrev_b32"; VAshrrevI32 = "v_ashrrev_i32";
    VLshlrevB32 = "v_lshlrev_b32"; VAndB32 = "v_and_b32"; VOrB32 = "v_or_b32"; VXorB32 = "v_xor_b32";
    VMacF32 = "v_mac_f32"; VMadmkF32 = "v_madmk_f32"; VMadakF32 = "v_madak_f32"; VAddU32 = "v_add_u32";
    VSubU32 = "v_sub_u32"; VSubrevU32 = "v_subrev_u32"; VAddcU32 = "v_addc_u32"; VSubbU32 = "v_subb_u32";
    VSubbrevU32 = "v_subbrev_u32"; VAddF16 = "v_add_f16"; VSubF16 = "v_sub_f16"; VSubrevF16 = "v_subrev_f16";
    VMulF16 = "v_mul_f16"; VMacF16 = "v_mac_f16"; VMadmkF16 = "v_madmk_f16"; VMadakF16 = "v_madak_f16";
    VAddU16 = "v_add_u16"; VSubU16 = "v_sub_u16"; VSubrevU16 = "v_subrev_u16"; VMulLoU16 = "v_mul_lo_u16";
    VLshlrevB16 = "v_lshlrev_b16"; VLshrrevB16 = "v_lshrrev_b16"; VAshrrevI16 = "v_ashrrev_i16";
    VMaxF16 = "v_max_f16"; VMinF16 = "v_min_f16"; VMaxU16 = "v_max_u16"; VMaxI16 = "v_max_i16"; VMinU16 = "v_min_u16";
    VMinI16 = "v_min_i16"; VLdexpF16 = "v_ldexp_f16"; VNop = "v_nop"; VMovB32 = "v_mov_b32";
    VReadfirstlaneB32 = "v_readfirstlane_b32"; VCvtI32F64 = "v_cvt_i32_f64"; VCvtF64I32 = "v_cvt_f64_i32";
    VCvtF32I32 = "v_cvt_f32_i32"; VCvtF32U32 = "v_cvt_f32_u32"; VCvtU32F32 = "v_cvt_u32_f32";
    VCvtI32F32 = "v_cvt_i32_f32"; VCvtF16F32 = "v_cvt_f16_f32"; VCvtF32F16 = "v_cvt_f32_f16";
    VCvtRpiI32F32 = "v_cvt_rpi_i32_f32"; VCvtFlrI32F32 = "v_cvt_flr_i32_f32"; VCvtOffF32I4 = "v_cvt_off_f32_i4";
    VCvtF32F64 = "v_cvt_f32_f64"; VCvtF64F32 = "v_cvt_f64_f32"; VCvtF32Ubyte0 = "v_cvt_f32_ubyte0";
    VCvtF32Ubyte1 = "v_cvt_f32_ubyte1"; VCvtF32Ubyte2 = "v_cvt_f32_ubyte2"; VCvtF32Ubyte3 = "v_cvt_f32_ubyte3";
    VCvtU32F64 = "v_cvt_u32_f64"; VCvtF64U32 = "v_cvt_f64_u32"; VTruncF64 = "v_trunc_f64"; VCeilF64 = "v_ceil_f64";
    VRndneF64 = "v_rndne_f64"; VFloorF64 = "v_floor_f64"; VFractF32 = "v_fract_f32"; VTruncF32 = "v_trunc_f32";
    VCeilF32 = "v_ceil_f32"; VRndneF32 = "v_rndne_f32"; VFloorF32 = "v_floor_f32"; VExpF32 = "v_exp_f32";
    VLogF32 = "v_log_f32"; VRcpF32 = "v_rcp_f32"; VRcpIflagF32 = "v_rcp_iflag_f32"; VRsqF32 = "v_rsq_f32";
    VRcpF64 = "v_rcp_f64"; VRsqF64 = "v_rsq_f64"; VSqrtF32 = "v_sqrt_f32"; VSqrtF64 = "v_sqrt_f64";
    VSinF32 = "v_sin_f32"; VCosF32 = "v_cos_f32"; VNotB32 = "v_not_b32"; VBfrevB32 = "v_bfrev_b32";
    VFfbhU32 = "v_ffbh_u32"; VFfblB32 = "v_ffbl_b32"; VFfbhI32 = "v_ffbh_i32";
    VFrexpExpI32F64 = "v_frexp_exp_i32_f64"; VFrexpMantF64 = "v_frexp_mant_f64"; VFractF64 = "v_fract_f64";
    VFrexpExpI32F32 = "v_frexp_exp_i32_f32"; VFrexpMantF32 = "v_frexp_mant_f32"; VClrexcp = "v_clrexcp";
    VMovreldB32 = "v_movreld_b32"; VMovrelsB32 = "v_movrels_b32"; VMovrelsdB32 = "v_movrelsd_b32";
    VCvtF16U16 = "v_cvt_f16_u16"; VCvtF16I16 = "v_cvt_f16_i16"; VCvtU16F16 = "v_cvt_u16_f16";
    VCvtI16F16 = "v_cvt_i16_f16"; VRcpF16 = "v_rcp_f16"; VSqrtF16 = "v_sqrt_f16"; VRsqF16 = "v_rsq_f16";
    VLogF16 = "v_log_f16"; VExpF16 = "v_exp_f16"; VFrexpMantF16 = "v_frexp_mant_f16";
    VFrexpExpI16F16 = "v_frexp_exp_i16_f16"; VFloorF16 = "v_floor_f16"; VCeilF16 = "v_ceil_f16";
    VTruncF16 = "v_trunc_f16"; VRndneF16 = "v_rndne_f16"; VFractF16 = "v_fract_f16"; VSinF16 = "v_sin_f16";
    VCosF16 = "v_cos_f16"; VExpLegacyF32 = "v_exp_legacy_f32"; VLogLegacyF32 = "v_log_legacy_f32";
    VCmpClassF32 = "v_cmp_class_f32"; VCmpxClassF32 = "v_cmpx_class_f32"; VCmpClassF64 = "v_cmp_class_f64";
    VCmpxClassF64 = "v_cmpx_class_f64"; VCmpClassF16 = "v_cmp_class_f16"; VCmpxClassF16 = "v_cmpx_class_f16";
    VCmpFF16 = "v_cmp_f_f16"; VCmpLtF16 = "v_cmp_lt_f16"; VCmpEqF16 = "v_cmp_eq_f16"; VCmpLeF16 = "v_cmp_le_f16";
    VCmpGtF16 = "v_cmp_gt_f16"; VCmpLgF16 = "v_cmp_lg_f16"; VCmpGeF16 = "v_cmp_ge_f16"; VCmpOF16 = "v_cmp_o_f16";
    VCmpUF16 = "v_cmp_u_f16"; VCmpNgeF16 = "v_cmp_nge_f16"; VCmpNlgF16 = "v_cmp_nlg_f16";
    VCmpNgtF16 = "v_cmp_ngt_f16"; VCmpNleF16 = "v_cmp_nle_f16"; VCmpNeqF16 = "v_cmp_neq_f16";
    VCmpNltF16 = "v_cmp_nlt_f16"; VCmpTruF16 = "v_cmp_tru_f16"; VCmpxFF16 = "v_cmpx_f_f16";
    VCmpxLtF16 = "v_cmpx_lt_f16"; VCmpxEqF16 = "v_cmpx_eq_f16"; VCmpxLeF16 = "v_cmpx_le_f16";
    VCmpxGtF16 = "v_cmpx_gt_f16"; VCmpxLgF16 = "v_cmpx_lg_f16"; VCmpxGeF16 = "v_cmpx_ge_f16";
    VCmpxOF16 = "v_cmpx_o_f16"; VCmpxUF16 = "v_cmpx_u_f16"; VCmpxNgeF16 = "v_cmpx_nge_f16";
    VCmpxNlgF16 = "v_cmpx_nlg_f16"; VCmpxNgtF16 = "v_cmpx_ngt_f16"; VCmpxNleF16 = "v_cmpx_nle_f16";
    VCmpxNeqF16 = "v_cmpx_neq_f16"; VCmpxNltF16 = "v_cmpx_nlt_f16"; VCmpxTruF16 = "v_cmpx_tru_f16";
    VCmpFF32 = "v_cmp_f_f32"; VCmpLtF32 = "v_cmp_lt_f32"; VCmpEqF32 = "v_cmp_eq_f32"; VCmpLeF32 = "v_cmp_le_f32";
    VCmpGtF32 = "v_cmp_gt_f32"; VCmpLgF32 = "v_cmp_lg_f32"; VCmpGeF32 = "v_cmp_ge_f32"; VCmpOF32 = "v_cmp_o_f32";
    VCmpUF32 = "v_cmp_u_f32"; VCmpNgeF32 = "v_cmp_nge_f32"; VCmpNlgF32 = "v_cmp_nlg_f32";
    VCmpNgtF32 = "v_cmp_ngt_f32"; VCmpNleF32 = "v_cmp_nle_f32"; VCmpNeqF32 = "v_cmp_neq_f32";
    VCmpNltF32 = "v_cmp_nlt_f32"; VCmpTruF32 = "v_cmp_tru_f32"; VCmpxFF32 = "v_cmpx_f_f32";
    VCmpxLtF32 = "v_cmpx_lt_f32"; VCmpxEqF32 = "v_cmpx_eq_f32"; VCmpxLeF32 = "v_cmpx_le_f32";
    VCmpxGtF32 = "v_cmpx_gt_f32"; VCmpxLgF32 = "v_cmpx_lg_f32"; VCmpxGeF32 = "v_cmpx_ge_f32";
    VCmpxOF32 = "v_cmpx_o_f32"; VCmpxUF32 = "v_cmpx_u_f32"; VCmpxNgeF32 = "v_cmpx_nge_f32";
    VCmpxNlgF32 = "v_cmpx_nlg_f32"; VCmpxNgtF32 = "v_cmpx_ngt_f32"; VCmpxNleF32 = "v_cmpx_nle_f32";
    VCmpxNeqF32 = "v_cmpx_neq_f32"; VCmpxNltF32 = "v_cmpx_nlt_f32"; VCmpxTruF32 = "v_cmpx_tru_f32";
    VCmpFF64 = "v_cmp_f_f64"; VCmpLtF64 = "v_cmp_lt_f64"; VCmpEqF64 = "v_cmp_eq_f64"; VCmpLeF64 = "v_cmp_le_f64";
    VCmpGtF64 = "v_cmp_gt_f64"; VCmpLgF64 = "v_cmp_lg_f64"; VCmpGeF64 = "v_cmp_ge_f64"; VCmpOF64 = "v_cmp_o_f64";
    VCmpUF64 = "v_cmp_u_f64"; VCmpNgeF64 = "v_cmp_nge_f64"; VCmpNlgF64 = "v_cmp_nlg_f64";
    VCmpNgtF64 = "v_cmp_ngt_f64"; VCmpNleF64 = "v_cmp_nle_f64"; VCmpNeqF64 = "v_cmp_neq_f64";
    VCmpNltF64 = "v_cmp_nlt_f64"; VCmpTruF64 = "v_cmp_tru_f64"; VCmpxFF64 = "v_cmpx_f_f64";
    VCmpxLtF64 = "v_cmpx_lt_f64"; VCmpxEqF64 = "v_cmpx_eq_f64"; VCmpxLeF64 = "v_cmpx_le_f64";
    VCmpxGtF64 = "v_cmpx_gt_f64"; VCmpxLgF64 = "v_cmpx_lg_f64"; VCmpxGeF64 = "v_cmpx_ge_f64";
    VCmpxOF64 = "v_cmpx_o_f64"; VCmpxUF64 = "v_cmpx_u_f64"; VCmpxNgeF64 = "v_cmpx_nge_f64";
    VCmpxNlgF64 = "v_cmpx_nlg_f64"; VCmpxNgtF64 = "v_cmpx_ngt_f64"; VCmpxNleF64 = "v_cmpx_nle_f64";
    VCmpxNeqF64 = "v_cmpx_neq_f64"; VCmpxNltF64 = "v_cmpx_nlt_f64"; VCmpxTruF64 = "v_cmpx_tru_f64";
    VCmpFI16 = "v_cmp_f_i16"; VCmpLtI16 = "v_cmp_lt_i16"; VCmpEqI16 = "v_cmp_eq_i16"; VCmpLeI16 = "v_cmp_le_i16";
    VCmpGtI16 = "v_cmp_gt_i16"; VCmpNeI16 = "v_cmp_ne_i16"; VCmpGeI16 = "v_cmp_ge_i16"; VCmpTI16 = "v_cmp_t_i16";
    VCmpFU16 = "v_cmp_f_u16"; VCmpLtU16 = "v_cmp_lt_u16"; VCmpEqU16 = "v_cmp_eq_u16"; VCmpLeU16 = "v_cmp_le_u16";
    VCmpGtU16 = "v_cmp_gt_u16"; VCmpNeU16 = "v_cmp_ne_u16"; VCmpGeU16 = "v_cmp_ge_u16"; VCmpTU16 = "v_cmp_t_u16";
    VCmpxFI16 = "v_cmpx_f_i16"; VCmpxLtI16 = "v_cmpx_lt_i16"; VCmpxEqI16 = "v_cmpx_eq_i16";
    VCmpxLeI16 = "v_cmpx_le_i16"; VCmpxGtI16 = "v_cmpx_gt_i16"; VCmpxNeI16 = "v_cmpx_ne_i16";
    VCmpxGeI16 = "v_cmpx_ge_i16"; VCmpxTI16 = "v_cmpx_t_i16"; VCmpxFU16 = "v_cmpx_f_u16";
    VCmpxLtU16 = "v_cmpx_lt_u16"; VCmpxEqU16 = "v_cmpx_eq_u16"; VCmpxLeU16 = "v_cmpx_le_u16";
    VCmpxGtU16 = "v_cmpx_gt_u16"; VCmpxNeU16 = "v_cmpx_ne_u16"; VCmpxGeU16 = "v_cmpx_ge_u16";
    VCmpxTU16 = "v_cmpx_t_u16"; VCmpFI32 = "v_cmp_f_i32"; VCmpLtI32 = "v_cmp_lt_i32"; VCmpEqI32 = "v_cmp_eq_i32";
    VCmpLeI32 = "v_cmp_le_i32"; VCmpGtI32 = "v_cmp_gt_i32"; VCmpNeI32 = "v_cmp_ne_i32"; VCmpGeI32 = "v_cmp_ge_i32";
    VCmpTI32 = "v_cmp_t_i32"; VCmpFU32 = "v_cmp_f_u32"; VCmpLtU32 = "v_cmp_lt_u32"; VCmpEqU32 = "v_cmp_eq_u32";
    VCmpLeU32 = "v_cmp_le_u32"; VCmpGtU32 = "v_cmp_gt_u32"; VCmpNeU32 = "v_cmp_ne_u32"; VCmpGeU32 = "v_cmp_ge_u32";
    VCmpTU32 = "v_cmp_t_u32"; VCmpxFI32 = "v_cmpx_f_i32"; VCmpxLtI32 = "v_cmpx_lt_i32"; VCmpxEqI32 = "v_cmpx_eq_i32";
    VCmpxLeI32 = "v_cmpx_le_i32"; VCmpxGtI32 = "v_cmpx_gt_i32"; VCmpxNeI32 = "v_cmpx_ne_i32";
    VCmpxGeI32 = "v_cmpx_ge_i32"; VCmpxTI32 = "v_cmpx_t_i32"; VCmpxFU32 = "v_cmpx_f_u32";
    VCmpxLtU32 = "v_cmpx_lt_u32"; VCmpxEqU32 = "v_cmpx_eq_u32"; VCmpxLeU32 = "v_cmpx_le_u32";
    VCmpxGtU32 = "v_cmpx_gt_u32"; VCmpxNeU32 = "v_cmpx_ne_u32"; VCmpxGeU32 = "v_cmpx_ge_u32";
    VCmpxTU32 = "v_cmpx_t_u32"; VCmpFI64 = "v_cmp_f_i64"; VCmpLtI64 = "v_cmp_lt_i64"; VCmpEqI64 = "v_cmp_eq_i64";
    VCmpLeI64 = "v_cmp_le_i64"; VCmpGtI64 = "v_cmp_gt_i64"; VCmpNeI64 = "v_cmp_ne_i64"; VCmpGeI64 = "v_cmp_ge_i64";
    VCmpTI64 = "v_cmp_t_i64"; VCmpFU64 = "v_cmp_f_u64"; VCmpLtU64 = "v_cmp_lt_u64"; VCmpEqU64 = "v_cmp_eq_u64";
    VCmpLeU64 = "v_cmp_le_u64"; VCmpGtU64 = "v_cmp_gt_u64"; VCmpNeU64 = "v_cmp_ne_u64"; VCmpGeU64 = "v_cmp_ge_u64";
    VCmpTU64 = "v_cmp_t_u64"; VCmpxFI64 = "v_cmpx_f_i64"; VCmpxLtI64 = "v_cmpx_lt_i64"; VCmpxEqI64 = "v_cmpx_eq_i64";
    VCmpxLeI64 = "v_cmpx_le_i64"; VCmpxGtI64 = "v_cmpx_gt_i64"; VCmpxNeI64 = "v_cmpx_ne_i64";
    VCmpxGeI64 = "v_cmpx_ge_i64"; VCmpxTI64 = "v_cmpx_t_i64"; VCmpxFU64 = "v_cmpx_f_u64";
    VCmpxLtU64 = "v_cmpx_lt_u64"; VCmpxEqU64 = "v_cmpx_eq_u64"; VCmpxLeU64 = "v_cmpx_le_u64";
    VCmpxGtU64 = "v_cmpx_gt_u64"; VCmpxNeU64 = "v_cmpx_ne_u64"; VCmpxGeU64 = "v_cmpx_ge_u64";
    VCmpxTU64 = "v_cmpx_t_u64"; VMadLegacyF32 = "v_mad_legacy_f32"; VMadF32 = "v_mad_f32";
    VMadI32I24 = "v_mad_i32_i24"; VMadU32U24 = "v_mad_u32_u24"; VCubeidF32 = "v_cubeid_f32";
    VCubescF32 = "v_cubesc_f32"; VCubetcF32 = "v_cubetc_f32"; VCubemaF32 = "v_cubema_f32"; VBfeU32 = "v_bfe_u32";
    VBfeI32 = "v_bfe_i32"; VBfiB32 = "v_bfi_b32"; VFmaF32 = "v_fma_f32"; VFmaF64 = "v_fma_f64"; VLerpU8 = "v_lerp_u8";
    VAlignbitB32 = "v_alignbit_b32"; VAlignbyteB32 = "v_alignbyte_b32"; VMin3F32 = "v_min3_f32";
    VMin3I32 = "v_min3_i32"; VMin3U32 = "v_min3_u32"; VMax3F32 = "v_max3_f32"; VMax3I32 = "v_max3_i32";
    VMax3U32 = "v_max3_u32"; VMed3F32 = "v_med3_f32"; VMed3I32 = "v_med3_i32"; VMed3U32 = "v_med3_u32";
    VSadU8 = "v_sad_u8"; VSadHiU8 = "v_sad_hi_u8"; VSadU16 = "v_sad_u16"; VSadU32 = "v_sad_u32";
    VCvtPkU8F32 = "v_cvt_pk_u8_f32"; VDivFixupF32 = "v_div_fixup_f32"; VDivFixupF64 = "v_div_fixup_f64";
    VDivScaleF32 = "v_div_scale_f32"; VDivScaleF64 = "v_div_scale_f64"; VDivFmasF32 = "v_div_fmas_f32";
    VDivFmasF64 = "v_div_fmas_f64"; VMsadU8 = "v_msad_u8"; VQsadPkU16U8 = "v_qsad_pk_u16_u8";
    VMqsadPkU16U8 = "v_mqsad_pk_u16_u8"; VMqsadU32U8 = "v_mqsad_u32_u8"; VMadU64U32 = "v_mad_u64_u32";
    VMadI64I32 = "v_mad_i64_i32"; VMadF16 = "v_mad_f16"; VMadU16 = "v_mad_u16"; VMadI16 = "v_mad_i16";
    VPermB32 = "v_perm_b32"; VFmaF16 = "v_fma_f16"; VDivFixupF16 = "v_div_fixup_f16";
    VCvtPkaccumU8F32 = "v_cvt_pkaccum_u8_f32"; VInterpP1F32 = "v_interp_p1_f32"; VInterpP2F32 = "v_interp_p2_f32";
    VInterpMovF32 = "v_interp_mov_f32"; VInterpP1llF16 = "v_interp_p1ll_f16"; VInterpP1lvF16 = "v_interp_p1lv_f16";
    VInterpP2F16 = "v_interp_p2_f16"; VAddF64 = "v_add_f64"; VMulF64 = "v_mul_f64"; VMinF64 = "v_min_f64";
    VMaxF64 = "v_max_f64"; VLdexpF64 = "v_ldexp_f64"; VMulLoU32 = "v_mul_lo_u32"; VMulHiU32 = "v_mul_hi_u32";
    VMulHiI32 = "v_mul_hi_i32"; VLdexpF32 = "v_ldexp_f32"; VReadlaneB32 = "v_readlane_b32";
    VWritelaneB32 = "v_writelane_b32"; VBcntU32B32 = "v_bcnt_u32_b32"; VMbcntLoU32B32 = "v_mbcnt_lo_u32_b32";
    VMbcntHiU32B32 = "v_mbcnt_hi_u32_b32"; VLshlrevB64 = "v_lshlrev_b64"; VLshrrevB64 = "v_lshrrev_b64";
    VAshrrevI64 = "v_ashrrev_i64"; VTrigPreopF64 = "v_trig_preop_f64"; VBfmB32 = "v_bfm_b32";
    VCvtPknormI16F32 = "v_cvt_pknorm_i16_f32"; VCvtPknormU16F32 = "v_cvt_pknorm_u16_f32";
    VCvtPkrtzF16F32 = "v_cvt_pkrtz_f16_f32"; VCvtPkU16U32 = "v_cvt_pk_u16_u32"; VCvtPkI16I32 = "v_cvt_pk_i16_i32";
    DsAddU32 = "ds_add_u32"; DsSubU32 = "ds_sub_u32"; DsRsubU32 = "ds_rsub_u32"; DsIncU32 = "ds_inc_u32";
    DsDecU32 = "ds_dec_u32"; DsMinI32 = "ds_min_i32"; DsMaxI32 = "ds_max_i32"; DsMinU32 = "ds_min_u32";
    DsMaxU32 = "ds_max_u32"; DsAndB32 = "ds_and_b32"; DsOrB32 = "ds_or_b32"; DsXorB32 = "ds_xor_b32";
    DsMskorB32 = "ds_mskor_b32"; DsWriteB32 = "ds_write_b32"; DsWrite2B32 = "ds_write2_b32";
    DsWrite2st64B32 = "ds_write2st64_b32"; DsCmpstB32 = "ds_cmpst_b32"; DsCmpstF32 = "ds_cmpst_f32";
    DsMinF32 = "ds_min_f32"; DsMaxF32 = "ds_max_f32"; DsNop = "ds_nop"; DsAddF32 = "ds_add_f32";
    DsWriteB8 = "ds_write_b8"; DsWriteB16 = "ds_write_b16"; DsAddRtnU32 = "ds_add_rtn_u32";
    DsSubRtnU32 = "ds_sub_rtn_u32"; DsRsubRtnU32 = "ds_rsub_rtn_u32"; DsIncRtnU32 = "ds_inc_rtn_u32";
    DsDecRtnU32 = "ds_dec_rtn_u32"; DsMinRtnI32 = "ds_min_rtn_i32"; DsMaxRtnI32 = "ds_max_rtn_i32";
    DsMinRtnU32 = "ds_min_rtn_u32"; DsMaxRtnU32 = "ds_max_rtn_u32"; DsAndRtnB32 = "ds_and_rtn_b32";
    DsOrRtnB32 = "ds_or_rtn_b32"; DsXorRtnB32 = "ds_xor_rtn_b32"; DsMskorRtnB32 = "ds_mskor_rtn_b32";
    DsWrxchgRtnB32 = "ds_wrxchg_rtn_b32"; DsWrxchg2RtnB32 = "ds_wrxchg2_rtn_b32";
    DsWrxchg2st64RtnB32 = "ds_wrxchg2st64_rtn_b32"; DsCmpstRtnB32 = "ds_cmpst_rtn_b32";
    DsCmpstRtnF32 = "ds_cmpst_rtn_f32"; DsMinRtnF32 = "ds_min_rtn_f32"; DsMaxRtnF32 = "ds_max_rtn_f32";
    DsWrapRtnB32 = "ds_wrap_rtn_b32"; DsAddRtnF32 = "ds_add_rtn_f32"; DsReadB32 = "ds_read_b32";
    DsRead2B32 = "ds_read2_b32"; DsRead2st64B32 = "ds_read2st64_b32"; DsReadI8 = "ds_read_i8";
    DsReadU8 = "ds_read_u8"; DsReadI16 = "ds_read_i16"; DsReadU16 = "ds_read_u16"; DsSwizzleB32 = "ds_swizzle_b32";
    DsPermuteB32 = "ds_permute_b32"; DsBpermuteB32 = "ds_bpermute_b32"; DsAddU64 = "ds_add_u64";
    DsSubU64 = "ds_sub_u64"; DsRsubU64 = "ds_rsub_u64"; DsIncU64 = "ds_inc_u64"; DsDecU64 = "ds_dec_u64";
    DsMinI64 = "ds_min_i64"; DsMaxI64 = "ds_max_i64"; DsMinU64 = "ds_min_u64"; DsMaxU64 = "ds_max_u64";
    DsAndB64 = "ds_and_b64"; DsOrB64 = "ds_or_b64"; DsXorB64 = "ds_xor_b64"; DsMskorB64 = "ds_mskor_b64";
    DsWriteB64 = "ds_write_b64"; DsWrite2B64 = "ds_write2_b64"; DsWrite2st64B64 = "ds_write2st64_b64";
    DsCmpstB64 = "ds_cmpst_b64"; DsCmpstF64 = "ds_cmpst_f64"; DsMinF64 = "ds_min_f64"; DsMaxF64 = "ds_max_f64";
    DsAddRtnU64 = "ds_add_rtn_u64"; DsSubRtnU64 = "ds_sub_rtn_u64"; DsRsubRtnU64 = "ds_rsub_rtn_u64";
    DsIncRtnU64 = "ds_inc_rtn_u64"; DsDecRtnU64 = "ds_dec_rtn_u64"; DsMinRtnI64 = "ds_min_rtn_i64";
    DsMaxRtnI64 = "ds_max_rtn_i64"; DsMinRtnU64 = "ds_min_rtn_u64"; DsMaxRtnU64 = "ds_max_rtn_u64";
    DsAndRtnB64 = "ds_and_rtn_b64"; DsOrRtnB64 = "ds_or_rtn_b64"; DsXorRtnB64 = "ds_xor_rtn_b64";
    DsMskorRtnB64 = "ds_mskor_rtn_b64"; DsWrxchgRtnB64 = "ds_wrxchg_rtn_b64"; DsWrxchg2RtnB64 = "ds_wrxchg2_rtn_b64";
    DsWrxchg2st64RtnB64 = "ds_wrxchg2st64_rtn_b64"; DsCmpstRtnB64 = "ds_cmpst_rtn_b64";
    DsCmpstRtnF64 = "ds_cmpst_rtn_f64"; DsMinRtnF64 = "ds_min_rtn_f64"; DsMaxRtnF64 = "ds_max_rtn_f64";
    DsReadB64 = "ds_read_b64"; DsRead2B64 = "ds_read2_b64"; DsRead2st64B64 = "ds_read2st64_b64";
    DsCondxchg32RtnB64 = "ds_condxchg32_rtn_b64"; DsAddSrc2U32 = "ds_add_src2_u32"; DsSubSrc2U32 = "ds_sub_src2_u32";
    DsRsubSrc2U32 = "ds_rsub_src2_u32"; DsIncSrc2U32 = "ds_inc_src2_u32"; DsDecSrc2U32 = "ds_dec_src2_u32";
    DsMinSrc2I32 = "ds_min_src2_i32"; DsMaxSrc2I32 = "ds_max_src2_i32"; DsMinSrc2U32 = "ds_min_src2_u32";
    DsMaxSrc2U32 = "ds_max_src2_u32"; DsAndSrc2B32 = "ds_and_src2_b32"; DsOrSrc2B32 = "ds_or_src2_b32";
    DsXorSrc2B32 = "ds_xor_src2_b32"; DsWriteSrc2B32 = "ds_write_src2_b32"; DsMinSrc2F32 = "ds_min_src2_f32";
    DsMaxSrc2F32 = "ds_max_src2_f32"; DsAddSrc2F32 = "ds_add_src2_f32"; DsConsume = "ds_consume";
    DsAppend = "ds_append"; DsAddSrc2U64 = "ds_add_src2_u64"; DsSubSrc2U64 = "ds_sub_src2_u64";
    DsRsubSrc2U64 = "ds_rsub_src2_u64"; DsIncSrc2U64 = "ds_inc_src2_u64"; DsDecSrc2U64 = "ds_dec_src2_u64";
    DsMinSrc2I64 = "ds_min_src2_i64"; DsMaxSrc2I64 = "ds_max_src2_i64"; DsMinSrc2U64 = "ds_min_src2_u64";
    DsMaxSrc2U64 = "ds_max_src2_u64"; DsAndSrc2B64 = "ds_and_src2_b64"; DsOrSrc2B64 = "ds_or_src2_b64";
    DsXorSrc2B64 = "ds_xor_src2_b64"; DsWriteSrc2B64 = "ds_write_src2_b64"; DsMinSrc2F64 = "ds_min_src2_f64";
    DsMaxSrc2F64 = "ds_max_src2_f64"; DsWriteB96 = "ds_write_b96"; DsWriteB128 = "ds_write_b128";
    DsReadB96 = "ds_read_b96"; DsReadB128 = "ds_read_b128"; DsGwsSemaReleaseAll = "ds_gws_sema_release_all";
    DsGwsInit = "ds_gws_init"; DsGwsSemaV = "ds_gws_sema_v"; DsGwsSemaBr = "ds_gws_sema_br";
    DsGwsSemaP = "ds_gws_sema_p"; DsGwsBarrier = "ds_gws_barrier"; DsOrderedCount = "ds_ordered_count";
    FlatLoadUbyte = "flat_load_ubyte"; FlatLoadSbyte = "flat_load_sbyte"; FlatLoadUshort = "flat_load_ushort";
    FlatLoadSshort = "flat_load_sshort"; FlatLoadDword = "flat_load_dword"; FlatLoadDwordx2 = "flat_load_dwordx2";
    FlatLoadDwordx3 = "flat_load_dwordx3"; FlatLoadDwordx4 = "flat_load_dwordx4"; FlatStoreByte = "flat_store_byte";
    FlatStoreShort = "flat_store_short"; FlatStoreDword = "flat_store_dword"; FlatStoreDwordx2 = "flat_store_dwordx2";
    FlatStoreDwordx3 = "flat_store_dwordx3"; FlatStoreDwordx4 = "flat_store_dwordx4";
    FlatAtomicSwap = "flat_atomic_swap"; FlatAtomicCmpswap = "flat_atomic_cmpswap"; FlatAtomicAdd = "flat_atomic_add";
    FlatAtomicSub = "flat_atomic_sub"; FlatAtomicSmin = "flat_atomic_smin"; FlatAtomicUmin = "flat_atomic_umin";
    FlatAtomicSmax = "flat_atomic_smax"; FlatAtomicUmax = "flat_atomic_umax"; FlatAtomicAnd = "flat_atomic_and";
    FlatAtomicOr = "flat_atomic_or"; FlatAtomicXor = "flat_atomic_xor"; FlatAtomicInc = "flat_atomic_inc";
    FlatAtomicDec = "flat_atomic_dec"; FlatAtomicSwapX2 = "flat_atomic_swap_x2";
    FlatAtomicCmpswapX2 = "flat_atomic_cmpswap_x2"; FlatAtomicAddX2 = "flat_atomic_add_x2";
    FlatAtomicSubX2 = "flat_atomic_sub_x2"; FlatAtomicSminX2 = "flat_atomic_smin_x2";
    FlatAtomicUminX2 = "flat_atomic_umin_x2"; FlatAtomicSmaxX2 = "flat_atomic_smax_x2";
    FlatAtomicUmaxX2 = "flat_atomic_umax_x2"; FlatAtomicAndX2 = "flat_atomic_and_x2";
    FlatAtomicOrX2 = "flat_atomic_or_x2"; FlatAtomicXorX2 = "flat_atomic_xor_x2";
    FlatAtomicIncX2 = "flat_atomic_inc_x2"; FlatAtomicDecX2 = "flat_atomic_dec_x2";
    BufferLoadFormatX = "buffer_load_format_x"; BufferLoadFormatXy = "buffer_load_format_xy";
    BufferLoadFormatXyz = "buffer_load_format_xyz"; BufferLoadFormatXyzw = "buffer_load_format_xyzw";
    BufferStoreFormatX = "buffer_store_format_x"; BufferStoreFormatXy = "buffer_store_format_xy";
    BufferStoreFormatXyz = "buffer_store_format_xyz"; BufferStoreFormatXyzw = "buffer_store_format_xyzw";
    BufferLoadFormatD16X = "buffer_load_format_d16_x"; BufferLoadFormatD16Xy = "buffer_load_format_d16_xy";
    BufferLoadFormatD16Xyz = "buffer_load_format_d16_xyz"; BufferLoadFormatD16Xyzw = "buffer_load_format_d16_xyzw";
    BufferStoreFormatD16X = "buffer_store_format_d16_x"; BufferStoreFormatD16Xy = "buffer_store_format_d16_xy";
    BufferStoreFormatD16Xyz = "buffer_store_format_d16_xyz";
    BufferStoreFormatD16Xyzw = "buffer_store_format_d16_xyzw"; BufferLoadUbyte = "buffer_load_ubyte";
    BufferLoadSbyte = "buffer_load_sbyte"; BufferLoadUshort = "buffer_load_ushort";
    BufferLoadSshort = "buffer_load_sshort"; BufferLoadDword = "buffer_load_dword";
    BufferLoadDwordx2 = "buffer_load_dwordx2"; BufferLoadDwordx3 = "buffer_load_dwordx3";
    BufferLoadDwordx4 = "buffer_load_dwordx4"; BufferStoreByte = "buffer_store_byte";
    BufferStoreShort = "buffer_store_short"; BufferStoreDword = "buffer_store_dword";
    BufferStoreDwordx2 = "buffer_store_dwordx2"; BufferStoreDwordx3 = "buffer_store_dwordx3";
    BufferStoreDwordx4 = "buffer_store_dwordx4"; BufferWbinvl1 = "buffer_wbinvl1";
    BufferWbinvl1Vol = "buffer_wbinvl1_vol"; BufferAtomicSwap = "buffer_atomic_swap";
    BufferAtomicCmpswap = "buffer_atomic_cmpswap"; BufferAtomicAdd = "buffer_atomic_add";
    BufferAtomicSub = "buffer_atomic_sub"; BufferAtomicSmin = "buffer_atomic_smin";
    BufferAtomicUmin = "buffer_atomic_umin"; BufferAtomicSmax = "buffer_atomic_smax";
    BufferAtomicUmax = "buffer_atomic_umax"; BufferAtomicAnd = "buffer_atomic_and";
    BufferAtomicOr = "buffer_atomic_or"; BufferAtomicXor = "buffer_atomic_xor"; BufferAtomicInc = "buffer_atomic_inc";
    BufferAtomicDec = "buffer_atomic_dec"; BufferAtomicSwapX2 = "buffer_atomic_swap_x2";
    BufferAtomicCmpswapX2 = "buffer_atomic_cmpswap_x2"; BufferAtomicAddX2 = "buffer_atomic_add_x2";
    BufferAtomicSubX2 = "buffer_atomic_sub_x2"; BufferAtomicSminX2 = "buffer_atomic_smin_x2";
    BufferAtomicUminX2 = "buffer_atomic_umin_x2"; BufferAtomicSmaxX2 = "buffer_atomic_smax_x2";
    BufferAtomicUmaxX2 = "buffer_atomic_umax_x2"; BufferAtomicAndX2 = "buffer_atomic_and_x2";
    BufferAtomicOrX2 = "buffer_atomic_or_x2"; BufferAtomicXorX2 = "buffer_atomic_xor_x2";
    BufferAtomicIncX2 = "buffer_atomic_inc_x2"; BufferAtomicDecX2 = "buffer_atomic_dec_x2";
    BufferStoreLdsDword = "buffer_store_lds_dword"; TbufferLoadFormatX = "tbuffer_load_format_x";
    TbufferLoadFormatXy = "tbuffer_load_format_xy"; TbufferLoadFormatXyz = "tbuffer_load_format_xyz";
    TbufferLoadFormatXyzw = "tbuffer_load_format_xyzw"; TbufferStoreFormatX = "tbuffer_store_format_x";
    TbufferStoreFormatXy = "tbuffer_store_format_xy"; TbufferStoreFormatXyz = "tbuffer_store_format_xyz";
    TbufferStoreFormatXyzw = "tbuffer_store_format_xyzw"; TbufferLoadFormatD16X = "tbuffer_load_format_d16_x";
    TbufferLoadFormatD16Xy = "tbuffer_load_format_d16_xy"; TbufferLoadFormatD16Xyz = "tbuffer_load_format_d16_xyz";
    TbufferLoadFormatD16Xyzw = "tbuffer_load_format_d16_xyzw"; TbufferStoreFormatD16X = "tbuffer_store_format_d16_x";
    TbufferStoreFormatD16Xy = "tbuffer_store_format_d16_xy";
    TbufferStoreFormatD16Xyz = "tbuffer_store_format_d16_xyz";
    TbufferStoreFormatD16Xyzw = "tbuffer_store_format_d16_xyzw"; ImageLoad = "image_load";
    ImageLoadMip = "image_load_mip"; ImageLoadPck = "image_load_pck"; ImageLoadPckSgn = "image_load_pck_sgn";
    ImageLoadMipPck = "image_load_mip_pck"; ImageLoadMipPckSgn = "image_load_mip_pck_sgn"; ImageStore = "image_store";
    ImageStoreMip = "image_store_mip"; ImageStorePck = "image_store_pck"; ImageStoreMipPck = "image_store_mip_pck";
    ImageGetResinfo = "image_get_resinfo"; ImageAtomicSwap = "image_atomic_swap";
    ImageAtomicCmpswap = "image_atomic_cmpswap"; ImageAtomicAdd = "image_atomic_add";
    ImageAtomicSub = "image_atomic_sub"; ImageAtomicSmin = "image_atomic_smin"; ImageAtomicUmin = "image_atomic_umin";
    ImageAtomicSmax = "image_atomic_smax"; ImageAtomicUmax = "image_atomic_umax"; ImageAtomicAnd = "image_atomic_and";
    ImageAtomicOr = "image_atomic_or"; ImageAtomicXor = "image_atomic_xor"; ImageAtomicInc = "image_atomic_inc";
    ImageAtomicDec = "image_atomic_dec"; ImageSample = "image_sample"; ImageSampleCl = "image_sample_cl";
    ImageSampleD = "image_sample_d"; ImageSampleDCl = "image_sample_d_cl"; ImageSampleL = "image_sample_l";
    ImageSampleB = "image_sample_b"; ImageSampleBCl = "image_sample_b_cl"; ImageSampleLz = "image_sample_lz";
    ImageSampleC = "image_sample_c"; ImageSampleCCl = "image_sample_c_cl"; ImageSampleCD = "image_sample_c_d";
    ImageSampleCDCl = "image_sample_c_d_cl"; ImageSampleCL = "image_sample_c_l"; ImageSampleCB = "image_sample_c_b";
    ImageSampleCBCl = "image_sample_c_b_cl"; ImageSampleCLz = "image_sample_c_lz"; ImageSampleO = "image_sample_o";
    ImageSampleClO = "image_sample_cl_o"; ImageSampleDO = "image_sample_d_o"; ImageSampleDClO = "image_sample_d_cl_o";
    ImageSampleLO = "image_sample_l_o"; ImageSampleBO = "image_sample_b_o"; ImageSampleBClO = "image_sample_b_cl_o";
    ImageSampleLzO = "image_sample_lz_o"; ImageSampleCO = "image_sample_c_o"; ImageSampleCClO = "image_sample_c_cl_o";
    ImageSampleCDO = "image_sample_c_d_o"; ImageSampleCDClO = "image_sample_c_d_cl_o";
    ImageSampleCLO = "image_sample_c_l_o"; ImageSampleCBO = "image_sample_c_b_o";
    ImageSampleCBClO = "image_sample_c_b_cl_o"; ImageSampleCLzO = "image_sample_c_lz_o";
    ImageGather4 = "image_gather4"; ImageGather4Cl = "image_gather4_cl"; ImageGather4L = "image_gather4_l";
    ImageGather4B = "image_gather4_b"; ImageGather4BCl = "image_gather4_b_cl"; ImageGather4Lz = "image_gather4_lz";
    ImageGather4C = "image_gather4_c"; ImageGather4CCl = "image_gather4_c_cl"; ImageGather4CL = "image_gather4_c_l";
    ImageGather4CB = "image_gather4_c_b"; ImageGather4CBCl = "image_gather4_c_b_cl";
    ImageGather4CLz = "image_gather4_c_lz"; ImageGather4O = "image_gather4_o"; ImageGather4ClO = "image_gather4_cl_o";
    ImageGather4LO = "image_gather4_l_o"; ImageGather4BO = "image_gather4_b_o";
    ImageGather4BClO = "image_gather4_b_cl_o"; ImageGather4LzO = "image_gather4_lz_o";
    ImageGather4CO = "image_gather4_c_o"; ImageGather4CClO = "image_gather4_c_cl_o";
    ImageGather4CLO = "image_gather4_c_l_o"; ImageGather4CBO = "image_gather4_c_b_o";
    ImageGather4CBClO = "image_gather4_c_b_cl_o"; ImageGather4CLzO = "image_gather4_c_lz_o";
    ImageGetLod = "image_get_lod"; ImageSampleCd = "image_sample_cd"; ImageSampleCdCl = "image_sample_cd_cl";
    ImageSampleCCd = "image_sample_c_cd"; ImageSampleCCdCl = "image_sample_c_cd_cl";
    ImageSampleCdO = "image_sample_cd_o"; ImageSampleCdClO = "image_sample_cd_cl_o";
    ImageSampleCCdO = "image_sample_c_cd_o"; ImageSampleCCdClO = "image_sample_c_cd_cl_o"; Exp = "exp";
}

impl fmt::Display for GcnOpcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
