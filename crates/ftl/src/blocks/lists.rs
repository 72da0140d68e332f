//! Doubly linked lists over the numbers `0..n`, inside columns: adding, removing and looking at an end
//! cost the same however many members there are, and nothing is allocated for it.
//!
//! The lists are rings. A list's own links stand in the ring between its last and its first member, so
//! removing needs neither the list's number nor a case for its ends. A member that is in no list is
//! linked to itself.

use pumice_types::prefetch;
use serde::{Deserialize, Serialize};

/// Marks a link that leads to a list instead of a member.
const LIST: u32 = 1 << 31;

/// Neighbours in the ring.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Links {
    before: u32,
    after: u32,
}

impl Links {
    fn alone(node: u32) -> Links {
        Links { before: node, after: node }
    }
}

/// Some lists. A member is in one of them, or in none.
#[derive(Clone, Serialize, Deserialize)]
pub struct Lists {
    members: Vec<Links>,
    lists: Vec<Links>,
}

impl Lists {
    /// `lists` empty lists for the members `0..members`, of which there are fewer than 2^31.
    pub fn new(members: usize, lists: usize) -> Lists {
        let mut new = Lists { members: Vec::with_capacity(members), lists: Vec::with_capacity(lists) };
        new.grow_members(members);
        new.grow_lists(lists);
        new
    }

    /// Grows to at least `members` members.
    pub fn grow_members(&mut self, members: usize) {
        debug_assert!(members < LIST as usize);
        self.members.extend((self.members.len()..members).map(|member| Links::alone(member as u32)));
    }

    /// Grows to at least `lists` lists.
    pub fn grow_lists(&mut self, lists: usize) {
        self.lists.extend((self.lists.len()..lists).map(|list| Links::alone(LIST | list as u32)));
    }

    /// How many lists there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.lists.len()
    }

    /// Adds a member that is in no list behind the last one of `list`.
    #[inline]
    pub fn append(&mut self, list: usize, member: u32) {
        let before = self.lists[list].before;
        self.link(before, member, LIST | list as u32);
    }

    /// Adds a member that is in no list in front of the first one of `list`.
    #[inline]
    pub fn prepend(&mut self, list: usize, member: u32) {
        let after = self.lists[list].after;
        self.link(LIST | list as u32, member, after);
    }

    /// Takes a member out of its list, if it is in one.
    #[inline]
    pub fn remove(&mut self, member: u32) {
        let Links { before, after } = self.members[member as usize];
        self.links(before).after = after;
        self.links(after).before = before;
        self.members[member as usize] = Links::alone(member);
    }

    /// Whether a member is in a list.
    #[inline]
    pub fn is_listed(&self, member: u32) -> bool {
        self.members[member as usize].after != member
    }

    /// The first member of a list.
    #[inline]
    pub fn first(&self, list: usize) -> Option<u32> {
        let first = self.lists[list].after;
        (first & LIST == 0).then_some(first)
    }

    /// The last member of a list.
    #[inline]
    pub fn last(&self, list: usize) -> Option<u32> {
        let last = self.lists[list].before;
        (last & LIST == 0).then_some(last)
    }

    /// Prefetches the links of a member that will be moved; no effect on results.
    #[inline]
    pub fn expect(&self, member: u32) {
        prefetch(self.members.get(member as usize));
    }

    /// The members of a list from its first to its last.
    #[inline]
    pub fn iter(&self, list: usize) -> impl Iterator<Item = u32> {
        let member = |link: u32| (link & LIST == 0).then_some(link);
        std::iter::successors(self.first(list), move |&at| member(self.members[at as usize].after))
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        (size_of_val(&self.members[..]) + size_of_val(&self.lists[..])) as u64
    }

    #[inline]
    fn link(&mut self, before: u32, member: u32, after: u32) {
        debug_assert!(!self.is_listed(member), "a member is in one list");
        self.members[member as usize] = Links { before, after };
        self.links(before).after = member;
        self.links(after).before = member;
    }

    #[inline]
    fn links(&mut self, node: u32) -> &mut Links {
        match node & LIST {
            0 => &mut self.members[node as usize],
            _ => &mut self.lists[(node ^ LIST) as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn t503_lists_hold_what_queues_would(steps in proptest::collection::vec((0u32..9, 0usize..4, 0u8..3), 1..200)) {
            let (mut lists, mut queues) = (Lists::new(3, 1), vec![std::collections::VecDeque::new(); 4]);
            for (member, list, step) in steps {
                lists.grow_members(member as usize + 1);
                lists.grow_lists(list + 1);
                lists.remove(member);
                queues.iter_mut().for_each(|queue| queue.retain(|&listed| listed != member));
                match step {
                    0 => (lists.append(list, member), queues[list].push_back(member)),
                    1 => (lists.prepend(list, member), queues[list].push_front(member)),
                    _ => ((), ()),
                };
                prop_assert_eq!(lists.is_listed(member), step < 2);
                for (list, queue) in queues.iter().enumerate().take(lists.count()) {
                    let ends = (queue.front().copied(), queue.back().copied());
                    prop_assert_eq!((lists.first(list), lists.last(list)), ends);
                }
            }
            for (list, queue) in queues.iter().enumerate().take(lists.count()) {
                prop_assert!(lists.iter(list).eq(queue.iter().copied()));
            }
        }
    }
}
