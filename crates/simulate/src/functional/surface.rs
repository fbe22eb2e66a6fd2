//! Surfaces: arrays that are read and written by bytes.

use warpbound_ir::Outside;

use super::texture::TexelArray;

/// A surface as a launch binds it to an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Surface {
    /// The name that messages use.
    pub name: String,
    /// The low word of its object.
    pub handle: u32,
    /// How texels are arranged.
    pub image: TexelArray,
}

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Landing {
    /// To this address.
    At(u64),
    /// Nowhere: reads give 0, writes do nothing.
    Nowhere,
    /// Outside, where that is not allowed.
    Trap,
    /// To a byte that is no multiple of the size of the access.
    Misaligned,
}

impl Surface {
    /// Where an access of some bytes goes. Clamping takes the last place of that size in a row (PTX manual: the nearest
    /// location, sized appropriately).
    pub(super) fn landing(
        &self,
        [byte, y, z]: [i32; 3],
        layer: u32,
        size: u64,
        outside: Outside,
    ) -> Landing {
        let image = &self.image;
        let row = u64::from(image.size[0]) * image.texel();
        // A row that is shorter than the access has no place for it.
        let Some(last) = row.checked_sub(size) else {
            return match outside {
                Outside::Zero => Landing::Nowhere,
                Outside::Clamp | Outside::Trap => Landing::Trap,
            };
        };
        let last = last / size * size;
        if !i64::from(byte).rem_euclid(size as i64).eq(&0) {
            return Landing::Misaligned;
        }
        let mut place = [0u64; 4];
        let wanted = [i64::from(byte), y.into(), z.into(), layer.into()];
        let most = [
            last,
            u64::from(image.size[1]) - 1,
            u64::from(image.size[2]) - 1,
            u64::from(image.layers) - 1,
        ];
        for ((place, wanted), most) in place.iter_mut().zip(wanted).zip(most) {
            *place = match (u64::try_from(wanted), outside) {
                (Ok(inside), _) if inside <= most => inside,
                (_, Outside::Zero) => return Landing::Nowhere,
                (_, Outside::Trap) => return Landing::Trap,
                (Ok(_), Outside::Clamp) => most,
                (Err(_), Outside::Clamp) => 0,
            };
        }
        let [byte, y, z, layer] = place;
        let rows = (layer * u64::from(image.size[2]) + z) * u64::from(image.size[1]) + y;
        Landing::At(image.address + rows * row + byte)
    }
}

#[cfg(test)]
mod tests {
    use warpbound_ir::ImageKind;

    use super::*;
    use crate::functional::TexelElement;

    /// Two layers of three rows of 5 texels of 4 bytes, from byte 100 on.
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
    fn places_inside_and_outside() {
        use Landing::{At, Misaligned, Nowhere, Trap};
        // Byte, row, layer, size; where zero, clamp and trap lead.
        for (byte, row, layer, size, landings) in [
            (0, 0, 0, 4, [At(100); 3]),
            (16, 2, 1, 4, [At(100 + 60 + 40 + 16); 3]),
            (19, 0, 0, 1, [At(119); 3]),
            (20, 0, 0, 4, [Nowhere, At(116), Trap]),
            (-4, 0, 0, 4, [Nowhere, At(100), Trap]),
            (i32::MIN, 1, 0, 4, [Nowhere, At(120), Trap]),
            (0, 3, 0, 4, [Nowhere, At(140), Trap]),
            (0, -1, 1, 4, [Nowhere, At(160), Trap]),
            (0, 0, 2, 4, [Nowhere, At(160), Trap]),
            // The last 8 bytes of a row of 20 that begin at a multiple of 8.
            (16, 0, 0, 8, [Nowhere, At(108), Trap]),
            (16, 0, 0, 16, [Nowhere, At(100), Trap]),
            (2, 0, 0, 4, [Misaligned; 3]),
        ] {
            let modes = [Outside::Zero, Outside::Clamp, Outside::Trap];
            for (outside, landing) in modes.into_iter().zip(landings) {
                let found = surface().landing([byte, row, 0], layer, size, outside);
                assert_eq!(found, landing, "{byte} {row} {layer} {size} {outside:?}");
            }
        }
    }
}
