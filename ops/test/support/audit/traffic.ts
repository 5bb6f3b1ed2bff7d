import { expect } from 'chai';
import { destination, type Bench } from '../../e2e/harness.js';
import type { IssuedKey } from '../product.js';

/** The keys and links of `createTraffic`. */
interface Traffic {
  readonly busy: IssuedKey;
  /** A key without links. */
  readonly idle: IssuedKey;
  readonly gone: IssuedKey;
  readonly codes: readonly string[];
}

/** Sends requests that create each kind of row in ledger and read models. */
export const createTraffic = async (bench: Bench): Promise<Traffic> => {
  const busy = await bench.key('PRO', { account: 'acme', name: 'busy' });
  const idle = await bench.key('FREE');
  const gone = await bench.key('HOBBY');
  await bench.admin('DELETE', `/admin/keys/${gone.id}`);
  await bench.admin('PATCH', `/admin/keys/${idle.id}`, { name: 'idle', plan: 'INDIE' });
  for (const alias of ['docs', 'login']) {
    await bench.admin('PUT', `/admin/reserved-aliases/${alias}/override`, { account: 'acme' });
  }
  await bench.admin('DELETE', '/admin/reserved-aliases/login/override');
  const bodies = [{}, {}, {}, { maxClicks: 3 }, { maxClicks: 1 }, { password: 'open sesame' }];
  const codes: string[] = [];
  for (const body of bodies) codes.push((await bench.link(busy.key, body)).shortCode);
  for (const code of codes) await bench.visit(code);
  await bench.visit(codes[0] ?? '', { headers: { 'User-Agent': 'Googlebot/2.1' } });
  for (const change of ['block', 'unblock', 'block']) {
    const response = await bench.admin('POST', `/admin/links/${codes[1] ?? ''}/${change}`, {
      reason: 'phishing',
    });
    expect(response.status, response.text).to.equal(200);
  }
  await bench.admin('PATCH', '/admin/platform', { features: { expiration: false } });
  for (const code of codes) await bench.api(`/v2/qr/${code}`, busy.key);
  return { busy, idle, gone, codes };
};

/** Runs `work` while three clients send requests of all kinds. @returns the number of requests */
export const runUnderLoad = async (
  bench: Bench,
  { busy, codes }: Traffic,
  work: () => Promise<void>,
): Promise<number> => {
  const ended = new AbortController();
  let sent = 0;
  const sendNext = async (number: number): Promise<void> => {
    const code = codes[number % codes.length] ?? '';
    const kinds = [
      () => bench.visit(codes[0] ?? ''),
      () =>
        bench.shorten(busy.key, { url: destination, ...(number % 2 === 0 && { maxClicks: 2 }) }),
      async () => {
        const created = await bench.shorten(busy.key, { url: destination, maxClicks: 1 });
        await bench.visit((created.json() as { shortCode?: string }).shortCode ?? code);
      },
      () => bench.api(`/v2/qr/${code}`, busy.key),
      () =>
        bench.admin('POST', `/admin/links/${code}/${number % 4 < 2 ? 'block' : 'unblock'}`, {
          reason: `number ${number}`,
        }),
      () => bench.admin('PATCH', `/admin/keys/${busy.id}`, { name: `busy ${number}` }),
      () => bench.admin('PATCH', '/admin/platform', { features: { passwords: number % 4 < 2 } }),
    ];
    await kinds[number % kinds.length]?.();
    sent += 1;
  };
  const run = async (from: number): Promise<void> => {
    for (let number = from; !ended.signal.aborted; number += 1) await sendNext(number);
  };
  const running = Promise.all([run(0), run(3), run(5)]);
  try {
    await Promise.race([work(), running.then(() => undefined)]);
  } finally {
    ended.abort();
    await running;
  }
  return sent;
};
