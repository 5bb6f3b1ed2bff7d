import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { temporaryDir } from '../support/process.js';
import { startProduct, type Product } from '../support/product.js';
import { behindProxy, makeLink, password } from './password-guesses.js';
import { runLoad, type LoadResult, type Stream, type StreamResult } from './steady-load.js';

const visitorCount = 100;
const bystandersPerSecond = 10;

const hex = (number: number): string => number.toString(16);

const addresses = (count: number, of: (index: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, index) => of(index));

/** Where guesses come from, by a name for the table. Each has networks that no other has. */
export const origins: Readonly<Record<string, readonly string[]>> = {
  '1 address': ['192.0.2.1'],
  '40 /64s of one /48': addresses(40, (index) => `2a01:1:1:${hex(index)}::1`),
  '250 addresses, a /16 each': addresses(250, (index) => `11.${index}.0.1`),
  '2,000 /64s in 8 /48s': addresses(2_000, (n) => `2a02:1:${hex(n % 8)}:${hex(n)}::1`),
  '2,000 /48s in one /32': addresses(2_000, (index) => `2a03:1:${hex(index)}:1::1`),
  '2,000 /48s, a /32 each': addresses(2_000, (index) => `2a04:${hex(index)}:1:1::1`),
};

/** Visitors' networks: of those of a flood, they share none but the first octet or group. */
const freshNetworks = (from: number): readonly string[] =>
  addresses(10_000, (index) => `2a05:${hex(from)}:${hex(index)}:1::1`);

export interface NetworkFloodOptions {
  /** Addresses that guess in turn. */
  readonly guessers: readonly string[];
  readonly perSecond: number;
  /** Of the links under attack, which are guessed at in turn. */
  readonly paths: readonly string[];
  /** Of a link that is not under attack. */
  readonly quietPath: string;
  /** Visitors of the links under attack, over the whole run, each from a network of its own. */
  readonly visitors: number;
  readonly ms: number;
}

export interface NetworkFloodFigures {
  readonly guesses: StreamResult;
  /** With the right password, at the links under attack, from networks that made no guess. */
  readonly visitors: StreamResult;
  /** The same at the other link. */
  readonly bystanders: StreamResult;
}

/** The paths of new links with a password. */
export const securedPaths = async (product: Product, count: number): Promise<readonly string[]> => {
  const { key } = await product.createKey({ plan: 'PRO' });
  const paths: string[] = [];
  while (paths.length < count) {
    paths.push(new URL(await makeLink(product, key, { password })).pathname);
  }
  return paths;
};

/** Guesses the passwords of links from many networks, while visitors enter the right one. */
export const floodFromNetworks = async (
  { edge }: Pick<Product, 'edge'>,
  options: NetworkFloodOptions,
): Promise<NetworkFloodFigures> => {
  const { guessers, perSecond, paths, quietPath, visitors, ms } = options;
  const urls = paths.map((path) => edge + path);
  const form = new URLSearchParams({ password }).toString();
  const floods: readonly Stream[] = [
    { name: 'guesses', perSecond, urls, form: 'password=wrong+horse+{n}', clients: guessers },
  ];
  const visits: readonly Stream[] = [
    {
      ...{ name: 'visitors', perSecond: (visitors * 1_000) / ms, urls, form },
      clients: freshNetworks(0),
    },
    {
      ...{ name: 'bystanders', perSecond: bystandersPerSecond, urls: [edge + quietPath], form },
      clients: freshNetworks(1),
    },
  ];
  const [flooded, visited] = await Promise.all([
    runLoad({ streams: floods, ms, warmUpMs: 0, givesWay: true }),
    runLoad({ streams: visits, ms, warmUpMs: 0, givesWay: false }),
  ]);
  const result = (results: LoadResult, name: string): StreamResult => {
    const found = results[name];
    if (!found) throw new Error(`No ${name} were sent`);
    return found;
  };
  return {
    guesses: result(flooded, 'guesses'),
    visitors: result(visited, 'visitors'),
    bystanders: result(visited, 'bystanders'),
  };
};

const round = (ms: number): string => ms.toFixed(0);

const rowOf = ({ guesses, visitors, bystanders }: NetworkFloodFigures): readonly string[] => [
  ...[visitors, bystanders].flatMap(({ answers, sent, p50, p99 }) => [
    `${answers['303'] ?? 0} of ${sent}`,
    `${round(p50)} / ${round(p99)}`,
  ]),
  ...['401', '429', '503'].map((status) => `${guesses.answers[status] ?? 0}`),
];

/**
 * `node dist/ops/test/bench/password-networks.js [seconds] [origin] [program]`: each row is a product of
 * its own; `origin` is a part of a name above, and `program` the main file of another build. Guesses come
 * from a process of the idle class (Linux), as from another machine; visitors from one that goes first.
 */
const run = async (): Promise<void> => {
  const [seconds = '20', wanted = '', program] = process.argv.slice(2);
  const print = (cells: readonly string[]): void => {
    process.stdout.write(`| ${cells.join(' | ')} |\n`);
  };
  const titles = [
    ...['guesses from', 'a second', 'links', 'edge', 'visitors in', 'p50 / p99 ms'],
    ...['bystanders in', 'p50 / p99 ms', '401', '429', '503'],
  ];
  print(titles);
  print(titles.map(() => '---'));
  const ms = Number(seconds) * 1_000;
  for (const [name, guessers] of Object.entries(origins)) {
    if (!name.includes(wanted)) continue;
    for (const [perSecond, links, restarted] of [
      [100, 1, false],
      [1_000, 1, false],
      [1_000, 1, true],
      [1_000, 40, false],
      [1_000, 40, true],
    ] as const) {
      const dataDir = await temporaryDir();
      const start = (): Promise<Product> =>
        startProduct({ env: behindProxy, dataDir, ...(program !== undefined && { program }) });
      let product = await start();
      try {
        const [quietPath = '', ...paths] = await securedPaths(product, links + 1);
        if (restarted) {
          await product.stop();
          product = await start();
        }
        const figures = await floodFromNetworks(product, {
          ...{ guessers, perSecond, paths, quietPath, visitors: visitorCount, ms },
        });
        const sent = round(figures.guesses.sent / Number(seconds));
        const edge = restarted ? 'restarted' : 'made the links';
        print([name, sent, `${links}`, edge, ...rowOf(figures)]);
        await product.stop();
      } finally {
        await product.cleanup();
        await rm(dataDir, { recursive: true, force: true });
      }
    }
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await run();
