//! Words with the texts that NVIDIA's disassembler printed for them.

static RECORDED: &str = include_str!("../data/spelling.txt");

pub(crate) struct Line<'a> {
    pub(crate) address: u32,
    pub(crate) word: u128,
    pub(crate) reuse: u64,
    pub(crate) archs: &'a str,
    pub(crate) text: &'a str,
}

pub(crate) fn lines() -> Vec<Line<'static>> {
    let hexadecimal = |text| u64::from_str_radix(text, 16).expect("a number");
    RECORDED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let columns: Vec<&str> = line.splitn(5, ' ').collect();
            let [address, word, reuse, archs, text] = columns.try_into().expect("five columns");
            Line {
                address: hexadecimal(address) as u32,
                word: hexadecimal(word).into(),
                reuse: hexadecimal(reuse),
                archs,
                text,
            }
        })
        .collect()
}
