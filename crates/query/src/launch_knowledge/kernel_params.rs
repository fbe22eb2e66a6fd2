//! Parameters of a kernel: their names and kinds, and the statements that suit them.
//!
//! Cubins contain offsets and sizes of parameters, but no names and types. Names come from a launch file; without
//! one, the parameter at position 2 is called `p2`, and `p2[4]` is the word at its byte 4.

use warpbound_base::Diagnostic;
use warpbound_launch::{ElementType, LaunchFile, ParamValue};
use warpbound_load::Kernel;

use crate::{
    stated_launches::NumberRange, stated_launches::StatedLaunches, stated_launches::StatedParam,
};

/// Parameter of a kernel.
pub(super) struct KernelParam {
    /// Name in the launch file; `p2` if the parameter at position 2 has none.
    pub(super) name: String,
    pub(super) position: usize,
    /// Byte offset in the constant bank.
    pub(super) offset: u32,
    /// Size in bytes.
    pub(super) size: u32,
    kind: ParamKind,
}

/// Kind of a parameter, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParamKind {
    /// Number of a type.
    Number(ElementType),
    /// Structure.
    Structure,
    /// Address of a buffer.
    Address,
    /// Texture or surface.
    Object,
    /// Any: cubins do not contain types.
    Unknown,
}

impl KernelParam {
    /// Lists the parameters of a kernel.
    pub(super) fn list(kernel: &Kernel, file: Option<&LaunchFile>) -> Vec<KernelParam> {
        let first = kernel.param_block.as_ref().map_or(0, |block| block.offset);
        let own = kernel.params.iter().enumerate();
        own.map(|(position, own)| {
            let given = file.and_then(|file| file.params.get(position));
            let name = given.map(|given| given.name.clone());
            KernelParam {
                // A number alone would be read as a constant in expressions.
                name: name
                    .filter(|name| !name.bytes().all(|byte| byte.is_ascii_digit()))
                    .unwrap_or_else(|| format!("p{position}")),
                position,
                offset: u32::from(first) + u32::from(own.offset),
                size: own.size.into(),
                kind: match given.map(|given| &given.value) {
                    None => ParamKind::Unknown,
                    Some(ParamValue::Scalar { element, .. }) => {
                        element.map_or(ParamKind::Structure, ParamKind::Number)
                    }
                    Some(ParamValue::Buffer(_) | ParamValue::Alias { .. }) => ParamKind::Address,
                    Some(ParamValue::Texture(_) | ParamValue::Surface(_)) => ParamKind::Object,
                },
            }
        })
        .collect()
    }

    /// Returns name and size for messages.
    fn text(&self) -> String {
        let bytes = match self.size {
            1 => "1 byte".to_owned(),
            size => format!("{size} bytes"),
        };
        format!("{} ({bytes})", self.name)
    }

    /// Whether the words of the parameter are elements of a structure, rather than the halves of one number.
    pub(super) fn has_elements(&self) -> bool {
        self.kind == ParamKind::Structure || !matches!(self.size, 1 | 2 | 4 | 8)
    }
}

/// Part of a parameter to which a statement applies.
pub(super) struct ParamPart<'a> {
    pub(super) param: &'a KernelParam,
    /// Byte offset of a word in the parameter; `None` for the parameter as a number.
    pub(super) word: Option<u32>,
}

