//! The set type and its algebra.

use std::cmp::Ordering;

use super::{PathElement, Step};

/// A set of paths into an object.
///
/// A path is in the set on its own: owning `.spec` says nothing about `.spec.replicas`. Kept as a
/// tree whose nodes are sorted and never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    pub(super) nodes: Vec<Node>,
}

/// What the set knows about one element and what is below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) element: PathElement,
    /// Whether the path that ends here is in the set.
    pub(super) member: bool,
    pub(super) children: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

/// The end of a path that borrows from an object, linked to where it came from.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Option<&'a Step<'a>>,
}

impl<'a> Path<'a> {
    /// The path of the whole object.
    pub(crate) const ROOT: Path<'static> = Path { parent: None, step: None };

    /// The path one step further down.
    pub(crate) fn join(&'a self, step: &'a Step<'a>) -> Path<'a> {
        Path { parent: Some(self), step: Some(step) }
    }
}

impl FieldSet {
    /// A set without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// A set of paths that lead through fields only, such as `["metadata", "name"]`.
    pub fn of_fields<'p>(paths: impl IntoIterator<Item = &'p [&'p str]>) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.iter().map(|name| PathElement::field(*name)));
        }
        set
    }

    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a path. The empty path stands for the whole object, which never has an owner.
    pub fn insert(&mut self, path: impl IntoIterator<Item = PathElement>) {
        let mut path = path.into_iter().peekable();
        let mut set = self;
        while let Some(element) = path.next() {
            let last = path.peek().is_none();
            let at = set.place(element);
            let node = &mut set.nodes[at];
            node.member |= last;
            set = &mut node.children;
        }
    }

    /// Adds a path that borrows from an object.
    pub(crate) fn insert_path(&mut self, path: Path<'_>) {
        if let Some(node) = self.descend(path) {
            node.member = true;
        }
    }

    fn descend(&mut self, path: Path<'_>) -> Option<&mut Node> {
        let step = path.step?;
        let set = match path.parent {
            Some(parent) if parent.step.is_some() => &mut self.descend(*parent)?.children,
            _ => self,
        };
        let at = match set.place_of(step) {
            Ok(at) => at,
            Err(at) => {
                let node =
                    Node { element: step.to_element(), member: false, children: FieldSet::new() };
                set.nodes.insert(at, node);
                at
            }
        };
        Some(&mut set.nodes[at])
    }

    /// Where a step's node is, or would be. Objects are walked in order, so that it is the last one
    /// or comes after it almost always.
    fn place_of(&self, step: &Step<'_>) -> Result<usize, usize> {
        let Some(last) = self.nodes.last() else { return Err(0) };
        match step.compare_element(&last.element) {
            Ordering::Greater => Err(self.nodes.len()),
            Ordering::Equal => Ok(self.nodes.len() - 1),
            Ordering::Less => {
                self.nodes.binary_search_by(|node| step.compare_element(&node.element).reverse())
            }
        }
    }

    /// The position of an element's node, made if there is none. The caller fills it.
    fn place(&mut self, element: PathElement) -> usize {
        match self.nodes.binary_search_by(|node| node.element.cmp(&element)) {
            Ok(at) => at,
            Err(at) => {
                let node = Node { element, member: false, children: FieldSet::new() };
                self.nodes.insert(at, node);
                at
            }
        }
    }

    /// Adds a node with what was read about it; nodes come in order almost always.
    pub(super) fn push(&mut self, element: PathElement, member: bool, children: FieldSet) {
        let at = if self.nodes.last().is_none_or(|last| last.element < element) {
            self.nodes.push(Node { element, member: false, children: FieldSet::new() });
            self.nodes.len() - 1
        } else {
            self.place(element)
        };
        let node = &mut self.nodes[at];
        node.member |= member;
        let before = std::mem::take(&mut node.children);
        node.children = before.union(children);
    }

    /// Adds a step, if its path is in the set or others below it are.
    pub(crate) fn add(&mut self, step: &Step<'_>, member: bool, children: FieldSet) {
        if member || !children.is_empty() {
            self.push(step.to_element(), member, children);
        }
    }

