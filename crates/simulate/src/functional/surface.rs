//! Address computation of surface accesses.

use warpbound_ir::OutOfBounds;

use warpbound_launch::Surface;

/// Resolved address of a surface access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SurfaceAddress {
    /// Global byte address.
    InBounds(u64),
    /// Out of bounds in mode `Zero`: a read gives 0, a write has no effect.
    Discarded,
    /// Out of bounds in mode `Trap`, or in mode `Clamp` if a row is shorter than the access.
    Trap,
    /// At a byte offset that is not a multiple of the access size.
    Misaligned,
}

/// Resolves the address of an access of `size` bytes at a byte offset, row and slice. `Clamp` selects the last
/// aligned element of that size in a row (PTX `.clamp`: the nearest location, sized appropriately). For example, in a
/// row of 10 bytes, a clamped access of 4 bytes goes to byte 4.
pub(super) fn resolve(
    surface: &Surface,
    [byte, y, z]: [i32; 3],
    layer: u32,
    size: u64,
    outside: OutOfBounds,
) -> SurfaceAddress {
    let image = &surface.image;
    let row = u64::from(image.size[0]) * image.texel_size();
    // A row shorter than the access contains no element to clamp to.
    let Some(last) = row.checked_sub(size) else {
        return match outside {
            OutOfBounds::Zero => SurfaceAddress::Discarded,
            OutOfBounds::Clamp | OutOfBounds::Trap => SurfaceAddress::Trap,
        };
    };
    let last = last / size * size;
    if !i64::from(byte).rem_euclid(size as i64).eq(&0) {
        return SurfaceAddress::Misaligned;
    }
    let mut resolved = [0u64; 4];
    let requested = [i64::from(byte), y.into(), z.into(), layer.into()];
    // Sizes are at least 1 (`TexelArray::check`).
    let last_index = [
        last,
        u64::from(image.size[1]) - 1,
        u64::from(image.size[2]) - 1,
        u64::from(image.layers) - 1,
    ];
    for ((resolved, requested), last) in resolved.iter_mut().zip(requested).zip(last_index) {
        *resolved = match (u64::try_from(requested), outside) {
            (Ok(inside), _) if inside <= last => inside,
            (_, OutOfBounds::Zero) => return SurfaceAddress::Discarded,
            (_, OutOfBounds::Trap) => return SurfaceAddress::Trap,
            (Ok(_), OutOfBounds::Clamp) => last,
            (Err(_), OutOfBounds::Clamp) => 0,
        };
    }
    let [byte, y, z, layer] = resolved;
    let rows = (layer * u64::from(image.size[2]) + z) * u64::from(image.size[1]) + y;
    SurfaceAddress::InBounds(image.address + rows * row + byte)
}

#[cfg(test)]
mod tests {
    use warpbound_ir::ImageKind;

    use super::*;
    use warpbound_launch::{TexelArray, TexelElement};

    /// Two layers of three rows of 5 texels of 4 bytes, at address 100.
    fn surface() -> Surface {
        Surface {
            name: "s".to_owned(),
            handle: 1,
            image: TexelArray {
                kind: ImageKind::Layered2,
                size: [5, 3, 1],
                layers: 2,
                element: TexelElement::U16,
                channels: 2,
                address: 100,
            },
        }
    }

    #[test]
    fn addresses_in_and_out_of_bounds() {
        use SurfaceAddress::{Discarded, InBounds, Misaligned, Trap};
        // Byte, row, layer, size; results of the modes zero, clamp and trap.
        for (byte, row, layer, size, addresses) in [
            (0, 0, 0, 4, [InBounds(100); 3]),
            (16, 2, 1, 4, [InBounds(100 + 60 + 40 + 16); 3]),
            (19, 0, 0, 1, [InBounds(119); 3]),
            (20, 0, 0, 4, [Discarded, InBounds(116), Trap]),
            (-4, 0, 0, 4, [Discarded, InBounds(100), Trap]),
            (i32::MIN, 1, 0, 4, [Discarded, InBounds(120), Trap]),
            (0, 3, 0, 4, [Discarded, InBounds(140), Trap]),
            (0, -1, 1, 4, [Discarded, InBounds(160), Trap]),
            (0, 0, 2, 4, [Discarded, InBounds(160), Trap]),
            // The last 8 bytes of a row of 20 that begin at a multiple of 8.
            (16, 0, 0, 8, [Discarded, InBounds(108), Trap]),
            (16, 0, 0, 16, [Discarded, InBounds(100), Trap]),
            (2, 0, 0, 4, [Misaligned; 3]),
        ] {
            let modes = [OutOfBounds::Zero, OutOfBounds::Clamp, OutOfBounds::Trap];
            for (outside, expected) in modes.into_iter().zip(addresses) {
                let found = resolve(&surface(), [byte, row, 0], layer, size, outside);
                assert_eq!(found, expected, "{byte} {row} {layer} {size} {outside:?}");
            }
        }
    }
}
