//! Words of the constant banks of a kernel, with the contents that a launch file and statements of the user give
//! them.
//!
//! Contents are kept by byte, because small parameters share a word and an aligned address is known in its lowest
//! byte only. For example, a `char` of 7 and a `short` that nothing is stated about give a word that is 7 modulo 256.

use std::collections::BTreeMap;

use warpbound_analyse::launch_ranges::{LaunchRanges, LaunchWord, SplitWord, WordRange};
use warpbound_base::{ConstantBanks, Diagnostic, GenericWindow, LaunchBlock};
use warpbound_ir::Code;
use warpbound_launch::{LaunchFile, ParamValue, PointerLocation};
use warpbound_load::{
    ArgKind, CodeObjectKernel, HiddenArg, Image, Kernel, Variable, VariableLocation, demangle,
};

use super::kernel_params::{KernelParam, ParamPart};
use super::{high_words, low_words};
use crate::{stated_launches::NumberRange, stated_launches::StatedParam};

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
    /// Returns the set of contents; `None` if nothing is known. For example, a word whose lowest byte is 0x10 is 16
    /// modulo 256.
    fn range(&self) -> Option<WordRange> {
        if self.range.is_some() {
            return self.range;
        }
        let mut known = 0;
        let mut low = [0; 4];
        // Bytes above an unknown one are ignored, because they do not determine a remainder.
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
pub(super) struct LaunchWords {
    /// Bank with sizes and parameters.
    pub(super) bank: u8,
    words: BTreeMap<(u8, u32), WordContents>,
    /// Offset in `bank` and size of each stated part of a parameter.
    stated: Vec<(u32, u32)>,
    /// Ranges of numbers that are smaller than a word.
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
    /// Returns the contents of the bytes; all of them if the range has numbers of both signs. For example, -3 to -1
    /// in one byte are the contents 253 to 255.
    fn contents(&self) -> WordRange {
        let all = 1i128 << (8 * self.bytes);
        let (least, most) = match self.range {
            NumberRange { least, most } if most < 0 => (least + all, most + all),
            NumberRange { least, most } if least >= 0 => (least, most),
            // The contents of -1 to 1 are 255, 0 and 1, which are not an interval.
            NumberRange { .. } => (0, all - 1),
        };
        // The statement was checked against the limits of the type, so the clamp only guards the conversion.
        let number = |n: i128| i64::try_from(n.clamp(0, all - 1)).unwrap_or(0);
        WordRange::between(number(least), number(most))
    }
}

impl LaunchWords {
    pub(super) fn new(kernel: &Kernel) -> LaunchWords {
        LaunchWords {
            bank: match &kernel.code_object {
                None => kernel
                    .param_block
                    .as_ref()
                    .map_or(ConstantBanks::OF_CUBINS.launch, |block| block.bank),
                Some(_) => Code::KERNARG_BANK,
            },
            words: BTreeMap::new(),
            stated: Vec::new(),
            small: Vec::new(),
        }
    }

    /// Adds the words of a size in x, y and z.
    pub(super) fn add_sizes(&mut self, name: &str, at: u32, ranges: [Option<WordRange>; 3]) {
        for ((at, axis), range) in (at..).step_by(4).zip(["x", "y", "z"]).zip(ranges) {
            let word = WordContents {
                name: format!("{name}.{axis}"),
                range,
                ..WordContents::default()
            };
            self.insert(at, word);
        }
    }

    /// Adds the words of the dispatch packet and of the hidden arguments that contain the sizes of the launch (AMD).
    pub(super) fn add_dispatch(
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
            // A word with only its upper half known is neither a range nor a remainder.
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
            // The packet counts work-items of the grid, not groups. A product that overflows is unknown.
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

    /// Adds the hidden arguments with the sizes of groups, the start of the grid and its partial groups (AMD). Grids
    /// of a launch file begin at 0 and consist of whole groups.
    pub(super) fn add_hidden(
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
            // A launch without a file may begin elsewhere or end with a partial group.
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

    /// Adds the words with addresses of memory windows. The GPU chooses their contents, so they have names but no
    /// values.
    pub(super) fn add_addresses(&mut self, block: &LaunchBlock) {
        for word in block.windows() {
            let name = match word.window {
                GenericWindow::Shared => "shared",
                GenericWindow::Local => "local",
            };
            let part = if word.is_high { ".high" } else { "" };
            self.insert(word.at, WordContents::named(format!("window.{name}{part}")));
        }
        self.insert(block.stack, WordContents::named("stack".to_owned()));
    }

    /// Inserts a word of the bank with sizes and parameters.
    fn insert(&mut self, at: u32, word: WordContents) {
        self.words.insert((self.bank, at), word);
    }

    /// Adds the words of a parameter, with the contents that a launch file gives it.
    pub(super) fn add_param(&mut self, param: &KernelParam, file: Option<&LaunchFile>) {
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
            // A parameter may begin in the middle of a word, which then begins before it.
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
    pub(super) fn add_variables(
        &mut self,
        image: &Image,
        file: &LaunchFile,
    ) -> Result<(), Diagnostic> {
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
            // Global memory is not part of a bank, and the kernel may change it.
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

    /// Sets a byte of a bank. A word that small parameters share has all their names.
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
    pub(super) fn state(
        &mut self,
        part: &ParamPart<'_>,
        stated: &StatedParam,
    ) -> Result<(), Diagnostic> {
        part.check(stated)?;
        let (start, size) = match part.word {
            Some(word) => (part.param.offset + word, 4),
            None => (part.param.offset, part.param.size),
        };
        let is_same = |&(other, bytes): &(u32, u32)| other < start + size && start < other + bytes;
        // Two statements about one byte could contradict each other.
        if self.stated.iter().any(is_same) {
            let message = format!("--param {}: it is stated twice", stated.name);
            return Err(Diagnostic::new(message));
        }
        self.stated.push((start, size));
        // Bytes can be known at any offset, whereas a range describes whole words.
        if let Some(value) = stated.range.only() {
            for (at, byte) in (start..start + size).zip(value.to_le_bytes()) {
                self.replace(at, Some(byte));
            }
            return Ok(());
        }
        // The value in the file is only one of the launches now.
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
                // A statement that allows all words is a statement nevertheless.
                word.range = Some(half.unwrap_or(WordRange::ANY));
            }
        }
        Ok(())
    }

    /// Applies the ranges of the parameters that vary among the launches of a file, where the user states nothing
    /// else.
    pub(super) fn vary(
        &mut self,
        params: &[KernelParam],
        file: &LaunchFile,
    ) -> Result<(), Diagnostic> {
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
                // If only one word of the parameter is stated, the other one still varies.
                bytes
                    .filter(|&at| !is_stated(at))
                    .for_each(|at| self.replace(at, None));
                continue;
            }
            match vary.integers() {
                Some((least, most)) => {
                    // The value in the file is a launch too, even if it is outside the range that varies.
                    let own = element.integer(own);
                    let range = NumberRange {
                        least: own.map_or(least, |own| least.min(own)),
                        most: own.map_or(most, |own| most.max(own)),
                    };
                    let name = param.name.clone();
                    let part = ParamPart { param, word: None };
                    self.state(&part, &StatedParam { name, range })?;
                }
                // A range of floats is not a range of words, so nothing is known.
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

    /// Splits the words that parameters of 1 and 2 bytes share and that are known in part, and adds their parts as
    /// words.
    pub(super) fn split(&mut self) -> BTreeMap<(u8, u32), SplitWord> {
        let small = std::mem::take(&mut self.small);
        let has_range = |at: u32| small.iter().any(|number| number.offset & !3 == at);
        let is_split = |at: u32, word: &WordContents| {
            let known = word.bytes.iter().flatten().count();
            // A word of four known bytes needs no parts, and parts of an entirely unknown word would say nothing.
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
                    // A number that extends into the next word is not a part of this one; its bytes stay unknown.
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

    pub(super) fn into_words(self) -> BTreeMap<(u8, u32), LaunchWord> {
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

/// Returns the known bytes of an object of a launch file. Of an address in it, the alignment of buffers fixes only the
/// lowest byte.
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

/// Returns the known bytes of the address at an offset in a buffer, whose own address is a multiple of 256
/// (assumption `buffers-aligned`, SOUNDNESS 2). For example, the address at offset 0x104 ends with 0x04.
fn aligned_address(offset: u64) -> [Option<u8>; 8] {
    let [low, ..] = offset.to_le_bytes();
    [Some(low), None, None, None, None, None, None, None]
}
