import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { BoundedMap } from '../../ops/platform/bounded-map.js';
import { Rests } from '../../ops/platform/concurrency/rests.js';
import { giveWay } from '../../ops/platform/concurrency/step-back.js';
import type { EventLog } from '../../ops/platform/event-log/port.js';
import { advisoryLocks, withAdvisoryLock } from '../../ops/platform/postgres/advisory-locks.js';
import {
  transactionOn,
  type Client,
  type Pool,
  type Queryable,
} from '../../ops/platform/postgres/pool.js';
import { linkStatuses } from '../../schemas/folds/link-status.js';
import {
  blockOf,
  blocksOfSegment,
  linksPerBlock,
  type Posting,
} from '../../schemas/search/postings.js';
import {
  hashesOfLinks,
  mayHaveOtherTexts,
  type SearchTexts,
} from '../../schemas/search/trigrams.js';
import { redirects } from '../redirects/projection.js';
import { endsOf, type CatchUpTarget } from '../runtime/catch-up.js';
import { checkpointOf, readCheckpoints, shareSchema } from '../runtime/checkpoints.js';
import { liveSchema } from '../runtime/projection.js';
import { addSegment, mergeSegments, type Rest } from './segments.js';

/** Milliseconds from the time of an event to its commit at most, with the error of clocks. */
const commitWithinMs = 10_000;
/** Searches look through the links that have changed since: so few of them are not worth a segment. */
const fewChanges = 100;
/** How long a run waits for the projection. */
const looks = { atMost: 20, everyMs: 250 };
/** A segment has so many links, and those with the same time as the last one. */
const linksOfSegment = blocksOfSegment * linksPerBlock;
/** Links that are read at once. */
const pageSize = 1.25 * linksOfSegment;
/** Blocks whose hashes are made at once, which takes some milliseconds. */
const blocksAtOnce = 64;
/** Accounts of which is remembered that they have too few links. */
const maxRemembered = 10_000;
/** Segments of an account that a run makes at most: the process has other work. */
const segmentsOfRun = 32;

interface Link extends SearchTexts {
  readonly createdAt: Date;
}

interface ChangedLink extends SearchTexts {
  readonly updatedAt: Date;
  /** The number of its block. */
  readonly block: number;
}

/** What the index of an account has. */
interface Indexed {
  /** The links from before this time … */
  readonly until: Date;
  /** … are in so many blocks, … */
  readonly blocks: number;
  /** … with the changes from before this time. */
  readonly completeTo: Date;
}

const links = `${liveSchema('redirects')}.links`;
const source = `'${links}'::regclass`;

/** The accounts that have made enough links for a segment, and how many they have made. */
const largeAccounts = async (client: Queryable) => {
  const { rows } = await client.query<{ account: string; made: number }>(
    `SELECT account, sum(all_links)::bigint AS made
     FROM ledger.key_meters JOIN ledger.api_keys ON id = key_id
     GROUP BY account HAVING sum(all_links) >= $1`,
    [linksOfSegment],
  );
  return rows;
};

/** An account's links of a time, the oldest first. */
const readLinks = async (
  client: Queryable,
  account: string,
  since: Date,
  before: Date,
  limit: number,
): Promise<readonly Link[]> => {
  // Each branch follows an index.
  const branches = linkStatuses.map(
    (status) => `(SELECT code, url, title, note, created_at FROM ${links}
      WHERE account = $1 AND status = '${status}' AND created_at >= $2 AND created_at < $3
      ORDER BY created_at LIMIT $4)`,
  );
  const { rows } = await client.query<Link>(
    `SELECT code, url, title, note, created_at AS "createdAt"
     FROM (${branches.join(' UNION ALL ')}) l ORDER BY created_at LIMIT $4`,
    [account, since, before, limit],
  );
  return rows;
};

/** Puts links, which are in the order of creation, into the blocks of a segment; `null`: they are too few. */
const blocksOf = (all: readonly Link[]) => {
  const blocks: Link[][] = [];
  let last = -Infinity;
  for (const [count, link] of all.entries()) {
    const time = link.createdAt.getTime();
    const block = blocks.at(-1);
    if (count >= linksOfSegment && time > last) {
      return { blocks, links: count, until: new Date(last + 1) };
    }
    if (block && (block.length < linksPerBlock || time === last)) block.push(link);
    else blocks.push([link]);
    last = time;
  }
  return null;
};

/** More than there are blocks. A hash times it, plus the number of a block, is exact. */
const pairFactor = 2 ** 31;

