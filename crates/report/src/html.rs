//! Pages of HTML: one self-contained file each, readable without scripts, with a light and a dark scheme and for print.
//!
//! Numbers are those of the JSON report: nothing is computed or rounded here, and shares are drawn instead of written.

pub(crate) mod code;
pub(crate) mod kernel;

use std::fmt::Write as _;

/// Style sheet of all pages.
pub(crate) const STYLE: &str = include_str!("html/page.css");
/// Script of all pages: sorting, a filter, folding all. Without it, tables stay in their order.
pub(crate) const SCRIPT: &str = include_str!("html/page.js");

/// Steps of the colour scale of a share.
const STEPS: f64 = 9.0;

/// Returns text with the characters replaced that have a meaning in HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Returns the beginning of a page up to its content.
pub(crate) fn head(title: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1></header>\n<main>\n"
    )
}

/// Returns the end of a page after its content.
pub(crate) fn foot() -> String {
    format!("</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n")
}

/// Returns the class attribute of a cell whose background shows its share of the largest value; empty for 0.
pub(crate) fn heat(value: u128, largest: u128) -> String {
    if value == 0 {
        return String::new();
    }
    // Rounded up, so that each share that is not 0 has a colour.
    let step = (value as f64 / largest as f64 * STEPS).ceil();
    format!(" class=h{:.0}", step.clamp(1.0, STEPS))
}

/// Table whose rows are sorted by a click on a column head.
pub(crate) struct HtmlTable {
    out: String,
    /// Whether the column has numbers.
    numeric: Vec<bool>,
}

/// Cell of a table.
pub(crate) enum HtmlCell<'a> {
    /// Text, escaped by the table.
    Text(&'a str),
    /// Number or nothing.
    Number(Option<u128>),
    /// Number out of the largest of its column, which gives its colour.
    Share(u128, u128),
    /// HTML.
    Raw(String),
}

impl HtmlTable {
    /// Begins a table with a caption and column heads, each with whether its cells are numbers.
    pub(crate) fn new(caption: &str, heads: &[(&str, bool)]) -> HtmlTable {
        let label = escaped(caption);
        let mut out = format!(
            "<div class=\"scroll\" role=\"group\" aria-label=\"{label}\" tabindex=\"0\"><table class=\"sort\"><caption>{label}</caption>\n<thead><tr>"
        );
        for (head, is_number) in heads {
            let class = if *is_number { " class=\"n\"" } else { "" };
            let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escaped(head));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        HtmlTable {
            out,
            numeric: heads.iter().map(|(_, is_number)| *is_number).collect(),
        }
    }

    /// Appends a row; the first cell is its head. End tags that HTML does not need are left out.
    pub(crate) fn row(&mut self, cells: &[HtmlCell<'_>]) {
        self.out.push_str("<tr>");
        for (nth, (cell, is_number)) in cells.iter().zip(&self.numeric).enumerate() {
            let tag = match nth {
                0 => "th scope=row",
                _ => "td",
            };
            let plain = if *is_number { " class=n" } else { "" };
            let (class, text) = match cell {
                HtmlCell::Text(text) => (plain.to_owned(), escaped(text)),
                HtmlCell::Raw(html) => (plain.to_owned(), html.clone()),
                HtmlCell::Number(number) => {
                    let text = number.map_or(String::new(), |number| number.to_string());
                    (plain.to_owned(), text)
                }
                HtmlCell::Share(value, largest) => (heat(*value, *largest), value.to_string()),
            };
            let _ = write!(self.out, "<{tag}{class}>{text}");
        }
        self.out.push('\n');
    }

    /// Completes the table.
    pub(crate) fn finish(self) -> String {
        self.out + "</tbody></table></div>\n"
    }
}

#[cfg(test)]
mod tests;
