//! When the watchdog looks.
