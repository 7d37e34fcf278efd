//! A doubly linked list whose nodes live in their owners: in a pinned future, in a task. Nothing is
//! allocated to wait, and whoever gives up leaves in one step.
//!
//! Invariant: a node is in at most one list, and everyone who touches it holds the lock of that list. The
//! list never frees anything; an owner takes its node out before the node's memory goes.

use std::cell::UnsafeCell;
use std::marker::PhantomPinned;
use std::ptr::NonNull;

/// The links of a node. They are in a cell: neighbours change them while the owner may hold a shared
/// reference to the node.
#[derive(Debug)]
pub(crate) struct Links<T> {
    neighbours: UnsafeCell<Neighbours<T>>,
    /// A node's address must not change while it is in a list.
    _pinned: PhantomPinned,
}

/// Neither is set while the node is in no list; both may be unset for the only node.
#[derive(Debug)]
struct Neighbours<T> {
    previous: Option<NonNull<T>>,
    next: Option<NonNull<T>>,
}

impl<T> Links<T> {
    pub(crate) const fn new() -> Self {
        Self {
            neighbours: UnsafeCell::new(Neighbours {
                previous: None,
                next: None,
            }),
            _pinned: PhantomPinned,
        }
    }
}

/// Something that has links.
///
/// # Safety
/// `links` gives a pointer to the same `Links` of `node` each time, made from `node` without a reference to
/// the whole node.
pub(crate) unsafe trait Node: Sized {
    /// # Safety
    /// `node` points to a live node.
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>>;
}

/// # Safety
/// The node is live, and whoever calls holds its list for as long as the reference is used.
unsafe fn neighbours<'a, T: Node>(node: NonNull<T>) -> &'a mut Neighbours<T> {
    // SAFETY: as above.
    unsafe { &mut *UnsafeCell::raw_get(&raw const (*T::links(node).as_ptr()).neighbours) }
}

/// The first is the oldest.
#[derive(Debug)]
pub(crate) struct List<T> {
    first: Option<NonNull<T>>,
    last: Option<NonNull<T>>,
}

// SAFETY: a list is a pair of pointers; whoever reaches a node through it keeps the node's own rules.
unsafe impl<T: Send> Send for List<T> {}
// SAFETY: as above; a shared list gives nothing but whether it is empty.
unsafe impl<T: Send> Sync for List<T> {}

