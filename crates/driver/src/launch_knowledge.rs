//! Knowledge about the launches of a kernel: contents of the words of constant banks that a launch fills, from a launch
//! file and from ranges that the user states.

mod kernel_params;

use std::collections::BTreeMap;

use warpbound_analyse::launch_ranges::{
    LaunchRanges, LaunchWord, SizeLimits, SplitWord, WordRange,
};
use warpbound_analyse::stated_data::StatedData;
use warpbound_base::Diagnostic;
use warpbound_ir::Code;
use warpbound_launch::{Launch, LaunchFile, ParamValue, PointerLocation, check_limits};
use warpbound_load::{
    ArgKind, CodeObjectKernel, HiddenArg, Image, Isa, Kernel, NamePattern, Variable,
    VariableLocation, demangle,
};

use crate::stated_launches::{NumberRange, StatedParam};
use crate::{BoundOptions, LaunchContext, Session};

pub(crate) use kernel_params::{has_param, param_list};

use kernel_params::{KernelParam, ParamPart, find_param};

/// Launches of a kernel that a result is about.
#[derive(Clone, Debug)]
pub struct LaunchKnowledge {
    /// Facts for the analyses of warps.
    pub context: LaunchContext,
    /// Ranges of sizes and of words of constant banks.
    pub ranges: LaunchRanges,
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
        let ranges = || match isa {
            Isa::Sm(_) | Isa::Gfx(_) => launch_ranges(&self.image, kernel, options),
            // Parameters are no words of constant banks there.
            Isa::MiniSimt => Ok(LaunchRanges {
                block: size_ranges(options.block_ranges(kernel)?),
                ..LaunchRanges::default()
            }),
        };
        let launch = options.launch(kernel, isa).and_then(|context| {
            let ranges = ranges().map_err(|d| d.in_kernel(kernel.demangled()))?;
            Ok(LaunchKnowledge { context, ranges })
        });
        launch.map_err(|d| self.locate(d))
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
    if let Some(file) = file {
        check_file(file, kernel, options)?;
    }
    let mut words = LaunchWords::new(kernel);
    let mut data = BTreeMap::new();
    match &kernel.code_object {
        None => {
            words.add_sizes("blockDim", Launch::BLOCK_AT, size_ranges(block));
            words.add_sizes("gridDim", Launch::GRID_AT, size_ranges(grid));
            words.add_addresses();
        }
        Some(object) => {
            words.add_dispatch(object, size_ranges(block), size_ranges(grid));
            words.add_hidden(object, size_ranges(block), file.is_some());
        }
    }
    let params = KernelParam::list(kernel, file);
    for param in &params {
        words.add_param(param, file);
        data.extend(file.and_then(|file| stated_data(words.bank, param, file)));
    }
    if let Some(file) = file {
        words.add_variables(image, file)?;
    }
    for stated in &stated.params {
        if let Some(part) = find_param(&params, &stated.name)? {
            words.state(&part, stated)?;
        }
    }
    if let Some(file) = file {
        words.vary(&params, file)?;
    }
    let split = words.split();
    let sizes = [block, grid].into_iter().flatten().flatten();
    let params = stated.params.iter().map(|param| param.range);
    let is_fixed = file.is_some_and(|file| !file.varies());
    let is_one_launch = is_fixed && sizes.chain(params).all(|range| range.only().is_some());
    Ok(LaunchRanges {
        block: size_ranges(block),
        grid: size_ranges(grid),
        limits: match &kernel.code_object {
            None => SizeLimits::CUDA,
            Some(_) => SizeLimits::HSA,
        },
        words: words.into_words(),
        split,
        data,
        is_one_launch,
    })
}

/// The place of a parameter that is the address of a buffer, and the range that a launch file states of its numbers; `None`
/// for other parameters.
fn stated_data(
    bank: u8,
    param: &KernelParam,
    file: &LaunchFile,
) -> Option<((u8, u32), Option<StatedData>)> {
    let given = file.params.get(param.position)?;
    let buffer = match &given.value {
        ParamValue::Buffer(buffer) => Some(buffer),
        // An address within a buffer may be between two of its numbers.
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

/// Checks that a launch file is for a kernel.
fn check_file(
    file: &LaunchFile,
    kernel: &Kernel,
    options: &BoundOptions,
) -> Result<(), Diagnostic> {
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
            _ => 8,
        };
        if size != usize::from(own.size) {
            return fail(format!(
                "parameter {} has {size} bytes, that of the kernel {}",
                given.name, own.size
            ));
        }
    }
    match options.states_block() {
        true => Ok(()),
        false => check_limits(kernel, file),
    }
}

