use super::*;

fn rows(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|&id| id.to_owned()).collect()
}

fn new_class(name: &str) -> Event {
    Event::NewClass { name: name.to_owned(), rows: Vec::new() }
}

/// What can be seen of a session:
/// Classes, marks, and whether there is something to undo and to redo.
type Seen = (Vec<(usize, String)>, BTreeMap<String, Mark>, (bool, bool));

fn seen(session: &Session) -> Seen {
    let classes = session.classes().map(|(class, name)| (class, name.to_owned())).collect();
    (classes, session.marks().clone(), session.can_undo_redo())
}

fn story() -> Vec<Event> {
    vec![
        new_class("cat"),
        Event::NewClass { name: "dog".into(), rows: rows(&["d1", "d2"]) },
        Event::Label { rows: rows(&["c1", "c2"]), class: 0 },
        Event::Undo,
        Event::Redo,
        Event::Rename { class: 0, name: "kitten".into() },
        Event::Unlabel { rows: rows(&["c2"]) },
        Event::Discard { rows: rows(&["x"]) },
        Event::Merge { from: 1, into: 0 },
        Event::Undo,
        Event::Undo,
        Event::Label { rows: rows(&["x"]), class: 1 },
    ]
}

#[test]
fn a_log_opened_again_is_the_state_it_was_at_every_prefix() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.jsonl");
    let mut states = Vec::new();
    {
        let mut session = Session::open(&path).expect("new");
        states.push((std::fs::read(&path).expect("bytes"), seen(&session)));
        for event in story() {
            session.record(event).expect("taken");
            states.push((std::fs::read(&path).expect("bytes"), seen(&session)));
        }
    }
    for (bytes, state) in states {
        std::fs::write(&path, bytes).expect("written");
        assert_eq!(seen(&Session::open(&path).expect("opened")), state);
    }
}

#[test]
fn a_line_torn_at_any_byte_is_cut_off_and_the_session_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.jsonl");
    {
        let mut session = Session::open(&path).expect("new");
        story().into_iter().for_each(|event| session.record(event).expect("taken"));
    }
    let whole = std::fs::read(&path).expect("bytes");
    for end in 0..whole.len() {
        std::fs::write(&path, &whole[..end]).expect("written");
        let mut session = Session::open(&path).expect("recovered");
        let ended = whole[..end].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        assert_eq!(session.cut(), (end - ended) as u64);
        session.record(new_class("after")).expect("goes on");
        drop(session);
        assert!(Session::open(&path).expect("whole").classes().any(|(_, name)| name == "after"));
    }
    let zeros = [&whole[..], &[0; 30]].concat();
    std::fs::write(&path, zeros).expect("written");
    assert_eq!(Session::open(&path).expect("recovered").cut(), 30);
}

#[test]
fn a_broken_line_in_the_middle_and_other_peoples_files_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.jsonl");
    let refused = |text: &str| {
        std::fs::write(&path, text).expect("written");
        let error = Session::open(&path).expect_err("refused").to_string();
        assert_eq!(std::fs::read_to_string(&path).expect("text"), text, "nothing was touched");
        error
    };
    assert!(refused("{\"handful_session\":1}\nnonsense\n{\"at\":1,\"event\":\"undo\"}\n").contains("line 2"));
    assert!(refused("{\"handful_session\":9}\n").contains("version 9"));
    assert!(refused("id,label\na,b\n").contains("not the log"));
    assert!(refused("id").contains("not the log"));
    let label = "{\"at\":1,\"event\":{\"label\":{\"rows\":[\"a\"],\"class\":3}}}";
    assert!(refused(&format!("{{\"handful_session\":1}}\n{label}\n")).contains("no class 3"));
}

#[test]
fn undo_goes_back_to_the_start_and_redo_to_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut session = Session::open(&folder.path().join("log")).expect("new");
    let events: Vec<Event> =
        story().into_iter().filter(|event| !matches!(event, Event::Undo | Event::Redo)).collect();
    // The last event names a class that the merge removed.
    let events = &events[..events.len() - 1];
    let mut states = vec![seen(&session).1];
    for event in events {
        session.record(event.clone()).expect("taken");
        states.push(seen(&session).1);
    }
    for state in states.iter().rev().skip(1) {
        session.record(Event::Undo).expect("undone");
        assert_eq!(session.marks(), state);
    }
    assert!(matches!(session.record(Event::Undo), Err(SessionError::NothingToUndo)));
    assert_eq!(session.classes().count(), 0);
    for state in states.iter().skip(1) {
        session.record(Event::Redo).expect("redone");
        assert_eq!(session.marks(), state);
    }
    assert!(matches!(session.record(Event::Redo), Err(SessionError::NothingToRedo)));
    assert_eq!(session.classes().collect::<Vec<_>>(), [(0, "kitten")]);
}

#[test]
fn what_cannot_be_is_refused_and_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let mut session = Session::open(&path).expect("new");
    session.record(new_class("cat")).expect("taken");
    let before = std::fs::read(&path).expect("bytes");
    for name in ["", " cat", "a\nb", &"x".repeat(201)] {
        assert!(matches!(session.record(new_class(name)), Err(SessionError::BadName)), "{name:?}");
    }
    assert!(matches!(session.record(new_class("cat")), Err(SessionError::NameTaken { .. })));
    let itself = Event::Merge { from: 0, into: 0 };
    assert!(matches!(session.record(itself), Err(SessionError::MergeIntoItself)));
    let nowhere = Event::Label { rows: rows(&["a"]), class: 1 };
    assert!(matches!(session.record(nowhere), Err(SessionError::NoClass { class: 1 })));
    assert_eq!(std::fs::read(&path).expect("bytes"), before);
    assert!(matches!(Session::open(&path), Err(SessionError::Locked { .. })), "one writer at a time");
}

#[test]
fn the_history_of_a_row_names_every_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut session = Session::open(&folder.path().join("log")).expect("new");
    for event in [
        Event::NewClass { name: "cat".into(), rows: rows(&["a"]) },
        Event::Label { rows: rows(&["b"]), class: 0 },
        Event::Discard { rows: rows(&["a"]) },
        Event::Undo,
    ] {
        session.record(event).expect("taken");
    }
    let marks: Vec<Option<Mark>> = session.history("a").iter().map(|said| said.mark).collect();
    assert_eq!(marks, [Some(Mark::Class(0)), Some(Mark::Discarded), Some(Mark::Class(0))]);
}
