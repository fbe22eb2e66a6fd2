//! Launch sets: the launches of a host program, which share buffers, in streams and repetitions.
//!
//! A file with `[[launch]]` tables is a launch set. Its buffers, variables, textures, surfaces and pointers are
//! written as in a launch file. Each `[[launch]]` has the keys of a launch file, and its parameters name the buffers
//! that it uses. For example, a solver alternates two kernels on the same buffers, in a repetition that ends when a
//! flag is 0.

mod contents;
mod grid;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::{Diagnostic, Isa};
use warpbound_load::Kernel;

use super::number::Number;
use super::read::image::{RawSurface, RawTexture};
use super::read::param::{ParamReader, RawParam};
use super::read::pointer::RawPointer;
use super::read::{LocatedError, Raw, from_toml};
use super::{ElementType, LaunchFile, ParamValue, PointerLocation, ReadFile, StartCaches};
use crate::check_limits;

pub use contents::SetContents;
use grid::{first_round, grid_in_round, grid_steps};

/// Launches of a host program in the order of the file, and the objects that they share.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchSet {
    /// Name of the file, for messages.
    pub file: String,
    /// Shared buffers, variables, textures, surfaces and pointers, with initial and expected contents. As a launch,
    /// it has no parameters, and one thread.
    pub objects: LaunchFile,
    /// The launches.
    pub launches: Vec<SetLaunch>,
    /// Repetitions in the order of execution; each launch belongs to one.
    pub repetitions: Vec<Repetition>,
    /// Whether the results may depend on the order of launches in different streams.
    pub order_dependent: bool,
}

/// A launch of a set.
#[derive(Clone, PartialEq, Debug)]
pub struct SetLaunch {
    /// Name for messages and reports: from the file, else the kernel's, else `launch`.
    pub name: String,
    /// The launch in the first round. Its buffers and variables have no contents, see [`SetContents::launch`].
    pub launch: LaunchFile,
    /// Stream; `None` is the default stream, whose launches wait for all earlier ones and delay all later ones (CUDA
    /// C++ Programming Guide, legacy default stream).
    pub stream: Option<u32>,
    /// Numbers that the host writes before each execution, after all earlier launches have ended.
    pub writes: Vec<HostWrite>,
    /// Parameters that change from round to round.
    steps: Vec<ParamStep>,
    /// Blocks in x, y, z by which the grid changes from round to round.
    grid_step: [i64; 3],
}

/// Consecutive launches that are executed for a number of rounds.
#[derive(Clone, PartialEq, Debug)]
pub struct Repetition {
    /// Name, if the file gives one.
    pub name: Option<String>,
    /// The launches, as indices in [`LaunchSet::launches`].
    pub launches: Range<usize>,
    /// Number of rounds; with a condition, their upper limit.
    pub rounds: u64,
    /// Condition that the host tests after each round.
    pub end: Option<EndCondition>,
}

/// Condition on a number of a buffer that ends a repetition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndCondition {
    /// The buffer, as index in [`LaunchFile::buffers`].
    pub buffer: usize,
    /// Index of the number in the buffer.
    pub at: u64,
    /// Type of the number.
    pub element: ElementType,
    /// Bytes of the number that it is compared with.
    pub bytes: Vec<u8>,
    /// Whether the repetition ends when the numbers are equal (`until`), or when they differ (`while`).
    pub is_until: bool,
}

/// Numbers that the host writes into a buffer: the same one several times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostWrite {
    /// The buffer, as index in [`LaunchFile::buffers`].
    pub buffer: usize,
    /// Byte offset of the first number.
    pub offset: usize,
    /// The bytes of the number.
    pub bytes: Vec<u8>,
    /// Number of times that it is written, one after the other.
    pub count: usize,
}

/// A parameter that changes by a constant from round to round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ParamStep {
    /// Position of the parameter.
    position: usize,
    element: ElementType,
    /// Value in the first round.
    first: i128,
    by: i128,
}

/// The file as TOML states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSet {
    #[serde(default)]
    order_dependent: bool,
    launch: Vec<Spanned<RawLaunch>>,
    #[serde(default)]
    repeat: Vec<Spanned<RawRepeat>>,
    #[serde(default)]
    variable: Vec<Spanned<RawParam>>,
    #[serde(default)]
    buffer: Vec<Spanned<RawParam>>,
    #[serde(default)]
    texture: Vec<Spanned<RawTexture>>,
    #[serde(default)]
    surface: Vec<Spanned<RawSurface>>,
    #[serde(default)]
    pointer: Vec<Spanned<RawPointer>>,
}

