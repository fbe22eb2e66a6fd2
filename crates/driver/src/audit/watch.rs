//! Watches the warps of a launch and compares each step with what is claimed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use warpbound_analyse::context::{ContextId, Contexts};
use warpbound_ir::{Cell, ControlEffect, Op, OpIndex, ControlTarget};
use warpbound_isa::instr::StackToken;
use warpbound_simt::Tag;
use warpbound_simt::concrete::{ActivationStack, Mask};
use warpbound_simulate::functional::{Issue, ExecutionListener, Size};

use super::claims::{Claim, Claims, ClaimPoint, Point, Violation};
use super::loops::{LoopCounter, HeaderMaximum};

/// Lanes of a warp.
const LANES: usize = 32;

/// Violations that are kept apart; of further ones only the number is.
const KEPT: usize = 200;

/// What the warps of one launch did.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// What was excluded and happened, with its first warp. At most 200 different ones.
    pub violations: BTreeMap<Violation, WarpId>,
    /// How many more there are.
    pub more_violations: u64,
    /// For each fact about loops, the most header executions of a thread.
    pub most: Vec<Option<HeaderMaximum>>,
    /// The same for the whole runs of threads.
    pub totals: Vec<Option<HeaderMaximum>>,
    /// For each statement of what never happens, the first thread that did it.
    pub happened: Vec<Option<HeaderMaximum>>,
    /// The warp that issued the most instructions, of those that came to their end.
    pub worst: Option<WorstWarp>,
    /// Warps that came to their end.
    pub finished: u64,
    /// Instructions that warps issued.
    pub issued: u64,
}

/// A warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpId {
    /// Its block.
    pub block: Size,
    /// Its number in the block.
    pub warp: u32,
}

/// A warp and what it issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorstWarp {
    /// Instructions.
    pub issued: u64,
    /// The warp.
    pub who: WarpId,
}

impl WorstWarp {
    /// Of equal ones the first warp, whoever came first.
    fn order(&self) -> impl Ord + use<> {
        let [x, y, z] = self.who.block;
        (self.issued, Reverse(([z, y, x], self.who.warp)))
    }
}

/// A listener that compares the warps of one launch with what is claimed of them.
pub struct ClaimMonitor<'a> {
    claims: &'a Claims<'a>,
    contexts: Contexts,
    /// The warp that issued last; most often it goes on.
    running: Option<(Key, Watched)>,
    /// Other warps between their first instruction and their end.
    warps: HashMap<Key, Watched>,
    seen: Seen,
}

/// Block and number of a warp.
type Key = (Size, u32);

/// A warp.
struct Watched {
    /// Its stack, with calling contexts, before the instruction that was issued last.
    stack: ActivationStack<ClaimPoint>,
    /// That instruction and the lanes for which its guard held.
    last: Option<(OpIndex, Mask)>,
    issued: u64,
    lanes: Vec<LoopCounter>,
    /// It does what no instruction says: nothing more can be told of it.
    lost: bool,
}

