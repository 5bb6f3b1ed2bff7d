/** What exists in the products of `growth.js`, and the calls whose cost must not follow it. */
import pLimit from 'p-limit';
import { topics } from '../../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../../schemas/testing/events.js';
import { openPostgresAppend } from '../../event-log/postgres-log.js';
import { createLinks } from '../support/create-links.js';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import type { Product } from '../support/product.js';
import { randomVisit } from './random-visits.js';

/** A product with little or with much of everything. */
export interface Side {
  readonly name: 'small' | 'large';
  /** Changes when the product restarts. */
  product: Product;
  /** The secret of a key of the account `own`. */
  readonly key: string;
  /** Links of the account. The first one has the visits, the second one the changes. */
  codes: readonly string[];
}

/**
 * A method, `VISIT` for a request to the edge, and a path. {first}, {second} and {recent} are links, {n} is a number that no
 * other request has.
 */
export type Call = string | readonly [string, body: object | string, headers?: object];

export interface Dimension {
  readonly name: string;
  /** The last one with `--full`. */
  readonly counts: readonly [small: number, large: number, full?: number];
  readonly grow: (side: Side, count: number) => Promise<unknown>;
  readonly calls: readonly Call[];
}

let requests = 0;

/**
 * @param mayBe statuses of errors that are returned: 503 also if a call exceeds its deadline on a busy machine
 * @throws if the response is another error
 */
export const send = async (side: Side, call: Call, mayBe = [503]): Promise<HttpResponse> => {
  const { product, key, codes } = side;
  requests += 1;
  const [first = '', second = ''] = codes;
  const values = { first, second, recent: codes.at(-1 - (requests % 50)) ?? '', n: requests };
  const fill = (value: unknown): string =>
    JSON.stringify(value).replace(/\{(first|second|recent|n)\}/g, (_, name: keyof typeof values) =>
      String(values[name]),
    );
  const [target, body, headers = {}] = typeof call === 'string' ? [call] : call;
  const [method = '', path = ''] = (JSON.parse(fill(target)) as string).split(' ');
  const isOperators = /^\/(admin|metrics)/.test(path);
  const origin = isOperators ? product.admin : method === 'VISIT' ? product.edge : product.api;
  const token = isOperators ? product.adminToken : key;
  const response = await sendRequest(origin + path, {
    method: method === 'VISIT' ? 'GET' : method,
    headers: { Authorization: `Bearer ${token}`, ...(JSON.parse(fill(headers)) as object) },
    body: body && (JSON.parse(fill(body)) as object | string),
    timeoutMs: 300_000,
  });
  if (response.status < 400 || mayBe.includes(response.status)) return response;
  throw new Error(`${method} ${path}: ${response.status} ${response.text}`);
};

const get = (paths: string): readonly Call[] => paths.split(' ').map((path) => `GET ${path}`);

export const urlOf = (index: number): string =>
  `https://shop${index % 7}.example.com/articles/${index.toString(16)}?utm_source=letter`;
const url = urlOf(0);
export const createLink: Call = ['POST /v2/shorten', { url }];

/** Runs statements for each `i` up to the number of rows. */
const insert =
  (...statements: readonly string[]) =>
  ({ product }: Side, count: number): Promise<void> =>
    withLedger(product, async (pool) => {
      for (const statement of statements) {
        await pool.query(`${statement} FROM generate_series(1, $1::integer) i`, [count]);
      }
    });

const addLinks = async (side: Side, count: number): Promise<void> => {
  side.codes = await createLinks(side.product.api, side.key, count, urlOf);
};

const visitsOfAppend = 1_000;

/** Appends visits by different visitors. */
const addVisits = ({ product, codes: [code = ''] }: Side, count: number): Promise<void> =>
  withLedger(product, async (pool) => {
    const append = await openPostgresAppend(pool);
    for (let done = 0; done < count; done += visitsOfAppend) {
      const records = Array.from({ length: visitsOfAppend }, (_, index) => {
        const attributes = { sequence: done + index + 1, account: 'own', time: new Date() };
        const data = { click: null, ...randomVisit().data };
        return recordOf({ ...spooledVisit(code, attributes), data });
      });
      await append(topics.visits.name, records);
    }
  });

const change: Call = ['PATCH /v2/links/{second}', { title: 'title {n}' }];

const addChanges = (side: Side, count: number): Promise<unknown> =>
  pLimit(8).map(Array.from({ length: count }), () => send(side, change));

const linksOfTags = 200;

