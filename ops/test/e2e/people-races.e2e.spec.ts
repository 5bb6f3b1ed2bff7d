import { expect } from 'chai';
import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PersonResponse } from '../../../schemas/http/people.js';
import { fixture } from '../support/fixture.js';
import { Browser, startIdentityProvider } from '../support/identity-provider.js';
import { startLinklogCli } from '../support/process.js';
import { serversFor } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { productFixture } from './harness.js';
import { newPerson, peopleAt } from './people-harness.js';

describe('people under concurrency', () => {
  const provider = fixture(startIdentityProvider, (started) => started.stop());
  const bench = productFixture(() => provider.env);
  let at: ReturnType<typeof peopleAt>;
  before(() => {
    provider.register(bench.product);
    at = peopleAt(bench, provider);
  });

  const join = async (key: string, role: string) => {
    const browser = new Browser();
    const { token } = await at.invite(key, { role });
    return at.signIn(newPerson(), { browser, start: await at.begin(browser, token) });
  };

  it('keep an owner of the account through 200 changes of roles and removals', async () => {
    const { key } = await bench.key('PRO', { account: 'raced' });
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) ids.push(await (await join(key, 'owner')).idOf());
    const { admins, adminToken } = bench.product;
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const id = ids[index % ids.length] ?? '';
        const admin = admins[index % admins.length] ?? '';
        const path = `/admin/people/${id}/roles/raced`;
        const role = ['owner', 'admin', 'viewer'][index % 3];
        const response = await fetch(admin + path, {
          method: index % 4 === 0 ? 'DELETE' : 'PUT',
          headers: { Authorization: `Bearer ${adminToken}`, 'Content-Type': 'application/json' },
          ...(index % 4 !== 0 && { body: JSON.stringify({ role }) }),
        });
        return response.status;
      }),
    );
    // Changes are decided one at a time: on a busy machine, the last ones get a 503.
    const expected = [200, 202, 404, 409, 503];
    expect(statuses.filter((status) => !expected.includes(status))).to.deep.equal([]);
    expect(statuses).to.include(200);
    await eventuallyPasses(async () => {
      const invitation = { role: 'viewer' };
      const options = { method: 'POST', body: invitation };
      expect((await bench.api('/v2/people/invitations', key, options)).status).to.equal(201);
    });
    const people = await at.peopleOf(key);
    expect(people.filter(({ role }) => role === 'owner')).to.not.deep.equal([]);
    const { events } = (
      await bench.api('/v2/events?types=PersonAdded,PersonChanged,PersonRemoved&limit=1000', key)
    ).json() as { events: { subject: string; time: string; data: Partial<PersonResponse> }[] };
    const roles = new Map<string, string>();
    const sorted = events.toSorted((a, b) => (a.time < b.time ? -1 : 1));
    for (const [index, { subject, time, data }] of sorted.entries()) {
      if (data.role === undefined) roles.delete(subject);
      else roles.set(subject, data.role);
      // Events of one millisecond have no order.
      if (sorted[index + 1]?.time === time) continue;
      expect([...roles.values()], `at ${time}`).to.include('owner');
    }
  });

  it('use an invitation once, although 20 browsers accept it together', async () => {
    const { key } = await bench.key('PRO', { account: 'invited' });
    const { token } = await at.invite(key, { role: 'editor' });
    const starts = [];
    for (let count = 0; count < 20; count += 1) {
      const browser = new Browser();
      const location = await at.begin(browser, token);
      // The provider signs people in one after the other.
      starts.push(await provider.authorize(location, newPerson(), browser));
    }
    const responses = await Promise.all(
      starts.map(({ browser, callback }) => browser.get(callback)),
    );
    const counts = responses.map(({ status }) => status).sort();
    expect(counts).to.deep.equal([303, ...new Array<number>(19).fill(404)]);
    expect(await at.peopleOf(key)).to.have.length(1);
  });

  it('lose streams and exports within a second after their removal, on each node', async function () {
    this.timeout(180_000);
    const { key } = await bench.key('PRO', { account: 'removed' });
    await join(key, 'owner');
    // An export of 19 MB does not fit into the buffers of a connection.
    const url = `https://example.com/${'x'.repeat(2_000)}`;
    const rules = Array.from({ length: 20 }, (_, index) => ({
      ...{ name: `rule-${index}`, when: { languages: ['de'] }, url },
    }));
    const body = { urls: new Array<object>(12).fill({ url, rules }) };
    for (let count = 0; count < 40; count += 1) {
      const created = await bench.api('/v2/shorten/batch', key, { method: 'POST', body });
      expect(created.status, created.text).to.equal(200);
    }
    const open = async (url: string, Cookie: string): Promise<IncomingMessage> => {
      const headers = { Cookie, Accept: 'text/event-stream' };
      const [response] = (await once(get(url, { headers, agent: false }), 'response')) as [
        IncomingMessage,
      ];
      expect(response.statusCode, url).to.equal(200);
      response.on('error', () => undefined);
      return response;
    };
    /** Reads the rest of a response. `once` would reject at the error of a connection that was reset. */
    const closing = (response: IncomingMessage): Promise<unknown> =>
      new Promise((resolve) => response.resume().once('close', resolve));
    const times: number[] = [];
    // The limit is 1 s, with room for a busy machine.
    const longestMs = 3_000;
    for (let count = 0; count < 5; count += 1) {
      const person = await join(key, 'editor');
      const Cookie = person.browser.cookieOf(bench.product.api);
      const openEach = (path: string) =>
        Promise.all(bench.product.apis.map((api) => open(`${api}/console/v2/${path}`, Cookie)));
      const [streams, exports] = [await openEach('events'), await openEach('export?format=jsonl')];
      const ended = streams.map(closing);
      const path = `/v2/people/${await person.idOf()}`;
      const removed = await bench.api(path, key, { method: 'DELETE' });
      expect(removed.status, removed.text).to.equal(200);
      const startedAt = performance.now();
      await Promise.all(ended);
      times.push(performance.now() - startedAt);
      // A paused client notices the end when it reads again.
      await sleep(longestMs);
      for (const file of exports) {
        await closing(file);
        expect(file.complete).to.equal(false);
      }
      expect(await person.session()).to.equal(null);
    }
    expect(Math.max(...times)).to.be.below(longestMs);
  });

  it('leave a ledger that equals the log', async () => {
    const { dataDir } = bench.product;
    const env = { ...(await serversFor(dataDir)), DATA_DIR: dataDir };
    const { exitCode, stdout, stderr } = await startLinklogCli(['audit', 'verify', '--json'], env)
      .ended;
    expect(exitCode, stdout + stderr).to.equal(0);
  });
});