/// A `[[launch]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLaunch {
    name: Option<String>,
    kernel: Option<String>,
    grid: Spanned<Vec<u32>>,
    block: Spanned<Vec<u32>>,
    #[serde(default)]
    dynamic_shared: u32,
    stack: Option<Spanned<u32>>,
    #[serde(default)]
    caches: StartCaches,
    #[serde(default)]
    param: Vec<Spanned<RawParam>>,
    #[serde(default)]
    pointer: Vec<Spanned<RawPointer>>,
    repeat: Option<Spanned<RepeatName>>,
    #[serde(default)]
    stream: u32,
    #[serde(default)]
    write: Vec<Spanned<RawWrite>>,
    #[serde(default)]
    step: BTreeMap<String, Spanned<i64>>,
    grid_step: Option<Spanned<Vec<i64>>>,
}

/// Number of rounds of one launch, or the name of a `[[repeat]]`.
#[derive(Deserialize)]
#[serde(untagged)]
enum RepeatName {
    Rounds(u64),
    Name(String),
}

/// A `[[repeat]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRepeat {
    name: String,
    count: u64,
    until: Option<RawCondition>,
    #[serde(rename = "while")]
    while_: Option<RawCondition>,
}

/// A condition on a number of a buffer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCondition {
    buffer: String,
    #[serde(default)]
    at: u64,
    equals: Number,
}

/// Numbers that the host writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWrite {
    buffer: String,
    at: Option<u64>,
    value: Number,
}

impl LaunchSet {
    /// Maximum number of rounds of a repetition.
    pub const MAX_ROUNDS: u64 = 1 << 24;

    /// Whether a file is a launch set: a line of it begins a `[[launch]]`.
    pub fn is_set(text: &str) -> bool {
        // Decided before the file is parsed, because sets and single launches have parsers of their own.
        text.lines()
            .any(|line| line.trim_start().starts_with("[[launch]]"))
    }

    /// Parses a launch set; `file` is its name in messages, `files` reads the files that it refers to.
    ///
    /// # Errors
    ///
    /// A diagnostic with file, line and cause.
    pub fn parse(file: &str, text: &str, files: &ReadFile<'_>) -> Result<LaunchSet, Diagnostic> {
        let raw: RawSet = from_toml(file, text)?;
        let set = LaunchSet::read(raw, file, &mut ParamReader::new(files));
        set.map_err(|(diagnostic, byte)| diagnostic.at_byte(text, byte).in_file(file))
    }

    fn read(
        raw: RawSet,
        file: &str,
        reader: &mut ParamReader<'_>,
    ) -> Result<LaunchSet, LocatedError> {
        let one = || Spanned::new(0..0, vec![1]);
        let objects = Raw {
            kernel: None,
            grid: one(),
            block: one(),
            dynamic_shared: 0,
            stack: None,
            caches: StartCaches::default(),
            param: Vec::new(),
            variable: raw.variable,
            buffer: raw.buffer,
            texture: raw.texture,
            surface: raw.surface,
            pointer: raw.pointer,
        };
        let objects = LaunchFile::read(&objects, file, None, reader)?;
        let mut set = LaunchSet {
            file: file.to_owned(),
            launches: Vec::with_capacity(raw.launch.len()),
            repetitions: Vec::new(),
            order_dependent: raw.order_dependent,
            objects,
        };
        let shared = sizes_of(&set.objects);
        for launch in raw.launch {
            let at = launch.span().start;
            let mut launch = launch.into_inner();
            let repeat = launch.repeat.take();
            let rounds = set.add_to_repetition(repeat, &raw.repeat)?;
            let launch = launch.read(file, at, rounds, &set.objects, &shared, reader)?;
            set.launches.push(launch);
        }
        // Probably a mistake in the file.
        let unused = raw.repeat.iter().find(|repeat| {
            let name = Some(&repeat.get_ref().name);
            set.repetitions
                .iter()
                .all(|used| used.name.as_ref() != name)
        });
        match unused {
            Some(repeat) => {
                let message = format!("no launch has repeat = \"{}\"", repeat.get_ref().name);
                Err((Diagnostic::new(message), repeat.span().start))
            }
            None => Ok(set),
        }
    }

