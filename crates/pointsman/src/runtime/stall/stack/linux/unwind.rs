//! Unwinds the copy of a stack, and looks up the names of functions.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module, UnwindRegsNative,
    Unwinder, UnwinderNative,
};

use super::super::StackFrame;
use super::capture::{Registers, Snapshot};

/// A longer stack is cut.
const MAX_FRAMES: usize = 256;

/// The prefix of the functions that run a task. The frames below them are the same in all reports.
const RUNS_TASKS: &str = "pointsman::task::";

type Modules<'a> = UnwinderNative<&'a [u8], MayAllocateDuringUnwind>;

/// Returns the addresses of the instructions, from the one that the thread runs to the first.
pub(super) fn unwind(snapshot: &Snapshot) -> Vec<usize> {
    let mut addresses = Vec::new();
    let mut unwind = || addresses = unwind_locked(snapshot);
    // The loader locks the list of modules during these calls, so no module is unmapped. All work is done in the first
    // call.
    with_modules(&mut |_| {
        unwind();
        true
    });
    addresses
}

fn unwind_locked(snapshot: &Snapshot) -> Vec<usize> {
    let mut modules = Modules::new();
    with_modules(&mut |info| {
        // SAFETY: the module stays mapped during the call of `unwind`.
        if let Some(module) = unsafe { module(info) } {
            modules.add_module(module);
        }
        false
    });
    let Snapshot { registers, stack } = snapshot;
    let mut read = |address: u64| {
        let from = address.checked_sub(registers.stack).ok_or(())? as usize;
        let bytes = stack.get(from..).and_then(<[u8]>::first_chunk).ok_or(())?;
        Ok(u64::from_ne_bytes(*bytes))
    };
    let mut cache = CacheNative::<MayAllocateDuringUnwind>::new();
    let mut frames = modules.iter_frames(
        registers.instruction,
        unwind_registers(registers),
        &mut cache,
        &mut read,
    );
    let mut addresses = Vec::new();
    while let Ok(Some(frame)) = frames.next() {
        addresses.push(frame.address_for_lookup() as usize);
        if addresses.len() == MAX_FRAMES {
            break;
        }
    }
    addresses
}

#[cfg(target_arch = "x86_64")]
fn unwind_registers(registers: &Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.instruction, registers.stack, registers.frame)
}

#[cfg(target_arch = "aarch64")]
fn unwind_registers(registers: &Registers) -> UnwindRegsNative {
    // Removes the signature (pointer authentication), which is in the bits above those of program addresses.
    let mask = framehop::aarch64::PtrAuthMask::from_max_known_address((1 << 48) - 1);
    UnwindRegsNative::new_with_ptr_auth_mask(mask, registers.link, registers.stack, registers.frame)
}

/// Calls `visit` with each loaded module until it returns true.
fn with_modules(visit: &mut dyn FnMut(&libc::dl_phdr_info) -> bool) {
    extern "C" fn call(info: *mut libc::dl_phdr_info, _: usize, visit: *mut c_void) -> c_int {
        // SAFETY: the call below passes this reference, and the loader a module.
        let (info, visit) = unsafe {
            (
                &*info,
                &mut *visit.cast::<&mut dyn FnMut(&libc::dl_phdr_info) -> bool>(),
            )
        };
        // A panic must not unwind through the loader. It ends the search.
        c_int::from(catch_unwind(AssertUnwindSafe(|| visit(info))).unwrap_or(true))
    }
    let mut visit = visit;
    // SAFETY: `call` gets the reference that it expects.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut visit).cast()) };
}

/// The sections of a module that unwinding needs.
///
/// # Safety
/// The module stays mapped while the result is used.
unsafe fn module<'a>(info: &libc::dl_phdr_info) -> Option<Module<&'a [u8]>> {
    let base = info.dlpi_addr;
    // SAFETY: the loader passes the program headers of the module.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let range =
        |header: &libc::Elf64_Phdr| base + header.p_vaddr..base + header.p_vaddr + header.p_memsz;
    let loaded = || {
        headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
    };
    let all = loaded().map(range).min_by_key(|range| range.start)?.start
        ..loaded().map(range).max_by_key(|range| range.end)?.end;
    let is_code = |header: &&libc::Elf64_Phdr| {
        const READABLE_CODE: u32 = libc::PF_R | libc::PF_X;
        header.p_flags & READABLE_CODE == READABLE_CODE
    };
    let code = loaded().find(is_code).map(range)?;
    let header = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)
        .map(range)?;
    // SAFETY: the caller keeps the module mapped, and the header is a part of it.
    let bytes = unsafe { bytes(&header) };
    let table = frames_of(bytes, header.start)?;
    let segment = loaded()
        .map(range)
        .find(|segment| segment.contains(&table))?;
    let frames = table..segment.end;
    let relative = |range: &Range<u64>| range.start - base..range.end - base;
    Some(Module::new(
        String::new(),
        all,
        base,
        ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: Some(relative(&code)),
            // SAFETY: as above; the segment is readable.
            text: Some(unsafe { self::bytes(&code) }),
            eh_frame_hdr_svma: Some(relative(&header)),
            eh_frame_hdr: Some(bytes),
            eh_frame_svma: Some(relative(&frames)),
            // SAFETY: as above; the section ends before its segment does.
            eh_frame: Some(unsafe { self::bytes(&frames) }),
            ..Default::default()
        },
    ))
}

/// # Safety
/// The range is mapped, readable and not written to while the result is used.
unsafe fn bytes<'a>(range: &Range<u64>) -> &'a [u8] {
    let first = std::ptr::with_exposed_provenance(range.start as usize);
    // SAFETY: the caller promises it.
    unsafe { slice::from_raw_parts(first, (range.end - range.start) as usize) }
}

/// Reads the address of `.eh_frame` in the `.eh_frame_hdr` at this address.
fn frames_of(header: &[u8], address: u64) -> Option<u64> {
    const VERSION: u8 = 1;
    /// Four bytes, relative to themselves: the encoding that linkers use.
    const RELATIVE: u8 = 0x1b;
    let [VERSION, RELATIVE, _, _, offset @ ..] = header.first_chunk::<8>()? else {
        return None;
    };
    (address + 4).checked_add_signed(i32::from_ne_bytes(*offset).into())
}

/// Looks up the names of functions, including inlined ones. Omits the functions that run the task.
pub(in super::super) fn resolve(addresses: &[usize]) -> Vec<StackFrame> {
    let mut frames = Vec::new();
    for &address in addresses {
        let known = frames.len();
        // The lookup searches for the instruction before a return address.
        let return_address = std::ptr::without_provenance_mut(address + 1);
        backtrace::resolve(return_address, |symbol| {
            frames.push(StackFrame {
                address,
                function: symbol.name().map(|name| format!("{name:#}")),
                file: symbol.filename().map(Into::into),
                line: symbol.lineno(),
            });
        });
        if frames.len() == known {
            frames.push(StackFrame {
                address,
                function: None,
                file: None,
                line: None,
            });
        }
    }
    let runs_tasks = |frame: &StackFrame| {
        let function = frame.function().unwrap_or_default();
        function.trim_start_matches('<').starts_with(RUNS_TASKS)
    };
    if let Some(end) = frames.iter().position(runs_tasks) {
        frames.truncate(end);
    }
    frames
}
