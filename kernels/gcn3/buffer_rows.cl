// Loads and stores through a buffer descriptor that checks their range: beyond it loads give 0 and stores do nothing.
// Instructions: MUBUF with an offset in a VGPR, in an SGPR and in the instruction, one to four words and bytes.
// Launch: 1-D; `rows` rows of 4 words; more work-items than rows.
#include "device.h"

typedef uint uint2 __attribute__((ext_vector_type(2)));

kernel void buffer_rows(global int *in, global int *out, int rows)
{
    int i = global_x();
    __amdgpu_buffer_rsrc_t from = __builtin_amdgcn_make_buffer_rsrc(in, 0, 16 * rows, 0x27000);
    __amdgpu_buffer_rsrc_t to = __builtin_amdgcn_make_buffer_rsrc(out, 0, 16 * rows, 0x27000);
    int first = __builtin_amdgcn_raw_buffer_load_b32(from, 16 * i, 0, 0);
    int second = 5;
    if (i < rows - 1)
        second = __builtin_amdgcn_raw_buffer_load_b32(from, 16 * i + 4, 16, 0);
    int low = __builtin_amdgcn_raw_buffer_load_b8(from, 16 * i + 8, 0, 0);
    uint2 pair;
    pair.x = first + second;
    pair.y = first ^ low;
    __builtin_amdgcn_raw_buffer_store_b64(pair, to, 16 * i, 0, 0);
    __builtin_amdgcn_raw_buffer_store_b32(second - low, to, 16 * i + 12, 0, 0);
}
