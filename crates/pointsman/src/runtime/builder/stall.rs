//! Options for the reports of stalls.

use std::sync::Arc;
use std::time::Duration;

use super::super::stall::Stall;
use super::Builder;

impl Builder {
    /// Sets how long a poll may last before it is reported as a stall. Default: 1 s. Zero turns the reports off.
    ///
    /// A stall is reported once, while it lasts: by default as one line on standard error, with the task, the location
    /// of the call that spawned it, and the number of tasks that wait at its worker. With the feature
    /// `stall-backtrace`, the stack of the thread follows. At most one report is printed in 10 s.
    /// [`StallKind`](super::super::StallKind) lists the other kinds of stalls.
    ///
    /// The environment variable `POINTSMAN_STALL` has precedence: a time such as `500ms` or `2s` sets the threshold,
    /// and `off` turns the reports off. An empty value has no effect.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::time::Duration;
    ///
    /// let runtime = Builder::new_multi_thread().stall_threshold(Duration::from_millis(100)).build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn stall_threshold(&mut self, threshold: Duration) -> &mut Self {
        self.config.stall.threshold = threshold;
        self
    }

    /// Sets a function that receives each stall. Nothing is then printed on standard error. The thread that watches all
    /// runtimes of the process calls the function while the stall lasts. A panic in it is ignored.
    ///
    /// ```
    /// # use pointsman::runtime::{Builder, StallKind};
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let (report, reported) = mpsc::channel();
    /// let runtime = Builder::new_multi_thread()
    ///     .stall_threshold(Duration::from_millis(20))
    ///     .on_stall(move |stall| drop(report.send(stall.kind())))
    ///     .build()?;
    /// # #[cfg(not(miri))] {
    /// let (release, released) = mpsc::channel::<()>();
    /// runtime.spawn(async move { drop(released.recv()) });
    /// assert_eq!(reported.recv().unwrap(), StallKind::Task);
    /// # drop(release);
    /// # }
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn on_stall<F>(&mut self, call: F) -> &mut Self
    where
        F: Fn(&Stall) + Send + Sync + 'static,
    {
        self.config.stall.hook = Some(Arc::new(call));
        self
    }
}
