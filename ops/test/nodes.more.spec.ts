import { expect } from 'chai';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect, promisify } from 'node:util';
import { inheritedEnvironment } from '../config/config.js';
import { folderFixture } from './support/fixtures.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const mocha = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));

/** Creates links with the API, and visits them at the edge. */
const mainPath = 'dist/ops/test/e2e/races.e2e.spec.js';

/** Calls of the client, through a lossy proxy too. */
const clientPath = 'dist/ops/test/e2e/client.e2e.spec.js';

describe('other runtimes', () => {
  const dir = folderFixture();

  /** Installs a version as npm package. @returns its program */
  const install = async (name: string, version: string, program: string): Promise<string> => {
    const prefix = path.join(dir.path, name + version);
    await run('npm', ['install', '--silent', '--prefix', prefix, `${name}@${version}`]);
    return path.join(prefix, 'node_modules', program);
  };

  const expectToPass = async (program: string, ...args: readonly string[]): Promise<void> => {
    const options = { cwd: root, env: inheritedEnvironment(), maxBuffer: Infinity };
    const outcome = await run(program, args, options).catch((error: unknown) => error);
    const { stdout = '' } = outcome as { readonly stdout?: string };
    expect(stdout).to.match(/^ +\d+ passing/m);
    const failures = /^ +\d+ failing[^]*/m.exec(stdout)?.[0];
    expect(outcome, failures ?? inspect(outcome)).not.to.be.instanceOf(Error);
  };

  for (const [version, specs] of [
    [22, [clientPath]],
    [24, [clientPath]],
    [26, [mainPath, 'dist/**/*.unit.spec.js']],
  ] as const) {
    it(`run ${specs.join(' and ')} on Node ${version}`, async () => {
      const name = `node-${process.platform}-${process.arch}`;
      const node = await install(name, String(version), `${name}/bin/node`);
      expect((await run(node, ['--version'])).stdout).to.match(new RegExp(`^v${version}\\.`));
      await expectToPass(node, mocha, ...specs);
    }).timeout(600_000);
  }

  it('run the unit specs of the client on Bun', async () => {
    const bun = await install('bun', '1.4.5', '.bin/bun');
    // `bin/mocha.js` would start Node.
    const cli = fileURLToPath(import.meta.resolve('mocha/lib/cli/cli.js'));
    await expectToPass(bun, cli, 'dist/ops/clients/**/*.unit.spec.js');
  }).timeout(600_000);
});
