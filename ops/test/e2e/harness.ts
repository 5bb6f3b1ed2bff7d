import { fixture, type FixtureOptions } from '../support/fixture.js';
import { expect } from 'chai';
import {
  startSafeBrowsingDouble,
  type SafeBrowsingDouble,
} from '../../../command-api/safety/testing/safe-browsing-double.js';
import { invalidUrl, urlFaults } from '../../../schemas/http/link-fields.js';
import type { StatsResponse } from '../../../schemas/http/statistics.js';
import type { PlanName } from '../../../schemas/plans.js';
import type { Scope } from '../../../schemas/scopes.js';
import { sealKeyFileIn } from '../../app/data-dir.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { atEnd } from '../support/at-end.js';
import { startDnsServer, type DnsServerDouble } from '../support/dns-server.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { expectDocumented } from '../support/openapi.js';
import {
  onStack,
  serversFor,
  startProduct,
  type IssuedKey,
  type Product,
} from '../support/product.js';
import { withLedger } from '../support/ledger-events.js';
import { eventuallyPasses } from '../support/waiting.js';

/** Dependencies in the readiness report: seals of processes that sign them, Redis of edges that use it. */
export const dependenciesAt = (listener: 'api' | 'edge' | 'admin'): readonly string[] => [
  ...['postgres', 'log', 'projections', 'projectors'],
  ...(onStack ? [] : ['seals', 'webhooks']),
  ...(onStack && listener === 'edge' ? ['redis'] : []),
];

export const timestampPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** The contract's 500 ms for responses from memory, with room for a busy machine. */
export const cachedWithinMs = 2_000;
const upgradeUrl = 'https://example.com/billing';
export const destination = 'https://example.com/somewhere?a=1&b=2';

/** The first day of the next month, UTC. */
export const resetDate = (): string => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
    .toISOString()
    .slice(0, 10);
};

export interface Link {
  readonly shortUrl: string;
  readonly shortCode: string;
  readonly url: string;
  readonly alias?: string;
  readonly expiresAt?: string;
  readonly maxClicks?: number;
  readonly createdAt: string;
}

type Usage = Readonly<Record<'calls' | 'links' | 'qrCodes', number>>;

type ProductEnv = Readonly<Record<string, string>>;

const expectNoSniff = ({ headers }: HttpResponse): void => {
  expect(headers['x-content-type-options']).to.equal('nosniff');
};

/** A running product, and the requests that specs share. Each response has `X-Content-Type-Options`. */
export class Bench {
  #product: Product | null = null;
  #calls = 0;

  get product(): Product {
    if (!this.#product) throw new Error('the product runs from `before` to `after` only');
    return this.#product;
  }

  use(product: Product): void {
    this.#product = product;
  }

  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.use(await startProduct({ env }));
  }

  async end(): Promise<void> {
    try {
      await this.#product?.stop();
    } finally {
      await this.#product?.cleanup();
    }
  }

  /** Creates a key, so that the calls of other tests do not count toward its limits. */
  key(
    plan: PlanName,
    options: Omit<Parameters<Product['createKey']>[0], 'plan'> = {},
  ): Promise<IssuedKey> {
    return this.product.createKey({ plan, ...options });
  }

  /** Calls the API. The response must conform to the OpenAPI document. */
  async api(path: string, key: string | null, options: RequestOptions = {}): Promise<HttpResponse> {
    const authorization = key === null ? {} : { Authorization: `Bearer ${key}` };
    const { apis, api } = this.product;
    // Verdicts on destinations are cached per API, so writes go to the first one.
    const { method = 'GET' } = options;
    const response = await sendRequest((method === 'GET' ? this.#next(apis) : api) + path, {
      ...options,
      headers: { ...authorization, ...options.headers },
    });
    expectDocumented(method, path, response);
    expectNoSniff(response);
    return response;
  }

  shorten(key: string, body: unknown, headers: Record<string, string> = {}): Promise<HttpResponse> {
    return this.api('/v2/shorten', key, { method: 'POST', body, headers });
  }

  /** Creates a link. */
  async link(key: string, body: Record<string, unknown> = {}): Promise<Link> {
    const response = await this.shorten(key, { url: destination, ...body });
    expect(response.status, response.text).to.equal(201);
    return response.json() as Link;
  }

  async visit(code: string, options: RequestOptions = {}): Promise<HttpResponse> {
    const { edges } = this.product;
    // All visits of a link use one edge: a change may take a second to reach the others.
    const [shortCode = ''] = code.split(/[?+/]/);
    const at = Buffer.from(shortCode).reduce((sum, byte) => sum + byte, 0);
    const response = await sendRequest(`${edges[at % edges.length] ?? ''}/${code}`, options);
    expectNoSniff(response);
    return response;
  }

