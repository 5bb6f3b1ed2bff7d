import { customAlphabet } from 'nanoid';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { messages } from '../../../schemas/http/errors.js';
import { hasCode } from '../../platform/errors.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { watchOwnDelays, type ResponseKind, type Timed } from './deadlines.js';
import { manage } from './managed-links.js';
import { liveKey, type KeyCalls } from './own-keys.js';
import {
  promiseLink,
  type ManagedLink,
  type OpenCreation,
  type PromisedChange,
  type PromisedLink,
  type Promises,
  type SwitchedLink,
} from './promises.js';
import type { Random } from '../support/random.js';
import { newTally, type Tally } from './tally.js';
import { bearer, type LoadKeys, type Target } from './setup.js';

/** A closed loop: each of `clients` sends its next request after a response, at most `perSecond` in all. */
export interface Rate {
  readonly perSecond: number;
  readonly clients: number;
}

export interface Pace {
  readonly creations: Rate;
  readonly visits: Rate;
}

export interface Load {
  readonly tally: Readonly<Tally>;
  /** The response times since the last call, without lost connections. */
  takeResponses(): readonly Timed[];
  /** Called when an edge restarts with an empty cache. */
  forgetCached(edge: string): void;
  /** Stops sending; resolves when every request has a response or is lost. */
  stop(): Promise<void>;
}

/** The context of each request. */
interface Loading {
  readonly target: Target;
  readonly keys: LoadKeys;
  readonly promises: Promises;
  readonly random: Random;
  readonly tally: Tally;
  /** Called at each response and each time-out. */
  readonly noteResponse: (request: Omit<Timed, 'to' | 'ms'>) => void;
  /** The codes of links without a limit that an edge has redirected, by the edge's address. */
  readonly cached: Map<string, Set<string>>;
}

const timeoutMs = 10_000;
const switchedLinks = 4;
const managedLinks = 8;
/** A click limit that is never reached. */
const unreached = 1_000_000;
/** Half of the visits are of the newest links, so that some links are hot and limits are reached. */
const newestLinks = 50;
/** One creation in ten is a race of two for one alias. */
const raceEvery = 10;

/** A response of a node. */
interface NodeResponse {
  readonly node: string;
  readonly kind: ResponseKind;
  readonly response: HttpResponse;
}

/** A 503 has Retry-After; any other 5xx breaks a promise. */
const checkFailure = ({ promises, tally }: Loading, path: string, response: HttpResponse): void => {
  const { status, headers } = response;
  if (status !== 503) {
    tally.serverErrors += 1;
    promises.broken.push(`${path} returned ${status}`);
  } else if (headers['retry-after'] === undefined) {
    promises.broken.push(`${path} returned 503 without Retry-After`);
  }
};

/**
 * Sends the request to a random node, or to the next one if the connection is refused. `lost`: the connection ended
 * without a response; `unsent`: all nodes refused the connection.
 */
const sendToAny = async (
  loading: Loading,
  nodes: readonly string[],
  kindAt: (node: string) => ResponseKind,
  path: string,
  options: RequestOptions,
): Promise<NodeResponse | 'lost' | 'unsent'> => {
  const { random, noteResponse } = loading;
  const first = random.below(nodes.length);
  for (const index of nodes.keys()) {
    const node = nodes[(first + index) % nodes.length] ?? '';
    const request = { kind: kindAt(node), node, from: performance.now() };
    try {
      const response = await sendRequest(`${node}${path}`, { timeoutMs, ...options });
      noteResponse(request);
      if (response.status >= 500) checkFailure(loading, path, response);
      return { node, kind: request.kind, response };
    } catch (error) {
      if (hasCode(error, 'ETIMEDOUT')) noteResponse(request);
      // The product was killed: the request is lost.
      if (!hasCode(error, 'ECONNREFUSED')) return 'lost';
    }
  }
  return 'unsent';
};

