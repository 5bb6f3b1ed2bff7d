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

describe('other versions of Node in `engines`', () => {
  const dir = folderFixture();

  /** Installs a version as npm package. @returns its program */
  const install = async (version: number): Promise<string> => {
    const prefix = path.join(dir.path, String(version));
    const name = `node-${process.platform}-${process.arch}`;
    await run('npm', ['install', '--silent', '--prefix', prefix, `${name}@${version}`]);
    return path.join(prefix, 'node_modules', name, 'bin', 'node');
  };

  for (const [version, specs] of [
    [22, [clientPath]],
    [24, [mainPath]],
    [26, [mainPath, 'dist/**/*.unit.spec.js']],
  ] as const) {
    it(`run ${specs.join(' and ')} on Node ${version}`, async () => {
      const node = await install(version);
      expect((await run(node, ['--version'])).stdout).to.match(new RegExp(`^v${version}\\.`));
      const options = { cwd: root, env: inheritedEnvironment(), maxBuffer: Infinity };
      const outcome = await run(node, [mocha, ...specs], options).catch((error: unknown) => error);
      const { stdout = '' } = outcome as { readonly stdout?: string };
      expect(stdout).to.match(/^ +\d+ passing/m);
      const failures = /^ +\d+ failing[^]*/m.exec(stdout)?.[0];
      expect(outcome, failures ?? inspect(outcome)).not.to.be.instanceOf(Error);
    }).timeout(300_000);
  }
});
