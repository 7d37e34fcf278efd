//! The servers that programs connect to: each on a free port of this machine, with its data in a temporary folder.
//!
//! Invariant: a server stops, and its folder is removed, when its value is dropped or this process ends, in any way.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use conformance::Result;

/// The time limit of a server's start.
const PATIENCE: Duration = Duration::from_secs(20);

/// Outlives its parent: reads process ids, one per line, and at the end of input kills the processes and removes the
/// folder. Their children may keep writing for a moment.
const REMOVE_AT_END: &str = r#"trap "" HUP INT TERM
while read -r process; do processes="$processes $process"; done
[ -z "$processes" ] || kill -KILL $processes
rm -rf "$1" || { sleep 1; rm -rf "$1"; }"#;

pub(crate) struct Server {
    process: Child,
    folder: Folder,
    /// Its address, in the form that programs expect.
    pub(crate) variable: (String, String),
}

impl Server {
    /// Redis or Valkey; none if neither is installed.
    pub(crate) fn redis() -> Result<Option<Self>> {
        let Some(program) = find("redis-server").or_else(|| find("valkey-server")) else {
            return Ok(None);
        };
        let (folder, port) = (Folder::new("redis")?, free_port()?);
        let mut command = Command::new(program);
        command
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
            ])
            .arg("--dir")
            .arg(&folder.path);
        let variable = ("REDIS_URL".to_owned(), format!("redis://127.0.0.1:{port}/"));
        start(command, folder, port, variable).map(Some)
    }

    /// Postgres; none if it is not installed.
    pub(crate) fn postgres() -> Result<Option<Self>> {
        let (Some(program), Some(prepare)) = (find("postgres"), find("initdb")) else {
            return Ok(None);
        };
        let (folder, port) = (Folder::new("postgres")?, free_port()?);
        // It refuses to run as root.
        let user = is_root().then(|| owner_for(&folder.path)).transpose()?;
        let as_user = |program: &Path| match user {
            Some((user, group)) => {
                use std::os::unix::process::CommandExt;
                let mut command = Command::new(program);
                command.uid(user).gid(group);
                command
            }
            None => Command::new(program),
        };
        let data = folder.path.join("data");
        let prepared = as_user(&prepare)
            .args([
                "--username",
                "postgres",
                "--auth",
                "trust",
                "--no-sync",
                "--pgdata",
            ])
            .arg(&data)
            .current_dir(&folder.path)
            .stdout(Stdio::null())
            .status()?;
        if !prepared.success() {
            return Err(format!("initdb has failed: {prepared}").into());
        }
        let mut command = as_user(&program);
        command
            .args([
                "-p",
                &port.to_string(),
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "fsync=off",
            ])
            .arg("-k")
            .arg(&folder.path)
            .arg("-D")
            .arg(&data)
            .current_dir(&folder.path);
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        start(command, folder, port, ("DATABASE_URL".to_owned(), url)).map(Some)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.folder.remove();
        let _ = self.process.wait();
    }
}

/// A temporary folder.
struct Folder {
    path: PathBuf,
    /// Runs [`REMOVE_AT_END`].
    remover: Child,
}

impl Folder {
    fn new(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("ecosystem-{name}-{}", std::process::id()));
        let remover = Command::new("sh")
            .args(["-c", REMOVE_AT_END, "sh"])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()?;
        let folder = Self { path, remover };
        fs::create_dir_all(&folder.path)?;
        Ok(folder)
    }

    /// Kills the process before the folder is removed.
    fn belongs_to(&mut self, process: &Child) -> Result<()> {
        let to_remover = self.remover.stdin.as_mut();
        let to_remover = to_remover.ok_or("the folder is removed already")?;
        Ok(writeln!(to_remover, "{}", process.id())?)
    }

    fn remove(&mut self) {
        drop(self.remover.stdin.take());
        let _ = self.remover.wait();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.remove();
    }
}

fn start(
    mut command: Command,
    folder: Folder,
    port: u16,
    variable: (String, String),
) -> Result<Server> {
    let process = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut server = Server {
        process,
        folder,
        variable,
    };
    server.folder.belongs_to(&server.process)?;
    let started = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if let Some(status) = server.process.try_wait()? {
            return Err(format!("{command:?} has ended: {status}").into());
        }
        if started.elapsed() > PATIENCE {
            return Err(format!("{command:?} does not listen after {PATIENCE:?}").into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(server)
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// Gives the folder to the user and group that Postgres's package has created.
fn owner_for(folder: &Path) -> Result<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd")?;
    let fields = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.first() == Some(&"postgres"))
        .ok_or("Postgres does not run as root, and there is no user postgres")?;
    let (Some(user), Some(group)) = (fields.get(2), fields.get(3)) else {
        return Err("the user postgres has no number".into());
    };
    let (user, group) = (user.parse()?, group.parse()?);
    chown(folder, Some(user), Some(group))?;
    Ok((user, group))
}
