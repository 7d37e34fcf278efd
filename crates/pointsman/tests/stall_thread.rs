//! A process is single-threaded while `POINTSMAN_STALL` is `off`, as `unshare(CLONE_NEWUSER)` requires. This test has no
//! harness, whose threads would be counted too.

#[cfg(not(all(
    target_os = "linux",
    feature = "diagnostics",
    feature = "net",
    not(miri)
)))]
fn main() {}

#[cfg(all(
    target_os = "linux",
    feature = "diagnostics",
    feature = "net",
    not(miri)
))]
fn main() {
    use std::io::Error;
    use std::process::Command;
    use std::{env, process};

    use pointsman::runtime::Builder;

    /// What the process does before the call: it runs a runtime or not.
    const CHILD: &str = "POINTSMAN_TEST_CHILD";

    /// Returns the number of the system's error in a process that runs a task and then makes the call; 0 for none.
    fn error_of(child: &str, stall: Option<&str>) -> Option<i32> {
        let mut command = Command::new(env::current_exe().unwrap());
        command.env(CHILD, child).env_remove("POINTSMAN_STALL");
        command.envs(stall.map(|value| ("POINTSMAN_STALL", value)));
        command.status().unwrap().code()
    }

    if let Some(child) = env::var_os(CHILD) {
        if child == "with a runtime" {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let task = runtime.spawn(async {});
            runtime.block_on(task).unwrap();
        }
        // SAFETY: the call has no conditions.
        let error = match unsafe { libc::unshare(libc::CLONE_NEWUSER) } {
            0 => 0,
            _ => Error::last_os_error().raw_os_error().unwrap(),
        };
        process::exit(error);
    }
    if error_of("without a runtime", None) != Some(0) {
        println!("User namespaces are forbidden here.");
        return;
    }
    assert_eq!(error_of("with a runtime", Some("off")), Some(0));
    assert_eq!(error_of("with a runtime", None), Some(libc::EINVAL));
}
