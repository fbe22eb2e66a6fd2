// The two branches of Klashtorny, "GPU Wavefront Splitting for Safety-Critical Systems", Figure 4.4, with the mark of
// Figure 4.6 in front: s_and_saveexec, then s_andn2 of exec.
// Control flow: one two-sided branch, in the form of older compilers; EXEC is not restored at the end.
// Launch: one wave; the lanes 0 to 2 take the first arm. Table 4.1 has 4 lanes.

// 100 plus the lane in the lanes 0 to 2, 200 plus the lane in the others.
.text
.globl marked_branches
.p2align 8
.type marked_branches,@function
marked_branches:
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    v_add_u32 v2, vcc, s4, v1
    v_mov_b32 v3, s5
    v_addc_u32 v3, vcc, 0, v3, vcc
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 21, 1), 1
    v_cmp_gt_u32 vcc, 3, v0
    s_and_saveexec_b64 s[2:3], vcc
    s_cbranch_execz .Lsecond
    v_add_u32 v4, vcc, 0x64, v0
    flat_store_dword v[2:3], v4
.Lsecond:
    s_andn2_b64 exec, s[2:3], exec
    s_cbranch_execz .Ldone
    v_add_u32 v4, vcc, 0xc8, v0
    flat_store_dword v[2:3], v4
.Ldone:
    s_endpgm
.size marked_branches, . - marked_branches

.rodata
.p2align 6
.amdhsa_kernel marked_branches
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 16
    .amdhsa_kernarg_size 8
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .name:           out
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 64
    .name:           marked_branches
    .private_segment_fixed_size: 0
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         marked_branches.kd
    .vgpr_count:     8
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx803
amdhsa.version:
  - 1
  - 1
...
.end_amdgpu_metadata
