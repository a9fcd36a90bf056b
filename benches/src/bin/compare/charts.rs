//! Draws the records: `record/charts/*.svg`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use nulls_benches::adapters::Role;
use nulls_benches::score::Duel;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::bytes::mean;
use crate::records::{ArrivalsRow, BytesRow, GrowthRow};
use crate::report::{RATIO_RECORDS, read};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the records are; charts go into `charts` below it.
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/record"))]
    records: PathBuf,
}

/// Bars in groups: each group has one bar of every series that has a value there.
#[derive(Default)]
struct Chart {
    title: String,
    /// Whether heights are logarithms.
    log: bool,
    groups: Vec<String>,
    series: Vec<String>,
    /// By series and group.
    values: BTreeMap<(usize, usize), f64>,
}

impl Chart {
    fn new(title: impl Into<String>, log: bool) -> Self {
        Self {
            title: title.into(),
            log,
            ..Self::default()
        }
    }

    fn add(&mut self, group: &str, series: &str, value: f64) {
        let group = index(&mut self.groups, group);
        let series = index(&mut self.series, series);
        self.values.insert((series, group), value);
    }

    fn height(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }
}

/// Where `name` is, at the end if it was not there.
fn index(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|n| n == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

pub(crate) fn command(args: &Args) -> Result<()> {
    let charts = args.records.join("charts");
    std::fs::create_dir_all(&charts)?;
    for record in RATIO_RECORDS {
        let duels: Vec<Duel> = read(&args.records, record)?;
        for presized in [false, true] {
            let form = if presized { "presized" } else { "grown" };
            let title = format!("{record}, {form}, 2 threads: speed, nulls = 1");
            draw(
                &charts.join(format!("{record}-{form}.svg")),
                &speeds(title, &duels, presized),
            )?;
        }
    }
    draw(
        &charts.join("growth.svg"),
        &growth(&read(&args.records, "growth")?),
    )?;
    draw(
        &charts.join("arrivals.svg"),
        &arrivals(&read(&args.records, "arrivals")?),
    )?;
    draw(
        &charts.join("bytes.svg"),
        &bytes(&read(&args.records, "bytes")?),
    )
}

/// Everybody's speed on two threads, relative to the boxed map.
fn speeds(title: String, duels: &[Duel], presized: bool) -> Chart {
    let mut chart = Chart::new(title, false);
    let wanted = |duel: &&Duel| {
        duel.subject == "nulls"
            && duel.presized == presized
            && duel.threads == 2
            && Role::of(&duel.peer) != Role::Floor
    };
    for duel in duels.iter().filter(wanted) {
        let group = format!("{} {}", duel.workload, short(duel.entries));
        chart.add(&group, "nulls", 1.0);
        chart.add(&group, &duel.peer, 1.0 / duel.ratio);
    }
    chart
}

/// Such as 2M.
fn short(entries: usize) -> String {
    match entries {
        1_000_000.. => format!("{}M", entries / 1_000_000),
        1_000.. => format!("{}K", entries / 1_000),
        _ => entries.to_string(),
    }
}

fn growth(rows: &[GrowthRow]) -> Chart {
    let mut chart = Chart::new("growth from empty: p99.9, ns", true);
    for row in rows {
        chart.add(&row.case, &row.peer, row.p999);
    }
    chart
}

fn arrivals(rows: &[ArrivalsRow]) -> Chart {
    let mut chart = Chart::new("an arriving connection beside readers: p99, ns", true);
    for row in rows {
        chart.add(&format!("{} readers", row.readers), &row.peer, row.p99);
    }
    chart
}

fn bytes(rows: &[BytesRow]) -> Chart {
    let mut chart = Chart::new("bytes an entry, over one doubling", false);
    for steps in rows.chunk_by(|a, b| a.peer == b.peer) {
        let bytes = || steps.iter().map(|row| row.bytes_an_entry);
        let peer = &steps[0].peer;
        chart.add("least", peer, bytes().fold(f64::INFINITY, f64::min));
        chart.add("mean", peer, mean(steps));
        chart.add("most", peer, bytes().fold(0.0, f64::max));
    }
    chart
}

/// Nothing without values.
fn draw(file: &Path, chart: &Chart) -> Result<()> {
    if chart.values.is_empty() {
        return Ok(());
    }
    // Errors of the backend borrow it, so they go on as text.
    draw_svg(file, chart)
        .map_err(|error| anyhow!("{error}"))
        .with_context(|| format!("cannot draw {}", file.display()))?;
    println!("{}", file.display());
    Ok(())
}

fn draw_svg(file: &Path, chart: &Chart) -> Result<(), Box<dyn Error>> {
    /// Pixels.
    const BAR: usize = 14;
    const LEGEND: usize = 180;
    let group = BAR * (chart.series.len() + 1);
    let width = u32::try_from((chart.groups.len() * group + LEGEND + 100).max(640))?;
    let right = chart.groups.len() as f64 + LEGEND as f64 / group as f64;
    let area = SVGBackend::new(file, (width, 480)).into_drawing_area();
    area.fill(&WHITE)?;
    let heights = chart.values.values().map(|value| chart.height(*value));
    let top = heights.fold(0.0, f64::max) * 1.15;
    let mut context = ChartBuilder::on(&area)
        .caption(&chart.title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    label_axes(&area, &mut context, chart)?;
    let bar = 1.0 / (chart.series.len() + 1) as f64;
    for (at, name) in chart.series.iter().enumerate() {
        let color = Palette99::pick(at).to_rgba();
        let values = chart.values.range((at, 0)..(at + 1, 0));
        let bars = values.map(|(&(_, group), &value)| {
            let left = group as f64 + bar * (at as f64 + 0.5);
            let corners = [(left, 0.0), (left + bar, chart.height(value))];
            Rectangle::new(corners, color.filled())
        });
        context
            .draw_series(bars)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], color.filled()));
    }
    context
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    area.present()?;
    Ok(())
}

/// What heights stand for, at the side; names of groups below them.
fn label_axes(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    context: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
    chart: &Chart,
) -> Result<(), Box<dyn Error>> {
    context
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels(0)
        .y_label_formatter(&|height| {
            if chart.log {
                format!("{:.0}", 10_f64.powf(*height))
            } else {
                format!("{height:.1}")
            }
        })
        .draw()?;
    for (at, group) in chart.groups.iter().enumerate() {
        let (x, y) = context.backend_coord(&(at as f64, 0.0));
        area.draw(&Text::new(
            group.as_str(),
            (x + 5, y + 8),
            ("sans-serif", 12),
        ))?;
    }
    Ok(())
}
