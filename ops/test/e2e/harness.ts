import { fixture, type FixtureOptions } from '../support/fixture.js';
import { expect } from 'chai';
import { invalidUrl, urlFaults } from '../../../schemas/http/link-fields.js';
import type { PlanName } from '../../../schemas/plans.js';
import type { Scope } from '../../../schemas/scopes.js';
import { sealKeyFileIn } from '../../app/data-dir.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import {
  onStack,
  serversFor,
  startProduct,
  type IssuedKey,
  type Product,
} from '../support/product.js';

/** What a process tells of in its readiness: of seals where it signs them, of Redis where that is its cache. */
export const dependenciesAt = (listener: 'api' | 'edge' | 'admin'): readonly string[] => [
  ...['postgres', 'log', 'projections'],
  ...(onStack ? [] : ['seals']),
  ...(onStack && listener === 'edge' ? ['redis'] : []),
];

export const timestampPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
export const upgradeUrl = 'https://example.com/billing';
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

export interface Stats {
  readonly shortCode: string;
  readonly url: string;
  readonly clickCount: number;
  readonly createdAt: string;
  readonly lastAccessed: string | null;
  readonly expiresAt: string | null;
  readonly maxClicks: number | null;
}

type ProductEnv = Readonly<Record<string, string>>;

/** The product of one spec file, and what every file asks of it. */
export class Bench {
  #product: Product | null = null;
  #calls = 0;

  get product(): Product {
    if (!this.#product) throw new Error('The product is there from `before` to `after`');
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

  /** A new key of its own, so that no other test's calls stand in its way. */
  key(
    plan: PlanName,
    options: Omit<Parameters<Product['createKey']>[0], 'plan'> = {},
  ): Promise<IssuedKey> {
    return this.product.createKey({ plan, ...options });
  }

  api(path: string, key: string | null, options: RequestOptions = {}): Promise<HttpResponse> {
    const authorization = key === null ? {} : { Authorization: `Bearer ${key}` };
    const { apis, api } = this.product;
    // What an API keeps for itself (verdicts on destinations), the first one is asked for.
    const reads = options.method === undefined || options.method === 'GET';
    return sendRequest((reads ? this.#next(apis) : api) + path, {
      ...options,
      headers: { ...authorization, ...options.headers },
    });
  }

  shorten(key: string, body: unknown, headers: Record<string, string> = {}): Promise<HttpResponse> {
    return this.api('/v2/shorten', key, { method: 'POST', body, headers });
  }

  /** A link that is made for certain. */
  async link(key: string, body: Record<string, unknown> = {}): Promise<Link> {
    const response = await this.shorten(key, { url: destination, ...body });
    expect(response.status, response.text).to.equal(201);
    return response.json() as Link;
  }

  visit(code: string, options: RequestOptions = {}): Promise<HttpResponse> {
    const { edges } = this.product;
    // One edge for all visits of a link: what changes at one edge has a second to reach the others.
    const [shortCode = ''] = code.split(/[?+]/);
    const at = Buffer.from(shortCode).reduce((sum, byte) => sum + byte, 0);
    return sendRequest(`${edges[at % edges.length] ?? ''}/${code}`, options);
  }

  async stats(code: string, key: string): Promise<Stats> {
    const response = await this.api(`/v2/stats/${code}`, key);
    expect(response.status, response.text).to.equal(200);
    return response.json() as Stats;
  }

  /** Each node in its turn, where there are several: it must be all the same. */
  #next(addresses: readonly string[]): string {
    this.#calls += 1;
    return addresses[this.#calls % addresses.length] ?? '';
  }

  admin(method: string, path: string, body?: unknown): Promise<HttpResponse> {
    return sendRequest(this.product.admin + path, {
      method,
      headers: { Authorization: `Bearer ${this.product.adminToken}` },
      ...(body !== undefined && { body }),
    });
  }
}

/**
 * One product for all tests of a `describe`; it must also end well.
 *
 * @param env a function where it depends on fixtures that are declared before
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

/** A key of its own for the tests of a `describe`. */
export const keyFixture = (bench: Bench, ...args: Parameters<Bench['key']>): IssuedKey =>
  fixture(() => bench.key(...args));

/** Another node on the PostgreSQL of this one, and on the servers beside it. */
export const startBeside = async ({ dataDir, adminToken }: Product): Promise<Product> => {
  const url = await runningPostgresUrl(dataDir);
  if (url === null) throw new Error('The first node has started a PostgreSQL');
  return startProduct({
    env: {
      ...(await serversFor(dataDir)),
      DATABASE_URL: url,
      // One key for all that seal the log.
      SEAL_KEY_FILE: sealKeyFileIn(dataDir),
      ADMIN_TOKEN: adminToken,
    },
  });
};

export interface ExpectedError {
  readonly status: number;
  readonly message: string;
  readonly path: string;
  readonly method?: string;
  readonly errorType?: 'EXPIRED' | 'BLOCKED';
  readonly retryAfter?: number;
  /** Of an invalid URL. */
  readonly reason?: string;
}

/** Why a URL is invalid, unless the test says it. */
const reasonOf = (response: HttpResponse, { message, reason }: ExpectedError): object => {
  if (message !== invalidUrl || reason !== undefined) return {};
  const given = (response.json() as { readonly reason?: unknown }).reason;
  expect(given, response.text).to.be.oneOf([...urlFaults]);
  return { reason: given };
};

/** The general envelope, no field more and none less. */
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

/** The general envelope where links and keys are: never cached. */
export const expectError = (response: HttpResponse, expected: ExpectedError): void => {
  expectEnvelope(response, expected);
  expect(response.headers['cache-control']).to.equal('no-store');
};

/** A refusal of POST /v2/shorten. */
export const expectRefused = (
  response: HttpResponse,
  status: number,
  message: string,
  more: Pick<ExpectedError, 'reason'> = {},
): void => {
  expectError(response, { status, message, path: '/v2/shorten', method: 'POST', ...more });
};

/** An error that has a shape of its own: 401, 403, monthly 429. */
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
