//! Spelling of a model as a row of the table, with lists of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::conditions::{condition, cubes};
use super::fields::NumberField;
use super::model::{HidingKind, Piece, RowModel};
use super::printed::{Slot, Slots, Term};
use super::word_bits::Bits;

/// Texts of the values of a list; `None` is not an instruction.
pub(super) type List = Vec<Option<String>>;

/// Conditions of one effect at most; a list is shorter beyond that.
const CONDITIONS: usize = 4;

/// Bits of a list at most.
const LISTED: usize = 11;

/// Row with places for the names of its lists: `«0»` stands for the name of the first list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SpelledRow {
    pub(super) mask: u128,
    pub(super) value: u128,
    pub(super) effects: Vec<String>,
    pub(super) template: String,
    pub(super) lists: Vec<List>,
}

/// Bits whose effect the language of rows cannot say: the row has to be divided.
#[derive(Debug)]
pub(super) struct Unspeakable {
    pub(super) bits: Vec<u8>,
}

impl SpelledRow {
    /// Row that says that words are not an instruction.
    pub(super) fn illegal(mask: u128, value: u128) -> SpelledRow {
        SpelledRow {
            mask,
            value,
            effects: vec!["illegal".to_owned()],
            template: "NOP".to_owned(),
            lists: Vec::new(),
        }
    }

    /// Line of a table for some architectures, with the names of the lists.
    pub(super) fn line(&self, archs: &str, names: &[String]) -> String {
        let mut effects = self.effects.join(" ");
        if effects.is_empty() {
            effects.push('-');
        }
        let (value, mask) = (self.value, self.mask);
        let mut line = format!(
            "{value:032x}/{mask:032x} {archs:7} unknown  | {effects:7} | {}",
            self.template
        );
        for (at, name) in names.iter().enumerate() {
            line = line.replace(&format!("«{at}»"), name);
        }
        line
    }
}

/// Spells a model.
pub(super) fn spell(model: &RowModel) -> Result<SpelledRow, Unspeakable> {
    let mut speller = Speller {
        model,
        lists: Vec::new(),
        covered: BTreeSet::new(),
        unspeakable: Vec::new(),
    };
    let template = speller.template();
    let mut effects = speller.legality();
    effects.extend(model.effects.iter().cloned());
    let mut seen = BTreeSet::new();
    effects.retain(|effect| seen.insert(effect.clone()));
    match speller.unspeakable.is_empty() {
        true => Ok(SpelledRow {
            mask: model.scope.mask,
            value: model.scope.value,
            effects,
            template,
            lists: speller.lists,
        }),
        false => Err(Unspeakable {
            bits: speller.unspeakable,
        }),
    }
}

/// Gives a row of IMAD the piece that prints names of simple products, which depend on the values of its factors.
pub(super) fn with_product(model: &RowModel, row: &mut SpelledRow) {
    let fixed = matches!(model.choices.modifiers.first(), Some(Piece::Fixed(_)));
    let sources = model.frame.shapes.iter().enumerate().filter(|(at, shape)| {
        let written = model.fields.numbers.get(&(*at, Slot::Number));
        shape.as_str() != "P" && written.is_none_or(|field| field.bits.low() != 16)
    });
    let sources: Vec<(usize, &String)> = sources.collect();
    let [(first, _), (second, kind), (third, _)] = &sources[..] else {
        return;
    };
    if model.frame.mnemonic != "IMAD" || fixed {
        return;
    }
    let field = |at: &usize| {
        let field = model.fields.numbers.get(&(*at, Slot::Number));
        field.map(|field| field.bits.to_string())
    };
    let Some(factor) = field(first) else { return };
    let other = match kind.as_str() {
        "R" => field(second).map(|bits| format!(" {bits}")),
        "I" => match (field(second), field(third)) {
            (Some(bits), Some(added)) => Some(format!(" ={bits} {added}")),
            _ => None,
        },
        // Uniform registers are not looked at.
        kind if kind.starts_with("c[") => Some(String::new()),
        _ => None,
    };
    let Some(other) = other else { return };
    // Bit 74 is the carry of IMAD in all forms.
    let piece = format!("IMAD{{?imad 74 {factor}{other}}}");
    row.template = row.template.replacen("IMAD", &piece, 1);
}

