//! Texts inside DOT and SVG.

/// Quotes a text for DOT.
pub(crate) fn quoted(text: &str) -> String {
    // Backslashes first, or the escapes of the others would be escaped again.
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// Returns at most 100 characters of a text, without control characters, which XML does not allow.
pub(crate) fn printable(text: &str) -> String {
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    // The name of a template may have thousands of characters.
    let mut shown: String = text.chars().map(visible).take(100).collect();
    if text.chars().nth(100).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns text with the characters replaced that have a meaning in the content of an element.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
