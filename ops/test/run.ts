/**
 * `npm test`: runs all specs except the long ones, in parallel processes. A process runs one e2e spec, the int specs of
 * one folder (or one int spec of `longFolders`), or all unit specs. The output is printed by folder of the top level.
 *
 * Specs that need programs which are not installed are listed at the end and not run; with `CI=true` they run and fail.
 *
 * Tests can miss deadlines on the busy machine, so failed processes run again one by one at the end, except those with
 * specs of exactness or races (`repetition.ts`). The final report lists the first failures.
 */
import pLimit from 'p-limit';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { failures, summary } from './mocha-output.js';
import { missingPrograms } from './programs.js';
import { firstFailures, toRepeat, type Batch } from './repetition.js';
import { createClusterTemplate, templateVariable } from './support/cluster.js';
import { sharedKafkaVariable, startSharedKafka } from './support/kafka.js';
import { keepTemporaryInMemory } from './support/memory-dir.js';
import { temporaryDir } from './support/process.js';
import './venv-path.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
// `bin/mocha.js` would start a second Node for the options.
const mocha = ['--enable-source-maps', fileURLToPath(import.meta.resolve('mocha/lib/cli/cli.js'))];
/** More than the cores because tests also wait, but not more because some tests have deadlines. */
const processes = availableParallelism() + 1;
/** Batches that start first, the longest at the top, so that the run does not end with a long batch alone. */
const longest = [
  'ops/test/e2e/console-pages.e2e.spec.js',
  'ops/event-log/kafka/kafka-log.int.spec.js',
  'ops/test/e2e/a-minute-later.e2e.spec.js',
  'ops/test/e2e/process.e2e.spec.js',
  'ops/tools/audit/questions.e2e.spec.js',
  'ops/local/stack/stack.e2e.spec.js',
  'ops/local/stack/brokers.e2e.spec.js',
  'ops/test/e2e/docs.e2e.spec.js',
  'ops/test/e2e/frozen-parts.e2e.spec.js',
  'redirect-edge/shipping: int specs',
  'ops/test/fuzz/schemathesis.e2e.spec.js',
  'ops/test/e2e/older-database.e2e.spec.js',
  'ops/test/chaos/kill.e2e.spec.js',
  'ops/local/postgres: int specs',
];

/** Batches that run last and alone: three Kafka brokers under load need both cores to start within their deadlines. */
const alone: ReadonlySet<string> = new Set(['ops/test/chaos/brokers.e2e.spec.js']);

interface Ended extends Batch {
  readonly output: string;
  readonly passed: boolean;
  readonly seconds: number;
}

/** A folder of the top level; in `ops/`, a folder there. */
const roomOf = (file: string): string => /^(?:ops\/)?[^/]+/.exec(file)?.[0] ?? '';

/** Folders whose int specs take minutes. */
const longFolders: ReadonlySet<string> = new Set(['ops/event-log/kafka']);

const batchOf = (file: string): Omit<Batch, 'files'> => {
  if (file.endsWith('.unit.spec.js')) return { room: 'all rooms', name: 'unit specs' };
  const room = roomOf(file);
  const folder = path.dirname(file);
  const isAlone = file.endsWith('.e2e.spec.js') || longFolders.has(folder);
  return { room, name: isAlone ? file : `${folder}: int specs` };
};

/** Lists sources, because `dist` may have specs with deleted sources. */
const specs = (): readonly string[] =>
  ['command-api', 'ops', 'projectors', 'redirect-edge', 'schemas'].flatMap((room) =>
    readdirSync(path.join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:unit|int|e2e)\.spec\.ts$/.test(file))
      .map((file) => path.join(room, file.replace(/ts$/, 'js'))),
  );

/** Specs that cannot run, with the missing programs. */
const notRun = new Map<string, readonly string[]>();

const batches = (): readonly Batch[] => {
  const found = new Map<string, Batch>();
  for (const file of specs()) {
    const missing = process.env['CI'] === 'true' ? [] : missingPrograms(path.join('dist', file));
    if (missing.length > 0) {
      notRun.set(file, missing);
      continue;
    }
    const batch = batchOf(file);
    const files = [...(found.get(batch.name)?.files ?? []), path.join('dist', file)];
    found.set(batch.name, { ...batch, files });
  }
  const first = longest.flatMap((name) => {
    const batch = found.get(name);
    if (!batch && notRun.size === 0) throw new Error(`unknown batch ${name}`);
    return batch ?? [];
  });
  return [...new Set([...first, ...found.values()])];
};

const run = async (batch: Batch): Promise<Ended> => {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...mocha, ...batch.files], { cwd: root });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const [exitCode] = (await once(child, 'close')) as [number | null];
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const passed = exitCode === 0;
  process.stderr.write(`${passed ? 'passed' : 'FAILED'} after ${seconds} s: ${batch.name}\n`);
  return { ...batch, output, passed, seconds };
};

// Every mocha inherits this environment.
const removeTemporary = await keepTemporaryInMemory();
const template = await temporaryDir();
const mayStartKafka = missingPrograms('dist/ops/test/support/kafka.js').length === 0;
const [kafka] = await Promise.all([
  mayStartKafka ? startSharedKafka() : null,
  createClusterTemplate(template),
]);
process.env[templateVariable] = template;
if (kafka) process.env[sharedKafkaVariable] = kafka.value;

const limit = pLimit(processes);
const listed = batches();
const parallel = listed
  .filter(({ name }) => !alone.has(name))
  .map((batch) => ({ room: batch.room, ended: limit(() => run(batch)) }));
const parallelEnded = Promise.all(parallel.map(({ ended }) => ended));
const oneByOne = pLimit(1);
const last = listed
  .filter(({ name }) => alone.has(name))
  .map((batch) => ({
    room: batch.room,
    ended: parallelEnded.then(() => oneByOne(() => run(batch))),
  }));
const running = [...parallel, ...last];
const printRoom = async (room: string): Promise<void> => {
  const ended = await Promise.all(
    running.filter((batch) => batch.room === room).map((batch) => batch.ended),
  );
  process.stdout.write(`\n=== ${room} ===\n`);
  for (const { name, seconds, output } of ended) {
    process.stdout.write(`\n--- ${name} (${seconds} s)\n${output}`);
  }
};
await Promise.all([...new Set(running.map(({ room }) => room))].map(printRoom));

const firstRuns = await Promise.all(running.map((batch) => batch.ended));
const again = new Map<string, Ended>();
const repeated = toRepeat(firstRuns.filter(({ passed }) => !passed));
for (const { room, name, files } of repeated) {
  const second = await run({ room, name, files });
  again.set(name, second);
  process.stdout.write(`\n--- again: ${name} (${second.seconds} s)\n${second.output}`);
}
const ended = firstRuns.map((first) => again.get(first.name) ?? first);
await rm(template, { recursive: true });
await kafka?.stop();
await removeTemporary();
const failed = ended.filter(({ passed }) => !passed);
process.stdout.write(
  `\n${ended.length} processes: ${summary(ended.map(({ output }) => output))}\n`,
);
process.stdout.write(firstFailures(repeated));
if (notRun.size > 0) {
  const lines = [...notRun].map(([file, missing]) => `  ${file}: needs ${missing.join(', ')}\n`);
  process.stdout.write(
    `Not run ("npm run test:setup" installs what they need):\n${lines.join('')}`,
  );
}
if (failed.length > 0) {
  const blocks = failed.map(({ name, output }) => `\n--- ${name}\n${failures(output)}\n`);
  process.stdout.write(`Failed:\n${blocks.join('')}`);
  process.exitCode = 1;
}
