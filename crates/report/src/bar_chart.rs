//! Bar charts as SVG. A panel has a group of bars for each name, side by side or stacked
//! (`efficient-instrumentation-2014`, Figures 5 to 8).
//!
//! For example, a panel of shares with the series "issued" and "waiting" and a group for each kernel. Values that are
//! not known have no bar but a question mark.

use std::fmt::Write as _;

use crate::escape::{escaped, printable};

/// Width of a group of bars, and distance to the next one.
const GROUP: f64 = 64.0;
const GAP: f64 = 22.0;
/// Height of the plot of a panel, and the space around it.
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 24.0;
const HEAD: f64 = 56.0;
const FOOT: f64 = 52.0;
/// Minimum width of the page.
const LEAST_WIDTH: f64 = 480.0;
/// Average width of a character of the 12 px font.
const CHARACTER: f64 = 7.2;
/// Maximum number of characters in a line under a group, and maximum number of lines.
const NAME_CHARACTERS: usize = 12;
const NAME_LINES: usize = 2;
/// Number of ticks that an axis should have.
const TICKS: f64 = 5.0;

/// Colours of the series in order. Further series start again with the first colour.
const COLOURS: [&str; 6] = [
    "#2c7fb8", "#7fcdbb", "#d95f0e", "#4d9078", "#756bb1", "#bdbdbd",
];