    /// Adds the next launch to its repetition, or begins one; returns the number of rounds.
    fn add_to_repetition(
        &mut self,
        repeat: Option<Spanned<RepeatName>>,
        all: &[Spanned<RawRepeat>],
    ) -> Result<u64, LocatedError> {
        let number = self.launches.len();
        let launches = number..number + 1;
        let repetition = match repeat {
            None => Repetition {
                name: None,
                launches,
                rounds: 1,
                end: None,
            },
            Some(repeat) => {
                let at = repeat.span().start;
                match repeat.into_inner() {
                    RepeatName::Rounds(rounds) => Repetition {
                        name: None,
                        launches,
                        rounds: check_rounds(rounds).map_err(|d| (d, at))?,
                        end: None,
                    },
                    RepeatName::Name(name) => {
                        // The launches of a repetition are consecutive, so only the last repetition can grow.
                        let is_it = |other: &Repetition| other.name.as_ref() == Some(&name);
                        if let Some(last) = self.repetitions.last_mut()
                            && is_it(last)
                        {
                            last.launches.end = number + 1;
                            return Ok(last.rounds);
                        }
                        if self.repetitions.iter().any(is_it) {
                            let message = format!("the launches of {name} are not consecutive");
                            return Err((Diagnostic::new(message), at));
                        }
                        self.repetition(&name, all, launches)
                            .map_err(|(d, byte)| (d, byte.unwrap_or(at)))?
                    }
                }
            }
        };
        let rounds = repetition.rounds;
        self.repetitions.push(repetition);
        Ok(rounds)
    }

    /// Reads the `[[repeat]]` of a name.
    fn repetition(
        &self,
        name: &str,
        all: &[Spanned<RawRepeat>],
        launches: Range<usize>,
    ) -> Result<Repetition, (Diagnostic, Option<usize>)> {
        let mut named = all.iter().filter(|repeat| repeat.get_ref().name == name);
        let Some(repeat) = named.next() else {
            return Err((
                Diagnostic::new(format!("there is no [[repeat]] {name}")),
                None,
            ));
        };
        let fail = |mut diagnostic: Diagnostic| {
            diagnostic.message = format!("repeat {name}: {}", diagnostic.message);
            (diagnostic, Some(repeat.span().start))
        };
        if let Some(other) = named.next() {
            let message = format!("repeat {name}: it is defined twice");
            return Err((Diagnostic::new(message), Some(other.span().start)));
        }
        let raw = repeat.get_ref();
        let end = match (&raw.until, &raw.while_) {
            (Some(_), Some(_)) => {
                let message = "it has until and while, and may have one of them";
                return Err(fail(Diagnostic::new(message)));
            }
            (None, None) => None,
            (Some(condition), None) => Some((condition, true)),
            (None, Some(condition)) => Some((condition, false)),
        };
        let end = end.map(|(condition, is_until)| condition.read(&self.objects, is_until));
        Ok(Repetition {
            name: Some(name.to_owned()),
            launches,
            rounds: check_rounds(raw.count).map_err(fail)?,
            end: end.transpose().map_err(fail)?,
        })
    }

    /// Whether launches are in streams, so that several orders of execution are legal.
    pub fn has_streams(&self) -> bool {
        self.launches.iter().any(|launch| launch.stream.is_some())
    }
}

/// Checks a number of rounds.
fn check_rounds(rounds: u64) -> Result<u64, Diagnostic> {
    match (1..=LaunchSet::MAX_ROUNDS).contains(&rounds) {
        true => Ok(rounds),
        false => Err(Diagnostic::new(format!(
            "it has {rounds} rounds, not 1 to {}",
            LaunchSet::MAX_ROUNDS
        ))),
    }
}

/// Returns the objects without expected contents and output files. Each launch has these objects as its own; only the
/// set compares results, at the end.
fn sizes_of(objects: &LaunchFile) -> LaunchFile {
    let mut shared = objects.clone();
    let texels = shared.texels.iter_mut().map(|texels| &mut texels.buffer);
    let variables = shared.variables.iter_mut();
    for buffer in texels.chain(variables.map(|variable| &mut variable.buffer)) {
        buffer.expect = None;
        buffer.output = None;
    }
    shared
}

