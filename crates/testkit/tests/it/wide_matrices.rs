//! Products on matrix units, moves of matrices and copies to shared memory: kernels as inference code has them, against
//! references that know only what the sources say.

use fastrand::Rng;
use warpbound_audit::audit::{AuditOptions, audit};
use warpbound_ir::{ElementFormat, Expr, MatrixRegisters, Meaning, Op};
use warpbound_launch::LaunchFile;
use warpbound_machine::GpuModel;
use warpbound_query::{BoundOptions, Session};
use warpbound_runs::{RunHooks, RunOptions, TimedOptions, execute_prepared, simulate};
use warpbound_testkit::kernels::TestLaunch;

/// `tensor_tiles.cu`, built for Turing, Ampere, Hopper and Blackwell.
const CUBINS: [(u32, &[u8]); 4] = [
    (75, include_bytes!("../data/tensor_tiles.sm_75.cubin")),
    (80, include_bytes!("../data/tensor_tiles.sm_80.cubin")),
    (90, include_bytes!("../data/tensor_tiles.sm_90.cubin")),
    (120, include_bytes!("../data/tensor_tiles.sm_120.cubin")),
];

/// Random launches of each kernel.
const LAUNCHES: u64 = 4;

fn dense_s8(rng: &mut Rng) -> LaunchFile {
    let rows = rng.usize(1..40);
    let input: Vec<i8> = (0..rows * 64).map(|_| rng.i8(..)).collect();
    let weights: Vec<i8> = (0..8 * 64).map(|_| rng.i8(..)).collect();
    let bias: Vec<i32> = (0..8).map(|_| rng.i32(-9000..9000)).collect();
    let scale = 1.0 / 256.0;
    let mut output = vec![7u8; 48 * 8];
    for row in 0..rows {
        for channel in 0..8 {
            let products = (0..64)
                .map(|k| i32::from(input[row * 64 + k]) * i32::from(weights[channel * 64 + k]));
            let scaled = (bias[channel] + products.sum::<i32>()) as f32 * scale;
            output[row * 8 + channel] = scaled.round_ties_even().clamp(0.0, 255.0) as u8;
        }
    }
    TestLaunch::of("dense_s8", [3, 1, 1], [64, 1, 1])
        .input("input", &input)
        .input("weights", &weights)
        .input("bias", &bias)
        .value("scale", scale)
        .output("output", &vec![7u8; 48 * 8], &output)
        .value("rows", rows as i32)
        .finish()
}

/// Halves of a matrix that starts at a word, as rows of 8.
fn tile(words: &[u32], from: usize) -> [[u16; 8]; 8] {
    let half = |row: usize, column: usize| {
        (words[from + row * 4 + column / 2] >> (column % 2 * 16)) as u16
    };
    std::array::from_fn(|row| std::array::from_fn(|column| half(row, column)))
}

/// Word of a lane whose fragment holds a matrix.
fn fragment(matrix: &[[u16; 8]; 8], lane: usize) -> u32 {
    let [low, high] = [0, 1].map(|next| u32::from(matrix[lane / 4][lane % 4 * 2 + next]));
    high << 16 | low
}

fn transposed(matrix: &[[u16; 8]; 8]) -> [[u16; 8]; 8] {
    std::array::from_fn(|row| std::array::from_fn(|column| matrix[column][row]))
}

fn turn_tiles(rng: &mut Rng) -> LaunchFile {
    let words: Vec<u32> = (0..256).map(|_| rng.u32(..)).collect();
    let (mut turned, mut again) = (vec![0; 256], vec![0; 256]);
    for number in 0..8 {
        let matrix = tile(&words, number * 32);
        for lane in 0..32 {
            turned[number * 32 + lane] = fragment(&transposed(&matrix), lane);
            again[number * 32 + lane] = fragment(&matrix, lane);
        }
    }
    TestLaunch::of("turn_tiles", [2, 1, 1], [32, 1, 1])
        .input("in", &words)
        .output("turned", &[0u32; 256], &turned)
        .output("again", &[0u32; 256], &again)
        .finish()
}

fn store_tiles(rng: &mut Rng) -> LaunchFile {
    let words: Vec<u32> = (0..128).map(|_| rng.u32(..)).collect();
    let mut out = vec![0; 256];
    for number in 0..4 {
        // The fragment of a matrix lies in memory as the matrix does.
        let matrix = tile(&words, number * 32);
        let turned = transposed(&matrix);
        for at in 0..32 {
            out[number * 32 + at] = fragment(&matrix, at);
            out[128 + number * 32 + at] = fragment(&turned, at);
        }
    }
    TestLaunch::of("store_tiles", [1, 1, 1], [32, 1, 1])
        .input("in", &words)
        .output("out", &[0u32; 256], &out)
        .finish()
}

