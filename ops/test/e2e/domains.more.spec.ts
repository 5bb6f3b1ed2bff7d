import { expect } from 'chai';
import path from 'node:path';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { AccountStatsResponse } from '../../../schemas/http/statistics.js';
import { dnsServerFixture } from '../support/dns-server.js';
import { fixture } from '../support/fixture.js';
import { folderFixture } from '../support/fixtures.js';
import { sendRequest } from '../support/http.js';
import { startLinklogCli, type CommandOutput } from '../support/process.js';
import { serversFor, startProduct, type IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls, expectDomain, newName } from './domains-harness.js';
import { Bench, destination, type Stats } from './harness.js';

/** What happens to a link after its visits. Each code has another fate on each domain. */
const fates = ['edited', 'expired', 'deleted', 'active'] as const;
const codes = ['one-code', 'One-code', 'one_code', 'code-one'];

interface TestLink {
  readonly domain: string | null;
  readonly code: string;
  readonly fate: (typeof fates)[number];
  readonly url: string;
  readonly visits: number;
}

const queryOf = ({ domain }: Pick<TestLink, 'domain'>): string =>
  domain === null ? '' : `?domain=${domain}`;
const editedUrl = (url: string): string => `${url}&edited`;

const cli = async (args: readonly string[], dataDir: string): Promise<CommandOutput> => {
  const env = { ...(await serversFor(dataDir)), DATA_DIR: dataDir };
  const output = await startLinklogCli(args, env).ended;
  expect(output.exitCode, `${args.join(' ')}: ${output.stderr}${output.stdout}`).to.equal(0);
  return output;
};

