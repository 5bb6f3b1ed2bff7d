import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
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
/** Links that are read at once; of so many, a signature is made unless many have the same time. */
const pageSize = 20_000;

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

/** The accounts that have made enough links for a signature. */
const largeAccounts = async (client: Queryable): Promise<readonly string[]> => {
  const { rows } = await client.query<{ account: string }>(
    `SELECT account FROM ledger.key_meters JOIN ledger.api_keys ON id = key_id
     GROUP BY account HAVING sum(all_links) >= $1`,
    [blockCount * linksPerBlock],
  );
  return rows.map(({ account }) => account);
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

/** A full signature of the first of these links, which are in the order of creation; `null`: too few. */
const sign = (all: readonly Link[]) => {
  const signature = new Signature();
  const starts: number[] = [];
  let inBlock = linksPerBlock;
  let last = -Infinity;
  for (const link of all) {
    const time = link.createdAt.getTime();
    if (inBlock >= linksPerBlock && time > last) {
      if (starts.length === blockCount) {
        return { signature: signature.bytes, starts: starts.reverse(), until: new Date(last + 1) };
      }
      starts.push(time);
      inBlock = 0;
    }
    signature.add(blockCount - starts.length, link);
    inBlock += 1;
    last = time;
  }
  return null;
};

/** Makes a signature of an account's links from `since` on; returns where it ends, `null` where they are too few. */
const makeSignature = async (
  client: Client,
  account: string,
  since: Date,
  completeTo: Date,
): Promise<Date | null> => {
  for (let limit = pageSize; ; limit *= 2) {
    const all = await readLinks(client, account, since, completeTo, limit);
    const made = sign(all);
    if (made) {
      await client.query(
        `INSERT INTO search.signatures (account, since, until, starts, signature, source, complete_to)
         VALUES ($1, $2, $3, $4, $5, ${source}, $6)`,
        [account, since, made.until, writeStarts(made.starts), made.signature, completeTo],
      );
      return made.until;
    }
    if (all.length < limit) return null;
  }
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

/** Makes the signatures of an account that are missing or outdated, up to some; returns how many. */
const signAccount = async (
  client: PoolClient,
  account: string,
  completeTo: Date,
): Promise<number> => {
  const signed = await readSigned(client, account);
  const [remade] = signed.length > 0 ? await outdated(client, account, signed, completeTo) : [];
  const since = remade?.since ?? signed.at(-1)?.until ?? new Date(0);
  return transactionOn(client, async () => {
    await client.query(shareSchema('redirects'));
    if (remade) {
      await client.query(`DELETE FROM search.signatures WHERE account = $1 AND until = $2`, [
        account,
        remade.until,
      ]);
    }
    const until = await makeSignature(client, account, since, completeTo);
    if (remade && until?.getTime() !== remade.until.getTime()) {
      // Nothing says any more where the later ones begin.
      await client.query(`DELETE FROM search.signatures WHERE account = $1 AND since >= $2`, [
        account,
        since,
      ]);
    }
    return until || remade ? 1 : 0;
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
export const indexForSearch = async (pool: Pool, log: EventLog): Promise<number> => {
  const done = await withAdvisoryLock(pool, [advisoryLocks.searchIndex], async (client) => {
    // A rebuild has swapped other tables in.
    await client.query(`DELETE FROM search.signatures WHERE source <> ${source}`);
    const accounts = await largeAccounts(client);
    if (accounts.length === 0) return 0;
    const completeTo = await completeUntil(client, log);
    if (completeTo === null) return 0;
    let made = 0;
    for (const account of accounts) made += await signAccount(client, account, completeTo);
    return made;
  });
  return done ?? 0;
};