/// Converts sizes to ranges of words.
fn size_ranges(size: Option<[NumberRange; 3]>) -> [Option<WordRange>; 3] {
    size.map_or([None; 3], |size| size.map(low_words))
}

/// Returns the low words of the numbers of a range; `None` for all words.
fn low_words(range: NumberRange) -> Option<WordRange> {
    let all = 1i128 << 32;
    if range.most - range.least >= all - 1 {
        return None;
    }
    let least = range.least.rem_euclid(all);
    let most = least + (range.most - range.least);
    // The numbers of a `WordRange` are below 2³², and at least -2³¹.
    let (least, most) = match most < all {
        true => (least, most),
        false => (least - all, most - all),
    };
    let fits = least >= -(all / 2);
    let limits = (i64::try_from(least).ok()?, i64::try_from(most).ok()?);
    fits.then(|| WordRange::between(limits.0, limits.1))
}

/// Returns the high words of the numbers of a range of 64 bits.
fn high_words(range: NumberRange) -> Option<WordRange> {
    low_words(NumberRange {
        least: range.least >> 32,
        most: range.most >> 32,
    })
}

/// Contents of a word, as far as they are known.
#[derive(Clone, Default)]
struct WordContents {
    name: String,
    /// Bytes that are the same in all launches.
    bytes: [Option<u8>; 4],
    /// Stated range, which replaces the bytes.
    range: Option<WordRange>,
    /// Whether it has a parameter of 1 or 2 bytes.
    has_small: bool,
}

impl WordContents {
    /// Returns the set of contents; `None` if nothing is known.
    fn range(&self) -> Option<WordRange> {
        if self.range.is_some() {
            return self.range;
        }
        let mut known = 0;
        let mut low = [0; 4];
        for (to, from) in low
            .iter_mut()
            .zip(self.bytes.iter().map_while(|byte| *byte))
        {
            *to = from;
            known += 1;
        }
        let residue = u32::from_le_bytes(low);
        match known {
            0 => None,
            4 => Some(WordRange::one(residue)),
            known => Some(WordRange {
                modulus: 1 << (8 * known),
                residue,
                ..WordRange::ANY
            }),
        }
    }
}

/// Words of the constant banks of a kernel.
struct LaunchWords {
    /// Bank with sizes and parameters.
    bank: u8,
    words: BTreeMap<(u8, u32), WordContents>,
    /// Bytes that statements have set, by offset in `bank`.
    stated: Vec<(u32, u32)>,
    /// Ranges of numbers of less than a word.
    small: Vec<SmallNumber>,
}

/// Range of a number of 1 or 2 bytes, which shares a word with others.
struct SmallNumber {
    name: String,
    /// Byte offset in the bank.
    offset: u32,
    bytes: u32,
    range: NumberRange,
}

impl SmallNumber {
    /// The contents of the bytes: all of them, where the range has numbers of both signs.
    fn contents(&self) -> WordRange {
        let all = 1i128 << (8 * self.bytes);
        let (least, most) = match self.range {
            NumberRange { least, most } if most < 0 => (least + all, most + all),
            NumberRange { least, most } if least >= 0 => (least, most),
            NumberRange { .. } => (0, all - 1),
        };
        let number = |n: i128| i64::try_from(n.clamp(0, all - 1)).unwrap_or(0);
        WordRange::between(number(least), number(most))
    }
}

impl LaunchWords {
    fn new(kernel: &Kernel) -> LaunchWords {
        LaunchWords {
            bank: match &kernel.code_object {
                None => kernel.param_block.as_ref().map_or(0, |block| block.bank),
                Some(_) => Code::KERNARG_BANK,
            },
            words: BTreeMap::new(),
            stated: Vec::new(),
            small: Vec::new(),
        }
    }

    /// Adds the words of a size in x, y and z.
    fn add_sizes(&mut self, name: &str, at: usize, ranges: [Option<WordRange>; 3]) {
        for ((nth, axis), range) in ["x", "y", "z"].iter().enumerate().zip(ranges) {
            let word = WordContents {
                name: format!("{name}.{axis}"),
                range,
                ..WordContents::default()
            };
            self.insert(at + 4 * nth, word);
        }
    }

