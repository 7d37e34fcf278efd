//! Counting and measuring faults.
//!
//! Invariant: no figure includes peers, which are threads of this process.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{self, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// The outcome of a fault.
#[derive(Default)]
pub struct Findings {
    /// Name, number and unit. Less is better.
    pub figures: Vec<(&'static str, f64, &'static str)>,
    /// What must be the same on every runtime.
    pub outcomes: Outcomes,
    /// Further remarks.
    pub notes: Vec<String>,
}

impl Findings {
    /// Adds a figure.
    pub fn figure(&mut self, name: &'static str, number: f64, unit: &'static str) {
        self.figures.push((name, number, unit));
    }

    /// Adds the processor time since `since`, divided by `count`.
    pub fn processor_time_each(&mut self, since: Duration, count: usize) {
        let used = processor_time().saturating_sub(since);
        let each = used.as_secs_f64() * 1e6 / count.max(1) as f64;
        self.figure("processor time", each, "µs each");
    }
}

/// A set of strings, shared by its clones.
#[derive(Clone, Default)]
pub struct Outcomes(Arc<Mutex<BTreeSet<String>>>);

impl Outcomes {
    /// Adds a string.
    pub fn add(&self, text: impl Into<String>) {
        self.0.lock().unwrap().insert(text.into());
    }

    /// Adds the outcome of an operation: its error, as far as programs can distinguish errors.
    pub fn add_result<T>(&self, operation: &str, result: &io::Result<T>) {
        self.add(format!("{operation}: {}", outcome(result)));
    }

    /// All strings.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().cloned().collect()
    }
}

/// The kind of an error, with its message if it has no kind.
pub fn outcome<T>(result: &io::Result<T>) -> String {
    let error = match result {
        Ok(_) => return "ok".to_owned(),
        Err(error) => error,
    };
    match (format!("{:?}", error.kind()), error.raw_os_error()) {
        (kind, Some(number)) if kind == "Uncategorized" => format!("error {number}"),
        (kind, _) => kind,
    }
}

// --- counting ---

/// The number of open descriptors.
pub fn descriptors() -> usize {
    // One of them is that of the directory listing itself.
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// Resident memory in kB.
pub fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4.0
}

/// Processor time of peers that have ended, in microseconds.
static PEERS: AtomicU64 = AtomicU64::new(0);

/// The processor time of this process, without that of peers that have ended.
pub fn processor_time() -> Duration {
    used_by(libc::RUSAGE_SELF).saturating_sub(Duration::from_micros(PEERS.load(Relaxed)))
}

fn used_by(whom: i32) -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call writes to a local that outlives it.
    let usage = unsafe {
        assert_eq!(libc::getrusage(whom, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    [usage.ru_utime, usage.ru_stime]
        .map(|it| Duration::new(it.tv_sec as u64, it.tv_usec as u32 * 1000))
        .into_iter()
        .sum()
}

/// Starts a peer: a thread that uses blocking sockets.
pub fn peer<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    thread::spawn(|| {
        let result = run();
        let used = used_by(libc::RUSAGE_THREAD).as_micros() as u64;
        PEERS.fetch_add(used, Relaxed);
        result
    })
}

/// Sets the limit of open descriptors, up to this process's hard limit, and returns it.
pub fn limit_descriptors(wanted: u64) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls access a local that outlives them.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        let raised = libc::rlimit {
            rlim_cur: wanted,
            rlim_max: wanted.max(limit.rlim_max),
        };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raised) == 0 {
            return wanted;
        }
        limit.rlim_cur = wanted.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
    limit.rlim_cur
}

// --- helpers of most faults ---

/// A runtime with two workers.
pub fn runtime() -> Runtime {
    runtime_of(2)
}

/// A runtime with this many workers.
pub fn runtime_of(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

/// Listens on a free port of all local addresses, and returns the listener and its address at `127.0.0.1`.
pub fn listen(runtime: &Runtime) -> (TcpListener, SocketAddr) {
    let _entered = runtime.enter();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    socket.bind(&any.into()).unwrap();
    socket.listen(4096).unwrap();
    socket.set_nonblocking(true).unwrap();
    let listener = TcpListener::from_std(socket.into()).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, (Ipv4Addr::LOCALHOST, port).into())
}

/// Echoes all data until the end or an error.
pub async fn echo(mut stream: TcpStream) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        if stream.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

/// Connections that request an echo each millisecond during a fault.
pub struct EchoBeside {
    is_over: Arc<AtomicBool>,
    peers: Vec<JoinHandle<Duration>>,
}

impl EchoBeside {
    /// Starts this many connections.
    pub fn begin(runtime: &Runtime, connections: usize) -> Self {
        let (listener, address) = listen(runtime);
        runtime.spawn(async move {
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(echo(stream));
                }
            }
        });
        let is_over = Arc::new(AtomicBool::new(false));
        let peers = (0..connections)
            .map(|_| {
                let is_over = Arc::clone(&is_over);
                let mut stream = net::TcpStream::connect(address).unwrap();
                stream.set_nodelay(true).unwrap();
                // The first echo is not counted.
                stream.write_all(b"0").unwrap();
                stream.read_exact(&mut [0]).unwrap();
                peer(move || ask(stream, &is_over))
            })
            .collect();
        Self { is_over, peers }
    }

    /// Stops, and returns the longest latency of an echo in milliseconds.
    pub fn latest(self) -> f64 {
        self.is_over.store(true, Relaxed);
        let peers = self.peers.into_iter();
        let latest = peers.map(|it| it.join().unwrap()).max();
        latest.unwrap().as_secs_f64() * 1e3
    }
}

fn ask(mut stream: net::TcpStream, is_over: &AtomicBool) -> Duration {
    let mut latest = Duration::ZERO;
    while !is_over.load(Relaxed) {
        let asked = Instant::now();
        stream.write_all(b"?").unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"?");
        latest = latest.max(asked.elapsed());
        thread::sleep(Duration::from_millis(1));
    }
    latest
}
