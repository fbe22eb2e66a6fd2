// Three levels of two-sided branches, as LLVM 14 compiles if_else_nested.cl.
// Control flow: the older idiom of if and else: s_or_saveexec and s_xor of exec before the second arm.
// Launch: as if_else_nested.

	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
	.globl	if_else_nested
	.p2align	8
	.type	if_else_nested,@function
if_else_nested:
if_else_nested$local:
	s_load_dword s0, s[4:5], 0x4
	s_load_dwordx4 s[12:15], s[6:7], 0x0
	s_load_dword s9, s[6:7], 0x10
	s_waitcnt lgkmcnt(0)
	s_and_b32 s0, s0, 0xffff
	s_mul_i32 s8, s8, s0
	v_add_u32_e32 v0, vcc, s8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	v_mov_b32_e32 v4, s13
	v_add_u32_e32 v2, vcc, s12, v2
	v_addc_u32_e32 v3, vcc, v4, v3, vcc
	flat_load_dword v2, v[2:3]
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v3, 1, v2
	v_cmp_eq_u32_e32 vcc, 1, v3
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[2:3], exec, s[0:1]
	s_cbranch_execz .LBB0_10
	v_lshrrev_b32_e32 v3, 1, v2
	v_and_b32_e32 v3, 1, v3
	v_cmp_eq_u32_e32 vcc, 1, v3
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[4:5], exec, s[0:1]
	s_cbranch_execz .LBB0_7
	v_lshrrev_b32_e32 v3, 2, v2
	v_and_b32_e32 v3, 1, v3
	v_cmp_eq_u32_e32 vcc, 1, v3
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[6:7], exec, s[0:1]
	s_cbranch_execz .LBB0_4
	s_ashr_i32 s0, s9, 31
	s_add_i32 s1, s9, s0
	s_xor_b32 s8, s1, s0
	v_cvt_f32_u32_e32 v3, s8
	s_sub_i32 s1, 0, s8
	v_ashrrev_i32_e32 v5, 31, v2
	v_add_u32_e32 v2, vcc, v2, v5
	v_rcp_iflag_f32_e32 v3, v3
	v_xor_b32_e32 v2, v2, v5
	v_mul_f32_e32 v3, 0x4f7ffffe, v3
	v_cvt_u32_f32_e32 v3, v3
	v_mul_lo_u32 v4, s1, v3
	v_mul_hi_u32 v4, v3, v4
	v_add_u32_e32 v3, vcc, v4, v3
	v_mul_hi_u32 v3, v2, v3
	v_xor_b32_e32 v4, s0, v5
	v_mul_lo_u32 v5, v3, s8
	v_add_u32_e32 v6, vcc, 1, v3
	v_sub_u32_e32 v2, vcc, v2, v5
	v_cmp_le_u32_e32 vcc, s8, v2
	v_cndmask_b32_e32 v3, v3, v6, vcc
	v_subrev_u32_e64 v5, s[0:1], s8, v2
	v_cndmask_b32_e32 v2, v2, v5, vcc
	v_add_u32_e32 v5, vcc, 1, v3
	v_cmp_le_u32_e32 vcc, s8, v2
	v_cndmask_b32_e32 v2, v3, v5, vcc
	v_xor_b32_e32 v2, v2, v4
	v_sub_u32_e32 v3, vcc, v2, v4
.LBB0_4:
	s_or_saveexec_b64 s[6:7], s[6:7]
	s_xor_b64 exec, exec, s[6:7]
	s_cbranch_execz .LBB0_6
	v_and_b32_e32 v2, 63, v2
	v_lshlrev_b32_e32 v2, 2, v2
	v_mov_b32_e32 v3, s13
	v_add_u32_e32 v2, vcc, s12, v2
	v_addc_u32_e32 v3, vcc, 0, v3, vcc
	flat_load_dword v2, v[2:3]
	s_add_i32 s0, s9, 1
	s_ashr_i32 s1, s0, 31
	s_add_i32 s0, s0, s1
	s_xor_b32 s8, s0, s1
	v_cvt_f32_u32_e32 v3, s8
	s_sub_i32 s0, 0, s8
	v_rcp_iflag_f32_e32 v3, v3
	v_mul_f32_e32 v3, 0x4f7ffffe, v3
	v_cvt_u32_f32_e32 v3, v3
	v_mul_lo_u32 v4, s0, v3
	v_mul_hi_u32 v4, v3, v4
	v_add_u32_e32 v3, vcc, v4, v3
	s_waitcnt vmcnt(0)
	v_ashrrev_i32_e32 v4, 31, v2
	v_add_u32_e32 v2, vcc, v2, v4
	v_xor_b32_e32 v2, v2, v4
	v_mul_hi_u32 v3, v2, v3
	v_xor_b32_e32 v4, s1, v4
	v_mul_lo_u32 v5, v3, s8
	v_add_u32_e32 v6, vcc, 1, v3
	v_sub_u32_e32 v2, vcc, v2, v5
	v_cmp_le_u32_e32 vcc, s8, v2
	v_cndmask_b32_e32 v3, v3, v6, vcc
	v_subrev_u32_e64 v5, s[0:1], s8, v2
	v_cndmask_b32_e32 v2, v2, v5, vcc
	v_add_u32_e32 v5, vcc, 1, v3
	v_cmp_le_u32_e32 vcc, s8, v2
	v_cndmask_b32_e32 v2, v3, v5, vcc
	v_xor_b32_e32 v2, v2, v4
	v_sub_u32_e32 v3, vcc, v2, v4
