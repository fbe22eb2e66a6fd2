//! Runs the command as a user does, in the folder of our own cubins.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of a command on one of our kernels, in any build profile.
const LIMIT: Duration = Duration::from_secs(30);

/// Output of a command.
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    /// Returns the output of a successful command.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// Returns the output of a command with a kernel without a bound.
    #[track_caller]
    pub(crate) fn without_bound(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(2), ""));
        self.stdout
    }

    /// Returns the one line of a command with unusable input, without the command's name.
    #[track_caller]
    pub(crate) fn refusal(self) -> String {
        assert_eq!(self.code, Some(3), "{}", self.stderr);
        assert_eq!(self.stdout, "", "output besides {}", self.stderr);
        one_line(&self.stderr)
    }

    /// Returns the message about wrong usage.
    #[track_caller]
    pub(crate) fn usage(self) -> String {
        assert_eq!(self.code, Some(64), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        assert!(self.stderr.contains("--help"), "{}", self.stderr);
        self.stderr
    }
}

#[track_caller]
pub(crate) fn one_line(stderr: &str) -> String {
    let line = stderr
        .strip_prefix("warpbound: ")
        .and_then(|rest| rest.strip_suffix('\n'))
        .unwrap_or_else(|| panic!("not a line of ours: {stderr:?}"));
    assert!(
        !line.contains(char::is_control),
        "more than a line: {stderr:?}"
    );
    line.to_owned()
}

pub(crate) fn run(arguments: &[&str]) -> CommandOutput {
    run_in(&built_folder(), arguments, &[])
}

/// Runs the command in a folder, with variables of the environment.
pub(crate) fn run_in(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> CommandOutput {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpbound"))
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let reader = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).expect("output is read");
            String::from_utf8(bytes).expect("output is UTF-8")
        })
    };
    let stdout = reader(Box::new(child.stdout.take().expect("piped")));
    let stderr = reader(Box::new(child.stderr.take().expect("piped")));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the command is waited for") {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill().expect("the command is stopped");
            panic!("{arguments:?} takes more than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let message = CommandOutput {
        code: status.code(),
        stdout: stdout.join().expect("stdout"),
        stderr: stderr.join().expect("stderr"),
    };
    assert!(
        !message.stderr.contains("panicked"),
        "{arguments:?}: {}",
        message.stderr
    );
    message
}

pub(crate) fn built_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built")
}

/// Reads a cubin of our own kernels.
pub(crate) fn built(name: &str) -> Vec<u8> {
    let path = built_folder().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the sorted names of our own cubins that end in `suffix`.
pub(crate) fn cubins(suffix: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(built_folder())
        .expect("kernels/built")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a plain name")
        })
        .filter(|name| name.ends_with(suffix))
        .collect();
    names.sort();
    assert!(names.len() > 40, "{names:?}");
    names
}

/// Writes a file for one test; `name` is unique among the tests.
pub(crate) fn scratch(name: &str, contents: impl AsRef<[u8]>) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, contents).expect("a scratch file");
    path.into_os_string().into_string().expect("a plain path")
}
