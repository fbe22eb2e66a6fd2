//! Sizes of launches that results are about.

use std::path::Path;
use std::sync::Arc;

use warpbound_launch::LaunchFile;
use warpbound_load::Bytes;
use warpbound_query::{BoundOptions, Library, NumberRange, Session, StatedLaunches};

fn read(name: &str) -> Vec<u8> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    std::fs::read(kernels.join(name)).expect("a file")
}

fn launch(text: &str) -> LaunchFile {
    LaunchFile::parse("launch", text, &|_| Ok(Vec::new())).expect("a launch")
}

/// Returns the error of the launches of a kernel of a file, in short.
fn error(file: &str, options: &BoundOptions) -> Option<String> {
    let session = Session::open(file, &read(file)).expect("it loads");
    let name = file.contains("matmul_int").then_some("matmul_int");
    let kernel = session.only_kernel(name).expect("a kernel");
    let found = session.launch(kernel, options);
    found.err().map(|diagnostic| diagnostic.message)
}

fn stated(launches: StatedLaunches) -> BoundOptions {
    BoundOptions {
        launches,
        ..BoundOptions::default()
    }
}

const PARAMS: &str = "param = [{ type = \"s32\", shape = [1] }, { type = \"s32\", shape = [1] }, \
                      { type = \"s32\", shape = [1] }, { type = \"s32\", value = 1 }]";

/// The block of the options may repeat the block of the launch file; then no size is stated that replaces it.
#[test]
fn a_repeated_block_is_no_statement() {
    let cubin = "built/matmul_int.sm_61.cubin";
    let of = |sizes: &str, block| {
        let file = launch(&format!("{sizes}\n{PARAMS}"));
        let options = BoundOptions {
            block,
            ..stated(StatedLaunches {
                file: Some(Arc::new(file)),
                ..StatedLaunches::default()
            })
        };
        error(cubin, &options)
    };
    let bad = "grid = [1]\nblock = [2, 2, 65]";
    let message = Some("block has 65 elements in z, at most 64".to_owned());
    assert_eq!(of(bad, Some([2, 2, 65])), message);
    assert_eq!(of(bad, None), message);
    assert_eq!(of(bad, Some([8, 8, 1])), None);
    let good = "grid = [1]\nblock = [8, 8]";
    assert_eq!(of(good, Some([8, 8, 1])), None);
    let message = "--block: 65 is not between 1 and 64".to_owned();
    assert_eq!(of(good, Some([2, 2, 65])), Some(message));
}

/// Statements that replace the sizes of a file replace neither its shared memory nor its other size.
#[test]
fn what_is_not_replaced_is_checked() {
    let cubin = "built/matmul_int.sm_61.cubin";
    let of = |text: &str, block: bool, grid: bool| {
        let one = [NumberRange::one(1); 3];
        error(
            cubin,
            &stated(StatedLaunches {
                file: Some(Arc::new(launch(&format!("{text}\n{PARAMS}")))),
                block: block.then_some(one),
                grid: grid.then_some(one),
                ..StatedLaunches::default()
            }),
        )
    };
    let bad = "grid = [1, 65536]\nblock = [2, 2, 65]";
    let (of_block, of_grid) = (
        Some("block has 65 elements in z, at most 64".to_owned()),
        Some("grid has 65536 elements in y, at most 65535".to_owned()),
    );
    assert_eq!(of(bad, false, true), of_block);
    assert_eq!(of(bad, true, false), of_grid);
    assert_eq!(of(bad, true, true), None);
    let shared = "grid = [1]\nblock = [1]\ndynamic_shared = 49152";
    for (block, grid) in [(false, false), (false, true), (true, false), (true, true)] {
        let found = of(shared, block, grid).unwrap_or_default();
        assert!(found.contains("and may have 49152"), "{found}");
    }
}

/// A launch file of a GPU kernel is none of a mini-SIMT kernel, and its sizes are checked all the same.
#[test]
fn launch_files_of_mini_simt() {
    let of = |text: &str| {
        let options = stated(StatedLaunches {
            file: Some(Arc::new(launch(text))),
            ..StatedLaunches::default()
        });
        error("msimt/collatz.msimt", &options)
    };
    let found = of("grid = [1]\nblock = [2, 2, 65]").unwrap_or_default();
    assert!(found.contains("block has 65 elements in z"), "{found}");
    let found = of("kernel = \"other\"\ngrid = [1]\nblock = [1]").unwrap_or_default();
    assert!(found.contains("the launch is of kernel"), "{found}");
}

/// Statements are checked even if the query is about no image, so that each error is found.
#[test]
fn statements_about_no_image() {
    let file = "matmul_int.sm_61.cubin";
    let library =
        Library::open(file, Bytes::from(read(&format!("built/{file}")))).expect("it opens");
    let launches = StatedLaunches {
        block: Some([1, 1, 65].map(NumberRange::one)),
        ..StatedLaunches::default()
    };
    for images in [&[1][..], &[]] {
        let found = library.check_launches(images, None, &launches);
        let found = found.err().map(|diagnostic| diagnostic.message);
        assert_eq!(
            found.as_deref(),
            Some("--block: 65 is not between 1 and 64")
        );
    }
}
