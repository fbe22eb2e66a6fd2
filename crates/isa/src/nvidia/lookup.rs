//! From a word to its form.

use super::arch::Arch;
use super::form::{Form, FormId, Head};
use super::names::{Names, NamesId};
use super::template::Field;
use std::sync::OnceLock;
use warpbound_base::{Bits, Diagnostic};

static FORMS: &str = include_str!("../../../../isa/nvidia/maxwell.forms");
static NAMES: &str = include_str!("../../../../isa/nvidia/maxwell.names");

/// Words are bucketed by this many top bits.
const INDEX_BITS: u32 = 13;

/// The instruction table of Maxwell and Pascal, indexed for decoding.
///
/// Of a row only the bits that tell words apart are read at first, of an architecture nothing: a short
/// listing needs one architecture and few rows, and would else spend most of its time here.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Row>,
    archs: [OnceLock<Result<OnArch, String>>; 4],
}

/// A row of the table, read as far as it was needed.
#[derive(Debug)]
struct Row {
    line: &'static str,
    head: Head,
    form: OnceLock<Result<Box<Form>, String>>,
}

impl Row {
    /// The whole row. Ids of names are the same on all architectures, so any will do for `names`.
    fn form(&self, names: &Names) -> Result<&Form, &String> {
        let form = || Form::parse(self.line, names).map(Box::new);
        self.form.get_or_init(form).as_ref().map(|form| &**form)
    }
}

/// The table for one architecture.
#[derive(Debug)]
pub(crate) struct OnArch {
    names: Names,
    /// The rows that can match, most specific mask first, bucket after bucket.
    candidates: Vec<u16>,
    /// Where each bucket begins in `candidates`, and the end of the last.
    starts: Vec<u32>,
    /// Of each row the fields with values that are no instruction.
    holes: Vec<OnceLock<Vec<(NamesId, Field)>>>,
}

impl OnArch {
    fn new(rows: &[Row], arch: Arch) -> Result<OnArch, String> {
        let (starts, candidates) = buckets(rows, arch);
        Ok(OnArch {
            names: Names::parse(NAMES, arch)?,
            candidates,
            starts,
            holes: rows.iter().map(|_| OnceLock::new()).collect(),
        })
    }

    /// Spellings and counts.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    fn bucket(&self, word: u64) -> &[u16] {
        let bucket = (word >> (64 - INDEX_BITS)) as usize;
        let range = match self.starts.get(bucket..) {
            Some([start, end, ..]) => *start as usize..*end as usize,
            _ => return &[],
        };
        self.candidates.get(range).unwrap_or_default()
    }

    /// Tells if the row that matches does not exclude the word by a field's value.
    fn accepts(&self, row: usize, form: &Form, word: u64) -> bool {
        let word = u128::from(word);
        !form.does.illegal
            && form.does.zero.is_none_or(|range| word.field(range) == 0)
            && self.holes.get(row).is_some_and(|holes| {
                let holes = holes.get_or_init(|| fields_with_holes(form, &self.names));
                let mut fields = holes.iter();
                fields.all(|(id, field)| self.names.text(*id, field.get(word)).is_some())
            })
    }
}

impl Table {
    fn parse() -> Result<Table, String> {
        let mut rows = Vec::new();
        for (number, line) in FORMS.lines().enumerate() {
            if line.trim_ascii().is_empty() || line.starts_with('#') {
                continue;
            }
            let head = Head::parse(line)
                .map_err(|error| format!("forms: line {}: {error}", number + 1))?;
            rows.push(Row {
                line,
                head,
                form: OnceLock::new(),
            });
        }
        if rows.len() > usize::from(u16::MAX) {
            return Err("forms: too many rows".to_string());
        }
        Ok(Table {
            rows,
            archs: Default::default(),
        })
    }

    /// Reads all that is read only when it is needed; the error says what is not understood. Only a fault in
    /// the data files inside this program makes it fail, which a test rules out.
    pub fn check(&self) -> Result<(), String> {
        for arch in Arch::ALL {
            let on = self.on(arch)?;
            on.names().check()?;
            for row in &self.rows {
                row.form(on.names())
                    .map_err(|error| format!("forms: {error}: {}", row.line))?;
            }
        }
        Ok(())
    }

    /// The rows, in the order of the file.
    pub fn forms(&self) -> impl Iterator<Item = (FormId, &Form)> {
        let ids = (0..self.rows.len()).map(|at| FormId(at as u16));
        ids.filter_map(|id| Some((id, self.form(id)?)))
    }

    /// The row of that id; ids come from this table, so `None` does not happen.
    pub fn form(&self, id: FormId) -> Option<&Form> {
        let row = self.rows.get(usize::from(id.0))?;
        // Rows that decoding came upon are read.
        match row.form.get() {
            Some(form) => form.as_ref().ok().map(|form| &**form),
            None => row.form(self.on(Arch::Sm50).ok()?.names()).ok(),
        }
    }

