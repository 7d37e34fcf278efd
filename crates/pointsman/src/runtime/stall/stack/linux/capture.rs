//! Copies the registers and the stack of another thread.
//!
//! The signal is `SIGURG`, which Go uses for preemption for the same reasons: its default action is to ignore it, so a
//! late one is harmless; debuggers pass it on; the C library does not use it; few programs do, and they must expect it
//! at any time. The handler is installed with the first capture, and passes signals that the monitor has not sent to
//! the handler that it replaced. If the program has replaced the handler since, the monitor sends no signal.
//!
//! The handler calls `gettid` and `write` only, as system calls. The kernel copies the stack: it stops at the end of
//! the mapping, and reads memory that other threads may be writing without a data race of this program.

use std::ffi::{c_int, c_void};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicPtr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, mem, process, ptr, thread};

use super::exchange::Exchange;

const SIGNAL: c_int = libc::SIGURG;

/// How long the monitor waits for the handler to begin, in parts: if the process is stopped during one, the others
/// remain. A thread enters the handler when it gets a core, unless it blocks the signal or waits for a disk.
const DEADLINE: [Duration; 10] = [Duration::from_millis(100); 10];

/// The capacity of the pipe. Longer stacks are cut.
const CAPACITY: c_int = 256 << 10;

/// The unit of writes. It divides the size of a page.
const CHUNK: usize = 4 << 10;

/// The registers and the stack of a thread.
pub(super) struct Snapshot {
    pub(super) registers: Registers,
    /// The bytes from the stack pointer upwards.
    pub(super) stack: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Registers {
    pub(super) instruction: u64,
    pub(super) stack: u64,
    pub(super) frame: u64,
    /// The return address of a function that calls none; zero on x86-64.
    pub(super) link: u64,
}

static EXCHANGE: Exchange = Exchange::new();
/// The descriptor that the handler writes to.
static SENDER: AtomicI32 = AtomicI32::new(-1);
/// The action that was replaced; null before the first installation.
static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

static RECEIVER: Mutex<Option<Receiver>> = Mutex::new(None);

struct Receiver {
    receiver: fs::File,
    _sender: OwnedFd,
    /// The id of the process that uses the pipe: one that was forked needs its own.
    process: u32,
}

/// Returns `None` if the thread does not answer, or the system refuses.
pub(super) fn capture(thread: i32) -> Option<Snapshot> {
    let mut receiver = RECEIVER.lock().unwrap_or_else(PoisonError::into_inner);
    let is_of_this = |receiver: &Receiver| receiver.process == process::id();
    if !receiver.as_ref().is_some_and(is_of_this) {
        *receiver = Some(install().ok()?);
    }
    let receiver = &receiver.as_ref()?.receiver;
    if thread <= 0 || !is_installed() {
        return None;
    }
    EXCHANGE.request(thread);
    if send(thread) {
        wait_for_bytes(receiver);
    }
    if EXCHANGE.withdraw(thread) {
        return None;
    }
    // The thread is in the handler, which waits for nothing.
    while !EXCHANGE.take_answer() {
        thread::sleep(Duration::from_micros(50));
    }
    read(receiver).ok()
}

fn install() -> io::Result<Receiver> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) })?;
    // SAFETY: the call has created these descriptors, and nothing else owns them.
    let [receiver, sender] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    // SAFETY: the descriptor is open. If the call fails, the pipe holds less.
    unsafe { libc::fcntl(sender.as_raw_fd(), libc::F_SETPIPE_SZ, CAPACITY) };
    SENDER.store(sender.as_raw_fd(), Relaxed);
    let receiver = Receiver {
        receiver: receiver.into(),
        _sender: sender,
        process: process::id(),
    };
    let mut previous = action()?;
    // Installed already if the process was forked later.
    while previous.sa_sigaction != handler() {
        // Leaked, as a handler on another thread may use it at any time.
        // ORDERING: Release pairs with the Acquire in `call_previous`.
        PREVIOUS.store(Box::leak(Box::new(previous)), Release);
        let mut ours = previous;
        ours.sa_sigaction = handler();
        ours.sa_flags = libc::SA_SIGINFO
            | libc::SA_RESTART
            | libc::SA_ONSTACK
            | previous.sa_flags & libc::SA_NODEFER;
        let mut replaced = previous;
        // SAFETY: the handler calls only async-signal-safe functions, and the handler that the program has installed.
        check(unsafe { libc::sigaction(SIGNAL, &ours, &mut replaced) })?;
        if replaced.sa_sigaction == previous.sa_sigaction {
            break;
        }
        // Another thread has installed a handler meanwhile.
        previous = replaced;
    }
    Ok(receiver)
}

