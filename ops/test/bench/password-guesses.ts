import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sendRequest } from '../support/http.js';
import { median } from '../support/median.js';
import { startProduct, type Product } from '../support/product.js';
import { newClients, pooled, runLoad, type LoadResult, type Stream } from './steady-load.js';

/** The environment of a product that trusts `X-Forwarded-For` of the guesses. */
export const behindProxy = { TRUSTED_PROXIES: '127.0.0.0/8' };

const password = 'correct horse';
const plainLinks = 20;

export interface FloodOptions {
  /** Guesses a second, all at one link. */
  readonly perSecond: number;
  /** Whether each guess comes from an address of its own. */
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
  readonly rssMiB: { readonly before: number; readonly most: number; readonly after: number };
}

const makeLink = async (product: Product, key: string, fields: object): Promise<string> => {
  const answer = await sendRequest(`${product.api}/v2/shorten`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}` },
    body: { url: 'https://example.com/', ...fields },
  });
  if (answer.status !== 201) throw new Error(`No link: ${answer.status} ${answer.text}`);
  return `${product.edge}/${(answer.json() as { shortCode: string }).shortCode}`;
};

/** Guesses at one link's password, and measures the responses to visitors before, during and after. */
export const floodWithGuesses = async (
  product: Product,
  options: FloodOptions,
): Promise<FloodFigures> => {
  const { warmUpMs } = options;
  const ms = options.floodMs + warmUpMs;
  const { key } = await product.createKey({ plan: 'PRO' });
  const plain: string[] = [];
  while (plain.length < plainLinks) plain.push(await makeLink(product, key, {}));
  const target = await makeLink(product, key, { password });
  const other = await makeLink(product, key, { password });

  const form = new URLSearchParams({ password }).toString();
  const visitors: readonly Stream[] = [
    { name: 'redirects', perSecond: 200, urls: plain, form: null, clients: [] },
    { name: 'forms', perSecond: 100, urls: [other], form: null, clients: [] },
    {
      name: 'right passwords',
      perSecond: 5,
      urls: [other],
      form,
      clients: newClients(5_000),
    },
    {
      name: 'right passwords at the attacked link',
      perSecond: 5,
      urls: [target],
      form,
      clients: newClients(5_000),
    },
  ];
  const guesses: Stream = {
    name: 'guesses',
    perSecond: options.perSecond,
    urls: [target],
    form: 'password=wrong+horse+{n}',
    clients: options.manyClients ? newClients((options.perSecond * ms) / 1_000) : [],
  };
  const visit = async (ms: number): Promise<LoadResult> => {
    const plan = { streams: visitors, ms: ms + warmUpMs, warmUpMs, givesWay: false };
    const kinds = await runLoad(plan);
    const withoutHash = ['redirects', 'forms'].flatMap((kind) => kinds[kind] ?? []);
    return { 'redirects and forms': pooled(withoutHash), ...kinds };
  };

  const normal = await visit(options.normalMs);
  const before = await product.rssMiB();
  let most = before;
  const look = setInterval(() => {
    void product.rssMiB().then((now) => {
      most = Math.max(most, now);
    });
  }, 100);
  const [flooded, flood] = await Promise.all([
    runLoad({ streams: [guesses], ms, warmUpMs: 0, givesWay: true }),
    visit(options.floodMs),
  ]);
  clearInterval(look);
  await sleep(500);
  const after = await visit(options.afterMs);
  const rssMiB = { before, most, after: await product.rssMiB() };
  const guessed = flooded['guesses'];
  if (!guessed) throw new Error('Nothing was guessed');
  return { guesses: guessed, normal, flood, after, rssMiB };
};

const round = (ms: number): string => ms.toFixed(2);

const tableOf = ({ guesses, normal, flood, after, rssMiB }: FloodFigures): string[] => {
  const lines = [
    '| ms, p50 / p99 | normal | flood | after | p99 flood / normal |',
    '|---|---|---|---|---|',
  ];
  for (const [name, usual] of Object.entries(normal)) {
    const meanwhile = flood[name];
    const cells = [usual, meanwhile, after[name]].map((result) =>
      result ? `${round(result.p50)} / ${round(result.p99)} ${JSON.stringify(result.answers)}` : '',
    );
    const ratio = (meanwhile?.p99 ?? NaN) / usual.p99;
    lines.push(`| ${[name, ...cells, ratio.toFixed(2)].join(' | ')} |`);
  }
  lines.push(
    `guesses: ${guesses.sent} sent, ${JSON.stringify(guesses.answers)}, p50 / p99 ${round(guesses.p50)} / ${round(guesses.p99)} ms`,
    `RSS, MiB: ${Math.round(rssMiB.before)} before, ${Math.round(rssMiB.most)} at most, ${Math.round(rssMiB.after)} after`,
  );
  return lines;
};

/**
 * The long form: `node dist/ops/test/bench/password-guesses.js [rounds]`. A machine with neighbours has
 * seconds that are slow for reasons of their own: the median of the rounds' ratios counts.
 */
const run = async (): Promise<void> => {
  const [rounds = 3] = process.argv.slice(2).map(Number);
  for (const manyClients of [true, false]) {
    const from = manyClients ? 'an address each' : 'one address';
    const ratios = new Map<string, number[]>();
    const product = await startProduct({ env: behindProxy });
    try {
      for (let number = 1; number <= rounds; number += 1) {
        const figures = await floodWithGuesses(product, {
          perSecond: 1_000,
          manyClients,
          normalMs: 30_000,
          floodMs: 30_000,
          afterMs: 5_000,
          warmUpMs: 2_000,
        });
        const title = `1,000 guesses a second, from ${from}, round ${number}`;
        process.stdout.write(`${[title, ...tableOf(figures)].join('\n')}\n\n`);
        for (const [name, { p99 }] of Object.entries(figures.flood)) {
          const ratio = p99 / (figures.normal[name]?.p99 ?? NaN);
          ratios.set(name, [...(ratios.get(name) ?? []), ratio]);
        }
      }
      for (const [name, all] of ratios) {
        process.stdout.write(`${from}, ${name}: p99 × ${round(median(all))}, median\n`);
      }
      await product.stop();
    } finally {
      await product.cleanup();
    }
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await run();