    /// Adds the words of the dispatch packet and of the hidden arguments that tell the sizes of the launch (AMD).
    fn add_dispatch(
        &mut self,
        object: &CodeObjectKernel,
        block: [Option<WordRange>; 3],
        grid: [Option<WordRange>; 3],
    ) {
        let only = |range: Option<WordRange>| range.and_then(WordRange::only);
        // Group sizes have 16 bits (HSA, "kernel dispatch packet").
        let [x, y, z] = block.map(only);
        let pair = match (x, y) {
            (Some(x), Some(y)) => Some(WordRange::one(y << 16 | x & 0xffff)),
            (Some(x), None) => Some(WordRange {
                modulus: 1 << 16,
                residue: x & 0xffff,
                ..WordRange::ANY
            }),
            (None, _) => None,
        };
        let sizes = [
            (4, "blockDim.xy", pair),
            (8, "blockDim.z", z.map(WordRange::one)),
        ];
        for (at, name, range) in sizes {
            self.insert_range(Code::DISPATCH_BANK, at, name, range);
        }
        for ((at, name), (block, grid)) in [(12, "x"), (16, "y"), (20, "z")]
            .into_iter()
            .zip(block.into_iter().zip(grid))
        {
            let threads = only(block).zip(only(grid));
            let threads = threads.and_then(|(block, grid)| block.checked_mul(grid));
            let name = format!("threads.{name}");
            self.insert_range(Code::DISPATCH_BANK, at, &name, threads.map(WordRange::one));
        }
        for arg in &object.args {
            let ArgKind::Hidden(HiddenArg::BlockCount(axis)) = arg.kind else {
                continue;
            };
            let name = format!("gridDim.{}", ["x", "y", "z"][usize::from(axis.min(2))]);
            let range = grid.get(usize::from(axis)).copied().flatten();
            self.insert_range(self.bank, arg.offset, &name, range);
        }
    }

    /// Adds the hidden arguments that tell the sizes of groups and where the grid begins (AMD): grids of a launch file begin
    /// at 0 and consist of whole groups.
    fn add_hidden(
        &mut self,
        object: &CodeObjectKernel,
        block: [Option<WordRange>; 3],
        is_of_file: bool,
    ) {
        let axis_name = |axis: u8| ["x", "y", "z"][usize::from(axis.min(2))];
        for arg in &object.args {
            let ArgKind::Hidden(hidden) = arg.kind else {
                continue;
            };
            let zero = is_of_file.then_some(0);
            let (name, value) = match hidden {
                HiddenArg::GroupSize(axis) => {
                    let range = block.get(usize::from(axis)).copied().flatten();
                    let size = range.and_then(WordRange::only);
                    (format!("blockDim.{}", axis_name(axis)), size)
                }
                HiddenArg::GlobalOffset(axis) => {
                    (format!("globalOffset.{}", axis_name(axis)), zero)
                }
                HiddenArg::Remainder(axis) => (format!("remainder.{}", axis_name(axis)), zero),
                _ => continue,
            };
            let bytes = value.map(|value| u64::from(value).to_le_bytes());
            for (byte, at) in (0..arg.size.min(8)).zip(arg.offset..) {
                let name = match byte {
                    0..4 => name.clone(),
                    _ => format!("{name}.high"),
                };
                let known = bytes.and_then(|bytes| bytes.get(byte as usize).copied());
                self.set(self.bank, at, &name, known);
            }
        }
    }

    /// Inserts a word of a bank with its possible contents.
    fn insert_range(&mut self, bank: u8, at: u32, name: &str, range: Option<WordRange>) {
        let word = WordContents {
            name: name.to_owned(),
            range,
            ..WordContents::default()
        };
        self.words.insert((bank, at), word);
    }

    /// Adds the words with addresses of memory windows, whose contents the GPU chooses.
    fn add_addresses(&mut self) {
        let windows = Launch::WINDOW_BASES.iter().map(|&(at, _)| at);
        let names = ["shared", "local", "shared.high", "local.high"];
        for (at, name) in windows.zip(names) {
            self.insert(at, WordContents::named(format!("window.{name}")));
        }
        self.insert(Launch::STACK_AT, WordContents::named("stack".to_owned()));
    }

    /// Inserts a word of the bank with sizes and parameters.
    fn insert(&mut self, at: usize, word: WordContents) {
        if let Ok(at) = u32::try_from(at) {
            self.words.insert((self.bank, at), word);
        }
    }

