//! Tasks that run beside the turns of a slice. Between slices they wait, so that an idle subject uses no processor.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ::tokio::sync::watch;

static IS_ON: AtomicBool = AtomicBool::new(false);
static SWITCH: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::Sender::new(false));

/// Lets these tasks run, or wait.
pub(crate) fn switch(on: bool) {
    IS_ON.store(on, Relaxed);
    SWITCH.send_replace(on);
}

/// Called by such a task whenever it may wait.
pub(crate) async fn while_on() {
    if !IS_ON.load(Relaxed) {
        let switched = SWITCH.subscribe().wait_for(|&on| on).await.map(drop);
        switched.expect("the switch is static");
    }
}
