//! Fuzz target: bytes as a cubin, through all commands for cubins.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpbound_base::Diagnostic;
use warpbound_bounds::FactsExtent;
use warpbound_ipet::FactsFile;
use warpbound_query::{BoundOptions, CfgLevel, Session};
use warpbound_report::{BoundFormat, BoundWriter};

const FILE: &str = "fuzzed.cubin";

fn ask(bytes: &[u8]) -> Result<(), Diagnostic> {
    let session = Session::open(FILE, bytes)?;
    let _ = session.list().text();
    let options = BoundOptions {
        loop_default: Some(10),
        ..BoundOptions::default()
    };
    for kernel in session.kernels(None)? {
        let listing = session.disassemble(kernel)?;
        let mut text = listing.columns();
        session.disassemble_plain(kernel, &mut text)?;
        let facts =
            warpbound_bounds::facts_template(&session, kernel, &options, FactsExtent::Accesses)?;
        FactsFile::parse("own.facts", &facts).expect("what is written can be read");
        // A refused kernel has no graph, but a report.
        for level in [CfgLevel::Thread, CfgLevel::Warp] {
            if let Ok(graph) = session.graph(kernel, level, &options) {
                let _ = (graph.text(), graph.dot(), graph.svg());
            }
        }
        let report = warpbound_bounds::bound(&session, kernel, &options)?;
        for format in [BoundFormat::Text, BoundFormat::Json] {
            let mut writer = BoundWriter::new(Vec::new(), format, FILE);
            writer.kernel(&report).expect("memory");
            assert!(!writer.finish().expect("memory").is_empty());
        }
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    if let Err(refusal) = ask(bytes) {
        let line = refusal.to_string();
        assert!(
            line.starts_with("fuzzed.cubin: ") && !line.contains(char::is_control),
            "{line:?}"
        );
    }
});