struct Speller<'m> {
    model: &'m RowModel,
    lists: Vec<List>,
    /// Groups of bits whose illegal values a list already states.
    covered: BTreeSet<Bits>,
    unspeakable: Vec<u8>,
}

impl Speller<'_> {
    fn template(&mut self) -> String {
        let mut out = self.model.frame.mnemonic.clone();
        for piece in &self.model.choices.modifiers {
            match piece {
                Piece::Fixed(text) => out.push_str(text),
                Piece::Chosen(bits) => {
                    let texts = self.model.choices.modifier_texts.get(bits);
                    let texts: BTreeMap<u64, String> = texts.cloned().unwrap_or_default();
                    out.push_str(&self.choice(bits, &texts));
                }
            }
        }
        let mut first = true;
        for at in 0..self.model.frame.shapes.len() {
            let (text, blank) = self.operand(at);
            let separator = match (first, blank) {
                (_, true) => "",
                (true, false) => " ",
                (false, false) => ", ",
            };
            let _ = write!(out, "{separator}{text}");
            first = false;
        }
        out
    }

    /// A placeholder for a list with the texts of the values of some bits, and the bits on which it depends.
    fn list(&mut self, bits: &Bits, texts: &BTreeMap<u64, String>) -> (String, Bits, List) {
        if bits.width() > LISTED {
            self.unspeakable.extend(bits.positions());
            return (String::new(), bits.clone(), Vec::new());
        }
        let legal = self.model.choices.legal.get(bits);
        let text = |value: u64| {
            let legal = legal.is_none_or(|legal| legal.contains(&value));
            legal.then(|| texts.get(&value).cloned().unwrap_or_default())
        };
        self.covered.insert(bits.clone());
        let (bits, list) = reduced(bits, (0..bits.values()).map(text).collect());
        self.lists.push(list.clone());
        (format!("«{}»", self.lists.len() - 1), bits, list)
    }

    /// Piece whose text bits choose.
    fn choice(&mut self, bits: &Bits, texts: &BTreeMap<u64, String>) -> String {
        let (name, used, list) = self.list(bits, texts);
        let empty = list
            .iter()
            .all(|text| text.as_deref().is_none_or(str::is_empty));
        if empty {
            self.lists.pop();
            self.covered.remove(bits);
            return String::new();
        }
        if let [Some(off), Some(on)] = &list[..]
            && off.is_empty()
            && on.starts_with('.')
        {
            self.lists.pop();
            return format!("{{{on} {used}}}");
        }
        format!("{{{name} {used}}}")
    }

    fn texts(&self, at: usize, slot: Slot) -> Option<(Bits, BTreeMap<u64, String>)> {
        let choice = self.model.choices.slots.get(&(at, slot))?;
        let texts = choice.texts.iter().map(|(value, text)| {
            let text = text.as_ref().map_or("", |text| text.text());
            (*value, text.to_owned())
        });
        let texts: BTreeMap<u64, String> = texts.collect();
        let some = texts.values().any(|text| !text.is_empty());
        some.then(|| (choice.bits.clone(), texts))
    }

    /// An operand, and whether a blank instead of a comma is before it.
    fn operand(&mut self, at: usize) -> (String, bool) {
        let model = self.model;
        let shape = model.frame.shapes.get(at).map_or("", String::as_str);
        let blank = shape.starts_with(' ');
        let constant = model.constant.get(at).cloned().unwrap_or_default();
        let number = model.fields.numbers.get(&(at, Slot::Number));
        let mut attributes: Vec<String> = Vec::new();
        let head = match (shape.trim(), number) {
            ("W", _) => {
                return match self.texts(at, Slot::Word) {
                    Some((bits, texts)) => (self.choice(&bits, &texts), false),
                    None => (printed(&constant, "W"), blank),
                };
            }
            ("R" | "G" | "P" | "L" | "B", Some(field)) => register(shape.trim(), field),
            ("I" | "T", Some(field)) => integer(shape.trim(), field, &mut attributes),
            ("F", _) => match model.fields.floats.get(&at) {
                Some(bits) => format!("{}{bits}", model.formats.get(&at).unwrap_or(&'F')),
                None => return (printed(&constant, "F"), blank),
            },
            (shape, _) if shape.contains('[') => self.brackets(at, shape, &constant),
            (shape, _) => {
                self.refuse_choices(at);
                return (printed(&constant, shape), blank);
            }
        };
        self.signs(at, &constant, &mut attributes);
        if let Some((bits, texts)) = self.texts(at, Slot::Suffix) {
            let (name, bits, _) = self.list(&bits, &texts);
            attributes.push(format!("sel={name}@{bits}"));
        } else if let Some(suffix) = constant.get(&Slot::Suffix) {
            attributes.push(format!("sfx={}", suffix.text()));
        }
        self.hiding(at, &mut attributes);
        for (present, word) in [(&model.inside, "inside"), (&model.bad, "bad")] {
            if present.contains(&at) {
                attributes.push(word.to_owned());
            }
        }
        if let Some(bit) = model.reuse.get(&at) {
            attributes.push(format!("reuse={bit}"));
        }
        if blank {
            attributes.push("blank".to_owned());
        }
        attributes.insert(0, head);
        (format!("{{{}}}", attributes.join(" ")), blank)
    }

    /// Signs of an operand without a field cannot be chosen by bits.
    fn refuse_choices(&mut self, at: usize) {
        for ((operand, _), choice) in &self.model.choices.slots {
            if *operand == at {
                self.unspeakable.extend(choice.bits.positions());
            }
        }
    }

    fn signs(&mut self, at: usize, constant: &Slots, attributes: &mut Vec<String>) {
        let signs = [
            (Slot::Negated, "neg"),
            (Slot::Inverted, "inv"),
            (Slot::Not, "not"),
            (Slot::Absolute, "abs"),
        ];
        for (slot, name) in signs {
            let Some(choice) = self.model.choices.slots.get(&(at, slot)) else {
                if constant.contains_key(&slot) {
                    attributes.push(format!("{name}="));
                }
                continue;
            };
            let signed = choice.texts.iter().filter(|(_, text)| text.is_some());
            let signed: BTreeSet<u64> = signed.map(|(value, _)| *value).collect();
            if signed.is_empty() {
                continue;
            }
            let known: BTreeSet<u64> = choice.texts.keys().copied().collect();
            match condition(&choice.bits, &signed, &known) {
                Some(condition) => attributes.push(format!("{name}={condition}")),
                None => self.unspeakable.extend(choice.bits.positions()),
            }
        }
    }

    fn hiding(&mut self, at: usize, attributes: &mut Vec<String>) {
        let omitted = self.model.omitted.get(&at);
        let Some(rule) = self.model.hidden.get(&at) else {
            return;
        };
        let legal = self.model.choices.legal.get(&rule.bits).cloned();
        let legal = legal.unwrap_or_else(|| (0..rule.bits.values()).collect());
        let cond = condition(&rule.bits, &rule.values, &legal);
        let special = match omitted {
            Some(value) => format!("omit={value}"),
            None => "opt".to_owned(),
        };
        match (rule.kind, cond) {
            (HidingKind::Special, _) => attributes.push(special),
            (HidingKind::Both, Some(cond)) => {
                if omitted.is_some() {
                    attributes.push(special);
                }
                attributes.push(format!("opt={cond}"));
            }
            (HidingKind::Both, None) => self.unspeakable.extend(rule.bits.positions()),
            (kind, cond) => {
                if kind == HidingKind::Either {
                    attributes.push(special);
                }
                let cond = cond.unwrap_or_else(|| {
                    let texts = rule.values.iter().map(|value| (*value, "hide".to_owned()));
                    let (bits, list) = (&rule.bits, texts.collect::<BTreeMap<u64, String>>());
                    let list = (0..bits.values())
                        .map(|value| Some(list.get(&value).cloned().unwrap_or_default()));
                    self.lists.push(list.collect());
                    format!("«{}»@{bits}", self.lists.len() - 1)
                });
                attributes.push(format!("hide={cond}"));
            }
        }
    }

    fn brackets(&mut self, at: usize, shape: &str, constant: &Slots) -> String {
        let mut out = String::new();
        let mut group = 0;
        for c in shape.chars() {
            match c {
                '[' => {
                    let terms = self.terms(at, group, constant);
                    let _ = write!(out, "[{}", terms.join("+"));
                    group += 1;
                }
                ' ' => out.push('_'),
                c => out.push(c),
            }
        }
        out
    }

    fn terms(&mut self, at: usize, group: u8, constant: &Slots) -> Vec<String> {
        let mut terms = Vec::new();
        for (kind, nth) in [('R', 0), ('W', 0), ('G', 0), ('G', 1), ('I', 0)] {
            let term = Term { group, kind, nth };
            let Some(field) = self.model.fields.numbers.get(&(at, Slot::Term(term))) else {
                if constant.contains_key(&Slot::Term(term)) || kind == 'W' && self.varies(at, term)
                {
                    // A term without a field cannot be said, and dividing the row does not help.
                    self.unspeakable.push(u8::MAX);
                }
                continue;
            };
            let mut text = match kind {
                'I' if field.signed => format!("S{}", field.bits),
                'I' => format!("U{}", field.bits),
                'G' => format!("G{}", uniform_field(field)),
                _ => format!("{kind}{}", field.bits),
            };
            if field.unit != 1 {
                let _ = write!(text, "*{}", field.unit);
            }
            if let Some((bits, texts)) = self.texts(at, Slot::TermSuffix(term)) {
                let (name, bits, _) = self.list(&bits, &texts);
                let _ = write!(text, "/{name}@{bits}");
            } else if let Some(suffix) = constant.get(&Slot::TermSuffix(term)) {
                let _ = write!(text, "/{}", suffix.text());
            }
            terms.push(text);
        }
        terms
    }

    fn varies(&self, at: usize, term: Term) -> bool {
        self.model
            .choices
            .slots
            .contains_key(&(at, Slot::Term(term)))
    }

    /// Effects for values that are not an instruction and are in no list.
    fn legality(&mut self) -> Vec<String> {
        let mut effects = Vec::new();
        let model = self.model;
        for (bits, legal) in &model.choices.legal {
            let full = legal.len() as u64 == bits.values();
            if full || self.covered.contains(bits) || bits.width() > LISTED {
                continue;
            }
            let illegal = (0..bits.values()).filter(|value| !legal.contains(value));
            let illegal: BTreeSet<u64> = illegal.collect();
            effects.extend(self.exclusion(bits, &illegal, &BTreeSet::new()));
        }
        for conflict in &model.conflicts {
            let positions = conflict.groups.iter().flat_map(|bits| bits.positions());
            let mut positions: Vec<u8> = positions.copied().collect();
            positions.sort_unstable();
            let bits = Bits::new(positions);
            let (mut illegal, mut open) = (BTreeSet::new(), BTreeSet::new());
            for value in 0..bits.values() {
                let word = bits.put(0, value);
                let values: Vec<u64> = conflict.groups.iter().map(|bits| bits.get(word)).collect();
                let mut fields = conflict.groups.iter().zip(&values);
                let all_legal = fields.all(|(bits, value)| {
                    let legal = model.choices.legal.get(bits);
                    legal.is_none_or(|legal| legal.contains(value))
                });
                if conflict.illegal.contains(&values) {
                    illegal.insert(value);
                } else if !all_legal {
                    open.insert(value);
                }
            }
            effects.extend(self.exclusion(&bits, &illegal, &open));
        }
        effects
    }

    /// Effects that make values illegal: conditions, or a list if they are many. `open` values may be either.
    fn exclusion(
        &mut self,
        bits: &Bits,
        illegal: &BTreeSet<u64>,
        open: &BTreeSet<u64>,
    ) -> Vec<String> {
        if let Some(cubes) = cubes(bits, illegal, open, CONDITIONS) {
            let never = cubes.iter().map(|cube| format!("never:{cube}"));
            return never.collect();
        }
        let list = (0..bits.values()).map(|v| (!illegal.contains(&v)).then(String::new));
        let (bits, list) = reduced(bits, list.collect());
        self.lists.push(list);
        vec![format!("legal:«{}»@{bits}", self.lists.len() - 1)]
    }
}

