//! Tokens of a line. For example, `R1 = load.u8 global [R4]` has the words `R1`, `load.u8`, `global`, `R4` and three
//! signs.

/// Token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// Name, with the modifiers that follow it: `load.u8`, `R4`, `_`.
    Word(String),
    /// Number, decimal or hexadecimal.
    Number(u64),
    /// Text that was in quotation marks, with its escapes resolved.
    Text(String),
    /// Sign of punctuation.
    Sign(char),
}

/// Token with its column, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) column: usize,
}

/// Signs of punctuation.
const SIGNS: &str = ":,=()[]!&?+-";

/// Splits a line into tokens, without the comment. On failure returns the column and the problem.
pub(super) fn tokens(line: &str) -> Result<Vec<Placed>, (usize, &'static str)> {
    let mut found = Vec::new();
    let mut chars = line.chars().enumerate().peekable();
    while let Some((at, c)) = chars.next() {
        let column = at + 1;
        let token = match c {
            ';' => break,
            _ if c.is_whitespace() => continue,
            '"' => Token::Text(text(&mut chars).map_err(|problem| (column, problem))?),
            _ if c.is_ascii_alphanumeric() || c == '_' => {
                // Words and numbers are read alike, because hexadecimal digits are letters.
                let mut word = c.to_string();
                while let Some((_, next)) = chars.next_if(|(_, c)| is_word(*c)) {
                    word.push(next);
                }
                match c.is_ascii_digit() {
                    false => Token::Word(word),
                    true => Token::Number(number(&word).ok_or((column, "not a number"))?),
                }
            }
            _ if SIGNS.contains(c) => Token::Sign(c),
            _ => return Err((column, "a sign that the format does not have")),
        };
        found.push(Placed { token, column });
    }
    Ok(found)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Value of a number, decimal or hexadecimal.
pub(super) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Reads a text up to its closing quotation mark.
fn text(chars: &mut impl Iterator<Item = (usize, char)>) -> Result<String, &'static str> {
    let mut found = String::new();
    loop {
        match chars
            .next()
            .ok_or("a text without a closing quotation mark")?
            .1
        {
            '"' => return Ok(found),
            '\\' => found.push(escape(chars).ok_or("an unknown escape in a text")?),
            c => found.push(c),
        }
    }
}

/// Reads the rest of an escape: a quotation mark, a backslash, or `u{…}` with a hexadecimal number.
fn escape(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    match chars.next()?.1 {
        c @ ('"' | '\\') => Some(c),
        'u' => {
            let (_, '{') = chars.next()? else {
                return None;
            };
            let mut digits = String::new();
            loop {
                match chars.next()?.1 {
                    '}' => return char::from_u32(u32::from_str_radix(&digits, 16).ok()?),
                    c => digits.push(c),
                }
            }
        }
        _ => None,
    }
}
