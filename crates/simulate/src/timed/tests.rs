//! Streams of accesses against the capacity of buses, ports, MSHRs and store buffers.

use warpbound_base::Family;
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_machine::{GpuModel, MachineConfig, Parameter, Selection};
use warpbound_simt::lowest_lanes;

use super::dram::Dram;
use super::l1_path::{L1Path, WarpAccess};
use super::l2::{L2Access, L2Cache};
use super::parameters::UsedParameters;
use crate::functional::{AccessKind, NVIDIA_LANES};

/// Returns an access of a whole warp to consecutive words from an address on.
fn warp_access(kind: AccessKind, size: u32, first: u64) -> (AccessKind, u32, [u64; NVIDIA_LANES]) {
    let addresses = std::array::from_fn(|lane| first + lane as u64 * u64::from(size));
    (kind, size, addresses)
}

fn request(
    access: &(AccessKind, u32, [u64; NVIDIA_LANES]),
    cached: bool,
    unit: usize,
) -> WarpAccess<'_> {
    WarpAccess {
        kind: access.0,
        size: access.1,
        addresses: &access.2,
        taken: lowest_lanes(WARP_LANES),
        cached,
        contended: false,
        unit,
    }
}

fn machine(name: &str, selection: Selection) -> MachineConfig {
    let device = GpuModel::built_in(name).expect("a built-in machine");
    device.select(selection)
}

/// Returns the bytes per 1000 cycles of a stream of words that some SMs read or write, each access as soon as it is
/// accepted.
fn rate(machine: &MachineConfig, sms: usize, kinds: &[AccessKind], accesses: u64) -> u64 {
    let parameters = UsedParameters::new(machine);
    let mut paths: Vec<L1Path> = (0..sms).map(|_| L1Path::new(&parameters)).collect();
    let mut l2 = L2Cache::new(&parameters);
    let mut at = vec![0; sms];
    let mut end = 0;
    for number in 0..accesses {
        // The SM with the earliest access, because requests come in the order of time.
        let sm = (0..sms).min_by_key(|&sm| at[sm]).unwrap_or(0);
        l2.now = at[sm];
        // All addresses are in one page, as translations are not measured.
        for (array, kind) in (0..).zip(kinds) {
            let access = warp_access(*kind, 4, (array << 23) + number * 128);
            let outcome = paths[sm].access(at[sm], &request(&access, false, 0), &mut l2);
            at[sm] = at[sm].max(outcome.accepted + 1);
            end = end.max(outcome.done);
        }
    }
    accesses * kinds.len() as u64 * 128 * 1000 / end
}

/// Returns a machine with a small L2 cache and without page walks, so that short streams reach their steady state.
fn small(name: &str, selection: Selection) -> MachineConfig {
    let machine = machine(name, selection);
    let line = machine[Parameter::L2Line] * machine[Parameter::L2Ways];
    let bytes = 2 * line * machine[Parameter::L2Slices];
    machine
        .with(Parameter::L2Bytes, bytes)
        .with(Parameter::TlbWalk, 0)
}

/// Streams of reads reach the read efficiency of DRAM and no more, on all machines.
#[test]
fn a_stream_of_reads_gets_the_efficiency_of_the_memory() {
    for name in GpuModel::names_of(Family::Maxwell) {
        let machine = small(name, Selection::Typical);
        let most = machine[Parameter::DramBandwidth] * machine[Parameter::DramReads] / 1000;
        let sms = machine[Parameter::SmCount] as usize;
        let rate = rate(&machine, sms, &[AccessKind::Load], 20_000);
        assert!(rate <= most, "{name}: {rate} of {most}");
        assert!(rate * 100 >= most * 85, "{name}: {rate} of {most}");
    }
}

/// Streams of writes reach the write efficiency of DRAM, at which the L2 cache evicts them; mixes lose the bus
/// turnaround.
#[test]
fn evictions_occupy_the_bus() {
    for name in GpuModel::names_of(Family::Maxwell) {
        let machine = small(name, Selection::Typical);
        let bandwidth = machine[Parameter::DramBandwidth];
        let sms = machine[Parameter::SmCount] as usize;
        let most = bandwidth * machine[Parameter::DramWrites] / 1000;
        let writes = rate(&machine, sms, &[AccessKind::Store], 20_000);
        // Some of the data is still in the L2 cache at the end.
        let held = machine[Parameter::L2Bytes] as f64 / (20_000.0 * 128.0);
        assert!(
            writes as f64 <= most as f64 / (1.0 - held),
            "{name}: {writes} of {most}"
        );
        assert!(writes * 100 >= most * 85, "{name}: {writes} of {most}");
        let kinds = [AccessKind::Load, AccessKind::Store];
        let mixed = rate(&machine, sms, &kinds, 20_000);
        assert!(
            mixed < bandwidth * 85 / 100,
            "{name}: {mixed} of {bandwidth}"
        );
        let turned = rate(
            &machine.clone().with(Parameter::DramTurnaround, 0),
            sms,
            &kinds,
            20_000,
        );
        assert!(
            mixed < turned,
            "{name}: {mixed}, and {turned} without turnaround"
        );
    }
}

