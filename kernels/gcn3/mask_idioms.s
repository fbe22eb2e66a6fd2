// Idioms of masks that other compilers and people use.
// Control flow: a branch on execnz to an arm, s_and_b64 of exec, v_cmpx in a loop, branches on vccz, on SCC of s_quadmask.
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

// The magnitude, at most 100.
.text
.globl inverted_skip
.p2align 8
.type inverted_skip,@function
inverted_skip:
    load_element
    v_mov_b32 v5, v4
    v_cmp_gt_i32 vcc, 0, v4
    s_and_saveexec_b64 s[10:11], vcc
    s_cbranch_execnz .Lnegate
    s_branch .Ljoined
.Lnegate:
    v_sub_u32 v5, vcc, 0, v4
.Ljoined:
    s_or_b64 exec, exec, s[10:11]
    s_mov_b64 s[10:11], exec
    v_mov_b32 v6, 0x64
    v_cmp_lt_i32 vcc, v6, v5
    s_and_b64 exec, exec, vcc
    s_cbranch_execz .Llimited
    v_mov_b32 v5, 0x64
.Llimited:
    s_mov_b64 exec, s[10:11]
    store_element
.size inverted_skip, . - inverted_skip

.rodata
.p2align 6
.amdhsa_kernel inverted_skip
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_next_free_vgpr 12
    .amdhsa_next_free_sgpr 24
    .amdhsa_kernarg_size 20
.end_amdhsa_kernel

// The sum of the low ten bits shifted right by 0, 1, 2 and so on; v_cmpx takes the finished lanes out of EXEC.
.text
.globl cmpx_loop
.p2align 8
.type cmpx_loop,@function
cmpx_loop:
    load_element
    s_mov_b64 s[10:11], exec
    v_mov_b32 v5, 0
    v_and_b32 v6, 0x3ff, v4
.Lhalve:
    v_cmpx_ne_u32 vcc, 0, v6
    s_cbranch_execz .Lhalved
    v_add_u32 v5, vcc, v5, v6
    v_lshrrev_b32 v6, 1, v6
    s_branch .Lhalve
.Lhalved:
    s_mov_b64 exec, s[10:11]
    store_element
.size cmpx_loop, . - cmpx_loop

.rodata
.p2align 6
.amdhsa_kernel cmpx_loop
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_next_free_vgpr 12
    .amdhsa_next_free_sgpr 24
    .amdhsa_kernarg_size 20
.end_amdhsa_kernel

// How often the low half is halved until it is at most 8, and 100 times the rest; the wave goes on while any lane does.
.text
.globl vcc_loop
.p2align 8
.type vcc_loop,@function
vcc_loop:
    load_element
    v_mov_b32 v5, 0
    v_and_b32 v6, 0xffff, v4
.Lmore:
    v_cmp_lt_u32 vcc, 8, v6
    s_cbranch_vccz .Lsmall
    v_lshrrev_b32 v7, 1, v6
    v_cndmask_b32 v6, v6, v7, vcc
    v_addc_u32 v5, vcc, 0, v5, vcc
    s_branch .Lmore
.Lsmall:
    v_mul_u32_u24 v6, 0x64, v6
    v_add_u32 v5, vcc, v5, v6
    store_element
.size vcc_loop, . - vcc_loop

.rodata
.p2align 6
.amdhsa_kernel vcc_loop
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_next_free_vgpr 12
    .amdhsa_next_free_sgpr 24
    .amdhsa_kernarg_size 20
.end_amdhsa_kernel

// A bit for each four lanes of which one has an odd number, plus and xor the halves of the mask of these whole quads; -1 if
// no lane has an odd number.
.text
.globl quad_masks
.p2align 8
.type quad_masks,@function
quad_masks:
    load_element
    v_and_b32 v6, 1, v4
    v_cmp_eq_u32 vcc, 1, v6
    s_quadmask_b64 s[10:11], vcc
    s_cbranch_scc0 .Lnone
    s_wqm_b64 s[12:13], vcc
    v_mov_b32 v5, s10
    v_mov_b32 v6, s12
    v_add_u32 v5, vcc, v5, v6
    v_mov_b32 v6, s13
    v_xor_b32 v5, v5, v6
    s_branch .Lwritten
.Lnone:
    v_mov_b32 v5, -1
.Lwritten:
    store_element
.size quad_masks, . - quad_masks

.rodata
.p2align 6
.amdhsa_kernel quad_masks
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_next_free_vgpr 12
    .amdhsa_next_free_sgpr 24
    .amdhsa_kernarg_size 20
.end_amdhsa_kernel

// Eight times the number if it is at most 15, else the number plus 1; masks are saved in several ways.
.text
.globl saved_masks
.p2align 8
.type saved_masks,@function
saved_masks:
    load_element
    v_mov_b32 v5, v4
    v_cmp_lt_i32 vcc, -1, v4
    s_or_saveexec_b64 s[10:11], vcc
    s_xor_b64 s[10:11], exec, s[10:11]
    v_cmp_lt_i32 s[12:13], 15, v4
    s_andn2_b64 s[14:15], exec, s[12:13]
    s_mov_b64 s[16:17], exec
    s_mov_b64 exec, s[14:15]
    s_cbranch_execz .Lfew
    v_lshlrev_b32 v5, 3, v5
.Lfew:
    s_andn2_saveexec_b64 s[18:19], s[14:15]
    s_mov_b64 exec, s[16:17]
    s_and_b64 exec, exec, s[12:13]
    s_cbranch_execz .Lall
    v_add_u32 v5, vcc, 1, v5
.Lall:
    s_or_b64 exec, s[16:17], s[10:11]
    store_element
.size saved_masks, . - saved_masks

.rodata
.p2align 6
.amdhsa_kernel saved_masks
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
    .name:           inverted_skip
    .private_segment_fixed_size: 0
    .sgpr_count:     26
    .sgpr_spill_count: 0
    .symbol:         inverted_skip.kd
    .vgpr_count:     12
    .vgpr_spill_count: 0
    .wavefront_size: 64
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
    .name:           cmpx_loop
    .private_segment_fixed_size: 0
    .sgpr_count:     26
    .sgpr_spill_count: 0
    .symbol:         cmpx_loop.kd
    .vgpr_count:     12
    .vgpr_spill_count: 0
    .wavefront_size: 64
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
    .name:           vcc_loop
    .private_segment_fixed_size: 0
    .sgpr_count:     26
    .sgpr_spill_count: 0
    .symbol:         vcc_loop.kd
    .vgpr_count:     12
    .vgpr_spill_count: 0
    .wavefront_size: 64
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
    .name:           quad_masks
    .private_segment_fixed_size: 0
    .sgpr_count:     26
    .sgpr_spill_count: 0
    .symbol:         quad_masks.kd
    .vgpr_count:     12
    .vgpr_spill_count: 0
    .wavefront_size: 64
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
    .name:           saved_masks
    .private_segment_fixed_size: 0
    .sgpr_count:     26
    .sgpr_spill_count: 0
    .symbol:         saved_masks.kd
    .vgpr_count:     12
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx803
amdhsa.version:
  - 1
  - 1
...
.end_amdgpu_metadata
