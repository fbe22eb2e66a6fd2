//! Contents of the buffers and variables of a launch set between its launches.

use warpbound_base::Diagnostic;
use warpbound_load::demangle;

use super::super::{ElementType, LaunchBuffer, LaunchFile, LaunchVariable, PointerLocation};
use super::{EndCondition, HostWrite, LaunchSet, SetLaunch};
use crate::memory::GlobalMemory;

/// Removes the contents of buffers and variables; their types and shapes stay.
pub(super) fn remove(launch: &mut LaunchFile) {
    for texels in &mut launch.texels {
        texels.buffer.bytes.clear();
    }
    launch.variables.clear();
}

/// Contents of buffers and variables between the launches of a set: at first from the file, then as the last launch
/// left them.
#[derive(Clone, Debug)]
pub struct SetContents {
    /// Contents of the buffers, in the order of the set.
    buffers: Vec<Vec<u8>>,
    /// Variables of the set, and further ones that the launches found in memory.
    variables: Vec<LaunchVariable>,
    /// Whether a launch left the contents of each variable of the set, which then hold their addresses.
    kept: Vec<bool>,
    /// Whether a launch left contents; the buffers then hold their addresses.
    has_begun: bool,
}

impl SetContents {
    /// Returns the contents that the file gives.
    pub fn of(set: &LaunchSet) -> SetContents {
        let texels = set.objects.texels.iter();
        let mut variables = set.objects.variables.clone();
        // Results are compared once, after the last launch.
        for variable in &mut variables {
            variable.buffer.expect = None;
            variable.buffer.output = None;
        }
        SetContents {
            buffers: texels.map(|texels| texels.buffer.bytes.clone()).collect(),
            kept: vec![false; variables.len()],
            variables,
            has_begun: false,
        }
    }

    /// Returns a launch in a round, counted from 0, with these contents. It expects no results.
    pub fn launch(&self, launch: &SetLaunch, round: u64) -> LaunchFile {
        let mut file = launch.in_round(round);
        for (texels, contents) in file.texels.iter_mut().zip(&self.buffers) {
            texels.buffer.bytes.clone_from(contents);
        }
        file.variables.clone_from(&self.variables);
        // Contents that a launch left hold their addresses already, because all launches place the objects at the
        // same addresses.
        file.pointers.retain(|pointer| match pointer.location {
            PointerLocation::Param(_) => true,
            PointerLocation::Buffer(_) => !self.has_begun,
            PointerLocation::Variable(number) => !self.kept.get(number).copied().unwrap_or(false),
        });
        file
    }

    /// Applies a write of the host.
    pub fn write(&mut self, write: &HostWrite) {
        if let Some(contents) = self.buffers.get_mut(write.buffer) {
            let rest = contents.get_mut(write.offset..).unwrap_or_default();
            for to in rest
                .chunks_exact_mut(write.bytes.len().max(1))
                .take(write.count)
            {
                to.copy_from_slice(&write.bytes);
            }
        }
    }

    /// Whether a condition holds, so that its repetition ends.
    pub fn is_ended(&self, end: &EndCondition) -> bool {
        // `RawCondition::read` has checked the index, so the number exists.
        let found = self.number(end).unwrap_or_default();
        (*found == *end.bytes) == end.is_until
    }

    /// Describes the number that a condition tests, for example `flag[0] is 1`.
    pub fn describe(&self, set: &LaunchSet, end: &EndCondition) -> String {
        let name = set.objects.buffers().nth(end.buffer);
        format!(
            "{}[{}] is {}",
            name.map_or("?", |(name, _)| name),
            end.at,
            end.element
                .format_value(self.number(end).unwrap_or_default())
        )
    }

    /// Returns the bytes of the number that a condition tests.
    fn number(&self, end: &EndCondition) -> Option<&[u8]> {
        let size = end.element.size();
        let start = usize::try_from(end.at).ok()?.checked_mul(size)?;
        let contents = self.buffers.get(end.buffer)?;
        contents.get(start..start.checked_add(size)?)
    }

    /// Takes over the contents of memory after a launch.
    ///
    /// # Errors
    ///
    /// Several variables of the module have the same name and cannot be distinguished, or a launch has changed memory
    /// that the runtime owns: the module of an AMD GPU, except for variables that the set names.
    pub fn keep(&mut self, memory: &GlobalMemory) -> Result<(), Diagnostic> {
        // Memory has the buffers of the set first, then the variables.
        let (buffers, variables) = memory
            .buffers()
            .split_at_checked(self.buffers.len())
            .unwrap_or_default();
        for (to, from) in self.buffers.iter_mut().zip(buffers) {
            to.clone_from(&from.bytes);
        }
        for (number, variable) in variables.iter().enumerate() {
            if let Some(start) = &variable.of_runtime {
                let mut end = variable.bytes.clone();
                let place = self.buffers.len().saturating_add(number);
                let inner = memory.inner().filter(|(inner, _)| inner.buffer == place);
                for (inner, bytes) in inner {
                    self.keep_variable(&inner.name, bytes);
                    let range = inner.range.clone();
                    // Named variables may change, so the comparison below leaves their bytes out.
                    if let (Some(to), Some(from)) = (end.get_mut(range.clone()), start.get(range)) {
                        to.copy_from_slice(from);
                    }
                }
                if *start != end {
                    let message = format!(
                        "a launch changes {}, whose contents are not kept between launches",
                        variable.name
                    );
                    return Err(Diagnostic::new(message).hint("pass a buffer"));
                }
                continue;
            }
            let mut others = variables.iter().skip(number + 1);
            if others.any(|other| other.name == variable.name) {
                let name = demangle(&variable.name);
                return Err(Diagnostic::new(format!(
                    "several variables of the module are called {name}: their contents cannot be kept between launches"
                )));
            }
            self.keep_variable(&variable.name, &variable.bytes);
        }
        self.has_begun = true;
        Ok(())
    }

    /// Takes over the contents of a variable.
    fn keep_variable(&mut self, name: &str, bytes: &[u8]) {
        let mut named = self.variables.iter_mut().enumerate();
        let named =
            named.find(|(_, variable)| variable.name == name || variable.name == demangle(name));
        match named {
            Some((number, variable)) => {
                variable.buffer.bytes = bytes.to_vec();
                if let Some(kept) = self.kept.get_mut(number) {
                    *kept = true;
                }
            }
            // The set does not name this variable, but a later launch may read what this one left in it.
            None => self.variables.push(LaunchVariable {
                name: name.to_owned(),
                buffer: LaunchBuffer {
                    element: ElementType::U8,
                    shape: vec![bytes.len() as u64],
                    bytes: bytes.to_vec(),
                    expect: None,
                    output: None,
                    range: None,
                },
            }),
        }
    }
}