.LBB0_6:
	s_or_b64 exec, exec, s[6:7]
	v_add_u32_e32 v4, vcc, 1, v0
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshlrev_b64 v[4:5], 2, v[4:5]
	v_mov_b32_e32 v2, s15
	v_add_u32_e32 v4, vcc, s14, v4
	v_addc_u32_e32 v5, vcc, v2, v5, vcc
	flat_store_dword v[4:5], v3
.LBB0_7:
	s_or_saveexec_b64 s[0:1], s[4:5]
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz .LBB0_9
	s_add_i32 s4, s9, 2
	s_ashr_i32 s5, s4, 31
	s_add_i32 s4, s4, s5
	s_xor_b32 s4, s4, s5
	v_cvt_f32_u32_e32 v3, s4
	s_sub_i32 s5, 0, s4
	v_ashrrev_i32_e32 v5, 31, v2
	v_add_u32_e32 v2, vcc, v2, v5
	v_rcp_iflag_f32_e32 v3, v3
	v_xor_b32_e32 v2, v2, v5
	v_mul_f32_e32 v3, 0x4f7ffffe, v3
	v_cvt_u32_f32_e32 v3, v3
	v_mul_lo_u32 v4, s5, v3
	v_mul_hi_u32 v4, v3, v4
	v_add_u32_e32 v3, vcc, v4, v3
	v_mul_hi_u32 v3, v2, v3
	v_mul_lo_u32 v3, v3, s4
	v_sub_u32_e32 v2, vcc, v2, v3
	v_subrev_u32_e32 v3, vcc, s4, v2
	v_cmp_le_u32_e32 vcc, s4, v2
	v_cndmask_b32_e32 v2, v2, v3, vcc
	v_subrev_u32_e32 v3, vcc, s4, v2
	v_cmp_le_u32_e32 vcc, s4, v2
	v_cndmask_b32_e32 v2, v2, v3, vcc
	v_xor_b32_e32 v2, v2, v5
	v_sub_u32_e32 v3, vcc, v2, v5
.LBB0_9:
	s_or_b64 exec, exec, s[0:1]
	v_and_b32_e32 v2, 31, v3
	v_lshlrev_b32_e32 v2, 2, v2
	v_mov_b32_e32 v5, s13
	v_add_u32_e32 v4, vcc, s12, v2
	v_addc_u32_e32 v5, vcc, 0, v5, vcc
	flat_load_dword v2, v[4:5]
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v3, vcc, v2, v3
.LBB0_10:
	s_or_saveexec_b64 s[2:3], s[2:3]
	s_xor_b64 exec, exec, s[2:3]
	s_cbranch_execz .LBB0_16
	v_lshrrev_b32_e32 v3, 3, v2
	v_and_b32_e32 v3, 1, v3
	v_cmp_eq_u32_e32 vcc, 1, v3
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[0:1], exec, s[0:1]
	s_cbranch_execz .LBB0_13
	v_and_b32_e32 v2, 15, v2
	v_lshlrev_b32_e32 v2, 2, v2
	v_mov_b32_e32 v3, s13
	v_add_u32_e32 v2, vcc, s12, v2
	v_addc_u32_e32 v3, vcc, 0, v3, vcc
	flat_load_dword v2, v[2:3]
	s_add_i32 s4, s9, 3
	s_ashr_i32 s5, s4, 31
	s_add_i32 s4, s4, s5
	s_xor_b32 s4, s4, s5
	v_cvt_f32_u32_e32 v3, s4
	s_sub_i32 s5, 0, s4
	v_rcp_iflag_f32_e32 v3, v3
	v_mul_f32_e32 v3, 0x4f7ffffe, v3
	v_cvt_u32_f32_e32 v3, v3
	v_mul_lo_u32 v4, s5, v3
	v_mul_hi_u32 v4, v3, v4
	v_add_u32_e32 v3, vcc, v4, v3
	s_waitcnt vmcnt(0)
	v_ashrrev_i32_e32 v4, 31, v2
	v_add_u32_e32 v2, vcc, v2, v4
	v_xor_b32_e32 v2, v2, v4
	v_mul_hi_u32 v3, v2, v3
	v_mul_lo_u32 v3, v3, s4
	v_sub_u32_e32 v2, vcc, v2, v3
	v_subrev_u32_e32 v3, vcc, s4, v2
	v_cmp_le_u32_e32 vcc, s4, v2
	v_cndmask_b32_e32 v2, v2, v3, vcc
	v_subrev_u32_e32 v3, vcc, s4, v2
	v_cmp_le_u32_e32 vcc, s4, v2
	v_cndmask_b32_e32 v2, v2, v3, vcc
	v_xor_b32_e32 v2, v2, v4
	v_sub_u32_e32 v3, vcc, v2, v4
