//! Where a task comes from: the location of the call that spawned it, its name, its age and its spawner. For
//! dumps and stall reports.
//!
//! A location is stored as a number, its index in a table of the process, which has an entry for each call in
//! the source text. A name belongs to one task: its entry is removed with the task.
//!
//! Cost: 12 bytes per task, and a look into a small cache of the arena per spawn. Only a task with a name
//! takes a lock. Nothing with `--cfg pointsman_no_diagnostics`.

use std::panic::Location;
use std::sync::Arc;

/// The call that spawns a task.
#[derive(Clone, Copy)]
pub(crate) struct SpawnSite<'a> {
    pub(crate) location: &'static Location<'static>,
    pub(crate) name: Option<&'a str>,
}

impl SpawnSite<'_> {
    /// The caller of the function that calls this, without a name.
    #[inline]
    #[track_caller]
    pub(crate) fn caller() -> Self {
        Self {
            location: Location::caller(),
            name: None,
        }
    }
}

/// What a dump says of a task's origin.
#[derive(Clone)]
pub(crate) struct OriginParts {
    pub(crate) location: &'static Location<'static>,
    pub(crate) name: Option<Arc<str>>,
    /// When the task was spawned, by [`clock`](super::clock).
    pub(crate) born: u32,
    /// The low half of the id of the task that spawned it; 0 if no task did.
    pub(crate) parent: u32,
}

#[cfg(not(pointsman_no_diagnostics))]
mod implementation {
    use std::cell::Cell;
    use std::collections::HashMap;
    use std::panic::Location;
    use std::ptr;
    use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

    use super::{OriginParts, SpawnSite};
    use crate::task::{clock, current};

    /// Set in [`Origin::site`] if it is an index in the table of names.
    const NAMED: u32 = 1 << 31;

    pub(crate) struct Origin {
        /// The index of the location, or with [`NAMED`] that of the name.
        site: u32,
        born: u32,
        parent: u32,
    }

    impl Origin {
        #[inline]
        pub(crate) fn new(site: SpawnSite<'_>, known: &mut KnownSites) -> Self {
            let number = known.number(site.location);
            Self {
                site: match site.name {
                    None => number,
                    Some(name) => NAMED | lock(&NAMES).insert(number, name),
                },
                born: clock::now(),
                parent: current::running_id().map_or(0, |id| id.as_number() as u32),
            }
        }

        /// Removes the task's name from the table. Called when the task is freed.
        #[inline]
        pub(crate) fn release(&self) {
            if self.site & NAMED != 0 {
                lock(&NAMES).remove(self.site & !NAMED);
            }
        }

        /// Called with a reference to the task, so before `release`.
        /// The location alone. Takes no lock if this thread has asked for it lately and the task has no name.
        pub(crate) fn location(&self) -> &'static Location<'static> {
            thread_local! {
                static KNOWN_HERE: Cell<[(u32, Option<&'static Location<'static>>); KNOWN]> =
                    const { Cell::new([(0, None); KNOWN]) };
            }
            let number = match self.site & NAMED {
                0 => self.site,
                _ => {
                    let names = lock(&NAMES);
                    let named = names.entries.get((self.site & !NAMED) as usize);
                    named.and_then(Option::as_ref).map_or(0, |named| named.site)
                }
            };
            let at = number as usize % KNOWN;
            match KNOWN_HERE.try_with(|known| known.get()[at]) {
                Ok((known, Some(location))) if known == number => return location,
                _ => {}
            }
            let location = lock(&SITES).locations[number as usize];
            let _ = KNOWN_HERE.try_with(|known| {
                let mut entries = known.get();
                entries[at] = (number, Some(location));
                known.set(entries);
            });
            location
        }

        pub(crate) fn parts(&self) -> Option<OriginParts> {
            let (number, name) = match self.site & NAMED {
                0 => (self.site, None),
                _ => {
                    let names = lock(&NAMES);
                    let named = names.entries.get((self.site & !NAMED) as usize)?;
                    let named = named.as_ref()?;
                    (named.site, Some(Arc::clone(&named.name)))
                }
            };
            let location = *lock(&SITES).locations.get(number as usize)?;
            Some(OriginParts {
                location,
                name,
                born: self.born,
                parent: self.parent,
            })
        }
    }

    /// The locations that an arena has used lately.
    pub(crate) struct KnownSites([(*const Location<'static>, u32); KNOWN]);

    /// Measured: most arenas see fewer calls that spawn. A power of two.
    const KNOWN: usize = 16;

    impl KnownSites {
        pub(crate) const fn new() -> Self {
            Self([(ptr::null(), 0); KNOWN])
        }

        #[inline]
        fn number(&mut self, location: &'static Location<'static>) -> u32 {
            let address = ptr::from_ref(location);
            // A `Location` is three words long, so neighbours get different entries.
            let entry = &mut self.0[address.addr() / align_of::<Location<'_>>() % KNOWN];
            if entry.0 != address {
                *entry = (address, lock(&SITES).number(location));
            }
            entry.1
        }
    }

    #[derive(Default)]
    struct Sites {
        locations: Vec<&'static Location<'static>>,
        /// By address, as the compiler merges most equal locations.
        numbers: HashMap<usize, u32>,
    }

    impl Sites {
        #[cold]
        fn number(&mut self, location: &'static Location<'static>) -> u32 {
            let next = self.locations.len() as u32;
            let number = *self
                .numbers
                .entry(ptr::from_ref(location).addr())
                .or_insert(next);
            if number == next {
                self.locations.push(location);
            }
            number
        }
    }

    struct Named {
        site: u32,
        name: Arc<str>,
    }

    struct Names {
        entries: Vec<Option<Named>>,
        free: Vec<u32>,
    }

    impl Names {
        fn insert(&mut self, site: u32, name: &str) -> u32 {
            let named = Some(Named {
                site,
                name: name.into(),
            });
            if let Some(number) = self.free.pop() {
                self.entries[number as usize] = named;
                return number;
            }
            self.entries.push(named);
            (self.entries.len() - 1) as u32
        }

        fn remove(&mut self, number: u32) {
            self.entries[number as usize] = None;
            self.free.push(number);
            if self.free.len() == self.entries.len() {
                *self = Self::EMPTY;
            }
        }

        const EMPTY: Self = Self {
            entries: Vec::new(),
            free: Vec::new(),
        };
    }

    // Of the standard library also in models: no code that is modelled depends on them.
    static SITES: LazyLock<Mutex<Sites>> = LazyLock::new(Mutex::default);
    static NAMES: Mutex<Names> = Mutex::new(Names::EMPTY);

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(pointsman_no_diagnostics)]
mod implementation {
    use std::panic::Location;

    use super::{OriginParts, SpawnSite};

    pub(crate) struct Origin;

    impl Origin {
        #[inline]
        pub(crate) fn new(_: SpawnSite<'_>, _: &mut KnownSites) -> Self {
            Self
        }

        #[inline]
        pub(crate) fn release(&self) {}

        pub(crate) fn location(&self) -> &'static Location<'static> {
            Location::caller()
        }

        pub(crate) fn parts(&self) -> Option<OriginParts> {
            None
        }
    }

    pub(crate) struct KnownSites;

    impl KnownSites {
        pub(crate) const fn new() -> Self {
            Self
        }
    }
}

pub(crate) use implementation::{KnownSites, Origin};
