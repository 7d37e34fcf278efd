//! An intrusive doubly linked list: each node lives in its owner, such as a pinned future. Waiting allocates nothing, and a
//! cancelled waiter is removed in constant time.
//!
//! Invariant: a node is in at most one list, and only a thread that holds that list's lock accesses its links. The list frees
//! nothing; an owner removes its node before the node's memory is freed.

use std::cell::UnsafeCell;
use std::marker::PhantomPinned;
use std::ptr::NonNull;

/// The links of a node. They are in an `UnsafeCell`, since neighbours change them while the owner may hold a shared
/// reference to the node.
#[derive(Debug)]
pub(crate) struct Links<T> {
    neighbours: UnsafeCell<Neighbours<T>>,
    /// A node must not move while it is in a list.
    _pinned: PhantomPinned,
}

/// Both are `None` if the node is in no list, or is the only node of a list.
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

/// A type that can be a node of a list.
///
/// # Safety
/// `links` always returns a pointer to the same `Links` of `node`, derived from `node` without creating a reference to the
/// whole node.
pub(crate) unsafe trait Node: Sized {
    /// # Safety
    /// `node` points to a live node.
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>>;
}

/// # Safety
/// The node is live, and the caller has exclusive access to its list while it uses the reference.
unsafe fn neighbours<'a, T: Node>(node: NonNull<T>) -> &'a mut Neighbours<T> {
    // SAFETY: by the contract of `Node`, `links` points into the live node; by the caller's promise no other reference to the
    // links exists.
    unsafe { &mut *UnsafeCell::raw_get(&raw const (*T::links(node).as_ptr()).neighbours) }
}

/// A list of nodes, oldest first.
#[derive(Debug)]
pub(crate) struct List<T> {
    first: Option<NonNull<T>>,
    last: Option<NonNull<T>>,
}

// SAFETY: a list is a pair of pointers. The unsafe methods require that the nodes are live, and `T: Send` allows access from
// another thread.
unsafe impl<T: Send> Send for List<T> {}
// SAFETY: the methods on `&List` only read the list's own pointers; they do not access a node.
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

    /// Adds a node at the end.
    ///
    /// # Safety
    /// The node is live and pinned, is in no list, and stays live and pinned until it is removed.
    pub(crate) unsafe fn push_back(&mut self, node: NonNull<T>) {
        // SAFETY: the caller promises that the node is live, and `&mut self` is exclusive access to the list.
        let links = unsafe { neighbours(node) };
        links.previous = self.last;
        links.next = None;
        match self.last {
            // SAFETY: a node in the list is live, by the promise of `push_back`, and `&mut self` is exclusive.
            Some(last) => unsafe { neighbours(last).next = Some(node) },
            None => self.first = Some(node),
        }
        self.last = Some(node);
    }

    pub(crate) fn pop_front(&mut self) -> Option<NonNull<T>> {
        let first = self.first?;
        // SAFETY: the node is in this list, and so live by the promise of `push_back`.
        unsafe { self.remove(first) };
        Some(first)
    }

    pub(crate) fn pop_back(&mut self) -> Option<NonNull<T>> {
        let last = self.last?;
        // SAFETY: the node is in this list, and so live by the promise of `push_back`.
        unsafe { self.remove(last) };
        Some(last)
    }

    /// Moves all nodes of `other` to the end of this list.
    pub(crate) fn append(&mut self, other: &mut Self) {
        let Some(first) = other.first.take() else {
            return;
        };
        match self.last {
            // SAFETY: nodes in the lists are live, by the promise of `push_back`, and both lists are borrowed exclusively.
            Some(last) => unsafe {
                neighbours(last).next = Some(first);
                neighbours(first).previous = Some(last);
            },
            None => self.first = Some(first),
        }
        self.last = other.last.take();
    }

    /// Removes a node. Returns false if the node is in no list.
    ///
    /// # Safety
    /// The node is live, and in this list or in none.
    pub(crate) unsafe fn remove(&mut self, node: NonNull<T>) -> bool {
        // SAFETY: the caller promises that the node is live and in no other list, and `&mut self` is exclusive access to this
        // one.
        let links = unsafe { neighbours(node) };
        let is_first = self.first == Some(node);
        if links.previous.is_none() && !is_first {
            return false;
        }
        let (previous, next) = (links.previous.take(), links.next.take());
        match previous {
            // SAFETY: a neighbour is in the list, and so live by the promise of `push_back`; `&mut self` is exclusive.
            Some(previous) => unsafe { neighbours(previous).next = next },
            None => self.first = next,
        }
        match next {
            // SAFETY: a neighbour is in the list, and so live by the promise of `push_back`; `&mut self` is exclusive.
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

    // SAFETY: `links` returns a pointer to a field, made without a reference to the item.
    unsafe impl Node for Item {
        unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
            // SAFETY: the caller promises that the node is live, so the pointer to its field is not null.
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
        // SAFETY: `free` frees the items at the end of the test.
        std::iter::from_fn(|| list.pop_front().map(|item| unsafe { item.as_ref().number }))
            .collect()
    }

    fn free(items: Vec<NonNull<Item>>) {
        for item in items {
            // SAFETY: the item comes from `Box::leak` and is freed once.
            drop(unsafe { Box::from_raw(item.as_ptr()) });
        }
    }

    #[test]
    fn keeps_the_order_when_a_node_is_removed_anywhere() {
        for left in 0..4 {
            let items = items(4);
            let mut list = List::new();
            for &item in &items {
                // SAFETY: the item is leaked, so live and pinned, and in no list.
                unsafe { list.push_back(item) };
            }
            // SAFETY: the item is live, and in this list; the second time in none.
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
    fn pop_back_removes_the_newest() {
        let items = items(3);
        let mut list = List::new();
        for &item in &items {
            // SAFETY: the item is leaked, so live and pinned, and in no list.
            unsafe { list.push_back(item) };
        }
        assert_eq!(list.pop_back(), Some(items[2]));
        assert_eq!(drain(&mut list), [0, 1]);
        assert_eq!(list.pop_back(), None);
        free(items);
    }

    #[test]
    fn append_moves_all_nodes_to_the_end() {
        for (ahead, behind) in [(0, 0), (0, 2), (2, 0), (1, 1), (2, 3)] {
            let items = items(ahead + behind);
            let (mut list, mut other) = (List::new(), List::new());
            for (place, &item) in items.iter().enumerate() {
                let target = if place < ahead as usize {
                    &mut list
                } else {
                    &mut other
                };
                // SAFETY: the item is leaked, so live and pinned, and in no list.
                unsafe { target.push_back(item) };
            }
            list.append(&mut other);
            assert!(other.is_empty());
            if let Some(&item) = items.get(ahead as usize) {
                // SAFETY: the item is live, and in this list.
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
    fn the_only_node_can_be_removed() {
        let items = items(1);
        let mut list = List::new();
        // SAFETY: the item is leaked, so live and pinned, and in no list.
        unsafe {
            assert!(!list.remove(items[0]));
            list.push_back(items[0]);
            assert!(list.remove(items[0]));
        }
        assert_eq!(drain(&mut list), [0; 0]);
        free(items);
    }
}
