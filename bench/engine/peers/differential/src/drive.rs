//! Feeds a dataflow of two inputs step by step and takes the time of each.
use crate::report::{self, Figures};
use differential_dataflow::input::Input;
use differential_dataflow::{ExchangeData, Hashable, VecCollection};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Instant;

pub type Rows<'s, D> = VecCollection<'s, u64, D, isize>;

/// One step: its size in changes (0 for the first content) and the changes of both inputs.
pub struct Step<A, B> {
    pub size: i32,
    pub left: Vec<(A, isize)>,
    pub right: Vec<(B, isize)>,
}

/// Every worker makes its share of all steps before the first clock starts. A step is done when its changes of the
/// output are in the vector.
pub fn drive<A, B, C>(workers: usize, steps: Vec<Step<A, B>>, logic: impl for<'s> Fn(Rows<'s, A>, Rows<'s, B>) -> Rows<'s, C> + Send + Sync + 'static) -> (Figures, Vec<(C, isize)>)
where
    A: ExchangeData + Hashable + Sync,
    B: ExchangeData + Hashable + Sync,
    C: ExchangeData,
{
    let steps = Arc::new(steps);
    let figures = Arc::new(Mutex::new(Figures::default()));
    let output = Arc::new(Mutex::new(Vec::new()));
    let (f, o) = (figures.clone(), output.clone());
    timely::execute(timely::Config::process(workers), move |worker| {
        let me = worker.index();
        let seen: Rc<RefCell<Vec<(C, isize)>>> = Rc::default();
        let sink = seen.clone();
        let (mut left, mut right, probe) = worker.dataflow::<u64, _, _>(|scope| {
            let (left, l) = scope.new_collection::<A, isize>();
            let (right, r) = scope.new_collection::<B, isize>();
            let out = logic(l, r).inspect_batch(move |_, changes| sink.borrow_mut().extend(changes.iter().map(|(row, _, w)| (row.clone(), *w))));
            let (probe, _) = out.probe();
            (left, right, probe)
        });
        let bare = report::live();
        let mut mine: Vec<_> = steps.iter().map(|s| (s.size, share(&s.left, me, workers), share(&s.right, me, workers))).collect();
        let mut figures = Figures::default();
        let filled = report::live();
        let mut since = report::cpu();
        let mut sizes = mine.iter().map(|s| s.0).collect::<Vec<_>>();
        sizes.push(-1);
        for (i, (size, left_rows, right_rows)) in mine.iter_mut().enumerate() {
            let (left_rows, right_rows) = (std::mem::take(left_rows), std::mem::take(right_rows));
            let start = Instant::now();
            for (row, w) in left_rows {
                left.update(row, w);
            }
            for (row, w) in right_rows {
                right.update(row, w);
            }
            let next = i as u64 + 1;
            left.advance_to(next);
            right.advance_to(next);
            left.flush();
            right.flush();
            worker.step_while(|| probe.less_than(&next));
            let seconds = start.elapsed().as_secs_f64();
            if me != 0 {
                continue;
            }
            if *size == 0 {
                figures.backfill_s = seconds;
            } else {
                figures.seconds.entry(*size).or_default().push(seconds);
            }
            if sizes[i + 1] != *size {
                // the end of a run of batches of one size
                let now = report::cpu();
                if *size == 0 {
                    figures.backfill_cpu_s = now - since;
                    let given = vec_mb(&steps[0].left) + vec_mb(&steps[0].right);
                    figures.state_mb = report::live() - filled + given - copied(&seen);
                } else {
                    *figures.cpu.entry(*size).or_default() += now - since;
                }
                since = report::cpu();
            }
        }
        if figures.backfill_s == 0.0 {
            // nothing came before the batches, which are all taken in
            figures.state_mb = report::live() - bare - copied(&seen);
        }
        if workers > 1 {
            figures.state_mb = 0.0; // others use the same memory
        }
        if me == 0 {
            *f.lock().unwrap() = figures;
        }
        o.lock().unwrap().append(&mut seen.borrow_mut());
    })
    .unwrap();
    let changes = std::mem::take(&mut *output.lock().unwrap());
    let figures = std::mem::take(&mut *figures.lock().unwrap());
    (figures, changes)
}

/// The memory of a vector whose values own none, in MiB.
fn vec_mb<D>(rows: &[D]) -> f64 {
    std::mem::size_of_val(rows) as f64 / (1 << 20) as f64
}

/// The memory of rows in MiB: what a copy takes, and what the vector has in reserve.
fn copied<D: Clone>(rows: &RefCell<Vec<D>>) -> f64 {
    let rows = rows.borrow();
    let before = report::live();
    let copy = rows.clone();
    let spare = (rows.capacity() - rows.len()) * std::mem::size_of::<D>();
    let size = report::live() - before + spare as f64 / (1 << 20) as f64;
    drop(copy);
    size
}

fn share<D: Clone>(rows: &[D], me: usize, workers: usize) -> Vec<D> {
    rows.iter().skip(me).step_by(workers).cloned().collect()
}
