import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { percentile } from '../support/median.js';
import { openStatusClient } from '../support/status-client.js';
import { pinTo } from './cores.js';

/** POSTs by several clients; each sends the next request after the response to its last one. */
interface ClosedLoad {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `{n}` becomes a number that no other request has. */
  readonly body: string;
  readonly connections: number;
  readonly ms: number;
}

interface ClosedLoadResult {
  readonly perSecond: number;
  /** Response time, ms. */
  readonly p50: number;
  readonly p99: number;
  readonly statuses: Readonly<Record<string, number>>;
}

const file = fileURLToPath(import.meta.url);

/** Runs a load in another process, pinned to a core. */
export const runClosedLoad = async (load: ClosedLoad, core: number): Promise<ClosedLoadResult> => {
  const child = fork(file, [], { stdio: 'inherit' });
  pinTo(core, [child.pid]);
  const ended = once(child, 'exit').then(() => null);
  child.send(load);
  const [result] = ((await Promise.race([once(child, 'message'), ended])) ?? []) as [
    ClosedLoadResult?,
  ];
  if (!result) throw new Error('the load ended before its result');
  child.kill();
  return result;
};

const runLoad = async (load: ClosedLoad): Promise<ClosedLoadResult> => {
  const { pathname } = new URL(load.url);
  const fields = Object.entries({ Host: 'a', ...load.headers }).map((pair) => pair.join(': '));
  const head = [`POST ${pathname} HTTP/1.1`, ...fields].join('\r\n');
  // Differs from the numbers of an earlier load.
  const run = Date.now().toString(36);
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  let sent = 0;
  const startedAt = performance.now();
  const sendRequests = async (): Promise<void> => {
    const client = openStatusClient(load.url);
    while (performance.now() - startedAt < load.ms) {
      sent += 1;
      const body = load.body.replace('{n}', `${run}-${sent}`);
      const length = Buffer.byteLength(body);
      const sentAt = performance.now();
      const status = await client.send(`${head}\r\nContent-Length: ${length}\r\n\r\n${body}`);
      if (status === 'lost') throw new Error('the server closed a connection');
      times.push(performance.now() - sentAt);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    client.close();
  };
  await Promise.all(Array.from({ length: load.connections }, sendRequests));
  const seconds = (performance.now() - startedAt) / 1_000;
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  return { perSecond: times.length / seconds, p50, p99, statuses };
};

// As the other process. The listener keeps it alive until the parent kills it.
if (process.send && process.argv[1] === file) {
  process.on('message', (load: ClosedLoad) => {
    void runLoad(load).then((result) => process.send?.(result));
  });
}