/// A store is accepted when the store buffer has free entries.
#[test]
fn stores_wait_for_the_store_buffer() {
    let machine = small("gtx1080", Selection::Typical).with(Parameter::L1Stores, 16);
    let parameters = UsedParameters::new(&machine);
    let (mut path, mut l2) = (L1Path::new(&parameters), L2Cache::new(&parameters));
    let mut accepted = Vec::new();
    for number in 0..12 {
        let access = warp_access(AccessKind::Store, 4, number * 128);
        let outcome = path.access(0, &request(&access, false, 0), &mut l2);
        accepted.push(outcome.accepted);
    }
    let hit = machine[Parameter::L2Hit];
    // Each takes four sectors.
    assert!(accepted[3] < hit, "{accepted:?}");
    assert!(accepted[4] >= hit, "{accepted:?}");
    assert!(accepted[8] >= 2 * hit, "{accepted:?}");
}

/// An SM whose port has a backlog delays no other SM: neither at slices and DRAM, nor by a line that it requests
/// later.
#[test]
fn a_port_with_a_backlog_delays_no_other_sm() {
    // A store buffer that never fills, so that only the port delays.
    let machine = small("gtx1080", Selection::Typical).with(Parameter::L1Stores, 1 << 20);
    let parameters = UsedParameters::new(&machine);
    let (mut busy, mut idle) = (L1Path::new(&parameters), L1Path::new(&parameters));
    let mut l2 = L2Cache::new(&parameters);
    for number in 0..64 {
        let scattered = (
            AccessKind::Store,
            4,
            std::array::from_fn(|lane| (number * 32 + lane as u64) * 512),
        );
        busy.access(0, &request(&scattered, false, 0), &mut l2);
    }
    let wanted = warp_access(AccessKind::Load, 4, 1 << 19);
    let late = busy.access(0, &request(&wanted, false, 0), &mut l2);
    assert!(late.done > 2000, "{late:?}");
    l2.now = 300;
    let own = idle.access(300, &request(&wanted, false, 0), &mut l2);
    let alone = machine[Parameter::L2Hit] + machine[Parameter::DramBeyond];
    assert!(
        own.done >= 300 + alone && own.done < 300 + 2 * alone,
        "{own:?}"
    );
}

/// Ten thousand random streams on random machines: no port and no bus exceeds its bandwidth.
#[test]
fn no_bandwidth_is_exceeded() {
    let names: Vec<&str> = GpuModel::names_of(Family::Maxwell).collect();
    for seed in 0..10_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let name = random.choice(&names).copied().unwrap_or("gtx1080");
        let selection = *random
            .choice(&[
                Selection::Least,
                Selection::Most,
                Selection::Typical,
                Selection::Seed(seed),
            ])
            .unwrap_or(&Selection::Typical);
        let machine = small(name, selection);
        let parameters = UsedParameters::new(&machine);
        let sector = machine[Parameter::L2Sector];
        let sms = random.usize(1..5);
        let mut paths: Vec<L1Path> = (0..sms).map(|_| L1Path::new(&parameters)).collect();
        let mut l2 = L2Cache::new(&parameters);
        let kinds = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic];
        let kinds = &kinds[random.usize(0..2)..random.usize(2..4)];
        let (mut now, mut end, mut bytes) = (0, 0, 0);
        let mut of_sm = vec![(0, 0); sms];
        for number in 0..random.u64(8..80) {
            now += random.u64(0..8);
            l2.now = now;
            let sm = random.usize(0..sms);
            let kind = *random.choice(kinds).unwrap_or(&AccessKind::Load);
            let size = 4 << random.u32(0..3);
            let stride = u64::from(size) << random.u32(0..5);
            let first = (number * 32 * stride) % (1 << 20);
            let addresses = std::array::from_fn(|lane| first + lane as u64 * stride);
            let access = (kind, size, addresses);
            let at = now + random.u64(0..16);
            let outcome = paths[sm].access(at, &request(&access, random.bool(), 0), &mut l2);
            let own = &mut of_sm[sm];
            own.0 += u64::from(outcome.l2_lookups) * sector;
            own.1 = own.1.max(outcome.done);
            bytes += u64::from(outcome.dram) * sector;
            end = end.max(outcome.done);
        }
        for (carried, end) in of_sm {
            let most = machine[Parameter::SmBandwidth] * end / 1000;
            assert!(
                carried <= most,
                "{seed} {name} {selection:?}: port {carried} of {most}"
            );
        }
        // A read after all others waits for all bus transfers.
        l2.now = now;
        let wanted = warp_access(AccessKind::Load, 4, 1 << 21);
        let last = paths[0].access(end, &request(&wanted, false, 0), &mut l2);
        let moved = bytes + u64::from(last.dram) * sector;
        let most = machine[Parameter::DramBandwidth] * last.done / 1000;
        assert!(
            moved <= most,
            "{seed} {name} {selection:?}: bus {moved} of {most}"
        );
    }
}

