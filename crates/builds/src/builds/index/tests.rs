//! Planted differences of kernels with equal code: each must show in what `diff` compares before it calls two kernels
//! identical.

use std::sync::Arc;

use warpbound_base::CodeAddr;
use warpbound_load::Kernel;

use super::{KernelResources, module_digest, resources, surroundings};
use warpbound_query::Session;

/// Opens a cubin of our own.
fn open(name: &str) -> Session {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/");
    let contents = std::fs::read(format!("{folder}{name}")).expect(name);
    Session::open(name, &contents).expect(name)
}

/// Opens our own cubins whose names have an ending, in the order of their names.
fn sessions(ending: &str) -> impl Iterator<Item = Session> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
    let entries = std::fs::read_dir(folder).expect(folder);
    let names = entries.map(|entry| entry.expect(folder).file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names.into_iter().map(|name| open(&format!("built/{name}")))
}

/// Returns all that is compared of a kernel besides its names and its occupancy.
fn compared(kernel: &Kernel) -> (String, u64, KernelResources) {
    // The digest of the module is the same on both sides, because only the kernel is changed.
    let digest = kernel.code_digest();
    (digest, surroundings(kernel, 7), resources(kernel))
}

/// Change of a kernel.
type Planted = fn(&mut Kernel);

#[test]
fn what_decides_a_bound_besides_the_code_is_compared() {
    let has_table = |kernel: &Kernel| kernel.banks.iter().any(|bank| !bank.relocations.is_empty());
    let kernels =
        sessions("sm_61.cubin").filter_map(|session| Some(session.image.kernels().ok()?.to_vec()));
    let base = kernels.flatten().find(has_table);
    let base = &base.expect("a kernel with a table of functions");
    let planted: [(&str, Planted); 14] = [
        ("registers", |kernel| kernel.registers += 1),
        ("barriers", |kernel| kernel.barriers += 1),
        ("shared memory", |kernel| kernel.static_shared = Some(4096)),
        ("frame", |kernel| kernel.frame_size = Some(4096)),
        ("least stack", |kernel| kernel.min_stack_size = Some(4096)),
        ("most stack", |kernel| kernel.max_stack_size = Some(4096)),
        ("parameters", |kernel| kernel.params.clear()),
        ("parameter block", |kernel| {
            if let Some(block) = &mut kernel.param_block {
                block.size += 4;
            }
        }),
        ("required block", |kernel| {
            kernel.required_block = Some([7, 1, 1])
        }),
        ("most threads", |kernel| {
            kernel.max_threads = Some([7, 1, 1])
        }),
        ("constant bank", |kernel| {
            kernel.banks.pop();
        }),
        ("table of functions", |kernel| {
            for bank in &mut kernel.banks {
                let mut relocations = bank.relocations.to_vec();
                for relocation in &mut relocations {
                    relocation.symbol.value += 8;
                }
                bank.relocations = Arc::from(relocations);
            }
        }),
        ("entry", |kernel| {
            kernel.entry = CodeAddr(kernel.entry.0 + 8)
        }),
        ("exits", |kernel| kernel.exits.clear()),
    ];
    for (name, plant) in planted {
        let mut kernel = base.clone();
        plant(&mut kernel);
        assert_ne!(compared(base), compared(&kernel), "{name}");
    }
}

#[test]
fn a_rebuild_and_moved_lines_are_the_same() {
    let builds = ["built/backprop.sm_61.cubin", "rebuilt/backprop.moved.cubin"];
    for (one, other) in [(builds[0], builds[0]), (builds[0], builds[1])] {
        let of = |build: &str| {
            let session = open(build);
            let kernels = session.image.kernels().expect("kernels");
            let all: Vec<_> = kernels.iter().map(compared).collect();
            (all, module_digest(&session.image))
        };
        assert_eq!(of(one), of(other), "{one} {other}");
    }
}

#[test]
fn variables_of_the_image_are_compared() {
    let with_variables: Vec<u64> = sessions(".cubin")
        .filter(|session| !session.image.variables().is_empty())
        .map(|session| module_digest(&session.image))
        .collect();
    let without = module_digest(&open("built/if_else.sm_61.cubin").image);
    assert!(!with_variables.is_empty() && !with_variables.contains(&without));
}
