//! Events of a Windows console.
//!
//! Each kind has a function that makes a listener of its own type. Where nobody listens to an event any more, the
//! system does what it would do without this.
//!
//! The system ends a process as soon as it has been told of [`ctrl_close`], [`ctrl_logoff`] and [`ctrl_shutdown`].
//! Where somebody listens it is kept waiting, until the process ends or, after some seconds, the system ends it.

use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::thread;

use windows_sys::Win32::System::Console;
use windows_sys::core::BOOL;

use super::listener::Listener;
use crate::sync::watch;

/// The listeners to each event, by its number. The numbers 3 and 4 are no events.
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
        // SAFETY: the handler is there as long as the process.
        if unsafe { Console::SetConsoleCtrlHandler(Some(handle), 1) } == 0 {
            return Err(io::Error::last_os_error());
        }
        *has_handler = true;
    }
    Ok(Listener::new(
        registry.listeners[event as usize].subscribe(),
    ))
}

/// The system calls it in a thread that it starts for that, so anything may be done here. 0 if it is to do what it
/// would do without this.
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
        // As soon as this returns the process ends.
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
            /// The listener hears of what comes from now on.
            ///
            /// # Errors
            /// If the system does not let the process listen.
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
            /// Any number of them hear of the same event. Events that come before one is received are one.
            #[must_use = "a listener hears nothing unless it is asked"]
            #[derive(Debug)]
            pub struct $type {
                listener: Listener,
            }

            impl $type {
                /// Waits for the next event, or gives at once what has come since the last was received. Never `None`.
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

                /// As [`recv`](Self::recv), for a future that is written by hand: the task that polled last is woken.
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
    /// Listens to ctrl-c.
    ctrl_c, CtrlC = CTRL_C_EVENT;
    /// Listens to ctrl-break.
    ctrl_break, CtrlBreak = CTRL_BREAK_EVENT;
    /// Listens to the end of the console.
    ctrl_close, CtrlClose = CTRL_CLOSE_EVENT;
    /// Listens to the user's logging off, which only services are told of.
    ctrl_logoff, CtrlLogoff = CTRL_LOGOFF_EVENT;
    /// Listens to the end of the system, which only services are told of.
    ctrl_shutdown, CtrlShutdown = CTRL_SHUTDOWN_EVENT;
}
