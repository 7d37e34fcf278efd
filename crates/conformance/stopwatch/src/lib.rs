//! The part of criterion's interface that Tokio's benches use. Instead of statistics it measures wall time and
//! processor time of one iteration, in one process per row; criterion measures wall time only.
//!
//! A program built with it is called in one of two ways.
//!
//! ```text
//! program --list                        the names of its rows, one on a line
//! program --row NUMBER --milliseconds N runs one row for about N ms, and prints its two times in nanoseconds
//! ```
//!
//! As with criterion, only the function that a bench passes is measured. With `iter_custom` the bench measures wall
//! time itself; the processor time is that of the whole call.

use std::cell::Cell;
use std::fmt::Display;
use std::marker::PhantomData;
use std::process::exit;
use std::time::{Duration, Instant};

pub use std::hint::black_box;

pub mod measurement {
    //! The type parameter of a group.

    /// The only kind of measurement.
    pub struct WallTime;
}

use measurement::WallTime;

/// The program's arguments.
enum Request {
    List,
    Run { row: usize, time: Duration },
}

/// Counts the rows as the benches declare them, and runs the requested one.
pub struct Criterion {
    request: Request,
    /// The number of rows so far.
    seen: Cell<usize>,
}

impl Criterion {
    /// Parses the program's arguments. Called by `criterion_main!`.
    pub fn from_arguments() -> Self {
        let given: Vec<String> = std::env::args().skip(1).collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let request = match given[..] {
            ["--list"] => Request::List,
            ["--row", row, "--milliseconds", time] => Request::Run {
                row: row.parse().expect("--row takes a number"),
                time: Duration::from_millis(time.parse().expect("--milliseconds takes a number")),
            },
            _ => panic!("expected --list, or --row NUMBER --milliseconds N: not {given:?}"),
        };
        Self {
            request,
            seen: Cell::new(0),
        }
    }

    /// A row.
    pub fn bench_function(
        &mut self,
        name: impl Into<String>,
        bench: impl FnMut(&mut Bencher),
    ) -> &mut Self {
        self.row(&name.into(), bench);
        self
    }

    /// Rows whose names begin with `name`.
    pub fn benchmark_group(&mut self, name: impl Into<String>) -> BenchmarkGroup<'_, WallTime> {
        BenchmarkGroup {
            criterion: self,
            name: name.into(),
            measurement: PhantomData,
        }
    }

    /// Assigns the next number to a row. The requested row ends the program.
    fn row(&self, name: &str, mut bench: impl FnMut(&mut Bencher)) {
        let number = self.seen.replace(self.seen.get() + 1);
        match self.request {
            Request::List => println!("{name}"),
            Request::Run { row, time } if row == number => {
                let mut bencher = Bencher {
                    time,
                    measured: None,
                };
                bench(&mut bencher);
                let (wall, processor) = bencher.measured.expect("the bench has measured nothing");
                println!("{wall} {processor}");
                exit(0);
            }
            Request::Run { .. } => {}
        }
    }
}

/// Several rows under one name.
pub struct BenchmarkGroup<'a, M> {
    criterion: &'a mut Criterion,
    name: String,
    measurement: PhantomData<M>,
}

impl<M> BenchmarkGroup<'_, M> {
    /// A row of the group.
    pub fn bench_function(
        &mut self,
        name: impl Into<String>,
        bench: impl FnMut(&mut Bencher),
    ) -> &mut Self {
        let name = format!("{}/{}", self.name, name.into());
        self.criterion.row(&name, bench);
        self
    }

    /// A row whose function gets `input`.
    pub fn bench_with_input<I: ?Sized>(
        &mut self,
        id: BenchmarkId,
        input: &I,
        mut bench: impl FnMut(&mut Bencher, &I),
    ) -> &mut Self {
        self.bench_function(id.0, |bencher| bench(bencher, input))
    }

    /// Does nothing.
    pub fn finish(self) {}
}

/// The name of a row with a parameter.
pub struct BenchmarkId(String);

impl BenchmarkId {
    /// `name/parameter`.
    pub fn new(name: impl Into<String>, parameter: impl Display) -> Self {
        Self(format!("{}/{parameter}", name.into()))
    }
}

/// Runs the function that a bench passes.
pub struct Bencher {
    time: Duration,
    /// Wall time and processor time of one iteration, in nanoseconds.
    measured: Option<(f64, f64)>,
}

impl Bencher {
    /// Measures a function.
    pub fn iter<T>(&mut self, mut function: impl FnMut() -> T) {
        self.iter_custom(|iterations| {
            let start = Instant::now();
            for _ in 0..iterations {
                black_box(function());
            }
            start.elapsed()
        });
    }

    /// Measures a function that gets a number of iterations and returns their duration.
    pub fn iter_custom(&mut self, mut function: impl FnMut(u64) -> Duration) {
        let warm_up = self.time / 4;
        let (start, mut iterations) = (Instant::now(), 1);
        // The total duration of an iteration, which exceeds what a self-measuring function reports.
        let altogether = loop {
            let before = Instant::now();
            function(iterations);
            let took = before.elapsed();
            if start.elapsed() >= warm_up {
                break took.as_secs_f64() / iterations as f64;
            }
            if took < warm_up / 4 {
                iterations *= 2;
            }
        };
        let iterations = (self.time.as_secs_f64() / altogether).ceil();
        let before = processor_time();
        let wall = function(iterations as u64);
        let processor = processor_time() - before;
        let each = |time: Duration| time.as_nanos() as f64 / iterations;
        self.measured = Some((each(wall), each(processor)));
    }
}

/// The processor time of all threads of this process.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `clock_gettime` writes to a local that outlives the call.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "there is no clock for the processor time");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A function that runs some benches.
#[macro_export]
macro_rules! criterion_group {
    ($name:ident, $($bench:path),+ $(,)?) => {
        fn $name(criterion: &mut $crate::Criterion) {
            $($bench(criterion);)+
        }
    };
}

/// The program.
#[macro_export]
macro_rules! criterion_main {
    ($($group:path),+ $(,)?) => {
        fn main() {
            let mut criterion = $crate::Criterion::from_arguments();
            $($group(&mut criterion);)+
        }
    };
}
