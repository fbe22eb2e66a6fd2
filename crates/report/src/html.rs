//! Pages of HTML. Each is one self-contained file, readable without scripts, with a light and a dark scheme and for
//! print.
//!
//! Numbers are the same as in the JSON report: nothing is computed or rounded here, and shares are drawn, not
//! written.

pub(crate) mod shards;

use std::fmt::Write as _;

/// Style sheet of all pages.
pub(crate) const STYLE: &str = include_str!("html/page.css");
/// Script of all pages: sorting, a filter, and folding of all sections. Without it, tables keep their order.
pub(crate) const SCRIPT: &str = include_str!("html/page.js");

/// Number of steps in the colour scale of a share.
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
            // Text may have these two control characters.
            '\n' | '\t' => out.push(c),
            // A reference to a control character is an error in HTML as well.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Returns the beginning of a page, up to its content.
pub(crate) fn head(title: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1></header>\n<main>\n"
    )
}

/// Returns the end of a page, after its content.
pub(crate) fn foot() -> String {
    format!("</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n")
}

/// Beginning of a section that is folded.
const SECTION: &str = "<details class=\"kernel\">";

/// End of a section.
pub(crate) const SECTION_END: &str = "</div></details>\n";

/// Returns the beginning of a folded section. `id` is its name in the page.
pub(crate) fn section_head(title: &str, id: &str) -> String {
    let title = escaped(title);
    format!("{SECTION}<summary><h2>{title}</h2></summary>\n<div id=\"{id}\">\n")
}

/// Returns the only section of a page unfolded.
pub(crate) fn unfolded(section: &str) -> String {
    section.replacen(SECTION, "<details class=\"kernel\" open>", 1)
}

/// Returns a number with a fraction, with the same digits as in JSON.
pub(crate) fn number(value: f64) -> String {
    crate::to_json(&value).trim_end().to_owned()
}

/// Returns a size in x, y and z.
pub(crate) fn size([x, y, z]: [u32; 3]) -> String {
    format!("{x} × {y} × {z}")
}

/// Appends lines of text under a head. Its level is 2 in a page and 3 in a section.
pub(crate) fn list(level: u8, head: &str, lines: &[String], out: &mut String) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(out, "<h{level}>{head}</h{level}>\n<ul>\n");
    for line in lines {
        let _ = writeln!(out, "<li>{}</li>", escaped(line));
    }
    out.push_str("</ul>\n");
}

/// Returns the class attribute of a cell whose background shows its share of the largest value; empty for 0.
pub(crate) fn heat(value: u128, largest: u128) -> String {
    shade('h', value, largest)
}

/// Returns the class attribute for a step of a colour scale; empty for 0.
fn shade(scale: char, value: u128, largest: u128) -> String {
    if value == 0 {
        return String::new();
    }
    // Rounded up, so that every share other than 0 has a colour. A value above the largest one, or a largest one of
    // 0, is clamped to the darkest step.
    let step = (value as f64 / largest as f64 * STEPS).ceil();
    format!(" class={scale}{:.0}", step.clamp(1.0, STEPS))
}

/// Returns the attributes of a cell with a bar whose length is the share of a number in another one.
fn bar(value: i128, all: u128) -> String {
    // A bar cannot have a negative length, and a whole of 0 must not be divided by.
    let percent = value.max(0) as f64 * 100.0 / all.max(1) as f64;
    format!(" class=b style=--w:{percent:.1}%")
}

/// Table whose rows a click on a column head sorts.
pub(crate) struct HtmlTable {
    out: String,
    is_empty: bool,
    /// Whether each column has numbers.
    numeric: Vec<bool>,
}

/// Cell of a table.
pub(crate) enum HtmlCell<'a> {
    /// Text, escaped by the table.
    Text(&'a str),
    /// Number or nothing.
    Number(Option<u128>),
    /// Number that may be negative, or nothing.
    Signed(Option<i128>),
    /// Number and the largest number of its column. The quotient gives the colour.
    Share(u128, u128),
    /// Difference with a sign, or nothing, and the number that changed. The colour shows growth or decrease, and its
    /// size in relation to that number.
    Change(Option<i128>, u128),
    /// Number or nothing, over a bar whose length is its share in another number. A negative number has no bar.
    Bar(Option<i128>, u128),
    /// HTML that is written as it is.
    Raw(String),
}

impl HtmlCell<'_> {
    /// Returns the cell for a change of an old number.
    pub(crate) fn of_change(change: Option<i128>, old: Option<u128>) -> HtmlCell<'static> {
        HtmlCell::Change(change, old.unwrap_or(0))
    }
}

impl HtmlTable {
    /// Begins a table with a caption and column heads, each with a flag for numbers. End tags and quotes that HTML
    /// does not need are left out.
    pub(crate) fn new(caption: &str, heads: &[(&str, bool)]) -> HtmlTable {
        let label = escaped(caption);
        let mut out = format!(
            "<div class=scroll role=group aria-label=\"{label}\" tabindex=0><table class=sort><caption>{label}</caption>\n<thead><tr>"
        );
        for (head, is_number) in heads {
            let class = if *is_number { " class=n" } else { "" };
            let _ = write!(out, "<th scope=col{class}>{}", escaped(head));
        }
        out.push_str("<tbody>\n");
        HtmlTable {
            out,
            is_empty: true,
            numeric: heads.iter().map(|(_, is_number)| *is_number).collect(),
        }
    }

    /// Appends a row. The first cell is its head.
    pub(crate) fn row(&mut self, cells: &[HtmlCell<'_>]) {
        self.is_empty = false;
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
                HtmlCell::Signed(number) => {
                    let text = number.map_or(String::new(), |number| number.to_string());
                    (plain.to_owned(), text)
                }
                // Without a colour, to differ from the smallest share.
                HtmlCell::Share(0, _) => (plain.to_owned(), "0".to_owned()),
                HtmlCell::Share(value, largest) => (heat(*value, *largest), value.to_string()),
                HtmlCell::Bar(None, _) => (plain.to_owned(), String::new()),
                HtmlCell::Bar(Some(value), all) => (bar(*value, *all), value.to_string()),
                HtmlCell::Change(None, _) => (plain.to_owned(), String::new()),
                HtmlCell::Change(Some(0), _) => (plain.to_owned(), "0".to_owned()),
                // Growth and decrease have scales of their own; the size relative to the old number gives the step.
                HtmlCell::Change(Some(change), from) => {
                    let scale = if *change > 0 { 'h' } else { 'c' };
                    (
                        shade(scale, change.unsigned_abs(), *from),
                        format!("{change:+}"),
                    )
                }
            };
            let _ = write!(self.out, "<{tag}{class}>{text}");
        }
        self.out.push('\n');
    }

    /// Appends a row that consists of a name and numbers.
    pub(crate) fn numbers(&mut self, name: &str, numbers: &[u64]) {
        let numbers = numbers.iter().map(|&n| HtmlCell::Number(Some(n.into())));
        let cells: Vec<HtmlCell<'_>> = std::iter::once(HtmlCell::Text(name))
            .chain(numbers)
            .collect();
        self.row(&cells);
    }

    /// Completes the table.
    pub(crate) fn finish(self) -> String {
        self.out + "</table></div>\n"
    }

    /// Appends the table to a page, unless it has no rows.
    pub(crate) fn write(self, out: &mut String) {
        if !self.is_empty {
            out.push_str(&self.finish());
        }
    }
}

#[cfg(test)]
mod tests;