    /// The table for an architecture.
    pub(crate) fn on(&self, arch: Arch) -> Result<&OnArch, String> {
        let [sm50, sm52, sm60, sm61] = &self.archs;
        let on = match arch {
            Arch::Sm50 => sm50,
            Arch::Sm52 => sm52,
            Arch::Sm60 => sm60,
            Arch::Sm61 => sm61,
        };
        on.get_or_init(|| OnArch::new(&self.rows, arch))
            .as_ref()
            .map_err(String::clone)
    }

    /// The form that encodes `word` on `arch`: the most specific mask that matches. `None` when
    /// no row matches or a field has a value that the chip does not accept.
    pub fn find(&self, arch: Arch, word: u64) -> Option<FormId> {
        self.find_on(self.on(arch).ok()?, word)
    }

    /// [`Table::find`] without the search for the architecture.
    pub(crate) fn find_on(&self, on: &OnArch, word: u64) -> Option<FormId> {
        for &at in on.bucket(word) {
            let row = self.rows.get(usize::from(at))?;
            if word & row.head.mask == row.head.value {
                let form = row.form(on.names()).ok()?;
                return on
                    .accepts(usize::from(at), form, word)
                    .then_some(FormId(at));
            }
        }
        None
    }
}

fn fields_with_holes(form: &Form, names: &Names) -> Vec<(NamesId, Field)> {
    form.spelled
        .iter()
        .filter(|(id, _)| names.has_holes(*id))
        .cloned()
        .collect()
}

/// Where each bucket begins, and the rows of all buckets one after the other.
fn buckets(rows: &[Row], arch: Arch) -> (Vec<u32>, Vec<u16>) {
    let mut order: Vec<(u16, &Head)> = (0..)
        .zip(rows.iter().map(|row| &row.head))
        .filter(|(_, head)| head.exists_on(arch))
        .collect();
    order.sort_by_key(|(_, head)| std::cmp::Reverse(head.mask.count_ones()));
    // First how many rows each bucket has, then their sums: where the bucket ends. Filled from its end, a
    // bucket has its start there at last.
    let mut starts = vec![0u32; (1 << INDEX_BITS) + 1];
    for (_, head) in &order {
        for bucket in buckets_of(head) {
            if let Some(count) = starts.get_mut(bucket) {
                *count += 1;
            }
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut candidates = vec![0; sum as usize];
    for (row, head) in order.into_iter().rev() {
        for bucket in buckets_of(head) {
            if let Some(start) = starts.get_mut(bucket) {
                *start -= 1;
                if let Some(place) = candidates.get_mut(*start as usize) {
                    *place = row;
                }
            }
        }
    }
    (starts, candidates)
}

/// The buckets of the words that a row can match: every subset of the free bits, in ascending order. A test
/// of each row against each bucket would be most of the time that a short listing takes.
fn buckets_of(head: &Head) -> impl Iterator<Item = usize> + use<> {
    let shift = 64 - INDEX_BITS;
    let fixed = (head.value >> shift) as usize;
    let free = !((head.mask >> shift) as usize) & ((1 << INDEX_BITS) - 1);
    let next = move |subset: &usize| match *subset == free {
        true => None,
        false => Some(subset.wrapping_sub(free) & free),
    };
    std::iter::successors(Some(0), next).map(move |subset| fixed | subset)
}

/// The table, read once, and as far as it is needed.
///
/// Fails only when the data files inside this program are wrong, which a test rules out.
pub fn table() -> Result<&'static Table, Diagnostic> {
    static TABLE: OnceLock<Result<Table, String>> = OnceLock::new();
    TABLE
        .get_or_init(Table::parse)
        .as_ref()
        .map_err(|error| damaged(error))
}

/// Message for errors in the data files inside this program.
pub(crate) fn damaged(error: &str) -> Diagnostic {
    Diagnostic::new(format!("instruction table is damaged: {error}"))
        .hint("this is a fault of the program, not of its input; please report it")
}

#[cfg(test)]
mod tests {
    use super::{Arch, Table};

    /// A listing of a small file takes little longer than the start of the program.
    #[test]
    fn only_what_is_needed_is_read() {
        let table = Table::parse().expect("the table reads");
        let on = table.on(Arch::Sm61).expect("the names read");
        // IADD R0, R0, R0, twice, and a word that is no instruction.
        for (word, is_instruction) in [
            (0x5c10_0000_0007_0000, true),
            (0x5c10_0000_0017_0000, true),
            (0xffff_ffff_ffff_ffff, false),
        ] {
            assert_eq!(table.find_on(on, word).is_some(), is_instruction);
        }
        let rows = table.rows.iter().filter(|row| row.form.get().is_some());
        assert_eq!(rows.count(), 1);
        let archs = table.archs.iter().filter(|on| on.get().is_some());
        assert_eq!(archs.count(), 1);
        assert!(on.names().lists_read() <= 2, "{}", on.names().lists_read());
    }
}
