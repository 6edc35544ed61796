// SPDX-License-Identifier: GPL-2.0

//! The list against a queue.

use crate::plain::list::{Linked, Links, List};
use proptest::prelude::*;
use std::{collections::VecDeque, ptr::NonNull};

struct Element {
    number: usize,
    links: Links<Element>,
}

// SAFETY: Always the same field.
unsafe impl Linked for Element {
    fn links(&self) -> &Links<Self> {
        &self.links
    }
}

#[derive(Clone, Debug)]
enum Op {
    Push,
    Pop,
    Rotate,
    Remove(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => Just(Op::Push),
        1 => Just(Op::Pop),
        1 => Just(Op::Rotate),
        2 => any::<usize>().prop_map(Op::Remove),
    ]
}

#[derive(Default)]
struct Machine {
    model: VecDeque<NonNull<Element>>,
    made: usize,
}

impl Machine {
    fn run(&mut self, list: &mut List<Element>, op: Op) {
        match op {
            Op::Push => {
                let element = Element {
                    number: self.made,
                    links: Links::new(),
                };
                self.made += 1;
                let element = NonNull::from(Box::leak(Box::new(element)));
                // SAFETY: Made just now.
                unsafe { list.push_back(element) };
                self.model.push_back(element);
            }
            Op::Pop => {
                let popped = list.pop_front();
                assert_eq!(popped, self.model.pop_front());
                if let Some(popped) = popped {
                    free(popped);
                }
            }
            Op::Rotate => {
                list.rotate();
                if !self.model.is_empty() {
                    self.model.rotate_left(1);
                }
            }
            Op::Remove(which) => {
                if let Some(which) = which.checked_rem(self.model.len()) {
                    let element = self.model.remove(which).unwrap();
                    // SAFETY: It is in the list.
                    unsafe { list.remove(element) };
                    free(element);
                }
            }
        }
    }

    fn compare(&self, list: &List<Element>) {
        // SAFETY: Elements in the model are in the list, and valid.
        let model = self.model.iter().map(|e| unsafe { e.as_ref() }.number);
        assert!(list.iter().map(|e| e.number).eq(model));
        assert_eq!(list.len(), self.model.len());
        assert_eq!(list.front(), self.model.front().copied());
    }
}

fn free(element: NonNull<Element>) {
    // SAFETY: Made by `run`, and taken out of the list.
    drop(unsafe { Box::from_raw(element.as_ptr()) });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn behaves_as_a_queue(ops in prop::collection::vec(op(), 0..300)) {
        let mut list = List::new();
        let mut machine = Machine::default();
        for op in ops {
            machine.run(&mut list, op);
            machine.compare(&list);
        }
        while let Some(element) = list.pop_front() {
            free(element);
        }
    }
}
