//! Gap breakdowns as waterfalls in SVG: a bar for the bound, a step down for each part of the gap, and a bar for the
//! worst simulated run.

use std::fmt::Write as _;

use crate::escape::{escaped, printable};
use crate::gap::{GapReport, part};

/// Width of a bar, and distance from a bar to the next one.
const BAR: f64 = 72.0;
const GAP: f64 = 24.0;
/// Height of the plot, and the space around it.
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 62.0;
/// Minimum width of the page, which leaves room for the lines of text at its top.
const LEAST_WIDTH: f64 = 620.0;
/// Average width of a character of the 12 px font. Wider characters are rare in names.
const CHARACTER: f64 = 7.2;
/// Number of ticks that the axis should have.
const TICKS: u128 = 6;

const STYLE: &str = "text { font-family: sans-serif; font-size: 12px; fill: #333; }
.title { font-size: 14px; font-weight: bold; }
.faint { fill: #666; }
.value { text-anchor: middle; font-weight: bold; }
.name { text-anchor: middle; }
.tick { text-anchor: end; fill: #666; }
.grid { stroke: #e4e4e0; }
.axis { stroke: #333; }
.level { stroke: #888; stroke-dasharray: 3 3; }
.bound { fill: #2c7fb8; }
.drop { fill: #9ecae1; stroke: #2c7fb8; }
.inverted { fill: #c0392b; }
.simulated { fill: #4d9078; }
.cut { fill: none; stroke: white; stroke-width: 3; }";

impl GapReport {
    /// Returns the report as a waterfall in SVG. If the gap is small compared with the bound, the vertical axis
    /// begins above 0, and the drawing says so.
    pub fn svg(&self) -> String {
        let bars = bars(self);
        let axis = Axis::of(&bars);
        let plot = bars.len() as f64 * (BAR + GAP) + GAP;
        let head = self.head();
        // SVG does not wrap text, so the page is as wide as its longest line.
        let longest = head.iter().map(|line| line.chars().count()).max();
        let text = longest.unwrap_or(0) as f64 * CHARACTER + LEFT + RIGHT;
        let width = (LEFT + plot + RIGHT).max(LEAST_WIDTH).max(text);
        let height = TOP + HEIGHT + BOTTOM;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n<title>{}</title>\n<style>\n{STYLE}\n</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            escaped(&printable(&format!(
                "Gap between bound and runs of {}",
                self.kernel
            )))
        );
        for (nth, line) in head.iter().enumerate() {
            let class = if nth == 0 { "title" } else { "faint" };
            let y = 24.0 + 18.0 * nth as f64;
            let line = escaped(line);
            let _ = writeln!(
                out,
                "<text x=\"{LEFT}\" y=\"{y}\" class=\"{class}\">{line}</text>"
            );
        }
        axis.draw(plot, &mut out);
        for (nth, bar) in bars.iter().enumerate() {
            let left = LEFT + GAP + nth as f64 * (BAR + GAP);
            bar.draw(left, nth + 1 < bars.len(), &axis, &mut out);
        }
        out.push_str("</svg>\n");
        out
    }

    /// Returns the lines at the top of the drawing.
    fn head(&self) -> [String; 3] {
        let ratio = self
            .ratio()
            .map_or(String::new(), |ratio| format!(", ratio {ratio:.3}"));
        let net = match (self.ratio(), self.launch_overhead) {
            (None, _) | (_, 0) => String::new(),
            (_, cycles) => format!(" without the launch overhead of {cycles} cycles in both"),
        };
        [
            format!(
                "{} on {}",
                printable(&self.kernel),
                printable(&self.machine)
            ),
            format!(
                "bound {} cycles, worst of {} simulated runs {}{ratio}{net}; caches {}",
                self.bound, self.runs, self.worst_simulated, self.caches
            ),
            format!("worst run: {}", printable(&self.worst_run)),
        ]
    }
}

/// Role of a bar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The bound, from the axis up.
    Bound,
    /// Part of the gap, from one value to the next.
    Drop,
    /// The worst simulated run, from the axis up.
    Simulated,
}

/// Bar of the waterfall.
struct Bar {
    role: Role,
    name: &'static str,
    /// Value at which the bar begins; not used for a bar from the axis up.
    from: u64,
    /// Value to which the bar leads.
    to: u64,
    /// Part of the gap in percent.
    part: String,
}

/// Returns the bars: the bound, the steps between, and the worst simulated run. A difference that remains before the
/// last bar is a step of its own.
fn bars(report: &GapReport) -> Vec<Bar> {
    let mut bars = vec![Bar {
        role: Role::Bound,
        name: "bound",
        from: report.bound,
        to: report.bound,
        part: String::new(),
    }];
    let mut level = report.bound;
    let end = report.chain.len().saturating_sub(1);
    // First and last element are the bound and the worst run, which have bars of their own.
    let inner = report.chain.get(1..end).unwrap_or_default();
    let steps = inner.iter().map(|element| (element.name, element.value));
    let rest = ("rest", report.worst_simulated);
    for (name, value) in steps.chain(std::iter::once(rest)) {
        // The rest is drawn only if the chain does not end at the worst run.
        if name == "rest" && value == level {
            continue;
        }
        let drop = i128::from(level) - i128::from(value);
        bars.push(Bar {
            role: Role::Drop,
            name,
            from: level,
            to: value,
            part: part(drop, report.gap()),
        });
        level = value;
    }
    bars.push(Bar {
        role: Role::Simulated,
        name: "worst simulated",
        from: report.worst_simulated,
        to: report.worst_simulated,
        part: String::new(),
    });
    bars
}

/// Vertical axis in cycles.
struct Axis {
    /// Value at the lower end.
    low: u128,
    /// Value at the upper end.
    high: u128,
    /// Distance of ticks.
    step: u128,
}

impl Axis {
    /// Computes an axis for all values. It begins at 0 unless the values differ by less than a third of the largest
    /// value.
    fn of(bars: &[Bar]) -> Axis {
        let values = || {
            bars.iter()
                .flat_map(|bar| [bar.from, bar.to])
                .map(u128::from)
        };
        let most = values().max().unwrap_or(0);
        let least = values().min().unwrap_or(0);
        let low = match (most - least) * 3 < most {
            // Room below the lowest bar is as high as the range of all bars, so that the bar itself stays visible.
            true => least.saturating_sub((most - least).max(1)),
            false => 0,
        };
        let step = tick_step((most - low).div_ceil(TICKS).max(1));
        Axis {
            // Both ends are multiples of the step, so that the ticks are round numbers.
            low: low / step * step,
            high: most.max(1).div_ceil(step) * step,
            step,
        }
    }

    /// Returns the vertical coordinate of a value.
    fn y(&self, value: u128) -> f64 {
        let range = (self.high - self.low).max(1) as f64;
        TOP + HEIGHT * (1.0 - value.saturating_sub(self.low) as f64 / range)
    }

    /// Draws grid lines, tick labels and the name of the axis.
    fn draw(&self, width: f64, out: &mut String) {
        let right = LEFT + width;
        let mut tick = self.low;
        // The step is at least 1, so the loop ends.
        while tick <= self.high {
            let y = self.y(tick);
            let class = if tick == self.low { "axis" } else { "grid" };
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" class=\"{class}\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" class=\"tick\">{tick}</text>",
                LEFT - 8.0,
                y + 4.0
            );
            tick += self.step;
        }
        let note = match self.low {
            0 => String::new(),
            low => format!("; the axis begins at {low}"),
        };
        let _ = writeln!(
            out,
            "<text x=\"{LEFT}\" y=\"{:.1}\" class=\"faint\">cycles{note}</text>",
            TOP + HEIGHT + BOTTOM - 10.0
        );
    }
}

/// Returns the first number among 1, 2, 5, 10, 20, 50, ... that is at least `least`.
fn tick_step(least: u128) -> u128 {
    let mut unit: u128 = 1;
    loop {
        for step in [unit, unit * 2, unit * 5] {
            if step >= least {
                return step;
            }
        }
        unit *= 10;
    }
}

impl Bar {
    /// Draws the bar with its value and its name, and a line at its level to the next bar.
    fn draw(&self, left: f64, has_next: bool, axis: &Axis, out: &mut String) {
        let [from, to] = [self.from, self.to].map(|value| axis.y(value.into()));
        let (top, bottom, class) = match self.role {
            Role::Bound => (to, axis.y(axis.low), "bound"),
            Role::Simulated => (to, axis.y(axis.low), "simulated"),
            // A step up is an error of the chain, so it has a colour of its own.
            Role::Drop if self.to > self.from => (to, from, "inverted"),
            Role::Drop => (from, to, "drop"),
        };
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{BAR}\" height=\"{:.1}\" class=\"{class}\"/>",
            // A difference of 0 would be invisible.
            (bottom - top).max(1.0)
        );
        if axis.low > 0 && self.role != Role::Drop {
            // Two strokes across the foot of the bar show that the axis does not begin at 0.
            for y in [bottom - 12.0, bottom - 18.0] {
                let _ = writeln!(
                    out,
                    "<path d=\"M{:.1},{:.1} l{:.1},-8\" class=\"cut\"/>",
                    left - 2.0,
                    y + 4.0,
                    BAR + 4.0
                );
            }
        }
        if has_next {
            let (begin, end) = (left + BAR, left + BAR + GAP);
            let _ = writeln!(
                out,
                "<line x1=\"{begin:.1}\" y1=\"{to:.1}\" x2=\"{end:.1}\" y2=\"{to:.1}\" class=\"level\"/>"
            );
        }
        let middle = left + BAR / 2.0;
        let mut label = |y: f64, class: &str, text: &str| {
            let _ = writeln!(
                out,
                "<text x=\"{middle:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>",
                escaped(text)
            );
        };
        label(top - 6.0, "value", &self.value());
        if !self.part.is_empty() {
            label(bottom + 15.0, "name faint", &self.part);
        }
        for (nth, line) in lines(self.name).iter().enumerate() {
            label(TOP + HEIGHT + 18.0 + 14.0 * nth as f64, "name", line);
        }
    }

    /// Formats the value of the bar: cycles, or a difference.
    fn value(&self) -> String {
        match self.role {
            Role::Bound | Role::Simulated => self.to.to_string(),
            Role::Drop if self.to > self.from => format!("+{}", self.to - self.from),
            Role::Drop if self.to == self.from => "0".to_owned(),
            Role::Drop => format!("\u{2212}{}", self.from - self.to),
        }
    }
}

/// Breaks a name into the lines of a label, with at most 12 characters each if its words are short enough.
fn lines(name: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= 12 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
