import { expect } from 'chai';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { defaultPlanTable } from '../../../schemas/plans.js';
import { projectFile } from '../../platform/files/project-file.js';
import { merged, parseExposition, total, type Series } from '../support/exposition.js';
import { safeBrowsingFixture } from '../support/fixtures.js';
import { sendRequest, concurrently } from '../support/http.js';
import { startEventStoreDouble, type EventStoreDouble } from '../support/eventstore/double.js';
import { onStack } from '../support/product.js';
import { testRedis } from '../support/redis.js';
import { eventually } from '../support/waiting.js';
import { Bench } from './harness.js';
import { temporaryDir } from '../support/process.js';
import { projectionNames } from '../../../projectors/projections.js';
import { isUsable, needs } from '../support/needs.js';

const requests = 'linklog_http_request_duration_seconds_count';
/** How to merge values of several processes that must not be added up. */
const mergers = {
  linklog_archive_dead_letters: Math.max,
  linklog_archive_lag_events: Math.max,
  linklog_archive_parked_events: Math.max,
  linklog_archive_removed_events: Math.max,
  linklog_dependency_up: Math.min,
  linklog_edge_shared_cache_circuit: Math.min,
  linklog_postgres_pool_connections: Math.max,
  linklog_projection_dead_letters: Math.max,
  linklog_projection_lag_events: Math.max,
  linklog_projection_lag_seconds: Math.max,
  linklog_projection_parked_events: Math.max,
  linklog_spool_max_bytes: Math.min,
};
const localAddress = '127.0.0.77';
const secretDestination = 'https://secret-destination.example/hidden?token=abcdef';

