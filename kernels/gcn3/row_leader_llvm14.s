// One lane a row works for the row, as LLVM 14 compiles row_leader.cl.
// Control flow: a mask of one lane a row, a search in a loop that lanes leave one by one.
// Launch: as row_leader.

	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
	.globl	row_leader
	.p2align	8
	.type	row_leader,@function
row_leader:
row_leader$local:
	s_mov_b32 s20, 0
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_12
	s_load_dword s0, s[4:5], 0x4
	s_load_dwordx4 s[12:15], s[6:7], 0x0
	s_load_dwordx2 s[2:3], s[6:7], 0x10
	s_load_dword s1, s[6:7], 0x18
	s_waitcnt lgkmcnt(0)
	s_lshr_b32 s4, s0, 16
	s_mul_i32 s8, s8, s4
	v_add_u32_e32 v0, vcc, s8, v1
	s_and_b32 s21, s0, 0xffff
	v_mul_lo_u32 v2, v0, s21
	s_cmp_gt_i32 s1, 0
	s_cselect_b64 s[4:5], -1, 0
	s_sub_i32 s22, 0, s1
	s_branch .LBB0_4
.LBB0_2:
	s_or_b64 exec, exec, s[6:7]
.LBB0_3:
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_mov_b32_e32 v3, s3
	v_add_u32_e32 v0, vcc, s2, v0
	s_add_i32 s20, s20, 1
	v_addc_u32_e32 v1, vcc, v3, v1, vcc
	s_cmp_lg_u32 s20, s21
	flat_store_dword v[0:1], v5
	s_cbranch_scc0 .LBB0_12
.LBB0_4:
	v_add_u32_e32 v0, vcc, s20, v2
	s_andn2_b64 vcc, exec, s[4:5]
	v_ashrrev_i32_e32 v1, 31, v0
	s_cbranch_vccnz .LBB0_11
	v_lshlrev_b64 v[3:4], 2, v[0:1]
	v_mov_b32_e32 v5, s13
	v_add_u32_e32 v3, vcc, s12, v3
	v_addc_u32_e32 v4, vcc, v5, v4, vcc
	flat_load_dword v3, v[3:4]
	s_mov_b32 s23, 0
	s_mov_b64 s[6:7], 0
	s_mov_b64 s[16:17], s[14:15]
	s_branch .LBB0_7
.LBB0_6:
	s_or_b64 exec, exec, s[18:19]
	s_and_b64 s[18:19], exec, s[10:11]
	s_or_b64 s[6:7], s[18:19], s[6:7]
	s_andn2_b64 s[0:1], s[0:1], exec
	s_and_b64 s[18:19], s[8:9], exec
	v_mov_b32_e32 v4, s23
	s_or_b64 s[0:1], s[0:1], s[18:19]
	s_mov_b32 s23, s24
	s_andn2_b64 exec, exec, s[6:7]
	s_cbranch_execz .LBB0_9
.LBB0_7:
	v_mov_b32_e32 v4, s16
	v_mov_b32_e32 v5, s17
	flat_load_dword v4, v[4:5]
	s_or_b64 s[8:9], s[8:9], exec
	s_or_b64 s[10:11], s[10:11], exec
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e32 vcc, v4, v3
	s_and_saveexec_b64 s[18:19], vcc
	s_cbranch_execz .LBB0_6
	s_add_i32 s24, s23, -1
	s_add_u32 s16, s16, 4
	s_addc_u32 s17, s17, 0
	s_cmp_eq_u32 s22, s24
	s_cselect_b64 s[26:27], -1, 0
	s_andn2_b64 s[10:11], s[10:11], exec
	s_and_b64 s[26:27], s[26:27], exec
	s_andn2_b64 s[8:9], s[8:9], exec
	s_or_b64 s[10:11], s[10:11], s[26:27]
	s_branch .LBB0_6