    /// Whether the path is in the set.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut set = self;
        for element in parents {
            match set.node(element) {
                Some(node) => set = &node.children,
                None => return false,
            }
        }
        set.node(last).is_some_and(|node| node.member)
    }

    fn node(&self, element: &PathElement) -> Option<&Node> {
        let at = self.nodes.binary_search_by(|node| node.element.cmp(element)).ok()?;
        Some(&self.nodes[at])
    }

    /// Whether a step ends a path of the set, and what the set has below it.
    pub(crate) fn at(&self, step: &Step<'_>) -> (bool, Option<&FieldSet>) {
        match self.place_of(step) {
            Ok(at) => {
                let node = &self.nodes[at];
                (node.member, Some(&node.children).filter(|children| !children.is_empty()))
            }
            Err(_) => (false, None),
        }
    }

    /// The elements of the first level: the element, whether its path is in the set, what is below.
    pub(crate) fn level(&self) -> impl Iterator<Item = (&PathElement, bool, &FieldSet)> {
        self.nodes.iter().map(|node| (&node.element, node.member, &node.children))
    }

    /// What is in one of the sets.
    pub fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let mut right = other.nodes.into_iter().peekable();
        for mut node in self.nodes {
            while let Some(before) = right.next_if(|other| other.element < node.element) {
                nodes.push(before);
            }
            if let Some(same) = right.next_if(|other| other.element == node.element) {
                node.member |= same.member;
                node.children = node.children.union(same.children);
            }
            nodes.push(node);
        }
        nodes.extend(right);
        Self { nodes }
    }

    /// What is in this set and not in the other.
    pub fn difference(self, other: &Self) -> Self {
        self.subtract(other, false)
    }

    /// What is in this set, without the paths of the other and everything below them.
    pub fn recursive_difference(self, other: &Self) -> Self {
        self.subtract(other, true)
    }

    fn subtract(self, other: &Self, recursive: bool) -> Self {
        if other.is_empty() {
            return self;
        }
        let mut right = other.nodes.iter().peekable();
        let keep = |mut node: Node| {
            while right.next_if(|other| other.element < node.element).is_some() {}
            if let Some(same) = right.next_if(|other| other.element == node.element) {
                if recursive && same.member {
                    return None;
                }
                node.member &= !same.member;
                node.children = node.children.subtract(&same.children, recursive);
            }
            (!node.is_empty()).then_some(node)
        };
        Self { nodes: self.nodes.into_iter().filter_map(keep).collect() }
    }

    /// What is in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut nodes = Vec::new();
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
            match one.element.cmp(&two.element) {
                Ordering::Less => drop(left.next()),
                Ordering::Greater => drop(right.next()),
                Ordering::Equal => {
                    let node = Node {
                        element: one.element.clone(),
                        member: one.member && two.member,
                        children: one.children.intersection(&two.children),
                    };
                    if !node.is_empty() {
                        nodes.push(node);
                    }
                    left.next();
                    right.next();
                }
            }
        }
        Self { nodes }
    }

    /// All paths of the set. On every level, the paths that end there come before longer ones, as
    /// the API server lists conflicts.
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Vec<PathElement>>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let mut path = prefix.clone();
            path.push(node.element.clone());
            paths.push(path);
        }
        for node in &self.nodes {
            prefix.push(node.element.clone());
            node.children.collect_paths(prefix, paths);
            prefix.pop();
        }
    }

    /// Builds a set with the same elements, choosing anew which of their paths are in it.
    pub(crate) fn map_level(
        &self,
        mut choose: impl FnMut(&PathElement, bool, &FieldSet) -> (bool, FieldSet),
    ) -> Self {
        let nodes = self.nodes.iter().map(|node| {
            let (member, children) = choose(&node.element, node.member, &node.children);
            Node { element: node.element.clone(), member, children }
        });
        Self { nodes: nodes.filter(|node| !node.is_empty()).collect() }
    }
}
