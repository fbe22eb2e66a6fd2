//! `campaign SEED RUNS`: audits random programs and prints what it found.
use warpbound_testkit::random::campaign;

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|a| a.parse::<u64>().ok());
    let (seed, runs) = (args.next().unwrap_or(1), args.next().unwrap_or(1000));
    let total = campaign(seed, runs as usize);
    println!(
        "{} programs ({} refused), {} runs, {} diverged, {} finished, {} bounded, median ratio {:.2}, {} problems",
        total.programs, total.refused, total.runs, total.diverged, total.finished, total.bounded,
        total.median_ratio(), total.problems.len()
    );
    for problem in total.problems.iter().take(10) {
        println!("{problem}");
    }
}