/// Leaves out bits on which no text depends.
fn reduced(bits: &Bits, list: List) -> (Bits, List) {
    let mut positions = bits.positions().to_vec();
    let mut list = list;
    let mut at = 0;
    while at < positions.len() && positions.len() > 1 {
        let with = |set: bool| {
            let texts = list.iter().enumerate();
            let texts = texts.filter(move |(value, _)| (value >> at & 1 == 1) == set);
            texts.map(|(_, text)| text.clone()).collect::<List>()
        };
        let (off, on) = (with(false), with(true));
        match off == on {
            true => {
                list = off;
                positions.remove(at);
            }
            false => at += 1,
        }
    }
    (Bits::new(positions), list)
}

/// A uniform register has a field of 8 bits; older chips print the lower 6 of them.
fn uniform_field(field: &NumberField) -> String {
    let low = field.bits.low();
    format!("{}:{low}", u16::from(low) + 7)
}

fn register(kind: &str, field: &NumberField) -> String {
    let low = field.bits.low();
    // Destinations have places of their own in these words.
    let written = match kind {
        "R" | "G" => low == 16,
        "P" | "L" => matches!(low, 81 | 84),
        _ => false,
    };
    let mark = if written { "=" } else { "" };
    let bits = match kind {
        "G" => uniform_field(field),
        _ => field.bits.to_string(),
    };
    let flip = if field.flipped { " flip" } else { "" };
    format!("{mark}{kind}{bits}{flip}")
}

