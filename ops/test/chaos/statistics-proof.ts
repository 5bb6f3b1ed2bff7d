import { connect } from 'node:net';
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
  readonly onProgress?: (answered: number, kills: number) => void;
}

const agents = [
  {
    agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    judged: { browsers: 'Firefox', os: 'Linux', devices: 'desktop' },
  },
  {
    agent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    judged: { browsers: 'Chrome', os: 'Windows', devices: 'desktop' },
  },
  {
    agent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    judged: { browsers: 'Safari', os: 'iOS', devices: 'mobile' },
  },
] as const;
const bot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
const languages = ['de', 'en', 'fr', 'ne', null];
/** More than a day keeps. */
const sites = 150;
const adminToken = 'a-token-for-the-proof-of-statistics';

/** A visit that is to be made, and what the statistics are to say of it. */
interface Visit {
  readonly code: string;
  /** The head of its request, from the path on. */
  readonly request: string;
  readonly bot: boolean;
  /** `null` of one that asks not to be tracked. */
  readonly visitor: string | null;
  readonly values: Readonly<Record<Dimension, string | null>>;
}

const oneOf = <Item>(random: Random, items: readonly Item[]): Item =>
  items[random.below(items.length)] as Item;

const someVisit = (random: Random, codes: readonly string[]): Visit => {
  const code = oneOf(random, codes);
  const { agent, judged } = oneOf(random, agents);
  const isBot = random.below(10) === 0;
  const isSilent = random.below(10) === 0;
  const hasCode = random.below(5) === 0;
  const number = random.below(40);
  // The first is in the United States by the bundled database, the second is nobody's.
  const [address, country] =
    random.below(2) === 0 ? [`8.8.8.${number}`, 'US'] : [`10.1.2.${number}`, null];
  const language = oneOf(random, languages);
  const site = random.below(3) === 0 ? null : `site-${random.below(sites)}.example.com`;
  const headers = [
    'Host: a',
    `User-Agent: ${isBot ? bot : agent}`,
    `X-Forwarded-For: ${address}`,
    ...(language === null ? [] : [`Accept-Language: ${language}-XX,${language};q=0.8`]),
    ...(site === null ? [] : [`Referer: https://www.${site}/page`]),
    ...(isSilent ? ['DNT: 1'] : []),
  ];
  return {
    code,
    request: `/${code}${hasCode ? '?qr' : ''} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`,
    bot: isBot,
    visitor: isSilent ? null : `${address} ${agent}`,
    values: {
      ...judged,
      countries: isSilent ? null : country,
      languages: isSilent ? null : language,
      referrers: isSilent ? null : site,
      triggers: hasCode ? 'qr' : 'link',
    },
  };
};

/** A connection that asks for one thing after the other: it must cost little beside the product. */
const openClient = (edge: string) => {
  const { hostname: host, port } = new URL(edge);
  const socket = connect({ host, port: Number(port), noDelay: true }).setEncoding('latin1');
  let text = '';
  let answered: (status: string) => void = () => undefined;
  const lost = new Promise<never>((_resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => {
      reject(new Error('The edge closed a connection'));
    });
  });
  // It is closed from here in the end.
  lost.catch(() => undefined);
  socket.on('data', (part: string) => {
    text += part;
    if (!text.endsWith('\r\n\r\n')) return;
    answered(text.slice(9, 12));
    text = '';
  });
  return {
    /** The status of an answer that has no body. */
    get(request: string): Promise<string> {
      const status = new Promise<string>((resolve) => (answered = resolve));
      socket.write(`GET ${request}`);
      return Promise.race([status, lost]);
    },
    close: () => socket.destroy(),
  };
};

