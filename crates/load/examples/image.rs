//! Prints everything an image holds: `cargo run -p warpbound-load --example image FILE`.
fn main() {
    for path in std::env::args().skip(1) {
        let result = std::fs::read(&path)
            .map_err(|error| warpbound_base::Diagnostic::new(error.to_string()))
            .and_then(|bytes| warpbound_load::Image::parse(&bytes));
        match result {
            Ok(image) => println!("{image:#?}"),
            Err(diagnostic) => println!("{}", diagnostic.in_file(path)),
        }
    }
}
