//! The option for the signal on which dumps are printed.

use super::Builder;
use crate::signal::unix::SignalKind;

impl Builder {
    /// Prints the runtime's [dump](super::super::Handle::dump) on standard error each time the process receives the
    /// signal, also while all workers are stuck. Default: no signal.
    ///
    /// A thread of the process named `pointsman-dump` takes and prints the dumps. The handler stays for the lifetime of
    /// the process; handlers that were installed before are called too, and listeners of
    /// [`signal`](crate::signal::unix::signal) are notified.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use pointsman::signal::unix::SignalKind;
    ///
    /// // `kill -USR1` prints a dump.
    /// let runtime = Builder::new_multi_thread()
    ///     .name("web")
    ///     .dump_on_signal(SignalKind::user_defined1())
    ///     .build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn dump_on_signal(&mut self, signal: SignalKind) -> &mut Self {
        self.config.dump_signal = Some(signal.as_raw_value());
        self
    }
}