impl<'a> ClaimMonitor<'a> {
    /// A listener for one launch.
    pub fn new(claims: &'a Claims<'a>) -> ClaimMonitor<'a> {
        ClaimMonitor {
            claims,
            contexts: claims.flow.thread.space.contexts.clone(),
            running: None,
            warps: HashMap::new(),
            seen: Seen {
                most: vec![None; claims.flow.loops.sites.len()],
                totals: vec![None; claims.flow.loops.sites.len()],
                happened: vec![None; claims.never_count()],
                ..Seen::default()
            },
        }
    }

    /// What was seen.
    pub fn finish(self) -> Seen {
        self.seen
    }

    /// A warp; a new one begins with the lanes `live`.
    fn take(&mut self, key: Key, live: Mask) -> Watched {
        if let Some((other, warp)) = self.running.take() {
            if other == key {
                return warp;
            }
            self.warps.insert(other, warp);
        }
        self.warps.remove(&key).unwrap_or_else(|| {
            let start = Point {
                op: self.claims.code.entry,
                label: Contexts::KERNEL,
            };
            Watched {
                stack: ActivationStack::new(start, live),
                last: None,
                issued: 0,
                lanes: vec![LoopCounter::new(self.claims); LANES],
                lost: false,
            }
        })
    }

    fn tell(&mut self, found: Vec<Violation>, who: WarpId) {
        for violation in found {
            let kept = &mut self.seen.violations;
            if kept.contains_key(&violation) {
                continue;
            }
            if kept.len() < KEPT {
                kept.insert(violation, who);
            } else {
                self.seen.more_violations += 1;
            }
        }
    }

    /// Brings the stack of a warp up to what the simulator has now; checks the step where a block of code ends.
    fn follow(
        &mut self,
        warp: &mut Watched,
        now: &ActivationStack<u32>,
        found: &mut Vec<Violation>,
    ) {
        let Some((at, taken)) = warp.last.take() else {
            return;
        };
        let claims = self.claims;
        let op = claims.code.get(at);
        let top = warp.stack.top().copied();
        let done = match (op, top) {
            (Some(op), Some(top)) if op.control == ControlEffect::Next && claims.is_inside(at) => {
                let op = top.next.op.next();
                warp.stack.advance(Point { op, ..top.next });
                true
            }
            (Some(op), Some(top)) => {
                let before = warp.stack.clone();
                let done = advance(&mut warp.stack, &mut self.contexts, claims, op, taken, now);
                if done {
                    let leaves = matches!(op.control, ControlEffect::Unwind(_) | ControlEffect::Exit);
                    let exhausted = leaves && taken == top.mask;
                    claims.check_step(&before, &warp.stack, exhausted, found);
                }
                done
            }
            _ => false,
        };
        if !done || !same(&warp.stack, now) {
            warp.lost = true;
            found.push(Violation {
                claim: Claim::Machine,
                at,
                what: "the activation stack is not what the instruction makes of it".to_owned(),
            });
        }
    }

    fn count_loops(&mut self, warp: &mut Watched, issue: &Issue<'_>) {
        let Some(top) = warp.stack.top() else {
            return;
        };
        let Some(node) = self.claims.node_of(top.next) else {
            return;
        };
        for (lane, counter) in (0u32..).zip(&mut warp.lanes) {
            if issue.active >> lane & 1 == 0 {
                continue;
            }
            let most = |count| HeaderMaximum {
                count,
                thread: issue.first_thread() + lane,
                block: issue.block,
            };
            let seen = &mut self.seen;
            let from = counter.count(self.claims, node, |fact, count| {
                raise(&mut seen.most, fact, most(count.since_entry));
                raise(&mut seen.totals, fact, most(count.total));
            });
            for never in self.claims.contradicted(from, node) {
                raise(&mut self.seen.happened, never, most(1));
            }
        }
    }
}

impl ExecutionListener for ClaimMonitor<'_> {
    fn issue(&mut self, issue: &Issue<'_>) -> bool {
        let who = WarpId {
            block: issue.block,
            warp: issue.first_thread() / LANES as u32,
        };
        let key = (who.block, who.warp);
        let mut warp = self.take(key, issue.active.into());
        warp.issued += 1;
        self.seen.issued += 1;
        let mut found = Vec::new();
        if !warp.lost {
            self.follow(&mut warp, issue.stack(), &mut found);
        }
        if !warp.lost {
            let agree = |cell: Cell, mask: Mask| all_equal(&issue.cell(cell), mask);
            self.claims.check_state(&warp.stack, &agree, &mut found);
            self.count_loops(&mut warp, issue);
            warp.last = Some((issue.at, issue.taken.into()));
        }
        let op = self.claims.code.get(issue.at);
        let leaves = op.is_some_and(|op| op.control == ControlEffect::Exit);
        // Where nobody is left, nothing is issued that would tell what came of it.
        let mut stages = issue.stack().pending().iter().chain(issue.stack().top());
        let all_leave = stages.all(|stage| stage.mask & !Mask::from(issue.taken) == 0);
        if leaves && all_leave {
            if !warp.lost {
                self.follow(&mut warp, &ActivationStack::new(0, 0), &mut found);
            }
            self.seen.finished += 1;
            let new = WorstWarp {
                issued: warp.issued,
                who,
            };
            if self.seen.worst.is_none_or(|old| new.order() > old.order()) {
                self.seen.worst = Some(new);
            }
        } else {
            self.running = Some((key, warp));
        }
        self.tell(found, who);
        true
    }
}

/// Notes a count at a place of a list where it is more than what stands there.
fn raise(list: &mut [Option<HeaderMaximum>], place: usize, new: HeaderMaximum) {
    if let Some(most) = list.get_mut(place)
        && most.is_none_or(|old| new.order() > old.order())
    {
        *most = Some(new);
    }
}