const postingsOfPairs = function* (sorted: Float64Array): Generator<Posting> {
  for (let at = 0; at < sorted.length;) {
    const hash = Math.floor((sorted[at] ?? 0) / pairFactor);
    const blocks: number[] = [];
    for (; at < sorted.length; at += 1) {
      const block = (sorted[at] ?? 0) - hash * pairFactor;
      if (block >= pairFactor) break;
      if (blocks.at(-1) !== block) blocks.push(block);
    }
    yield [hash, blocks];
  }
};

/** The hashes of some links by ascending hashes, with the numbers of their blocks. */
const postingsOf = async (
  all: readonly { readonly block: number; readonly links: readonly SearchTexts[] }[],
  rest: Rest,
): Promise<Iterable<Posting>> => {
  // Arrays for each of the many hashes, kept until all are known, would take most of the time.
  const pairs: number[] = [];
  for (const [index, { block, links }] of all.entries()) {
    giveWay();
    for (const hash of hashesOfLinks(links)) pairs.push(hash * pairFactor + block);
    if (index % blocksAtOnce === blocksAtOnce - 1) await rest();
  }
  return postingsOfPairs(Float64Array.from(pairs).sort());
};

const readIndexed = async (client: Queryable, account: string): Promise<Indexed | null> => {
  const { rows } = await client.query<Indexed>(
    `SELECT until, blocks, complete_to AS "completeTo" FROM search.accounts WHERE account = $1`,
    [account],
  );
  return rows[0] ?? null;
};

/** Until an account has made so many links, there can be no segment of those from `until` on. */
interface Awaited {
  readonly until: number;
  readonly made: number;
}

/** What a process remembers from one run to the next, so that it does not read the same links each time. */
export const indexingMemory = () => new BoundedMap<string, Awaited>(maxRemembered);

interface Run {
  readonly account: string;
  /** How many links it has made. */
  readonly made: number;
  /** The projection has the changes from before this time. */
  readonly completeTo: Date;
  readonly awaited: Map<string, Awaited>;
  readonly rest: Rest;
}

/** Adds the links that follow those of the index; returns whether they were enough. */
const addLinks = async (
  client: Client,
  { account, made, completeTo, awaited, rest }: Run,
): Promise<boolean> => {
  const indexed = await readIndexed(client, account);
  const since = indexed?.until ?? new Date(0);
  const known = awaited.get(account);
  if (known?.until === since.getTime() && made < known.made) return false;
  for (let limit = pageSize; ; limit *= 2) {
    const all = await readLinks(client, account, since, completeTo, limit);
    const segment = blocksOf(all);
    if (!segment && all.length === limit) continue;
    if (!segment) {
      const lacking = Math.max(1, linksOfSegment + 1 - all.length);
      awaited.set(account, { until: since.getTime(), made: made + lacking });
      return false;
    }
    const { blocks, links, until } = segment;
    const starts = blocks.map(([link]) => link?.createdAt ?? until);
    const first = indexed?.blocks ?? 0;
    const postings = await postingsOf(
      blocks.map((links, block) => ({ block, links })),
      rest,
    );
    await addSegment(client, account, { first, links }, postings);
    await client.query(
      `INSERT INTO search.blocks (account, first, starts) VALUES ($1, $2, $3::timestamptz[])`,
      [account, first, [...starts, until]],
    );
    // Where several links have one time, the segment's last numbers are not used.
    await client.query(
      `INSERT INTO search.accounts (account, source, complete_to, until, blocks)
       VALUES ($1, ${source}, $2, $3, $4)
       ON CONFLICT (account) DO UPDATE SET until = excluded.until, blocks = excluded.blocks`,
      [account, completeTo, until, first + blocksOfSegment],
    );
    return true;
  }
};

/** Adds the links whose texts have changed since the index was complete; returns whether they were enough. */
const addChanged = async (client: Client, { account, completeTo, rest }: Run): Promise<boolean> => {
  const indexed = await readIndexed(client, account);
  if (!indexed) return false;
  for (let limit = pageSize; ; limit *= 2) {
    const { rows } = await client.query<ChangedLink>(
      `SELECT code, url, title, note, updated_at AS "updatedAt",
         ${blockOf('$1', 'l.created_at')} AS block
       FROM ${links} l WHERE account = $1 AND updated_at >= $2 AND updated_at < $3
         AND created_at < $4 AND ${mayHaveOtherTexts}
       ORDER BY updated_at LIMIT $5`,
      [account, indexed.completeTo, completeTo, indexed.until, limit],
    );
    if (rows.length < fewChanges) return false;
    const until = rows.length < limit ? completeTo : (rows.at(-1)?.updatedAt ?? completeTo);
    // As many have the same time.
    if (until <= indexed.completeTo) continue;
    const postings = await postingsOf(
      rows.map((link) => ({ block: link.block, links: [link] })),
      rest,
    );
    await addSegment(client, account, { first: null, links: rows.length }, postings);
    await client.query(`UPDATE search.accounts SET complete_to = $2 WHERE account = $1`, [
      account,
      until,
    ]);
    return true;
  }
};

