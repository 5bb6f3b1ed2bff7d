import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { projectFile } from '../../platform/files/project-file.js';
import { codeIn } from '../support/documented-code.js';
import { folderFixture } from '../support/fixtures.js';
import { needs } from '../support/needs.js';
import { keyFixture, sharedProduct } from './harness.js';

const exec = promisify(execFile);

/** Runs a program in a folder. @throws with its output, which has the errors of compilers */
const run = async (
  cwd: string,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> => {
  try {
    return await exec(command, [...args], { cwd, env: { ...process.env, ...env } });
  } catch (cause) {
    const { stdout, stderr } = cause as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${command} failed: ${stdout ?? ''}${stderr ?? ''}`, { cause });
  }
};

const nodeModules = projectFile('node_modules');

/** What the programs of clients.md print. */
interface Printed {
  readonly shortCode: string;
  readonly version: number;
  readonly titles: readonly string[];
  readonly count: number;
  readonly clicks: number;
  /** Base64 */
  readonly qrCode: string;
}

const options = [
  ...['--module', 'nodenext', '--target', 'es2023', '--types', 'node'],
  // Without `skipLibCheck`, the check of the declarations of Node takes seconds.
  ...['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck'],
];

describe('command API: clients generated from GET /openapi.json', function () {
  this.timeout(120_000);
  const bench = sharedProduct();
  const dir = folderFixture();
  const key = keyFixture(bench, 'PRO');

  /** Runs a program of clients.md. */
  const runClient = async (command: string, program: string): Promise<Printed> => {
    const env = { LINKLOG_URL: bench.product.api, LINKLOG_KEY: key.key };
    const { stdout } = await run(dir.path, command, [program], env);
    return JSON.parse(stdout) as Printed;
  };

  const expectWorked = async (printed: Printed): Promise<void> => {
    const { shortCode, qrCode, ...others } = printed;
    expect(others).to.deep.equal({ version: 2, titles: ['Spring sale'], count: 1, clicks: 1 });
    const link = await bench.api(`/v2/links/${shortCode}`, key.key);
    expect(link.json()).to.include({ shortCode, title: 'Spring sale', version: 2 });
    const image = await bench.api(`/v2/qr/${shortCode}`, key.key);
    expect(image.headers['content-type']).to.equal('image/png');
    expect(Buffer.from(qrCode, 'base64').equals(image.bytes)).to.equal(true);
  };

  it('in TypeScript create, change, list and count links, and read clicks and a QR code', async () => {
    const toolAt = (name: string): string => path.join(nodeModules, '.bin', name);
    const writeIn = (name: string, text: string): Promise<void> =>
      writeFile(path.join(dir.path, name), text);
    await symlink(nodeModules, path.join(dir.path, 'node_modules'));
    await writeIn('package.json', JSON.stringify({ type: 'module' }));
    await writeIn('program.ts', codeIn('clients.md', 'ts'));
    await run(dir.path, toolAt('openapi-typescript'), [
      ...[`${bench.product.api}/openapi.json`, '--output', 'linklog.ts'],
    ]);
    await run(dir.path, toolAt('tsc'), [...options, 'program.ts']);
    await expectWorked(await runClient(process.execPath, 'program.js'));
  });

  describe('in Python', () => {
    needs('openapi-python-client', 'python3');

    it('do the same; the generator omits no operation and no response', async () => {
      const { stdout, stderr } = await run(dir.path, 'openapi-python-client', [
        ...['generate', '--url', `${bench.product.api}/openapi.json`, '--meta', 'none'],
        ...['--output-path', 'linklog', '--fail-on-warning'],
      ]);
      expect([stdout.trim(), stderr]).to.deep.equal(['Generating linklog', '']);
      const { paths } = (await bench.api('/openapi.json', null)).json() as {
        readonly paths: Readonly<Record<string, object>>;
      };
      const operations = Object.values(paths).flatMap((item) =>
        Object.keys(item).filter((method) => method !== 'parameters'),
      );
      const files = await readdir(path.join(dir.path, 'linklog', 'api'), { recursive: true });
      expect(files.filter((name) => /\/(?!__init__)\w+\.py$/.test(name))).to.have.length(
        operations.length,
      );
      await writeFile(path.join(dir.path, 'program.py'), codeIn('clients.md', 'python'));
      await expectWorked(await runClient('python3', 'program.py'));
    });
  });
});
