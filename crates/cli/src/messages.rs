//! Messages on standard error, and the user's choices for them: colour, and no progress.

use std::fmt::Display;
use std::io::{IsTerminal as _, stderr, stdout};
use std::sync::OnceLock;

use clap::{Args, ColorChoice};

/// Options of all commands.
#[derive(Args, Clone, Copy, Default, Debug)]
#[command(next_help_heading = "Messages")]
pub(crate) struct MessageArguments {
    /// Colour of messages and of figures over their budget [default: auto: on a terminal, unless NO_COLOR is set]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        hide_default_value = true,
        default_value_t
    )]
    pub(crate) color: ColorChoice,
    /// No progress and no notes; errors are still printed
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
}

/// Options of this process, set once by [`configure`].
static OPTIONS: OnceLock<MessageArguments> = OnceLock::new();

/// Sets the options for all following messages.
pub(crate) fn configure(options: MessageArguments) {
    // A process executes one command, so nothing was set before.
    let _ = OPTIONS.set(options);
}

fn options() -> MessageArguments {
    OPTIONS.get().copied().unwrap_or_default()
}

/// Whether progress is shown: on a terminal, unless `--quiet` is given.
pub(crate) fn has_progress() -> bool {
    stderr().is_terminal() && !options().quiet
}

/// Prints an error to standard error, with the name of the program before it.
pub(crate) fn error(message: &dyn Display) {
    let label = match is_coloured(stderr().is_terminal()) {
        true => red("warpbound:"),
        false => "warpbound:".to_owned(),
    };
    eprintln!("{label} {message}");
}

/// Prints a note to standard error unless `--quiet` is given.
pub(crate) fn note(message: &dyn Display) {
    if !options().quiet {
        eprintln!("warpbound: {message}");
    }
}

/// Returns the function that marks text on standard output. Without colours, it returns the text unchanged.
pub(crate) fn mark_on_stdout() -> fn(&str) -> String {
    match is_coloured(stdout().is_terminal()) {
        true => red,
        false => str::to_owned,
    }
}

fn is_coloured(on_terminal: bool) -> bool {
    // According to https://no-color.org, the variable counts only if it is not empty.
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match options().color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => on_terminal && !has("NO_COLOR"),
    }
}

/// Returns text in bold red.
fn red(text: &str) -> String {
    format!("\x1b[1;31m{text}\x1b[0m")
}

/// Returns the choice of colour among arguments that are not yet parsed, for messages about wrong usage.
pub(crate) fn stated_color(arguments: impl Iterator<Item = String>) -> ColorChoice {
    // After `--`, everything is an operand.
    let arguments: Vec<String> = arguments.take_while(|argument| argument != "--").collect();
    let joined = arguments.iter().filter_map(|a| a.strip_prefix("--color="));
    let pairs = arguments.iter().zip(arguments.iter().skip(1));
    let pairs = pairs.filter(|(name, _)| *name == "--color");
    let mut stated = joined.chain(pairs.map(|(_, value)| value.as_str()));
    let choice = stated.find_map(|value| value.parse().ok());
    choice.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::ColorChoice;

    use super::stated_color;

    #[test]
    fn the_choice_is_found_before_parsing() {
        let of = |line: &str| stated_color(line.split(' ').map(str::to_owned));
        assert_eq!(of("warpbound list"), ColorChoice::Auto);
        assert_eq!(of("warpbound --color=never list"), ColorChoice::Never);
        assert_eq!(of("warpbound list --color always"), ColorChoice::Always);
        assert_eq!(of("warpbound list --color pink"), ColorChoice::Auto);
        assert_eq!(of("warpbound list -- --color always"), ColorChoice::Auto);
    }
}
