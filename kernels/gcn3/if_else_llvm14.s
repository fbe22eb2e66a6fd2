// A two-sided and a one-sided branch, as LLVM 14 compiles if_else.cl.
// Control flow: the older idiom of if and else: s_or_saveexec and s_xor of exec before the second arm.
// Launch: as if_else.

	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
	.globl	if_else
	.p2align	8
	.type	if_else,@function
if_else:
if_else$local:
	s_load_dword s4, s[4:5], 0x4
	s_load_dwordx4 s[0:3], s[6:7], 0x0
	s_load_dword s6, s[6:7], 0x10
	s_waitcnt lgkmcnt(0)
	s_and_b32 s4, s4, 0xffff
	s_mul_i32 s8, s8, s4
	v_add_u32_e32 v0, vcc, s8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	v_mov_b32_e32 v4, s1
	v_add_u32_e32 v2, vcc, s0, v2
	v_addc_u32_e32 v3, vcc, v4, v3, vcc
	flat_load_dword v4, v[2:3]
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v5, 1, v4
	v_cmp_eq_u32_e32 vcc, 1, v5
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[0:1], exec, s[0:1]
	s_cbranch_execz .LBB0_2
	v_add_u32_e32 v2, vcc, 8, v2
	v_addc_u32_e32 v3, vcc, 0, v3, vcc
	flat_load_dword v2, v[2:3]
	s_add_i32 s4, s6, 2
	s_ashr_i32 s7, s4, 31
	s_add_i32 s4, s4, s7
	s_xor_b32 s4, s4, s7
	v_cvt_f32_u32_e32 v3, s4
	s_add_i32 s5, s6, 3
	s_ashr_i32 s8, s5, 31
	s_add_i32 s5, s5, s8
	v_rcp_iflag_f32_e32 v3, v3
	s_xor_b32 s5, s5, s8
	s_mov_b32 s8, 0x4f7ffffe
	v_cvt_f32_u32_e32 v5, s5
	v_mul_f32_e32 v3, s8, v3
	v_cvt_u32_f32_e32 v3, v3
	s_sub_i32 s7, 0, s4
	v_rcp_iflag_f32_e32 v5, v5
	v_ashrrev_i32_e32 v6, 31, v4
	v_mul_lo_u32 v7, s7, v3
	v_add_u32_e32 v4, vcc, v4, v6
	v_mul_f32_e32 v5, s8, v5
	v_mul_hi_u32 v7, v3, v7
	v_cvt_u32_f32_e32 v5, v5
	v_xor_b32_e32 v4, v4, v6
	s_sub_i32 s7, 0, s5
	v_add_u32_e32 v3, vcc, v7, v3
	v_mul_hi_u32 v3, v4, v3
	v_mul_lo_u32 v8, s7, v5
	v_mul_lo_u32 v3, v3, s4
	v_mul_hi_u32 v7, v5, v8
	v_sub_u32_e32 v3, vcc, v4, v3
	v_add_u32_e32 v5, vcc, v7, v5
	v_subrev_u32_e32 v4, vcc, s4, v3
	v_cmp_le_u32_e32 vcc, s4, v3
	v_cndmask_b32_e32 v3, v3, v4, vcc
	v_subrev_u32_e32 v4, vcc, s4, v3
	s_waitcnt vmcnt(0)
	v_ashrrev_i32_e32 v7, 31, v2
	v_add_u32_e32 v2, vcc, v2, v7
	v_xor_b32_e32 v2, v2, v7
	v_mul_hi_u32 v5, v2, v5
	v_cmp_le_u32_e32 vcc, s4, v3
	v_cndmask_b32_e32 v3, v3, v4, vcc
	v_xor_b32_e32 v3, v3, v6
	v_mul_lo_u32 v4, v5, s5
	v_sub_u32_e32 v3, vcc, v3, v6
	v_sub_u32_e32 v2, vcc, v2, v4
	v_subrev_u32_e32 v4, vcc, s5, v2
	v_cmp_le_u32_e32 vcc, s5, v2
	v_cndmask_b32_e32 v2, v2, v4, vcc
	v_subrev_u32_e32 v4, vcc, s5, v2
	v_cmp_le_u32_e32 vcc, s5, v2
	v_cndmask_b32_e32 v2, v2, v4, vcc
	v_xor_b32_e32 v2, v2, v7
	v_sub_u32_e32 v2, vcc, v7, v2
	v_add_u32_e32 v5, vcc, v3, v2
