import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { pinTo } from './cores.js';

/** POSTs by so many clients, each of which sends the next one when the last was answered. */
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
  /** Milliseconds until the answer. */
  readonly p50: number;
  readonly p99: number;
  readonly answers: Readonly<Record<string, number>>;
}

/** Answers of a server that says how long each is; a client must cost little beside what it asks. */
const runClients = async (load: ClosedLoad): Promise<ClosedLoadResult> => {
  const { hostname: host, port, pathname } = new URL(load.url);
  const fields = Object.entries({ Host: 'a', ...load.headers }).map((pair) => pair.join(': '));
  const head = [`POST ${pathname} HTTP/1.1`, ...fields].join('\r\n');
  // Unlike those of a load before it.
  const run = Date.now().toString(36);
  const times: number[] = [];
  const answers: Record<string, number> = {};
  let sent = 0;
  const began = performance.now();
  const client = async (): Promise<void> => {
    const socket = connect({ host, port: Number(port), noDelay: true });
    const lost = once(socket, 'close').then(() => {
      throw new Error('The server closed a connection');
    });
    // It is closed from here in the end.
    lost.catch(() => undefined);
    let answered: (status: string) => void = () => undefined;
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1]);
      if (text.length < end + 4 + length) return;
      const status = text.slice(9, 12);
      text = '';
      answered(status);
    });
    while (performance.now() - began < load.ms) {
      sent += 1;
      const body = load.body.replace('{n}', `${run}-${sent}`);
      const at = performance.now();
      const answer = new Promise<string>((resolve) => (answered = resolve));
      socket.write(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      const status = await Promise.race([answer, lost]);
      times.push(performance.now() - at);
      answers[status] = (answers[status] ?? 0) + 1;
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: load.connections }, client));
  const seconds = (performance.now() - began) / 1_000;
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? NaN;
  return { perSecond: times.length / seconds, p50: at(0.5), p99: at(0.99), answers };
};

/** Runs a load in a process of its own, on a core. */
export const runClosedLoad = async (load: ClosedLoad, core: number): Promise<ClosedLoadResult> => {
  const child = fork(fileURLToPath(import.meta.url), [], { stdio: 'inherit' });
  pinTo(core, [child.pid]);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`A load ended with ${String(code)} before its result`);
  });
  // The end that was asked for.
  ended.catch(() => undefined);
  try {
    child.send(load);
    const [result] = (await Promise.race([once(child, 'message'), ended])) as [ClosedLoadResult];
    return result;
  } finally {
    child.kill();
  }
};

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (load: ClosedLoad) => {
    void runClients(load).then((result) => process.send?.(result));
  });
}
