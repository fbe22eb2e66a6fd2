//! Instructions that NVIDIA's assembler wrote for PTX whose operands were loaded into the registers named here one by
//! one.

use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, View};

use crate::maxwell::meaning;
use crate::{BinaryOp, Cell, Expr, Meaning, SurfaceOp, TextureOp};

fn view(word: u64) -> View {
    let mut group = [0u8; 32];
    group[8..16].copy_from_slice(&word.to_le_bytes());
    let program = SassProgram::decode(Arch::Sm61, &group).expect("a group");
    program.view(&program.instrs[0]).expect("an instruction")
}

/// `R4`; `c180`: a word of bank 0; `R4.lo`: the low half; `R4[8:4]`: a signed number of 4 bits from bit 8 on.
fn text(expr: &Expr) -> String {
    match expr {
        Expr::Const(number) => number.to_string(),
        Expr::Cell(cell) => register(*cell),
        Expr::Constant(0, address) => match **address {
            Expr::Const(address) => format!("c{address:x}"),
            _ => panic!("{expr:?}"),
        },
        Expr::Binary(BinaryOp::And, word, mask) if **mask == Expr::Const(0xffff) => {
            format!("{}.lo", text(word))
        }
        Expr::Binary(BinaryOp::Sar, high, right) => match (&**high, &**right) {
            (Expr::Binary(BinaryOp::Shl, word, left), Expr::Const(right)) => {
                let Expr::Const(left) = **left else {
                    panic!("{expr:?}");
                };
                format!("{}[{}:{}]", text(word), right - left, 32 - right)
            }
            _ => panic!("{expr:?}"),
        },
        _ => panic!("{expr:?}"),
    }
}

fn register(cell: Cell) -> String {
    format!("R{}", cell.index())
}

fn list(exprs: &[Expr]) -> String {
    let all: Vec<String> = exprs.iter().map(text).collect();
    all.join(" ")
}

