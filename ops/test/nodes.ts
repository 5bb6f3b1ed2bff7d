/**
 * `npm run test:nodes`: runs the unit specs, and the main paths of the product, on each other version of Node
 * that `engines` allows. The binaries come as packages of npm.
 */
import pLimit from 'p-limit';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '../platform/config/config.js';
import { failures, summary } from './mocha-output.js';
import { makeClusterTemplate, templateVariable } from './support/cluster.js';
import { temporaryDir } from './support/process.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const versions = [22, 24, 26];
const mocha = fileURLToPath(import.meta.resolve('mocha/lib/cli/cli.js'));
const mainPaths = ['redirect', 'shorten'].map((name) => `dist/ops/test/e2e/${name}.e2e.spec.js`);

const run = promisify(execFile);
const dir = await mkdtemp(path.join(tmpdir(), 'linklog-nodes-'));

const template = await temporaryDir();
await makeClusterTemplate(template);

/** Runs the specs on one version; prints the output whole, for several run at once, and returns it. */
const runOn = async (version: number): Promise<string> => {
  const prefix = path.join(dir, String(version));
  const name = `node-${process.platform}-${process.arch}`;
  await run('npm', ['install', '--silent', '--prefix', prefix, `${name}@${version}`]);
  const node = path.join(prefix, 'node_modules', name, 'bin', 'node');
  const found = (await run(node, ['--version'])).stdout.trim();
  const specs = run(node, [mocha, 'dist/**/*.unit.spec.js', ...mainPaths], {
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
  const limit = pLimit(availableParallelism());
  const outputs = await Promise.all(versions.map((version) => limit(() => runOn(version))));
  process.stdout.write(`\n${versions.length} versions of Node: ${summary(outputs)}\n`);
  const broken = outputs.filter(
    (output) => !/^ +\d+ passing/m.test(output) || / failing$/m.test(output),
  );
  for (const output of broken) process.stdout.write(`\nFailed:\n${failures(output)}\n`);
} finally {
  for (const made of [dir, template]) await rm(made, { recursive: true });
}
