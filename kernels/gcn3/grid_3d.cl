// Numbers of work-items and groups and their sizes in three dimensions.
// Control flow: a guard in three dimensions; the grid may be larger than the field.
// Launch: 3-D.
// Options: -mcode-object-version=5
#include "device.h"

kernel void grid_3d(global int *out, int width, int height, int depth)
{
    int x = global_x(), y = global_y(), z = global_z();
    if (x >= width || y >= height || z >= depth)
        return;
    int local_number = (local_z() * group_size_y() + local_y()) * group_size_x() + local_x();
    int group = group_x() + 16 * group_y() + 256 * group_z();
    out[(z * height + y) * width + x] = local_number + 1024 * group + groups_x() * 0x1000000;
}

// The same from the dispatch packet of older code: sizes in work-items, without remainders.
kernel void grid_sizes(global int *out)
{
    int i = (global_z() * (group_size_y() * groups_y()) + global_y()) * grid_items_x() + global_x();
    out[i] = grid_items_x() + 1000 * group_size_z() + 100000 * groups_y();
}
