//! Tasks that run beside the turns of a slice. Between slices they wait, so that an idle subject uses no processor.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ::tokio::sync::watch;

static IS_ON: AtomicBool = AtomicBool::new(false);
static SWITCH: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::Sender::new(false));

/// Lets the tasks run, or makes them wait.
pub(crate) fn switch(on: bool) {
    IS_ON.store(on, Relaxed);
    SWITCH.send_replace(on);
}

/// Waits while the tasks must not run. Each of them calls this in its loop.
pub(crate) async fn while_on() {
    if !IS_ON.load(Relaxed) {
        let switched = SWITCH.subscribe().wait_for(|&on| on).await.map(drop);
        switched.expect("the switch is static");
    }
}