.LBB0_13:
	s_or_saveexec_b64 s[4:5], s[0:1]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB0_15
	s_add_i32 s0, s9, 4
	s_ashr_i32 s1, s0, 31
	s_add_i32 s0, s0, s1
	s_xor_b32 s6, s0, s1
	v_cvt_f32_u32_e32 v3, s6
	s_sub_i32 s0, 0, s6
	v_ashrrev_i32_e32 v5, 31, v2
	v_add_u32_e32 v2, vcc, v2, v5
	v_rcp_iflag_f32_e32 v3, v3
	v_xor_b32_e32 v2, v2, v5
	v_mul_f32_e32 v3, 0x4f7ffffe, v3
	v_cvt_u32_f32_e32 v3, v3
	v_mul_lo_u32 v4, s0, v3
	v_mul_hi_u32 v4, v3, v4
	v_add_u32_e32 v3, vcc, v4, v3
	v_mul_hi_u32 v3, v2, v3
	v_xor_b32_e32 v4, s1, v5
	v_mul_lo_u32 v5, v3, s6
	v_add_u32_e32 v6, vcc, 1, v3
	v_sub_u32_e32 v2, vcc, v2, v5
	v_cmp_le_u32_e32 vcc, s6, v2
	v_cndmask_b32_e32 v3, v3, v6, vcc
	v_subrev_u32_e64 v5, s[0:1], s6, v2
	v_cndmask_b32_e32 v2, v2, v5, vcc
	v_add_u32_e32 v5, vcc, 1, v3
	v_cmp_le_u32_e32 vcc, s6, v2
	v_cndmask_b32_e32 v2, v3, v5, vcc
	v_xor_b32_e32 v2, v2, v4
	v_sub_u32_e32 v2, vcc, v2, v4
	v_add_u32_e32 v3, vcc, 7, v2
.LBB0_15:
	s_or_b64 exec, exec, s[4:5]
	v_add_u32_e32 v4, vcc, 2, v0
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshlrev_b64 v[4:5], 2, v[4:5]
	v_mov_b32_e32 v2, s15
	v_add_u32_e32 v4, vcc, s14, v4
	v_addc_u32_e32 v5, vcc, v2, v5, vcc
	flat_store_dword v[4:5], v3
.LBB0_16:
	s_or_b64 exec, exec, s[2:3]
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_mov_b32_e32 v2, s15
	v_add_u32_e32 v0, vcc, s14, v0
	v_addc_u32_e32 v1, vcc, v2, v1, vcc
	flat_store_dword v[0:1], v3
	s_endpgm
	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel if_else_nested
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 20
		.amdhsa_user_sgpr_count 8
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_dispatch_ptr 1
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_flat_scratch_init 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_system_sgpr_private_segment_wavefront_offset 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 7
		.amdhsa_next_free_sgpr 16
		.amdhsa_reserve_flat_scratch 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	if_else_nested, .Lfunc_end0-if_else_nested
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .is_const:       true
        .name:           in
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .name:           out
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .name:           divisor
        .offset:         16
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 20
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           if_else_nested
    .private_segment_fixed_size: 0
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         if_else_nested.kd
    .vgpr_count:     7
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx803
amdhsa.version:
  - 1
  - 1
...
	.end_amdgpu_metadata
