import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { projectFile } from '../platform/files/project-file.js';
import { folderFixture } from '../test/support/fixtures.js';
import { needs } from '../test/support/needs.js';

const names = ['linklog.service', 'linklog@.service'] as const;
const roles = ['api', 'edge', 'projectors'];

/** Of 10, multiplied by 10. */
const maxExposure = 20;

const analyze = (...args: readonly string[]) => promisify(execFile)('systemd-analyze', args);

const textOf = (name: string): string => readFileSync(projectFile('ops', 'systemd', name), 'utf8');

/** The settings of a unit, `Section.Name=value`. */
const settingsOf = (name: string): readonly string[] => {
  let section = '';
  return textOf(name)
    .split('\n')
    .flatMap((line) => {
      section = /^\[(.+)\]$/.exec(line)?.[1] ?? section;
      return /^\w+=/.test(line) ? [`${section}.${line}`] : [];
    });
};

describe('systemd units', function () {
  this.timeout(60_000);
  const dir = folderFixture();

  describe('for systemd-analyze', () => {
    needs('systemd-analyze');

    it('are valid, also for each service of a distributed installation', async () => {
      const files = [
        ...['linklog.service', ...roles.map((role) => `linklog@${role}.service`)],
        ...['linklog-backup.service', 'linklog-backup.timer'],
      ];
      for (const name of files) {
        const file = path.join(dir.path, name);
        const template = projectFile('ops', 'systemd', name.replace(/@\w+/, '@'));
        await copyFile(template, file);
        // The program of this installation: verify checks that it exists.
        const text = (await readFile(file, 'utf8'))
          .replace('/usr/bin/node', process.execPath)
          .replace(/^Documentation=.*\n/m, '');
        await writeFile(file, text);
        const { stdout, stderr } = await analyze(
          'verify',
          '--man=no',
          '--recursive-errors=no',
          file,
        );
        expect(stdout + stderr, name).to.equal('');
      }
    });

    for (const name of names) {
      it(`of ${name} expose at most ${maxExposure / 10} of 10`, async () => {
        const file = path.join(dir.path, name.replace('@', ''));
        await writeFile(file, textOf(name));
        await analyze('security', '--offline=true', `--threshold=${maxExposure}`, file);
      });
    }
  });

  it('have the same sandbox, and let the process stop the embedded PostgreSQL', () => {
    const [single, template] = names.map((name) =>
      settingsOf(name).filter(
        (setting) => !/^Unit\.Description|\.(?:ExecStart|Environment|StateDirectory)/.test(setting),
      ),
    );
    expect(template).to.deep.equal(single);
    expect(single).to.include.members([
      ...['Service.KillMode=mixed', 'Service.RestartPreventExitStatus=78'],
      ...['Service.TimeoutStopSec=15', 'Service.NoNewPrivileges=yes'],
    ]);
  });
});
