/** `linklog completion`: scripts that complete commands, options and choices in a shell, generated from the program. */
import type { Argument, Command as CommanderCommand, Option } from 'commander';
import { choicesOf, oneOf } from './arguments.js';
import type { AddCommands } from './command.js';

interface Values {
  readonly choices: readonly string[];
  readonly isPath: boolean;
}

interface CompletedOption {
  readonly flag: string;
  readonly description: string;
  /** `null` for an option without a value. */
  readonly values: Values | null;
}

interface CompletedCommand {
  /** `keys create`; empty for the program. */
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  readonly argument: Values;
}

const isPathName = (name: string): boolean => ['file', 'dir'].includes(name);

const valuesOf = (parser: unknown, name: string): Values => ({
  choices: choicesOf(parser),
  isPath: isPathName(name),
});

const completedOption = ({
  long,
  description,
  required,
  flags,
  parseArg,
}: Option): CompletedOption => {
  const [, name = ''] = /<(.+)>/.exec(flags) ?? [];
  const values = required ? valuesOf(parseArg, name) : null;
  return { flag: long ?? flags, description, values };
};

const argumentValues = (argument: Argument | undefined): Values =>
  argument ? valuesOf(argument.parseArg, argument.name()) : { choices: [], isPath: false };

/** The program and its commands, each before its subcommands. */
const commandsOf = (command: CommanderCommand, path = ''): readonly CompletedCommand[] => {
  const help = command.createHelp();
  const children = command.commands.map((child) => ({ child, name: child.name() }));
  const names = children.map(({ name }) => name);
  const [argument] = command.registeredArguments;
  const isHelp = path === 'help';
  return [
    {
      path,
      subcommands: children.map(({ child, name }) => ({ name, description: child.description() })),
      options: help.visibleOptions(command).map(completedOption),
      argument: isHelp
        ? { choices: command.parent?.commands.map((other) => other.name()) ?? [], isPath: false }
        : argumentValues(argument),
    },
    ...children.flatMap(({ child }, index) =>
      commandsOf(child, path === '' ? names[index] : `${path} ${names[index] ?? ''}`),
    ),
  ];
};

const unique = (words: readonly string[]): readonly string[] => [...new Set(words)].sort();

/** Between single quotes, as bash, zsh and fish read it. */
const quote = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", `'\\''`)}'`;

const join = (words: readonly string[]): string => quote(words.join(' '));

/** The options with a value, whose next word is not a command. */
const valuedFlags = (commands: readonly CompletedCommand[]): readonly string[] =>
  unique(
    commands.flatMap(({ options }) =>
      options.flatMap(({ flag, values }) => (values === null ? [] : [flag])),
    ),
  );

/** Lines of a `case` that sets the variables of the completion for a path. */
const pathCases = (commands: readonly CompletedCommand[]): readonly string[] =>
  commands.map(({ path, subcommands, options, argument }) => {
    const names = subcommands.map(({ name }) => name);
    const flags = options.map(({ flag }) => flag);
    const words = names.length > 0 ? names : argument.choices;
    return (
      `    ${quote(path)}) commands=${join(names)} words=${join(words)} flags=${join(flags)} ` +
      `paths=${argument.isPath ? 1 : ''} ;;`
    );
  });

/** Lines of a `case` that sets the variables for the value of an option. */
const valueCases = (commands: readonly CompletedCommand[]): readonly string[] =>
  commands.flatMap(({ path, options }) =>
    options.flatMap(({ flag, values }) =>
      values === null || (values.choices.length === 0 && !values.isPath)
        ? []
        : [
            `    ${quote(`${path} ${flag}`)}) words=${join(values.choices)} ` +
              `paths=${values.isPath ? 1 : ''} ;;`,
          ],
    ),
  );

/** The functions that bash and zsh share: they set words, flags, commands and paths. */
const lookUps = (commands: readonly CompletedCommand[]): string => `\
_linklog_command() {
  commands= words= flags= paths=
  case $1 in
${pathCases(commands).join('\n')}
  esac
}
_linklog_value() {
  words= flags= paths=
  case $1 in
${valueCases(commands).join('\n')}
  esac
}
# Reads the words before the cursor. Sets \`at\` to the command, and \`option\` to an option that waits for its value.
_linklog_read() {
  local word
  at= option=
  _linklog_command ''
  for word in "$@"; do
    if [[ -n $option ]]; then
      [[ $word == '=' ]] || option=
    elif [[ ${quote(` ${valuedFlags(commands).join(' ')} `)} == *" $word "* ]]; then
      option=$word
    elif [[ " $commands " == *" $word "* ]]; then
      at=\${at:+$at }$word
      _linklog_command "$at"
    fi
  done
  if [[ -n $option ]]; then _linklog_value "$at $option"; fi
}`;