/// DRAM serves no reads during a refresh.
#[test]
fn a_refresh_blocks_the_bus() {
    let machine = small("gtx1080", Selection::Typical);
    let parameters = UsedParameters::new(&machine);
    let mut dram = Dram::new(&parameters);
    let mut read = |at| dram.get_mut(&parameters).read(at, at, 1);
    let (interval, refresh) = (
        machine[Parameter::DramRefreshInterval],
        machine[Parameter::DramRefresh],
    );
    let alone = machine[Parameter::L2Hit] + machine[Parameter::DramBeyond];
    assert!(refresh > 10);
    assert_eq!(read(10), 10 + alone);
    // 5 cycles after the start of the third refresh.
    let during = 3 * interval + 5;
    assert_eq!(read(during), 3 * interval + refresh + alone);
    // Just before the fourth refresh.
    let after = 4 * interval - 5;
    assert_eq!(read(after), after + alone);
}

/// A sector that several requests of an instruction need is requested once with `l1.merge`.
#[test]
fn requests_of_an_instruction_share_their_sectors() {
    for (merge, sectors) in [(1, 1), (0, 4)] {
        let machine = small("gtx1080", Selection::Typical).with(Parameter::L1Merge, merge);
        let parameters = UsedParameters::new(&machine);
        let (mut path, mut l2) = (L1Path::new(&parameters), L2Cache::new(&parameters));
        // All lanes read one word: four requests for one sector.
        let same = (AccessKind::Load, 4, [64; 32]);
        let outcome = path.access(0, &request(&same, false, 0), &mut l2);
        assert_eq!((outcome.requests, outcome.sectors), (4, sectors));
        assert_eq!(outcome.l2_lookups, sectors);
    }
}

/// Lines at a stride of a power of two are spread over all slices by the hash, and are in one slice without it.
#[test]
fn a_hash_spreads_lines_over_the_slices() {
    let done = |hash| {
        let machine = small("gtx1080", Selection::Typical).with(Parameter::L2Hash, hash);
        let parameters = UsedParameters::new(&machine);
        let mut l2 = L2Cache::new(&parameters);
        // Without a hash, all these lines are in one slice.
        let stride = machine[Parameter::L2Line] * machine[Parameter::L2Slices];
        let all = (0..256).map(|line| l2.access(0, line * stride, 0b1111, L2Access::Write).done);
        all.max().unwrap_or(0)
    };
    assert!(done(0) > 2 * done(1), "{} and {}", done(0), done(1));
}

/// A request for a translation in flight waits for it.
#[test]
fn requests_wait_for_a_translation_in_flight() {
    let machine = machine("gtx1080", Selection::Typical);
    let parameters = UsedParameters::new(&machine);
    let (mut path, mut l2) = (L1Path::new(&parameters), L2Cache::new(&parameters));
    let mut other = L1Path::new(&parameters);
    let walk = machine[Parameter::TlbWalk];
    // Another page of the same table is accessed between two accesses to a page.
    for path in [&mut path, &mut other] {
        for address in [0, 1 << 21, 256] {
            let access = warp_access(AccessKind::Load, 4, address);
            let outcome = path.access(10, &request(&access, false, 0), &mut l2);
            assert!(outcome.done >= 10 + walk, "{outcome:?}");
        }
    }
}