/** Each link has five of 20 tags, and five tags that 200 links have. */
const addTags = async ({ product, key }: Side, count: number): Promise<void> => {
  for (let done = 0; done < count; done += linksOfTags) {
    const tags = Array.from({ length: 10 }, (_, tag) =>
      tag < 5 ? `common-${(done / linksOfTags + tag) % 20}` : `rare-${done}-${tag}`,
    );
    await createLinks(product.api, key, linksOfTags, urlOf, { tags });
  }
};

const domain = 'go.bench.example';

const addDomains = async (side: Side, count: number): Promise<void> => {
  await send(side, ['POST /admin/domains', { domain, account: 'own' }]);
  await insert(
    `INSERT INTO ledger.domains (domain, account, created_at, verified_at, sequence, last_event_at)
     SELECT 'd' || i || '.bench.example', 'own', now(), now(), 1, now()`,
  )(side, count);
};

/** Adds enabled webhooks at the end of the log, ten for each account. Their accounts have no events. */
export const addWebhooks = async (side: Side, count: number): Promise<void> => {
  const page = await send(side, 'GET /v2/events?after=now');
  const { next } = page.json() as { readonly next: string };
  await insert(
    `INSERT INTO ledger.webhooks
       (id, account, status, url, types, secrets, created_at, sequence, last_event_at)
     SELECT 'wh_' || i, 'hooks-' || i / 10, 'enabled', 'https://127.0.0.1:9/', '{LinkCreated}',
       '[{"secret": "whsec_YmVuY2htYXJrLWJlbmNobWFyaw==", "endsAt": null}]', now(), 1, now()`,
    `INSERT INTO delivery.cursors (webhook, cursor) SELECT 'wh_' || i, '${next}'`,
  )(side, count);
};

export const dimensions: readonly [Dimension, ...Dimension[]] = [
  {
    ...{ name: 'links of an account', counts: [100, 100_000, 1_000_000], grow: addLinks },
    calls: [
      ...[createLink, 'VISIT /{recent}', ['POST /v2/shorten', { url, reuse: true }] as const],
      ...get('/v2/links/{first} /v2/links /v2/links?count=1 /v2/links?search=articles'),
      ...get('/v2/links?search=no-such-link /v2/links?sort=clicks /v2/links?status=active'),
      ...get('/v2/links?destination=shop3.example.com /v2/export?search={first}'),
      ...get('/v2/events?limit=20&after=start /v2/usage /admin/links?limit=20'),
      ...get('/admin/processes /health/ready /metrics'),
    ],
  },
  {
    ...{ name: 'keys', counts: [100, 50_000] },
    grow: insert(
      `INSERT INTO ledger.api_keys
         (id, name, plan, account, status, created_at, sequence, last_event_at, ancestors)
       SELECT 'key-' || i, 'key ' || i, 'PRO', 'account-' || i, 'active', now(), 1, now(), '{}'`,
      `INSERT INTO ledger.key_secrets (key_id, hash) SELECT 'key-' || i, sha256(int8send(i))`,
      `INSERT INTO ledger.key_meters (key_id) SELECT 'key-' || i`,
    ),
    calls: [
      ...get('/v2/keys /admin/keys?limit=20 /v2/stats'),
      ...[
        ['POST /admin/keys', { name: 'a', plan: 'PRO' }] as const,
        ['POST /admin/console', {}] as const,
      ],
    ],
  },
  {
    ...{ name: 'visits of a link', counts: [1_000, 100_000, 1_000_000], grow: addVisits },
    calls: [
      'VISIT /{first}',
      ...get('/v2/stats/{first}?include=all /v2/stats?include=all,links /v2/links/{first}/history'),
      ...get('/v2/events?limit=20&types=LinkVisited&after=start'),
    ],
  },
  {
    ...{ name: 'changes of a link', counts: [50, 5_000], grow: addChanges },
    calls: [change, 'VISIT /{second}', 'GET /v2/links/{second}/history?limit=20'],
  },
  {
    ...{ name: 'links with ten tags', counts: [2_000, 20_000, 200_000], grow: addTags },
    calls: [
      ...get('/v2/tags?limit=20 /v2/tags?limit=20&search=rare /v2/links?tag=common-4&tag=common-5'),
      ['POST /v2/shorten', { url, tags: Array.from({ length: 10 }, (_, tag) => `common-${tag}`) }],
    ],
  },
  {
    ...{ name: 'domains of an account', counts: [5, 2_500], grow: addDomains },
    calls: [
      ...get('/v2/domains /admin/domains'),
      ['POST /v2/domains', { domain: 'c{n}.claim.example' }],
    ],
  },
  {
    ...{ name: 'links of a domain', counts: [100, 10_000, 100_000] },
    grow: ({ product, key }, count) => createLinks(product.api, key, count, urlOf, { domain }),
    calls: [`GET /v2/domains/${domain}`, ['POST /v2/shorten', { url, domain }]],
  },
];