const bashScript = (commands: readonly CompletedCommand[]): string => `\
# Completion of linklog for bash: eval "$(linklog completion bash)" in ~/.bashrc
${lookUps(commands)}
_linklog() {
  local at option commands words flags paths IFS=$' \\t\\n' current=\${COMP_WORDS[COMP_CWORD]}
  _linklog_read "\${COMP_WORDS[@]:1:COMP_CWORD-1}"
  if [[ $current == '=' ]]; then current=; fi
  if [[ $current == -* ]]; then words=$flags paths=; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n $paths ]]; then
    compopt -o filenames 2>/dev/null
    IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
complete -F _linklog linklog
`;

const zshScript = (commands: readonly CompletedCommand[]): string => `\
#compdef linklog
# Completion of linklog for zsh: linklog completion zsh > a folder of $fpath/_linklog, before compinit
${lookUps(commands)}
_linklog() {
  emulate -L zsh
  local at option commands flags paths current=\${words[CURRENT]}
  local -a before=("\${(@)words[2,CURRENT-1]}")
  local words
  _linklog_read "\${before[@]}"
  if [[ $current == -* ]]; then words=$flags paths=; fi
  compadd -- \${=words}
  if [[ -n $paths ]]; then _files; fi
}
if [[ $funcstack[1] == _linklog ]]; then _linklog "$@"; elif (( $+functions[compdef] )); then compdef _linklog linklog; fi
`;

const fishLine = (path: string, rest: string): string =>
  `complete -c linklog -n ${quote(`__linklog_at ${quote(path)}`)} ${rest}`;

const fishValues = ({ choices, isPath }: Values): string =>
  choices.length > 0 ? `-x -a ${join(choices)}` : isPath ? '-r -F' : '-x';

const fishScript = (commands: readonly CompletedCommand[]): string => {
  const paths = commands.map(({ path }) => quote(path));
  const lines = commands.flatMap(({ path, subcommands, options, argument }) => [
    ...subcommands.map(({ name, description }) =>
      fishLine(path, `-a ${quote(name)} -d ${quote(description)}`),
    ),
    ...(argument.choices.length > 0 ? [fishLine(path, `-a ${join(argument.choices)}`)] : []),
    ...(argument.isPath ? [fishLine(path, '-F')] : []),
    ...options.map(({ flag, description, values }) => {
      const value = values === null ? '' : ` ${fishValues(values)}`;
      return fishLine(
        path,
        `-l ${quote(flag.replace(/^--/, ''))} -d ${quote(description)}${value}`,
      );
    }),
  ]);
  return `\
# Completion of linklog for fish: linklog completion fish > ~/.config/fish/completions/linklog.fish
function __linklog_at
    set -l at
    set -l skip
    for word in (commandline -opc)[2..]
        if test -n "$skip"
            set skip
        else if contains -- $word ${valuedFlags(commands).join(' ')}
            set skip 1
        else if contains -- (string join ' ' $at $word) ${paths.slice(1).join(' ')}
            set -a at $word
        end
    end
    test (string join ' ' $at | string collect --allow-empty) = "$argv"
end
complete -c linklog -f
${lines.join('\n')}
`;
};

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
type Shell = keyof typeof scripts;
const shells = Object.keys(scripts) as Shell[];

/** Needs the whole program. */
export const addCompletionCommand: AddCommands = (program, { print }) => {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .argument('<shell>', shells.join(', '), oneOf('shell', shells))
    .notes(
      `
For the current shell of bash: eval "$(linklog completion bash)"`,
    )
    .examples(
      'completion bash > /etc/bash_completion.d/linklog',
      'completion zsh > /usr/local/share/zsh/site-functions/_linklog',
      'completion fish > ~/.config/fish/completions/linklog.fish',
    )
    .action((shell: Shell) => {
      const text = scripts[shell](commandsOf(program)).trimEnd();
      print({ json: { shell, script: `${text}\n` }, text });
    });
};