.LBB0_9:
	s_or_b64 exec, exec, s[6:7]
	v_mov_b32_e32 v5, -1
	s_and_saveexec_b64 s[6:7], s[0:1]
	s_xor_b64 s[6:7], exec, s[6:7]
	s_cbranch_execz .LBB0_2
	v_sub_u32_e32 v5, vcc, 3, v4
	v_cvt_f32_u32_e32 v6, v5
	v_add_u32_e32 v7, vcc, -3, v4
	v_ashrrev_i32_e32 v8, 31, v3
	v_rcp_iflag_f32_e32 v6, v6
	v_add_u32_e32 v3, vcc, v3, v8
	v_xor_b32_e32 v3, v3, v8
	v_mul_f32_e32 v6, 0x4f7ffffe, v6
	v_cvt_u32_f32_e32 v6, v6
	v_mul_lo_u32 v7, v7, v6
	v_mul_hi_u32 v7, v6, v7
	v_add_u32_e32 v6, vcc, v6, v7
	v_mul_hi_u32 v6, v3, v6
	v_mul_lo_u32 v7, v6, v5
	v_add_u32_e32 v9, vcc, 1, v6
	v_sub_u32_e32 v3, vcc, v3, v7
	v_cmp_ge_u32_e32 vcc, v3, v5
	v_cndmask_b32_e32 v6, v6, v9, vcc
	v_sub_u32_e64 v7, s[0:1], v3, v5
	v_cndmask_b32_e32 v3, v3, v7, vcc
	v_add_u32_e32 v7, vcc, 1, v6
	v_cmp_ge_u32_e32 vcc, v3, v5
	v_cndmask_b32_e32 v3, v6, v7, vcc
	v_xor_b32_e32 v3, v3, v8
	v_sub_u32_e32 v3, vcc, v3, v8
	v_sub_u32_e32 v5, vcc, v3, v4
	s_branch .LBB0_2
.LBB0_11:
	v_mov_b32_e32 v5, -1
	s_branch .LBB0_3
.LBB0_12:
	s_endpgm
	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel row_leader
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 28
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
		.amdhsa_system_vgpr_workitem_id 1
		.amdhsa_next_free_vgpr 10
		.amdhsa_next_free_sgpr 28
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
	.size	row_leader, .Lfunc_end0-row_leader
	.text
	.globl	row_leader_shared
	.p2align	8
	.type	row_leader_shared,@function
row_leader_shared:
row_leader_shared$local:
	s_load_dword s0, s[4:5], 0x4
	s_mov_b32 s23, 0
	s_mov_b32 m0, -1
	s_waitcnt lgkmcnt(0)
	s_lshr_b32 s1, s0, 16
	s_mul_i32 s8, s8, s1
	v_add_u32_e32 v2, vcc, s8, v1
	s_and_b32 s22, s0, 0xffff
	v_mul_lo_u32 v2, v2, s22
	s_load_dwordx4 s[8:11], s[6:7], 0x0
	s_load_dwordx2 s[2:3], s[6:7], 0x10
	v_add_u32_e32 v2, vcc, v2, v0
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[4:5], vcc
	s_cbranch_execz .LBB1_13
	s_load_dword s0, s[6:7], 0x18
	v_mov_b32_e32 v3, 0
	s_waitcnt lgkmcnt(0)
	s_cmp_gt_i32 s0, 0
	s_cselect_b64 s[6:7], -1, 0
	s_sub_i32 s24, 0, s0
	s_branch .LBB1_4
.LBB1_2:
	s_or_b64 exec, exec, s[12:13]
.LBB1_3:
	s_add_i32 s23, s23, 1
	s_cmp_eq_u32 s23, s22
	v_add_u32_e32 v3, vcc, v6, v3
	s_cbranch_scc1 .LBB1_12
.LBB1_4:
	s_andn2_b64 vcc, exec, s[6:7]
	s_cbranch_vccnz .LBB1_11
	v_add_u32_e32 v4, vcc, s23, v2
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshlrev_b64 v[4:5], 2, v[4:5]
	v_mov_b32_e32 v6, s9
	v_add_u32_e32 v4, vcc, s8, v4
	v_addc_u32_e32 v5, vcc, v6, v5, vcc
	flat_load_dword v4, v[4:5]
	s_mov_b32 s25, 0
	s_mov_b64 s[12:13], 0
	s_mov_b64 s[18:19], s[10:11]
	s_branch .LBB1_7
.LBB1_6:
	s_or_b64 exec, exec, s[20:21]
	s_and_b64 s[20:21], exec, s[16:17]
	s_or_b64 s[12:13], s[20:21], s[12:13]
	s_andn2_b64 s[0:1], s[0:1], exec
	s_and_b64 s[20:21], s[14:15], exec
	v_mov_b32_e32 v5, s25
	s_or_b64 s[0:1], s[0:1], s[20:21]
	s_mov_b32 s25, s26
	s_andn2_b64 exec, exec, s[12:13]
	s_cbranch_execz .LBB1_9
