import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { BoundedMap } from '../../ops/platform/bounded-map.js';
import { Rests } from '../../ops/platform/concurrency/rests.js';
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
  blockCount,
  linksPerBlock,
  mayHaveOtherTexts,
  Signature,
  writeStarts,
  type SearchTexts,
} from '../../schemas/search/signature.js';
import { redirects } from '../redirects/projection.js';
import { endsOf, type CatchUpTarget } from '../runtime/catch-up.js';
import { checkpointOf, readCheckpoints, shareSchema } from '../runtime/checkpoints.js';
import { liveSchema } from '../runtime/projection.js';

/** Milliseconds from the time of an event to its commit at most, with the error of clocks. */
const commitWithinMs = 10_000;
/** Searches look through the links that have changed since: a signature of more, or the worst of all, is made anew. */
const changedOfOne = 100;
const changedOfAll = 500;
const changedRead = 5_000;
/** How long a run waits for the projection. */
const looks = { atMost: 20, everyMs: 250 };
/** Links that are read and signed at once, which takes some milliseconds. */
const pageSize = 500;
/** Accounts of which is remembered that they have too few links. */
const maxRemembered = 10_000;

interface Link extends SearchTexts {
  readonly createdAt: Date;
}

interface Signed {
  readonly since: Date;
  readonly until: Date;
  readonly completeTo: Date;
}

const links = `${liveSchema('redirects')}.links`;
const source = `'${links}'::regclass`;

/** The accounts that have made enough links for a signature, and how many they have made. */
const largeAccounts = async (client: Queryable) => {
  const { rows } = await client.query<{ account: string; made: number }>(
    `SELECT account, sum(all_links)::bigint AS made
     FROM ledger.key_meters JOIN ledger.api_keys ON id = key_id
     GROUP BY account HAVING sum(all_links) >= $1`,
    [blockCount * linksPerBlock],
  );
  return rows;
};

/** An account's links of a time, the oldest first, a page at a time. */
async function* readLinks(
  client: Client,
  account: string,
  since: Date,
  before: Date,
): AsyncGenerator<readonly Link[]> {
  // Each branch follows an index.
  const branches = linkStatuses.map(
    (status) => `(SELECT code, url, title, note, created_at FROM ${links}
      WHERE account = $1 AND status = '${status}' AND created_at >= $2 AND created_at < $3
      ORDER BY created_at)`,
  );
  await client.query(
    `DECLARE links_to_sign NO SCROLL CURSOR FOR
     SELECT code, url, title, note, created_at AS "createdAt"
     FROM (${branches.join(' UNION ALL ')}) l ORDER BY created_at`,
    [account, since, before],
  );
  for (;;) {
    const { rows } = await client.query<Link>(`FETCH ${pageSize} FROM links_to_sign`);
    if (rows.length === 0) break;
    yield rows;
  }
  await client.query('CLOSE links_to_sign');
}

/** A signature of links that come in the order of creation. */
class Signing {
  readonly signature = new Signature();
  readonly #starts: number[] = [];
  #inBlock = linksPerBlock;
  #last = -Infinity;

