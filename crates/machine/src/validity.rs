//! Conditions under which parameters describe a machine whose simulation never divides by 0, terminates, and has
//! tables that fit in memory.

use crate::{Domain, Parameter, Unit};

use Parameter as P;
use warpbound_base::Family;

/// Upper limit on parameters in cycles, far above all latencies of GPUs.
const MOST_CYCLES: u64 = 1 << 20;

/// Lower and upper limits of parameters. Upper limits keep tables small and loops short.
const LIMITS: &[(Parameter, u64, u64)] = &[
    (P::SmCount, 1, 256),
    (P::SmWarps, 1, 128),
    (P::SmBlocks, 1, 1 << 10),
    (P::IssueBanks, 1, 64),
    (P::OccupancyQueue, 1, 1 << 10),
    (P::ConstantL1Bytes, 1, 1 << 24),
    (P::ConstantL1Line, 32, 1 << 10),
    (P::ConstantL15Bytes, 1, 1 << 24),
    (P::ConstantL15Line, 32, 1 << 10),
    (P::InstructionL1Bytes, 1, 1 << 24),
    (P::InstructionL15Bytes, 1, 1 << 24),
    // Three instructions and their control word are 32 bytes.
    (P::InstructionLine, 32, 1 << 10),
    (P::InstructionAhead, 0, 64),
    // Accesses of 4 words are aligned to 4 banks; tables have 32 banks.
    (P::SharedBanks, 4, 32),
    // A pool for 128 bits has a quarter of the threads.
    (P::SharedPoolThreads, 4, 32),
    (P::L1Units, 1, 64),
    (P::L1Bytes, 1, 1 << 24),
    (P::L1Line, 32, 1 << 10),
    // A request for 128 bits has a quarter of the threads.
    (P::L1RequestThreads, 4, 32),
    (P::L1Misses, 1, 1 << 20),
    (P::L2Bytes, 1, 1 << 28),
    (P::L2Line, 32, 1 << 10),
    // An access of a thread has at most 16 bytes, aligned: it is within one sector.
    (P::L2Sector, 32, 1 << 10),
    (P::L2Slices, 1, 1 << 10),
    (P::TlbL1Entries, 1, 1 << 16),
    (P::TlbL1Page, 1 << 12, 1 << 40),
    (P::TlbL2Entries, 1, 1 << 16),
    (P::TlbL2Page, 1 << 12, 1 << 40),
    (P::TlbPageTables, 1, 1 << 16),
    (P::CuCount, 1, 256),
    (P::CuSimds, 1, 16),
    // Accesses of four dwords are aligned to banks of words.
    (P::LdsBanks, 4, 64),
    (P::LdsGroup, 4, 64),
    (P::SimdWaves, 1, 64),
    (P::ScalarBytes, 1, 1 << 24),
    (P::ScalarLine, 32, 1 << 10),
    (P::Clock, LEAST_CLOCK, MOST_CLOCK),
];

/// Lower limit on frequencies in kHz: a smaller number is probably in MHz.
const LEAST_CLOCK: u64 = 10_000;
/// Upper limit on frequencies in kHz: a larger number is probably in Hz.
const MOST_CLOCK: u64 = 10_000_000;

/// Limits that differ for GCN3 machines.
const GCN3_LIMITS: &[(Parameter, u64, u64)] = &[
    // A request for 128 bits has a quarter of the 64 lanes.
    (P::L1RequestThreads, 4, 64),
];

/// Limits that differ for GPUs from Volta on.
const VOLTA_LIMITS: &[(Parameter, u64, u64)] = &[
    // With 128, the 32 lanes of a warp make one request whatever the width of the access.
    (P::L1RequestThreads, 4, 128),
    // A field of 9 bits in units of 256 bytes.
    (P::InstructionPreloaded, 0, 511 * 256),
];

/// Upper limit on the lines and translations of all caches together, whose tables then take some hundred megabytes.
const MOST_LINES: u64 = 1 << 22;

/// Parameters that have to be multiples of the product of others.
const MULTIPLES: &[(Parameter, &[Parameter])] = &[
    (P::SmWarps, &[P::SmSchedulers]),
    (P::ConstantL1Bytes, &[P::ConstantL1Line, P::ConstantL1Ways]),
    (
        P::ConstantL15Bytes,
        &[P::ConstantL15Line, P::ConstantL15Ways],
    ),
    (
        P::InstructionL1Bytes,
        &[P::InstructionLine, P::InstructionL1Ways],
    ),
    (
        P::InstructionL15Bytes,
        &[P::InstructionLine, P::InstructionL15Ways],
    ),
    (P::L1Bytes, &[P::L1Line, P::L1Sets]),
    (P::L1Line, &[P::L2Sector]),
    (P::L2Bytes, &[P::L2Line, P::L2Ways, P::L2Slices]),
    (P::L2Line, &[P::L2Sector]),
    (P::ScalarBytes, &[P::ScalarLine, P::ScalarWays]),
];

/// Returns the number that has to divide a parameter, with the other parameters as in `value`; 1 if any value is
/// valid.
pub(crate) fn required_multiple(parameter: Parameter, value: impl Fn(Parameter) -> u64) -> u64 {
    let parts = MULTIPLES.iter().filter(|(whole, _)| *whole == parameter);
    let products = parts.map(|(_, parts)| {
        let factors = parts.iter().map(|&part| value(part));
        factors.fold(1, u64::saturating_mul)
    });
    products
        .max()
        .unwrap_or(1)
        // Parameters that the family lacks are 0, and there are no multiples of 0.
        .clamp(1, crate::GpuModel::MAX_VALUE)
}

