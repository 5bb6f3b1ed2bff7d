import { customAlphabet } from 'nanoid';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { messages } from '../../../schemas/http/errors.js';
import { hasCode } from '../../platform/errors.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import type { OpenCreation, PromisedLink, Promises } from './promises.js';
import type { Random } from '../support/random.js';
import { bearer, type LoadKeys, type Target } from './setup.js';

/** A closed loop: each of `clients` sends its next request after a response, at most `perSecond` in all. */
interface Rate {
  readonly perSecond: number;
  readonly clients: number;
}

export interface Pace {
  readonly creations: Rate;
  readonly visits: Rate;
}

/** The context of each request. */
export interface Loading {
  readonly target: Target;
  readonly keys: LoadKeys;
  readonly promises: Promises;
  readonly random: Random;
}

const timeoutMs = 10_000;
/** Half of the visits are of the newest links, so that some links are hot and limits are reached. */
const newestLinks = 50;
/** One creation in ten is a race of two for one alias. */
const raceEvery = 10;

/**
 * Sends the request to a random node, or to the next one if the connection is refused. `lost`: the connection ended
 * without a response; `unsent`: all nodes refused the connection.
 */
const sendToAny = async (
  { random, promises }: Loading,
  nodes: readonly string[],
  path: string,
  options: RequestOptions,
): Promise<HttpResponse | 'lost' | 'unsent'> => {
  const first = random.below(nodes.length);
  for (const index of nodes.keys()) {
    const node = nodes[(first + index) % nodes.length] ?? '';
    try {
      const response = await sendRequest(`${node}${path}`, { timeoutMs, ...options });
      const { status, headers } = response;
      if (status >= 500 && (status !== 503 || headers['retry-after'] === undefined)) {
        promises.broken.push(`${path} returned ${status}, or 503 without Retry-After`);
      }
      return response;
    } catch (error) {
      // The product was killed: the request is lost.
      if (!hasCode(error, 'ECONNREFUSED')) return 'lost';
    }
  }
  return 'unsent';
};

/** Sends a request to an API. @returns `null` if the outcome is unknown or the response 503 */
const sendToApi = async (
  loading: Loading,
  key: { readonly key: string },
  path: string,
  { headers, ...options }: RequestOptions = {},
): Promise<HttpResponse | null> => {
  const authorized = { ...options, headers: { ...bearer(key), ...headers } };
  const outcome = await sendToAny(loading, loading.target.apis, path, authorized);
  return typeof outcome === 'string' || outcome.status >= 500 ? null : outcome;
};

/** Sends a creation, or retries it, and records the outcome. */
const create = async (loading: Loading, creation: OpenCreation): Promise<void> => {
  const { keys, promises } = loading;
  const { idempotencyKey, body } = creation;
  const headers = { 'Idempotency-Key': idempotencyKey };
  const options = { method: 'POST', headers, body };
  const response = await sendToApi(loading, keys.pro, '/v2/shorten', options);
  // 409: the first request with this key is still in progress.
  if (response === null || response.status === 409) {
    promises.openCreations.push(creation);
    return;
  }
  if (
    body.alias !== undefined &&
    response.status === 400 &&
    (response.json() as { message: string }).message === messages.aliasTaken
  ) {
    promises.refusedAliases.add(body.alias);
    return;
  }
  if (response.status !== 201) {
    promises.broken.push(`a creation returned ${response.status}: ${response.text}`);
    return;
  }
  const { shortCode: code } = response.json() as { shortCode: string };
  const { url, maxClicks = null } = body;
  const counts = { redirected: 0, unanswered: 0, inFlight: 0, gone: false };
  promises.links.push({ code, url, maxClicks, ...counts });
};

/** Retries creations without a response, with their idempotency keys, until one has no response again. */
const retryCreations = async (
  loading: Loading,
  isStopped: () => boolean = () => false,
): Promise<void> => {
  const { openCreations } = loading.promises;
  for (const creation of [...openCreations]) {
    if (isStopped()) return;
    // Another client may retry it already.
    const index = openCreations.indexOf(creation);
    if (index === -1) continue;
    openCreations.splice(index, 1);
    await create(loading, creation);
    if (openCreations.includes(creation)) return;
  }
};