impl<T: Node> List<T> {
    pub(crate) const fn new() -> Self {
        Self {
            first: None,
            last: None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn first(&self) -> Option<NonNull<T>> {
        self.first
    }

    /// Puts a node at the end.
    ///
    /// # Safety
    /// The node is live and pinned, is in no list, and stays live until it is taken out.
    pub(crate) unsafe fn push_back(&mut self, node: NonNull<T>) {
        // SAFETY: the node is live, and whoever calls holds the list.
        let links = unsafe { neighbours(node) };
        links.previous = self.last;
        links.next = None;
        match self.last {
            // SAFETY: a node of the list is live.
            Some(last) => unsafe { neighbours(last).next = Some(node) },
            None => self.first = Some(node),
        }
        self.last = Some(node);
    }

    /// Takes out the oldest.
    pub(crate) fn pop_front(&mut self) -> Option<NonNull<T>> {
        let first = self.first?;
        // SAFETY: it is in this list.
        unsafe { self.remove(first) };
        Some(first)
    }

    /// Takes out the newest.
    pub(crate) fn pop_back(&mut self) -> Option<NonNull<T>> {
        let last = self.last?;
        // SAFETY: it is in this list.
        unsafe { self.remove(last) };
        Some(last)
    }

    /// Moves all nodes of `other` to the end of this list.
    pub(crate) fn append(&mut self, other: &mut Self) {
        let Some(first) = other.first.take() else {
            return;
        };
        match self.last {
            // SAFETY: nodes of the lists are live, and whoever calls holds both lists.
            Some(last) => unsafe {
                neighbours(last).next = Some(first);
                neighbours(first).previous = Some(last);
            },
            None => self.first = Some(first),
        }
        self.last = other.last.take();
    }

    /// Takes a node out. Whether it was in: a node that is in no list is left alone.
    ///
    /// # Safety
    /// The node is live, and in this list or in none.
    pub(crate) unsafe fn remove(&mut self, node: NonNull<T>) -> bool {
        // SAFETY: the node is live, and whoever calls holds the list.
        let links = unsafe { neighbours(node) };
        let is_first = self.first == Some(node);
        if links.previous.is_none() && !is_first {
            return false;
        }
        let (previous, next) = (links.previous.take(), links.next.take());
        match previous {
            // SAFETY: a node of the list is live.
            Some(previous) => unsafe { neighbours(previous).next = next },
            None => self.first = next,
        }
        match next {
            // SAFETY: a node of the list is live.
            Some(next) => unsafe { neighbours(next).previous = previous },
            None => self.last = previous,
        }
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Item {
        links: Links<Item>,
        number: u32,
    }

    // SAFETY: the links are a field.
    unsafe impl Node for Item {
        unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
            // SAFETY: the node is live.
            unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
        }
    }

    fn items(count: u32) -> Vec<NonNull<Item>> {
        (0..count)
            .map(|number| {
                let item = Box::new(Item {
                    links: Links::new(),
                    number,
                });
                NonNull::from(Box::leak(item))
            })
            .collect()
    }

    fn drain(list: &mut List<Item>) -> Vec<u32> {
        // SAFETY: the items live until the end of the test.
        std::iter::from_fn(|| list.pop_front().map(|item| unsafe { item.as_ref().number }))
            .collect()
    }

    fn free(items: Vec<NonNull<Item>>) {
        for item in items {
            // SAFETY: from Box::leak, and used no more.
            drop(unsafe { Box::from_raw(item.as_ptr()) });
        }
    }

    #[test]
    fn gives_back_in_order_and_each_leaves_wherever_it_stands() {
        for left in 0..4 {
            let items = items(4);
            let mut list = List::new();
            for &item in &items {
                // SAFETY: live, and in no list.
                unsafe { list.push_back(item) };
            }
            // SAFETY: live, and in this list, the second time in none.
            unsafe {
                assert!(list.remove(items[left]));
                assert!(!list.remove(items[left]));
                list.push_back(items[left]);
            }
            let mut expected: Vec<u32> = (0..4).filter(|&number| number != left as u32).collect();
            expected.push(left as u32);
            assert_eq!(drain(&mut list), expected);
            assert!(list.is_empty());
            free(items);
        }
    }

    #[test]
    fn the_newest_leaves_first_from_the_end() {
        let items = items(3);
        let mut list = List::new();
        for &item in &items {
            // SAFETY: live, and in no list.
            unsafe { list.push_back(item) };
        }
        assert_eq!(list.pop_back(), Some(items[2]));
        assert_eq!(drain(&mut list), [0, 1]);
        assert_eq!(list.pop_back(), None);
        free(items);
    }

    #[test]
    fn a_list_is_moved_to_the_end_of_another() {
        for (ahead, behind) in [(0, 0), (0, 2), (2, 0), (1, 1), (2, 3)] {
            let items = items(ahead + behind);
            let (mut list, mut other) = (List::new(), List::new());
            for (place, &item) in items.iter().enumerate() {
                let target = if place < ahead as usize {
                    &mut list
                } else {
                    &mut other
                };
                // SAFETY: live, and in no list.
                unsafe { target.push_back(item) };
            }
            list.append(&mut other);
            assert!(other.is_empty());
            if let Some(&item) = items.get(ahead as usize) {
                // SAFETY: live, and in this list.
                unsafe {
                    assert!(list.remove(item));
                    list.push_back(item);
                }
            }
            let mut expected: Vec<u32> = (0..ahead + behind).filter(|&n| n != ahead).collect();
            expected.extend((behind > 0).then_some(ahead));
            assert_eq!(drain(&mut list), expected);
            free(items);
        }
    }

    #[test]
    fn the_only_item_leaves() {
        let items = items(1);
        let mut list = List::new();
        // SAFETY: live, and in no list.
        unsafe {
            assert!(!list.remove(items[0]));
            list.push_back(items[0]);
            assert!(list.remove(items[0]));
        }
        assert_eq!(drain(&mut list), []);
        free(items);
    }
}
