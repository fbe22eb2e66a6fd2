//! Pairing of the kernels of two builds: by name, by name without digests, by code, by bare name, by shape.
//!
//! Each way pairs only the kernels that the earlier ways leave. For example, `k_0f3a99d2` of the old build and
//! `k_77de02c4` of the new one have no partner by name, but are paired without digests, because both names become
//! `k_#`.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_report::build_diff::Pairing;

use super::index::{BuildKernel, grouped};

/// Corresponding kernels of two builds, and kernels without a partner.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Pairs {
    /// Positions in the old and in the new build, in the order of the new one, and how they were paired.
    pub(super) pairs: Vec<(usize, usize, Pairing)>,
    /// Kernels of the old build without a partner.
    pub(super) removed: Vec<usize>,
    /// Kernels of the new build without a partner.
    pub(super) added: Vec<usize>,
}

/// Pairs the kernels of two builds for the same architecture. `shape` returns the shape of a kernel of the old
/// (`false`) or new (`true`) build. It is called only for kernels that nothing else pairs, because it loads and
/// decodes them.
pub(super) fn pair(
    old: &[BuildKernel],
    new: &[BuildKernel],
    mut shape: impl FnMut(bool, &BuildKernel) -> Option<String>,
) -> Pairs {
    let mut state = PairingState {
        old,
        new,
        free_old: (0..old.len()).collect(),
        free_new: (0..new.len()).collect(),
        pairs: Vec::new(),
    };
    state.pair_by(Pairing::Name, false, |_, kernel| {
        Some(kernel.symbol.to_string())
    });
    state.pair_by(Pairing::NameWithoutHashes, false, |_, kernel| {
        Some(kernel.hashless.clone())
    });
    // Kernels that cannot be read have an empty digest, which would pair any two of them.
    let code = |kernel: &BuildKernel| (!kernel.code.is_empty()).then(|| kernel.code.clone());
    state.pair_by(Pairing::Code, false, |_, kernel| code(kernel));
    // Instances of a template share a bare name, and small kernels a shape, so these keys pair only if they are
    // unique.
    state.pair_by(Pairing::BareName, true, |_, kernel| {
        Some(bare_name(&kernel.name))
    });
    state.pair_by(Pairing::Shape, true, &mut shape);
    let mut pairs = state.pairs;
    pairs.sort_by_key(|&(_, new, _)| new);
    Pairs {
        pairs,
        removed: state.free_old.into_iter().collect(),
        added: state.free_new.into_iter().collect(),
    }
}

/// Kernels that are not yet paired.
struct PairingState<'a> {
    old: &'a [BuildKernel],
    new: &'a [BuildKernel],
    free_old: BTreeSet<usize>,
    free_new: BTreeSet<usize>,
    pairs: Vec<(usize, usize, Pairing)>,
}

impl PairingState<'_> {
    /// Pairs the free kernels that have the same key. If several have it, equal code pairs them first and their order
    /// pairs the rest; with `unique`, they are not paired.
    fn pair_by(
        &mut self,
        pairing: Pairing,
        unique: bool,
        mut key: impl FnMut(bool, &BuildKernel) -> Option<String>,
    ) {
        // Keys may be expensive: a shape decodes its kernel.
        if self.free_old.is_empty() || self.free_new.is_empty() {
            return;
        }
        let mut groups = |is_new: bool, kernels: &[BuildKernel], free: &BTreeSet<usize>| {
            let keys = free.iter().filter_map(|&at| {
                let kernel = kernels.get(at)?;
                Some((at, (kernel.isa, key(is_new, kernel)?)))
            });
            grouped(keys)
        };
        let old_groups = groups(false, self.old, &self.free_old);
        let mut new_groups = groups(true, self.new, &self.free_new);
        for (key, old) in old_groups {
            let Some(new) = new_groups.remove(&key) else {
                continue;
            };
            if unique && (old.len() > 1 || new.len() > 1) {
                continue;
            }
            for (old, new) in self.pairs_of_group(old, new) {
                self.free_old.remove(&old);
                self.free_new.remove(&new);
                self.pairs.push((old, new, pairing));
            }
        }
    }

    /// Pairs kernels with one key: kernels with equal code first, then the others in their order.
    fn pairs_of_group(&self, old: Vec<usize>, new: Vec<usize>) -> Vec<(usize, usize)> {
        if let ([old], [new]) = (old.as_slice(), new.as_slice()) {
            return vec![(*old, *new)];
        }
        let code = |kernels: &[BuildKernel], at: usize| {
            let kernel = kernels.get(at);
            kernel.map(|kernel| (kernel.code.clone(), kernel.surroundings))
        };
        // Reversed, because `pop` takes the last of a group: equal kernels are to pair in their order.
        let mut by_code: BTreeMap<_, Vec<usize>> =
            grouped(new.iter().rev().map(|&at| (at, code(self.new, at))));
        let mut pairs = Vec::new();
        let mut rest = Vec::new();
        for at in old {
            match by_code.get_mut(&code(self.old, at)).and_then(Vec::pop) {
                Some(partner) => pairs.push((at, partner)),
                None => rest.push(at),
            }
        }
        let taken: BTreeSet<usize> = pairs.iter().map(|&(_, new)| new).collect();
        let left = new.into_iter().filter(|at| !taken.contains(at));
        pairs.extend(rest.into_iter().zip(left));
        pairs
    }
}