fn spelled(meaning: &Meaning) -> String {
    let components = |dests: &[(u8, Cell)]| {
        let one =
            |&(n, cell): &(u8, Cell)| format!("{}{}", register(cell), b"xyzw"[n as usize] as char);
        dests.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    match meaning {
        Meaning::Texture(read) => {
            let kind = match read.op {
                TextureOp::Sample => "sample".to_owned(),
                TextureOp::Texel => "texel".to_owned(),
                TextureOp::Gather(component) => format!("gather{component}"),
            };
            let mut out = format!("{kind} {} of {}", read.kind.name(), text(&read.handle));
            out += &format!(" at {}", list(&read.coordinates));
            for (name, given) in [("layer", &read.layer), ("level", &read.level)] {
                if let Some(given) = given {
                    out += &format!(" {name} {}", text(given));
                }
            }
            if !read.offsets.is_empty() {
                out += &format!(" plus {}", list(&read.offsets));
            }
            out + " to " + &components(&read.dests)
        }
        Meaning::TextureSize {
            handle,
            level,
            dests,
        } => {
            let (handle, level) = (text(handle), text(level));
            format!("size of {handle} level {level} to {}", components(dests))
        }
        Meaning::Surface(access) => {
            let kind = match &access.op {
                SurfaceOp::Load(dests) => {
                    let dests = dests.iter().flatten().map(|cell| register(*cell));
                    format!("load {}", dests.collect::<Vec<_>>().join(" "))
                }
                SurfaceOp::Store(values) => format!("store {}", list(values)),
                SurfaceOp::Reduce(op, kind, values) => {
                    format!("{op:?} {kind:?} {}", list(values))
                }
            };
            let layer = access
                .layer
                .as_ref()
                .map_or(String::new(), |l| format!(" layer {}", text(l)));
            format!(
                "{kind} {:?} {} of {} at {}{layer} {:?}",
                access.width,
                access.kind.name(),
                text(&access.handle),
                list(&access.coordinates),
                access.out_of_bounds
            )
        }
        other => panic!("{other:?}"),
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table: one row per form")]
fn registers_and_their_contents() {
    for (word, expected) in [
        // TEXS of two coordinates; at a level; of a layer; of three coordinates.
        (
            0xd830060080570404u64,
            "sample 2D of c180 at R4 R5 to R4x R5y R8z R9w",
        ),
        (
            0xd870060080670404,
            "sample 2D of c180 at R4 R5 level R6 to R4x R5y R8z R9w",
        ),
        (
            0xd8f0060080670404,
            "sample 2D layered of c180 at R5 R6 layer R4.lo to R4x R5y R8z R9w",
        ),
        (
            0xd950060080670404,
            "sample 3D of c180 at R4 R5 R6 to R4x R5y R8z R9w",
        ),
        // TEXS that writes one pair, or one register.
        (0xd830050ff0570404, "sample 2D of c140 at R4 R5 to R4x R5y"),
        (0xd820050ff0570404, "sample 2D of c140 at R4 R5 to R4x"),
        // TEX with offsets; at a level too.
        (
            0xc0780607c0070404,
            "sample 3D of c180 at R4 R5 R6 plus R0[0:4] R0[4:4] R0[8:4] to R4x R5y R6z R7w",
        ),
        (
            0xc1f80607b0a70404,
            "sample 2D layered of c180 at R5 R6 layer R4.lo level R10 plus R11[0:4] R11[4:4] \
             to R4x R5y R6z R7w",
        ),
        // The object in a register.
        (
            0xdeb80077b0870c08,
            "sample 2D layered of R8 at R13 R14 layer R12.lo level R9 plus R10[0:4] R10[4:4] \
             to R8x R9y R10z R11w",
        ),
        // TLDS and TLD.
        (
            0xda1006008ff70404,
            "texel 1D of c180 at R4 to R4x R5y R8z R9w",
        ),
        (
            0xda50060080570404,
            "texel 2D of c180 at R4 R5 to R4x R5y R8z R9w",
        ),
        (
            0xda90060080070604,
            "texel 2D of c180 at R6 R7 plus R0[0:4] R0[4:4] to R4x R5y R8z R9w",
        ),
        (
            0xdaf0060080670404,
            "texel 3D of c180 at R4 R5 R6 to R4x R5y R8z R9w",
        ),
        (
            0xdb10060080670404,
            "texel 2D layered of c180 at R6 R7 layer R4.lo to R4x R5y R8z R9w",
        ),
        (
            0xdcf8060fa0670404,
            "texel 2D of c180 at R4 R5 level R6 plus R7[0:4] R7[4:4] to R4x R5y R6z R7w",
        ),
        // With derivatives: the layer and the offsets share a register.
        (
            0xde38060fb0870404,
            "sample 2D layered of c180 at R4 R5 layer R6.lo plus R6[16:4] R6[20:4] \
             to R4x R5y R6z R7w",
        ),
        (
            0xde780007b0c70808,
            "sample 2D layered of R8 at R9 R10 layer R11.lo to R8x R9y R10z R11w",
        ),
        // Four texels.
        (
            0xdf20060080570404,
            "gather2 2D of c180 at R4 R5 to R4x R5y R8z R9w",
        ),
        (
            0xdf08060080070604,
            "gather0 2D of c180 at R6 R7 plus R0[0:6] R0[8:6] to R4x R5y R8z R9w",
        ),
        (
            0xc9780607b0070404,
            "gather1 2D layered of c180 at R5 R6 layer R4.lo plus R0[0:6] R0[8:6] \
             to R4x R5y R6z R7w",
        ),
        (
            0xdef80087a0270808,
            "gather2 2D of R2 at R8 R9 to R8x R9y R10z R11w",
        ),
        // Sizes.
        (0xdf48060100470000, "size of c180 level R0 to R0y"),
        (0xdf50000100470606, "size of R6 level R7 to R6y"),
        // Surfaces.
        (
            0xeb14010600e70808,
            "load R8 R9 R10 R11 Words 2D of R2 at R8 R9 Trap",
        ),
        (
            0xeb38060800c70804,
            "store R4 Words 2D layered of c180 at R8 R9 layer R10 Zero",
        ),
        (
            0xeb5a060a01970407,
            "Min S32 R7 Words 3D of c180 at R4 R5 R6 Clamp",
        ),
    ] {
        let view = view(word);
        let found = meaning(&view).unwrap_or_else(|| panic!("{view:?} has no meaning"));
        assert_eq!(spelled(&found), expected, "{word:#x}");
    }
}

/// Depth comparison, cube maps, halves: these forms have other operands, so they must not be lifted as the supported
/// ones that they resemble.
#[test]
fn unsupported_forms_have_no_meaning() {
    for word in [
        0xd890060080670404,
        0xd990060080670404,
        0xd030060040570000u64,
    ] {
        let view = view(word);
        assert_eq!(meaning(&view), None, "{view:?}");
    }
}
