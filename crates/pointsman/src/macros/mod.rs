//! `select!`, `join!`, `try_join!`, `pin!` and `task_local!`.
