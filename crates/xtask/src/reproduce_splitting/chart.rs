//! Charts as SVG: values by category, as bars side by side or as lines.

use std::fmt::Write as _;

/// Width of the plot for a category, at least, and of a bar at most.
const CATEGORY: f64 = 46.0;
const BAR: f64 = 16.0;
/// Height of the plot, and the space around it.
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
/// Space below for names across, and for slanted ones.
const BOTTOM: f64 = 34.0;
const SLANTED_BOTTOM: f64 = 90.0;
/// Height of a line of text at the top.
const LINE: f64 = 18.0;
/// Width of a character of the 12 px font, on average.
const CHARACTER: f64 = 7.0;
/// Ticks of the axis that are aimed at.
const TICKS: f64 = 6.0;

/// Fill of each series in turn.
const COLOURS: [&str; 6] = [
    "#2c7fb8", "#e08214", "#4d9078", "#8c6bb1", "#c0392b", "#878787",
];

const STYLE: &str = "text { font-family: sans-serif; font-size: 12px; fill: #333; }
.title { font-size: 14px; font-weight: bold; }
.faint { fill: #666; }
.tick { text-anchor: end; fill: #666; }
.grid { stroke: #e4e4e0; }
.axis { stroke: #333; }
.level { stroke: #888; stroke-dasharray: 4 3; }
.line { fill: none; stroke-width: 2; }";

/// Values of a chart: one for each category, or none where there is no measurement.
pub(crate) struct ChartSeries {
    /// Name in the legend.
    pub(crate) name: String,
    /// Values in the order of the categories.
    pub(crate) values: Vec<Option<f64>>,
}

/// A chart.
pub(crate) struct Chart {
    /// Lines at the top; the first one is the title.
    pub(crate) head: Vec<String>,
    /// Name of the vertical axis, with its unit.
    pub(crate) axis: String,
    /// Categories along the horizontal axis.
    pub(crate) categories: Vec<String>,
    /// Series, at most as many as there are colours.
    pub(crate) series: Vec<ChartSeries>,
    /// Whether the series are lines; otherwise bars.
    pub(crate) is_lines: bool,
    /// A value with a line of its own, and the least value of the axis; without it, the axis begins at 0.
    pub(crate) level: Option<(f64, f64)>,
}

impl Chart {
    /// Returns the chart in SVG.
    pub(crate) fn svg(&self) -> String {
        let bars = self.series.len() as f64 * BAR + BAR;
        let step = if self.is_lines {
            CATEGORY
        } else {
            bars.max(CATEGORY)
        };
        let plot = step * self.categories.len() as f64;
        let texts = self.head.iter().map(|line| line.chars().count() as f64);
        let text = texts.fold(0.0, f64::max) * CHARACTER;
        let legend: usize = self.series.iter().map(|s| s.name.chars().count() + 5).sum();
        let width = LEFT + plot.max(text).max(legend as f64 * CHARACTER) + RIGHT;
        let top = LINE * (self.head.len() as f64 + 2.5);
        let longest = self
            .categories
            .iter()
            .map(|name| name.chars().count())
            .max();
        let is_slanted = longest.unwrap_or(0) as f64 * CHARACTER > step;
        let height = top + HEIGHT + if is_slanted { SLANTED_BOTTOM } else { BOTTOM };
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>\n{STYLE}\n</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for (nth, line) in self.head.iter().enumerate() {
            let class = if nth == 0 { "title" } else { "faint" };
            let y = LINE * (nth as f64 + 1.3);
            let line = escaped(line);
            let _ = writeln!(
                out,
                "<text x=\"{LEFT}\" y=\"{y:.1}\" class=\"{class}\">{line}</text>"
            );
        }
        self.draw_legend(LINE * (self.head.len() as f64 + 1.3), &mut out);
        let scale = ChartScale::of(self, top);
        scale.draw(self, plot, &mut out);
        self.draw_categories(step, top + HEIGHT, is_slanted, &mut out);
        for (number, series) in self.series.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            match self.is_lines {
                true => draw_line(series, colour, step, &scale, &mut out),
                false => {
                    let first = (step - self.series.len() as f64 * BAR) / 2.0;
                    let offset = first + number as f64 * BAR;
                    draw_bars(series, colour, (step, offset), &scale, &mut out);
                }
            }
        }
        out.push_str("</svg>\n");
        out
    }

    fn draw_legend(&self, y: f64, out: &mut String) {
        let mut x = LEFT;
        for (number, series) in self.series.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let name = escaped(&series.name);
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\">{name}</text>",
                y - 10.0,
                x + 17.0
            );
            x += (series.name.chars().count() as f64 + 5.0) * CHARACTER;
        }
    }

    fn draw_categories(&self, step: f64, base: f64, is_slanted: bool, out: &mut String) {
        for (nth, category) in self.categories.iter().enumerate() {
            let x = LEFT + (nth as f64 + 0.5) * step;
            let category = escaped(category);
            let _ = match is_slanted {
                false => writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{category}</text>",
                    base + 18.0
                ),
                true => writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" \
                     transform=\"rotate(-40 {x:.1} {y:.1})\">{category}</text>",
                    y = base + 14.0
                ),
            };
        }
    }
}