/** Sends a request to an API and counts the outcome. @returns `null` if the outcome is unknown */
const sendToApi = async (
  loading: Loading,
  path: string,
  options: RequestOptions,
  nodes: readonly string[] = loading.target.apis,
): Promise<HttpResponse | null> => {
  const { tally } = loading;
  const outcome = await sendToAny(loading, nodes, () => 'API', path, options);
  if (typeof outcome === 'string') {
    tally.lost += 1;
    return null;
  }
  const { response } = outcome;
  if (response.status === 429) tally.limited += 1;
  if (response.status < 500) return response;
  tally.apiRefused += 1;
  return null;
};

/** Sends requests as the owner of links or keys, to any API. */
const sendAs =
  (loading: Loading, key: { readonly key: string }) =>
  (path: string, options: RequestOptions): Promise<HttpResponse | null> =>
    sendToApi(loading, path, { ...options, headers: { ...bearer(key), ...options.headers } });

/** Sends a creation, or retries it, and records the outcome. */
const create = async (loading: Loading, creation: OpenCreation): Promise<PromisedLink | null> => {
  const { keys, promises, tally } = loading;
  const { idempotencyKey, body } = creation;
  const headers = { ...bearer(keys.pro), 'Idempotency-Key': idempotencyKey };
  const response = await sendToApi(loading, '/v2/shorten', { method: 'POST', headers, body });
  // 409: the first request with this key is still in progress.
  if (response === null || response.status === 409) {
    promises.openCreations.push(creation);
    return null;
  }
  if (
    body.alias !== undefined &&
    response.status === 400 &&
    (response.json() as { message: string }).message === messages.aliasTaken
  ) {
    promises.refusedAliases.add(body.alias);
    return null;
  }
  if (response.status !== 201) {
    promises.broken.push(`a creation returned ${response.status}: ${response.text}`);
    return null;
  }
  tally.created += 1;
  const { shortCode } = response.json() as { shortCode: string };
  return promiseLink(promises, {
    code: shortCode,
    url: body.url,
    maxClicks: body.maxClicks ?? null,
  });
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

/** Records the response to a visit of a link that its owner changes concurrently. */
const noteManaged = (
  { promises, tally }: Loading,
  managed: ManagedLink,
  response: HttpResponse,
  { request, wasDeleted }: { readonly request: string; readonly wasDeleted: boolean },
): void => {
  const { link, urls, served } = managed;
  const { location } = response.headers;
  if (response.status === 410) return;
  if (response.status !== 302 || location === undefined || !urls.has(location)) {
    promises.broken.push(
      `${link.code} returned ${location ?? response.status}, which was never its destination`,
    );
    return;
  }
  tally.visited += 1;
  link.redirected += 1;
  served.set(request, location);
  // The ledger decides clicks of links with a limit.
  if (wasDeleted && link.maxClicks !== null) {
    promises.broken.push(`${link.code} redirected after the response to its deletion`);
  }
};

const visit = async (loading: Loading, link: PromisedLink): Promise<void> => {
  const { target, promises, tally, cached } = loading;
  const managed = promises.managed.find((candidate) => candidate.link === link);
  const isSwitched = (): boolean => promises.switched.some((switched) => switched.link === link);
  const kindAt = (edge: string): ResponseKind =>
    cached.get(edge)?.has(link.code) === true && !isSwitched() ? 'cached link' : 'edge';
  const request = randomUUID();
  const wasDeleted = managed?.deletion === 'done';
  link.inFlight += 1;
  const outcome = await sendToAny(loading, target.edges, kindAt, `/${link.code}`, {
    ...(managed && { headers: { 'X-Request-Id': request } }),
  });
  link.inFlight -= 1;
  if (typeof outcome === 'string') {
    tally.lostVisits += 1;
    if (outcome === 'lost') link.unanswered += 1;
    return;
  }
  const { node, kind, response } = outcome;
  if (response.status >= 500) {
    tally.edgeRefused += 1;
    link.unanswered += 1;
    if (kind === 'cached link') {
      promises.broken.push(`${node} has ${link.code} in memory, but returned ${response.status}`);
    }
    return;
  }
  if (managed) {
    noteManaged(loading, managed, response, { request, wasDeleted });
    return;
  }
  if (response.status === 302 && response.headers.location === link.url) {
    tally.visited += 1;
    link.redirected += 1;
    if (link.maxClicks === null) cached.get(node)?.add(link.code);
    if (link.gone) promises.broken.push(`${link.code} redirected after a 410`);
    return;
  }
  if (response.status === 410 && link.maxClicks !== null) {
    tally.limited += 1;
    // Visits in flight may have been decided before this one.
    link.gone ||= link.inFlight === 0;
    return;
  }
  if (response.status === 410 && isSwitched()) return;
  promises.broken.push(
    `a visit of ${link.code} (limit ${link.maxClicks ?? 'none'}) returned ${response.status}`,
  );
};

/** One call of the FREE key; an admitted call counts against the 60 calls of the window. */
const hammer = async (loading: Loading): Promise<void> => {
  const { keys, promises } = loading;
  const options = { headers: bearer(keys.hammer) };
  const response = await sendToApi(loading, '/v2/stats/unknown-code', options);
  if (response?.status !== 404) return;
  const reset = Number(response.headers['x-ratelimit-reset']);
  promises.passed.set(reset, (promises.passed.get(reset) ?? 0) + 1);
};

const createFree = async (loading: Loading): Promise<void> => {
  const { keys, promises } = loading;
  const response = await sendToApi(loading, '/v2/shorten', {
    method: 'POST',
    headers: bearer(keys.small),
    body: { url: 'https://example.com/free' },
  });
  if (response?.status === 201) promises.freeLinks += 1;
};

/** A change by an operator, with a unique marker. @returns `null` if it was not acknowledged */
const change = async (
  loading: Loading,
  method: string,
  path: string,
  body: (marker: string) => object,
): Promise<PromisedChange | null> => {
  const { target, promises, tally } = loading;
  const marker = randomUUID();
  const headers = bearer({ key: target.adminToken });
  const options = { method, headers, body: body(marker) };
  const response = await sendToApi(loading, path, options, [target.admin]);
  if (response === null) return null;
  if (response.status !== 200 && response.status !== 202) {
    promises.broken.push(`${method} ${path} returned ${response.status}: ${response.text}`);
    return null;
  }
  tally.changed += 1;
  return { marker, published: response.status === 200 };
};

const rename = async (loading: Loading): Promise<void> => {
  const path = `/admin/keys/${loading.keys.renamed.id}`;
  const changed = await change(loading, 'PATCH', path, (name) => ({ name }));
  if (changed) loading.promises.changes.push(changed);
};

/** Blocks or unblocks a link that all edges have in memory. */
const switchBlock = async (loading: Loading, switched: SwitchedLink): Promise<void> => {
  const { code } = switched.link;
  const before = switched.blocked;
  const block = before !== true;
  switched.blocked = null;
  switched.switches += 1;
  const path = `/admin/links/${code}/${block ? 'block' : 'unblock'}`;
  const changed = await change(loading, 'POST', path, (reason) => ({ reason }));
  if (changed === null) return;
  switched.blocked = block;
  // After a missing response, the change may have been none, without an event.
  if (before !== null) loading.promises.changes.push(changed);
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

/** Changes a managed link, and visits it at the same time. */
const manageOne = async (loading: Loading): Promise<void> => {
  const { keys, promises, random, tally } = loading;
  const live = promises.managed.filter(({ deletion }) => deletion === 'none');
  const managed = live[random.below(managedLinks)];
  if (!managed) {
    const isLimited = random.below(2) === 0;
    const link = await create(loading, newCreation(isLimited ? { maxClicks: unreached } : {}));
    if (link === null) return;
    const urls = new Set([link.url]);
    promises.managed.push({ link, urls, served: new Map(), deletion: 'none', isBusy: false });
    return;
  }
  const managing = {
    ...{ promises, random, send: sendAs(loading, keys.pro) },
    changed: () => (tally.changed += 1),
  };
  await Promise.all([
    ...Array.from({ length: 4 }, () => visit(loading, managed.link)),
    manage(managing, managed),
  ]);
};

const useKeys = (loading: Loading): Promise<void> => {
  const { target, keys, promises } = loading;
  const everywhere: KeyCalls['everywhere'] = async (key, path, options = {}) => {
    const request = { ...options, headers: bearer({ key }) };
    const responses = await Promise.all(
      target.apis.map((api) => sendToApi(loading, path, request, [api])),
    );
    return responses.flatMap((response) => response?.status ?? []);
  };
  return liveKey({ send: sendAs(loading, keys.root), everywhere }, keys.root.id, promises);
};

const createLoading = (
  target: Target,
  keys: LoadKeys,
  promises: Promises,
  random: Random,
  noteResponse: Loading['noteResponse'] = () => undefined,
): Loading => ({
  ...{ target, keys, promises, random, noteResponse: noteResponse, tally: newTally() },
  cached: new Map(target.edges.map((edge) => [edge, new Set()])),
});

/** Retries creations without a response on a healthy product. */
export const retryOpenCreations = async (
  target: Target,
  keys: LoadKeys,
  promises: Promises,
  random: Random,
): Promise<void> => {
  const loading = createLoading(target, keys, promises, random);
  for (let attempt = 0; attempt < 10 && promises.openCreations.length > 0; attempt += 1) {
    if (attempt > 0) await sleep(500);
    await Promise.all(Array.from({ length: 16 }, () => retryCreations(loading)));
  }
};

/** Sends requests of all kinds at this pace, until it is stopped. */
export const startLoad = (options: {
  readonly target: Target;
  readonly keys: LoadKeys;
  readonly promises: Promises;
  readonly random: Random;
  readonly pace: Pace;
}): Load => {
  const { target, keys, promises, random, pace } = options;
  const responses: Timed[] = [];
  const ownDelays = watchOwnDelays();
  const loading = createLoading(target, keys, promises, random, (request) => {
    const span = { from: request.from, to: performance.now() };
    responses.push({ ...request, ...span, ms: span.to - span.from - ownDelays.within(span) });
  });
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
  const switchOne = async (): Promise<void> => {
    if (promises.switched.length < switchedLinks) {
      const link = await create(loading, newCreation());
      if (link) promises.switched.push({ link, blocked: false, switches: 0 });
      return;
    }
    const switched = promises.switched[random.below(switchedLinks)];
    if (!switched) return;
    await Promise.all([visit(loading, switched.link), visit(loading, switched.link)]);
    await switchBlock(loading, switched);
  };

  const running = [
    paced(pace.creations, async () => {
      await Promise.all(newCreations(loading).map((creation) => create(loading, creation)));
    }),
    paced(pace.visits, () => visitOne(loading)),
    paced({ perSecond: 5, clients: 1 }, () => retryCreations(loading, () => stopped)),
    paced({ perSecond: 20, clients: 3 }, () => hammer(loading)),
    paced({ perSecond: 2, clients: 1 }, () => createFree(loading)),
    paced({ perSecond: 2, clients: 1 }, () => rename(loading)),
    paced({ perSecond: 2, clients: 1 }, switchOne),
    paced({ perSecond: 20, clients: 4 }, () => manageOne(loading)),
    paced({ perSecond: 1, clients: 1 }, () => useKeys(loading)),
  ];
  return {
    tally: loading.tally,
    takeResponses: () => responses.splice(0),
    forgetCached: (edge) => loading.cached.get(edge)?.clear(),
    async stop() {
      stopped = true;
      await Promise.all(running);
      ownDelays.stop();
    },
  };
};
