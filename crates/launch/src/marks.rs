//! Marks files: the branches at which waves split.
//!
//! ```toml
//! [[site]]
//! kernel = "bfs_expand"
//! address = 0x0138
//! ```
//!
//! A site without a kernel applies to every kernel for which the file is used.

use serde::Deserialize;
use warpbound_base::{CodeAddr, Diagnostic};

/// Branches of a marks file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkedSites {
    sites: Vec<(Option<String>, CodeAddr)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarksRow {
    #[serde(default)]
    site: Vec<SiteRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteRow {
    kernel: Option<String>,
    address: u32,
}

impl MarkedSites {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The text is not TOML of this form, or marks a site twice.
    pub fn parse(file: &str, text: &str) -> Result<MarkedSites, Diagnostic> {
        let rows: MarksRow = toml::from_str(text).map_err(|error| {
            // The message may quote control characters of the file.
            let message = error.message().replace(char::is_control, "\u{fffd}");
            let diagnostic = Diagnostic::new(message);
            match error.span() {
                Some(span) => {
                    let before = text.get(..span.start).unwrap_or_default();
                    let line = before.matches('\n').count() + 1;
                    diagnostic.at(format_args!("line {line}"))
                }
                None => diagnostic,
            }
            .in_file(file)
        })?;
        let mut marked = MarkedSites::default();
        for row in rows.site {
            let addr = CodeAddr(row.address);
            if !marked.add(row.kernel, addr) {
                let message = format!("the site at {addr} is marked twice");
                return Err(Diagnostic::new(message).in_file(file));
            }
        }
        Ok(marked)
    }

    /// Adds a site; `false` if it is there already.
    pub fn add(&mut self, kernel: Option<String>, addr: CodeAddr) -> bool {
        let site = (kernel, addr);
        let is_new = !self.sites.contains(&site);
        if is_new {
            self.sites.push(site);
        }
        is_new
    }

    /// Returns the addresses that are marked in a kernel with these names, in ascending order.
    pub fn of_kernel(&self, names: &[&str]) -> Vec<CodeAddr> {
        let sites = self.sites.iter();
        let is_meant = |kernel: &Option<String>| match kernel {
            Some(kernel) => names.contains(&kernel.as_str()),
            None => true,
        };
        let of_kernel = sites.filter(|(kernel, _)| is_meant(kernel));
        let mut found: Vec<CodeAddr> = of_kernel.map(|(_, addr)| *addr).collect();
        found.sort_unstable();
        // An address may be marked for this kernel and again for all kernels.
        found.dedup();
        found
    }

    /// Text of the file.
    pub fn text(&self) -> String {
        let mut text = "# Branches at which waves split.\n".to_owned();
        for (kernel, addr) in &self.sites {
            text.push_str("\n[[site]]\n");
            if let Some(kernel) = kernel {
                let name = toml::Value::String(kernel.clone());
                text.push_str(&format!("kernel = {name}\n"));
            }
            text.push_str(&format!("address = {:#06x}\n", addr.0));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_they_are_written() {
        let mut marked = MarkedSites::default();
        assert!(marked.add(Some("a \"b\"".to_owned()), CodeAddr(0x138)));
        assert!(marked.add(None, CodeAddr(0x10)));
        assert!(!marked.add(None, CodeAddr(0x10)));
        let read = MarkedSites::parse("marks.toml", &marked.text()).expect("it is read");
        assert_eq!(read, marked);
        let addresses = |name| read.of_kernel(&[name]);
        assert_eq!(addresses("a \"b\""), [CodeAddr(0x10), CodeAddr(0x138)]);
        assert_eq!(addresses("c"), [CodeAddr(0x10)]);
    }

    #[test]
    fn other_files_are_refused_with_the_line() {
        let error = |text| {
            let error = MarkedSites::parse("marks.toml", text);
            error.expect_err("an error").to_string()
        };
        let twice = "[[site]]\naddress = 16\n[[site]]\naddress = 0x10\n";
        assert!(error(twice).contains("twice"));
        assert!(error("[[site]]\naddress = -1\n").contains("line 2"));
        assert!(error("[[site]]\naddres = 1\n").contains("line 2"));
        assert!(error("sites = 1\n").contains("line 1"));
    }
}
