use std::fmt;

/// Where in the user's input a diagnostic points; every part is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// File name as the user gave it.
    pub file: Option<String>,
    /// Kernel (or function) name.
    pub kernel: Option<String>,
    /// A position inside the file or kernel, already spelled: `offset 0x40`, `line 3`, `0x0188`.
    pub position: Option<String>,
    /// Source line `file:line`, where the binary records one.
    pub source: Option<String>,
}

/// One message for the user: where, what, and what to do.
///
/// Displays as one line: `file: kernel K: position: what (source): do this`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where. Boxed, so that a `Result` stays small on the way that has no diagnostic.
    pub place: Box<Location>,
    /// What is wrong, one clause, no trailing period.
    pub what: String,
    /// What the user can do about it, when there is something.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A diagnostic without a place yet.
    pub fn new(what: impl Into<String>) -> Self {
        Diagnostic {
            place: Box::default(),
            what: what.into(),
            hint: None,
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the file name, unless one is known already.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.place.file.get_or_insert_with(|| file.into());
        self
    }

    /// Adds the kernel name, unless one is known already.
    #[must_use]
    pub fn in_kernel(mut self, kernel: impl Into<String>) -> Self {
        self.place.kernel.get_or_insert_with(|| kernel.into());
        self
    }

    /// Adds the line of a byte of a text, unless a position is known already.
    #[must_use]
    pub fn at_byte(self, text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        self.at(format_args!("line {}", before.matches('\n').count() + 1))
    }

    /// What the reader of a text says of it, on one line and without control characters; `at` is the byte it means.
    pub fn of_text(file: &str, text: &str, said: &str, at: Option<usize>) -> Self {
        let said = said.trim().replace('\n', ", ");
        let diagnostic = Diagnostic::new(said.replace(char::is_control, "\u{fffd}")).in_file(file);
        match at {
            Some(byte) => diagnostic.at_byte(text, byte),
            None => diagnostic,
        }
    }

    /// Adds a position, unless one is known already.
    #[must_use]
    pub fn at(mut self, position: impl fmt::Display) -> Self {
        self.place
            .position
            .get_or_insert_with(|| position.to_string());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        if let Some(file) = &place.file {
            write!(f, "{file}: ")?;
        }
        if let Some(kernel) = &place.kernel {
            write!(f, "kernel {kernel}: ")?;
        }
        if let Some(position) = &place.position {
            write!(f, "{position}: ")?;
        }
        f.write_str(&self.what)?;
        if let Some(source) = &place.source {
            write!(f, " ({source})")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
