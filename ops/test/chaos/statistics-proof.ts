import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupBy } from '../../platform/group-by.js';
import type { AccountStatsResponse, StatsResponse } from '../../../schemas/http/statistics.js';
import { dimensionNames, type Dimension } from '../../../schemas/statistics/document.js';
import { createLinks } from '../support/create-links.js';
import { testDatabase } from '../support/database.js';
import { sendRequest } from '../support/http.js';
import { generousPlansFile } from '../support/plans.js';
import { launch, mainFile, readyLine, temporaryDir } from '../support/process.js';
import { issueKey } from '../support/product.js';
import { openStatusClient } from '../support/status-client.js';
import { eventually } from '../support/waiting.js';
import { seededRandom, type Random } from '../support/random.js';
import { rebuildAll } from './rebuilds.js';

export interface StatisticsProof {
  readonly visits: number;
  /** A multiple of 50. */
  readonly links: number;
  readonly clients: number;
  /** Milliseconds from one kill of a projector to the next. */
  readonly killEveryMs: number;
  readonly seed: number;
  readonly onProgress?: (responses: number, kills: number) => void;
}

const agents = [
  {
    agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    expected: { browsers: 'Firefox', os: 'Linux', devices: 'desktop' },
  },
  {
    agent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    expected: { browsers: 'Chrome', os: 'Windows', devices: 'desktop' },
  },
  {
    agent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    expected: { browsers: 'Safari', os: 'iOS', devices: 'mobile' },
  },
] as const;
const bot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
const languages = ['de', 'en', 'fr', 'ne', null];
/** More referrers than the statistics of a day store. */
const sites = 150;
const adminToken = 'a-token-for-the-proof-of-statistics';

/** A request, and its expected values in the statistics. */
interface Visit {
  readonly code: string;
  /** The head of the request. */
  readonly request: string;
  readonly bot: boolean;
  /** `null` with `DNT: 1`. */
  readonly visitor: string | null;
  readonly values: Readonly<Record<Dimension, string | null>>;
}

const pick = <Item>(random: Random, items: readonly Item[]): Item =>
  items[random.below(items.length)] as Item;

const randomVisit = (random: Random, codes: readonly string[]): Visit => {
  const code = pick(random, codes);
  const { agent, expected } = pick(random, agents);
  const isBot = random.below(10) === 0;
  const isUntracked = random.below(10) === 0;
  const hasCode = random.below(5) === 0;
  const number = random.below(40);
  // The bundled database has the first in the United States; the second is private.
  const [address, country] =
    random.below(2) === 0 ? [`8.8.8.${number}`, 'US'] : [`10.1.2.${number}`, null];
  const language = pick(random, languages);
  const site = random.below(3) === 0 ? null : `site-${random.below(sites)}.example.com`;
  const headers = [
    'Host: a',
    `User-Agent: ${isBot ? bot : agent}`,
    `X-Forwarded-For: ${address}`,
    ...(language === null ? [] : [`Accept-Language: ${language}-XX,${language};q=0.8`]),
    ...(site === null ? [] : [`Referer: https://www.${site}/page`]),
    ...(isUntracked ? ['DNT: 1'] : []),
  ];
  return {
    code,
    request: `GET /${code}${hasCode ? '?qr' : ''} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`,
    bot: isBot,
    visitor: isUntracked ? null : `${address} ${agent}`,
    values: {
      ...expected,
      countries: isUntracked ? null : country,
      languages: isUntracked ? null : language,
      referrers: isUntracked ? null : site,
      triggers: hasCode ? 'qr' : 'link',
      targets: null,
    },
  };
};

/** Sends the visits; each client sends the next one after a response. @returns the visits */
const sendVisits = async (
  edge: string,
  codes: readonly string[],
  { visits, clients, seed }: StatisticsProof,
  onResponse: () => void,
): Promise<readonly Visit[]> => {
  const random = seededRandom(seed);
  const sentVisits: Visit[] = [];
  let sent = 0;
  const run = async (): Promise<void> => {
    const client = openStatusClient(edge);
    try {
      while (sent < visits) {
        sent += 1;
        const visit = randomVisit(random, codes);
        const status = await client.send(visit.request);
        if (status !== '302') throw new Error(`a visit returned ${status}`);
        sentVisits.push(visit);
        onResponse();
      }
    } finally {
      client.close();
    }
  };
  await Promise.all(Array.from({ length: clients }, run));
  return sentVisits;
};

/** Two projectors, which are killed (-9) and restarted alternately. */
const startProjectors = async (env: Readonly<Record<string, string>>) => {
  const start = async () => {
    const dataDir = await temporaryDir();
    const running = launch({ ...env, DATA_DIR: dataDir }, [mainFile, 'projectors']);
    await readyLine(running);
    return { dataDir, running };
  };
  const kill = async ({ dataDir, running }: Awaited<ReturnType<typeof start>>): Promise<void> => {
    running.child.kill('SIGKILL');
    await running.ended;
    await rm(dataDir, { recursive: true, force: true });
  };
  const projectors = await Promise.all([start(), start()]);
  let kills = 0;
  return {
    async killNext(): Promise<number> {
      const index = kills % projectors.length;
      kills += 1;
      const [killed] = projectors.splice(index, 1);
      if (killed) await kill(killed);
      projectors.splice(index, 0, await start());
      return kills;
    },
    stop: () => Promise.all(projectors.map(kill)),
  };
};