  async stats(code: string, key: string): Promise<StatsResponse> {
    const response = await this.api(`/v2/stats/${code}`, key);
    expect(response.status, response.text).to.equal(200);
    return response.json() as StatsResponse;
  }

  /** Waits until the statistics show this number of clicks. */
  expectClicks(code: string, key: string, clicks: number, withinMs = 30_000): Promise<void> {
    return eventuallyPasses(async () => {
      expect((await this.stats(code, key)).clickCount).to.equal(clicks);
    }, withinMs);
  }

  /** The used calls, links and QR codes of the month. */
  async usage(key: string): Promise<Usage> {
    const { calls, links, qrCodes } = (await this.api('/v2/usage', key)).json() as Record<
      keyof Usage,
      { used: number }
    >;
    return { calls: calls.used, links: links.used, qrCodes: qrCodes.used };
  }

  /** The rows of each table, as text. */
  dumpTables(): Promise<ReadonlyMap<string, string>> {
    return withLedger(this.product, async (client) => {
      const tables = new Map<string, string>();
      const { rows: names } = await client.query<{ name: string }>(
        `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
         WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
      );
      for (const { name } of names) {
        const { rows } = await client.query<{ row: string }>(
          `SELECT t::text AS row FROM ${name} t`,
        );
        tables.set(name, rows.map(({ row }) => row).join('\n'));
      }
      return tables;
    });
  }

  /** Changes a link as its owner. */
  change(code: string, key: string, body: unknown, headers = {}): Promise<HttpResponse> {
    return this.api(`/v2/links/${code}`, key, { method: 'PATCH', body, headers });
  }

  /** Rotates over the nodes of a stack. */
  #next(addresses: readonly string[]): string {
    this.#calls += 1;
    return addresses[this.#calls % addresses.length] ?? '';
  }

  /** Calls the admin API. The response must conform to the document of operators' calls. */
  async admin(method: string, path: string, body?: unknown, headers = {}): Promise<HttpResponse> {
    const response = await sendRequest(this.product.admin + path, {
      method,
      headers: { Authorization: `Bearer ${this.product.adminToken}`, ...headers },
      ...(body !== undefined && { body }),
    });
    expectDocumented(method, path, response);
    expectNoSniff(response);
    return response;
  }
}

interface SharedServers {
  readonly product: Product;
  readonly dns: DnsServerDouble;
  readonly safeBrowsing: SafeBrowsingDouble;
}

/** A page at this origin may call `/v2` of the shared product. */
export const allowedOrigin = 'https://app.example';

const startShared = async (): Promise<SharedServers> => {
  const [dns, safeBrowsing] = await Promise.all([startDnsServer(), startSafeBrowsingDouble()]);
  const product = await startProduct({
    env: {
      DNS_SERVERS: dns.address,
      SAFE_BROWSING_API_KEY: 'a-key',
      SAFE_BROWSING_URL: safeBrowsing.url,
      WEBHOOK_NETWORKS: '127.0.0.0/8',
      TRUSTED_PROXIES: '127.0.0.1/32, ::1',
      CORS_ORIGINS: allowedOrigin,
    },
  });
  atEnd(async () => {
    await product.stop();
    await product.cleanup();
    await Promise.all([dns.close(), safeBrowsing.stop()]);
  });
  return { product, dns, safeBrowsing };
};

let shared: Promise<SharedServers> | null = null;

class SharedBench extends Bench {
  /** Resolves the names that tests set; other names do not exist. */
  dns!: DnsServerDouble;
  /** Lists the URLs that tests set. */
  safeBrowsing!: SafeBrowsingDouble;
}

/**
 * The product of this mocha process, with an environment that suits most tests. It runs until the process ends: a test
 * uses keys of its own account, destinations and domains that no other file uses, and resets what it changes for all
 * accounts (switches, maintenance, modes of the doubles). It never stops the product, and expects no totals of
 * all accounts. A test that needs another environment, or kills the product, uses `productFixture`.
 */
export const sharedProduct = (): SharedBench => {
  const bench = new SharedBench();
  fixture(async () => {
    const { product, dns, safeBrowsing } = await (shared ??= startShared());
    bench.use(product);
    return Object.assign(bench, { dns, safeBrowsing });
  });
  return bench;
};

/**
 * A product for the tests of a `describe`. Its shutdown must succeed too.
 *
 * @param env a function if it depends on fixtures that are declared before
 */
export const productFixture = (
  env: ProductEnv | (() => ProductEnv | Promise<ProductEnv>) = {},
  options?: FixtureOptions,
): Bench => {
  const bench = new Bench();
  fixture(
    async () => {
      await bench.start(typeof env === 'function' ? await env() : env);
      return bench;
    },
    () => bench.end(),
    options,
  );
  return bench;
};

/** A key for the tests of a `describe`. */
export const keyFixture = (bench: Bench, ...args: Parameters<Bench['key']>): IssuedKey =>
  fixture(() => bench.key(...args));

/** Starts another node on the same PostgreSQL, Kafka and Redis. */
export const startSecondNode = async (
  { dataDir, adminToken }: Product,
  env: ProductEnv = {},
): Promise<Product> => {
  const url = await runningPostgresUrl(dataDir);
  if (url === null) throw new Error('the first node runs no PostgreSQL');
  return startProduct({
    env: {
      ...(await serversFor(dataDir)),
      DATABASE_URL: url,
      // All processes that seal the log share one key.
      SEAL_KEY_FILE: sealKeyFileIn(dataDir),
      ADMIN_TOKEN: adminToken,
      ...env,
    },
  });
};

const formType = { 'Content-Type': 'application/x-www-form-urlencoded' };

/** The submission of a password form. */
export const passwordForm = (
  password: string,
  { headers, ...options }: RequestOptions = {},
): RequestOptions => ({
  ...options,
  method: 'POST',
  headers: { ...headers, ...formType },
  body: new URLSearchParams({ password }).toString(),
});

interface ExpectedError {
  readonly status: number;
  readonly message: string;
  readonly path: string;
  readonly method?: string;
  readonly errorType?: 'EXPIRED' | 'BLOCKED';
  readonly retryAfter?: number;
  /** Why the URL is invalid. */
  readonly reason?: string;
}

/** The `reason` of an invalid URL, if the test does not expect a specific one. */
const reasonOf = (response: HttpResponse, { message, reason }: ExpectedError): object => {
  if (message !== invalidUrl || reason !== undefined) return {};
  const given = (response.json() as { readonly reason?: unknown }).reason;
  expect(given, response.text).to.be.oneOf([...urlFaults]);
  return { reason: given };
};

/** Expects exactly the fields of the general envelope. */
export const expectEnvelope = (response: HttpResponse, expected: ExpectedError): void => {
  const { status, path, method = 'GET', ...own } = expected;
  const rest = { ...own, ...reasonOf(response, expected) };
  const body = response.json() as { timestamp: string };
  expect(body, response.text).to.deep.equal({
    statusCode: status,
    timestamp: body.timestamp,
    path,
    method,
    ...rest,
  });
  expect(body.timestamp).to.match(timestampPattern);
  expect(Math.abs(Date.parse(body.timestamp) - Date.now())).to.be.below(10_000);
  expect(response.status).to.equal(status);
  expect(response.headers['content-type']).to.equal('application/json; charset=utf-8');
};

/** Expects the general envelope with `no-store`. */
export const expectError = (response: HttpResponse, expected: ExpectedError): void => {
  expectEnvelope(response, expected);
  expect(response.headers['cache-control']).to.equal('no-store');
};

/** Expects an error of POST /v2/shorten. */
export const expectRefused = (
  response: HttpResponse,
  status: number,
  message: string,
  more: Pick<ExpectedError, 'reason'> = {},
): void => {
  expectError(response, { status, message, path: '/v2/shorten', method: 'POST', ...more });
};

/** Expects a body other than the general envelope: 401, 403, monthly 429. */
export const expectBody = (response: HttpResponse, status: number, body: object): void => {
  expect(response.json()).to.deep.equal(body);
  expect(response.status).to.equal(status);
  expect(response.headers['content-type']).to.equal('application/json; charset=utf-8');
  expect(response.headers['cache-control']).to.equal('no-store');
};

/** The 403 of a key that lacks a scope. */
export const lacking = (scope: Scope): object => ({
  statusCode: 403,
  message: `This key lacks the scope ${scope}.`,
  error: 'Forbidden',
  scope,
});

export const monthly = (message: string, limit: number): object => ({
  statusCode: 429,
  message,
  limit,
  resetDate: resetDate(),
  upgradeUrl,
});

export const missingKey = {
  statusCode: 401,
  message: 'API key required. Pass your key as: Authorization: Bearer <your-key>',
  error: 'Unauthorized',
};

export const invalidKey = {
  statusCode: 401,
  message: 'Invalid or inactive API key.',
  error: 'Unauthorized',
};
