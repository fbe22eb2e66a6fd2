//! Kernel names as users write them: mangled, as C++ source spells them, or parts of these.

use crate::demangle::demangle;

/// Kernel name as a user writes it.
///
/// It matches a kernel if, ignoring spaces, it is one of these: the mangled name; the demangled name; the qualified
/// name, i.e. without return type and argument list (`bitonic::block<int>`), with or without the last template
/// arguments; the rest of that from a namespace or class on (`block<int>`, `block`); or, with a final `*`, a prefix of
/// any of these.
#[derive(Clone, Debug)]
pub struct NamePattern {
    /// The name as the user wrote it.
    given: String,
    /// The name without spaces and without the `*` at its end.
    text: String,
    is_prefix: bool,
}

/// Quality of a match, ascending. A name denotes the kernels that it matches best. For example, `scale` denotes the
/// kernel `scale` and not `outer::scale<float>`, although both match.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MatchQuality {
    /// A prefix, or the name without its namespaces.
    Part,
    /// The qualified name.
    Qualified,
    /// The whole name, mangled or demangled.
    Exact,
}

/// Maximum number of names in a message.
const SHOWN: usize = 8;
/// Approximate number of bytes of a name that are compared to find the nearest.
const COMPARED: usize = 128;

impl NamePattern {
    /// Parses a name as a user writes it.
    pub fn new(given: &str) -> NamePattern {
        let text = without_spaces(given);
        let prefix = text.strip_suffix('*').map(str::to_owned);
        NamePattern {
            given: given.to_owned(),
            is_prefix: prefix.is_some(),
            text: prefix.unwrap_or(text),
        }
    }

    /// Quality of the match with the kernel of a symbol; `None` if the name does not match.
    pub fn match_quality(&self, symbol: &str) -> Option<MatchQuality> {
        let demangled = demangle(symbol);
        let text = self.text.as_str();
        if self.is_prefix {
            let whole = without_spaces(&demangled);
            let qualified = without_spaces(qualified_name(&demangled));
            // A prefix may also begin at the last component, as in `blo*` for `bitonic::block`.
            let own = components(&qualified).last().copied().unwrap_or_default();
            let fits = [symbol, &whole, &qualified, own]
                .iter()
                .any(|name| name.starts_with(text));
            return fits.then_some(MatchQuality::Part);
        }
        if self.given == symbol || text == without_spaces(&demangled) {
            return Some(MatchQuality::Exact);
        }
        let qualified = without_spaces(qualified_name(&demangled));
        let (own, given) = (components(&qualified), components(text));
        let start = own.len().checked_sub(given.len())?;
        let mut pairs = own.get(start..)?.iter().zip(&given);
        // Template arguments may be left out at each component.
        let fits = pairs.all(|(own, given)| own == given || without_arguments(own) == *given);
        fits.then_some(match start {
            0 => MatchQuality::Qualified,
            _ => MatchQuality::Part,
        })
    }

    /// The kernels that the name matches best; empty if it matches none.
    pub fn best_matches<T>(&self, kernels: impl Iterator<Item = (T, impl AsRef<str>)>) -> Vec<T> {
        let mut best = None;
        let mut found = Vec::new();
        for (kernel, symbol) in kernels {
            let fit = self.match_quality(symbol.as_ref());
            if fit > best {
                best = fit;
                found.clear();
            }
            if fit.is_some() && fit == best {
                found.push(kernel);
            }
        }
        found
    }

    /// Hint for a name that matches no kernel: the nearest names.
    pub fn nearest_hint(&self, symbols: impl Iterator<Item = impl AsRef<str>>) -> String {
        // The distance takes quadratic time, so long template names are compared by their beginning.
        let lower = truncate(&self.text).to_lowercase();
        let mangled = lower.starts_with("_z");
        let mut names: Vec<(usize, usize, String)> = symbols
            .map(|symbol| {
                let symbol = symbol.as_ref();
                let name = match mangled {
                    true => symbol.to_owned(),
                    false => without_last_arguments(qualified_name(&demangle(symbol))).to_owned(),
                };
                let whole = without_spaces(&name).to_lowercase();
                let own = components(&whole).last().copied().unwrap_or_default();
                let distance = match whole.contains(&lower) {
                    true => 0,
                    false => [truncate(&whole), truncate(own)]
                        .iter()
                        .map(|name| edit_distance(&lower, name))
                        .min()
                        .unwrap_or(usize::MAX),
                };
                (distance, name.len(), name)
            })
            .collect();
        // By distance, then by length: with equal distances the shorter name is more likely meant.
        names.sort();
        names.dedup();
        let shown: Vec<&str> = names
            .iter()
            .take(SHOWN)
            .map(|(.., name)| name.as_str())
            .collect();
        match names.len() {
            0 => "the file has no kernels".to_owned(),
            n if n > SHOWN => format!("the nearest of {n} are {}", shown.join(", ")),
            _ => format!("the file has {}", shown.join(", ")),
        }
    }
}

