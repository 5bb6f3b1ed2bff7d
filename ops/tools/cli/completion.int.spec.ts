import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inheritedEnvironment } from '../../config/config.js';
import { projectionNames } from '../../../projectors/projections.js';
import { planNames } from '../../../schemas/plans.js';
import { runLinklogCli } from '../../test/support/command-line.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { needs } from '../../test/support/needs.js';

interface TestedShell {
  readonly shell: string;
  readonly args: readonly string[];
  /** Prints the completions of the words `$1 …`, one per line. @param file the completion script */
  readonly harness: (file: string) => string;
}

const shells: readonly TestedShell[] = [
  {
    shell: 'bash',
    args: ['--norc', '-c'],
    harness: (file) =>
      `source ${file}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _linklog; printf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  {
    shell: 'zsh',
    args: ['-f', '-c'],
    // `compadd` filters by the current word; here, it prints all.
    harness: (file) =>
      `compdef() { :; }; _files() { print -l -- *; }; compadd() { shift; print -l -- $@; }
       source ${file}; words=("$@"); CURRENT=$#; _linklog | while read -r line; do
       [[ $line == "\${words[CURRENT]}"* ]] && print -r -- $line; done; true`,
  },
  {
    shell: 'fish',
    args: ['--no-config', '-c'],
    harness: (file) =>
      `source ${file}; complete -C (string join ' ' -- $argv) | string replace -r '\\t.*' ''; true`,
  },
];

describe('CLI: completion in shells', () => {
  const folder = folderFixture();

  it('names the shells it knows', async () => {
    const output = await runLinklogCli(['completion', 'tcsh'], {});
    expect(output).to.include({ exitCode: 2, stdout: '' });
    expect(output.stderr).to.equal(
      'linklog: there is no shell "tcsh": it is one of bash, zsh, fish\n',
    );
  });

  for (const { shell, args, harness } of shells) {
    describe(shell, () => {
      needs(shell);
      const file = (): string => path.join(folder.path, `completion.${shell}`);

      before('write the script', async () => {
        const { exitCode, stdout, stderr } = await runLinklogCli(['completion', shell], {});
        expect([exitCode, stderr]).to.deep.equal([0, '']);
        await writeFile(file(), stdout);
        await writeFile(path.join(folder.path, 'links.csv'), '');
      });

      const complete = (...words: readonly string[]): readonly string[] => {
        // fish passes no name of the program.
        const name = shell === 'fish' ? [] : [shell];
        const { status, stdout, stderr } = spawnSync(
          shell,
          [...args, harness(file()), ...name, 'linklog', ...words],
          { cwd: folder.path, encoding: 'utf8', env: { ...inheritedEnvironment(), LC_ALL: 'C' } },
        );
        expect([status, stderr]).to.deep.equal([0, '']);
        return stdout.split('\n').filter((line) => line !== '');
      };

      it('completes commands, options, choices and files', () => {
        expect(complete('ke')).to.deep.equal(['keys']);
        const subcommands = ['change', 'create', 'list', 'revoke', 'show'];
        expect([...complete('keys', '')].sort()).to.deep.equal(subcommands);
        expect(complete('audit', 'ver')).to.deep.equal(['verify']);
        expect(complete('help', 'plat')).to.deep.equal(['platform']);
        expect(complete('links', 'create', '--exp')).to.have.members([
          '--expired-url',
          '--expires-in',
          '--expires-at',
        ]);
        expect(complete('keys', 'revoke', 'shop', '--y')).to.deep.equal(['--yes']);
        expect([...complete('keys', 'create', '--plan', '')].sort()).to.deep.equal(
          [...planNames].sort(),
        );
        expect(complete('platform', 'set', '--qr', 'of')).to.deep.equal(['off']);
        expect([...complete('projections', 'rebuild', '')].sort()).to.deep.equal(
          [...projectionNames, 'archive'].sort(),
        );
        expect(complete('--actor', 'links', 'key')).to.deep.equal(['keys']);
        expect(complete('keys', 'create', '--name', 'list', '--pl')).to.deep.equal(['--plan']);
        expect(complete('import', 'link')).to.deep.equal(['links.csv']);
        expect(complete('links', 'show', 'link')).to.deep.equal([]);
      });
    });
  }
});