    /// Adds the words of a parameter, with the contents that a launch file gives it.
    fn add_param(&mut self, param: &KernelParam, file: Option<&LaunchFile>) {
        let given = file.and_then(|file| Some((file, file.params.get(param.position)?)));
        let bytes = match given.map(|(file, given)| (file, &given.value)) {
            Some((file, ParamValue::Scalar { bytes, .. })) => {
                known_bytes(bytes, PointerLocation::Param(param.position), file)
            }
            Some((_, ParamValue::Buffer(_))) => aligned_address(0).to_vec(),
            Some((_, ParamValue::Alias { offset, .. })) => aligned_address(*offset).to_vec(),
            Some((_, ParamValue::Texture(_) | ParamValue::Surface(_))) | None => Vec::new(),
        };
        for byte in 0..param.size {
            let word_at = (param.offset + byte) & !3;
            let within = word_at.saturating_sub(param.offset);
            let name = match (param.has_elements(), within) {
                (true, _) => format!("{}[{within}]", param.name),
                (false, 0) => param.name.clone(),
                (false, _) => format!("{}.high", param.name),
            };
            let known = bytes.get(byte as usize).copied().flatten();
            self.set(self.bank, param.offset + byte, &name, known);
            if let Some(word) = self.words.get_mut(&(self.bank, word_at)) {
                word.has_small |= param.size < 4;
            }
        }
    }

    /// Adds the words of the variables in constant memory that a launch file fills.
    ///
    /// # Errors
    ///
    /// The module has no such variable, or a smaller one.
    fn add_variables(&mut self, image: &Image, file: &LaunchFile) -> Result<(), Diagnostic> {
        for (number, given) in file.variables.iter().enumerate() {
            let (name, bytes) = (&given.name, &given.buffer.bytes);
            let fail = |message: String| {
                let diagnostic = Diagnostic::new(message);
                Err(diagnostic.in_file(file.file.as_str()))
            };
            let mut variables = image.variables().iter();
            let has_name = |variable: &&Variable| {
                *variable.name == **name || demangle(&variable.name) == **name
            };
            let Some(variable) = variables.find(has_name) else {
                return fail(format!("the module has no variable {name}"));
            };
            if bytes.len() > variable.size as usize {
                let size = variable.size;
                return fail(format!(
                    "variable {name} has {size} bytes, the launch gives it {}",
                    bytes.len()
                ));
            }
            let VariableLocation::Constant { bank, offset } = variable.location else {
                continue;
            };
            let known = known_bytes(bytes, PointerLocation::Variable(number), file);
            for (byte, known) in (offset..).zip(known) {
                let word = (byte & !3).saturating_sub(offset);
                self.set(bank, byte, &format!("{name}[{word}]"), known);
            }
        }
        Ok(())
    }

    /// Sets a byte of a bank. Small parameters that share a word give it all their names.
    fn set(&mut self, bank: u8, at: u32, name: &str, byte: Option<u8>) {
        let word = self.words.entry((bank, at & !3)).or_default();
        if !word.name.split(',').any(|other| other == name) {
            if !word.name.is_empty() {
                word.name.push(',');
            }
            word.name.push_str(name);
        }
        if let Some(to) = word.bytes.get_mut((at & 3) as usize) {
            *to = byte;
        }
    }

    /// Applies a statement of the user to a parameter.
    fn state(&mut self, part: &ParamPart<'_>, stated: &StatedParam) -> Result<(), Diagnostic> {
        part.check(stated)?;
        let (start, size) = match part.word {
            Some(word) => (part.param.offset + word, 4),
            None => (part.param.offset, part.param.size),
        };
        let is_same = |&(other, bytes): &(u32, u32)| other < start + size && start < other + bytes;
        if self.stated.iter().any(is_same) {
            let message = format!("--param {}: it is stated twice", stated.name);
            return Err(Diagnostic::new(message));
        }
        self.stated.push((start, size));
        if let Some(value) = stated.range.only() {
            for (at, byte) in (start..start + size).zip(value.to_le_bytes()) {
                self.replace(at, Some(byte));
            }
            return Ok(());
        }
        (start..start + size).for_each(|at| self.replace(at, None));
        if size < 4 {
            self.small.push(SmallNumber {
                name: part.param.name.clone(),
                offset: start,
                bytes: size,
                range: stated.range,
            });
            return Ok(());
        }
        let halves = [low_words(stated.range), high_words(stated.range)];
        for (at, half) in (start..start + size).step_by(4).zip(halves) {
            if let Some(word) = self.words.get_mut(&(self.bank, at & !3)) {
                // A statement that allows all words is one nevertheless.
                word.range = Some(half.unwrap_or(WordRange::ANY));
            }
        }
        Ok(())
    }

