//! Untimed execution of kernels of the repository, compared with references in Rust.

use warpbound_runs::{FunctionalRun, RunOptions};

use warpbound_launch::{
    ElementType, Expected, LaunchBuffer, LaunchFile, LaunchParam, ParamValue, StartCaches,
};
use warpbound_query::Session;

/// Parameter of a launch.
enum Given<'a> {
    Number(i32),
    /// Initial contents of a buffer.
    Input(&'a [i32]),
    /// Initial and final contents of a buffer.
    Output(&'a [i32], &'a [i32]),
}

/// Runs a kernel as compiled for each GPU, and compares all elements of the outputs.
fn run(file: &str, kernel: &str, grid: [u32; 3], block: [u32; 3], params: &[Given<'_>]) {
    for chip in ["sm_50", "sm_61", "sm_62"] {
        let file = format!("{file}.{chip}.cubin");
        assert_eq!(launch(&file, kernel, grid, block, params).err(), None);
    }
}

fn launch(
    file: &str,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    params: &[Given<'_>],
) -> Result<(), String> {
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    let session = Session::open(file, &contents).expect("it loads");
    let bytes = |numbers: &[i32]| -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    };
    let exactly = |bytes| Expected {
        bytes,
        relative: 0.0,
        absolute: 0.0,
    };
    let buffer = |start: &[i32], end: &[i32]| {
        ParamValue::Buffer(LaunchBuffer {
            element: ElementType::S32,
            shape: vec![start.len() as u64],
            bytes: bytes(start),
            expect: Some(exactly(bytes(end))),
            output: None,
            range: None,
        })
    };
    let value = |given: &Given<'_>| match given {
        Given::Number(number) => ParamValue::Scalar {
            element: Some(ElementType::S32),
            bytes: bytes(&[*number]),
            vary: None,
        },
        Given::Input(start) => buffer(start, start),
        Given::Output(start, end) => buffer(start, end),
    };
    let launch = LaunchFile {
        file: "launch".to_owned(),
        kernel: Some(kernel.to_owned()),
        grid,
        block,
        dynamic_shared: 0,
        stack: None,
        caches: StartCaches::Cold,
        variables: Vec::new(),
        params: params
            .iter()
            .enumerate()
            .map(|(place, given)| LaunchParam {
                name: place.to_string(),
                value: value(given),
            })
            .collect(),
        texels: Vec::new(),
        textures: Vec::new(),
        surfaces: Vec::new(),
        pointers: Vec::new(),
    };
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has the kernel");
    let run = warpbound_runs::execute(
        &session,
        kernel,
        &launch,
        &RunOptions::default(),
        &mut |_| (),
    )
    .and_then(FunctionalRun::as_expected)
    .map_err(|diagnostic| diagnostic.to_string())?;
    assert!(run.report.checked_elements > 0);
    Ok(())
}

/// Returns numbers from -500 to 499.
fn random(seed: u64, count: usize) -> Vec<i32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| rng.i32(-500..500)).collect()
}

#[test]
fn matrix_product() {
    let n = 11;
    let (a, b) = (random(1, n * n), random(2, n * n));
    let product: Vec<i32> = (0..n * n)
        .map(|at| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum())
        .collect();
    let params = [
        Given::Input(&a),
        Given::Input(&b),
        Given::Output(&vec![0; n * n], &product),
        Given::Number(n as i32),
    ];
    run("matmul_int", "matmul_int", [1; 3], [11, 11, 1], &params);
    run(
        "matmul_int",
        "void matmul_int_fixed<11>(int const*, int const*, int*)",
        [1; 3],
        [11, 11, 1],
        &params[..3],
    );
}

/// A wrong expectation is reported with its location and both numbers.
#[test]
fn unexpected_results() {
    let (one, two) = ([1; 16], [2; 16]);
    let params = [
        Given::Input(&one),
        Given::Input(&one),
        Given::Output(&one, &two),
    ];
    let said = launch(
        "matmul_int.sm_61.cubin",
        "void matmul_int_fixed<4>(int const*, int const*, int*)",
        [1; 3],
        [4, 4, 1],
        &params,
    );
    let said = said.expect_err("the product has 4, not 2");
    assert!(said.contains("2[0] is 4 at the end, not 2"), "{said}");
}

