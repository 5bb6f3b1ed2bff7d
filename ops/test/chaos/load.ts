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

/** A second's requests, as far as `atOnce` askers, of whom each waits for its answer, can send them. */
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
  /** The answers since the last call; of those that were lost with their connection, none. */
  takeResponses(): readonly Timed[];
  /** An edge has begun anew: it has no link in memory. */
  forgetCached(edge: string): void;
  /** Sends nothing new from now on; resolves when every request was answered or is lost. */
  stop(): Promise<void>;
}

/** What a creation, a visit and the like need. */
interface Loading {
  readonly target: Target;
  readonly keys: LoadKeys;
  readonly promises: Promises;
  readonly random: Random;
  readonly tally: Tally;
  /** Hears of each answer, and of a wait that was given up, when it is over. */
  readonly noteResponse: (asked: Omit<Timed, 'to' | 'ms'>) => void;
  /** The codes of links without a limit that an edge has redirected, by the edge's address. */
  readonly cached: Map<string, Set<string>>;
}

const timeoutMs = 10_000;
const switchedLinks = 4;
const managedLinks = 8;
/** A limit whose clicks are decided exactly, and never used up. */
const unreached = 1_000_000;
/** Half of the visits go to the newest links, so that some are hot and limits are used up. */
const newestLinks = 50;
/** One creation in as many is a race of two for one alias. */
const raceEvery = 10;

/** An answer, and the node that gave it. */
interface Answered {
  readonly node: string;
  readonly kind: ResponseKind;
  readonly answer: HttpResponse;
}

/** A 503 says when to come again; any other 5xx is a fault of ours. */
const checkFailure = ({ promises, tally }: Loading, path: string, answer: HttpResponse): void => {
  const { status, headers } = answer;
  if (status !== 503) {
    tally.serverErrors += 1;
    promises.broken.push(`${path} was answered ${status}`);
  } else if (headers['retry-after'] === undefined) {
    promises.broken.push(`${path} was answered 503 without Retry-After`);
  }
};

/**
 * Asks one node, chosen by the random numbers, and the next one where nobody listens: such a request
 * was never sent. `lost`: the connection ended without an answer; `unsent`: nobody listens at all.
 */
const sendToAny = async (
  loading: Loading,
  nodes: readonly string[],
  kindAt: (node: string) => ResponseKind,
  path: string,
  options: RequestOptions,
): Promise<Answered | 'lost' | 'unsent'> => {
  const { random, noteResponse: noteAnswer } = loading;
  const first = random.below(nodes.length);
  for (const index of nodes.keys()) {
    const node = nodes[(first + index) % nodes.length] ?? '';
    const asked = { kind: kindAt(node), node, from: performance.now() };
    try {
      const answer = await sendRequest(`${node}${path}`, { timeoutMs, ...options });
      noteAnswer(asked);
      if (answer.status >= 500) checkFailure(loading, path, answer);
      return { node, kind: asked.kind, answer };
    } catch (error) {
      if (hasCode(error, 'ETIMEDOUT')) noteAnswer(asked);
      // The product was killed under it: that the request is lost is what is to be noted.
      if (!hasCode(error, 'ECONNREFUSED')) return 'lost';
    }
  }
  return 'unsent';
};

/** Asks an API and counts what came of it: an answer, or `null` where it is unknown what was done. */
const sendToApi = async (
  loading: Loading,
  path: string,
  options: RequestOptions,
  nodes: readonly string[] = loading.target.apis,
): Promise<HttpResponse | null> => {
  const { tally } = loading;
  const asked = await sendToAny(loading, nodes, () => 'API', path, options);
  if (typeof asked === 'string') {
    tally.lost += 1;
    return null;
  }
  const { answer } = asked;
  if (answer.status === 429) tally.limited += 1;
  if (answer.status < 500) return answer;
  tally.apiRefused += 1;
  return null;
};

/** As the owner of links or keys, at any API. */
const sendAs =
  (loading: Loading, key: { readonly key: string }) =>
  (path: string, options: RequestOptions): Promise<HttpResponse | null> =>
    sendToApi(loading, path, { ...options, headers: { ...bearer(key), ...options.headers } });