.LBB1_7:
	s_load_dword s20, s[18:19], 0x0
	s_or_b64 s[14:15], s[14:15], exec
	s_or_b64 s[16:17], s[16:17], exec
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_cmp_ne_u32_e32 vcc, s20, v4
	s_and_saveexec_b64 s[20:21], vcc
	s_cbranch_execz .LBB1_6
	s_add_i32 s26, s25, -1
	s_add_u32 s18, s18, 4
	s_addc_u32 s19, s19, 0
	s_cmp_eq_u32 s24, s26
	s_cselect_b64 s[28:29], -1, 0
	s_andn2_b64 s[16:17], s[16:17], exec
	s_and_b64 s[28:29], s[28:29], exec
	s_andn2_b64 s[14:15], s[14:15], exec
	s_or_b64 s[16:17], s[16:17], s[28:29]
	s_branch .LBB1_6
.LBB1_9:
	s_or_b64 exec, exec, s[12:13]
	v_mov_b32_e32 v6, -1
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_xor_b64 s[12:13], exec, s[12:13]
	s_cbranch_execz .LBB1_2
	v_sub_u32_e32 v6, vcc, 3, v5
	v_cvt_f32_u32_e32 v7, v6
	v_add_u32_e32 v8, vcc, -3, v5
	v_ashrrev_i32_e32 v9, 31, v4
	v_rcp_iflag_f32_e32 v7, v7
	v_add_u32_e32 v4, vcc, v4, v9
	v_xor_b32_e32 v4, v4, v9
	v_mul_f32_e32 v7, 0x4f7ffffe, v7
	v_cvt_u32_f32_e32 v7, v7
	v_mul_lo_u32 v8, v8, v7
	v_mul_hi_u32 v8, v7, v8
	v_add_u32_e32 v7, vcc, v7, v8
	v_mul_hi_u32 v7, v4, v7
	v_mul_lo_u32 v8, v7, v6
	v_add_u32_e32 v10, vcc, 1, v7
	v_sub_u32_e32 v4, vcc, v4, v8
	v_cmp_ge_u32_e32 vcc, v4, v6
	v_cndmask_b32_e32 v7, v7, v10, vcc
	v_sub_u32_e64 v8, s[0:1], v4, v6
	v_cndmask_b32_e32 v4, v4, v8, vcc
	v_add_u32_e32 v8, vcc, 1, v7
	v_cmp_ge_u32_e32 vcc, v4, v6
	v_cndmask_b32_e32 v4, v7, v8, vcc
	v_xor_b32_e32 v4, v4, v9
	v_sub_u32_e32 v4, vcc, v4, v9
	v_sub_u32_e32 v6, vcc, v4, v5
	s_branch .LBB1_2
.LBB1_11:
	v_mov_b32_e32 v6, -1
	s_branch .LBB1_3
.LBB1_12:
	v_lshlrev_b32_e32 v4, 2, v1
	ds_write_b32 v4, v3
.LBB1_13:
	s_or_b64 exec, exec, s[4:5]
	v_lshlrev_b32_e32 v1, 2, v1
	s_waitcnt lgkmcnt(0)
	s_barrier 
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v1, v1
	v_ashrrev_i32_e32 v3, 31, v2
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v4, vcc, v1, v0
	v_lshlrev_b64 v[0:1], 2, v[2:3]
	v_mov_b32_e32 v2, s3
	v_add_u32_e32 v0, vcc, s2, v0
	v_addc_u32_e32 v1, vcc, v2, v1, vcc
	flat_store_dword v[0:1], v4
	s_endpgm
	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel row_leader_shared
		.amdhsa_group_segment_fixed_size 128
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 28
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
		.amdhsa_system_vgpr_workitem_id 1
		.amdhsa_next_free_vgpr 11
		.amdhsa_next_free_sgpr 30
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
	.size	row_leader_shared, .Lfunc_end1-row_leader_shared
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
        .is_const:       true
        .name:           table
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .name:           out
        .offset:         16
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .name:           m
        .offset:         24
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 28
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           row_leader
    .private_segment_fixed_size: 0
    .sgpr_count:     30
    .sgpr_spill_count: 0
    .symbol:         row_leader.kd
    .vgpr_count:     10
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
        .is_const:       true
        .name:           table
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .name:           out
        .offset:         16
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .name:           m
        .offset:         24
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 128
    .kernarg_segment_align: 8
    .kernarg_segment_size: 28
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           row_leader_shared
    .private_segment_fixed_size: 0
    .sgpr_count:     32
    .sgpr_spill_count: 0
    .symbol:         row_leader_shared.kd
    .vgpr_count:     11
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx803
amdhsa.version:
  - 1
  - 1
...
	.end_amdgpu_metadata
