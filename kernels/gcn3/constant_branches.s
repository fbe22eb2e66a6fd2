// Branches on EXEC where nothing has written EXEC: one is never taken, the other always.
// Control flow: s_cbranch_execz that is no skip, s_cbranch_execnz in place of s_branch, backwards too.
// Launch: 1-D; `items` is the size of a group.

// Loads the own element of `in` into v4; v1 is its offset.
.macro load_element
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_load_dword s8, s[0:1], 0x10
    s_waitcnt lgkmcnt(0)
    s_mul_i32 s9, s2, s8
    v_add_u32 v0, vcc, s9, v0
    v_lshlrev_b32 v1, 2, v0
    v_add_u32 v2, vcc, s4, v1
    v_mov_b32 v3, s5
    v_addc_u32 v3, vcc, 0, v3, vcc
    flat_load_dword v4, v[2:3]
    s_waitcnt vmcnt(0) lgkmcnt(0)
.endm

// Stores v5 to the own element of `out`, and ends the wave.
.macro store_element
    v_add_u32 v2, vcc, s6, v1
    v_mov_b32 v3, s7
    v_addc_u32 v3, vcc, 0, v3, vcc
    flat_store_dword v[2:3], v5
    s_endpgm
.endm

// (in + 7), three times multiplied by 5 and incremented.
.text
.globl constant_branches
.p2align 8
.type constant_branches,@function
constant_branches:
    load_element
    v_mov_b32 v5, v4
    s_cbranch_execz .Lnever
    v_add_u32 v5, vcc, 7, v5
    s_cbranch_execnz .Lalways
.Lnever:
    v_mov_b32 v5, 0
.Lalways:
    s_mov_b32 s10, 3
.Lround:
    v_mul_lo_u32 v5, v5, 5
    v_add_u32 v5, vcc, 1, v5
    s_sub_u32 s10, s10, 1
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 .Ldone
    s_cbranch_execnz .Lround
.Ldone:
    store_element
.size constant_branches, . - constant_branches

.rodata
.p2align 6
.amdhsa_kernel constant_branches
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_next_free_vgpr 12
    .amdhsa_next_free_sgpr 24
    .amdhsa_kernarg_size 20
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .name:           in
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .name:           out
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .name:           items
        .offset:         16
        .size:           4
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 20
    .max_flat_workgroup_size: 1024
    .name:           constant_branches
    .private_segment_fixed_size: 0
    .sgpr_count:     26
    .sgpr_spill_count: 0
    .symbol:         constant_branches.kd
    .vgpr_count:     12
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx803
amdhsa.version:
  - 1
  - 1
...
.end_amdgpu_metadata
