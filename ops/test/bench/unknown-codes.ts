import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { startProduct } from '../support/product.js';

const connections = 16;
/** Requests that a connection has under way at once. */
const pipelined = 50;
const defaultCount = 1_000_000;

/** A distinct code for each number; `~` stands in no code, so prefixes are told by their length. */
const codeOf = (run: string, index: number): string => `${run}-${index.toString(36)}`;

/**
 * Visits distinct codes that nobody made. The requests are written ahead on few connections, so that
 * the visitor costs little beside the edge.
 *
 * @returns how often each status was answered
 */
export const visitUnknownCodes = async (
  edge: string,
  count: number,
): Promise<Record<string, number>> => {
  const { hostname: host, port } = new URL(edge);
  const run = Date.now().toString(36);
  const seen: Record<string, number> = {};
  let next = 0;

  const visitor = async (): Promise<void> => {
    const socket = connect({ host, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    let waiting = 0;
    // An answer may come in pieces: what could be the beginning of a status line is kept.
    let rest = '';
    const fill = (): void => {
      let requests = '';
      while (waiting < pipelined && next < count) {
        requests += `GET /${codeOf(run, next)} HTTP/1.1\r\nHost: a\r\n\r\n`;
        next += 1;
        waiting += 1;
      }
      if (requests !== '') socket.write(requests);
      if (waiting === 0) socket.end();
    };
    socket.setEncoding('latin1').on('data', (text: string) => {
      const whole = rest + text;
      let end = 0;
      for (const match of whole.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        const status = match[1] ?? '';
        seen[status] = (seen[status] ?? 0) + 1;
        waiting -= 1;
        end = match.index + match[0].length;
      }
      rest = whole.slice(Math.max(end, whole.length - 16));
      if (waiting <= pipelined / 2) fill();
    });
    fill();
    await once(socket, 'close');
    if (waiting > 0) throw new Error(`The edge closed a connection with ${waiting} requests open`);
  };

  await Promise.all(Array.from({ length: connections }, visitor));
  return seen;
};

/** The long form: `node dist/ops/test/bench/unknown-codes.js [COUNT]`. */
const run = async (count: number): Promise<void> => {
  const product = await startProduct();
  try {
    const before = await product.rssMiB();
    const began = performance.now();
    const seen = await visitUnknownCodes(product.edge, count);
    const seconds = (performance.now() - began) / 1_000;
    const after = await product.rssMiB();
    const figures = {
      count,
      seen,
      seconds: Math.round(seconds),
      perSecond: Math.round(count / seconds),
      rssMiB: { before: Math.round(before), after: Math.round(after) },
    };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    await product.stop();
  } finally {
    await product.cleanup();
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await run(Number(process.argv[2] ?? defaultCount));
}
