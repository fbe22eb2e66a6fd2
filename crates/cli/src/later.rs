//! Deferred construction of the arguments of a command.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Arguments of a command whose clap description is built only if the command is used. The descriptions of all
/// commands together would take a considerable part of the time for listing a small file.
pub(crate) struct Deferred<T>(pub(crate) Box<T>);

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(describe::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Deferred::<T>::augment_args(command)
    }
}

/// Adds the arguments to a command. Plain `augment_args` would replace the summary of the command by the summary of
/// `T`.
fn describe<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    T::augment_args(command).about(about)
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Deferred<T>, Error> {
        T::from_arg_matches(matches).map(|arguments| Deferred(Box::new(arguments)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::commands::Arguments;

    #[test]
    fn only_the_used_command_is_described() {
        let mut all = Arguments::command();
        // The common options belong to all commands.
        let own = |argument: &&clap::Arg| !argument.is_global_set();
        let described = |command: &clap::Command| command.get_arguments().filter(own).count();
        assert!(all.get_subcommands().all(|command| described(command) == 0));
        let parsed = all.try_get_matches_from_mut(["warpbound", "list", "file"]);
        assert!(parsed.is_ok());
        let names = all.get_subcommands().filter(|c| described(c) > 0);
        let names: Vec<&str> = names.map(clap::Command::get_name).collect();
        // clap adds `help` itself.
        assert_eq!(names, ["list", "help"]);
    }
}