describe('product: one code on several domains', function () {
  this.timeout(240_000);
  const dns = dnsServerFixture();
  const folder = folderFixture();
  const target = folderFixture();
  const env = (): Record<string, string> => ({
    ...{ DNS_SERVERS: dns.address, SHORT_URL_HOST: 'https://short.own.example' },
  });
  const benchFixture = (): Bench =>
    fixture(
      () => new Bench(),
      (bench) => bench.end(),
    );
  const old = benchFixture();
  const restored = benchFixture();

  it('is a link on each of them: changed, verified, backed up and restored apart', async () => {
    await old.start(env());
    const calls = domainCalls(old, dns);
    const key = await old.key('PRO', { account: 'identity' });
    const domains: readonly (string | null)[] = [
      await calls.activate(key.key),
      await calls.activate(key.key),
      newName(),
      null,
    ];
    expectDomain(await calls.add(domains[2] ?? '', key.account), 201);
    const expiredRedirect = 'https://example.com/expired';
    expectDomain(await calls.change(key.key, domains[0] ?? '', { expiredRedirect }), 200);
    const released = await calls.activate(key.key);
    const testLinks = domains.flatMap((domain, row) =>
      codes.map((code, column): TestLink => {
        const fate = fates[(row + column) % fates.length] ?? 'active';
        const url = `${destination}&number=${row}-${column}`;
        return { domain, code, fate, url, visits: 1 + ((row * codes.length + column) % 5) };
      }),
    );
    // A link on a domain that an operator releases later.
    const orphan = await old.link(key.key, { domain: released, alias: codes[0] });

    /** The response of every edge. */
    const visitAll = async (bench: Bench, { domain, code }: Pick<TestLink, 'domain' | 'code'>) => {
      const { visit } = domainCalls(bench, dns);
      const locations: (string | undefined)[] = [];
      for (const edge of bench.product.edges) {
        const { headers, status } = await visit(
          domain ?? 'localhost',
          code,
          { method: 'HEAD' },
          edge,
        );
        locations.push(headers.location ?? String(status));
      }
      return locations;
    };
    const expectServed = (bench: Bench, testLink: TestLink): Promise<void> => {
      const { fate, url } = testLink;
      const expected = { edited: editedUrl(url), expired: '410', deleted: '410', active: url }[
        fate
      ];
      return eventuallyPasses(async () => {
        const { domain, code } = testLink;
        for (const location of await visitAll(bench, testLink)) {
          expect(location, `${domain ?? ''}/${code}`).to.equal(expected);
        }
      });
    };
    const statsOf = async (bench: Bench, testLink: TestLink): Promise<Stats> =>
      bench.stats(`${testLink.code}${queryOf(testLink)}`, key.key);

    for (const { domain, code, url } of testLinks) {
      const body = { alias: code, url, title: `${domain ?? 'default'} ${code}` };
      await old.link(key.key, { ...body, ...(domain !== null && { domain }) });
    }
    for (const { domain, code, url, visits } of testLinks) {
      for (let count = 0; count < visits; count += 1) {
        const response = await calls.visit(domain ?? 'localhost', code);
        expect([response.status, response.headers.location]).to.deep.equal([302, url]);
      }
    }
    await eventuallyPasses(async () => {
      for (const testLink of testLinks) {
        const { clickCount, url } = await statsOf(old, testLink);
        expect([url, clickCount]).to.deep.equal([testLink.url, testLink.visits]);
      }
    });

    for (const testLink of testLinks) {
      const { code, fate, url, visits } = testLink;
      if (fate === 'active') continue;
      const bodies = { edited: { url: editedUrl(url) }, expired: { maxClicks: visits } };
      const response = await old.api(`/v2/links/${code}${queryOf(testLink)}`, key.key, {
        ...(fate === 'deleted' ? { method: 'DELETE' } : { method: 'PATCH', body: bodies[fate] }),
      });
      expect(response.status, response.text).to.be.oneOf([200, 204]);
    }
    for (const testLink of testLinks) await expectServed(old, testLink);
    expect((await calls.release(released)).status).to.equal(200);

    /** Waits for the lists, which are exact within a second. */
    const expectListed = (bench: Bench): Promise<void> =>
      eventuallyPasses(async () => {
        for (const domain of domains) {
          if (domain === null) continue;
          const response = await bench.api(`/v2/links?domain=${domain}`, key.key);
          const { links } = response.json() as { links: readonly LinkDetails[] };
          const listed = links.map(({ shortCode, url }) => [shortCode, url]);
          const expected = testLinks
            .filter((testLink) => testLink.domain === domain && testLink.fate !== 'deleted')
            .map(({ code, fate, url }) => [code, fate === 'edited' ? editedUrl(url) : url]);
          expect(listed).to.have.deep.members(expected);
        }
      });

    /** The state that the owner and visitors see. */
    const readState = async (bench: Bench): Promise<object> => {
      const json = async (route: string): Promise<unknown> => {
        const response = await bench.api(route, key.key);
        expect(response.status, response.text).to.equal(200);
        return response.json();
      };
      const links = new Map<string, unknown>();
      for (const testLink of testLinks) {
        const { code, fate } = testLink;
        const details = (await json(`/v2/links/${code}${queryOf(testLink)}`)) as LinkDetails;
        expect(details.status).to.equal(
          { edited: 'active', expired: 'expired', deleted: 'deleted', active: 'active' }[fate],
        );
        const history = await json(`/v2/links/${code}/history${queryOf(testLink)}`);
        const { clickCount } = await statsOf(bench, testLink);
        links.set(`${testLink.domain ?? ''}/${code}`, { details, history, clickCount });
      }
      const ofDomains = [];
      for (const domain of domains) {
        if (domain === null) continue;
        const list = (await json(`/v2/links?domain=${domain}`)) as { links: LinkDetails[] };
        const stats = (await json(`/v2/stats?domain=${domain}`)) as AccountStatsResponse;
        const { linkCount, clickCount } = stats;
        ofDomains.push([
          domain,
          list.links,
          linkCount,
          clickCount,
          await json(`/v2/domains/${domain}`),
        ]);
      }
      return { links: [...links], ofDomains, domains: await json('/v2/domains') };
    };
    const expectConsistent = async (dataDir: string): Promise<void> => {
      await cli(['audit', 'verify', '--json'], dataDir);
    };

    await expectListed(old);
    const before = await readState(old);
    await expectConsistent(old.product.dataDir);
    const replayed = await cli(['audit', 'replay', '--topic', 'accounts'], old.product.dataDir);
    const events = replayed.stdout
      .split('\n')
      .filter((line) => line.includes('linklog.Domain'))
      .map((line) => JSON.parse(line) as { subject: string; type: string; account: string });
    const typesOf = (domain: string | null): readonly string[] =>
      events.filter(({ subject }) => subject === domain).map(({ type }) => type);
    expect(typesOf(domains[0] ?? null)).to.deep.equal([
      ...['linklog.DomainClaimed.v1', 'linklog.DomainVerified.v1', 'linklog.DomainChanged.v1'],
    ]);
    expect(typesOf(domains[2] ?? null)).to.deep.equal(['linklog.DomainVerified.v1']);
    expect(typesOf(released).at(-1)).to.equal('linklog.DomainReleased.v1');

    const file = path.join(folder.path, 'linklog.backup');
    await cli(['backup', file], old.product.dataDir);
    await old.product.stop();
    await cli(['restore', file], target.path);
    restored.use(await startProduct({ env: env(), dataDir: target.path }));

    expect(await readState(restored)).to.deep.equal(before);
    for (const testLink of testLinks) await expectServed(restored, testLink);
    for (const location of await visitAll(restored, { domain: released, code: orphan.shortCode })) {
      // As on the default domain, where the code is another link.
      expect(location).to.not.equal(destination);
    }
    const after = domainCalls(restored, dns);
    await expectTaken(restored, key, testLinks);
    for (const admin of restored.product.admins) {
      const names = [...domains, released].flatMap((domain) => domain ?? []);
      for (const domain of names) {
        const { status } = await sendRequest(`${admin}/tls/ask?domain=${domain}`);
        expect(status, domain).to.equal(domain === released ? 404 : 200);
      }
    }
    const page = await after.visit(domains[0] ?? '', testLinks[1]?.code ?? '', {
      headers: { Accept: 'text/html' },
    });
    expect(page.headers.location).to.equal(expiredRedirect);

    // Visits continue to be counted apart, and the released domain gets its link back.
    const [counted] = testLinks.filter(({ fate, domain }) => fate === 'active' && domain !== null);
    if (!counted) throw new Error('no link on a domain is active');
    await after.visit(counted.domain ?? '', counted.code);
    await eventuallyPasses(async () => {
      for (const testLink of testLinks) {
        const { clickCount } = await statsOf(restored, testLink);
        expect(clickCount).to.equal(testLink.visits + (testLink === counted ? 1 : 0));
      }
    });
    expectDomain(await after.add(released, key.account), 201);
    await after.onEveryEdge(async (edge) => {
      const response = await after.visit(released, orphan.shortCode, { method: 'HEAD' }, edge);
      expect(response.headers.location).to.equal(destination);
    });
    await expectConsistent(target.path);
  });

  /** Expects that no code can be created again. */
  const expectTaken = async (
    bench: Bench,
    { key }: IssuedKey,
    testLinks: readonly TestLink[],
  ): Promise<void> => {
    for (const { domain, code } of testLinks) {
      const body = { url: destination, alias: code, domain };
      const response = await bench.shorten(key, body);
      expect(response.json(), response.text).to.include({ message: 'Alias is already taken' });
    }
  };
});
