// A kernel with every user SGPR and every SGPR of the hardware that there is, and one with none; no metadata of the second.
.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
.text
.globl everything
.p2align 8
.type everything,@function
everything:
    s_endpgm
.Leverything:
.size everything, .Leverything-everything
.globl nothing
.p2align 8
.type nothing,@function
nothing:
    s_endpgm
.Lnothing:
.size nothing, .Lnothing-nothing
.rodata
.p2align 6
.amdhsa_kernel everything
    .amdhsa_group_segment_fixed_size 12
    .amdhsa_private_segment_fixed_size 20
    .amdhsa_kernarg_size 8
    .amdhsa_user_sgpr_private_segment_buffer 1
    .amdhsa_user_sgpr_dispatch_ptr 1
    .amdhsa_user_sgpr_queue_ptr 1
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_dispatch_id 1
    .amdhsa_user_sgpr_flat_scratch_init 1
    .amdhsa_user_sgpr_private_segment_size 1
    .amdhsa_system_sgpr_private_segment_wavefront_offset 1
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_system_sgpr_workgroup_id_y 1
    .amdhsa_system_sgpr_workgroup_id_z 1
    .amdhsa_system_sgpr_workgroup_info 1
    .amdhsa_system_vgpr_workitem_id 2
    .amdhsa_next_free_vgpr 17
    .amdhsa_next_free_sgpr 30
    .amdhsa_float_round_mode_32 1
    .amdhsa_float_denorm_mode_32 3
    .amdhsa_dx10_clamp 0
    .amdhsa_ieee_mode 1
.end_amdhsa_kernel
.amdhsa_kernel nothing
    .amdhsa_system_sgpr_workgroup_id_x 0
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.kernels:
  - .name: everything
    .symbol: everything.kd
    .group_segment_fixed_size: 12
    .private_segment_fixed_size: 20
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 36
    .vgpr_count: 17
    .max_flat_workgroup_size: 256
    .args:
      - { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global, .name: out }
...
.end_amdgpu_metadata