const countBy = (values: readonly (string | null)[]): ReadonlyMap<string | null, number> =>
  new Map([...groupBy(values, (value) => value)].map(([value, { length }]) => [value, length]));

const sumOf = (list: readonly { readonly clicks: number }[] = []): number =>
  list.reduce((sum, { clicks }) => sum + clicks, 0);

/** Differences between statistics and visits. */
const findDifferences = (
  what: string,
  stats: StatsResponse | AccountStatsResponse,
  visits: readonly Visit[],
  isOneDay: boolean,
): readonly string[] => {
  const clicks = visits.filter((visit) => !visit.bot);
  const visitors = new Set(
    clicks.flatMap(({ code, visitor }) => (visitor === null ? [] : [`${code} ${visitor}`])),
  );
  const numbers = [
    ['clickCount', stats.clickCount, clicks.length],
    ['period.clickCount', stats.period?.clickCount, clicks.length],
    ['timeseries', sumOf(stats.timeseries), clicks.length],
    ['bots', stats.bots, visits.length - clicks.length],
    ...(isOneDay ? [['uniques', stats.uniques, visitors.size] as const] : []),
    ...dimensionNames.flatMap((name) => {
      const list = stats[name] ?? [];
      const sum = [name, sumOf(list), clicks.length] as const;
      // Which referrers are stored depends on the order of the log.
      if (name === 'referrers') return [sum];
      const expected = countBy(clicks.map(({ values }) => values[name]));
      const values = new Set([...list.map(({ value }) => value), ...expected.keys()]);
      return [
        sum,
        ...[...values].map((value) => {
          const found = list.find((row) => row.value === value)?.clicks;
          return [`${name} ${value ?? '(not recorded)'}`, found, expected.get(value)] as const;
        }),
      ];
    }),
  ] as const;
  return numbers.flatMap(([name, found, expected]) =>
    found === expected ? [] : [`${what} has ${found} of ${name}, expected ${expected}`],
  );
};

/**
 * Visits links while projectors are killed (-9), and compares GET /v2/stats of each link and of the account with the
 * responses 302. Then every projection is rebuilt from the log and must be equal.
 *
 * @returns descriptions of differences
 */
export const proveStatistics = async (proof: StatisticsProof): Promise<readonly string[]> => {
  const database = await testDatabase('proof');
  const dataDir = await temporaryDir();
  const env = {
    DATABASE_URL: database.url,
    ADMIN_TOKEN: adminToken,
    PLANS_FILE: await generousPlansFile(dataDir),
    TRUSTED_PROXIES: '127.0.0.1',
  };
  const product = launch({ ...env, DATA_DIR: dataDir }, [mainFile, 'api', 'edge']);
  const { api, edge, admin } = (await readyLine(product)) as Record<
    'api' | 'edge' | 'admin',
    string
  >;
  const projectors = await startProjectors(env);
  try {
    const { key } = await issueKey({ admin, adminToken }, { plan: 'PRO' });
    const codes = await createLinks(api, key, proof.links, (n) => `https://example.com/${n}`);
    const dayOf = (): string => new Date().toISOString().slice(0, 10);
    const firstDay = dayOf();
    let responses = 0;
    const ended = new AbortController();
    const kill = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        // `abort` ends the wait, for a last kill.
        await sleep(proof.killEveryMs, undefined, { signal: ended.signal }).catch(() => undefined);
        const kills = await projectors.killNext();
        proof.onProgress?.(responses, kills);
      }
    };
    const killing = kill();
    let visits: readonly Visit[];
    try {
      visits = await sendVisits(edge, codes, proof, () => (responses += 1));
    } finally {
      ended.abort();
      await killing;
    }
    const isOneDay = firstDay === dayOf();

    const statsOf = async (path: string): Promise<StatsResponse & AccountStatsResponse> => {
      const headers = { Authorization: `Bearer ${key}` };
      const answer = await sendRequest(`${api}${path}?include=all&limit=200`, { headers });
      if (answer.status !== 200) throw new Error(answer.text);
      return answer.json() as StatsResponse & AccountStatsResponse;
    };
    const isCounted = async (): Promise<boolean> => {
      const { clickCount, bots = 0 } = await statsOf('/v2/stats');
      return clickCount + bots >= visits.length;
    };
    await eventually('every visit is counted', isCounted, 120_000);
    const wrong = [...findDifferences('the account', await statsOf('/v2/stats'), visits, isOneDay)];
    const byCode = groupBy(visits, ({ code }) => code);
    for (const code of codes) {
      const stats = await statsOf(`/v2/stats/${code}`);
      wrong.push(...findDifferences(code, stats, byCode.get(code) ?? [], isOneDay));
    }
    return [...wrong, ...(await rebuildAll({ ...env, DATA_DIR: dataDir }))];
  } finally {
    await projectors.stop();
    product.child.kill('SIGTERM');
    await product.ended;
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  }
};