const STYLE: &str = "text { font-family: sans-serif; font-size: 12px; fill: #333; }
.title { font-size: 14px; font-weight: bold; }
.faint { fill: #666; }
.value { text-anchor: middle; font-size: 11px; }
.turned { text-anchor: start; font-size: 11px; }
.name { text-anchor: middle; }
.tick { text-anchor: end; fill: #666; }
.grid { stroke: #e4e4e0; }
.axis { stroke: #333; }";

/// Arrangement of the bars of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BarArrangement {
    /// Side by side.
    #[default]
    Beside,
    /// Stacked: the height is the sum of the values.
    Stacked,
}

/// Unit of the values of a panel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarUnit {
    /// Shares from 0 to 1, shown in percent; the axis ends at 100 %.
    Share,
    /// Factors, shown with a multiplication sign.
    Factor,
    /// Numbers with a unit of this name.
    Number(&'static str),
}

/// Panel of a chart.
#[derive(Clone, PartialEq, Debug)]
pub struct BarPanel {
    /// Title.
    pub title: String,
    /// Unit of the values.
    pub unit: BarUnit,
    /// Arrangement of the bars of a group.
    pub arrangement: BarArrangement,
    /// Names of the series. The drawing does not name a single series.
    pub series: Vec<String>,
    /// Name and values of each group, with one value for each series; unknown values are `None`.
    pub groups: Vec<(String, Vec<Option<f64>>)>,
}

/// Returns the panels as one SVG document, from top to bottom.
pub fn bar_charts(panels: &[BarPanel]) -> String {
    let width = panels
        .iter()
        .map(BarPanel::width)
        .fold(LEAST_WIDTH, f64::max);
    let height = panels.len() as f64 * (HEAD + HEIGHT + FOOT);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>\n{STYLE}\n</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (nth, panel) in panels.iter().enumerate() {
        panel.draw(nth as f64 * (HEAD + HEIGHT + FOOT), &mut out);
    }
    out.push_str("</svg>\n");
    out
}

impl BarPanel {
    /// Returns the width of the plot.
    fn plot(&self) -> f64 {
        self.groups.len() as f64 * (GROUP + GAP) + GAP
    }

    /// Returns the width of the page that the panel needs.
    fn width(&self) -> f64 {
        // The title is larger and bold, so its characters are wider.
        let title = self.title.chars().count() as f64 * CHARACTER * 1.2;
        let legend: f64 = self.series.iter().map(|name| legend_width(name)).sum();
        LEFT + self.plot().max(title).max(legend) + RIGHT
    }

    /// Whether bars are narrower than their values. The values are then turned and lack the unit, which the axis
    /// shows.
    fn is_narrow(&self) -> bool {
        // The bars of a group share its width.
        self.arrangement == BarArrangement::Beside && self.series.len() > 1
    }

    /// Returns the upper end of the axis.
    fn top(&self) -> f64 {
        let heights = self.groups.iter().flat_map(|(_, values)| {
            // An infinite or undefined value would leave no scale for the others.
            let known = values.iter().flatten().copied().filter(|v| v.is_finite());
            match self.arrangement {
                BarArrangement::Beside => known.collect::<Vec<f64>>(),
                BarArrangement::Stacked => vec![known.sum()],
            }
        });
        let most = heights.fold(0.0, f64::max);
        // Above the highest bar there is room for its label, which is taller if it is turned.
        match self.unit {
            // A share cannot exceed 1, and with one axis all panels of shares can be compared.
            BarUnit::Share => 1.0,
            _ if most > 0.0 && self.is_narrow() => most * 1.2,
            _ if most > 0.0 => most * 1.08,
            _ => 1.0,
        }
    }

    fn draw(&self, from: f64, out: &mut String) {
        let title = escaped(&printable(&self.title));
        let _ = writeln!(
            out,
            "<text x=\"{LEFT}\" y=\"{:.1}\" class=\"title\">{title}</text>",
            from + 22.0
        );
        if self.series.len() > 1 {
            self.draw_legend(from + 40.0, out);
        }
        let (bottom, top) = (from + HEAD + HEIGHT, self.top());
        // `top` returns a positive number, so the scale is finite.
        let scale = HEIGHT / top;
        let right = LEFT + self.plot();
        let step = tick_step(top);
        let mut nth = 0.0;
        // The tolerance keeps the last tick in spite of rounding.
        while nth * step <= top * (1.0 + 1e-9) {
            let (value, y) = (nth * step, bottom - nth * step * scale);
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" class=\"grid\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" class=\"tick\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                escaped(&self.shown(value, step))
            );
            nth += 1.0;
        }
        for (nth, (name, values)) in self.groups.iter().enumerate() {
            let left = LEFT + GAP + nth as f64 * (GROUP + GAP);
            self.draw_group(left, bottom, scale, values, out);
            for (line, text) in name_lines(name).into_iter().enumerate() {
                let _ = writeln!(
                    out,
                    "<text x=\"{:.1}\" y=\"{:.1}\" class=\"name\">{}</text>",
                    left + GROUP / 2.0,
                    bottom + 17.0 + 14.0 * line as f64,
                    escaped(&text)
                );
            }
        }
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{bottom:.1}\" x2=\"{right:.1}\" y2=\"{bottom:.1}\" class=\"axis\"/>"
        );
    }

    fn draw_legend(&self, y: f64, out: &mut String) {
        let mut x = LEFT;
        for (nth, name) in self.series.iter().enumerate() {
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n\
                 <text x=\"{:.1}\" y=\"{y:.1}\" class=\"faint\">{}</text>",
                y - 10.0,
                colour(nth),
                x + 15.0,
                escaped(&printable(name))
            );
            x += legend_width(name);
        }
    }

    fn draw_group(
        &self,
        left: f64,
        bottom: f64,
        scale: f64,
        values: &[Option<f64>],
        out: &mut String,
    ) {
        let is_stacked = self.arrangement == BarArrangement::Stacked;
        let width = match is_stacked {
            true => GROUP,
            false => GROUP / values.len().max(1) as f64,
        };
        let mut base = 0.0;
        for (nth, value) in values.iter().enumerate() {
            let x = match is_stacked {
                true => left,
                false => left + width * nth as f64,
            };
            // A negative value has no bar, because the axis begins at 0.
            let known = value.filter(|value| value.is_finite() && *value >= 0.0);
            let height = known.unwrap_or(0.0) * scale;
            let y = bottom - base * scale - height;
            if known.is_some() {
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{}\"/>",
                    // One pixel separates adjacent bars.
                    width - 1.0,
                    colour(nth)
                );
            }
            let text = known.map_or("?".to_owned(), |value| self.shown(value, 0.0));
            if self.is_narrow() {
                // The unit follows the number after a space.
                let number = text.split(' ').next().unwrap_or_default();
                turned_label(x + width / 2.0 + 3.5, y - 4.0, number, out);
            } else if !is_stacked {
                label(x + width / 2.0, y - 4.0, &text, out);
            }
            // In a stack each bar begins at the top of the one before it.
            base += if is_stacked {
                known.unwrap_or(0.0)
            } else {
                0.0
            };
        }
        if is_stacked {
            let is_known = values.iter().all(Option::is_some);
            let text = match is_known {
                // The whole needs no number.
                true if self.unit == BarUnit::Share && base > 0.9995 => return,
                // A sum with an unknown part is not known.
                true => self.shown(base, 0.0),
                false => "?".to_owned(),
            };
            label(left + width / 2.0, bottom - base * scale - 4.0, &text, out);
        }
    }

    /// Formats a value. A tick has as many decimals as the distance of ticks needs.
    fn shown(&self, value: f64, step: f64) -> String {
        match self.unit {
            BarUnit::Share if step > 0.0 => format!("{:.0} %", value * 100.0),
            BarUnit::Share => format!("{:.1} %", value * 100.0),
            BarUnit::Factor if step >= 1.0 => format!("{value:.0} ×"),
            BarUnit::Factor if step >= 0.1 => format!("{value:.1} ×"),
            BarUnit::Factor => format!("{value:.2} ×"),
            BarUnit::Number(unit) if value >= 100.0 || step >= 1.0 => format!("{value:.0} {unit}"),
            BarUnit::Number(unit) => format!("{value:.2} {unit}"),
        }
    }
}

