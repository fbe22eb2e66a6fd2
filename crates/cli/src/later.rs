//! Commands whose arguments are described when they are needed.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The arguments of a command, described only once it is known that this command is meant: to describe those of all
/// commands takes a good part of the time in which a small file is listed.
pub(crate) struct Later<T>(pub(crate) Box<T>);

impl<T: Args> Args for Later<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(described::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Later::<T>::augment_args(command)
    }
}

/// The command with its arguments. It keeps its own summary, which theirs would replace.
fn described<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    T::augment_args(command).about(about)
}

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Later<T>, Error> {
        T::from_arg_matches(matches).map(|arguments| Later(Box::new(arguments)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::arguments::Arguments;

    #[test]
    fn no_command_is_described_before_it_is_meant() {
        let mut all = Arguments::command();
        let described = |command: &clap::Command| command.get_arguments().count();
        assert!(all.get_subcommands().all(|command| described(command) == 0));
        let parsed = all.try_get_matches_from_mut(["warpbound", "list", "file"]);
        assert!(parsed.is_ok());
        let names = all.get_subcommands().filter(|c| described(c) > 0);
        let names: Vec<&str> = names.map(clap::Command::get_name).collect();
        // clap makes `help` on its own.
        assert_eq!(names, ["list", "help"]);
    }
}
