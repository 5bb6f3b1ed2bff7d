import { z } from 'zod';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { ChangePage } from '../../schemas/http/operators.js';
import {
  accountsPartition,
  eventOfRow,
  type HistoryRow,
} from '../../schemas/read-models/history.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { failure, json, pageOf } from '../http/reply.js';
import { readActorNames } from '../links/history/link-history.js';

/** The time in milliseconds, the subject and the sequence of the last event of a page. */
const cursor = z.tuple([z.int(), z.string(), z.int()]);
type Cursor = z.infer<typeof cursor>;

/** `null` if the text is not a cursor. */
const readChangesCursor = (text: string): Cursor | null => {
  try {
    return cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    // Neither JSON nor a cursor.
    return null;
  }
};

const writeCursor = ({ time, subject, sequence }: HistoryRow): string => {
  const last: Cursor = [time.getTime(), subject, sequence];
  return Buffer.from(JSON.stringify(last)).toString('base64url');
};

/** Reads a page of the events of accounts and the platform, newest first. */
const listChanges = async (
  pool: Pool,
  after: Cursor | null,
  limit: number,
): Promise<ChangePage> => {
  const [time, subject, sequence] = after ?? [8_640_000_000_000_000, '', 0];
  const { rows } = await pool.query<HistoryRow>({
    name: 'changes-page',
    text: `SELECT subject, sequence, time, id, type, account, actor, correlationid, causationid,
             traceparent, client, data
           FROM projection_history.events
           WHERE partition >= ${accountsPartition} AND (time, subject, sequence) < ($1, $2, $3)
           ORDER BY time DESC, subject DESC, sequence DESC LIMIT $4`,
    values: [new Date(time), subject, sequence, limit + 1],
  });
  const { page, next } = pageOf(rows, limit, writeCursor);
  return {
    events: page.map((row) => JSON.parse(eventOfRow(row)) as ChangePage['events'][number]),
    next,
    actorNames: await readActorNames(
      pool,
      new Set(
        page.flatMap(({ actor, subject }) => (actor === null ? [subject] : [actor, subject])),
      ),
    ),
  };
};

/** The changes of accounts and the platform, with their actors. */
export const changeHandlers = (({ pool }) => ({
  async listChanges({ query: { after, limit } }) {
    const cursor = after === undefined ? null : readChangesCursor(after);
    if (after !== undefined && cursor === null) {
      return failure(400, 'after must be the next of a page');
    }
    return json(200, await listChanges(pool, cursor, limit));
  },
})) satisfies AdminHandlers;
