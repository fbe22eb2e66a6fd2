//! Surfaces: arrays that are read and written by bytes.

use warpbound_ir::Outside;

use super::texture::Image;

/// A surface as a launch binds it to an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Surface {
    /// The name that messages use.
    pub name: String,
    /// The low word of its object.
    pub handle: u32,
    /// How texels are arranged.
    pub image: Image,
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
