//! Demangling of C++ names, limited in length. For example, `_Z5scalePf` is `scale(float*)`.

use std::fmt;

use cpp_demangle::DemangleOptions;

/// Maximum length in bytes of a mangled name that is demangled, and of the result. Longer names stay mangled.
const DEMANGLE_LIMIT: usize = 16 * 1024;

/// Demangles a C++ name; returns other names, and names of excessive length, unchanged.
pub fn demangle(name: &str) -> String {
    let mangled = || name.to_owned();
    if !name.starts_with("_Z") || name.len() > DEMANGLE_LIMIT {
        return mangled();
    }
    let Ok(symbol) = cpp_demangle::Symbol::new(name) else {
        return mangled();
    };
    let mut out = Bounded(String::new());
    // `Display` of the symbol has no limit on its output.
    match symbol.structured_demangle(&mut out, &DemangleOptions::default()) {
        Ok(()) => out.0,
        Err(fmt::Error) => mangled(),
    }
}

/// Text buffer limited to [`DEMANGLE_LIMIT`]: substitutions let a short mangled name stand for a very long one.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > DEMANGLE_LIMIT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