fn product_f64(rng: &mut Rng) -> LaunchFile {
    let depth = 4 * rng.usize(1..5);
    let mut numbers =
        |count: usize| -> Vec<f64> { (0..count).map(|_| rng.f64() * 4.0 - 2.0).collect() };
    let (a, b, start) = (numbers(8 * depth), numbers(8 * depth), numbers(64));
    let mut end = start.clone();
    for row in 0..8 {
        for column in 0..8 {
            let products = (0..depth).map(|k| (a[row * depth + k], b[column * depth + k]));
            let sum = products.fold(start[row * 8 + column], |sum, (a, b)| a.mul_add(b, sum));
            end[row * 8 + column] = sum;
        }
    }
    TestLaunch::of("product_f64", [1, 1, 1], [32, 1, 1])
        .input("a", &a)
        .input("b", &b)
        .output("c", &start, &end)
        .value("depth", depth as i32)
        .finish()
}

fn copy_pieces(rng: &mut Rng) -> LaunchFile {
    let count = rng.usize(1..460);
    // The buffer ends where the copied words do.
    let words: Vec<u32> = (0..count.min(448)).map(|_| rng.u32(..)).collect();
    let mut out: Vec<u32> = words.clone();
    out.resize(448, 0);
    for (at, word) in out.iter_mut().enumerate().skip(count) {
        *word = match at {
            0..384 => 0,
            _ => u32::MAX,
        };
    }
    TestLaunch::of("copy_pieces", [1, 1, 1], [64, 1, 1])
        .input("in", &words)
        .output("out", &[0u32; 448], &out)
        .value("n", count as i32)
        .finish()
}

fn attention(rng: &mut Rng) -> LaunchFile {
    let keys = 16 * rng.usize(1..4);
    let mut numbers = |count: usize| -> Vec<f32> {
        (0..count)
            .map(|_| (rng.i32(-64..=64) as f32) / 32.0)
            .collect()
    };
    let (q, k, v) = (numbers(16 * 16), numbers(keys * 16), numbers(keys * 16));
    let scale = 0.25f32;
    let mut out = vec![0f32; 256];
    for query in 0..16 {
        let dot = |key: usize| -> f64 {
            let products = (0..16).map(|at| f64::from(q[query * 16 + at] * k[key * 16 + at]));
            products.sum::<f64>() * f64::from(scale)
        };
        let weights: Vec<f64> = (0..keys).map(|key| dot(key).exp()).collect();
        let total: f64 = weights.iter().sum();
        for channel in 0..16 {
            let parts = (0..keys).map(|key| weights[key] * f64::from(v[key * 16 + channel]));
            out[query * 16 + channel] = (parts.sum::<f64>() / total) as f32;
        }
    }
    let halves = |values: &[f32]| -> Vec<u16> {
        values
            .iter()
            .map(|value| half::f16::from_f32(*value).to_bits())
            .collect()
    };
    TestLaunch::of("attention", [1, 1, 1], [32, 1, 1])
        .input("q", &halves(&q))
        .input("k", &halves(&k))
        .input("v", &halves(&v))
        .output_within("out", &[0f32; 256], &out, 4e-3, 4e-3)
        .value("keys", keys as i32)
        .value("scale", scale)
        .finish()
}

/// Launch of a kernel with random contents.
type MakeLaunch = fn(&mut Rng) -> LaunchFile;

/// Kernels with the first architecture that has them.
const KERNELS: [(&str, u32, MakeLaunch); 6] = [
    ("dense_s8", 75, dense_s8),
    ("turn_tiles", 75, turn_tiles),
    ("product_f64", 80, product_f64),
    ("copy_pieces", 80, copy_pieces),
    ("attention", 80, attention),
    ("store_tiles", 90, store_tiles),
];

/// Runs launches after a change of the operations; returns what differs from what is expected.
fn differences(plant: impl Fn(&mut Op)) -> Vec<String> {
    let mut found = Vec::new();
    for (sm, bytes) in CUBINS {
        let session = Session::open("tensor_tiles.cubin", bytes).expect("it loads");
        for (name, _, make) in KERNELS.iter().filter(|(_, first, _)| *first <= sm) {
            let kernel = session.launched_kernel(Some(name), None);
            let kernel = kernel.expect("the kernel");
            let mut prepared = session.prepare_run(kernel).expect("it is lifted");
            prepared.code.ops.iter_mut().for_each(&plant);
            for seed in 0..LAUNCHES {
                let launch = make(&mut Rng::with_seed(seed));
                let options = RunOptions::default();
                let run = execute_prepared(&session, &prepared, &launch, &options, &mut |_| ());
                let difference = match run {
                    Err(fault) => Some(fault.to_string()),
                    Ok(run) => run.unexpected.map(|difference| difference.to_string()),
                };
                found.extend(difference.map(|what| format!("sm_{sm} {name} {seed}: {what}")));
            }
        }
    }
    found
}

#[test]
fn tiles_are_multiplied_and_moved() {
    assert_eq!(differences(|_| ()), Vec::<String>::new());
}