fn draw_bars(
    series: &ChartSeries,
    colour: &str,
    (step, offset): (f64, f64),
    scale: &ChartScale,
    out: &mut String,
) {
    let zero = scale.y(scale.from);
    for (nth, value) in series.values.iter().enumerate() {
        let Some(value) = value else { continue };
        let x = LEFT + nth as f64 * step + offset;
        let y = scale.y(*value);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\">\
             <title>{}: {value}</title></rect>",
            BAR - 1.0,
            zero - y,
            escaped(&series.name)
        );
    }
}

fn draw_line(series: &ChartSeries, colour: &str, step: f64, scale: &ChartScale, out: &mut String) {
    let points =
        series.values.iter().enumerate().filter_map(|(nth, value)| {
            Some((LEFT + (nth as f64 + 0.5) * step, scale.y((*value)?)))
        });
    let points: Vec<(f64, f64)> = points.collect();
    let path: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        out,
        "<polyline class=\"line\" stroke=\"{colour}\" points=\"{}\"/>",
        path.join(" ")
    );
    for (x, y) in points {
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
        );
    }
}

/// Vertical axis.
struct ChartScale {
    from: f64,
    to: f64,
    tick: f64,
    top: f64,
}

impl ChartScale {
    fn of(chart: &Chart, top: f64) -> ChartScale {
        let from = chart.level.map_or(0.0, |(_, least)| least);
        let values = chart
            .series
            .iter()
            .flat_map(|series| &series.values)
            .flatten();
        let level = chart.level.map_or(from, |(level, _)| level);
        let most = values.fold(level, |most, &value| most.max(value));
        let span = if most > from { most - from } else { 1.0 };
        let power = 10f64.powf((span / TICKS).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let tick = steps
            .into_iter()
            .find(|step| span / step <= TICKS)
            .unwrap_or(span);
        ChartScale {
            from,
            to: from + (span / tick).ceil() * tick,
            tick,
            top,
        }
    }

    /// Place of a value; one below the axis is at its foot.
    fn y(&self, value: f64) -> f64 {
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.top + HEIGHT * (1.0 - share)
    }

    fn draw(&self, chart: &Chart, plot: f64, out: &mut String) {
        let ticks = ((self.to - self.from) / self.tick).round() as usize;
        let right = LEFT + plot;
        for nth in 0..=ticks {
            let value = self.from + nth as f64 * self.tick;
            let y = self.y(value);
            let digits = (-self.tick.log10().floor()).clamp(0.0, 6.0) as usize;
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{value:.digits$}</text>",
                LEFT - 6.0,
                y + 4.0
            );
        }
        if let Some((level, _)) = chart.level {
            let y = self.y(level);
            let _ = writeln!(
                out,
                "<line class=\"level\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\"/>"
            );
        }
        let foot = self.y(self.from);
        let middle = self.top + HEIGHT / 2.0;
        let _ = writeln!(
            out,
            "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{foot:.1}\" x2=\"{right:.1}\" y2=\"{foot:.1}\"/>\
             <text x=\"16\" y=\"{middle:.1}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 16 {middle:.1})\">{}</text>",
            escaped(&chart.axis)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