    /// Applies the ranges of the parameters that vary among the launches of a file, where the user states nothing else.
    fn vary(&mut self, params: &[KernelParam], file: &LaunchFile) -> Result<(), Diagnostic> {
        for param in params {
            let given = file.params.get(param.position).map(|given| &given.value);
            let Some(ParamValue::Scalar {
                element: Some(element),
                bytes: own,
                vary: Some(vary),
            }) = given
            else {
                continue;
            };
            let bytes = param.offset..param.offset + param.size;
            let stated = self.stated.clone();
            let is_stated = |at: u32| {
                stated
                    .iter()
                    .any(|&(from, size)| (from..from + size).contains(&at))
            };
            if bytes.clone().any(is_stated) {
                // Of a parameter of which one word is stated, the other one may vary.
                bytes
                    .filter(|&at| !is_stated(at))
                    .for_each(|at| self.replace(at, None));
                continue;
            }
            match vary.integers() {
                Some((least, most)) => {
                    let own = element.integer(own);
                    let range = NumberRange {
                        least: own.map_or(least, |own| least.min(own)),
                        most: own.map_or(most, |own| most.max(own)),
                    };
                    let name = param.name.clone();
                    let part = ParamPart { param, word: None };
                    self.state(&part, &StatedParam { name, range })?;
                }
                // Nothing is known of floats.
                None => bytes.for_each(|at| self.replace(at, None)),
            }
        }
        Ok(())
    }

    /// Replaces a byte of a parameter.
    fn replace(&mut self, at: u32, byte: Option<u8>) {
        let word = self.words.get_mut(&(self.bank, at & !3));
        if let Some(to) = word.and_then(|word| word.bytes.get_mut((at & 3) as usize)) {
            *to = byte;
        }
    }

    /// Splits the words with parameters of 1 and 2 bytes of which something is known, but not all, and adds their parts as
    /// words.
    fn split(&mut self) -> BTreeMap<(u8, u32), SplitWord> {
        let small = std::mem::take(&mut self.small);
        let has_range = |at: u32| small.iter().any(|number| number.offset & !3 == at);
        let is_split = |at: u32, word: &WordContents| {
            let known = word.bytes.iter().flatten().count();
            word.has_small && (has_range(at) || (1..4).contains(&known))
        };
        let words = self.words.iter();
        let words: Vec<(u32, WordContents)> = words
            .filter(|((bank, at), word)| *bank == self.bank && is_split(*at, word))
            .map(|((_, at), word)| (*at, word.clone()))
            .collect();
        let mut split = BTreeMap::new();
        for (at, word) in words {
            let mut found = SplitWord::default();
            let mut byte = at;
            while byte < at + 4 {
                let lowest = 8 * (byte - at);
                let known = word.bytes.get((byte - at) as usize).copied().flatten();
                let own = small.iter().find(|number| number.offset == byte);
                let (name, bytes, range) = match (own, known) {
                    (Some(own), _) if byte + own.bytes <= at + 4 => {
                        (own.name.clone(), own.bytes, own.contents())
                    }
                    (_, Some(known)) => {
                        found.known |= u32::from(known) << lowest;
                        byte += 1;
                        continue;
                    }
                    _ => (word.name.clone(), 1, WordRange::between(0, 0xff)),
                };
                let part = byte;
                found.parts.push((lowest, part));
                self.insert_range(LaunchRanges::PART_BANK, part, &name, Some(range));
                byte += bytes;
            }
            split.insert((self.bank, at), found);
        }
        split
    }

    fn into_words(self) -> BTreeMap<(u8, u32), LaunchWord> {
        let word = |(at, contents): ((u8, u32), WordContents)| {
            let range = contents.range();
            let name = contents.name;
            (at, LaunchWord { name, range })
        };
        self.words.into_iter().map(word).collect()
    }
}

impl WordContents {
    fn named(name: String) -> WordContents {
        WordContents {
            name,
            ..WordContents::default()
        }
    }
}

/// Returns the bytes of an object of a launch file. The addresses in it are known only as far as buffers are aligned.
fn known_bytes(bytes: &[u8], location: PointerLocation, file: &LaunchFile) -> Vec<Option<u8>> {
    let mut known: Vec<Option<u8>> = bytes.iter().copied().map(Some).collect();
    for pointer in file.pointers.iter().filter(|p| p.location == location) {
        for (at, to) in pointer.addresses() {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            for (byte, address) in known.iter_mut().skip(at).zip(aligned_address(to)) {
                *byte = address;
            }
        }
    }
    known
}

/// Returns the known bytes of the address at an offset in a buffer whose address is a multiple of 256 (assumption
/// `buffers-aligned`, SOUNDNESS 2).
fn aligned_address(offset: u64) -> [Option<u8>; 8] {
    let [low, ..] = offset.to_le_bytes();
    [Some(low), None, None, None, None, None, None, None]
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