/// Does to a stack what an operation says. Which lanes go which way, and in which order, is read off the stack that the
/// simulator has behind it; `false` where that cannot be.
fn advance(
    stack: &mut ActivationStack<ClaimPoint>,
    contexts: &mut Contexts,
    claims: &Claims<'_>,
    op: &Op,
    taken: Mask,
    now: &ActivationStack<u32>,
) -> bool {
    let Some(top) = stack.top().copied() else {
        return false;
    };
    let here = top.next;
    let next = Point {
        op: here.op.next(),
        ..here
    };
    let to = |op: OpIndex, label: ContextId| Point { op, label };
    match &op.control {
        ControlEffect::Next => stack.advance(next),
        ControlEffect::Jump(ControlTarget::Op(target)) => {
            let others = top.mask & !taken;
            let mut expected = match *target == next.op {
                true => vec![(next.op, top.mask)],
                false => vec![(*target, taken), (next.op, others)],
            };
            expected.retain(|&(_, mask)| mask != 0);
            expected.sort_unstable();
            let ways = ways(stack, now);
            let mut found = ways.clone();
            found.sort_unstable();
            if found != expected {
                return false;
            }
            part(stack, ways, |op| to(op, here.label));
        }
        ControlEffect::Indirect { .. } => {
            // A jump to a function behind a PRET is a call.
            let behind_pret = stack.topmost_tag() == Some(Tag::Ret);
            let ways = ways(stack, now);
            let jumps_without = |&(op, mask): &(OpIndex, Mask)| op != next.op && mask & !taken != 0;
            if ways.iter().any(jumps_without) {
                return false;
            }
            part(stack, ways, |op| {
                let is_call = behind_pret && claims.code.function_at(op).is_some();
                let label = match is_call {
                    true => contexts.enter(here.label, here.op, op).context(),
                    false => here.label,
                };
                to(op, label)
            });
        }
        ControlEffect::Call(ControlTarget::Op(callee)) => {
            let label = contexts.enter(here.label, here.op, *callee).context();
            stack.push(Tag::Ret, next, to(*callee, label));
        }
        ControlEffect::Push(token, ControlTarget::Op(target)) => match tag(*token) {
            Some(tag) => stack.push(tag, to(*target, here.label), next),
            None => return false,
        },
        ControlEffect::Unwind(token) => {
            return tag(*token).is_some_and(|tag| stack.unwind(tag, taken, next).is_ok());
        }
        ControlEffect::Exit => stack.exit(taken, next),
        _ => return false,
    }
    true
}

/// Where the lanes that were active are behind an operation, in the order in which they run.
fn ways(before: &ActivationStack<ClaimPoint>, now: &ActivationStack<u32>) -> Vec<(OpIndex, Mask)> {
    let parted = now.pending().iter().skip(before.pending().len());
    let stages = parted.chain(now.top());
    let mut ways: Vec<(OpIndex, Mask)> = stages.map(|s| (OpIndex(s.next), s.mask)).collect();
    ways.reverse();
    ways
}

fn part(
    stack: &mut ActivationStack<ClaimPoint>,
    ways: Vec<(OpIndex, Mask)>,
    mut place: impl FnMut(OpIndex) -> ClaimPoint,
) {
    let ways: Vec<(ClaimPoint, Mask)> = ways
        .into_iter()
        .map(|(op, mask)| (place(op), mask))
        .collect();
    match ways.as_slice() {
        [(to, _)] => stack.advance(*to),
        ways => stack.diverge(ways),
    }
}

/// Whether two stacks are the same but for calling contexts.
fn same(ours: &ActivationStack<ClaimPoint>, theirs: &ActivationStack<u32>) -> bool {
    let pending = ours.pending().iter().zip(theirs.pending());
    let mut stages = pending.chain(ours.top().zip(theirs.top()));
    ours.pending().len() == theirs.pending().len()
        && ours.top().is_some() == theirs.top().is_some()
        && stages.all(|(our, their)| {
            our.next.op.0 == their.next && our.tag == their.tag && our.mask == their.mask
        })
}

fn all_equal(row: &[u32; LANES], mask: Mask) -> bool {
    let Some(&first) = row.get(mask.trailing_zeros() as usize) else {
        return true;
    };
    let differs = |lane: usize, value: u32| mask >> lane & 1 == 1 && value != first;
    !row.iter()
        .enumerate()
        .any(|(lane, &value)| differs(lane, value))
}

fn tag(token: StackToken) -> Option<Tag> {
    Some(match token {
        StackToken::Sync => Tag::Sync,
        StackToken::Brk => Tag::Brk,
        StackToken::Cont => Tag::Cont,
        StackToken::Ret => Tag::Ret,
        StackToken::LongJmp | StackToken::Exit => return None,
    })
}
