import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Answer } from '../testing/http.js';
import type { IssuedKey, Product } from '../testing/product.js';
import type { OpenCreation, PromisedLink, Promises } from './promises.js';
import type { Random } from './random.js';

/** The keys that the load uses. */
export interface LoadKeys {
  /** Its plan has no limit that the load could reach. */
  readonly pro: IssuedKey;
  /** FREE: for the per-minute limit. */
  readonly hammer: IssuedKey;
  /** FREE: for the monthly links. */
  readonly small: IssuedKey;
}

export interface Load {
  /** Sends nothing new from now on; resolves when every request was answered or is lost. */
  stop(): Promise<void>;
}

const creators = 6;
const visitors = 24;
const hammers = 3;

export const bearer = ({ key }: { readonly key: string }): Record<string, string> => ({
  Authorization: `Bearer ${key}`,
});

/** An answer, or `null` where the connection was lost. */
const answerOf = async (asked: Promise<Answer>): Promise<Answer | null> => {
  try {
    return await asked;
  } catch {
    // The product was killed under it: that the request is lost is what is to be noted.
    return null;
  }
};

/** Sends a creation, for the first time or again, and notes what came of it. */
export const create = async (
  product: Product,
  key: IssuedKey,
  creation: OpenCreation,
  promises: Promises,
): Promise<void> => {
  const { idempotencyKey, body } = creation;
  const headers = { ...bearer(key), 'Idempotency-Key': idempotencyKey };
  const answer = await answerOf(
    ask(`${product.api}/v2/shorten`, { method: 'POST', headers, body, timeoutMs: 10_000 }),
  );
  if (answer === null || answer.status === 503) {
    promises.openCreations.push(creation);
    return;
  }
  if (answer.status !== 201) {
    promises.broken.push(`a creation was answered ${answer.status}: ${answer.text}`);
    return;
  }
  const { shortCode } = answer.json() as { shortCode: string };
  promises.links.push({
    code: shortCode,
    url: body.url,
    maxClicks: body.maxClicks ?? null,
    redirected: 0,
    unanswered: 0,
    gone: false,
  });
};

const visit = async (product: Product, link: PromisedLink, promises: Promises): Promise<void> => {
  const answer = await answerOf(ask(`${product.edge}/${link.code}`, { timeoutMs: 10_000 }));
  if (answer === null || answer.status === 503) {
    link.unanswered += 1;
    return;
  }
  if (answer.status === 302 && answer.headers.location === link.url) {
    link.redirected += 1;
    if (link.gone) promises.broken.push(`${link.code} redirected after a 410`);
    return;
  }
  if (answer.status === 410 && link.maxClicks !== null) {
    link.gone = true;
    return;
  }
  promises.broken.push(
    `a visit of ${link.code} (limit ${link.maxClicks ?? 'none'}) was answered ${answer.status}`,
  );
};

/** One call of the FREE key: what passes costs one of the window's 60. */
const hammer = async (product: Product, key: IssuedKey, promises: Promises): Promise<void> => {
  const asked = ask(`${product.api}/v2/stats/unknown-code`, { headers: bearer(key) });
  const answer = await answerOf(asked);
  if (answer?.status !== 404) return;
  const reset = Number(answer.headers['x-ratelimit-reset']);
  promises.passed.set(reset, (promises.passed.get(reset) ?? 0) + 1);
};

const createFree = async (product: Product, key: IssuedKey, promises: Promises): Promise<void> => {
  const answer = await answerOf(
    ask(`${product.api}/v2/shorten`, {
      method: 'POST',
      headers: bearer(key),
      body: { url: 'https://example.com/free' },
    }),
  );
  if (answer?.status === 201) promises.freeLinks += 1;
};

/** Creates, visits and hammers, as fast as the product answers, until it is stopped. */
export const startLoad = (
  product: Product,
  keys: LoadKeys,
  promises: Promises,
  random: Random,
): Load => {
  let stopped = false;
  const forever = async (pauseMs: number, act: () => Promise<void>): Promise<void> => {
    while (!stopped) {
      await act();
      await sleep(pauseMs);
    }
  };
  const creation = (): OpenCreation => {
    const url = `https://example.com/${randomUUID()}?of=chaos`;
    const limited = random.below(3) === 0;
    return {
      idempotencyKey: randomUUID(),
      body: limited ? { url, maxClicks: 1 + random.below(30) } : { url },
    };
  };
  const times = (count: number, act: () => Promise<void>): Promise<void>[] =>
    Array.from({ length: count }, act);

  const running = [
    ...times(creators, () => forever(10, () => create(product, keys.pro, creation(), promises))),
    ...times(visitors, () =>
      forever(1, async () => {
        const link = promises.links[random.below(promises.links.length)];
        if (link) await visit(product, link, promises);
      }),
    ),
    ...times(hammers, () => forever(20, () => hammer(product, keys.hammer, promises))),
    forever(200, () => createFree(product, keys.small, promises)),
  ];
  return {
    async stop() {
      stopped = true;
      await Promise.all(running);
    },
  };
};
