// Linear search with two ways out of the loop, as LLVM 14 compiles break_loop.cl.
// Control flow: masks of two exits; the older idiom of if and else.
// Launch: as break_loop.

	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
	.globl	break_loop
	.p2align	8
	.type	break_loop,@function
break_loop:
break_loop$local:
	s_load_dword s0, s[4:5], 0x4
	s_load_dwordx2 s[2:3], s[6:7], 0x10
	s_load_dword s10, s[6:7], 0x18
	s_waitcnt lgkmcnt(0)
	s_and_b32 s0, s0, 0xffff
	s_mul_i32 s8, s8, s0
	v_add_u32_e32 v0, vcc, s8, v0
	s_cmp_lt_i32 s10, 1
	v_ashrrev_i32_e32 v1, 31, v0
	s_cbranch_scc1 .LBB0_11
	s_load_dwordx4 s[4:7], s[6:7], 0x0
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	s_ashr_i32 s11, s10, 31
	s_lshl_b64 s[0:1], s[10:11], 2
	s_mov_b32 s11, 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v5, s7
	v_add_u32_e32 v4, vcc, s6, v2
	v_addc_u32_e32 v5, vcc, v5, v3, vcc
	flat_load_dword v6, v[4:5]
	v_mov_b32_e32 v5, s3
	s_mov_b64 s[6:7], 0
	s_waitcnt vmcnt(0)
	v_ashrrev_i32_e32 v7, 31, v6
	v_add_u32_e32 v4, vcc, v6, v7
	v_xor_b32_e32 v8, v4, v7
	v_cvt_f32_u32_e32 v4, v8
	v_add_u32_e32 v2, vcc, s2, v2
	v_addc_u32_e32 v3, vcc, v5, v3, vcc
	v_rcp_iflag_f32_e32 v4, v4
	v_mov_b32_e32 v5, s1
	v_mul_f32_e32 v4, 0x4f7ffffe, v4
	v_cvt_u32_f32_e32 v10, v4
	v_sub_u32_e32 v4, vcc, 0, v8
	v_mul_lo_u32 v9, v4, v10
	v_add_u32_e32 v4, vcc, s0, v2
	v_addc_u32_e32 v5, vcc, v3, v5, vcc
	v_mul_hi_u32 v11, v10, v9
	v_mov_b32_e32 v9, -1
	v_add_u32_e32 v10, vcc, v10, v11
	s_branch .LBB0_3
.LBB0_2:
	s_or_b64 exec, exec, s[8:9]
	s_add_i32 s11, s11, 1
	s_cmp_ge_i32 s11, s10
	s_cselect_b64 s[8:9], -1, 0
	s_xor_b64 s[0:1], s[0:1], -1
	s_or_b64 s[0:1], s[0:1], s[8:9]
	s_add_u32 s4, s4, 4
	s_addc_u32 s5, s5, 0
	s_and_b64 s[0:1], exec, s[0:1]
	s_or_b64 s[6:7], s[0:1], s[6:7]
	s_andn2_b64 exec, exec, s[6:7]
	s_cbranch_execz .LBB0_10
.LBB0_3:
	v_mov_b32_e32 v12, s5
	v_mov_b32_e32 v11, s4
	flat_load_dword v11, v[11:12]
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e32 vcc, v11, v6
	s_and_saveexec_b64 s[8:9], vcc
	s_xor_b64 s[8:9], exec, s[8:9]
	s_cbranch_execz .LBB0_8
	v_cmp_lt_i32_e32 vcc, -1, v11
	s_mov_b64 s[0:1], -1
	s_and_b64 vcc, exec, vcc
	s_mov_b64 s[12:13], -1
	s_cbranch_vccz .LBB0_6
	flat_store_dword v[2:3], v11
	s_mov_b64 s[12:13], 0
.LBB0_6:
	s_andn2_b64 vcc, exec, s[12:13]
	s_cbranch_vccnz .LBB0_8
	v_mul_hi_u32 v9, s11, v10
	v_mul_lo_u32 v11, v9, v8
	v_add_u32_e32 v12, vcc, 1, v9
	v_sub_u32_e32 v11, vcc, s11, v11
	v_cmp_ge_u32_e32 vcc, v11, v8
	v_cndmask_b32_e32 v9, v9, v12, vcc
	v_sub_u32_e64 v12, s[0:1], v11, v8
	v_cndmask_b32_e32 v11, v11, v12, vcc
	v_add_u32_e32 v12, vcc, 1, v9
	v_cmp_ge_u32_e32 vcc, v11, v8
	v_cndmask_b32_e32 v9, v9, v12, vcc
	v_xor_b32_e32 v9, v9, v7
	v_sub_u32_e32 v9, vcc, v7, v9
	v_add_u32_e32 v9, vcc, -2, v9
	s_mov_b64 s[0:1], 0
.LBB0_8:
	s_or_saveexec_b64 s[8:9], s[8:9]
	s_xor_b64 exec, exec, s[8:9]
	s_cbranch_execz .LBB0_2
	v_mov_b32_e32 v9, s11
	s_andn2_b64 s[0:1], s[0:1], exec
	flat_store_dword v[4:5], v6
	s_branch .LBB0_2
.LBB0_10:
	s_or_b64 exec, exec, s[6:7]
	s_branch .LBB0_12
.LBB0_11:
	v_mov_b32_e32 v9, -1
.LBB0_12:
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_mov_b32_e32 v2, s3
	v_add_u32_e32 v0, vcc, s2, v0
	v_addc_u32_e32 v1, vcc, v2, v1, vcc
	flat_store_dword v[0:1], v9
	s_endpgm
	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel break_loop
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
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 13
		.amdhsa_next_free_sgpr 14
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
	.size	break_loop, .Lfunc_end0-break_loop
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .is_const:       true
        .name:           table
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .name:           keys
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
      - .name:           !str n
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
    .name:           break_loop
    .private_segment_fixed_size: 0
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         break_loop.kd
    .vgpr_count:     13
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx803
amdhsa.version:
  - 1
  - 1
...
	.end_amdgpu_metadata
