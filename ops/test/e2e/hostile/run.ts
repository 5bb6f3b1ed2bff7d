import { expect } from 'chai';
import fc from 'fast-check';
import { sendRequest } from '../../support/http.js';
import { generousPlansFile } from '../../support/plans.js';
import { temporaryDir } from '../../support/process.js';
import { RawClient } from '../../support/raw-http.js';
import { destination, type Bench } from '../harness.js';
import { expectHarmless } from './responses.js';
import { bytesOf, describeRequest, hostileRequest, originOf } from './requests.js';
import type { HostileRequest } from './requests.js';

const listeners = ['api', 'edge', 'admin'] as const;
const clientsPerListener = 8;
/** Per request, including the second that the server reads a rejected body. */
const responseWithinMs = 15_000;
const root = 'https://www.example.com/root';

/** The environment of a product for hostile requests. */
export const hostileEnvironment = async (): Promise<Record<string, string>> => ({
  PLANS_FILE: await generousPlansFile(await temporaryDir()),
  ROOT_REDIRECT: root,
});

/** Signs in. @returns the cookie as a header line */
const signIn = async (bench: Bench, listener: 'api' | 'admin', body: object): Promise<string> => {
  const Origin = originOf(listener);
  const { headers } = await sendRequest(`${bench.product[listener]}/console/session`, {
    method: 'POST',
    headers: { Host: new URL(Origin).host, Origin },
    body,
  });
  const [cookie = ''] = (headers['set-cookie'] ?? []).join().split(';');
  expect(cookie).to.match(/^linklog_\w+=.{43}$/);
  return `Cookie: ${cookie}`;
};

/** Per listener: requests of the run end some of them. */
const sessionCount = 10;

/** Starts clients that send hostile requests to the three listeners and check the responses. */
export const startHostileRun = async (bench: Bench) => {
  const destinations = new Set([destination, root, 'https://example.com/', 'http://127.0.0.1:1/']);
  const pro = await bench.key('PRO', { name: 'größer' });
  const free = await bench.key('FREE');
  const revoked = await bench.key('PRO');
  expect((await bench.admin('DELETE', `/admin/keys/${revoked.id}`)).status).to.equal(200);
  const links = [
    await bench.link(pro.key),
    await bench.link(pro.key, { maxClicks: 5 }),
    await bench.link(pro.key, { password: 'a secret' }),
  ];
  const codes = links.map(({ shortCode }) => shortCode);
  // The requests do not contain this code, so they cannot delete the link.
  const open = await bench.link(pro.key);
  const cookies: string[] = [];
  for (let count = 0; count < sessionCount; count += 1) {
    const { adminToken } = bench.product;
    cookies.push(await signIn(bench, 'api', { key: pro.key }));
    cookies.push(await signIn(bench, 'admin', { token: adminToken, actor: 'hostile' }));
  }
  const requests = hostileRequest({
    keys: [pro.key, free.key],
    revokedKey: revoked.key,
    adminToken: bench.product.adminToken,
    codes: [...codes, 'nothing0'],
    cookies,
  });
  const clients = listeners.map((listener) =>
    Array.from({ length: clientsPerListener }, () => new RawClient(bench.product[listener])),
  );

  const faults: string[] = [];
  const send = async (client: RawClient, request: HostileRequest): Promise<void> => {
    const toHead = request.method === 'HEAD';
    const bytes = bytesOf(request);
    const responses = await client.exchange({ bytes, toHead, last: false }, responseWithinMs);
    for (const response of responses) expectHarmless(request, response, destinations);
  };

  const work = async (client: RawClient, waiting: HostileRequest[]): Promise<void> => {
    for (let request = waiting.pop(); request; request = waiting.pop()) {
      try {
        await send(client, request);
      } catch (error) {
        client.end();
        faults.push(`${(error as Error).message}\n${describeRequest(request)}`);
      }
    }
  };

  return {
    /** A code that always redirects. */
    openCode: open.shortCode,
    faults,
    /** Sends the requests of a seed; several clients per listener send concurrently. */
    async send(numRuns: number, seed: number): Promise<void> {
      const sample = fc.sample(requests, { numRuns, seed });
      await Promise.all(
        listeners.flatMap((listener, index) => {
          const waiting = sample.filter((request) => request.listener === listener);
          return clients[index]?.map((client) => work(client, waiting)) ?? [];
        }),
      );
    },
    end(): void {
      for (const client of clients.flat()) client.end();
    },
  };
};
