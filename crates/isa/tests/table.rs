//! The instruction table is well formed.

use warpbound_isa::Arch;
use warpbound_isa::nvidia::table;

#[test]
fn masks_are_disjoint_or_nested() {
    let table = table().expect("the table reads");
    for arch in Arch::ALL {
        let forms: Vec<_> = table
            .forms()
            .map(|(_, form)| form)
            .filter(|form| form.exists_on(arch))
            .collect();
        assert!(forms.len() > 300);
        for (at, a) in forms.iter().enumerate() {
            for b in &forms[at + 1..] {
                let common = a.mask & b.mask;
                if (a.value ^ b.value) & common != 0 {
                    continue;
                }
                let nested = common == a.mask || common == b.mask;
                assert!(
                    nested && a.mask != b.mask && a.mnemonic() == b.mnemonic(),
                    "{arch}: {:016x}/{:016x} {} and {:016x}/{:016x} {} overlap",
                    a.value,
                    a.mask,
                    a.mnemonic(),
                    b.value,
                    b.mask,
                    b.mnemonic()
                );
            }
        }
    }
}

#[test]
fn architectures_differ_as_documented() {
    let table = table().expect("the table reads");
    let has = |arch, name| {
        table
            .forms()
            .any(|(_, form)| form.exists_on(arch) && form.mnemonic() == name)
    };
    assert!(!has(Arch::Sm50, "HADD2") && has(Arch::Sm52, "HADD2"));
    assert!(!has(Arch::Sm60, "IDP") && has(Arch::Sm61, "IDP"));
    assert!(Arch::ALL.iter().all(|&arch| has(arch, "XMAD")));
}
