//! The benchmark's workloads in differential dataflow.
//!
//!     vega-bench-differential --data DIR --res DIR --w w1 --workers 1 --rounds 10
mod drive;
mod input;
mod nexmark;
mod report;

use differential_dataflow::operators::CountTotal;
use drive::{Step, drive};

/// The value of a flag.
fn flag(name: &str, default: &str) -> String {
    let all: Vec<String> = std::env::args().collect();
    all.iter().position(|a| a == name).and_then(|i| all.get(i + 1).cloned()).unwrap_or_else(|| default.to_string())
}

pub struct Run {
    pub workload: String,
    pub workers: usize,
    pub rounds: i32,
    pub data: String,
    pub result: String,
}

fn main() {
    let workload = flag("--w", "w1");
    let workers: usize = flag("--workers", "1").parse().unwrap();
    let rounds: i32 = flag("--rounds", "10").parse().unwrap();
    let result = format!("{}/out/differential-{workers}_{workload}_r{rounds}.csv", flag("--res", "."));
    let run = Run { workload, workers, rounds, data: flag("--data", "."), result };
    if run.workload.starts_with('q') {
        nexmark::run(&run);
    } else {
        tables(&run);
    }
}

fn tables(run: &Run) {
    let feed = input::feed(&run.data, &run.workload, run.rounds);
    let rows = feed.content.len();
    let mut steps = Vec::new();
    for (size, records) in std::iter::once((0, feed.content)).chain(feed.batches) {
        let of = |tag: i32| records.iter().filter(move |r| r.tag == tag);
        steps.push(Step {
            size,
            left: of(0).map(|r| ((r.a, r.b, r.c), r.w as isize)).collect(),
            right: of(1).map(|r| ((r.a, r.b), r.w as isize)).collect(),
        });
    }
    macro_rules! measure {
        ($logic:expr, $line:expr) => {{
            let (figures, changes) = drive(run.workers, steps, $logic);
            report::print(&run.workload, run.workers, run.rounds, rows, &figures);
            report::write(&run.result, changes, $line);
        }};
    }
    match run.workload.as_str() {
        // count and sum travel in the difference, so that a group is one number pair
        "w1" => measure!(|t, _| t.explode(|(_, k, v)| Some((k, (1isize, v as isize)))).count_total(), |(k, (n, s))| format!("{k},{n},{s}")),
        "w1b" => measure!(
            |t, _| t.map(|(_, k, v)| (k, v)).reduce(|_, values, out| {
                let (mut n, mut sum, mut seen) = (0i64, 0i64, 0u128);
                for (v, w) in values {
                    n += *w as i64;
                    sum += *w as i64 * **v;
                    seen |= 1 << (**v % 100);
                }
                let (least, most) = (*values[0].0, *values[values.len() - 1].0);
                out.push(((n, sum, least, most, seen.count_ones() as i64), 1));
            }),
            |(k, (n, s, least, most, d))| format!("{k},{n},{s},{least},{most},{d}")
        ),
        "w2" => measure!(|o, c| o.map(|(id, cid, amt)| (cid, (id, amt))).join_map(c, |_, (id, amt), region| (*region, *id, *amt)), |(r, id, amt)| format!("{r},{id},{amt}")),
        "w2b" => measure!(
            |o, c| o.map(|(id, cid, amt)| (cid, (id, amt))).join_map(c, |_, (_, amt), region| (*region, *amt)).explode(|(r, amt)| Some((r, (1isize, amt as isize)))).count_total(),
            |(r, (_, s))| format!("{r},{s}")
        ),
        "w3" => measure!(
            |o, c| {
                let by_cid = o.map(|(id, cid, amt)| (cid, (id, amt)));
                let matched = by_cid.clone().join_map(c.clone(), |cid, (id, amt), region| (*id, *cid, *amt, Some(*region)));
                matched.concat(by_cid.antijoin(c.map(|(cid, _)| cid)).map(|(cid, (id, amt))| (id, cid, amt, None)))
            },
            |(id, cid, amt, region)| format!("{id},{cid},{amt},{}", region.map(|r| r.to_string()).unwrap_or_default())
        ),
        // two levels: first 16 parts of each group, then the winners of its parts
        "w4" => measure!(
            |t, _| {
                let first = |rows: &[(&(i64, i64), isize)], out: &mut Vec<((i64, i64), isize)>| {
                    let mut left = 3;
                    for (row, w) in rows {
                        let n = (*w).min(left);
                        out.push((**row, n));
                        left -= n;
                        if left == 0 {
                            break;
                        }
                    }
                };
                t.map(|(id, k, v)| ((k, id % 16), (-v, id)))
                    .reduce(move |_, rows, out| first(rows, out))
                    .map(|((k, _), row)| (k, row))
                    .reduce(move |_, rows, out| first(rows, out))
                    .map(|(k, (v, id))| (k, id, -v))
            },
            |(k, id, v)| format!("{k},{id},{v}")
        ),
        other => panic!("no workload {other}"),
    }
}