/** Forgets what is of another table than today's, or has more changed links than others. */
const forgetOutdated = (client: PoolClient): Promise<void> =>
  transactionOn(client, async () => {
    const { rows } = await client.query<{ account: string }>(
      `DELETE FROM search.accounts a WHERE source <> ${source} OR (
         SELECT sum(links) FILTER (WHERE first IS NULL) > sum(links) FILTER (WHERE first IS NOT NULL)
         FROM search.segments s WHERE s.account = a.account)
       RETURNING account`,
    );
    if (rows.length === 0) return;
    await client.query(
      `WITH removed AS (DELETE FROM search.segments WHERE account = ANY ($1) RETURNING id),
         blocks AS (DELETE FROM search.blocks WHERE account = ANY ($1))
       DELETE FROM search.postings WHERE segment IN (SELECT id FROM removed)`,
      [rows.map(({ account }) => account)],
    );
  });

/** Brings the index of an account up to date, or nearer to it; returns how many segments were added. */
const indexAccount = async (client: PoolClient, run: Run): Promise<number> => {
  for (let added = 0; added < segmentsOfRun; added += 1) {
    const isAdded = await transactionOn(client, async () => {
      await client.query(shareSchema('redirects'));
      return (await addChanged(client, run)) || addLinks(client, run);
    });
    if (!isAdded) return added;
    while (await transactionOn(client, () => mergeSegments(client, run.account, run.rest)));
  }
  return segmentsOfRun;
};

/**
 * A time of which the projection has every event: those from before it are in the log, and were applied. `null` where
 * that cannot be said now.
 */
const completeUntil = async (client: Queryable, log: EventLog): Promise<Date | null> => {
  const live = liveSchema('redirects');
  const { rows } = await client.query<{ time: Date; isComplete: boolean }>(
    // With Kafka, the first event of each partition that waits to be sent there.
    `SELECT time, NOT EXISTS (SELECT FROM ${live}.dead_letters) AND NOT EXISTS (
       SELECT FROM log.relayed r
       JOIN log.records e ON e.partition_id = r.partition_id AND e.first_offset = r.next_offset
       WHERE (e.value::json ->> 'time')::timestamptz < time) AS "isComplete"
     FROM (SELECT clock_timestamp() - $1 * interval '1 millisecond' AS time) t`,
    [commitWithinMs],
  );
  const [now] = rows;
  if (!now?.isComplete) return null;
  const ends = await endsOf(log, redirects);
  for (let look = 0; look < looks.atMost; look += 1) {
    const checkpoints = await readCheckpoints(client, live);
    const isApplied = ({ topic, partition, to }: CatchUpTarget): boolean =>
      (checkpointOf(checkpoints, topic, partition)?.offset ?? 0) >= to;
    if (ends.every(isApplied)) return now.time;
    await sleep(looks.everyMs);
  }
  return null;
};

/**
 * Makes the index by which searches find links in large accounts: of links that were made some seconds ago and
 * before. Any process may run it at any time. Returns how many segments were added.
 */
export const indexForSearch = async (
  pool: Pool,
  log: EventLog,
  awaited = indexingMemory(),
  signal = new AbortController().signal,
  /** Between pieces of work, which take some milliseconds each. */
  rests: Pick<Rests, 'take'> = new Rests(signal),
): Promise<number> => {
  const rest = async (): Promise<void> => {
    await rests.take();
    signal.throwIfAborted();
  };
  const done = await withAdvisoryLock(pool, [advisoryLocks.searchIndex], async (client) => {
    await forgetOutdated(client);
    const accounts = await largeAccounts(client);
    if (accounts.length === 0) return 0;
    const completeTo = await completeUntil(client, log);
    if (completeTo === null) return 0;
    let added = 0;
    for (const { account, made } of accounts) {
      if (signal.aborted) break;
      const run = { account, made, completeTo, awaited, rest };
      added += await indexAccount(client, run).catch((error: unknown) => {
        // It was stopped, and rolled back.
        if (signal.aborted) return 0;
        throw error;
      });
    }
    return added;
  });
  return done ?? 0;
};
