//! Columns of text.

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells, aligned in columns; `indent` spaces before each row. Lines have no trailing spaces.
pub(crate) fn table(indent: usize, columns: &[Align], rows: &[Vec<String>]) -> String {
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
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// `n` with thin groups of three digits: `1 234 567`.
pub(crate) fn grouped(n: impl ToString) -> String {
    let digits = n.to_string();
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits.as_str()), |d| ("-", d));
    let mut out = String::from(sign);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// `1 loop`, `2 loops`.
pub(crate) fn counted(n: usize, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
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
    fn digits_in_groups() {
        assert_eq!(grouped(1), "1");
        assert_eq!(grouped(123_456), "123 456");
        assert_eq!(grouped(-1_234), "-1 234");
    }
}