const visit = async (loading: Loading, link: PromisedLink): Promise<void> => {
  const { target, promises } = loading;
  link.inFlight += 1;
  const response = await sendToAny(loading, target.edges, `/${link.code}`, {});
  link.inFlight -= 1;
  if (typeof response === 'string' || response.status >= 500) {
    promises.failedVisits += 1;
    if (response !== 'unsent') link.unanswered += 1;
    return;
  }
  if (response.status === 302 && response.headers.location === link.url) {
    link.redirected += 1;
    if (link.gone) promises.broken.push(`${link.code} redirected after a 410`);
    return;
  }
  if (response.status === 410 && link.maxClicks !== null) {
    // Visits in flight may have been decided before this one.
    link.gone ||= link.inFlight === 0;
    return;
  }
  promises.broken.push(
    `a visit of ${link.code} (limit ${link.maxClicks ?? 'none'}) returned ${response.status}`,
  );
};

/** One call of the FREE key; an admitted call counts against the 60 calls of the window. */
const hammer = async (loading: Loading): Promise<void> => {
  const { keys, promises } = loading;
  const response = await sendToApi(loading, keys.hammer, '/v2/stats/unknown-code');
  if (response?.status !== 404) return;
  const reset = Number(response.headers['x-ratelimit-reset']);
  promises.passed.set(reset, (promises.passed.get(reset) ?? 0) + 1);
};

const createFree = async (loading: Loading): Promise<void> => {
  const { keys, promises } = loading;
  const options = { method: 'POST', body: { url: 'https://example.com/free' } };
  const response = await sendToApi(loading, keys.small, '/v2/shorten', options);
  if (response?.status === 201) promises.freeLinks += 1;
};

const newCreation = (more: { alias?: string; maxClicks?: number } = {}): OpenCreation => ({
  idempotencyKey: randomUUID(),
  body: { url: `https://example.com/${randomUUID()}?of=chaos`, ...more },
});

/** Without vowels, so that an alias contains no reserved word. */
const newAlias = customAlphabet('bcdfghjkmnpqrvwxz', 24);

const newCreations = ({ random }: Loading): readonly OpenCreation[] => {
  if (random.below(raceEvery) === 0) {
    const alias = `race-${newAlias()}`;
    return [newCreation({ alias }), newCreation({ alias })];
  }
  const isLimited = random.below(3) === 0;
  return [newCreation(isLimited ? { maxClicks: 1 + random.below(30) } : {})];
};

const visitOne = async (loading: Loading): Promise<void> => {
  const { promises, random } = loading;
  const count = promises.links.length;
  const among = random.below(2) === 0 ? Math.min(count, newestLinks) : count;
  const link = promises.links[count - 1 - random.below(among)];
  if (link) await visit(loading, link);
};

/** Retries creations without a response on a healthy product. */
export const retryOpenCreations = async (loading: Loading): Promise<void> => {
  const { openCreations } = loading.promises;
  for (let attempt = 0; attempt < 10 && openCreations.length > 0; attempt += 1) {
    if (attempt > 0) await sleep(500);
    await Promise.all(Array.from({ length: 16 }, () => retryCreations(loading)));
  }
};

/**
 * Sends requests of all kinds at this pace.
 *
 * @returns stops the load, and resolves when every request has a response or is lost
 */
export const startLoad = (loading: Loading, pace: Pace): (() => Promise<void>) => {
  let stopped = false;

  const paced = async ({ perSecond, clients }: Rate, act: () => Promise<void>): Promise<void> => {
    const everyMs = (clients * 1_000) / perSecond;
    const actor = async (number: number): Promise<void> => {
      // Missed requests are skipped: no burst after a delay.
      let due = performance.now() + (everyMs * number) / clients;
      for (;;) {
        const waitMs = due - performance.now();
        if (waitMs > 0) await sleep(waitMs);
        if (stopped) return;
        await act();
        due = Math.max(due + everyMs, performance.now());
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, number) => actor(number)));
  };

  const running = [
    paced(pace.creations, async () => {
      await Promise.all(newCreations(loading).map((creation) => create(loading, creation)));
    }),
    paced(pace.visits, () => visitOne(loading)),
    paced({ perSecond: 5, clients: 1 }, () => retryCreations(loading, () => stopped)),
    paced({ perSecond: 20, clients: 3 }, () => hammer(loading)),
    paced({ perSecond: 2, clients: 1 }, () => createFree(loading)),
  ];
  return async () => {
    stopped = true;
    await Promise.all(running);
  };
};
