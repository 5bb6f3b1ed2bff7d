import { expect } from 'chai';
import path from 'node:path';
import { dnsServerFixture } from '../support/dns-server.js';
import { fixture } from '../support/fixture.js';
import { folderFixture } from '../support/fixtures.js';
import { sendRequest } from '../support/http.js';
import { startLinklogCli, type CommandOutput } from '../support/process.js';
import { serversFor, startProduct } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls, expectDomain, newName } from './domains-harness.js';
import { Bench, destination } from './harness.js';

/** What happens to a link after its visits. Each code has another fate on each domain. */
const fates = ['edited', 'expired', 'deleted', 'active'] as const;
const codes = ['one-code', 'One-code', 'one_code', 'code-one'];
const editedUrl = (url: string): string => `${url}&edited`;

const cli = async (args: readonly string[], dataDir: string): Promise<CommandOutput> => {
  const env = { ...(await serversFor(dataDir)), DATA_DIR: dataDir };
  const output = await startLinklogCli(args, env).ended;
  expect(output.exitCode, `${args.join(' ')}: ${output.stderr}${output.stdout}`).to.equal(0);
  return output;
};

// Products of their own: one is backed up and stopped, the other one is restored.

describe('product: one code on several domains', function () {
  this.timeout(240_000);
  const dns = dnsServerFixture();
  const folder = folderFixture();
  const target = folderFixture();
  const env = (): Record<string, string> => ({
    ...{ DNS_SERVERS: dns.address, SHORT_URL_HOST: 'https://short.own.example' },
  });
  const [old, restored] = [0, 1].map(() =>
    fixture(
      () => new Bench(),
      (bench) => bench.end(),
    ),
  ) as [Bench, Bench];

  it('is a link on each of them: changed, verified, backed up and restored apart', async () => {
    await old.start(env());
    const calls = domainCalls(old, dns);
    const key = await old.key('PRO', { account: 'identity' });
    const names = [await calls.activate(key.key), await calls.activate(key.key), newName()];
    const [first = '', , operators = ''] = names;
    expectDomain(await calls.add(operators, key.account), 201);
    const expiredRedirect = 'https://example.com/expired';
    expectDomain(await calls.change(key.key, first, { expiredRedirect }), 200);
    const released = await calls.activate(key.key);
    const links = [...names, null].flatMap((domain, row) =>
      codes.map((code, column) => ({
        ...{ domain, code, host: domain ?? 'localhost' },
        at: domain === null ? code : `${code}?domain=${domain}`,
        fate: fates[(row + column) % fates.length] ?? 'active',
        url: `${destination}&number=${row}-${column}`,
        visits: 1 + ((row * codes.length + column) % 5),
      })),
    );
    // A link on a domain that an operator releases later.
    const orphan = await old.link(key.key, { domain: released, alias: codes[0] });

    for (const { domain, code, url, host, visits } of links) {
      await old.link(key.key, { alias: code, url, domain });
      for (let count = 0; count < visits; count += 1) {
        expect(await calls.locationOf(host, code)).to.equal(url);
      }
    }
    const expectClicks = (bench: Bench, clicksOf: (link: (typeof links)[number]) => number) =>
      eventuallyPasses(async () => {
        for (const link of links) {
          const { clickCount } = await bench.stats(link.at, key.key);
          expect(clickCount, link.at).to.equal(clicksOf(link));
        }
      });
    await expectClicks(old, ({ visits }) => visits);
    for (const { at, fate, url, visits } of links) {
      if (fate === 'edited') await old.change(at, key.key, { url: editedUrl(url) });
      if (fate === 'expired') await old.change(at, key.key, { maxClicks: visits });
      if (fate === 'deleted') await old.api(`/v2/links/${at}`, key.key, { method: 'DELETE' });
    }
    expect((await calls.release(released)).status).to.equal(200);

    const expectServed = (bench: Bench): Promise<void> => {
      const { visit, onEveryEdge } = domainCalls(bench, dns);
      return onEveryEdge(async (edge) => {
        for (const { host, code, fate, url, at } of links) {
          const { headers, status } = await visit(host, code, { method: 'HEAD' }, edge);
          const expected = { edited: editedUrl(url), expired: '410', deleted: '410', active: url };
          expect(headers.location ?? String(status), at).to.equal(expected[fate]);
        }
      });
    };
    /** The state that the owner sees. */
    const readState = async (bench: Bench): Promise<ReadonlyMap<string, unknown>> => {
      const routes = [
        ...links.flatMap(({ code, domain }) =>
          [`links/${code}`, `links/${code}/history`, `stats/${code}`].map(
            (route) => route + (domain === null ? '' : `?domain=${domain}`),
          ),
        ),
        ...names.flatMap((name) => [`links?domain=${name}`, `stats?domain=${name}`]),
        ...['domains', ...names.map((name) => `domains/${name}`)],
      ];
      const state = new Map<string, unknown>();
      for (const route of routes) {
        const response = await bench.api(`/v2/${route}`, key.key);
        expect(response.status, response.text).to.equal(200);
        // The period ends now.
        state.set(route, { ...(response.json() as object), period: null });
      }
      return state;
    };
    const verify = (bench: Bench) => cli(['audit', 'verify', '--json'], bench.product.dataDir);

    await expectServed(old);
    await verify(old);
    // The lists are exact within a second.
    let before = await readState(old);
    await eventuallyPasses(async () => {
      const earlier = before;
      before = await readState(old);
      expect(before).to.deep.equal(earlier);
    });
    const listed = JSON.stringify([...before]);
    for (const { fate, url } of links) {
      if (fate === 'edited') expect(listed).to.include(editedUrl(url));
    }

    const file = path.join(folder.path, 'linklog.backup');
    await cli(['backup', file], old.product.dataDir);
    await old.product.stop();
    await cli(['restore', file], target.path);
    restored.use(await startProduct({ env: env(), dataDir: target.path }));

    for (const [route, response] of await readState(restored)) {
      expect(response, route).to.deep.equal(before.get(route));
    }
    await expectServed(restored);
    for (const { domain, code } of links) {
      const again = await restored.shorten(key.key, { url: destination, alias: code, domain });
      expect(again.json(), again.text).to.include({ message: 'Alias is already taken' });
    }
    const after = domainCalls(restored, dns);
    const head = { method: 'HEAD' };
    const unknown = await after.visit(released, orphan.shortCode, head);
    expect(unknown.headers.location).to.not.equal(destination);
    for (const admin of restored.product.admins) {
      for (const name of [...names, released]) {
        const { status } = await sendRequest(`${admin}/tls/ask?domain=${name}`);
        expect(status, name).to.equal(name === released ? 404 : 200);
      }
    }
    const html = { headers: { Accept: 'text/html' } };
    const page = await after.visit(first, codes[1] ?? '', html);
    expect(page.headers.location).to.equal(expiredRedirect);

    // Visits continue to be counted apart, and the released domain gets its link back.
    const counted = links.find(({ fate, domain }) => fate === 'active' && domain !== null);
    if (!counted) throw new Error('no link on a domain is active');
    await after.visit(counted.host, counted.code);
    await expectClicks(restored, (link) => link.visits + (link === counted ? 1 : 0));
    expectDomain(await after.add(released, key.account), 201);
    await after.onEveryEdge(async (edge) => {
      const { headers } = await after.visit(released, orphan.shortCode, head, edge);
      expect(headers.location).to.equal(destination);
    });
    await verify(restored);
  });
});
