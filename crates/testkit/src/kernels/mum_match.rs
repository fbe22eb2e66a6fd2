//! Reference of maximal unique matches of a query in a text, by comparison of all pairs of positions.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("mum_match", "mum_match", search),
    ("mum_match", "mum_tree", walk),
];

/// Length of the common prefix of two texts.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Draws a text over the letters 0 to 3, and a query that shares pieces with it.
fn texts(number: u64, rng: &mut fastrand::Rng) -> (Vec<u8>, Vec<u8>) {
    let (letters, count) = match number {
        0 => (200, 96),
        1 => (1, 1),
        2 => (700, 203),
        _ => (rng.usize(1..500), rng.usize(1..150)),
    };
    // A smaller alphabet has more repeats.
    let kinds = if number % 3 == 1 { 2 } else { 4 };
    let text: Vec<u8> = (0..letters).map(|_| rng.u8(..kinds)).collect();
    let mut query = Vec::new();
    while query.len() < count {
        let from = rng.usize(..letters);
        let piece = rng.usize(1..40).min(letters - from);
        query.extend(&text[from..from + piece]);
        query.push(rng.u8(..kinds));
    }
    query.truncate(count);
    (text, query)
}

fn search(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (text, query) = texts(number, &mut rng);
    let least = rng.usize(1..6);
    let mut sorted: Vec<usize> = (0..text.len()).collect();
    sorted.sort_by_key(|&from| &text[from..]);
    let longest = |at: usize| {
        let same: Vec<usize> = (0..text.len())
            .map(|from| common_prefix(&text[from..], &query[at..]))
            .collect();
        let length = same.iter().copied().max().unwrap_or(0);
        let mut positions = (0..text.len()).filter(|&from| same[from] == length);
        let position = match (positions.next(), positions.next()) {
            (Some(from), None) => from,
            _ => return (length as i32, -1),
        };
        let grows = at > 0 && position > 0 && query[at - 1] == text[position - 1];
        match length >= least && !grows {
            true => (length as i32, position as i32),
            false => (length as i32, -1),
        }
    };
    let (lengths, positions): (Vec<i32>, Vec<i32>) = (0..query.len()).map(longest).unzip();
    let numbers: Vec<i32> = sorted.iter().map(|&from| from as i32).collect();
    // The letters of DNA.
    let spelled =
        |text: &[u8]| -> Vec<u8> { text.iter().map(|&l| b"ACGT"[usize::from(l)]).collect() };
    launch("mum_match", query.len())
        .input("text", &spelled(&text))
        .input("sorted", &numbers)
        .value("letters", text.len() as i32)
        .input("query", &spelled(&query))
        .value("count", query.len() as i32)
        .value("least", least as i32)
        .output("lengths", &vec![-9; query.len()], &lengths)
        .output("places", &vec![-9; query.len()], &positions)
        .finish()
}

fn launch(kernel: &str, threads: usize) -> TestLaunch {
    TestLaunch::of(kernel, [threads.div_ceil(64) as u32, 1, 1], [64, 1, 1])
}

/// Adds the node of some suffixes to a suffix tree, with its children; returns the node's index. Its edge begins at
/// letter `above` of the suffixes.
fn add(nodes: &mut Vec<[i32; 7]>, text: &[u8], suffixes: &[usize], above: usize) -> usize {
    let letter = |from: usize, depth: usize| text.get(from + depth).copied();
    let first = suffixes[0];
    let mut depth = above;
    // The root has no edge; the edge of another node extends while all suffixes agree.
    while !nodes.is_empty()
        && letter(first, depth).is_some()
        && suffixes
            .iter()
            .all(|&from| letter(from, depth) == letter(first, depth))
    {
        depth += 1;
    }
    let number = nodes.len();
    let edge = [
        (first + above) as i32,
        (depth - above) as i32,
        suffixes.len() as i32,
    ];
    nodes.push([0, 0, 0, 0, edge[0], edge[1], edge[2]]);
    for child in 0..4u8 {
        let below: Vec<usize> = suffixes
            .iter()
            .copied()
            .filter(|&from| letter(from, depth) == Some(child))
            .collect();
        if !below.is_empty() {
            let number_below = add(nodes, text, &below, depth);
            nodes[number][usize::from(child)] = number_below as i32;
        }
    }
    number
}

/// Packs sixteen letters into a word, first letter lowest.
fn packed(text: &[u8]) -> Vec<u32> {
    let word = |letters: &[u8]| {
        let placed = letters.iter().enumerate();
        placed.fold(0, |word, (at, &letter)| {
            word | u32::from(letter) << (2 * at)
        })
    };
    text.chunks(16).map(word).collect()
}

fn walk(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (text, query) = texts(number, &mut rng);
    let mut nodes = Vec::new();
    let all: Vec<usize> = (0..text.len()).collect();
    add(&mut nodes, &text, &all, 0);
    let longest = |at: usize| {
        let same = |from: usize| common_prefix(&text[from..], &query[at..]);
        let length = (0..text.len()).map(same).max().unwrap_or(0);
        let times = (0..text.len()).filter(|&from| same(from) == length).count();
        (length as i32, times as i32)
    };
    let (lengths, times): (Vec<i32>, Vec<i32>) = (0..query.len()).map(longest).unzip();
    let flat: Vec<i32> = nodes.into_iter().flatten().collect();
    launch("mum_tree", query.len())
        .input("text", &packed(&text))
        .input("nodes", &flat)
        .input("query", &packed(&query))
        .value("count", query.len() as i32)
        .output("lengths", &vec![-9; query.len()], &lengths)
        .output("times", &vec![-9; query.len()], &times)
        .finish()
}