fn integer(shape: &str, field: &NumberField, attributes: &mut Vec<String>) -> String {
    let letter = if field.signed { "S" } else { "U" };
    if shape == "T" && field.unit == 4 {
        return format!("T{}", field.bits);
    }
    if shape == "T" {
        attributes.push("next".to_owned());
    }
    if field.unit != 1 {
        attributes.push(format!("scale={}", field.unit));
    }
    format!("{letter}{}", field.bits)
}

/// Text of an operand that is the same for all words.
fn printed(slots: &Slots, shape: &str) -> String {
    let mut out = String::new();
    for (slot, sign) in [
        (Slot::Negated, "-"),
        (Slot::Inverted, "~"),
        (Slot::Not, "!"),
    ] {
        if slots.contains_key(&slot) {
            out.push_str(sign);
        }
    }
    let number = slots.get(&Slot::Number).map_or(0, |value| value.number());
    let bad = slots.contains_key(&Slot::Bad);
    match shape {
        "R" if number == 255 => out.push_str(if bad { "???255" } else { "RZ" }),
        "P" if number == 7 => out.push_str(if bad { "???7" } else { "PT" }),
        "L" if number == 7 => out.push_str("UPT"),
        "R" | "P" | "B" => {
            let _ = write!(out, "{shape}{number}");
        }
        "G" if number == 255 || number == 63 => out.push_str("URZ"),
        "G" => {
            let _ = write!(out, "UR{number}");
        }
        "L" => {
            let _ = write!(out, "UP{number}");
        }
        "I" | "T" => {
            let sign = if number < 0 { "-" } else { "" };
            let _ = write!(out, "{sign}{:#x}", number.unsigned_abs());
        }
        _ => {
            let words = [Slot::Word, Slot::Float].map(|slot| slots.get(&slot));
            out.extend(words.into_iter().flatten().map(|word| word.text()));
        }
    }
    out.extend(slots.get(&Slot::Suffix).map(|suffix| suffix.text()));
    out
}