/// Finds a buffer of the set: its index, the type of its elements, and their number.
fn find_buffer(objects: &LaunchFile, name: &str) -> Result<(usize, ElementType, u64), Diagnostic> {
    let mut buffers = objects.buffers().enumerate();
    let found = buffers.find(|(_, (other, _))| *other == name);
    let (number, (_, buffer)) =
        found.ok_or_else(|| Diagnostic::new(format!("there is no [[buffer]] {name}")))?;
    let count = buffer.bytes.len() / buffer.element.size();
    Ok((number, buffer.element, count as u64))
}

/// Encodes a number of a buffer.
fn encode(element: ElementType, number: Number) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = Vec::new();
    match element.encode(number, &mut bytes) {
        Some(()) => Ok(bytes),
        None => Err(Diagnostic::new(format!("{number} is no {element}"))),
    }
}

/// Returns the error of an index past the end of a buffer.
fn past_the_end(buffer: &str, at: u64, count: u64) -> Diagnostic {
    Diagnostic::new(format!("{buffer} has {count} elements, none at {at}"))
}

impl RawCondition {
    fn read(&self, objects: &LaunchFile, is_until: bool) -> Result<EndCondition, Diagnostic> {
        let (buffer, element, count) = find_buffer(objects, &self.buffer)?;
        if self.at >= count {
            return Err(past_the_end(&self.buffer, self.at, count));
        }
        Ok(EndCondition {
            buffer,
            at: self.at,
            element,
            bytes: encode(element, self.equals)?,
            is_until,
        })
    }
}

impl RawWrite {
    fn read(&self, objects: &LaunchFile) -> Result<HostWrite, Diagnostic> {
        let (buffer, element, count) = find_buffer(objects, &self.buffer)?;
        let bytes = encode(element, self.value)?;
        let (first, repeated) = match self.at {
            // Without an index, the host fills the whole buffer.
            None => (0, count),
            Some(at) if at < count => (at, 1),
            Some(at) => return Err(past_the_end(&self.buffer, at, count)),
        };
        // Buffers are smaller than the address space.
        let whole = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Ok(HostWrite {
            buffer,
            offset: whole(first).saturating_mul(element.size()),
            bytes,
            count: whole(repeated),
        })
    }
}

impl RawLaunch {
    /// Reads a launch that is executed for at most `rounds` rounds; `at` is its byte of the file, `shared` has the
    /// objects without results.
    fn read(
        self,
        file: &str,
        at: usize,
        rounds: u64,
        objects: &LaunchFile,
        shared: &LaunchFile,
        reader: &mut ParamReader<'_>,
    ) -> Result<SetLaunch, LocatedError> {
        let name = self.name.or_else(|| self.kernel.clone());
        let name = name.unwrap_or_else(|| "launch".to_owned());
        let here = |mut diagnostic: Diagnostic| {
            diagnostic.message = format!("launch {name}: {}", diagnostic.message);
            diagnostic
        };
        let raw = Raw {
            kernel: self.kernel,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.dynamic_shared,
            stack: self.stack,
            caches: self.caches,
            param: self.param,
            variable: Vec::new(),
            buffer: Vec::new(),
            texture: Vec::new(),
            surface: Vec::new(),
            pointer: self.pointer,
        };
        let launch = LaunchFile::read(&raw, file, Some(shared), reader);
        let mut launch = launch.map_err(|(diagnostic, byte)| (here(diagnostic), byte))?;
        check_shared(&launch, objects.pointers.len()).map_err(|d| (here(d), at))?;
        let grid_step = match &self.grid_step {
            None => [0; 3],
            Some(by) => grid_steps(launch.grid, by.get_ref(), rounds)
                .map_err(|d| (here(d), by.span().start))?,
        };
        let mut steps = Vec::with_capacity(self.step.len());
        for (param, by) in &self.step {
            let step = ParamStep::read(&launch, param, *by.get_ref(), rounds);
            steps.push(step.map_err(|d| (here(d), by.span().start))?);
        }
        let mut writes = Vec::with_capacity(self.write.len());
        for write in &self.write {
            let written = write.get_ref().read(objects);
            writes.push(written.map_err(|d| (here(d), write.span().start))?);
        }
        // `SetContents` holds the contents once for all launches, since they change from launch to launch.
        contents::remove(&mut launch);
        Ok(SetLaunch {
            stream: (self.stream > 0).then_some(self.stream),
            name,
            launch,
            writes,
            steps,
            grid_step,
        })
    }
}

