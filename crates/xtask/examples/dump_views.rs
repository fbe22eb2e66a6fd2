use std::collections::BTreeMap;
use warpbound_isa::Program;
use warpbound_load::FileSource;
use warpbound_query::{ImageSelection, Library};
fn main() {
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let prefix = args.remove(0);
    let max: usize = args.remove(0).parse().unwrap();
    for path in args {
        let library = Library::open(
            &path,
            FileSource::new(std::fs::File::open(&path).unwrap()).unwrap(),
        )
        .unwrap();
        let images = library
            .select(&ImageSelection::default())
            .unwrap_or_default();
        for item in library.kernels(&images, None) {
            let Ok((session, index)) = item else { continue };
            let Ok(kernel) = session.kernel_at(index) else {
                continue;
            };
            let Ok(prepared) = session.prepare(kernel) else {
                continue;
            };
            let Program::Nvidia(program) = &prepared.program else {
                continue;
            };
            for (place, op) in prepared.code.ops.iter().enumerate() {
                let text = prepared.program.text(place).unwrap_or_default();
                let mut words = text.split_whitespace().filter(|w| !w.starts_with('@'));
                let name = words.next().unwrap_or("?").trim_end_matches(';').to_owned();
                if !name.starts_with(&prefix) {
                    continue;
                }
                if op.meaning.is_some() && !std::env::var("ALL").is_ok() {
                    continue;
                }
                let list = seen.entry(name).or_default();
                if list.len() >= max {
                    continue;
                }
                let view = program.view(&program.instrs[place]).unwrap();
                let mut t = format!("{text}    {:?}\n", view.modifiers);
                for o in &view.operands {
                    t += &format!(
                        "      {:?} {:?} {:?} n{} part {:?}{}{}{}{}{}\n",
                        o.role,
                        o.value,
                        o.shown,
                        o.count,
                        o.part,
                        if o.negate { " neg" } else { "" },
                        if o.absolute { " abs" } else { "" },
                        if o.invert { " inv" } else { "" },
                        if o.sets_cc { " cc" } else { "" },
                        ""
                    );
                }
                if !list.contains(&t) {
                    list.push(t);
                }
            }
        }
    }
    for (name, list) in seen {
        println!("{name}");
        for t in list {
            print!("  {t}");
        }
    }
}
