//! Windows console events.
//!
//! Each event has a function that creates a listener of its own type. The default action of an event applies while it
//! has no listeners.
//!
//! The system ends the process once it has handled [`ctrl_close`], [`ctrl_logoff`] or [`ctrl_shutdown`]. With a
//! listener, the handler blocks until the process ends or, after some seconds, the system ends it.

use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::thread;

use windows_sys::Win32::System::Console;
use windows_sys::core::BOOL;

use super::listener::Listener;
use crate::sync::watch;

/// The listeners, indexed by event number. The numbers 3 and 4 are unused.
struct Registry {
    listeners: [watch::Sender<()>; 7],
    has_handler: Mutex<bool>,
}

static REGISTRY: OnceLock<Registry> = OnceLock::new();

fn listen(event: u32) -> io::Result<Listener> {
    let registry = REGISTRY.get_or_init(|| Registry {
        listeners: Default::default(),
        has_handler: Mutex::new(false),
    });
    let has_handler = registry.has_handler.lock();
    let mut has_handler = has_handler.unwrap_or_else(PoisonError::into_inner);
    if !*has_handler {
        // SAFETY: `handle` is a function, valid for the lifetime of the process, with the signature that the call
        // requires.
        if unsafe { Console::SetConsoleCtrlHandler(Some(handle), 1) } == 0 {
            return Err(io::Error::last_os_error());
        }
        *has_handler = true;
    }
    Ok(Listener::new(
        registry.listeners[event as usize].subscribe(),
    ))
}

/// Called by the system on a thread of its own, so it may block. Returns 0 for the default action.
unsafe extern "system" fn handle(event: u32) -> BOOL {
    let listeners = REGISTRY
        .get()
        .and_then(|registry| registry.listeners.get(event as usize));
    match listeners {
        Some(listeners) if listeners.send(()).is_ok() => (),
        _ => return 0,
    }
    if matches!(
        event,
        Console::CTRL_CLOSE_EVENT | Console::CTRL_LOGOFF_EVENT | Console::CTRL_SHUTDOWN_EVENT
    ) {
        // The process ends as soon as the handler returns.
        loop {
            thread::park();
        }
    }
    1
}

macro_rules! events {
    ($($(#[doc = $what:literal])* $function:ident, $type:ident = $event:ident;)*) => {
        $(
            $(#[doc = $what])*
            ///
            /// The listener is notified of events that arrive from now on.
            ///
            /// # Errors
            /// If the system refuses to register a handler.
            ///
            /// ```no_run
            /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
            #[doc = concat!("let mut events = pointsman::signal::windows::", stringify!($function), "()?;")]
            /// events.recv().await;
            /// # Ok(())
            /// # }
            /// ```
            pub fn $function() -> io::Result<$type> {
                let listener = listen(Console::$event)?;
                Ok($type { listener })
            }

            #[doc = concat!("Hears of an event again and again. Made by [`", stringify!($function), "`].")]
            ///
            /// Any number of listeners can listen to the same event. Events that arrive before one is received
            /// coalesce.
            #[must_use = "a listener hears nothing unless it is asked"]
            #[derive(Debug)]
            pub struct $type {
                listener: Listener,
            }

            impl $type {
                /// Waits for the next event; ready at once if one has arrived since the last was received. Never
                /// returns `None`.
                ///
                /// # Cancel safety
                /// Cancel safe: an event that was not received is there for the next call.
                ///
                /// ```no_run
                /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
                #[doc = concat!("let mut events = pointsman::signal::windows::", stringify!($function), "()?;")]
                /// for count in 1..=3 {
                ///     events.recv().await;
                ///     println!("{count}");
                /// }
                /// # Ok(())
                /// # }
                /// ```
                pub async fn recv(&mut self) -> Option<()> {
                    std::future::poll_fn(|cx| self.poll_recv(cx)).await
                }

                /// Polls [`recv`](Self::recv). Only the task that polled last is woken.
                ///
                /// ```no_run
                /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
                #[doc = concat!("let mut events = pointsman::signal::windows::", stringify!($function), "()?;")]
                /// std::future::poll_fn(|cx| events.poll_recv(cx)).await;
                /// # Ok(())
                /// # }
                /// ```
                pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
                    self.listener.poll(cx).map(Some)
                }
            }
        )*
    };
}

events! {
    /// Listens for ctrl-c.
    ctrl_c, CtrlC = CTRL_C_EVENT;
    /// Listens for ctrl-break.
    ctrl_break, CtrlBreak = CTRL_BREAK_EVENT;
    /// Listens for the closing of the console.
    ctrl_close, CtrlClose = CTRL_CLOSE_EVENT;
    /// Listens for the user's logoff, of which only services are notified.
    ctrl_logoff, CtrlLogoff = CTRL_LOGOFF_EVENT;
    /// Listens for the system's shutdown, of which only services are notified.
    ctrl_shutdown, CtrlShutdown = CTRL_SHUTDOWN_EVENT;
}