/** Sends the visits, each client the next one when its last was answered. Returns those answered with 302. */
const makeVisits = async (
  edge: string,
  codes: readonly string[],
  { visits, clients, seed }: StatisticsProof,
  onAnswer: () => void,
): Promise<readonly Visit[]> => {
  const random = seededRandom(seed);
  const answered: Visit[] = [];
  let sent = 0;
  const run = async (): Promise<void> => {
    const client = openClient(edge);
    try {
      while (sent < visits) {
        sent += 1;
        const visit = someVisit(random, codes);
        const status = await client.get(visit.request);
        if (status !== '302') throw new Error(`A visit was answered with ${status}`);
        answered.push(visit);
        onAnswer();
      }
    } finally {
      client.close();
    }
  };
  await Promise.all(Array.from({ length: clients }, run));
  return answered;
};

/** Two projectors, of which one after the other is killed with -9 and started anew. */
const startProjectors = async (env: Readonly<Record<string, string>>) => {
  const start = async () => {
    const dataDir = await temporaryDir();
    const running = launch({ ...env, DATA_DIR: dataDir }, [mainFile, 'projectors']);
    await readyLine(running);
    return { dataDir, running };
  };
  const end = async ({ dataDir, running }: Awaited<ReturnType<typeof start>>): Promise<void> => {
    running.child.kill('SIGKILL');
    await running.ended;
    await rm(dataDir, { recursive: true, force: true });
  };
  const all = await Promise.all([start(), start()]);
  let kills = 0;
  return {
    async killOne(): Promise<number> {
      const index = kills % all.length;
      kills += 1;
      const [killed] = all.splice(index, 1);
      if (killed) await end(killed);
      all.splice(index, 0, await start());
      return kills;
    },
    stop: () => Promise.all(all.map(end)),
  };
};

const countBy = (values: readonly (string | null)[]): ReadonlyMap<string | null, number> =>
  new Map([...groupBy(values, (value) => value)].map(([value, { length }]) => [value, length]));

const sumOf = (list: readonly { readonly clicks: number }[] = []): number =>
  list.reduce((sum, { clicks }) => sum + clicks, 0);

/** Where statistics are not what these visits give, in words. */
const differencesOf = (
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
      // Which sites are among the kept ones depends on the order in which visits reached the log.
      if (name === 'referrers') return [sum];
      const expected = countBy(clicks.map(({ values }) => values[name]));
      const values = new Set([...list.map(({ value }) => value), ...expected.keys()]);
      return [
        sum,
        ...[...values].map((value) => {
          const found = list.find((each) => each.value === value)?.clicks;
          return [`${name} ${value ?? '(not recorded)'}`, found, expected.get(value)] as const;
        }),
      ];
    }),
  ] as const;
  return numbers.flatMap(([name, found, expected]) =>
    found === expected ? [] : [`${what} has ${found} of ${name}, answered were ${expected}`],
  );
};

/**
 * Makes visits of links while projectors are killed with -9, and compares the statistics with what was answered
 * with 302: of each link and of their account, as GET /v2/stats tells them. Then every projection is rebuilt from the
 * log and must be what it was. Returns what is wrong, in words.
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
    const begun = dayOf();
    let answered = 0;
    const ended = new AbortController();
    const kill = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        // The end wakes it, for a last kill.
        await sleep(proof.killEveryMs, undefined, { signal: ended.signal }).catch(() => undefined);
        const kills = await projectors.killOne();
        proof.onProgress?.(answered, kills);
      }
    };
    const killing = kill();
    let visits: readonly Visit[];
    try {
      visits = await makeVisits(edge, codes, proof, () => (answered += 1));
    } finally {
      ended.abort();
      await killing;
    }
    const isOneDay = begun === dayOf();

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
    const wrong = [...differencesOf('the account', await statsOf('/v2/stats'), visits, isOneDay)];
    const ofLinks = groupBy(visits, ({ code }) => code);
    for (const code of codes) {
      const stats = await statsOf(`/v2/stats/${code}`);
      wrong.push(...differencesOf(code, stats, ofLinks.get(code) ?? [], isOneDay));
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
