//! Text tables, wrapped paragraphs, and nouns with a count.

/// Maximum width of lines outside tables, in characters.
pub(crate) const WIDTH: usize = 100;

/// Alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Formats rows of cells as aligned columns, indented by `indent` spaces and without trailing spaces.
pub(crate) fn table(indent: usize, columns: &[Align], rows: &[Vec<String>]) -> String {
    // Bytes would count names with non-ASCII characters too wide.
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = (0..columns.len())
        .map(|i| {
            rows.iter()
                .filter_map(|row| row.get(i))
                .map(|c| width(c))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (i, cell) in row.iter().enumerate() {
            let pad = widths
                .get(i)
                .copied()
                .unwrap_or(0)
                .saturating_sub(width(cell));
            if i > 0 {
                line.push_str("  ");
            }
            match columns.get(i) {
                Some(Align::Right) => {
                    line.push_str(&" ".repeat(pad));
                    line.push_str(cell);
                }
                _ => {
                    line.push_str(cell);
                    line.push_str(&" ".repeat(pad));
                }
            }
        }
        // Padding of the last column would leave trailing spaces.
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Appends an empty line and a table. Appends nothing if there are no rows.
pub(crate) fn section(
    out: &mut String,
    columns: &[Align],
    head: Vec<&str>,
    rows: impl Iterator<Item = Vec<String>>,
) {
    let mut all = vec![head.into_iter().map(str::to_owned).collect()];
    all.extend(rows);
    // Heads alone would announce a table that has no rows.
    if all.len() > 1 {
        out.push('\n');
        out.push_str(&table(4, columns, &all));
    }
}

/// Fills lines of at most [`WIDTH`] characters with words, indented by `indent` spaces.
pub(crate) fn wrapped(indent: usize, text: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let length = line.chars().count() + 1 + word.chars().count();
        // A word that is longer than a line has a line of its own.
        if !line.is_empty() && indent + length > WIDTH {
            out.push_str(&format!("{:indent$}{line}\n", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        out.push_str(&format!("{:indent$}{line}\n", ""));
    }
    out
}

/// Formats a number with its noun: `1 loop`, `2 loops`.
pub(crate) fn counted(n: usize, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        // For example, `branch` and `batch`.
        n if one.ends_with("ch") => format!("{n} {one}es"),
        n => format!("{n} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [
            vec!["a".into(), "1".into()],
            vec!["bcd".into(), "22".into()],
        ];
        assert_eq!(
            table(1, &[Align::Left, Align::Right], &rows),
            " a     1\n bcd  22\n"
        );
    }

    #[test]
    fn lines_are_filled() {
        let text = "word ".repeat(40);
        let out = wrapped(4, &text);
        assert_eq!(out.split_whitespace().count(), 40);
        let lengths: Vec<usize> = out.lines().map(str::len).collect();
        assert_eq!(lengths, [98, 98, 13]);
        assert_eq!(wrapped(2, " "), "");
        // A word that is longer than a line has a line of its own.
        let long = "x".repeat(120);
        assert_eq!(
            wrapped(1, &format!("a {long} b")),
            format!(" a\n {long}\n b\n")
        );
    }
}
