//! Fuzz target: text as a facts file, with a round trip of the parsed facts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpbound_base::CodeAddr;
use warpbound_ipet::facts::{AccessFact, AccessLine, KernelLines, format_call};
use warpbound_ipet::{FactsFile, LoopName};

fuzz_target!(|text: &str| {
    let file = match FactsFile::parse("k.facts", text) {
        Ok(file) => file,
        Err(refusal) => {
            let line = refusal.to_string();
            assert!(
                line.starts_with("k.facts: ") && !line.contains(char::is_control),
                "{line:?}"
            );
            return;
        }
    };
    let name = |id: &str, at| LoopName {
        id: id.to_owned(),
        at: CodeAddr(at),
    };
    let loops = [name("L1", 0x128), name("L2", 0x128), name("L3", 0x48)];
    for kernel in file.kernels() {
        let found = file
            .find([&kernel.name, ""], &kernel.code)
            .expect("it is there");
        assert_eq!((&found.name, &found.code), (&kernel.name, &kernel.code));
        match kernel.bounds(&loops) {
            Ok(bounds) => assert_eq!(bounds.len(), loops.len()),
            Err(refusal) => assert!(!refusal.to_string().contains(char::is_control)),
        }
        let calls: Vec<String> = kernel
            .calls()
            .iter()
            .map(|c| format_call(&c.name))
            .collect();
        let accesses: Vec<String> = kernel.accesses().iter().map(line).collect();
        let again = KernelLines {
            accesses: &accesses,
            calls: &calls,
            ..KernelLines::new(&kernel.name, &kernel.code)
        };
        let again =
            FactsFile::parse("again", &again.format()).expect("what is written can be read");
        let [same] = again.kernels() else {
            panic!("one kernel is written, {} are read", again.kernels().len());
        };
        assert_eq!((&same.name, &same.code), (&kernel.name, &kernel.code));
        let names = |calls: &[warpbound_ipet::facts::CallFact]| -> Vec<String> {
            calls.iter().map(|call| call.name.clone()).collect()
        };
        assert_eq!(names(same.calls()), names(kernel.calls()));
        let numbers = |facts: &[AccessFact]| -> Vec<_> {
            facts.iter().map(|fact| (fact.at, fact.numbers)).collect()
        };
        assert_eq!(numbers(same.accesses()), numbers(kernel.accesses()));
    }
});

/// The line of a fact about an access.
fn line(fact: &AccessFact) -> String {
    let numbers = fact.numbers;
    AccessLine {
        at: fact.at,
        source: None,
        numbers: vec![
            ("sectors", numbers.sectors),
            ("lines", numbers.lines),
            ("conflicts", numbers.conflicts),
        ],
        space: numbers.space,
        identity: fact.identity.clone(),
    }
    .format_line()
}