.LBB0_2:
	s_or_saveexec_b64 s[4:5], s[0:1]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB0_4
	v_add_u32_e32 v2, vcc, 4, v2
	v_addc_u32_e32 v3, vcc, 0, v3, vcc
	flat_load_dword v2, v[2:3]
	s_ashr_i32 s0, s6, 31
	s_add_i32 s1, s6, 1
	s_add_i32 s6, s6, s0
	s_xor_b32 s6, s6, s0
	v_cvt_f32_u32_e32 v3, s6
	s_ashr_i32 s7, s1, 31
	s_add_i32 s1, s1, s7
	s_xor_b32 s8, s1, s7
	v_cvt_f32_u32_e32 v5, s8
	v_rcp_iflag_f32_e32 v3, v3
	s_mov_b32 s1, 0x4f7ffffe
	v_ashrrev_i32_e32 v6, 31, v4
	v_rcp_iflag_f32_e32 v5, v5
	v_mul_f32_e32 v3, s1, v3
	v_cvt_u32_f32_e32 v3, v3
	v_add_u32_e32 v4, vcc, v4, v6
	v_mul_f32_e32 v5, s1, v5
	s_sub_i32 s1, 0, s6
	v_mul_lo_u32 v7, s1, v3
	v_cvt_u32_f32_e32 v5, v5
	s_sub_i32 s9, 0, s8
	v_xor_b32_e32 v4, v4, v6
	v_mul_hi_u32 v7, v3, v7
	v_mul_lo_u32 v8, s9, v5
	v_xor_b32_e32 v6, s0, v6
	v_add_u32_e32 v3, vcc, v7, v3
	v_mul_hi_u32 v3, v4, v3
	v_mul_hi_u32 v8, v5, v8
	v_mul_lo_u32 v7, v3, s6
	v_add_u32_e32 v5, vcc, v8, v5
	v_add_u32_e32 v8, vcc, 1, v3
	v_sub_u32_e32 v4, vcc, v4, v7
	v_cmp_le_u32_e32 vcc, s6, v4
	v_cndmask_b32_e32 v3, v3, v8, vcc
	v_subrev_u32_e64 v7, s[0:1], s6, v4
	v_cndmask_b32_e32 v4, v4, v7, vcc
	v_add_u32_e32 v7, vcc, 1, v3
	v_cmp_le_u32_e32 vcc, s6, v4
	v_cndmask_b32_e32 v3, v3, v7, vcc
	v_xor_b32_e32 v3, v3, v6
	v_sub_u32_e32 v3, vcc, v3, v6
	s_waitcnt vmcnt(0)
	v_ashrrev_i32_e32 v4, 31, v2
	v_add_u32_e32 v2, vcc, v2, v4
	v_xor_b32_e32 v2, v2, v4
	v_mul_hi_u32 v5, v2, v5
	v_xor_b32_e32 v4, s7, v4
	v_mul_lo_u32 v6, v5, s8
	v_add_u32_e32 v7, vcc, 1, v5
	v_sub_u32_e32 v2, vcc, v2, v6
	v_cmp_le_u32_e32 vcc, s8, v2
	v_cndmask_b32_e32 v5, v5, v7, vcc
	v_subrev_u32_e64 v6, s[0:1], s8, v2
	v_cndmask_b32_e32 v2, v2, v6, vcc
	v_add_u32_e32 v6, vcc, 1, v5
	v_cmp_le_u32_e32 vcc, s8, v2
	v_cndmask_b32_e32 v2, v5, v6, vcc
	v_xor_b32_e32 v2, v2, v4
	v_sub_u32_e32 v2, vcc, v2, v4
	v_add_u32_e32 v5, vcc, v2, v3
.LBB0_4:
	s_or_b64 exec, exec, s[4:5]
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_mov_b32_e32 v2, s3
	v_add_u32_e32 v0, vcc, s2, v0
	v_addc_u32_e32 v1, vcc, v2, v1, vcc
	flat_store_dword v[0:1], v5
	s_endpgm
	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel if_else
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
		.amdhsa_next_free_vgpr 9
		.amdhsa_next_free_sgpr 10
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
	.size	if_else, .Lfunc_end0-if_else
	.text
	.globl	if_only
	.p2align	8
	.type	if_only,@function
