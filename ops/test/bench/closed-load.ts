import { runForked, serveForked } from '../support/forked.js';
import { percentile } from '../support/median.js';
import { openStatusClient } from '../support/status-client.js';
import { pinTo } from './cores.js';

/** POSTs by several clients; each sends the next request after the response to its last one. */
export interface ClosedLoad {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `{n}` becomes a number that no other request has. */
  readonly body: string;
  readonly connections: number;
  readonly ms: number;
}

export interface ClosedLoadResult {
  readonly perSecond: number;
  /** Response time, ms. */
  readonly p50: number;
  readonly p99: number;
  readonly statuses: Readonly<Record<string, number>>;
}

/** Runs a load in another process, pinned to a core. */
export const runClosedLoad = (load: ClosedLoad, core: number): Promise<ClosedLoadResult> =>
  runForked(import.meta.url, load, (pid) => {
    pinTo(core, [pid]);
  });

serveForked(import.meta.url, async (load: ClosedLoad): Promise<ClosedLoadResult> => {
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
});
