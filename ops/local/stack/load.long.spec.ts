import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlanName } from '../../../schemas/plans.js';
import { inheritedEnvironment } from '../../config/config.js';
import { fixture } from '../../test/support/fixture.js';
import { concurrently, sendRequest, statuses, type HttpResponse } from '../../test/support/http.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
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

  it('blocks links on every edge within a second while the projectors are stopped', async () => {
    const pids = stack.pids.projector;
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      for (let index = 0; index < 10; index += 1) {
        const code = await createLink();
        // Cached and uncached links.
        if (index % 2 === 0) expect(await visit(code)).to.deep.equal([302, 302]);
        const block = sendRequest(`${stack.admin}/admin/links/${code}/block`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${stack.adminToken}` },
          body: { reason: 'phishing' },
        });
        const [response, seen] = await Promise.all([block, sleep(1_000).then(() => visit(code))]);
        expect(response.status, response.text).to.equal(200);
        expect(seen, `link ${index}`).to.deep.equal([410, 410]);
      }
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
  });
});
