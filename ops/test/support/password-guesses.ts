import { setTimeout as sleep } from 'node:timers/promises';
import { createLink } from './create-links.js';
import type { Product } from './product.js';
import { watchRss } from './rss.js';
import { newClients, runLoad, type LoadResult, type Stream } from './steady-load.js';

/** The environment of a product that accepts `X-Forwarded-For` of the guesses. */
export const behindProxy = { TRUSTED_PROXIES: '127.0.0.0/8' };

const password = 'correct horse';
const plainLinks = 20;

export interface FloodOptions {
  /** Guesses a second, all at one link. */
  readonly perSecond: number;
  /** Whether each guess has another address. */
  readonly manyClients: boolean;
  readonly normalMs: number;
  readonly floodMs: number;
  readonly afterMs: number;
  readonly warmUpMs: number;
}

export interface FloodFigures {
  readonly guesses: LoadResult[string];
  /** The responses to visitors, by phase. */
  readonly normal: LoadResult;
  readonly flood: LoadResult;
  readonly after: LoadResult;
  readonly rssMiB: { readonly before: number; readonly most: number };
}

/** Floods one link with wrong passwords, and records the responses to visitors before, during and after. */
export const floodWithGuesses = async (
  product: Product,
  options: FloodOptions,
): Promise<FloodFigures> => {
  const { warmUpMs } = options;
  const ms = options.floodMs + warmUpMs;
  const { key } = await product.createKey({ plan: 'PRO' });
  const newLink = async (fields: object): Promise<string> =>
    `${product.edge}/${(await createLink(product.api, key, fields)).shortCode}`;
  const plain: string[] = [];
  while (plain.length < plainLinks) plain.push(await newLink({}));
  const target = await newLink({ password });
  const other = await newLink({ password });

  const form = new URLSearchParams({ password }).toString();
  const withPassword = (name: string, url: string): Stream => ({
    ...{ name, perSecond: 5, urls: [url], form, clients: newClients(5_000) },
  });
  const visitors: readonly Stream[] = [
    { name: 'redirects', perSecond: 200, urls: plain, form: null, clients: [] },
    { name: 'forms', perSecond: 100, urls: [other], form: null, clients: [] },
    withPassword('right passwords', other),
    withPassword('right passwords at the attacked link', target),
  ];
  const guesses: Stream = {
    name: 'guesses',
    perSecond: options.perSecond,
    urls: [target],
    form: 'password=wrong+horse+{n}',
    clients: options.manyClients ? newClients((options.perSecond * ms) / 1_000) : [],
  };
  const visit = (ms: number): Promise<LoadResult> =>
    runLoad({ streams: visitors, ms: ms + warmUpMs, warmUpMs, priority: 'high' });

  const normal = await visit(options.normalMs);
  const memory = await watchRss(product);
  const [{ guesses: guessed }, flood] = await Promise.all([
    runLoad({ streams: [guesses], ms, warmUpMs: 0, priority: 'low' }),
    visit(options.floodMs),
  ]);
  const rssMiB = await memory.stop();
  await sleep(500);
  const after = await visit(options.afterMs);
  if (!guessed) throw new Error('The load has no result of the stream "guesses"');
  return { guesses: guessed, normal, flood, after, rssMiB };
};
