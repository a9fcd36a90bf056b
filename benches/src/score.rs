//! What the times of a contest say: ratios within each round.

use std::thread;

use serde::{Deserialize, Serialize};

use crate::adapters::Role;
use crate::contest::Timing;
use crate::record::{quartiles, rounded};

/// One contender compared with the first.
#[derive(Debug)]
pub struct Score {
    pub name: String,
    /// Quartiles, in nanoseconds.
    pub time: [f64; 3],
    /// Median time of the first contender by that of this one: above one is faster than the first.
    pub ratio_of_medians: f64,
    /// Quartiles of the ratios within each round.
    pub ratio: [f64; 3],
    /// See [`Timing::missed`].
    pub missed: u64,
}

/// Everybody compared with the first.
pub fn scores(timings: &[Timing]) -> Vec<Score> {
    let score = |timing: &Timing| Score {
        name: timing.name.clone(),
        time: quartiles(&timing.times),
        ratio_of_medians: quartiles(&timings[0].times)[1] / quartiles(&timing.times)[1],
        ratio: ratios(&timings[0], timing),
        missed: timing.missed,
    };
    timings.iter().map(score).collect()
}

/// Quartiles of `slow`'s time by `fast`'s within each round.
fn ratios(slow: &Timing, fast: &Timing) -> [f64; 3] {
    let rounds = slow.times.iter().zip(&fast.times);
    quartiles(&rounds.map(|(slow, fast)| slow / fast).collect::<Vec<_>>())
}

/// Prints a cell's table. `first` is whom the ratios refer to.
pub fn print(title: &str, first: &str, scores: &[Score]) {
    println!(
        "{title:<20}{:>9}{:>14}{:>12}{:>15}",
        "ns/op",
        format!("× {first}"),
        "by round",
        "quartiles"
    );
    for Score {
        name,
        time,
        ratio_of_medians,
        ratio: [low, median, high],
        missed,
    } in scores
    {
        print!(
            "  {name:<18}{:>9.1}{ratio_of_medians:>14.2}{median:>12.2}",
            time[1]
        );
        let quartiles = format!("{low:.2}..{high:.2}");
        let remark = if *missed > 0 {
            format!("  present keys missed: {missed}")
        } else {
            String::new()
        };
        println!("{quartiles:>15}{remark}");
    }
    println!();
}

/// What is measured: a row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub workload: String,
    pub entries: usize,
    pub threads: usize,
    /// Whether tables were made with the right capacity, instead of growing from empty.
    pub presized: bool,
}

impl Cell {
    /// Such as `hit/2000000/2/grown`.
    pub fn name(&self) -> String {
        let form = if self.presized { "presized" } else { "grown" };
        format!("{}/{}/{}/{form}", self.workload, self.entries, self.threads)
    }

    /// Whether there are more threads than processors: the scheduler is measured too.
    pub fn oversubscribed(&self) -> bool {
        thread::available_parallelism().is_ok_and(|processors| self.threads > processors.get())
    }
}

/// One of our maps against another contender, in one cell: a row of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Duel {
    pub workload: String,
    pub entries: usize,
    pub threads: usize,
    pub oversubscribed: bool,
    pub presized: bool,
    pub rounds: usize,
    pub subject: String,
    pub subject_ns: f64,
    pub peer: String,
    pub peer_version: String,
    pub peer_ns: f64,
    /// The peer's time by the subject's, median over the rounds: above one, the subject is faster.
    pub ratio: f64,
    pub ratio_p25: f64,
    pub ratio_p75: f64,
    /// See [`Timing::missed`]: the peer's.
    pub peer_missed: u64,
}

impl Duel {
    /// Each of our maps against everybody else.
    pub fn all(cell: &Cell, timings: &[Timing]) -> Vec<Self> {
        let of_role = |timing: &&Timing| Role::of(&timing.name) == Role::Subject;
        let mut duels = Vec::new();
        for subject in timings.iter().filter(of_role) {
            let others = timings.iter().filter(|other| other.name != subject.name);
            duels.extend(others.map(|peer| Self::new(cell, subject, peer)));
        }
        duels
    }

    fn new(cell: &Cell, subject: &Timing, peer: &Timing) -> Self {
        let [ratio_p25, ratio, ratio_p75] = ratios(peer, subject).map(rounded);
        Self {
            workload: cell.workload.clone(),
            entries: cell.entries,
            threads: cell.threads,
            oversubscribed: cell.oversubscribed(),
            presized: cell.presized,
            rounds: subject.times.len(),
            subject: subject.name.clone(),
            subject_ns: rounded(quartiles(&subject.times)[1]),
            peer: peer.name.clone(),
            peer_version: peer.version.to_owned(),
            peer_ns: rounded(quartiles(&peer.times)[1]),
            ratio,
            ratio_p25,
            ratio_p75,
            peer_missed: peer.missed,
        }
    }

    pub fn cell(&self) -> Cell {
        Cell {
            workload: self.workload.clone(),
            entries: self.entries,
            threads: self.threads,
            presized: self.presized,
        }
    }
}

/// Among duels of one cell, that of `subject` with the quickest map of others (by its median time).
pub fn best_peer<'d>(duels: impl IntoIterator<Item = &'d Duel>, subject: &str) -> Option<&'d Duel> {
    duels
        .into_iter()
        .filter(|duel| duel.subject == subject && Role::of(&duel.peer) == Role::Peer)
        .min_by(|a, b| a.peer_ns.total_cmp(&b.peer_ns))
}

#[cfg(test)]
mod tests {
    use super::{Cell, Duel, best_peer};
    use crate::contest::Timing;

    #[test]
    fn duels_are_ratios_within_rounds() {
        let timing = |name: &str, times: &[f64]| Timing {
            name: name.to_owned(),
            version: "1",
            times: times.to_vec(),
            missed: 0,
        };
        let timings = [
            timing("papaya", &[20.0, 40.0, 60.0]),
            timing("nulls", &[10.0, 10.0, 10.0]),
            timing("flurry", &[90.0, 90.0, 90.0]),
            timing("floor: one line", &[1.0, 1.0, 1.0]),
        ];
        let cell = Cell {
            workload: "hit".to_owned(),
            entries: 1,
            threads: 1,
            presized: false,
        };
        let duels = Duel::all(&cell, &timings);
        assert_eq!(duels.len(), 3);
        let best = best_peer(&duels, "nulls").expect("there are peers");
        assert_eq!((best.peer.as_str(), best.ratio), ("papaya", 4.0));
        assert!(best_peer(&duels, "nulls-inline").is_none());
    }
}
