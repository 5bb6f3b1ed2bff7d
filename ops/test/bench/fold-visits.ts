/**
 * What the projection of statistics costs, batch by batch, as the projectors apply it:
 *
 *     node dist/ops/test/bench/fold-visits.js [--rounds N] [--batches N] [--visits N] [--links N]
 *
 * A round has BATCHES (10) of VISITS (1,000) for each line of the table; all are of one partition and one account,
 * whose LINKS (100,000) have visits already. It prints medians of the rounds, in milliseconds a batch: from its
 * beginning to its end, CPU of this process, and CPU of PostgreSQL with all that it does in the background.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { stats } from '../../../projectors/statistics/projection.js';
import { feed } from '../../../projectors/testing/harness.js';
import { topics } from '../../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../../schemas/testing/events.js';
import type { NewRecord } from '../../event-log/port.js';
import { stopTestServer, testDatabase } from '../support/database.js';
import { median } from '../support/median.js';
import { cpuMs, cpuMsOfTree } from './cpu-ms.js';
import { randomFacts } from './random-visits.js';

const options = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    batches: { type: 'string', default: '10' },
    visits: { type: 'string', default: '1000' },
    links: { type: 'string', default: '100000' },
  },
}).values;
const [rounds = 0, batches = 0, visits = 0, links = 0] = [
  options.rounds,
  options.batches,
  options.visits,
  options.links,
].map(Number);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const codeOf = (number: number): string => `link-${number.toString(36).padStart(6, '0')}`;

/** The time of all visits; later ones of later days, in steps. */
let now = Date.UTC(2026, 4, 1);
let sequence = 0;
/** Links that have visits. */
let known = 0;

const visitOf = (code: string): NewRecord => {
  sequence += 1;
  const time = new Date(now + (sequence % (visits * batches)));
  const event = spooledVisit(code, { sequence, time, account: 'acme' });
  const facts = randomFacts(randomBytes(12).toString('base64url'));
  return recordOf({ ...event, data: { ...event.data, ...facts } });
};

const batchOf = (code: (index: number) => string): readonly NewRecord[] =>
  Array.from({ length: visits }, (_, index) => visitOf(code(index)));

/** Different links, in no order, in all batches of a round: each step is coprime to their number. */
const differentLinks = (): ((index: number) => string) => {
  let at = Math.floor(Math.random() * links);
  return () => codeOf((at += 7_919) % links);
};

const anyLink = (): string => codeOf(Math.floor(Math.random() * links));
const oneLink = (): string => codeOf(0);

/** The visits of a round's batches: which moment, and which link each of them is of. */
const kinds: Readonly<Record<string, () => (index: number) => string>> = {
  'first visits of 1 link each': () => () => codeOf(known++),
  'of 1 link each, on another day': () => {
    now += dayMs;
    return differentLinks();
  },
  'of 1 link each, in another quarter': () => {
    now += hourMs;
    return differentLinks();
  },
  'of any links, in the same quarter': () => anyLink,
  'of one link': () => oneLink,
};

const database = await testDatabase('fold_visits');
const given = feed(database.pool, stats);
const give = (records: readonly NewRecord[]) => given.records(topics.visits.name, records);

interface Cost {
  readonly ms: number;
  readonly node: number;
  readonly postgres: number;
}

const measure = async (all: readonly (readonly NewRecord[])[]): Promise<Cost> => {
  const [startedAt, own, tree] = [performance.now(), cpuMs(process.pid), cpuMsOfTree(process.pid)];
  for (const records of all) await give(records);
  const node = cpuMs(process.pid) - own;
  return {
    ms: (performance.now() - startedAt) / all.length,
    node: node / all.length,
    postgres: (cpuMsOfTree(process.pid) - tree - node) / all.length,
  };
};

try {
  while (known < links) await give(batchOf(() => codeOf(known++)));
  await database.pool.query('VACUUM ANALYZE');
  const costs = new Map<string, Cost[]>(Object.keys(kinds).map((name) => [name, []]));
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, kind] of Object.entries(kinds)) {
      const code = kind();
      const cost = await measure(Array.from({ length: batches }, () => batchOf(code)));
      if (round > 0) costs.get(name)?.push(cost);
    }
    await database.pool.query('CHECKPOINT');
  }
  process.stdout.write(
    `Batches of ${visits} visits, ${links} links, medians of ${rounds} rounds of ${batches}\n\n` +
      '| Visits | ms | CPU ms of Node | CPU ms of PostgreSQL |\n| --- | ---: | ---: | ---: |\n',
  );
  for (const [name, all] of costs) {
    const cells = (['ms', 'node', 'postgres'] as const).map((figure) =>
      median(all.map((cost) => cost[figure])).toFixed(1),
    );
    process.stdout.write(`| ${name} | ${cells.join(' | ')} |\n`);
  }
} finally {
  await database.drop();
  await stopTestServer();
}
