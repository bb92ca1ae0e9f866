//! Folders of logs as users have them.

use super::*;
use tempfile::TempDir;

const LOG: &str = "Threads started!\n[ 1s ] thds: 1 tps: 5.00 qps: 5.00\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn described(found: &Folder) -> Vec<String> {
    let log = |log: &FolderLog| {
        let factors = log.factors.iter().map(|(n, level)| format!(" {n}={level}"));
        let beside = log
            .beside
            .iter()
            .map(|(option, path)| format!(" {option}:{path}"));
        let damage = log.damage.iter().map(|_| " damaged".to_owned());
        let all: String = factors.chain(beside).chain(damage).collect();
        format!("{}{all}", log.path)
    };
    found.logs.iter().map(log).collect()
}

#[test]
fn finds_logs_with_the_files_next_to_them() {
    let folder = folder(&[
        ("BP5/res.txt", LOG),
        ("BP5/vmstat.txt", "x"),
        ("BP5/iostat.log.gz", "x"),
        ("BP5/my.cnf", "x"),
        ("BP5/sar-u.txt", "x"),
        ("BP5/caesar.txt", "x"),
        ("BP5/mpstat.log", "x"),
        ("BP10/res.txt", LOG),
        ("BP10/notes.txt", "x"),
        ("many/run-16.log", LOG),
        ("many/run-8.log", LOG),
        ("many/vmstat-run-8.txt", "x"),
        ("many/vmstat.txt", "x"),
        ("many/server.cnf", "x"),
    ]);
    let path = folder.path().to_str().unwrap();
    let found = find(path, None, Looks::Sysbench).unwrap();
    assert_eq!(
        described(&found),
        [
            "BP5/res.txt config:BP5/my.cnf iostat:BP5/iostat.log.gz mpstat:BP5/mpstat.log \
             sar:BP5/sar-u.txt vmstat:BP5/vmstat.txt",
            "BP10/res.txt",
            "many/run-8.log config:many/server.cnf vmstat:many/vmstat-run-8.txt",
            "many/run-16.log config:many/server.cnf",
        ]
    );
    assert_eq!(found.notes.len(), 1);
    assert!(found.notes[0].starts_with("many/vmstat.txt is left out"));
    let pattern = Pattern::parse("BP{memory}/res.txt").unwrap();
    let found = find(path, Some(&pattern), Looks::Sysbench).unwrap();
    assert_eq!(described(&found)[1], "BP10/res.txt memory=10");
    let other = Pattern::parse("BP{memory}/rse.txt").unwrap();
    let error = find(path, Some(&other), Looks::Sysbench)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("none of 14 files"), "{error}");
    assert!(
        error.contains("the nearest are BP5/res.txt, BP10/res.txt"),
        "{error}"
    );
}

#[test]
fn transaction_logs_are_paired_with_their_output() {
    let output = "transaction type: <builtin: select only>\nnumber of clients: 1\n";
    let one = "0 1 22 0 1795615925 107896\n";
    let folder = folder(&[
        ("alone/out.txt", output),
        ("alone/pgbench_log.17", one),
        ("alone/pgbench_log.17.1", one),
        ("many/c8.txt", output),
        ("many/c8.4711", one),
        ("many/c8.4711.1", one),
        ("many/c16.txt", output),
        ("many/c16.99", one),
        ("many/stray.5", one),
        ("without/pgbench_log.3", one),
    ]);
    let path = folder.path().to_str().unwrap();
    let found = find(path, None, Looks::Pgbench).unwrap();
    let parts = found.logs.iter();
    let parts: Vec<String> = parts
        .map(|log| format!("{} {}", log.path, log.parts.join(" ")))
        .collect();
    assert_eq!(
        parts,
        [
            "alone/out.txt alone/pgbench_log.17 alone/pgbench_log.17.1",
            "many/c8.txt many/c8.4711 many/c8.4711.1",
            "many/c16.txt many/c16.99",
            "many/stray.5 ",
            "without/pgbench_log.3 ",
        ]
    );
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    assert!(found.notes[0].starts_with("many/stray.5 is imported as a separate run"));
}

#[test]
fn a_file_named_like_a_log_without_its_content_is_damaged() {
    let folder = folder(&[
        ("1/res-1.txt", LOG),
        ("2/res-22.txt", "lorem ipsum"),
        ("3/res-3.txt.gz", "\u{1f}lorem"),
        ("4/README", "lorem ipsum"),
    ]);
    let path = folder.path().to_str().unwrap();
    let found = find(path, None, Looks::Sysbench).unwrap();
    assert_eq!(
        described(&found),
        [
            "1/res-1.txt",
            "2/res-22.txt damaged",
            "3/res-3.txt.gz damaged"
        ]
    );
    let nothing = find(path, None, Looks::Fio).err().unwrap().to_string();
    assert!(nothing.contains("none of 4 files"), "{nothing}");
    let absent = find("/nowhere/at/all", None, Looks::Sysbench)
        .err()
        .unwrap();
    assert!(format!("{absent:#}").starts_with("cannot read the folder /nowhere"));
}

#[test]
fn formats_known_by_name_only_are_reported() {
    let dstat = "\"Dstat 0.7.4 CSV output\"\n\"Host:\",\"box\",,,,\"User:\",\"me\"\n";
    let folder = folder(&[
        ("a/run.log", LOG),
        ("a/cpu.csv", dstat),
        ("a/notes.txt", "x"),
        ("b/cpu.csv", dstat),
    ]);
    let found = find(folder.path().to_str().unwrap(), None, Looks::Sysbench).unwrap();
    assert_eq!(
        found.notes,
        ["a/cpu.csv is a log of dstat, which is not read"]
    );
}