fn label(x: f64, y: f64, text: &str, out: &mut String) {
    let text = escaped(text);
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"value\">{text}</text>"
    );
}

/// Writes a label that runs from bottom to top.
fn turned_label(x: f64, y: f64, text: &str, out: &mut String) {
    let text = escaped(text);
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"turned\" transform=\"rotate(-90 {x:.1} {y:.1})\">{text}</text>"
    );
}

fn colour(nth: usize) -> &'static str {
    COLOURS.get(nth % COLOURS.len()).copied().unwrap_or("#333")
}

fn legend_width(name: &str) -> f64 {
    name.chars().count() as f64 * CHARACTER + 32.0
}

/// Returns the distance of ticks: 1, 2 or 5 times a power of ten. For example, an axis up to 24 has ticks at 5, 10,
/// 15, 20.
fn tick_step(top: f64) -> f64 {
    let rough = top / TICKS;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    // The tolerance keeps rounding from skipping a step that fits exactly.
    let step = steps.into_iter().find(|&step| step >= rough * (1.0 - 1e-9));
    // A top of 0 or infinity has no step.
    step.filter(|step| step.is_finite() && *step > 0.0)
        .unwrap_or(top)
}

/// Divides the name of a group into lines, and cuts off what does not fit.
fn name_lines(name: &str) -> Vec<String> {
    let name = printable(name);
    let mut lines = vec![String::new()];
    // Words of names end with these characters.
    for part in name.split_inclusive(['_', ' ', '.', ':']) {
        let fits = |line: &String| {
            line.is_empty() || line.chars().count() + part.chars().count() <= NAME_CHARACTERS
        };
        if !lines.last().is_some_and(fits) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(part);
        }
    }
    let is_cut = lines.len() > NAME_LINES;
    lines.truncate(NAME_LINES);
    if let (true, Some(line)) = (is_cut, lines.last_mut()) {
        line.push('…');
    }
    for line in &mut lines {
        // A single word may be longer than a line.
        if line.chars().count() > NAME_CHARACTERS + 1 {
            *line = line.chars().take(NAME_CHARACTERS).chain(['…']).collect();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        for (top, step) in [(1.0, 0.2), (1.08, 0.5), (24.0, 5.0), (0.03, 0.01)] {
            let found = tick_step(top);
            assert!((found - step).abs() < 1e-9, "{top}: {found}");
        }
    }

    #[test]
    fn names_are_divided() {
        assert_eq!(name_lines("bitonic_block_int"), ["bitonic_", "block_int"]);
        let long = name_lines("a_very_long_name_of_a_kernel_with_parts");
        assert_eq!(long.len(), NAME_LINES);
        assert!(
            long.iter()
                .all(|line| line.chars().count() <= NAME_CHARACTERS + 1)
        );
    }

    #[test]
    fn values_of_narrow_bars_are_turned() {
        let panel = |arrangement, unit| BarPanel {
            title: "two".to_owned(),
            unit,
            arrangement,
            series: vec!["one".to_owned(), "other".to_owned()],
            groups: vec![("k".to_owned(), vec![Some(0.25), Some(0.75)])],
        };
        let beside = bar_charts(&[panel(BarArrangement::Beside, BarUnit::Factor)]);
        assert_eq!(beside.matches("rotate(-90").count(), 2);
        assert!(beside.contains(">0.25<") && beside.contains(">0.75<"));
        let stacked = bar_charts(&[panel(BarArrangement::Stacked, BarUnit::Share)]);
        assert!(
            !stacked.contains("rotate") && !stacked.contains("100.0 %"),
            "{stacked}"
        );
    }

    #[test]
    fn unknown_values_have_no_bar() {
        let panel = BarPanel {
            title: "a < b".to_owned(),
            unit: BarUnit::Share,
            arrangement: BarArrangement::Beside,
            series: vec!["one".to_owned()],
            groups: vec![
                ("k".to_owned(), vec![Some(0.5)]),
                ("l".to_owned(), vec![None]),
            ],
        };
        let drawn = bar_charts(&[panel]);
        // The page, and one bar.
        assert_eq!(drawn.matches("<rect").count(), 2);
        assert!(drawn.contains("a &lt; b") && drawn.contains(">?<") && drawn.contains("50.0 %"));
    }
}