/// List of the kernels that an ambiguous name matches, demangled from their `symbols`.
pub fn list_candidates(symbols: impl Iterator<Item = impl AsRef<str>>) -> String {
    let mut names: Vec<String> = symbols.map(|symbol| demangle(symbol.as_ref())).collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// The text without white space.
fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The first bytes of a name, about [`COMPARED`].
fn truncate(name: &str) -> &str {
    let mut ends = name.char_indices().map(|(at, _)| at);
    match ends.find(|at| *at >= COMPARED) {
        Some(end) => name.get(..end).unwrap_or(name),
        None => name,
    }
}

/// Demangled name without return type and argument list. Kernels return `void`. For example, `void k<int>(int*)`
/// becomes `k<int>`.
fn qualified_name(demangled: &str) -> &str {
    let name = demangled.strip_prefix("void ").unwrap_or(demangled);
    let Some(close) = name.rfind(')') else {
        return name;
    };
    let mut depth = 0u32;
    // From the end, because brackets of template arguments precede the argument list.
    for (at, byte) in name.bytes().enumerate().rev() {
        match byte {
            b')' if at <= close => depth += 1,
            b'(' if at < close => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            // `(anonymous namespace)` is not an argument list.
            return match name.get(..at) {
                Some(before) if at > 0 && !before.ends_with("::") => before,
                _ => name,
            };
        }
    }
    name
}

/// The components of a qualified name: split at each `::` outside brackets.
fn components(name: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    let bytes = name.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            // `at >= start` skips the second colon of a separator.
            b':' if depth == 0 && at >= start && bytes.get(at + 1) == Some(&b':') => {
                parts.push(name.get(start..at).unwrap_or_default());
                start = at + 2;
            }
            _ => {}
        }
    }
    parts.push(name.get(start..).unwrap_or_default());
    parts
}

/// A name without its template arguments.
fn without_arguments(name: &str) -> &str {
    match name.find('<') {
        Some(at) if at > 0 => name.get(..at).unwrap_or(name),
        _ => name,
    }
}

/// A qualified name without the template arguments at its end.
fn without_last_arguments(name: &str) -> &str {
    let last = components(name).last().copied().unwrap_or_default();
    let arguments = last.len() - without_arguments(last).len();
    name.get(..name.len() - arguments).unwrap_or(name)
}

/// Levenshtein distance: the minimum number of insertions, deletions and replacements of bytes. For example, `kitten`
/// and `sitting` have distance 3.
fn edit_distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        // One row of the table suffices: each cell needs only its left, upper and upper left neighbour.
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (above, b) in row.iter_mut().skip(1).zip(other.bytes()) {
            let here = (diagonal + usize::from(a != b))
                .min(left + 1)
                .min(*above + 1);
            diagonal = *above;
            *above = here;
            left = here;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "_ZN7bitonic5blockIiEEvPT_";

    #[test]
    fn a_kernel_has_several_names() {
        let fit = |name: &str| NamePattern::new(name).match_quality(BLOCK);
        assert_eq!(demangle(BLOCK), "void bitonic::block<int>(int*)");
        for name in [
            BLOCK,
            "void bitonic::block<int>(int*)",
            "void bitonic::block<int>(int *)",
        ] {
            assert_eq!(fit(name), Some(MatchQuality::Exact), "{name}");
        }
        for name in [
            "bitonic::block<int>",
            "bitonic::block",
            "bitonic::block< int >",
        ] {
            assert_eq!(fit(name), Some(MatchQuality::Qualified), "{name}");
        }
        for name in [
            "block",
            "block<int>",
            "blo*",
            "bitonic::b*",
            "_ZN7bitonic*",
            "void bit*",
            "*",
        ] {
            assert_eq!(fit(name), Some(MatchQuality::Part), "{name}");
        }
        for name in [
            "",
            "bloc",
            "lock",
            "bitonic",
            "block<float>",
            "a::bitonic::block",
            "lock*",
            "Block",
            "b*k",
        ] {
            assert_eq!(fit(name), None, "{name}");
        }
    }

    #[test]
    fn names_without_arguments_or_with_brackets() {
        assert_eq!(
            NamePattern::new("if_only").match_quality("if_only"),
            Some(MatchQuality::Exact)
        );
        assert_eq!(
            NamePattern::new("if_o*").match_quality("if_only"),
            Some(MatchQuality::Part)
        );
        assert_eq!(
            qualified_name("void (anonymous namespace)::k<int>(void (*)(int), S<(E)1>)"),
            "(anonymous namespace)::k<int>"
        );
        assert_eq!(
            qualified_name("void k<f(int)::{lambda()#1}>(f(int)::{lambda()#1})"),
            "k<f(int)::{lambda()#1}>"
        );
        for odd in [
            "",
            ")",
            "(",
            "void ",
            ")(",
            "a)",
            "(a)",
            "x::(a)",
            "void f)(((",
            "<<::>>::",
        ] {
            let name = qualified_name(odd);
            assert!(odd.contains(name));
            components(name);
        }
        assert_eq!(components("a::b<c::d>::e"), ["a", "b<c::d>", "e"]);
    }

    #[test]
    fn those_that_fit_best_are_meant() {
        let names = ["scale", "_ZN5outer5scaleIfEEvPf", "_Z5scalei"];
        let best = |name: &str| NamePattern::new(name).best_matches(names.iter().enumerate());
        assert_eq!(best("scale"), [0]);
        assert_eq!(best("scale(int)"), [2]);
        assert_eq!(best("scale<float>"), [1]);
        assert_eq!(best("scale*"), [0, 1, 2]);
        assert_eq!(best("nothing"), Vec::<usize>::new());
    }

    #[test]
    fn the_nearest_are_suggested() {
        let near = |name: &str, of: &[&str]| NamePattern::new(name).nearest_hint(of.iter());
        assert_eq!(
            near("blokc", &["saxpy", BLOCK]),
            "the file has bitonic::block, saxpy"
        );
        let instances = ["_ZN7bitonic5blockIdEEvPT_", "saxpy", BLOCK];
        assert_eq!(near("s", &instances), "the file has saxpy, bitonic::block");
        assert_eq!(near("x", &[]), "the file has no kernels");
        let many: Vec<String> = (0..20).map(|n| format!("kernel_{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let said = near("kernal_17", &many);
        assert!(
            said.starts_with("the nearest of 20 are kernel_17, "),
            "{said}"
        );
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", ""), 3);
    }
}
