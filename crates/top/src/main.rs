//! Shows the tasks of a running program. See README.md.

#[cfg(unix)]
mod answer;
#[cfg(unix)]
mod app;
#[cfg(unix)]
mod cli;
#[cfg(unix)]
mod connection;
#[cfg(unix)]
mod screen;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod words;

fn main() -> std::process::ExitCode {
    #[cfg(unix)]
    return cli::main();
    #[cfg(not(unix))]
    {
        eprintln!("pointsman-top: it needs a system with Unix sockets");
        std::process::ExitCode::FAILURE
    }
}
