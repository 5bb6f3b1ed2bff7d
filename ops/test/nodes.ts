/**
 * `npm run test:nodes`: runs an e2e spec of the main path on the other versions of Node in `engines`, which are installed
 * as npm packages, and the unit specs on the latest one.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '../config/config.js';
import { failures, summary } from './mocha-output.js';
import { createClusterTemplate, templateVariable } from './support/cluster.js';
import { keepTemporaryInMemory } from './support/memory-dir.js';
import { temporaryDir } from './support/process.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const versions = [22, 24, 26];
const latest = Math.max(...versions);
const mocha = fileURLToPath(import.meta.resolve('mocha/lib/cli/cli.js'));
/** Creates links with the API, and visits them at the edge. */
const mainPath = 'dist/ops/test/e2e/redirect.e2e.spec.js';

const run = promisify(execFile);
const removeTemporary = await keepTemporaryInMemory();
const dir = await mkdtemp(path.join(tmpdir(), 'linklog-nodes-'));

const template = await temporaryDir();
await createClusterTemplate(template);

/** Runs the specs on one version, and prints the output at the end. */
const runOn = async (version: number): Promise<string> => {
  const prefix = path.join(dir, String(version));
  const name = `node-${process.platform}-${process.arch}`;
  await run('npm', ['install', '--silent', '--prefix', prefix, `${name}@${version}`]);
  const node = path.join(prefix, 'node_modules', name, 'bin', 'node');
  const found = (await run(node, ['--version'])).stdout.trim();
  const unitSpecs = version === latest ? ['dist/**/*.unit.spec.js'] : [];
  const specs = run(node, [mocha, ...unitSpecs, mainPath], {
    cwd: root,
    env: { ...inheritedEnvironment(), [templateVariable]: template },
    maxBuffer: Infinity,
  });
  const { stdout, stderr } = await specs.catch((error: unknown) => {
    process.exitCode = 1;
    return error as { readonly stdout: string; readonly stderr: string };
  });
  process.stdout.write(`\n=== Node ${found} ===\n${stdout}${stderr}`);
  return stdout;
};

try {
  const outputs = await Promise.all(versions.map(runOn));
  process.stdout.write(`\n${versions.length} versions of Node: ${summary(outputs)}\n`);
  const broken = outputs.filter(
    (output) => !/^ +\d+ passing/m.test(output) || / failing$/m.test(output),
  );
  for (const output of broken) process.stdout.write(`\nFailed:\n${failures(output)}\n`);
} finally {
  for (const folder of [dir, template]) await rm(folder, { recursive: true });
  await removeTemporary();
}
