/**
 * `npm test` runs the unit specs in one process, then the integration and end-to-end specs in parallel workers: one file
 * at a time in each, with one PostgreSQL, one product and one browser for each worker. `npm run test:more` runs the
 * specs of the second stage (`*.more.spec.ts`) in the same way.
 *
 * Tests whose programs are missing are skipped and counted at the end; with `CI=true` they fail.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync, accessSync, constants } from 'node:fs';
import { readFile, readdir, rm, chmod, mkdtemp, statfs, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { nullOn, nullOnThrow } from '../platform/errors.js';
import { createClusterTemplate, templateVariable } from './support/cluster.js';
import { isUsable, skippedVariable } from './support/needs.js';
import { kafkaPrograms, sharedKafkaVariable, startSharedKafka } from './support/kafka.js';
import { temporaryDir } from './support/process.js';
import { eventually } from './support/waiting.js';
import './venv-path.js';

const memory = '/dev/shm';

/** Twice the size of the temporary files of a full run. */
const enoughBytes = 8 * 1_024 ** 3;

/** A container may mount /dev/shm with noexec. */
const mayRunPrograms = async (dir: string): Promise<boolean> => {
  const program = path.join(dir, 'program');
  await writeFile(program, '', { mode: 0o755 });
  const runs = nullOnThrow(() => {
    accessSync(program, constants.X_OK);
    return true;
  }, 'EACCES');
  await rm(program);
  return runs ?? false;
};

/**
 * Moves the temporary folders of this process and its children to memory, if there is enough: fsync of the many small
 * files of new databases would take more time than most tests.
 *
 * @returns a function that deletes the folder
 */
const keepTemporaryInMemory = async (): Promise<() => Promise<void>> => {
  const nothing = (): Promise<void> => Promise.resolve();
  const stats = await nullOn(statfs(memory), 'ENOENT');
  if (stats === null) return nothing;
  if (Math.min(stats.bavail * stats.bsize, process.availableMemory()) < enoughBytes) return nothing;
  const dir = await mkdtemp(path.join(memory, 'linklog-'));
  const remove = (): Promise<void> => rm(dir, { recursive: true, force: true });
  if (!(await mayRunPrograms(dir))) {
    await remove();
    return nothing;
  }
  // Like /tmp: some tests run as other users.
  await chmod(dir, 0o1777);
  process.env['TMPDIR'] = dir;
  return remove;
};

const root = fileURLToPath(new URL('../../..', import.meta.url));
// `bin/mocha.js` would start a second Node for the options.
const mocha = ['--enable-source-maps', fileURLToPath(import.meta.resolve('mocha/lib/cli/cli.js'))];

const [stage = 'test'] = process.argv.slice(2);

/**
 * More than the cores, because tests also wait; not in the second stage, whose tests start many programs: requests must
 * get their response within the product's 1.8 s.
 */
const workers = availableParallelism() + (stage === 'more' ? 0 : 1);

/** The specs of these kinds, the largest first, so that the run does not end with a long one alone. */
const specs = (...kinds: readonly string[]): readonly string[] =>
  // Sources, because `dist` may have specs with deleted sources.
  ['command-api', 'ops', 'projectors', 'redirect-edge', 'schemas']
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => kinds.some((kind) => file.endsWith(`.${kind}.spec.ts`)))
        .map((file) => path.join(folder, file)),
    )
    .map((file) => ({ file, bytes: statSync(path.join(root, file)).size }))
    .sort((a, b) => b.bytes - a.bytes)
    .map(({ file }) => path.join('dist', file.replace(/ts$/, 'js')));

const runMocha = async (...args: readonly string[]): Promise<boolean> => {
  const forbid = process.env['CI'] === 'true' ? ['--forbid-pending'] : [];
  const child = spawn(process.execPath, [...mocha, ...forbid, ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return exitCode === 0;
};

/** Whether a process has a file or a setting in the folder of temporary files. Linux only. */
const isTemporaryInUse = async (): Promise<boolean> => {
  const pids = ((await nullOn(readdir('/proc'), 'ENOENT')) ?? []).filter((name) =>
    /^\d+$/.test(name),
  );
  const uses = await Promise.all(
    pids.flatMap((pid) =>
      ['cmdline', 'environ'].map(async (name) => {
        // The process may have ended, or belong to another user.
        const read = readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
        return Number(pid) !== process.pid && (await read).includes(`${tmpdir()}/linklog-`);
      }),
    ),
  );
  return uses.includes(true);
};

const parallel = stage === 'more' ? specs('more') : specs('int', 'e2e');

const removeTemporary = await keepTemporaryInMemory();
const dir = await temporaryDir();
const skipped = path.join(dir, 'skipped');
process.env[skippedVariable] = skipped;

const unitPassed = stage === 'more' || (await runMocha(...specs('unit')));
const [kafka] = await Promise.all([
  kafkaPrograms.every((program) => isUsable(program)) ? startSharedKafka() : null,
  createClusterTemplate(dir),
]);
process.env[templateVariable] = dir;
if (kafka) process.env[sharedKafkaVariable] = kafka.value;
const parallelPassed = await runMocha('--parallel', `--jobs=${workers}`, ...parallel);
await kafka?.stop();

const counts = new Map<string, number>();
for (const line of ((await nullOn(readFile(skipped, 'utf8'), 'ENOENT')) ?? '').split('\n')) {
  const [programs = '', count = ''] = line.split('\t');
  if (programs !== '') counts.set(programs, (counts.get(programs) ?? 0) + Number(count));
}
if (counts.size > 0) {
  const lines = [...counts].sort().map(([programs, count]) => `  ${programs}: ${count}\n`);
  process.stdout.write(
    `Skipped tests by missing program ("npm run test:setup" installs them):\n${lines.join('')}`,
  );
}

await rm(dir, { recursive: true });
// The products of the workers drain.
await eventually('no process uses the temporary files', async () => !(await isTemporaryInUse()));
await removeTemporary();
if (!unitPassed || !parallelPassed) process.exitCode = 1;
