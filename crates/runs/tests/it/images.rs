//! Launches with textures and surfaces that must fail.

use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_query::Session;
use warpbound_runs::{FunctionalRun, RunOptions};

/// Runs a kernel of `kernels/built` and returns its fault.
#[track_caller]
fn stopped(file: &str, text: &str) -> String {
    let path = format!(
        "{}/../../kernels/built/{file}.sm_61.cubin",
        env!("CARGO_MANIFEST_DIR")
    );
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    let session = Session::open(file, &contents).expect("it loads");
    let none = |name: &str| Err(Diagnostic::new("cannot be read").in_file(name));
    let launch = LaunchFile::parse("l.toml", text, &none).expect("it can be read");
    let run = session
        .launched_kernel(None, launch.kernel.as_deref())
        .and_then(|kernel| {
            warpbound_runs::execute(
                &session,
                kernel,
                &launch,
                &RunOptions::default(),
                &mut |_| (),
            )
            .and_then(FunctionalRun::as_expected)
        });
    run.expect_err("it is stopped").to_string()
}

/// Returns a launch that copies 4 by 2 pixels between the surfaces `from` and `to`.
fn copy(params: &str, objects: &str) -> String {
    format!(
        "kernel = \"surface_copy\"\ngrid = [1]\nblock = [4, 2]\n{params}\n\
         [[param]]\nname = \"width\"\ntype = \"s32\"\nvalue = 4\n\
         [[buffer]]\nname = \"pixels\"\ntype = \"s32\"\nshape = [2, 4]\n{objects}"
    )
}

const BOTH: &str = "[[param]]\nsurface = \"a\"\n[[param]]\nsurface = \"b\"";

fn surface(name: &str, kind: &str, size: &str) -> String {
    format!(
        "[[surface]]\nname = \"{name}\"\ntexels = \"pixels\"\nkind = \"{kind}\"\nsize = {size}\n"
    )
}

#[test]
fn objects_of_nothing() {
    let params = "[[param]]\nsurface = \"a\"\n[[param]]\ntype = \"u64\"\nvalue = 77";
    let said = stopped("surface", &copy(params, &surface("a", "2d", "[4, 2]")));
    assert!(
        said.contains("SUST: 0x4d is no surface of the launch, in thread (0, 0, 0)"),
        "{said}"
    );
    let params = "[[param]]\nsurface = \"a\"\n[[param]]\ntexture = \"t\"";
    let texture = "[[texture]]\nname = \"t\"\ntexels = \"pixels\"\nkind = \"2d\"\nsize = [4, 2]\n";
    let said = stopped(
        "surface",
        &copy(params, &(surface("a", "2d", "[4, 2]") + texture)),
    );
    assert!(
        said.contains("is no surface of the launch but the texture t"),
        "{said}"
    );
}

#[test]
fn outside_of_a_surface() {
    let objects = surface("a", "2d", "[4, 2]") + &surface("b", "2d", "[3, 2]");
    let said = stopped("surface", &copy(BOTH, &objects));
    let wanted = "4 bytes at byte 12, row 0, slice 0 are outside the surface b, which has 2 rows of 12 bytes, \
                  in thread (3, 0, 0)";
    assert!(said.contains(wanted), "{said}");
}

#[test]
fn another_kind_of_surface() {
    let objects = surface("a", "2d", "[4, 2]") + &surface("b", "1d", "[8]");
    let said = stopped("surface", &copy(BOTH, &objects));
    assert!(
        said.contains("SUST: b is 1D, the instruction expects 2D"),
        "{said}"
    );
}

/// Returns a launch that reads a row of texture `t` through a filter.
fn row(texture: &str) -> String {
    format!(
        "kernel = \"texture_blur\"\ngrid = [1]\nblock = [4]\n[[param]]\ntexture = \"t\"\n\
         [[param]]\nname = \"out\"\ntype = \"f32\"\nshape = [4]\n\
         [[param]]\ntype = \"s32\"\nvalue = 4\n[[param]]\ntype = \"s32\"\nvalue = 0\n\
         [[texture]]\nname = \"t\"\n{texture}"
    )
}

#[test]
fn textures_that_cannot_be_read_so() {
    let said = stopped(
        "texture",
        &row("texels = \"out\"\nkind = \"3d\"\nsize = [2, 2, 1]\n"),
    );
    assert!(
        said.contains("TEXS: t is 3D, the instruction expects a 1D or 2D array"),
        "{said}"
    );
    let said = stopped(
        "texture",
        &row("texels = \"out\"\nkind = \"linear\"\nsize = [4]\n"),
    );
    assert!(
        said.contains("t is linear memory, the instruction expects"),
        "{said}"
    );
    let texels = "texels = \"n\"\nkind = \"2d\"\nsize = [2, 2]\nfilter = \"linear\"\n\
                  [[buffer]]\nname = \"n\"\ntype = \"u32\"\nshape = [4]\n";
    let said = stopped("texture", &row(texels));
    assert!(said.contains("texture t: only floats"), "{said}");
    let texels = "texels = \"n\"\nkind = \"2d\"\nsize = [2, 2]\n\
                  [[buffer]]\nname = \"n\"\ntype = \"f64\"\nshape = [4]\n";
    let said = stopped("texture", &row(texels));
    assert!(said.contains("there are no texels of f64"), "{said}");
}
