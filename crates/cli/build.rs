//! Links the command without position independence, if the linker is known to accept the option.
//!
//! The loader relocates each pointer in the data of a position-independent executable at start, which takes an eighth
//! of the time in which a small file is listed.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    let is_static = var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|all| all.contains("crt-static"));
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