/// Returns a demangled name with `#` for each digest that a compiler put into it: a part of an identifier between
/// underscores with at least eight hexadecimal digits, one of them decimal. For example, `f_0f3a99d2` becomes `f_#`,
/// while `f_deadbeef` and `f_1234567` stay.
pub(crate) fn name_without_hashes(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        if !is_word(first) {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        // A word that begins with a digit is a number, such as a template argument, and no name.
        if first.is_ascii_digit() {
            out.push_str(word);
            continue;
        }
        for (number, part) in word.split('_').enumerate() {
            if number > 0 {
                out.push('_');
            }
            out.push_str(if is_digest(part) { "#" } else { part });
        }
    }
    out
}

/// Whether a part of an identifier is a digest.
fn is_digest(part: &str) -> bool {
    // Rust writes an `h` before the 16 digits of its digests.
    let part = part
        .strip_prefix('h')
        .filter(|rest| rest.len() == 16)
        .unwrap_or(part);
    let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    // Some words, such as `deadbeef`, have only hexadecimal letters, so one decimal digit is required.
    part.len() >= 8 && part.bytes().all(is_hex) && part.bytes().any(|c| c.is_ascii_digit())
}

/// Returns a demangled name without template arguments and parameters.
fn bare_name(name: &str) -> String {
    let mut depth = 0_usize;
    let mut out = String::new();
    for c in name.chars() {
        match c {
            '<' | '(' => depth += 1,
            // Saturating, because names such as `operator->` have a bracket that nothing opens.
            '>' | ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    name_without_hashes(out.trim())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpbound_load::Isa;

    use super::*;
    use crate::builds::KernelResources;

    /// Kernel with a name and a code; its position does not matter.
    fn kernel(name: &str, code: &str) -> BuildKernel {
        BuildKernel {
            file: 0,
            image: 1,
            position: 0,
            isa: Isa::MiniSimt,
            symbol: Arc::from(name),
            name: name.to_owned(),
            hashless: name_without_hashes(name),
            code: code.to_owned(),
            surroundings: 0,
            resources: KernelResources::default(),
            refused: None,
        }
    }

    fn kernels(all: &[(&str, &str)]) -> Vec<BuildKernel> {
        all.iter().map(|(name, code)| kernel(name, code)).collect()
    }

    /// Pairs of names, with the reasons.
    fn paired(old: &[(&str, &str)], new: &[(&str, &str)]) -> Pairs {
        // The shape is the code without its last letter.
        let shape = |_: bool, kernel: &BuildKernel| {
            let mut code = kernel.code.clone();
            code.pop()?;
            Some(code)
        };
        pair(&kernels(old), &kernels(new), shape)
    }

    #[test]
    fn digests_are_not_compared() {
        let cases = [
            ("f_0f3a99d2", "f_#"),
            (
                "a::_GLOBAL__N__7b39dc18_12_gemm_cu_abcd1234::k",
                "a::_GLOBAL__N__#_12_gemm_cu_#::k",
            ),
            ("rust::name::h0123456789abcdef", "rust::name::#"),
            // Words, numbers and arguments are not digests.
            ("f<16777216, 20200101>(int)", "f<16777216, 20200101>(int)"),
            ("f_deadbeef", "f_deadbeef"),
            ("f_1234567", "f_1234567"),
            ("größe_0f3a99d2", "größe_#"),
        ];
        for (name, without) in cases {
            assert_eq!(name_without_hashes(name), without);
        }
        assert_eq!(bare_name("void a::f<int, g<2>>(int*)"), "void a::f");
    }

    #[test]
    fn each_way_pairs_what_the_ways_before_leave() {
        let old = [
            ("same", "code 1"),
            ("k_0f3a99d2", "code 2"),
            ("before", "code 3"),
            ("t<int>(int)", "code 4"),
            ("form", "shape a"),
            ("gone", "other"),
        ];
        let new = [
            ("form of another", "shape b"),
            ("t<float>(float)", "other 4"),
            ("after", "code 3"),
            ("k_77de02c4", "other 2"),
            ("same", "other 1"),
            ("new", "another"),
        ];
        let found = paired(&old, &new);
        let expected = [
            (4, 0, Pairing::Shape),
            (3, 1, Pairing::BareName),
            (2, 2, Pairing::Code),
            (1, 3, Pairing::NameWithoutHashes),
            (0, 4, Pairing::Name),
        ];
        assert_eq!(found.pairs, expected);
        assert_eq!((found.removed, found.added), (vec![5], vec![5]));
    }

    /// Kernels with one name, such as static kernels of several files, are paired by their code and then in their
    /// order.
    #[test]
    fn kernels_of_one_name_are_paired_by_code() {
        let old = [("k", "a1"), ("k", "b1"), ("k", "c1")];
        let new = [("k", "c1"), ("k", "x1"), ("k", "a1"), ("k", "y1")];
        let found = paired(&old, &new);
        let pairs: Vec<(usize, usize)> = found
            .pairs
            .iter()
            .map(|&(old, new, _)| (old, new))
            .collect();
        assert_eq!(pairs, [(2, 0), (1, 1), (0, 2)]);
        assert_eq!(found.added, [3]);
    }

    /// Several candidates of one shape are not paired: nothing says which is which.
    #[test]
    fn ambiguous_shapes_are_not_paired() {
        let found = paired(&[("a", "shape 1"), ("b", "shape 2")], &[("c", "shape 3")]);
        assert_eq!(found.pairs, []);
        assert_eq!((found.removed, found.added), (vec![0, 1], vec![0]));
    }
}