fn check(result: c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the current action of the signal.
fn action() -> io::Result<libc::sigaction> {
    // SAFETY: all fields are numbers or pointers that may be null.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: without a new action the call writes the current one.
    check(unsafe { libc::sigaction(SIGNAL, ptr::null(), &mut action) })?;
    Ok(action)
}

fn handler() -> libc::sighandler_t {
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
    handler as libc::sighandler_t
}

fn is_installed() -> bool {
    action().is_ok_and(|action| action.sa_sigaction == handler())
}

/// The part of `siginfo_t` that a sender sets.
#[repr(C, align(8))]
struct Info {
    signal: c_int,
    error: c_int,
    code: c_int,
    _padding: c_int,
    process: libc::pid_t,
    user: libc::uid_t,
    value: usize,
    _rest: [u8; 96],
}

const _: () = assert!(size_of::<Info>() == size_of::<libc::siginfo_t>());

/// The value that identifies signals of the monitor.
fn mark() -> usize {
    (&raw const EXCHANGE).addr()
}

/// Returns whether the thread exists.
fn send(thread: i32) -> bool {
    // SAFETY: these calls have no conditions.
    let (process, user) = unsafe { (libc::getpid(), libc::getuid()) };
    let info = Info {
        signal: SIGNAL,
        error: 0,
        code: libc::SI_QUEUE,
        _padding: 0,
        process,
        user,
        value: mark(),
        _rest: [0; 96],
    };
    // SAFETY: `info` has the layout and size of a `siginfo_t`. The thread is one of this process, or none.
    let sent =
        unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, SIGNAL, &info) };
    sent == 0
}

/// Waits until the handler has begun to write, or until the deadline.
fn wait_for_bytes(receiver: &fs::File) {
    let mut poll = libc::pollfd {
        fd: receiver.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    for part in DEADLINE {
        // An interrupt shortens the wait.
        // SAFETY: the pointer is to one valid entry.
        if unsafe { libc::poll(&mut poll, 1, part.as_millis() as c_int) } == 1 {
            return;
        }
    }
}

fn read(mut receiver: &fs::File) -> io::Result<Snapshot> {
    let mut bytes = Vec::new();
    match receiver.read_to_end(&mut bytes) {
        // The pipe is empty.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
        Err(error) => return Err(error),
        Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
    }
    if bytes.len() < size_of::<Registers>() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // SAFETY: there are as many bytes, and all values of them are registers.
    let registers = unsafe { bytes.as_ptr().cast::<Registers>().read_unaligned() };
    bytes.drain(..size_of::<Registers>());
    Ok(Snapshot {
        registers,
        stack: bytes,
    })
}

// --- in the handler ---

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a `siginfo_t`, in which `si_value` is valid with this code.
    let is_ours = unsafe {
        (*info).si_code == libc::SI_QUEUE && (*info).si_value().sival_ptr.addr() == mark()
    };
    if !is_ours {
        call_previous(signal, info, context);
        return;
    }
    // SAFETY: the address of this thread's `errno`.
    let (errno, before) = unsafe { (libc::__errno_location(), *libc::__errno_location()) };
    // SAFETY: the call has no conditions.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    if EXCHANGE.accept(thread) {
        // SAFETY: the kernel passes the context of the thread.
        let registers = registers(unsafe { &*context.cast::<libc::ucontext_t>() });
        write_stack(&registers);
        EXCHANGE.answer();
    }
    // SAFETY: see above.
    unsafe { *errno = before };
}

fn call_previous(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // ORDERING: Acquire pairs with the Release in `install`.
    // SAFETY: `install` sets the pointer, to an action that is never freed, before it installs this handler.
    let previous = unsafe { &*PREVIOUS.load(Acquire) };
    if matches!(previous.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        return;
    }
    let has_info = previous.sa_flags & libc::SA_SIGINFO != 0;
    let previous = ptr::with_exposed_provenance::<()>(previous.sa_sigaction);
    if has_info {
        type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        // SAFETY: the program has installed this function, with `SA_SIGINFO`.
        let call = unsafe { mem::transmute::<*const (), Handler>(previous) };
        call(signal, info, context);
    } else {
        // SAFETY: the program has installed this function, without `SA_SIGINFO`.
        let call = unsafe { mem::transmute::<*const (), extern "C" fn(c_int)>(previous) };
        call(signal);
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    let registers = &context.uc_mcontext.gregs;
    Registers {
        instruction: registers[libc::REG_RIP as usize] as u64,
        stack: registers[libc::REG_RSP as usize] as u64,
        frame: registers[libc::REG_RBP as usize] as u64,
        link: 0,
    }
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    let context = &context.uc_mcontext;
    Registers {
        instruction: context.pc,
        stack: context.sp,
        frame: context.regs[29],
        link: context.regs[30],
    }
}

/// Writes the registers, and the stack as far as it is mapped and the pipe has room.
fn write_stack(registers: &Registers) {
    if !write(ptr::from_ref(registers).addr(), size_of::<Registers>()) {
        return;
    }
    let mut from = registers.stack as usize;
    for _ in 0..CAPACITY as usize / CHUNK {
        // Never across the end of a page: a call that reaches an unmapped page writes nothing.
        let size = CHUNK - from % CHUNK;
        if !write(from, size) {
            return;
        }
        from += size;
    }
}

/// Returns whether all bytes were written. The address need not be mapped.
fn write(address: usize, size: usize) -> bool {
    // Not by `libc::write`, which sanitizers check.
    // SAFETY: the kernel reads the bytes, and fails if the address is not mapped.
    let written = unsafe { libc::syscall(libc::SYS_write, SENDER.load(Relaxed), address, size) };
    written == size as libc::c_long
}
