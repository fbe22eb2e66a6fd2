//! Knowledge about the launches of a kernel: contents of the words of constant banks that a launch fills, from a
//! launch file and from ranges that the user states.
//!
//! For example, a launch file with 16 blocks fixes the word `gridDim.x` at 16; a stated range of 1 to 256 replaces
//! that by the range. Words that nothing is stated about stay unknown, but equal in all threads.

mod kernel_params;
mod words;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::launch_ranges::{LaunchRanges, StatedData, WordRange};
use warpbound_base::{Diagnostic, Family, Isa, SizeLimits};
use warpbound_launch::{
    LaunchFile, ParamValue, check_block, check_grid, check_limits, check_shared,
};
use warpbound_load::{Image, Kernel, NamePattern};

use crate::stated_launches::{NumberRange, StatedLaunches};
use crate::{BoundOptions, KernelAccesses, Session};

pub(crate) use kernel_params::{has_param, param_list};

use kernel_params::{KernelParam, find_param};
use words::LaunchWords;

/// Launches of a kernel that a result is about.
#[derive(Clone, Debug)]
pub struct LaunchKnowledge {
    /// Facts for the analyses of warps.
    pub context: LaunchContext,
    /// Ranges of sizes and of words of constant banks.
    pub ranges: LaunchRanges,
    /// Accesses of the kernel in these launches, once they are asked for.
    pub(crate) accesses: OnceLock<KernelAccesses>,
}

impl Session {
    /// Returns the launches of a kernel that the options describe. Parameters that the kernel does not have are
    /// skipped; [`Library::check_launches`](crate::Library::check_launches) refuses those that no kernel has.
    ///
    /// # Errors
    ///
    /// The sizes or the launch file do not suit the kernel, or a value does not suit its parameter.
    pub fn launch(
        &self,
        kernel: &Kernel,
        options: &BoundOptions,
    ) -> Result<LaunchKnowledge, Diagnostic> {
        let isa = self.image.isa();
        let check = || check_launches(isa, kernel, options);
        let ranges = || match isa.family() {
            Some(Family::Maxwell | Family::Volta | Family::Gcn3) | None => {
                launch_ranges(&self.image, kernel, options)
            }
            // Parameters of mini-SIMT are not words of constant banks, so only sizes have ranges.
            Some(Family::MiniSimt) => Ok(LaunchRanges {
                block: size_ranges(options.block_ranges(kernel)?),
                ..LaunchRanges::default()
            }),
        };
        let launch = options.launch(kernel, isa).and_then(|context| {
            let ranges = check().and_then(|()| ranges());
            let ranges = ranges.map_err(|d| d.in_kernel(kernel.demangled()))?;
            Ok(LaunchKnowledge {
                context,
                ranges,
                accesses: OnceLock::new(),
            })
        });
        launch.map_err(|d| self.locate(d))
    }

    /// Checks that a launch is one of a kernel: name, parameters and sizes.
    ///
    /// # Errors
    ///
    /// The launch is of another kernel, its parameters have other sizes, or it exceeds a limit of the GPU or of the
    /// kernel.
    pub fn check_launch(&self, kernel: &Kernel, launch: &LaunchFile) -> Result<(), Diagnostic> {
        let checked = check_params(kernel, launch);
        let checked = checked.and_then(|()| check_limits(self.image.isa(), kernel, launch));
        checked.map_err(|d| self.locate(d.in_kernel(kernel.demangled())))
    }
}

/// Returns the ranges of the launches of a kernel.
fn launch_ranges(
    image: &Image,
    kernel: &Kernel,
    options: &BoundOptions,
) -> Result<LaunchRanges, Diagnostic> {
    let stated = &options.launches;
    let block = options.block_ranges(kernel)?;
    let file = stated.file.as_deref();
    let grid = stated
        .grid
        .or_else(|| file.map(|file| file.grid.map(NumberRange::one)));
    let mut words = words_of_sizes(
        image.isa(),
        kernel,
        size_ranges(block),
        size_ranges(grid),
        file.is_some(),
    );
    let mut data = BTreeMap::new();
    let params = KernelParam::list(kernel, file);
    for param in &params {
        words.add_param(param, file);
        data.extend(file.and_then(|file| stated_data(words.bank, param, file)));
    }
    if let Some(file) = file {
        words.add_variables(image, file)?;
    }
    // After the file, because statements of the user replace its values.
    for stated in &stated.params {
        if let Some(part) = find_param(&params, &stated.name)? {
            words.state(&part, stated)?;
        }
    }
    if let Some(file) = file {
        // Last, because a parameter that the user states does not vary.
        words.vary(&params, file)?;
    }
    let split = words.split();
    let sizes = [block, grid].into_iter().flatten().flatten();
    let params = stated.params.iter().map(|param| param.range);
    let is_fixed = file.is_some_and(|file| !file.varies());
    // Statements that replace a number by another one still describe one launch.
    let is_one_launch = is_fixed && sizes.chain(params).all(|range| range.only().is_some());
    Ok(LaunchRanges {
        block: size_ranges(block),
        grid: size_ranges(grid),
        limits: SizeLimits::of_isa(image.isa()),
        words: words.into_words(),
        split,
        data,
        is_one_launch,
    })
}