  /** Adds a link; `false`: it is behind the last block. */
  add(link: Link): boolean {
    const time = link.createdAt.getTime();
    if (this.#inBlock >= linksPerBlock && time > this.#last) {
      if (this.#starts.length === blockCount) return false;
      this.#starts.push(time);
      this.#inBlock = 0;
    }
    this.signature.add(blockCount - this.#starts.length, link);
    this.#inBlock += 1;
    this.#last = time;
    return true;
  }

  /** The beginnings of its blocks, the newest first. */
  get starts(): readonly number[] {
    return this.#starts.toReversed();
  }

  /** The time that it reaches up to. */
  get until(): Date {
    return new Date(this.#last + 1);
  }

  /** How many more links it takes at least until one is behind the last block. */
  get lacking(): number {
    const blocks = blockCount - this.#starts.length;
    return blocks * linksPerBlock + Math.max(0, linksPerBlock - this.#inBlock) + 1;
  }
}

/**
 * Makes a signature of an account's links from `since` on.
 *
 * @returns where it ends, or how many links are too few at least
 */
const makeSignature = async (
  client: Client,
  account: string,
  since: Date,
  completeTo: Date,
  rests: Rests,
  signal: AbortSignal,
): Promise<Date | number> => {
  const signing = new Signing();
  for await (const page of readLinks(client, account, since, completeTo)) {
    if (!page.every((link) => signing.add(link))) {
      const { signature, starts, until } = signing;
      await client.query(
        `INSERT INTO search.signatures (account, since, until, starts, signature, source, complete_to)
         VALUES ($1, $2, $3, $4, $5, ${source}, $6)`,
        [account, since, until, writeStarts(starts), signature.bytes, completeTo],
      );
      return until;
    }
    await rests.take();
    signal.throwIfAborted();
  }
  return signing.lacking;
};

const readSigned = async (client: Queryable, account: string): Promise<readonly Signed[]> => {
  const { rows } = await client.query<Signed>(
    `SELECT since, until, complete_to AS "completeTo" FROM search.signatures
     WHERE account = $1 ORDER BY until`,
    [account],
  );
  return rows;
};

/** The signatures of which so many links had other texts by then that they are to be made anew. */
const outdated = async (
  client: Queryable,
  account: string,
  signed: readonly Signed[],
  by: Date,
): Promise<readonly Signed[]> => {
  const since = new Date(Math.min(...signed.map(({ completeTo }) => completeTo.getTime())));
  const { rows } = await client.query<{ createdAt: Date; updatedAt: Date }>(
    `SELECT created_at AS "createdAt", updated_at AS "updatedAt" FROM ${links}
     WHERE account = $1 AND updated_at >= $2 AND updated_at < $3 AND ${mayHaveOtherTexts}
     LIMIT ${changedRead}`,
    [account, since, by],
  );
  const changed = signed.map((one) => ({
    one,
    count: rows.filter(
      ({ createdAt, updatedAt }) =>
        createdAt >= one.since && createdAt < one.until && updatedAt >= one.completeTo,
    ).length,
  }));
  changed.sort((a, b) => b.count - a.count);
  let left = rows.length;
  return changed.flatMap(({ one, count }) => {
    if (count <= changedOfOne && left <= changedOfAll) return [];
    left -= count;
    return [one];
  });
};

/** Until an account has made so many links, no signature can be made of those from `since` on. */
interface Awaited {
  readonly since: number;
  readonly made: number;
}

/** What a process remembers from one run to the next, so that it does not read the same links each time. */
export const indexingMemory = () => new BoundedMap<string, Awaited>(maxRemembered);

/** Makes a signature of an account that is missing or outdated, if there is one; returns how many. */
const signAccount = async (
  client: PoolClient,
  { account, made }: { readonly account: string; readonly made: number },
  completeTo: Date,
  awaited: Map<string, Awaited>,
  signal: AbortSignal,
): Promise<number> => {
  const signed = await readSigned(client, account);
  const [remade] = signed.length > 0 ? await outdated(client, account, signed, completeTo) : [];
  const since = remade?.since ?? signed.at(-1)?.until ?? new Date(0);
  const known = awaited.get(account);
  if (!remade && known?.since === since.getTime() && made < known.made) return 0;
  const rests = new Rests(signal);
  return transactionOn(client, async () => {
    await client.query(shareSchema('redirects'));
    if (remade) {
      await client.query(`DELETE FROM search.signatures WHERE account = $1 AND until = $2`, [
        account,
        remade.until,
      ]);
    }
    const until = await makeSignature(client, account, since, completeTo, rests, signal);
    if (remade && (typeof until === 'number' || until.getTime() !== remade.until.getTime())) {
      // Nothing says any more where the later ones begin.
      await client.query(`DELETE FROM search.signatures WHERE account = $1 AND since >= $2`, [
        account,
        since,
      ]);
    }
    if (typeof until === 'number') {
      awaited.set(account, { since: since.getTime(), made: made + until });
    }
    return remade || typeof until !== 'number' ? 1 : 0;
  });
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
 * Makes the signatures by which searches find links in large accounts: of links that were made some seconds ago and
 * before. Any process may run it at any time. Returns how many were made.
 */
export const indexForSearch = async (
  pool: Pool,
  log: EventLog,
  awaited = indexingMemory(),
  signal = new AbortController().signal,
): Promise<number> => {
  const done = await withAdvisoryLock(pool, [advisoryLocks.searchIndex], async (client) => {
    // A rebuild has swapped other tables in.
    await client.query(`DELETE FROM search.signatures WHERE source <> ${source}`);
    const accounts = await largeAccounts(client);
    if (accounts.length === 0) return 0;
    const completeTo = await completeUntil(client, log);
    if (completeTo === null) return 0;
    let made = 0;
    for (const account of accounts) {
      if (signal.aborted) break;
      made += await signAccount(client, account, completeTo, awaited, signal).catch(
        (error: unknown) => {
          // It was stopped, and rolled back.
          if (signal.aborted) return 0;
          throw error;
        },
      );
    }
    return made;
  });
  return done ?? 0;
};
