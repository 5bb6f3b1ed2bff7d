import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import {
  created,
  edited,
  keyCreated,
  recordOf,
  spooledVisit,
} from '../../../schemas/testing/events.js';
import { topicOf } from '../../../schemas/events/codec.js';
import { projectFile } from '../../platform/files/project-file.js';
import { writeNewFile } from '../../platform/files/new-file.js';
import { takeBackup } from '../../tools/backup/backup.js';
import { layoutOf, readPostmasterPid } from '../../local/postgres/layout.js';
import { endTestServer, startTestServer, testDatabase } from '../support/database.js';
import { testNode } from '../support/node.js';
import { temporaryDir } from '../support/process.js';
import { markdownTable } from '../support/table.js';
import { cpuMs, cpuMsOfTree } from './cpu-ms.js';
import { randomFields } from './random-visits.js';

/**
 * Commands that replay the whole log, each in a process of its own:
 * `node dist/ops/test/bench/replays.js [LINK_EVENTS] [VISITS]`. Linux only.
 */
const [linkEvents = 350_000, visits = 170_000] = process.argv.slice(2).map(Number);
/** Each tenth link was edited. */
const links = Math.ceil((linkEvents * 10) / 11);
const portion = 1_000;
const first = Date.now() - 30 * 86_400_000;
const codeOf = (index: number): string => `l${index.toString(36)}`;
const visitor = (index: number): string => String(index % 50_000).padStart(16, '0');

function* events(): Generator<LinklogEvent> {
  yield keyCreated('key-1');
  for (let index = 0; index < links; index += 1) {
    const attributes = { account: 'acme', time: new Date(first + index * 1_000) };
    yield created(codeOf(index), {}, attributes);
    const url = `https://example.com/edited/${index}`;
    if (index % 10 === 0) yield edited(codeOf(index), 2, { url }, attributes);
  }
  for (let index = 0; index < visits; index += 1) {
    const attributes = { account: 'acme', time: new Date(first + index * 1_000) };
    const visit = spooledVisit(codeOf(index % links), { ...attributes, sequence: index + 1 });
    yield { ...visit, data: { click: null, ...randomFields(visitor(index)) } };
  }
}

const dir = await temporaryDir();
const file = path.join(dir, 'backup');
const server = await startTestServer();
const postmaster = (await readPostmasterPid(layoutOf(server.dataDir)))?.pid ?? 0;
const source = await testDatabase('source', server);
const target = await testDatabase('target', server);
await target.pool.end();
const node = await testNode(source);
let pending: LinklogEvent[] = [];
const append = async (): Promise<void> => {
  const [head] = pending;
  if (head) await node.log.append(topicOf(head), pending.map(recordOf));
  pending = [];
};
for (const event of events()) {
  const [head = event] = pending;
  if (pending.length === portion || topicOf(head) !== topicOf(event)) await append();
  pending.push(event);
}
await append();
await takeBackup({
  ...node,
  spoolRoot: path.join(dir, 'spool'),
  target: (write) => writeNewFile(file, { replace: false }, write),
});
await node.close();
await source.drop();

const main = projectFile('dist', 'ops', 'tools', 'cli', 'main.js');
const measure = async (...args: readonly string[]): Promise<readonly (string | number)[]> => {
  const started = performance.now();
  const before = cpuMsOfTree(postmaster);
  const env = { ...process.env, DATABASE_URL: target.url, DATA_DIR: path.join(dir, 'data') };
  const child = spawn(process.execPath, [main, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let [cpu, peak] = [0, 0];
  const poll = setInterval(() => {
    const { pid } = child;
    if (pid === undefined || child.exitCode !== null) return;
    cpu = cpuMs(pid);
    peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
  }, 100);
  const [code] = (await once(child, 'exit')) as [number];
  clearInterval(poll);
  if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}`);
  const seconds = (performance.now() - started) / 1_000;
  const count = args.includes('stats') ? visits : linkEvents + visits;
  return [
    args[0] === 'restore' ? 'restore' : args.slice(0, 3).join(' '),
    seconds.toFixed(1),
    Math.round(count / seconds),
    Math.round((cpu * 1_000) / count),
    Math.round(((cpuMsOfTree(postmaster) - before) * 1_000) / count),
    Math.round(peak / 1_024),
  ];
};

try {
  const rows = [
    await measure('restore', file),
    await measure('audit', 'verify'),
    await measure('projections', 'rebuild', 'stats', '--yes'),
  ];
  const head = [
    'Command',
    'Seconds',
    'Events a second',
    'Node, µs of CPU',
    'PostgreSQL',
    'Peak, MiB',
  ];
  console.log(markdownTable(head, rows));
} finally {
  await rm(dir, { recursive: true });
  await endTestServer(server);
}