/// Returns the words with sizes of the launch, and those next to them. The sizes are of a launch file or not.
fn words_of_sizes(
    isa: Isa,
    kernel: &Kernel,
    block: [Option<WordRange>; 3],
    grid: [Option<WordRange>; 3],
    is_of_file: bool,
) -> LaunchWords {
    let mut words = LaunchWords::new(kernel);
    match &kernel.code_object {
        None => {
            if let Some(layout) = isa.launch_block() {
                words.add_sizes("blockDim", layout.block_size, block);
                words.add_sizes("gridDim", layout.grid_size, grid);
                words.add_addresses(layout);
            }
        }
        Some(object) => {
            words.add_dispatch(object, block, grid);
            words.add_hidden(object, block, is_of_file);
        }
    }
    words
}

/// Returns what every launch of a kernel has in common, by bank and byte offset of the word: the block that the kernel
/// requires fixes some words, and parts of others. For example, the size of a group in z may share a word with the
/// remainder of the grid in x, which each launch decides.
pub(crate) fn words_of_every_launch(isa: Isa, kernel: &Kernel) -> BTreeMap<(u8, u32), WordRange> {
    let block = kernel
        .required_block
        .map(|block| block.map(NumberRange::one));
    let words = words_of_sizes(isa, kernel, size_ranges(block), [None; 3], false);
    let words = words.into_words().into_iter();
    words
        .filter_map(|(at, word)| Some((at, word.range?)))
        .collect()
}

/// Returns the place of a parameter that is a buffer address, with the range that the launch file states about the
/// buffer's numbers; `None` for other parameters.
fn stated_data(
    bank: u8,
    param: &KernelParam,
    file: &LaunchFile,
) -> Option<((u8, u32), Option<StatedData>)> {
    let given = file.params.get(param.position)?;
    let buffer = match &given.value {
        ParamValue::Buffer(buffer) => Some(buffer),
        // A load through an address between two elements would read parts of both, which the range does not limit.
        ParamValue::Alias { buffer, offset } => file
            .buffers()
            .nth(*buffer)
            .map(|(_, buffer)| buffer)
            .filter(|own| offset.is_multiple_of(own.element.size() as u64)),
        ParamValue::Scalar { .. } | ParamValue::Texture(_) | ParamValue::Surface(_) => {
            return None;
        }
    };
    let range = buffer.and_then(|buffer| {
        let range = buffer.range?;
        Some(StatedData {
            name: given.name.clone(),
            bytes: u8::try_from(buffer.element.size()).ok()?,
            least: range.least,
            most: range.most,
        })
    });
    Some(((bank, param.offset), range))
}

/// Checks that the launches that the options describe are possible ones of a kernel.
fn check_launches(isa: Isa, kernel: &Kernel, options: &BoundOptions) -> Result<(), Diagnostic> {
    let file = options.launches.file.as_deref();
    let block = match options.block {
        // A repetition of the block of the launch file is no statement of its own.
        Some(block) if file.is_some_and(|file| file.block == block) => None,
        Some(block) => Some(block.map(NumberRange::one)),
        None => options.launches.block,
    };
    let stated = StatedLaunches {
        block,
        ..options.launches.clone()
    };
    stated.check(SizeLimits::of_isa(isa))?;
    let Some(file) = file else {
        return Ok(());
    };
    check_params(kernel, file)?;
    // A stated size replaces the size of the file, whose limits then do not matter.
    match (stated.block.is_some(), stated.grid.is_some()) {
        (false, false) => check_limits(isa, kernel, file),
        (false, true) => check_block(isa, kernel, file).and_then(|()| check_shared(kernel, file)),
        (true, false) => check_grid(isa, kernel, file).and_then(|()| check_shared(kernel, file)),
        (true, true) => check_shared(kernel, file),
    }
}

