use std::fmt;

/// Position in the user's input that a diagnostic points to; every part is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// File name as the user gave it.
    pub file: Option<String>,
    /// Kernel (or function) name.
    pub kernel: Option<String>,
    /// Position inside the file or kernel, as text: `offset 0x40`, `line 3`, `0x0188`.
    pub position: Option<String>,
    /// Source line `file:line`, where the binary records one.
    pub source: Option<String>,
}

/// Error message for the user, with location and hint.
///
/// Displays as one line: `file: kernel K: position: message (source); hint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Location in the input. Boxed to keep `Result<T, Diagnostic>` small where there is no error.
    pub location: Box<Location>,
    /// Problem, in one clause without a trailing period.
    pub message: String,
    /// Suggested action, if there is one.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Creates a diagnostic without a location.
    pub fn new(message: impl Into<String>) -> Self {
        Diagnostic {
            location: Box::default(),
            message: message.into(),
            hint: None,
        }
    }

    /// Sets the suggested action.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the file name, unless one is set.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.location.file.get_or_insert_with(|| file.into());
        self
    }

    /// Adds the kernel name, unless one is set.
    #[must_use]
    pub fn in_kernel(mut self, kernel: impl Into<String>) -> Self {
        self.location.kernel.get_or_insert_with(|| kernel.into());
        self
    }

    /// Adds the line that holds byte `byte` of `text`, unless a position is set.
    #[must_use]
    pub fn at_byte(self, text: &str, byte: usize) -> Self {
        // A parser may report a byte past the end or inside a character: then the last line counts.
        let before = text.get(..byte).unwrap_or(text);
        self.at(format_args!("line {}", before.matches('\n').count() + 1))
    }

    /// Creates a diagnostic from a parser's error message about `text`, put on one line and stripped of control
    /// characters; `at` is the byte of the text that it refers to.
    pub fn for_text(file: &str, text: &str, message: &str, at: Option<usize>) -> Self {
        // A diagnostic is one line, but messages of parsers may have several and may quote control characters of the
        // text.
        let message = message.trim().replace('\n', ", ");
        let diagnostic =
            Diagnostic::new(message.replace(char::is_control, "\u{fffd}")).in_file(file);
        match at {
            Some(byte) => diagnostic.at_byte(text, byte),
            None => diagnostic,
        }
    }

    /// Adds a position, unless one is set.
    #[must_use]
    pub fn at(mut self, position: impl fmt::Display) -> Self {
        self.location
            .position
            .get_or_insert_with(|| position.to_string());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = &self.location;
        if let Some(file) = &location.file {
            write!(f, "{file}: ")?;
        }
        if let Some(kernel) = &location.kernel {
            f.write_str("kernel ")?;
            // Names come from files: a control character would break the line.
            for character in kernel.chars() {
                match character.is_control() {
                    true => write!(f, "{}", character.escape_default())?,
                    false => write!(f, "{character}")?,
                }
            }
            f.write_str(": ")?;
        }
        if let Some(position) = &location.position {
            write!(f, "{position}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(source) = &location.source {
            write!(f, " ({source})")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
