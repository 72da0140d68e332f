//! The flash commands that one host page access causes, in the order they must run, and which of
//! them the host waits for.

use std::sync::Arc;

use pumice_types::{FlashCommand, PageAddress, PageUnit, Time, UnitSource};

/// What a layer writes into a page of its own.
pub type Payload = Arc<[u32]>;

/// Which command's end completes the access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Completion {
    /// The last command.
    #[default]
    Last,
    /// The command with this index. The access does not wait for the later ones.
    At(usize),
    /// No command: no access waits for this plan.
    Nobody,
}

/// A reused buffer of flash commands.
#[derive(Debug, Default)]
pub struct Plan {
    /// Commands in execution order.
    pub commands: Vec<FlashCommand>,
    /// What some of the programs write, each with the place of its command and the mapping unit of its page.
    pub contents: Vec<(usize, u16, Payload)>,
    /// What programs of mapping units put into them: a list for each such program, in their order. A command carries the
    /// number of its list.
    pub units: Vec<PageUnit>,
    /// The page in which a unit of the host is now, as its first of the host, and which waits for more of them.
    pub gathers: Option<PageAddress>,
    /// The number of the write that is planned, if the device may lose power and a unit of the host goes into a page.
    pub write_number: u64,
    /// Time that a look-up takes beside its commands ([`crate::MapLoads`]); zero in every other plan.
    pub look_up: Time,
    completion: Completion,
    /// The most commands; no limit if absent.
    limit: Option<usize>,
}

impl Plan {
    /// An empty plan with room for `commands`.
    pub fn with_capacity(commands: usize) -> Plan {
        Plan { commands: Vec::with_capacity(commands), ..Plan::default() }
    }

    /// An empty plan that takes so many commands and no more.
    pub fn limited(commands: usize) -> Plan {
        Plan { limit: Some(commands), ..Plan::default() }
    }

    /// Forgets the commands, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.commands.clear();
        self.contents.clear();
        self.units.clear();
        self.gathers = None;
        self.write_number = 0;
        self.look_up = Time::ZERO;
        self.completion = Completion::Last;
    }

    /// Appends a command.
    #[inline]
    pub fn push(&mut self, command: FlashCommand) {
        if self.commands.len() == self.commands.capacity() {
            self.grow();
        }
        self.commands.push(command);
    }

    /// Makes room for more commands.
    ///
    /// # Panics
    /// The plan is limited and full. Code that plans commands without end is stopped here.
    #[cold]
    fn grow(&mut self) {
        let commands = self.commands.len();
        let more = commands.max(64);
        let room = self.limit.map_or(more, |limit| more.min(limit - commands.min(limit)));
        assert!(room > 0, "more than {commands} commands in one plan; is this loop without an end?");
        self.commands.reserve_exact(room);
    }

    /// Appends a program of a page of the layer's own.
    pub fn push_content(&mut self, command: FlashCommand, content: Payload) {
        self.note_content(content);
        self.push(command);
    }

    /// Notes what the program writes that comes next.
    pub fn note_content(&mut self, content: Payload) {
        self.contents.push((self.commands.len(), 0, content));
    }

    /// Appends a program of the layer's own that takes a whole page, however many mapping units that has.
    pub fn push_whole_page(&mut self, command: FlashCommand, units_per_page: u16) {
        if units_per_page == 1 {
            return self.push(command);
        }
        let FlashCommand { lpn, version, .. } = command;
        let (list, units) = (self.units.len() / usize::from(units_per_page), usize::from(units_per_page));
        self.units.push(PageUnit { lpn, version, source: UnitSource::Host, written: 0 });
        self.units.resize((list + 1) * units, PageUnit::PADDING);
        self.push(command.with_units(list as u32));
    }

    /// Appends a program of mapping units, the units of one page.
    pub fn push_units(&mut self, command: FlashCommand, units: &[PageUnit]) {
        let list = self.units.len() / units.len();
        self.units.extend_from_slice(units);
        self.push(command.with_units(list as u32));
    }

    /// The access is complete when the command appended last has ended, whatever is appended later.
    #[inline]
    pub fn complete_here(&mut self) {
        self.completion = match self.commands.len() {
            0 => Completion::Nobody,
            commands => Completion::At(commands - 1),
        };
    }

    /// The access is complete when the command with this index has ended.
    #[inline]
    pub fn complete_at(&mut self, index: usize) {
        self.completion = Completion::At(index);
    }

    /// The access is complete when the command with this index has ended, or without one as [`Plan::complete_here`] says.
    #[inline]
    pub fn complete_at_or_here(&mut self, index: Option<usize>) {
        match index {
            Some(index) => self.complete_at(index),
            None => self.complete_here(),
        }
    }

    /// Whether the access is complete with the last command, whichever that will be.
    #[inline]
    pub fn completes_at_end(&self) -> bool {
        self.completion == Completion::Last
    }

    /// Puts what is made of each command from the `first` on in its place: as many as `count` says, each made from the
    /// command and its number among them. An access that waits for a command waits for the last one made of it.
    pub fn expand(
        &mut self,
        first: usize,
        made: impl Fn(&FlashCommand, u32) -> FlashCommand,
        count: impl Fn(&FlashCommand) -> u32,
    ) {
        let end = self.commands.len();
        let more: usize = self.commands[first..].iter().map(|command| count(command) as usize - 1).sum();
        let Some(&any) = self.commands.get(first) else { return };
        self.commands.resize(end + more, any);
        // From behind, so that nothing is overwritten before it is read.
        let mut place = end + more;
        for at in (first..end).rev() {
            let command = self.commands[at];
            if self.completion == Completion::At(at) {
                self.completion = Completion::At(place - 1);
            }
            for nth in (0..count(&command)).rev() {
                place -= 1;
                self.commands[place] = made(&command, nth);
            }
        }
    }

    /// Index of the command whose end completes the access: the last one unless
    /// [`Plan::complete_here`] said otherwise, and `None` if the host waits for no command.
    #[inline]
    pub fn completes(&self) -> Option<usize> {
        match self.completion {
            Completion::Last => self.commands.len().checked_sub(1),
            Completion::At(index) => Some(index),
            Completion::Nobody => None,
        }
    }
}
