import { isDeepStrictEqual } from 'node:util';
import { topics } from '../../../schemas/events/topics.js';
import { evolveLink, initialState } from '../../../schemas/folds/link.js';
import {
  redirectColumns,
  rowOfState,
  type RedirectRow,
} from '../../../schemas/read-models/redirects.js';
import { transaction, type Client, type Pool } from '../../platform/postgres/pool.js';
import type { LogCopy } from './log-copy.js';

/** The next offset to apply, by `topic/partition`. */
type Checkpoints = ReadonlyMap<string, number>;

/** Two read models and their checkpoints in one snapshot. */
export interface ReadModels {
  readonly redirects: {
    readonly checkpoints: Checkpoints;
    readonly rows: readonly RedirectRow[];
  };
  readonly stats: {
    readonly checkpoints: Checkpoints;
    readonly clicks: ReadonlyMap<string, number>;
  };
}

const checkpointsOf = async (tx: Client, schema: string): Promise<Checkpoints> => {
  const { rows } = await tx.query<{ partition: string; next: number }>(
    `SELECT topic || '/' || partition AS partition, next_offset AS next FROM ${schema}.checkpoints`,
  );
  return new Map(rows.map(({ partition, next }) => [partition, next]));
};

export const readReadModels = (pool: Pool): Promise<ReadModels> =>
  transaction(pool, async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const links = await tx.query<RedirectRow>(
      `SELECT ${redirectColumns.join()} FROM projection_redirects.links`,
    );
    const clicks = await tx.query<{ subject: string; clicks: number }>(
      'SELECT subject, clicks FROM projection_stats.links WHERE clicks > 0',
    );
    return {
      redirects: {
        checkpoints: await checkpointsOf(tx, 'projection_redirects'),
        rows: links.rows,
      },
      stats: {
        checkpoints: await checkpointsOf(tx, 'projection_stats'),
        clicks: new Map(clicks.rows.map((row) => [row.subject, row.clicks])),
      },
    };
  });

/** Differences between read models and the fold of the log up to their checkpoints. */
export const differences = ({ redirects, stats }: ReadModels, log: LogCopy): readonly string[] => {
  const different: string[] = [];
  const rows = new Map(redirects.rows.map((row) => [row.subject, row]));
  for (const [code, events] of log.linkEvents) {
    const applied = events.filter(
      ({ partition, offset }) =>
        offset < (redirects.checkpoints.get(`${topics.links.name}/${partition}`) ?? 0),
    );
    const state = applied.reduce((before, { event }) => evolveLink(before, event), initialState);
    const expected = rowOfState(state, applied.at(-1)?.event.sequence ?? 0);
    const found = rows.get(code) ?? null;
    rows.delete(code);
    if (!isDeepStrictEqual(found, expected)) {
      different.push(
        `redirects has ${JSON.stringify(found)}, the fold of the log ${JSON.stringify(expected)}`,
      );
    }
  }
  for (const code of rows.keys()) different.push(`redirects has ${code}, which is not in the log`);

  const counted = new Map(stats.clicks);
  for (const [code, visits] of log.visits) {
    const expected = visits.filter(
      ({ partition, offset }) =>
        offset < (stats.checkpoints.get(`${topics.visits.name}/${partition}`) ?? 0),
    ).length;
    const found = counted.get(code) ?? 0;
    counted.delete(code);
    if (found !== expected) {
      different.push(`stats has ${found} clicks of ${code}, the log ${expected}`);
    }
  }
  for (const code of counted.keys())
    different.push(`stats has clicks of ${code}, which is not in the log`);
  return different;
};