/// Checks that every selection of stated values describes a machine of a family. `stated` has the values of each
/// parameter, 0 for parameters of other families.
///
/// # Errors
///
/// The first parameter in error, and its condition.
pub(crate) fn check<const N: usize>(family: Family, stated: &[[u64; N]]) -> Result<(), String> {
    for (&parameter, &values) in Parameter::ALL.iter().zip(stated) {
        for value in values {
            check_value(family, parameter, value)?;
        }
    }
    for (whole, parts) in MULTIPLES.iter().filter(|(whole, _)| whole.is_of(family)) {
        // All combinations, since a selection takes the value of each parameter independently.
        let products = parts.iter().fold(vec![1_u64], |products, part| {
            let factors = stated[*part as usize];
            // A saturated product divides no valid value, so the value is refused.
            let with = |product: u64| factors.map(|factor| product.saturating_mul(factor));
            products.into_iter().flat_map(with).collect()
        });
        for value in stated[*whole as usize] {
            let is_violated = |product: &&u64| !value.is_multiple_of(**product);
            if let Some(product) = products.iter().find(is_violated) {
                let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
                let (whole, parts) = (whole.name(), names.join(" x "));
                return Err(format!(
                    "{whole} is {value}, but must be a multiple of {parts}, which is {product}"
                ));
            }
        }
    }
    // Otherwise refreshes would leave no time on the bus for requests.
    let refresh = stated[P::DramRefresh as usize].into_iter().max();
    let interval = stated[P::DramRefreshInterval as usize].into_iter().min();
    if let (Some(refresh), Some(interval)) = (refresh, interval)
        && refresh >= interval
    {
        return Err(format!(
            "dram.refresh is {refresh}, but must be less than dram.refresh_interval, which is {interval}"
        ));
    }
    let lines = total_lines(stated);
    if lines > MOST_LINES {
        return Err(format!(
            "the caches have {lines} lines together; at most {MOST_LINES} are understood"
        ));
    }
    Ok(())
}

/// Returns an upper bound on the number of lines and translations of all caches and TLBs, over all SMs or CUs.
fn total_lines<const N: usize>(stated: &[[u64; N]]) -> u64 {
    let values = |parameter: Parameter| stated[parameter as usize].into_iter();
    let most = |parameter| values(parameter).max().unwrap_or(0);
    let least = |parameter| values(parameter).min().unwrap_or(0);
    // The largest size over the shortest line: no selection of values has more lines.
    let cache = |bytes, line| most(bytes) / least(line).max(1);
    let of_unit = (most(P::L1Units) * cache(P::L1Bytes, P::L1Line))
        + cache(P::ConstantL1Bytes, P::ConstantL1Line)
        + cache(P::ConstantL15Bytes, P::ConstantL15Line)
        + cache(P::InstructionL1Bytes, P::InstructionLine)
        + cache(P::InstructionL15Bytes, P::InstructionLine)
        + cache(P::ScalarBytes, P::ScalarLine)
        + most(P::TlbL1Entries);
    let shared = [P::TlbL2Entries, P::TlbPageTables].map(most);
    // The parameters of the other family are 0.
    (most(P::SmCount) + most(P::CuCount)) * of_unit
        + cache(P::L2Bytes, P::L2Line)
        + shared[0]
        + shared[1]
}

/// Checks the value of one parameter on its own.
pub(crate) fn check_value(family: Family, parameter: Parameter, value: u64) -> Result<(), String> {
    let name = parameter.name();
    if !parameter.is_of(family) {
        return match value {
            0 => Ok(()),
            _ => Err(format!("{name} is not a number of {family}")),
        };
    }
    let condition = match parameter.domain() {
        Domain::Positive | Domain::Size | Domain::PowerOfTwo if value == 0 => "at least 1",
        Domain::PowerOfTwo if !value.is_power_of_two() => "a power of two",
        Domain::Switch if value > 1 => "0 or 1",
        Domain::BankShift if value != 0 && value != 2 => "0 or 2",
        _ => "",
    };
    if !condition.is_empty() {
        return Err(format!("{name} is {value}, but must be {condition}"));
    }
    let cycles = (parameter.unit() == Unit::Cycles).then_some((parameter, 0, MOST_CYCLES));
    let own: &[_] = match family {
        Family::Maxwell | Family::MiniSimt => &[],
        Family::Volta => VOLTA_LIMITS,
        Family::Gcn3 => GCN3_LIMITS,
    };
    // Limits of the family come first, because they take precedence.
    let mut limits = own.iter().chain(LIMITS).copied();
    let between = limits.find(|(of, ..)| *of == parameter);
    match between.or(cycles) {
        Some((_, least, most)) if !(least..=most).contains(&value) => {
            let unit = match parameter.unit() {
                Unit::Kilohertz => " kHz",
                _ => "",
            };
            Err(format!(
                "{name} is {value}{unit}, but must be {least} to {most}{unit}"
            ))
        }
        _ => Ok(()),
    }
}