#[test]
fn planted_faults_are_found() {
    let faults: [fn(&mut Op); 9] = [
        |op| {
            if let Some(Meaning::MatrixProduct(product)) = &mut op.meaning {
                product.a.reverse();
            }
        },
        |op| {
            if let Some(Meaning::MatrixProduct(product)) = &mut op.meaning {
                product.c.iter_mut().for_each(|word| *word = Expr::Const(0));
            }
        },
        |op| {
            if let Some(Meaning::MatrixProduct(product)) = &mut op.meaning
                && product.factors[0] == ElementFormat::S8
            {
                product.factors[0] = ElementFormat::U8;
            }
        },
        |op| {
            if let Some(Meaning::MatrixTranspose(transpose)) = &mut op.meaning {
                transpose.dest = None;
            }
        },
        |op| {
            if let Some(Meaning::MatrixAccess(access)) = &mut op.meaning
                && matches!(access.registers, MatrixRegisters::Load(_))
            {
                access.transposes = !access.transposes;
            }
        },
        |op| {
            if let Some(Meaning::MatrixAccess(access)) = &mut op.meaning
                && let MatrixRegisters::Store(values) = &mut access.registers
            {
                values.reverse();
            }
        },
        |op| {
            if let Some(Meaning::MemoryCopy(copy)) = &mut op.meaning {
                copy.reads = Expr::Const(1);
            }
        },
        |op| {
            if let Some(Meaning::MemoryCopy(copy)) = &mut op.meaning {
                copy.pads = false;
            }
        },
        |op| {
            if let Some(Meaning::MemoryCopy(copy)) = &mut op.meaning {
                copy.bytes = 4;
            }
        },
    ];
    for (number, plant) in faults.into_iter().enumerate() {
        assert!(!differences(plant).is_empty(), "fault {number}");
    }
}

/// PTX leaves the results of a part of a warp undefined, so a run ends there.
#[test]
fn products_of_a_part_of_a_warp_end_the_run() {
    let (_, bytes) = CUBINS[1];
    let session = Session::open("tensor_tiles.cubin", bytes).expect("it loads");
    let kernel = session
        .launched_kernel(Some("dense_s8"), None)
        .expect("the kernel");
    let prepared = session.prepare_run(kernel).expect("it is lifted");
    let mut launch = dense_s8(&mut Rng::with_seed(1));
    launch.block = [24, 1, 1];
    let options = RunOptions::default();
    let run = execute_prepared(&session, &prepared, &launch, &options, &mut |_| ());
    let fault = run.err().map(|fault| fault.to_string());
    let fault = fault.expect("a fault");
    assert!(fault.contains("not all 32 lanes"), "{fault}");
}

#[test]
fn runs_keep_the_claims() {
    for (sm, bytes) in CUBINS {
        let session = Session::open("tensor_tiles.cubin", bytes).expect("it loads");
        for (name, _, make) in KERNELS.iter().filter(|(_, first, _)| *first <= sm) {
            let kernel = session
                .launched_kernel(Some(name), None)
                .expect("the kernel");
            let options = AuditOptions {
                runs: 4,
                ..AuditOptions::default()
            };
            let bound = BoundOptions::default();
            let launch = make(&mut Rng::with_seed(9));
            let report = audit(&session, kernel, &launch, &bound, &options, |_| ());
            let report = report.unwrap_or_else(|why| panic!("sm_{sm} {name}: {why}"));
            assert_eq!(
                report.violations, 0,
                "sm_{sm} {name}: {:?}",
                report.findings
            );
        }
    }
}

/// Products and copies have no timing class: a time of the run would count them as nothing. Moves of matrices have one.
#[test]
fn runs_with_time_end_at_instructions_without_one() {
    let machine = GpuModel::built_in("a100").expect("it comes with the tool");
    let timed = |name: &str, make: MakeLaunch| {
        let (_, bytes) = CUBINS[1];
        let session = Session::open("tensor_tiles.cubin", bytes).expect("it loads");
        let kernel = session
            .launched_kernel(Some(name), None)
            .expect("the kernel");
        let launch = make(&mut Rng::with_seed(3));
        let options = TimedOptions::new(machine.clone());
        let hooks = RunHooks {
            events: None,
            timeline: None,
            progress: &mut |_| (),
        };
        let run = simulate(&session, kernel, &launch, &options, hooks);
        run.map(|run| run.report.cycles)
            .map_err(|why| why.to_string())
    };
    for (name, make) in [
        ("dense_s8", dense_s8 as MakeLaunch),
        ("product_f64", product_f64),
        ("copy_pieces", copy_pieces),
        ("attention", attention),
    ] {
        let why = timed(name, make).expect_err("no time");
        assert!(why.contains("has no timing class"), "{name}: {why}");
    }
    assert!(timed("turn_tiles", turn_tiles).is_ok_and(|cycles| cycles > 0));
}