/// Checks that a launch file is for a kernel, and has its parameters.
fn check_params(kernel: &Kernel, file: &LaunchFile) -> Result<(), Diagnostic> {
    let fail = |message: String| Err(Diagnostic::new(message).in_file(file.file.as_str()));
    if let Some(name) = &file.kernel
        && NamePattern::new(name).match_quality(&kernel.name).is_none()
    {
        return fail(format!("the launch is of kernel {name:?}"));
    }
    if file.params.len() != kernel.params.len() {
        return fail(format!(
            "the kernel has {} parameters, the launch {}",
            kernel.params.len(),
            file.params.len()
        ));
    }
    for (own, given) in kernel.params.iter().zip(&file.params) {
        let size = match &given.value {
            ParamValue::Scalar { bytes, .. } => bytes.len(),
            // Addresses of buffers and handles of textures have 64 bits.
            _ => 8,
        };
        if size != usize::from(own.size) {
            return fail(format!(
                "parameter {} has {size} bytes, and {} in the kernel",
                given.name, own.size
            ));
        }
    }
    Ok(())
}

/// Converts sizes to ranges of words.
fn size_ranges(size: Option<[NumberRange; 3]>) -> [Option<WordRange>; 3] {
    size.map_or([None; 3], |size| size.map(low_words))
}

/// Returns the low words of the numbers of a range; `None` for all words. For example, numbers from 7·2³² to
/// 7·2³² + 9 have the low words 0 to 9.
fn low_words(range: NumberRange) -> Option<WordRange> {
    let all = 1i128 << 32;
    // 2³² consecutive numbers have every low word.
    if range.most - range.least >= all - 1 {
        return None;
    }
    let least = range.least.rem_euclid(all);
    let most = least + (range.most - range.least);
    // A range that passes 2³² wraps around to 0; it is one range if its beginning is read as negative. The numbers of
    // a `WordRange` are below 2³², and at least -2³¹.
    let (least, most) = match most < all {
        true => (least, most),
        false => (least - all, most - all),
    };
    let fits = least >= -(all / 2);
    let limits = (i64::try_from(least).ok()?, i64::try_from(most).ok()?);
    // Otherwise the words are not one range, and all words are a sound superset.
    fits.then(|| WordRange::between(limits.0, limits.1))
}

/// Returns the high words of the numbers of a range of 64 bits. For example, -5 to -1 have the high word 2³² - 1.
fn high_words(range: NumberRange) -> Option<WordRange> {
    // The shift rounds down, which is the high word in two's complement for negative numbers too.
    low_words(NumberRange {
        least: range.least >> 32,
        most: range.most >> 32,
    })
}

#[cfg(test)]
mod tests {
    use super::{high_words, low_words};
    use crate::stated_launches::NumberRange;
    use warpbound_analyse::launch_ranges::WordRange;

    /// Whether a set of words has a word; `None` are all words.
    fn has(words: Option<WordRange>, word: i128) -> bool {
        words.is_none_or(|words| {
            let between = i128::from(words.least)..=i128::from(words.most);
            [word, word - (1 << 32)].iter().any(|w| between.contains(w))
        })
    }

    #[test]
    fn words_of_ranges() {
        let interesting = [31, 32, 33, 63, 64].map(|bits| 1i128 << bits);
        let near = |limit: i128| [-limit, 0, limit].map(|n| [n - 3, n - 1, n, n + 2]);
        let numbers: Vec<i128> = interesting.into_iter().flat_map(near).flatten().collect();
        for &least in &numbers {
            for &most in numbers.iter().filter(|most| least <= **most) {
                let range = NumberRange { least, most };
                let (low, high) = (low_words(range), high_words(range));
                for words in [low, high].into_iter().flatten() {
                    assert!((-(1 << 31)..1 << 32).contains(&words.least), "{range}");
                    assert!((words.least..1 << 32).contains(&words.most), "{range}");
                }
                for &number in numbers.iter().filter(|n| (least..=most).contains(*n)) {
                    let bits = number.rem_euclid(1 << 64);
                    assert!(has(low, bits & 0xffff_ffff), "{number} of {range}");
                    assert!(has(high, bits >> 32), "{number} of {range}");
                }
            }
        }
    }

    #[test]
    fn ranges_stay_narrow() {
        let range = |least, most| NumberRange { least, most };
        let between = |least, most| Some(WordRange::between(least, most));
        assert_eq!(low_words(range(1, 4096)), between(1, 4096));
        assert_eq!(high_words(range(1, 4096)), between(0, 0));
        assert_eq!(low_words(range(-5, 10)), between(-5, 10));
        assert_eq!(
            high_words(range(-5, -1)),
            between((1 << 32) - 1, (1 << 32) - 1)
        );
        assert_eq!(low_words(range(7 << 32, (7 << 32) + 9)), between(0, 9));
        assert_eq!(low_words(range(-5, i128::from(u32::MAX))), None);
    }
}
