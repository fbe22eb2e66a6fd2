//! Textures and surfaces of launch files: parsing and refusals.

use warpbound_base::Diagnostic;
use warpbound_launch::{AddressMode, LaunchFile, ParamValue, TexelLayout};

const HEAD: &str = "grid = [2]\nblock = [4, 4]\n";
const TEXELS: &str =
    "[[buffer]]\nname = \"pixels\"\ntype = \"u8\"\nshape = [6, 4]\nfill = \"iota\"\n";

fn parse(text: &str) -> Result<LaunchFile, String> {
    let none = |name: &str| Err(Diagnostic::new("cannot be read").in_file(name));
    let text = format!("{HEAD}{TEXELS}{text}");
    LaunchFile::parse("l.toml", &text, &none).map_err(|diagnostic| diagnostic.to_string())
}

#[test]
fn textures_and_surfaces_over_buffers() {
    let launch = parse(
        "[[param]]\nname = \"row\"\ntype = \"f32\"\nshape = [7]\n\
         [[param]]\nname = \"t\"\ntexture = \"image\"\n\
         [[param]]\nname = \"s\"\nsurface = \"target\"\n\
         [[texture]]\nname = \"image\"\ntexels = \"pixels\"\nkind = \"2d-layered\"\nsize = [2, 3, 2]\nchannels = 2\n\
         read = \"normalized\"\nfilter = \"linear\"\naddress = [\"wrap\", \"border\"]\nnormalized_coordinates = true\n\
         [[texture]]\nname = \"line\"\ntexels = \"row\"\nkind = \"linear\"\nsize = [7]\n\
         [[surface]]\nname = \"target\"\ntexels = \"pixels\"\nkind = \"3d\"\nsize = [2, 3, 4]\n",
    )
    .expect("it can be read");
    let values: Vec<&ParamValue> = launch.params.iter().map(|param| &param.value).collect();
    assert_eq!(
        values[1..],
        [&ParamValue::Texture(0), &ParamValue::Surface(0)]
    );
    let names: Vec<&str> = launch.buffers().map(|(name, _)| name).collect();
    assert_eq!(names, ["row", "pixels"]);
    let image = &launch.textures[0];
    assert_eq!(
        (image.image.buffer, image.image.kind),
        (1, TexelLayout::Layered2)
    );
    assert_eq!(
        (image.image.size, image.image.layers, image.image.channels),
        ([2, 3, 1], 2, 2)
    );
    assert!(image.normalized_read && image.linear_filter && image.normalized_coordinates);
    assert_eq!(image.address[..2], [AddressMode::Wrap, AddressMode::Border]);
    assert!(launch.textures[1].linear_memory && launch.textures[1].image.buffer == 0);
    assert_eq!(launch.surfaces[0].size, [2, 3, 4]);
}

#[test]
fn refusals() {
    let texture = |rest: &str| format!("[[texture]]\nname = \"t\"\n{rest}");
    let with = |rest: &str| texture(&format!("texels = \"pixels\"\n{rest}"));
    for (text, why) in [
        (
            texture("texels = \"absent\"\nkind = \"1d\"\nsize = [1]"),
            "there is no buffer absent",
        ),
        (with("kind = \"2d\"\nsize = [24]"), "not 2 numbers"),
        (with("kind = \"1d\"\nsize = [0]"), "not 1 numbers from 1 on"),
        (
            with("kind = \"2d\"\nsize = [5, 5]"),
            "25 numbers in pixels, which has 24",
        ),
        (
            with("kind = \"1d\"\nsize = [8]\nchannels = 3"),
            "3 channels",
        ),
        (
            with("kind = \"1d\"\nsize = [8]\naddress = \"wrap\""),
            "need normalized_coordinates",
        ),
        (
            with("kind = \"1d\"\nsize = [8]\naddress = [\"clamp\", \"clamp\"]"),
            "2 address modes for 1 axes",
        ),
        (
            with("kind = \"linear\"\nsize = [8]\nfilter = \"linear\""),
            "linear memory has neither",
        ),
        (
            with("kind = \"linear\"\nsize = [8]\naddress = \"clamp\""),
            "linear memory has no address modes",
        ),
        (
            format!("{0}{0}", with("kind = \"1d\"\nsize = [8]\n")),
            "another texture or surface has this name",
        ),
        (
            "[[param]]\nname = \"p\"\ntexture = \"t\"\n".to_owned(),
            "there is no texture t",
        ),
        (
            "[[param]]\nname = \"p\"\nsurface = \"t\"\n".to_owned(),
            "there is no surface t",
        ),
        (
            "[[param]]\nname = \"p\"\ntexture = \"t\"\nshape = [1]\n".to_owned(),
            "shape does not go with texture",
        ),
        (
            TEXELS.to_owned(),
            "buffer pixels: another buffer or parameter has this name",
        ),
        (
            "[[buffer]]\nname = \"b\"\ntype = \"u8\"\nvalue = 1\n".to_owned(),
            "it is no buffer",
        ),
    ] {
        let said = parse(&text).expect_err(&text);
        assert!(
            said.contains(why) && said.starts_with("l.toml:"),
            "{said}\n{text}"
        );
    }
}