if_only:
if_only$local:
	s_load_dword s0, s[4:5], 0x4
	s_load_dwordx4 s[12:15], s[6:7], 0x0
	s_load_dword s4, s[6:7], 0x10
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
	v_cmp_lt_i32_e32 vcc, s4, v2
	s_and_saveexec_b64 s[2:3], vcc
	s_cbranch_execz .LBB1_2
	v_ashrrev_i32_e32 v3, 31, v2
	v_lshlrev_b64 v[4:5], 2, v[2:3]
	v_mov_b32_e32 v8, s13
	v_add_u32_e32 v4, vcc, s12, v4
	v_addc_u32_e32 v5, vcc, v8, v5, vcc
	flat_load_dword v6, v[4:5]
	s_ashr_i32 s5, s4, 31
	s_add_i32 s0, s4, s5
	s_xor_b32 s6, s0, s5
	v_cvt_f32_u32_e32 v4, s6
	s_sub_i32 s0, 0, s6
	v_add_u32_e32 v12, vcc, v2, v3
	v_rcp_iflag_f32_e32 v5, v4
	v_add_u32_e32 v4, vcc, 1, v0
	v_xor_b32_e32 v12, v12, v3
	v_mul_f32_e32 v5, 0x4f7ffffe, v5
	v_cvt_u32_f32_e32 v7, v5
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshlrev_b64 v[4:5], 2, v[4:5]
	v_mov_b32_e32 v9, s15
	v_mul_lo_u32 v10, s0, v7
	v_xor_b32_e32 v11, s5, v3
	v_mul_hi_u32 v10, v7, v10
	v_add_u32_e32 v7, vcc, v10, v7
	v_mul_hi_u32 v10, v12, v7
	v_add_u32_e32 v3, vcc, s14, v4
	v_addc_u32_e32 v4, vcc, v9, v5, vcc
	v_mul_lo_u32 v5, v10, s6
	v_add_u32_e32 v9, vcc, 1, v10
	v_sub_u32_e32 v5, vcc, v12, v5
	v_cmp_le_u32_e32 vcc, s6, v5
	v_cndmask_b32_e32 v9, v10, v9, vcc
	v_subrev_u32_e64 v10, s[0:1], s6, v5
	v_cndmask_b32_e32 v5, v5, v10, vcc
	v_add_u32_e32 v10, vcc, 1, v9
	v_cmp_le_u32_e32 vcc, s6, v5
	v_cndmask_b32_e32 v5, v9, v10, vcc
	v_xor_b32_e32 v5, v5, v11
	v_sub_u32_e32 v5, vcc, v5, v11
	s_waitcnt vmcnt(0)
	v_ashrrev_i32_e32 v9, 31, v6
	v_add_u32_e32 v6, vcc, v6, v9
	v_xor_b32_e32 v10, v6, v9
	v_mul_hi_u32 v11, v10, v7
	v_ashrrev_i32_e32 v6, 31, v5
	v_xor_b32_e32 v9, s5, v9
	v_lshlrev_b64 v[6:7], 2, v[5:6]
	v_mul_lo_u32 v12, v11, s6
	v_add_u32_e32 v13, vcc, 1, v11
	v_sub_u32_e32 v10, vcc, v10, v12
	v_cmp_le_u32_e32 vcc, s6, v10
	v_cndmask_b32_e32 v11, v11, v13, vcc
	v_subrev_u32_e64 v12, s[0:1], s6, v10
	v_cndmask_b32_e32 v10, v10, v12, vcc
	v_add_u32_e32 v12, vcc, 1, v11
	v_cmp_le_u32_e32 vcc, s6, v10
	v_cndmask_b32_e32 v10, v11, v12, vcc
	v_xor_b32_e32 v10, v10, v9
	v_sub_u32_e32 v9, vcc, v10, v9
	flat_store_dword v[3:4], v9
	v_add_u32_e32 v3, vcc, s12, v6
	v_addc_u32_e32 v4, vcc, v8, v7, vcc
	flat_load_dword v3, v[3:4]
	v_mul_lo_u32 v4, v5, s4
	v_sub_u32_e32 v2, vcc, v2, v4
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v2, vcc, v3, v2
.LBB1_2:
	s_or_b64 exec, exec, s[2:3]
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_mov_b32_e32 v3, s15
	v_add_u32_e32 v0, vcc, s14, v0
	v_addc_u32_e32 v1, vcc, v3, v1, vcc
	flat_store_dword v[0:1], v2
	s_endpgm
	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel if_only
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
		.amdhsa_next_free_vgpr 14
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
.Lfunc_end1:
	.size	if_only, .Lfunc_end1-if_only
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
    .name:           if_else
    .private_segment_fixed_size: 0
    .sgpr_count:     12
    .sgpr_spill_count: 0
    .symbol:         if_else.kd
    .vgpr_count:     9
    .vgpr_spill_count: 0
    .wavefront_size: 64
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
    .name:           if_only
    .private_segment_fixed_size: 0
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         if_only.kd
    .vgpr_count:     14
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx803
amdhsa.version:
  - 1
  - 1
...
	.end_amdgpu_metadata