#[test]
fn transposed() {
    let (width, height) = (64usize, 32usize);
    let matrix = random(3, width * height);
    let result: Vec<i32> = (0..width * height)
        .map(|at| matrix[at % height * width + at / height])
        .collect();
    for kernel in ["transpose", "transpose_naive"] {
        let params = [
            Given::Input(&matrix),
            Given::Output(&vec![0; width * height], &result),
            Given::Number(width as i32),
            Given::Number(height as i32),
        ];
        let blocks = [(width / 32) as u32, (height / 32) as u32, 1];
        run("transpose", kernel, blocks, [32, 8, 1], &params);
    }
}

#[test]
fn prefix_sums() {
    for n in [2usize, 64, 1024] {
        let numbers = random(4, n);
        let sums: Vec<i32> = numbers
            .iter()
            .scan(0, |sum, number| Some(std::mem::replace(sum, *sum + number)))
            .collect();
        let params = [
            Given::Input(&numbers),
            Given::Output(&vec![0; n], &sums),
            Given::Number(n as i32),
        ];
        run(
            "prefix_scan",
            "prefix_scan",
            [1; 3],
            [n as u32 / 2, 1, 1],
            &params,
        );
    }
}

#[test]
fn sorted_blocks() {
    for side in [2usize, 32, 512] {
        let start = random(5, 3 * side);
        let mut end = start.clone();
        end.chunks_mut(side).for_each(<[i32]>::sort);
        let params = [Given::Output(&start, &end)];
        run(
            "bitonic_sort",
            "void bitonic::block<int>(int*)",
            [3, 1, 1],
            [side as u32, 1, 1],
            &params,
        );
    }
}

#[test]
fn aligned_sequences() {
    let (side, columns, penalty) = (16usize, 33usize, 10);
    let similarity = random(6, columns * columns);
    let mut scores = vec![0; columns * columns];
    for edge in 0..columns {
        scores[edge] = -penalty * edge as i32;
        scores[edge * columns] = -penalty * edge as i32;
    }
    let start = scores.clone();
    // The first tile alone.
    for y in 1..=side {
        for x in 1..=side {
            let at = y * columns + x;
            let gap = scores[at - 1].max(scores[at - columns]) - penalty;
            scores[at] = gap.max(scores[at - columns - 1] + similarity[at]);
        }
    }
    let params = [
        Given::Input(&similarity),
        Given::Output(&start, &scores),
        Given::Number(columns as i32),
        Given::Number(penalty),
        Given::Number(0),
        Given::Number(0),
    ];
    run(
        "needleman_wunsch",
        "needleman_wunsch",
        [1; 3],
        [16, 1, 1],
        &params,
    );
}

/// Untimed execution of a clock read is a fault.
#[test]
fn clocks() {
    let numbers = [1; 64];
    let params = [
        Given::Input(&numbers),
        Given::Input(&numbers),
        Given::Input(&numbers),
        Given::Number(0),
    ];
    let said = launch(
        "rare_instructions.sm_61.cubin",
        "rare_clock",
        [1; 3],
        [16, 1, 1],
        &params,
    );
    let said = said.expect_err("a run without time has no clock");
    assert!(
        said.contains(
            "CS2R: clocks and the numbers of SMs and warps need a run with time, in block (0, 0, 0)"
        ),
        "{said}"
    );
}

/// An access beyond a buffer is reported with its thread.
#[test]
fn accesses_outside() {
    let numbers = [1; 32];
    let params = [
        Given::Input(&numbers),
        Given::Output(&numbers, &numbers),
        Given::Number(1),
    ];
    let said = launch(
        "shuffle.sm_61.cubin",
        "shuffle",
        [1; 3],
        [64, 1, 1],
        &params,
    );
    let said = said.expect_err("thread 32 reads in[32]");
    assert!(said.contains("LDG: address 0x"), "{said}");
    assert!(
        said.contains("in thread (32, 0, 0) of block (0, 0, 0)"),
        "{said}"
    );
}

#[test]
fn shuffled() {
    let n = 3;
    let numbers = random(9, 128);
    let mut result = Vec::new();
    for warp in numbers.chunks(32) {
        let sum: i32 = warp.iter().sum();
        let prefix: Vec<i32> = (0..32).map(|lane| warp[..=lane].iter().sum()).collect();
        for (lane, &value) in warp.iter().enumerate() {
            // Halves of a warp shuffle on their own: the last lane of one keeps its value.
            let next = if lane % 16 == 15 {
                value
            } else {
                warp[lane + 1]
            };
            let picked = prefix[(value & 31) as usize];
            result.push(sum + prefix[lane] * n + (next ^ picked));
        }
    }
    let params = [
        Given::Input(&numbers),
        Given::Output(&vec![0; 128], &result),
        Given::Number(n),
    ];
    run("shuffle", "shuffle", [2, 1, 1], [64, 1, 1], &params);
}
