//! The origin of a task, for dumps and stall reports: the location of the call that spawned it, its name, the time of
//! the spawn and the spawner.
//!
//! A location is stored as a number, its index in a table of the process, which has an entry for each call in
//! the source text. A name belongs to one task: its entry is removed with the task.
//!
//! Cost: 10 bytes per task, and a look into a small cache of the arena per spawn. Only a task with a name
//! takes a lock. Nothing without the feature `diagnostics`.

use std::panic::Location;
use std::sync::Arc;

use super::span::{SpawnSpan, Traced};

/// The call that spawns a task. Without the features it is empty, as it is passed by each spawn.
#[derive(Clone, Copy)]
pub(crate) struct SpawnSite<'a> {
    #[cfg(any(feature = "diagnostics", feature = "tracing"))]
    pub(crate) location: &'static Location<'static>,
    /// Behind a reference, so that a site is passed in two registers.
    #[cfg(any(feature = "diagnostics", feature = "tracing"))]
    pub(crate) name: Option<&'a &'a str>,
    #[cfg(not(any(feature = "diagnostics", feature = "tracing")))]
    _name: std::marker::PhantomData<&'a str>,
    /// Empty without the feature `tracing`.
    pub(crate) span: SpawnSpan,
}

/// The site of the runtime's own jobs.
#[cfg(feature = "diagnostics")]
static OF_RUNTIME: &Location<'static> = Location::caller();

impl SpawnSite<'_> {
    /// That of a job of the runtime itself, which no dump shows.
    pub(crate) fn of_runtime() -> Self {
        Self {
            #[cfg(feature = "diagnostics")]
            location: OF_RUNTIME,
            ..Self::caller()
        }
    }

    /// The caller of the function that calls this, without a name.
    #[inline]
    #[track_caller]
    pub(crate) fn caller() -> Self {
        Self {
            #[cfg(any(feature = "diagnostics", feature = "tracing"))]
            location: Location::caller(),
            #[cfg(any(feature = "diagnostics", feature = "tracing"))]
            name: None,
            #[cfg(not(any(feature = "diagnostics", feature = "tracing")))]
            _name: std::marker::PhantomData,
            span: SpawnSpan::new(),
        }
    }
}

impl<'a> SpawnSite<'a> {
    /// The caller of the function that calls this.
    #[inline]
    #[track_caller]
    #[cfg_attr(
        not(any(feature = "diagnostics", feature = "tracing")),
        expect(unused_variables)
    )]
    pub(crate) fn named_caller(name: Option<&'a &'a str>) -> Self {
        Self {
            #[cfg(any(feature = "diagnostics", feature = "tracing"))]
            name,
            ..Self::caller()
        }
    }
}

impl SpawnSite<'_> {
    /// Puts the future of a new task into its span, before the task is created: a subscriber may spawn tasks itself.
    /// Without the feature `tracing` this is the future.
    #[inline]
    pub(crate) fn traced<F>(&mut self, future: F) -> Traced<F> {
        #[cfg(feature = "tracing")]
        return self.span.trace(future, self.name.copied(), self.location);
        #[cfg(not(feature = "tracing"))]
        future
    }
}

/// The origin of a task, as a dump reads it.
#[derive(Clone)]
pub(crate) struct OriginParts {
    pub(crate) location: &'static Location<'static>,
    pub(crate) name: Option<Arc<str>>,
    /// When the task was spawned, by [`clock`](super::clock).
    pub(crate) born: u32,
    /// The low half of the id of the task that spawned it; 0 if no task did.
    pub(crate) parent: u32,
}

#[cfg(feature = "diagnostics")]
impl OriginParts {
    pub(crate) fn is_of_runtime(&self) -> bool {
        self.location == OF_RUNTIME
    }
}

#[cfg(feature = "diagnostics")]
mod implementation {
    use std::cell::Cell;
    use std::collections::HashMap;
    use std::panic::Location;
    use std::ptr;
    use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

    use super::{OriginParts, SpawnSite};
    use crate::task::id::Id;
    use crate::task::{clock, current};

    /// Set in a site if the task has a name.
    const NAMED: u16 = 1 << 15;
    /// The number of locations, including one number that all further locations share: those are not known.
    const MAX_SITES: usize = NAMED as usize;

    pub(crate) struct Origin {
        born: u32,
        parent: u32,
    }

    /// The number of a location, and [`NAMED`].
    pub(crate) struct Site(u16);

    impl Origin {
        #[inline(always)]
        pub(crate) fn new() -> Self {
            Self {
                born: clock::now(),
                parent: current::running_id().map_or(0, |id| id.as_number() as u32),
            }
        }

        /// Called with a reference to the task, so before `release`.
        pub(crate) fn parts(&self, site: &Site, id: Id) -> Option<OriginParts> {
            let name = match site.0 & NAMED {
                0 => None,
                _ => lock(&NAMES).get(&id).cloned(),
            };
            let location = *lock(&SITES).locations.get((site.0 & !NAMED) as usize)?;
            Some(OriginParts {
                location,
                name,
                born: self.born,
                parent: self.parent,
            })
        }
    }