describe('product: metrics of the running product', () => {
  const bench = new Bench();
  const double = safeBrowsingFixture();
  let archive: EventStoreDouble;
  let folder: string;

  before(async () => {
    archive = await startEventStoreDouble();
    folder = await temporaryDir();
    const { plans } = defaultPlanTable;
    const few = {
      ...defaultPlanTable,
      plans: {
        ...plans,
        FREE: { ...plans.FREE, requestsPerMinute: 5 },
        HOBBY: { ...plans.HOBBY, monthlyCalls: 3 },
      },
    };
    await writeFile(path.join(folder, 'plans.json'), JSON.stringify(few));
    await writeFile(path.join(folder, 'blocklist.txt'), 'blocked.example\n');
    await bench.start({
      PLANS_FILE: path.join(folder, 'plans.json'),
      BLOCKLIST_FILE: path.join(folder, 'blocklist.txt'),
      BACKUP_DIR: path.join(folder, 'backups'),
      SAFE_BROWSING_API_KEY: 'secret-safe-browsing-key',
      SAFE_BROWSING_URL: double.url,
      ...(isUsable('redis-server') && { REDIS_URL: (await testRedis()).url }),
      EVENTSTORE_URL: archive.url,
    });
  });
  after(async () => {
    try {
      await bench.end();
    } finally {
      archive.kill();
      await rm(folder, { recursive: true, force: true });
    }
  });

  const scrapeOne = async (admin: string): Promise<readonly Series[]> => {
    const response = await sendRequest(`${admin}/metrics`);
    expect(response.status).to.equal(200);
    return parseExposition(response.text);
  };

  const scrape = async (): Promise<readonly Series[]> =>
    merged(await Promise.all(bench.product.admins.map(scrapeOne)), mergers);

  const texts = async (): Promise<string> => {
    const responses = await Promise.all(
      bench.product.admins.map((at) => sendRequest(`${at}/metrics`)),
    );
    return responses.map(({ text }) => text).join('');
  };

  type Labels = Readonly<Record<string, string>>;

  /** The increase of each series by `act`. */
  const measureIncreases = async (
    series: readonly (readonly [name: string, labels?: Labels])[],
    act: () => Promise<unknown>,
  ): Promise<number[]> => {
    const before = await scrape();
    await act();
    const after = await scrape();
    return series.map(([name, labels]) => total(after, name, labels) - total(before, name, labels));
  };

  const times = async (count: number, act: (index: number) => Promise<unknown>): Promise<void> => {
    for (let index = 0; index < count; index += 1) await act(index);
  };

  it('need no token on loopback, are read-only, and are on the admin listener only', async () => {
    const { product } = bench;
    for (const admin of product.admins) {
      const head = await sendRequest(`${admin}/metrics`, { method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([200, '']);
      const post = await sendRequest(`${admin}/metrics`, { method: 'POST' });
      expect([post.status, post.headers.allow]).to.deep.equal([405, 'GET, HEAD']);
    }
    expect((await sendRequest(`${product.api}/metrics`)).status).to.equal(404);
    expect((await sendRequest(`${product.edge}/metrics`)).status).to.equal(404);
  });

  it('count every request of the edge, exactly', async () => {
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    const { shortCode: limited } = await bench.link(key, { maxClicks: 2 });
    const at = (route: string, method: string, status: number): readonly [string, Labels] => [
      requests,
      { listener: 'edge', route, method, status: String(status) },
    ];
    const increases = await measureIncreases(
      [
        at('/:shortCode', 'GET', 302),
        at('/:shortCode', 'GET', 404),
        at('/:shortCode', 'GET', 410),
        at('/:shortCode+', 'GET', 200),
        at('/', 'GET', 404),
        at('other', 'GET', 404),
        [requests, { listener: 'edge' }],
        ['linklog_spool_appended_visits_total'],
      ],
      async () => {
        await concurrently(200, () => bench.visit(shortCode));
        await times(3, () => bench.visit(limited));
        await times(4, (index) => bench.visit(`unknown-${index}`));
        await bench.visit(`${shortCode}+`);
        for (const path of ['', '%zz', '%zz/b']) await bench.visit(path);
      },
    );
    expect(increases).to.deep.equal([202, 4, 1, 1, 1, 2, 211, 200]);
  });

  it('show the edge’s cache, and its spool until all visits are projected', async () => {
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    const lookups = 'linklog_edge_cache_lookups_total';
    const increases = await measureIncreases(
      [[lookups, { result: 'miss' }], [lookups, { result: 'hit' }], ['linklog_edge_cache_links']],
      () => times(10, () => bench.visit(shortCode)),
    );
    expect(increases).to.deep.equal([1, 9, 1]);
    await eventually('all visits are shipped and projected', async () => {
      const series = await scrape();
      const left = ['linklog_spool_events', 'linklog_spool_bytes', 'linklog_projection_lag_events'];
      return left.every((name) => total(series, name) === 0);
    });
    const series = await scrape();
    const value = (name: string): number => total(series, name);
    expect(value('linklog_spool_shipped_visits_total')).to.equal(
      value('linklog_spool_appended_visits_total'),
    );
    expect(value('linklog_spool_ship_duration_seconds_count')).to.be.at.least(1);
    expect(value('linklog_spool_max_bytes')).to.equal(2 ** 30);
    expect(value('linklog_edge_cache_bytes')).to.be.above(0);
    const projections = series.filter(({ name }) => name === 'linklog_projection_lag_seconds');
    expect(projections.map(({ labels }) => labels['projection'])).to.have.members([
      ...projectionNames,
    ]);
  });

  it('count every request of the API and of operators, and every admission', async () => {
    const [pro, free, hobby] = await Promise.all([
      bench.key('PRO'),
      bench.key('FREE'),
      bench.key('HOBBY'),
    ]);
    const at = (
      listener: string,
      route: string,
      method: string,
      status: number,
    ): readonly [string, Labels] => [requests, { listener, route, method, status: String(status) }];
    const admitted = (outcome: string): readonly [string, Labels] => [
      'linklog_admissions_total',
      { outcome },
    ];
    const increases = await measureIncreases(
      [
        at('api', '/v2/shorten', 'POST', 201),
        at('api', '/v2/shorten', 'POST', 401),
        at('api', '/v2/stats/:shortCode', 'GET', 429),
        at('api', '/v2/usage', 'GET', 429),
        at('api', '/v2/usage', 'GET', 503),
        [requests, { listener: 'api' }],
        at('admin', '/admin/keys/:id', 'GET', 200),
        ...['admitted', 'unauthorized', 'minute_limit', 'monthly_limit', 'maintenance'].map(
          (outcome) => admitted(outcome),
        ),
      ],
      async () => {
        await times(3, () => bench.link(pro.key));
        await bench.shorten('ll_nobody', {});
        await times(7, () => bench.api('/v2/usage', free.key));
        await times(4, () => bench.api('/v2/stats/unknown-code', hobby.key));
        await bench.admin('GET', `/admin/keys/${pro.id}`);
        await bench.admin('PATCH', '/admin/platform', { maintenance: true });
        try {
          await bench.api('/v2/usage', pro.key);
        } finally {
          await bench.admin('PATCH', '/admin/platform', { maintenance: false });
        }
      },
    );
    // Here FREE has five calls a minute, HOBBY three a month.
    expect(increases).to.deep.equal([3, 1, 1, 2, 1, 16, 1, 11, 1, 2, 1, 1]);
  });

  it('count verdicts and look-ups of the web safety check', async () => {
    const { key } = await bench.key('PRO');
    const verdict = (name: string): readonly [string, Labels] => [
      'linklog_web_safety_verdicts_total',
      { verdict: name },
    ];
    const cache = 'linklog_safe_browsing_cache_lookups_total';
    const calls = 'linklog_safe_browsing_calls_total';
    const shorten = (url: string): Promise<unknown> => bench.shorten(key, { url });
    const increases = await measureIncreases(
      [
        verdict('safe'),
        verdict('unsafe'),
        verdict('unknown'),
        [cache, { result: 'hit' }],
        [cache, { result: 'miss' }],
        [calls, { outcome: 'answered' }],
        [calls, { outcome: 'failed' }],
      ],
      async () => {
        await shorten('https://metrics.example/1');
        await shorten('https://metrics.example/1');
        await shorten('https://evil.example/1');
        await shorten('https://blocked.example/1');
        double.behaviour = 'fail';
        await shorten('https://metrics.example/2');
        double.behaviour = 'answer';
      },
    );
    expect(increases).to.deep.equal([2, 2, 1, 1, 3, 2, 1]);
  });

  it('have a bounded number of series', async () => {
    const random = (): string => Math.random().toString(36).slice(2);
    const flood = (): Promise<unknown> =>
      concurrently(300, (index) => {
        const { api, edge, admin } = bench.product;
        const origin = [edge, api, admin][index % 3] ?? edge;
        const path = [`/${random()}`, `/${random()}/${random()}`, `/v2/stats/${random()}`][
          Math.floor(index / 3) % 3
        ];
        const method = ['GET', 'POST', 'PROPFIND'][Math.floor(index / 9) % 3] ?? 'PROPFIND';
        return sendRequest(`${origin}${path ?? ''}?${random()}=1`, { method });
      });
    await flood();
    const once = await scrape();
    await flood();
    const twice = await scrape();
    // New statuses may add some series; a series per path would add hundreds.
    expect(twice.length).to.be.below(once.length + 100);
    const values = (label: string): string[] =>
      [...new Set(twice.flatMap(({ labels }) => labels[label] ?? []))].sort();
    expect(values('listener')).to.deep.equal(['admin', 'api', 'edge']);
    expect(values('method')).to.include('other').and.not.include('PROPFIND');
    for (const route of values('route')) {
      expect(route).to.match(
        /^(other|\/|\/(v2|admin|health)(\/[a-z:A-Z-]+)*|\/:shortCode\+?|\/metrics|\/robots\.txt)$/,
      );
    }
  });

  it('contain no secret', async () => {
    const { key, id, name } = await bench.key('PRO', { name: 'secret key name' });
    const { shortCode } = await bench.link(key, {
      url: secretDestination,
      alias: 'secret-alias',
      password: 'secret password',
    });
    await bench.visit(shortCode, { localAddress, headers: { 'User-Agent': 'secret-agent' } });
    await bench.api(`/v2/stats/${shortCode}`, key, { localAddress });
    await bench.admin('GET', `/admin/keys/${id}`);
    const text = await texts();
    const { adminToken, dataDir } = bench.product;
    for (const secret of [key, id, name, shortCode, adminToken, dataDir, '127.0.0.', 'secret']) {
      expect(text, secret).not.to.include(secret);
    }
    expect(text).not.to.match(/:\/\/|ll_[0-9A-Za-z]/);
  });

  describe('with Redis', () => {
    needs('redis-server');

    it('show PostgreSQL’s connections, the outbox, passwords and the process', async () => {
      const series = await scrape();
      const pools = series.filter(({ name }) => name === 'linklog_postgres_pool_max_connections');
      expect(pools.map(({ labels }) => labels['pool'])).to.have.members([
        'log',
        'projectors',
        // The projectors' reader of the log, if they have their own thread.
        ...(onStack ? [] : ['projectors-log']),
        'projection-work',
        'edge',
        'command-api',
        'exports',
        'feed',
        'webhooks',
        'archive',
        // Requests wait for the relay to Kafka.
        ...(onStack ? ['delivery'] : []),
      ]);
      const value = (name: string): number => total(series, name);
      expect(value('linklog_postgres_pool_connections')).to.be.within(1, 44);
      expect(value('linklog_postgres_pool_waiting_requests')).to.equal(0);
      expect(value('linklog_dependency_up')).to.equal(8);
      expect(value('linklog_edge_shared_cache_circuit')).to.equal(1);
      expect(value('linklog_outbox_appended_events_total')).to.be.at.least(
        value('linklog_outbox_append_duration_seconds_count'),
      );
      expect(value('linklog_password_hashes_waiting')).to.equal(0);
      expect(value('linklog_password_hashes_refused_total')).to.equal(0);
      expect(value('process_resident_memory_bytes')).to.be.above(1e7);
    });

    it('are all documented in ops/docs/metrics.md', async () => {
      const page = await readFile(projectFile('ops', 'docs', 'metrics.md'), 'utf8');
      const text = await texts();
      const names = [...text.matchAll(/^# TYPE (linklog_\w+) /gm)].map(([, name]) => name ?? '');
      expect(names).to.have.length.above(20);
      const documented = page
        .split('\n')
        // The log in Kafka is not compacted by Linklog.
        .filter((line) => !line.includes(onStack ? 'With the embedded log:' : 'With Kafka:'))
        .flatMap((line) => [...line.matchAll(/`(linklog_\w+)`/g)].map(([, name]) => name ?? ''));
      expect([...new Set(documented)]).to.have.members([...new Set(names)]);
    });
  });
});
