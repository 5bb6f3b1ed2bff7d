import { expect } from 'chai';
import fc from 'fast-check';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ask } from '../support/http.js';
import { Document } from '../support/openapi.js';
import { RawClient } from '../support/raw-http.js';
import { Bench, destination } from './harness.js';
import { expectDocumented } from './hostile/answers.js';
import { bytesOf, described, hostileRequest, isWhole } from './hostile/requests.js';
import type { HostileRequest, Known } from './hostile/requests.js';
import { eventuallyPasses } from '../support/waiting.js';
import { temporaryDir } from '../support/process.js';

const listeners = ['api', 'edge', 'admin'] as const;
const total = 10_000;
/** Of the faults found, in the report. */
const shown = 10;
const clientsPerListener = 8;
/** Of a request, the second that a refused body lingers included. */
const answeredWithinMs = 15_000;
const slackMiB = 150;
const root = 'https://www.example.com/root';

const generous = {
  requestsPerMinute: 1_000_000,
  monthlyCalls: null,
  monthlyLinks: null,
  monthlyQrCodes: null,
};
const plans = {
  plans: { FREE: generous, HOBBY: generous, INDIE: generous, PRO: generous },
  gates: { customAlias: 'HOBBY', passwordProtection: 'INDIE' },
};

describe('product: hostile requests', () => {
  const bench = new Bench();
  let known: Known;
  let document: Document;
  let clients: Record<HostileRequest['listener'], RawClient[]>;
  const destinations = new Set([destination, root, 'https://example.com/', 'http://127.0.0.1:1/']);

  before('start the product', async () => {
    const plansFile = path.join(await temporaryDir(), 'plans.json');
    await writeFile(plansFile, JSON.stringify(plans));
    await bench.start({ PLANS_FILE: plansFile, ROOT_REDIRECT: root });
    document = new Document((await bench.api('/openapi.json', null)).text);
    const pro = await bench.key('PRO', { name: 'größer' });
    const free = await bench.key('FREE');
    const revoked = await bench.key('PRO');
    expect((await bench.admin('DELETE', `/admin/keys/${revoked.id}`)).status).to.equal(200);
    const links = [
      await bench.link(pro.key),
      await bench.link(pro.key, { maxClicks: 5 }),
      await bench.link(pro.key, { password: 'a secret' }),
    ];
    known = {
      keys: [pro.key, free.key],
      revokedKey: revoked.key,
      adminToken: bench.product.adminToken,
      codes: [...links.map(({ shortCode }) => shortCode), 'nothing0'],
    };
    const clientsOf = (origin: string): RawClient[] =>
      Array.from({ length: clientsPerListener }, () => new RawClient(origin));
    const { api, edge, admin } = bench.product;
    clients = { api: clientsOf(api), edge: clientsOf(edge), admin: clientsOf(admin) };
  });

  after('stop the product', () => {
    for (const client of Object.values(clients).flat()) client.end();
    return bench.end();
  });

  const send = async (client: RawClient, request: HostileRequest): Promise<void> => {
    const toHead = request.method === 'HEAD';
    const last = !isWhole(request);
    const bytes = bytesOf(request);
    const answers = await client.exchange({ bytes, toHead, last }, answeredWithinMs);
    if (!last) expect(answers).to.have.length(1);
    for (const answer of answers) {
      expectDocumented(request, answer, { destinations, document });
    }
  };

  /** Sends all of them, each listener's by several clients at once. @returns what was wrong */
  const sendAll = async (requests: readonly HostileRequest[]): Promise<string[]> => {
    const faults: string[] = [];
    const work = async (client: RawClient, waiting: HostileRequest[]): Promise<void> => {
      for (let request = waiting.pop(); request; request = waiting.pop()) {
        try {
          await send(client, request);
        } catch (error) {
          client.end();
          faults.push(`${(error as Error).message}\n${described(request)}`);
        }
      }
    };
    await Promise.all(
      listeners.flatMap((listener) => {
        const waiting = requests.filter((request) => request.listener === listener);
        return clients[listener].map((client) => work(client, waiting));
      }),
    );
    return faults;
  };

  it(`${total.toLocaleString('en')} are all answered as documented`, async function () {
    this.timeout(240_000);
    const before = await bench.product.rssMiB();
    const seed = Math.trunc(Math.random() * 2 ** 31);
    const requests = fc.sample(hostileRequest(known), { numRuns: total, seed });
    const faults = await sendAll(requests);
    const report = [`${faults.length} faults, seed ${seed}`, ...faults.slice(0, shown)].join(
      '\n\n',
    );
    expect(faults.length, report).to.equal(0);
    for (const listener of listeners) {
      expect((await ask(`${bench.product[listener]}/health`)).status).to.equal(200);
    }
    expect((await bench.visit(known.codes[0] ?? '')).status).to.equal(302);
    await eventuallyPasses(20_000, async () => {
      expect((await bench.product.rssMiB()) - before).to.be.below(slackMiB);
    });
    const logged = bench.product.stderr().split('\n');
    expect(logged.filter((line) => line.includes('"level":50'))).to.deep.equal([]);
  });
});