    impl Site {
        /// Returns the location. Takes no lock if this thread's cache has it.
        pub(crate) fn location(&self) -> &'static Location<'static> {
            thread_local! {
                static KNOWN_HERE: Cell<[(u16, Option<&'static Location<'static>>); KNOWN]> =
                    const { Cell::new([(0, None); KNOWN]) };
            }
            let number = self.0 & !NAMED;
            let at = usize::from(number) % KNOWN;
            match KNOWN_HERE.try_with(|known| known.get()[at]) {
                Ok((known, Some(location))) if known == number => return location,
                _ => {}
            }
            let location = lock(&SITES).locations.get(usize::from(number)).copied();
            let Some(location) = location else {
                return Location::caller();
            };
            let _ = KNOWN_HERE.try_with(|known| {
                let mut entries = known.get();
                entries[at] = (number, Some(location));
                known.set(entries);
            });
            location
        }

        /// The site of a task without a name, if the location is known.
        #[inline(always)]
        pub(crate) fn known(site: SpawnSite<'_>, known: &KnownSites) -> Option<Self> {
            let (address, number) = known.0[KnownSites::position(site.location)];
            let is_known = ptr::eq(address, site.location) && site.name.is_none();
            is_known.then_some(Self(number))
        }

        pub(crate) fn new(site: SpawnSite<'_>, id: Id, known: &mut KnownSites) -> Self {
            let number = known.number(site.location);
            match site.name {
                None => Self(number),
                Some(name) => Self::named(number, name, id),
            }
        }

        #[cold]
        fn named(number: u16, name: &str, id: Id) -> Self {
            lock(&NAMES).insert(id, name.into());
            Self(NAMED | number)
        }

        /// Removes the task's name from the table. Called when the task is freed.
        #[inline(always)]
        pub(crate) fn release(&self, id: Id) {
            if self.0 & NAMED != 0 {
                forget_name(id);
            }
        }
    }

    /// A cache of the locations that an arena has used.
    pub(crate) struct KnownSites([(*const Location<'static>, u16); KNOWN]);

    /// Measured: most arenas see fewer calls that spawn. A power of two.
    const KNOWN: usize = 16;

    impl KnownSites {
        pub(crate) const fn new() -> Self {
            Self([(ptr::null(), 0); KNOWN])
        }

        #[inline(always)]
        fn position(location: &'static Location<'static>) -> usize {
            // A `Location` is three words long, so neighbours get different entries.
            ptr::from_ref(location).addr() / align_of::<Location<'_>>() % KNOWN
        }

        fn number(&mut self, location: &'static Location<'static>) -> u16 {
            let entry = &mut self.0[Self::position(location)];
            if !ptr::eq(entry.0, location) {
                *entry = (location, number_of(location));
            }
            entry.1
        }
    }

    #[cold]
    fn forget_name(id: Id) {
        lock(&NAMES).remove(&id);
    }

    fn number_of(location: &'static Location<'static>) -> u16 {
        lock(&SITES).number(location)
    }

    #[derive(Default)]
    struct Sites {
        locations: Vec<&'static Location<'static>>,
        /// By address, since the compiler merges most equal locations.
        numbers: HashMap<usize, u16>,
    }

    impl Sites {
        fn number(&mut self, location: &'static Location<'static>) -> u16 {
            let next = self.locations.len();
            if next == MAX_SITES - 1 {
                return next as u16;
            }
            let number = *self
                .numbers
                .entry(ptr::from_ref(location).addr())
                .or_insert(next as u16);
            if usize::from(number) == next {
                self.locations.push(location);
            }
            number
        }
    }

    // Mutexes of the standard library, also in models: no modelled code depends on them.
    static SITES: LazyLock<Mutex<Sites>> = LazyLock::new(Mutex::default);
    static NAMES: LazyLock<Mutex<HashMap<Id, Arc<str>>>> = LazyLock::new(Mutex::default);

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(not(feature = "diagnostics"))]
mod implementation {
    use std::panic::Location;

    use super::{OriginParts, SpawnSite};
    use crate::task::id::Id;

    pub(crate) struct Origin;

    pub(crate) struct Site;

    impl Origin {
        #[inline]
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn parts(&self, _: &Site, _: Id) -> Option<OriginParts> {
            None
        }
    }

    impl Site {
        pub(crate) fn location(&self) -> &'static Location<'static> {
            Location::caller()
        }

        #[inline]
        pub(crate) fn known(_: SpawnSite<'_>, _: &KnownSites) -> Option<Self> {
            Some(Self)
        }

        pub(crate) fn new(_: SpawnSite<'_>, _: Id, _: &mut KnownSites) -> Self {
            Self
        }

        #[inline]
        pub(crate) fn release(&self, _: Id) {}
    }

    pub(crate) struct KnownSites;

    impl KnownSites {
        pub(crate) const fn new() -> Self {
            Self
        }
    }
}

pub(crate) use implementation::{KnownSites, Origin, Site};