/** Sends a creation, for the first time or again, and notes what came of it. */
const create = async (loading: Loading, creation: OpenCreation): Promise<PromisedLink | null> => {
  const { keys, promises, tally } = loading;
  const { idempotencyKey, body } = creation;
  const headers = { ...bearer(keys.pro), 'Idempotency-Key': idempotencyKey };
  const answer = await sendToApi(loading, '/v2/shorten', { method: 'POST', headers, body });
  // 409: the first one of this key may still be answered.
  if (answer === null || answer.status === 409) {
    promises.openCreations.push(creation);
    return null;
  }
  if (
    body.alias !== undefined &&
    answer.status === 400 &&
    (answer.json() as { message: string }).message === messages.aliasTaken
  ) {
    promises.refusedAliases.add(body.alias);
    return null;
  }
  if (answer.status !== 201) {
    promises.broken.push(`a creation was answered ${answer.status}: ${answer.text}`);
    return null;
  }
  tally.created += 1;
  const { shortCode } = answer.json() as { shortCode: string };
  return promiseLink(promises, {
    code: shortCode,
    url: body.url,
    maxClicks: body.maxClicks ?? null,
  });
};

/** Sends again, under their keys, the creations that were not answered, until one is not again. */
const retryCreations = async (
  loading: Loading,
  isStopped: () => boolean = () => false,
): Promise<void> => {
  const { openCreations } = loading.promises;
  for (const creation of [...openCreations]) {
    if (isStopped()) return;
    // Another one of us may have taken it.
    const index = openCreations.indexOf(creation);
    if (index === -1) continue;
    openCreations.splice(index, 1);
    await create(loading, creation);
    if (openCreations.includes(creation)) return;
  }
};

/** Notes what a visit of a link got that its owner changes all the while. */
const noteManaged = (
  { promises, tally }: Loading,
  managed: ManagedLink,
  answer: HttpResponse,
  { request, wasDeleted }: { readonly request: string; readonly wasDeleted: boolean },
): void => {
  const { link, urls, served } = managed;
  const { location } = answer.headers;
  if (answer.status === 410) return;
  if (answer.status !== 302 || location === undefined || !urls.has(location)) {
    promises.broken.push(`${link.code} led to ${location ?? answer.status}, where it never was`);
    return;
  }
  tally.visited += 1;
  link.redirected += 1;
  served.set(request, location);
  // The ledger decides its clicks.
  if (wasDeleted && link.maxClicks !== null) {
    promises.broken.push(`${link.code} redirected after the answer to its deletion`);
  }
};

const visit = async (loading: Loading, link: PromisedLink): Promise<void> => {
  const { target, promises, tally, cached: warm } = loading;
  const managed = promises.managed.find((one) => one.link === link);
  const isSwitched = (): boolean => promises.switched.some((switched) => switched.link === link);
  const kindAt = (edge: string): ResponseKind =>
    warm.get(edge)?.has(link.code) === true && !isSwitched() ? 'cached link' : 'edge';
  const request = randomUUID();
  const wasDeleted = managed?.deletion === 'done';
  link.inFlight += 1;
  const asked = await sendToAny(loading, target.edges, kindAt, `/${link.code}`, {
    ...(managed && { headers: { 'X-Request-Id': request } }),
  });
  link.inFlight -= 1;
  if (asked === 'unsent' || asked === 'lost') {
    tally.lostVisits += 1;
    if (asked === 'lost') link.unanswered += 1;
    return;
  }
  const { node, kind, answer } = asked;
  if (answer.status >= 500) {
    tally.edgeRefused += 1;
    link.unanswered += 1;
    if (kind === 'cached link') {
      promises.broken.push(`${node} has ${link.code} in memory, and answered ${answer.status}`);
    }
    return;
  }
  if (managed) {
    noteManaged(loading, managed, answer, { request, wasDeleted });
    return;
  }
  if (answer.status === 302 && answer.headers.location === link.url) {
    tally.visited += 1;
    link.redirected += 1;
    if (link.maxClicks === null) warm.get(node)?.add(link.code);
    if (link.gone) promises.broken.push(`${link.code} redirected after a 410`);
    return;
  }
  if (answer.status === 410 && link.maxClicks !== null) {
    tally.limited += 1;
    // Those that are answered after it may have been decided before it.
    link.gone ||= link.inFlight === 0;
    return;
  }
  if (answer.status === 410 && isSwitched()) return;
  promises.broken.push(
    `a visit of ${link.code} (limit ${link.maxClicks ?? 'none'}) was answered ${answer.status}`,
  );
};

/** One call of the FREE key: what passes costs one of the window's 60. */
const hammer = async (loading: Loading): Promise<void> => {
  const { keys, promises } = loading;
  const options = { headers: bearer(keys.hammer) };
  const answer = await sendToApi(loading, '/v2/stats/unknown-code', options);
  if (answer?.status !== 404) return;
  const reset = Number(answer.headers['x-ratelimit-reset']);
  promises.passed.set(reset, (promises.passed.get(reset) ?? 0) + 1);
};

