//! Words of constant banks that launches are said to fill, compared with those that a run reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpbound_analyse::launch_ranges::LaunchRanges;
use warpbound_analyse::launch_ranges::WordRange;
use warpbound_base::Diagnostic;
use warpbound_launch::PathOrder;
use warpbound_launch::{Launch, LaunchFile, bind};
use warpbound_load::Image;
use warpbound_query::{BoundOptions, NumberRange, Prepared, Session, StatedLaunches, StatedParam};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

fn launch_file(name: &str) -> LaunchFile {
    let path = kernels().join(name);
    let folder = path.parent().expect("a folder").to_owned();
    let files = |file: &str| {
        std::fs::read(folder.join(file)).map_err(|error| Diagnostic::new(error.to_string()))
    };
    let text = std::fs::read_to_string(&path).expect("a text");
    LaunchFile::parse(name, &text, &files).expect("a launch")
}

/// Returns what is said of the launches of a kernel, and the launch that runs.
fn both(cubin: &str, launches: StatedLaunches) -> (LaunchRanges, Launch) {
    let contents = std::fs::read(kernels().join("built").join(cubin)).expect("a cubin");
    let session = Session::open(cubin, &contents).expect("it loads");
    let image = Image::parse(&contents).expect("it loads");
    let file = launches.file.clone().expect("a launch file");
    let kernel = session.launched_kernel(None, file.kernel.as_deref());
    let kernel = kernel.expect("a kernel");
    let prepared = Prepared::new(kernel, image.isa(), cubin).expect("it decodes");
    let order = PathOrder::default();
    let (launch, _) = bind(&file, &image, kernel, &prepared.code, order, 0).expect("it binds");
    let options = BoundOptions {
        launches,
        ..BoundOptions::default()
    };
    let known = session.launch(kernel, &options).expect("it suits");
    (known.ranges, launch)
}

/// Whether a set of words has a word.
fn has(words: WordRange, word: u32) -> bool {
    let signed = i64::from(word) - (1 << 32);
    let between = [i64::from(word), signed].map(|w| words.least <= w && w <= words.most);
    between.contains(&true) && word % words.modulus == words.residue
}

/// Lists the words that a launch fills otherwise than said; counts those that are known exactly.
fn differences(ranges: &LaunchRanges, launch: &Launch) -> (Vec<String>, usize) {
    let (mut wrong, mut exact) = (Vec::new(), 0);
    for ((bank, offset), word) in &ranges.words {
        let contents = launch.constants.iter().find(|(number, _)| number == bank);
        let at = *offset as usize;
        let bytes = contents.and_then(|(_, bytes)| bytes.get(at..at + 4));
        let Some(found) = bytes.map(|bytes| u32::from_le_bytes(bytes.try_into().expect("4")))
        else {
            wrong.push(format!("{} is not in the bank", word.name));
            continue;
        };
        let Some(range) = word.range else { continue };
        exact += usize::from(range.only().is_some());
        if !has(range, found) {
            wrong.push(format!("{} is {found}", word.name));
        }
    }
    (wrong, exact)
}

#[test]
fn committed_launches_fill_the_words_that_are_claimed() {
    let mut names: Vec<String> = std::fs::read_dir(kernels().join("launches"))
        .expect("kernels/launches")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    let (mut launches, mut words) = (0, 0);
    for name in names {
        let cubin = format!("{}.sm_61.cubin", name.split('.').next().unwrap_or_default());
        if !kernels().join("built").join(&cubin).exists() {
            continue;
        }
        let stated = StatedLaunches {
            file: Some(Arc::new(launch_file(&format!("launches/{name}")))),
            ..StatedLaunches::default()
        };
        let (ranges, launch) = both(&cubin, stated);
        assert!(ranges.is_one_launch, "{name}");
        let (wrong, exact) = differences(&ranges, &launch);
        assert_eq!(wrong, Vec::<String>::new(), "{name}");
        launches += 1;
        words += exact;
    }
    // Six words of sizes for each launch, and the numbers among the parameters.
    assert!(launches > 300 && words > 7 * launches, "{launches} {words}");
}

fn matmul(params: &[(&str, i128, i128)]) -> (LaunchRanges, Launch) {
    let param = |&(name, least, most): &(&str, i128, i128)| StatedParam {
        name: name.to_owned(),
        range: NumberRange { least, most },
    };
    let stated = StatedLaunches {
        file: Some(Arc::new(launch_file("cuda/matmul_int.8x8.toml"))),
        params: params.iter().map(param).collect(),
        ..StatedLaunches::default()
    };
    both("matmul_int.sm_61.cubin", stated)
}

#[test]
fn a_wrong_word_is_noticed() {
    let (ranges, mut launch) = matmul(&[]);
    assert_eq!(differences(&ranges, &launch).0, Vec::<String>::new());
    // The last parameter, after three addresses from 0x140 on; the low byte of the first address.
    for (at, expected) in [(0x158, "n is 9"), (0x140, "a is 1")] {
        let mut changed = launch.clone();
        let (_, bank) = changed.constants.first_mut().expect("a bank");
        *bank.get_mut(at).expect("a byte") += 1;
        assert_eq!(differences(&ranges, &changed).0, [expected]);
    }
    launch.constants.clear();
    assert_eq!(differences(&ranges, &launch).0.len(), ranges.words.len());
}

#[test]
fn an_option_replaces_the_value_of_the_file() {
    let n = |ranges: &LaunchRanges| {
        let mut words = ranges.words.values();
        words.find(|word| word.name == "n").expect("n").range
    };
    let (ranges, launch) = matmul(&[("n", 1, 4096)]);
    assert_eq!(n(&ranges), Some(WordRange::between(1, 4096)));
    assert!(!ranges.is_one_launch);
    assert_eq!(differences(&ranges, &launch).0, Vec::<String>::new());
    let (ranges, launch) = matmul(&[("p3", 9, 9)]);
    assert_eq!(n(&ranges), Some(WordRange::one(9)));
    assert!(ranges.is_one_launch);
    assert_eq!(differences(&ranges, &launch).0, ["n is 8"]);
}