/// Checks that a launch has no buffers of its own, and that its own pointers, those after the first `shared` ones,
/// are in structures.
fn check_shared(launch: &LaunchFile, shared: usize) -> Result<(), Diagnostic> {
    let own = |value: &ParamValue| matches!(value, ParamValue::Buffer(_));
    if let Some(param) = launch.params.iter().find(|param| own(&param.value)) {
        let message = format!("parameter {}: it has a buffer of its own", param.name);
        let hint = "launches share buffers: write a [[buffer]], and buffer = \"NAME\" here";
        return Err(Diagnostic::new(message).hint(hint));
    }
    // The first pointers are those that all launches share.
    let mut own = launch.pointers.iter().skip(shared);
    match own.all(|pointer| matches!(pointer.location, PointerLocation::Param(_))) {
        true => Ok(()),
        false => Err(
            Diagnostic::new("a pointer of a launch is in one of its parameters")
                .hint("write pointers in buffers as [[pointer]], for all launches"),
        ),
    }
}

impl ParamStep {
    /// Reads the change of a parameter, and checks its value in the last round.
    fn read(
        launch: &LaunchFile,
        name: &str,
        by: i64,
        rounds: u64,
    ) -> Result<ParamStep, Diagnostic> {
        let position = launch.params.iter().position(|param| param.name == name);
        let position =
            position.ok_or_else(|| Diagnostic::new(format!("there is no parameter {name}")))?;
        let value = launch.params.get(position).map(|param| &param.value);
        let Some(ParamValue::Scalar {
            element: Some(element),
            bytes,
            ..
        }) = value
        else {
            return Err(Diagnostic::new(format!("parameter {name} is no number")));
        };
        let Some((least, _)) = element.range() else {
            let message = format!("parameter {name} is a float, and step is for integers");
            return Err(Diagnostic::new(message));
        };
        // The highest bit of a signed number is its sign, which fills the bytes above.
        let mut word = match (least < 0, bytes.last()) {
            (true, Some(high)) if high >> 7 == 1 => [0xff; 16],
            _ => [0; 16],
        };
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = *from;
        }
        let step = ParamStep {
            position,
            element: *element,
            first: i128::from_le_bytes(word),
            by: by.into(),
        };
        // The value changes linearly, so it stays in the range of the type if the last one does.
        encode(*element, step.value(rounds - 1))?;
        Ok(step)
    }

    /// Returns the value in a round, counted from 0.
    fn value(&self, round: u64) -> Number {
        Number::Integer(self.first + self.by * i128::from(round))
    }
}

impl SetLaunch {
    /// Checks the limits of the GPU and of the kernel in each of `rounds` rounds, before any launch of the set runs.
    ///
    /// # Errors
    ///
    /// A round exceeds a limit ([`check_limits`]); the diagnostic names the first.
    pub fn check_limits(&self, isa: Isa, kernel: &Kernel, rounds: u64) -> Result<(), Diagnostic> {
        let check = |round| check_limits(isa, kernel, &self.in_round(round));
        let is_bad = |round| check(round).is_err();
        // Only the grid changes, and each axis linearly. So if the first round is within the limits, a round that exceeds
        // one is followed by others that exceed it.
        let bad = match is_bad(0) {
            true => Some(0),
            false => first_round(rounds, is_bad),
        };
        let Err(mut found) = bad.map_or(Ok(()), check) else {
            return Ok(());
        };
        let round = match (self.grid_step, bad) {
            ([0, 0, 0], _) | (_, None) => String::new(),
            (_, Some(round)) => format!("round {}: ", round + 1),
        };
        found.message = format!("launch {}: {round}{}", self.name, found.message);
        Err(found)
    }

    /// Returns the launch of a round, counted from 0, without contents of buffers and variables.
    fn in_round(&self, round: u64) -> LaunchFile {
        let mut launch = self.launch.clone();
        // `grid_steps` and `ParamStep::read` have checked all rounds.
        launch.grid = grid_in_round(launch.grid, self.grid_step, round).unwrap_or(launch.grid);
        for step in &self.steps {
            let param = launch.params.get_mut(step.position);
            if let Some(ParamValue::Scalar { bytes, .. }) = param.map(|param| &mut param.value)
                && let Ok(now) = encode(step.element, step.value(round))
            {
                *bytes = now;
            }
        }
        launch
    }
}