const createFree = async (loading: Loading): Promise<void> => {
  const { keys, promises } = loading;
  const answer = await sendToApi(loading, '/v2/shorten', {
    method: 'POST',
    headers: bearer(keys.small),
    body: { url: 'https://example.com/free' },
  });
  if (answer?.status === 201) promises.freeLinks += 1;
};

/** A change by an operator with a marker of its own; `null` where it was not acknowledged. */
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
  const answer = await sendToApi(loading, path, options, [target.admin]);
  if (answer === null) return null;
  if (answer.status !== 200 && answer.status !== 202) {
    promises.broken.push(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
    return null;
  }
  tally.changed += 1;
  return { marker, published: answer.status === 200 };
};

const rename = async (loading: Loading): Promise<void> => {
  const path = `/admin/keys/${loading.keys.renamed.id}`;
  const changed = await change(loading, 'PATCH', path, (name) => ({ name }));
  if (changed) loading.promises.changes.push(changed);
};

/** Blocks a link that both edges have in memory, or unblocks it. */
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
  // Where an answer was lacking before, it may have been so already: then there is no event.
  if (before !== null) loading.promises.changes.push(changed);
};

const newCreation = (more: { alias?: string; maxClicks?: number } = {}): OpenCreation => ({
  idempotencyKey: randomUUID(),
  body: { url: `https://example.com/${randomUUID()}?of=chaos`, ...more },
});

/** Letters that spell no reserved word, as the digits of a UUID now and then do. */
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

/** Changes a link whose owner keeps an eye on it, and visits it. */
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
    const asked = { ...options, headers: bearer({ key }) };
    const answers = await Promise.all(
      target.apis.map((api) => sendToApi(loading, path, asked, [api])),
    );
    return answers.flatMap((answer) => (answer === null ? [] : [answer.status]));
  };
  return liveKey({ send: sendAs(loading, keys.root), everywhere }, keys.root.id, promises);
};

const loadingOf = (
  target: Target,
  keys: LoadKeys,
  promises: Promises,
  random: Random,
  noteAnswer: Loading['noteResponse'] = () => undefined,
): Loading => ({
  ...{ target, keys, promises, random, noteResponse: noteAnswer, tally: newTally() },
  cached: new Map(target.edges.map((edge) => [edge, new Set()])),
});

/** Asks again, some times, for what was never answered, of a product that is well. */
export const retryOpenCreations = async (
  target: Target,
  keys: LoadKeys,
  promises: Promises,
  random: Random,
): Promise<void> => {
  const loading = loadingOf(target, keys, promises, random);
  for (let attempt = 0; attempt < 10 && promises.openCreations.length > 0; attempt += 1) {
    if (attempt > 0) await sleep(500);
    await Promise.all(Array.from({ length: 16 }, () => retryCreations(loading)));
  }
};

/** Creates, visits, hammers and operates at this pace, until it is stopped. */
export const startLoad = (options: {
  readonly target: Target;
  readonly keys: LoadKeys;
  readonly promises: Promises;
  readonly random: Random;
  readonly pace: Pace;
}): Load => {
  const { target, keys, promises, random, pace } = options;
  const answers: Timed[] = [];
  const ownDelays = watchOwnDelays();
  const loading = loadingOf(target, keys, promises, random, (asked) => {
    const span = { from: asked.from, to: performance.now() };
    answers.push({ ...asked, ...span, ms: span.to - span.from - ownDelays.within(span) });
  });
  let stopped = false;

  const paced = async (
    { perSecond, clients: atOnce }: Rate,
    act: () => Promise<void>,
  ): Promise<void> => {
    const everyMs = (atOnce * 1_000) / perSecond;
    const actor = async (number: number): Promise<void> => {
      // What was missed is not made up for: a load that has waited is no load that jumps.
      let due = performance.now() + (everyMs * number) / atOnce;
      for (;;) {
        const waitMs = due - performance.now();
        if (waitMs > 0) await sleep(waitMs);
        if (stopped) return;
        await act();
        due = Math.max(due + everyMs, performance.now());
      }
    };
    await Promise.all(Array.from({ length: atOnce }, (_, number) => actor(number)));
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
    takeResponses: () => answers.splice(0),
    forgetCached: (edge) => loading.cached.get(edge)?.clear(),
    async stop() {
      stopped = true;
      await Promise.all(running);
      ownDelays.stop();
    },
  };
};
