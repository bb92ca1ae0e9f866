//! Tests on shortened output of `perf script` of perf 6.1.

use proptest::prelude::*;

use super::*;

/// From servers and from Dyno: threads with spaces in their names, inlined frames as with `perf
/// script --inline`, unknown names, a lost sample and a new process.
const RECORDED: &str = include_str!("recorded-6.1.txt");

const FOLDED: &str = "\
    dyno-0;[jit];dyno_drivers::channel::raw::write;core::ptr::write_[i];[kernel]_[k] 1\n\
    mariadbd;dispatch_command(THD*, std::vector<int, A<b> > const&);\
    __memmove_avx512_unaligned_erms 1\n\
    mariadbd;start_thread;mysql_execute_command;[mariadbd];handle_select;append_possible_keys;\
    nft_do_chain_[k];tcp_sendmsg_[k] 1\n\
    page cleaner 1: a;[unknown] 1\n\
    page cleaner 1: a;[unknown];buf_flush 1\n\
    postgres;ExecutorRun 2\n";

fn all() -> Wanted {
    Wanted {
        groups: vec![Group::All],
        from: 0,
        to: u64::MAX,
    }
}

/// The result of each group.
fn groups(text: &str, wanted: Wanted) -> Vec<Folded> {
    let mut folder = Folder::new(wanted);
    folder.feed(text.as_bytes());
    folder.finish()
}

/// The result of the only group.
fn folded(text: &str, wanted: Wanted) -> Folded {
    groups(text, wanted).remove(0)
}

#[test]
fn recorded_samples_become_stacks() {
    let found = folded(RECORDED, all());
    assert_eq!(found.stacks.folded(), FOLDED);
    assert_eq!((found.samples, found.lost), (7, 12));
    assert_eq!(found.event.as_deref(), Some("cpu-clock"));
    assert_eq!(found.last, Some(18_700_500_000_000));
}

#[test]
fn samples_of_others_and_of_other_times_are_left_out() {
    let of = |own: Vec<Group>| {
        let wanted = Wanted {
            groups: own,
            ..all()
        };
        let found = groups(RECORDED, wanted);
        found.iter().map(|found| found.samples).collect::<Vec<_>>()
    };
    // A session of PostgreSQL is a child of the server's process.
    let server = || Group::Families(vec![5000]);
    assert_eq!(of(vec![Group::Process(4321), server()]), [2, 2]);
    assert_eq!(of(vec![Group::Families(vec![1])]), [2]);
    assert_eq!(of(vec![Group::Families(vec![2])]), [0]);
    let late = Wanted {
        from: 18_660_000_000_000,
        ..all()
    };
    assert_eq!(folded(RECORDED, late).samples, 1);
    let early = Wanted { to: 1, ..all() };
    assert_eq!(folded(RECORDED, early).samples, 0);
}

#[test]
fn stacks_do_not_depend_on_how_the_text_is_split() {
    for size in [1, 7, 64] {
        let mut folder = Folder::new(all());
        let pieces = RECORDED.as_bytes().chunks(size);
        pieces.for_each(|piece| folder.feed(piece));
        assert_eq!(folder.finish().remove(0).stacks.folded(), FOLDED);
    }
}

#[test]
fn names_are_bounded_and_cannot_break_a_stack() {
    let long = "x".repeat(1_000);
    let head = "a;b\u{1b}[2J 1/1 1.5: cycles:";
    let text = format!("{head}\n\t ffff {long} (/bin/x)\n\t 1fff a;b (/bin/x)\n\n");
    let found = folded(&text, all());
    let (stack, count) = found.stacks.iter().next().unwrap();
    assert_eq!((stack.matches(';').count(), count), (2, 1), "{stack}");
    assert!(stack.len() < 300 && visible::is_clean(stack), "{stack}");
}

#[test]
fn different_stacks_are_bounded() {
    let mut folder = Folder::new(all());
    for number in 0..STACKS_MAX + 10 {
        let text = format!("t 1/1 1.5: cycles:\n\t ffff f{number} (/bin/x)\n\n");
        folder.feed(text.as_bytes());
    }
    let found = folder.finish().remove(0);
    assert_eq!(found.stacks.len(), STACKS_MAX + 1);
    assert!(found.stacks.folded().contains("t;[other stacks] 10\n"));
}

#[test]
fn heads_are_read_whatever_a_thread_is_called() {
    let head = Head::parse("a: b/1 2 77/78 12.000000001:     250000 cycles:u: ").unwrap();
    let expected = Head {
        thread: "a: b/1 2",
        pid: 77,
        at: 12_000_000_001,
        event: "cycles",
    };
    assert_eq!(head, expected);
    let wrong = [
        "",
        ":",
        "x 1/2 3.0:",
        "x 1/2 a.b: cycles:",
        "no head at all",
    ];
    for text in wrong {
        assert_eq!(Head::parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(text in "([\t (]|[0-9a-f]{1,4}|:|/|\\.|\n|\\)|[a-zé\\[\\]]){0,200}") {
        folded(&text, all());
    }

    #[test]
    fn each_sample_is_in_one_stack(threads in proptest::collection::vec("[a-c ]{1,3}", 0..20)) {
        let sample = |thread: &String| format!("{thread} 1/1 1.5: cycles: \n\t ff f (/bin/x)\n\n");
        let text: String = threads.iter().map(sample).collect();
        let found = folded(&text, all());
        let counted: u64 = found.stacks.iter().map(|(_, count)| count).sum();
        prop_assert_eq!(counted, threads.len() as u64);
        prop_assert_eq!(found.samples, threads.len() as u64);
    }
}