/// Finds the parameter with a name or a position, see [`StatedParam::name`]; `None` if there is none.
///
/// # Errors
///
/// The parameter has no word at the byte offset.
pub(super) fn find_param<'a>(
    params: &'a [KernelParam],
    name: &str,
) -> Result<Option<ParamPart<'a>>, Diagnostic> {
    let find = |name: &str| {
        let position = name.strip_prefix('p').unwrap_or(name).parse().ok();
        // Names come first, because a launch file may call the parameter at position 3 `p1`.
        let named = params.iter().find(|param| param.name == name);
        named.or_else(|| params.iter().find(|param| Some(param.position) == position))
    };
    if let Some(param) = find(name) {
        return Ok(Some(ParamPart { param, word: None }));
    }
    let parts = name.strip_suffix(']').and_then(|name| name.split_once('['));
    let Some((base, offset)) = parts else {
        return Ok(None);
    };
    let (Some(param), Ok(offset)) = (find(base), offset.parse::<u32>()) else {
        return Ok(None);
    };
    // Saturating, because the offset is a number from the user.
    let is_word = offset.is_multiple_of(4) && offset.saturating_add(4) <= param.size;
    // Contents are kept for aligned words of the bank, so the parameter has to begin at one.
    match is_word && param.offset.is_multiple_of(4) {
        true => Ok(Some(ParamPart {
            param,
            word: Some(offset),
        })),
        false => Err(Diagnostic::new(format!(
            "parameter {} has no word at byte {offset}",
            param.text()
        ))),
    }
}

/// Whether a kernel has the parameter of a statement.
pub(crate) fn has_param(kernel: &Kernel, launches: &StatedLaunches, stated: &StatedParam) -> bool {
    let params = KernelParam::list(kernel, launches.file.as_deref());
    // A wrong offset means that the parameter exists; it is refused when the launches of the kernel are made.
    !matches!(find_param(&params, &stated.name), Ok(None))
}

/// Lists the parameters of a kernel for messages.
pub(crate) fn param_list(kernel: &Kernel, launches: &StatedLaunches) -> String {
    let params = KernelParam::list(kernel, launches.file.as_deref());
    match params.is_empty() {
        true => "it has none".to_owned(),
        false => {
            let names: Vec<String> = params.iter().map(KernelParam::text).collect();
            format!("it has {}", names.join(", "))
        }
    }
}

impl ParamPart<'_> {
    /// Checks that the values of a statement suit the parameter.
    pub(super) fn check(&self, stated: &StatedParam) -> Result<(), Diagnostic> {
        let fail = |reason: String| {
            let message = format!("--param {}: {reason}", stated.name);
            Err(Diagnostic::new(message))
        };
        // The sign of the type is unknown, so both readings are allowed: for 1 byte, -128 to 255.
        let unsigned = |bytes: u32| (-(1i128 << (8 * bytes - 1)), (1i128 << (8 * bytes)) - 1);
        let param = self.param;
        let limits = match (param.kind, self.word) {
            (ParamKind::Address, _) => {
                return fail("it is the address of a buffer, not a number".to_owned());
            }
            (ParamKind::Object, _) => {
                return fail("it is a texture or surface, not a number".to_owned());
            }
            (ParamKind::Number(element), _) if element.is_float() => {
                return fail(format!("it is {element}, and ranges are for integers"));
            }
            (_, Some(_)) => unsigned(4),
            (ParamKind::Number(element), None) => {
                element.range().unwrap_or_else(|| unsigned(param.size))
            }
            (ParamKind::Structure | ParamKind::Unknown, None) if param.has_elements() => {
                return fail(format!(
                    "it has {} bytes: state its words, such as {}[0]",
                    param.size, param.name
                ));
            }
            (ParamKind::Structure | ParamKind::Unknown, None) => unsigned(param.size),
        };
        let range = stated.range;
        // A number that begins within a word shares both words with other parameters, and no ranges of words describe
        // it. A single value has known bytes, which may be anywhere.
        let is_whole_words = param.size < 4 || param.offset.is_multiple_of(4);
        if self.word.is_none() && !is_whole_words && range.only().is_none() {
            return fail(format!(
                "it does not begin at a word (byte {} of the constant bank), so it is no number of {} bytes: state each value alone",
                param.offset, param.size
            ));
        }
        let (least, most) = limits;
        if !(NumberRange { least, most }.contains(range)) {
            return fail(format!(
                "{range} is not in the range of its type, {least} to {most}"
            ));
        }
        Ok(())
    }
}
