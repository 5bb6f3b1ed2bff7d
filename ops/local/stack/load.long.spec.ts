import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectionNames } from '../../../projectors/runtime/projection.js';
import type { PlanName } from '../../../schemas/plans.js';
import { inheritedEnvironment } from '../../config/config.js';
import { fixture } from '../../test/support/fixture.js';
import { concurrently, sendRequest, statuses, type HttpResponse } from '../../test/support/http.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { startLinklogCli } from '../../test/support/process.js';
import { issueKey } from '../../test/support/product.js';
import { stackPrograms, startStackProcess } from '../../test/support/stack.js';
import { eventually } from '../../test/support/waiting.js';

/** `LINKLOG_RACE_ROUNDS=50` is the long form. */
const rounds = Number(inheritedEnvironment()['LINKLOG_RACE_ROUNDS'] ?? '2');
const racers = 1_000;

describe('local servers: the stack under load', function () {
  this.timeout(kafkaStartMs + 180_000 + rounds * 60_000);

  const stack = fixture(
    () => startStackProcess(),
    (stack) => stack.stop(),
    { needs: stackPrograms },
  );

  const newKey = async (plan: PlanName): Promise<string> => (await issueKey(stack, { plan })).key;
  const pro = fixture(async () => ({ key: await newKey('PRO') }));

  const addressAt = (addresses: readonly string[], index: number): string =>
    addresses[index % addresses.length] ?? '';

  const shorten = (index: number, key: string, body: object = {}): Promise<HttpResponse> =>
    sendRequest(`${addressAt(stack.apis, index)}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: { url: 'https://example.com/', ...body },
    });

  const createLink = async (body: object = {}): Promise<string> => {
    let response = await shorten(0, pro.key, body);
    await eventually('links can be created', async () => {
      // A process that was stopped before may not have resumed yet.
      if (response.status === 503) response = await shorten(0, pro.key, body);
      return response.status !== 503;
    });
    expect(response.status, response.text).to.equal(201);
    return (response.json() as { shortCode: string }).shortCode;
  };

  /** Visits a link on each edge. */
  const visit = async (code: string): Promise<number[]> => {
    const responses = await Promise.all(stack.edges.map((edge) => sendRequest(`${edge}/${code}`)));
    return responses.map(({ status }) => status);
  };

  it(`gives an alias to one of ${racers} requests`, async () => {
    for (let round = 1; round <= rounds; round += 1) {
      const keys = [await newKey('PRO'), await newKey('PRO')];
      const responses = await concurrently(racers, (racer) =>
        shorten(racer, keys[Math.floor(racer / 2) % 2] ?? '', { alias: `raced-for-${round}` }),
      );
      expect(statuses(responses), `round ${round}`).to.deep.equal({ 201: 1, 400: racers - 1 });
    }
  });

  it(`redirects exactly 10 of ${racers} visits of a link with that limit`, async () => {
    for (let round = 1; round <= rounds; round += 1) {
      const code = await createLink({ maxClicks: 10 });
      const responses = await concurrently(racers, (visitor) =>
        sendRequest(`${addressAt(stack.edges, visitor)}/${code}`),
      );
      expect(statuses(responses), `round ${round}`).to.deep.equal({ 302: 10, 410: racers - 10 });
    }
  });

  it('accepts exactly 60 of 200 concurrent calls with a limit of 60 a minute', async () => {
    for (let round = 1; round <= rounds; round += 1) {
      const headers = { Authorization: `Bearer ${await newKey('FREE')}` };
      const responses = await concurrently(200, (call) =>
        sendRequest(`${addressAt(stack.apis, call)}/v2/usage`, { headers }),
      );
      expect(statuses(responses), `round ${round}`).to.deep.equal({ 200: 60, 429: 140 });
    }
  });

  it('keeps counts monotonic during rebuilds from Kafka, and loses no visit', async () => {
    const links = 10;
    const codes: string[] = [];
    while (codes.length < links) codes.push(await createLink());
    const visits = new Map(codes.map((code) => [code, { requests: 0, redirects: 0 }]));
    const rebuilding = new AbortController();
    const isOver = (): boolean => rebuilding.signal.aborted;
    const clicksAt = async (api: string, code: string): Promise<number> => {
      const headers = { Authorization: `Bearer ${pro.key}` };
      const response = await sendRequest(`${api}/v2/stats/${code}`, { headers });
      expect(response.status, response.text).to.equal(200);
      return (response.json() as { clickCount: number }).clickCount;
    };

    const visitAll = async (first: number): Promise<void> => {
      for (let number = first; !isOver(); number += 1) {
        const code = codes[number % links] ?? '';
        const count = visits.get(code);
        if (!count) throw new Error(`${code} has no count`);
        count.requests += 1;
        const { status } = await sendRequest(`${addressAt(stack.edges, number)}/${code}`);
        expect(status, code).to.equal(302);
        count.redirects += 1;
      }
    };
    let readings = 0;
    const watch = async (api: string): Promise<void> => {
      const seen = new Map<string, number>();
      while (!isOver()) {
        for (const code of codes) {
          const clicks = await clicksAt(api, code);
          expect(clicks, code).to.be.at.least(seen.get(code) ?? 0);
          expect(clicks, code).to.be.at.most(visits.get(code)?.requests ?? 0);
          seen.set(code, clicks);
          readings += 1;
        }
      }
    };
    const create = async (): Promise<void> => {
      while (!isOver()) {
        expect(await visit(await createLink())).to.deep.equal([302, 302]);
        await sleep(50);
      }
    };
    const rebuildAll = async (): Promise<void> => {
      try {
        for (const projection of Array.from({ length: 3 }, () => projectionNames).flat()) {
          const args = ['projections', 'rebuild', projection, '--yes', '--json'];
          const output = await startLinklogCli(args, { DATA_DIR: stack.dataDir }).ended;
          expect(output.exitCode, output.stderr).to.equal(0);
          expect(JSON.parse(output.stdout)).to.deep.include({ projection, deadLetters: 0 });
        }
      } finally {
        rebuilding.abort();
      }
    };
    await Promise.all([
      ...[rebuildAll(), create(), ...stack.apis.map(watch)],
      ...Array.from({ length: 4 }, (_, number) => visitAll(number)),
    ]);
    expect(readings).to.be.above(100);
    for (const [code, { redirects }] of visits) {
      for (const api of stack.apis) {
        await eventually(`each visit of ${code} is counted`, async () => {
          return (await clicksAt(api, code)) === redirects;
        });
      }
    }
  });

  for (const [stopped, status] of [
    ['kafka', 202],
    ['projector', 200],
  ] as const) {
    it(`blocks links on every edge within a second while ${stopped} is stopped`, async () => {
      const createLinks = async (): Promise<string[]> => {
        const codes: string[] = [];
        while (codes.length < 10) codes.push(await createLink());
        return codes;
      };
      const codes = await createLinks();
      const pids = stack.pids[stopped];
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      try {
        // Without Kafka, no link can be created.
        if (stopped === 'projector') codes.push(...(await createLinks()));
        for (const [index, code] of codes.entries()) {
          // Cached and uncached links.
          if (index % 2 === 0) expect(await visit(code)).to.deep.equal([302, 302]);
          const block = sendRequest(`${stack.admin}/admin/links/${code}/block`, {
            method: 'POST',
            headers: { Authorization: `Bearer ${stack.adminToken}` },
            body: { reason: 'phishing' },
          });
          const [response, seen] = await Promise.all([block, sleep(1_000).then(() => visit(code))]);
          expect(response.status, response.text).to.equal(status);
          expect(seen, `link ${index}`).to.deep.equal([410, 410]);
        }
      } finally {
        for (const pid of pids) process.kill(pid, 'SIGCONT');
      }
    });
  }
});
