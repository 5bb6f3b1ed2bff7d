import type { PoolClient } from 'pg';
import { applyBatch } from '../../../../projectors/runtime/batch.js';
import { readCheckpoints, type Checkpoint } from '../../../../projectors/runtime/checkpoints.js';
import { cloneTables } from '../../../../projectors/runtime/schema-swap.js';
import {
  liveSchema,
  type ProjectionSchema,
  type Projection,
} from '../../../../projectors/runtime/projection.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { addToLedger, ledgerTopics } from '../../../ledger/rebuild/rebuild.js';
import { foldedTables, workingState } from '../../../ledger/rebuild/working-state.js';
import type { Batch, EventLog } from '../../../platform/event-log/port.js';
import type { Model } from './report.js';

/** Folds the log once more, in the temporary tables of a session of its own. */
export interface Fold {
  readonly model: Model;
  readonly client: PoolClient;
  readonly topics: readonly TopicName[];
  /** Where the live tables are. */
  readonly live: ProjectionSchema | 'ledger';
  /** Tables of that schema that are no rows of the fold; columns that are none, by table. */
  readonly ignored: {
    readonly isTable: (name: string) => boolean;
    readonly columns: Readonly<Record<string, readonly string[]>>;
  };
  apply(batch: Batch): Promise<void>;
  /** Goes on at a later offset: the log has nothing in between. */
  skipTo(topic: TopicName, partition: number, offset: number): Promise<void>;
}

export interface ProjectionFold extends Fold {
  /** How far the live tables are, as the session sees them. */
  liveCheckpoints(): Promise<readonly Checkpoint[]>;
  /** How far the fold is. */
  ownCheckpoints(): Promise<readonly Checkpoint[]>;
}

/** The projector's own code, from its checkpoint to its dead letters. */
export const foldProjection = async (
  client: PoolClient,
  projection: Projection,
  log: EventLog,
): Promise<ProjectionFold> => {
  const live = liveSchema(projection.name);
  const schema = 'pg_temp';
  await cloneTables(client, live, schema);
  return {
    model: projection.name,
    client,
    topics: projection.topics,
    live,
    ignored: {
      // They say how far the fold goes.
      isTable: (name) => name === 'checkpoints',
      // The words of an error may change from version to version.
      columns: { dead_letters: ['error'] },
    },
    async apply(batch) {
      await applyBatch(client, { projection, schema, log }, batch);
    },
    async skipTo(topic, partition, offset) {
      await client.query(
        `INSERT INTO ${schema}.checkpoints (topic, partition, log_id, next_offset)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset`,
        [topic, partition, log.logId(topic), offset],
      );
    },
    liveCheckpoints: () => readCheckpoints(client, live),
    ownCheckpoints: () => readCheckpoints(client, schema),
  };
};

export interface LedgerFold extends Fold {
  /**
   * Adds what no event tells of yet: the calls of open minutes, and that a key's month has begun.
   * In the transaction that sees the live tables.
   */
  addOpenMinutes(): Promise<void>;
}

/** The code of a restore. */
export const foldLedger = async (client: PoolClient): Promise<LedgerFold> => {
  await cloneTables(client, 'ledger', 'pg_temp', foldedTables);
  await client.query('INSERT INTO pg_temp.platform DEFAULT VALUES');
  return {
    model: 'ledger',
    client,
    topics: ledgerTopics,
    live: 'ledger',
    ignored: {
      isTable: (name) => !(foldedTables as readonly string[]).includes(name),
      columns: workingState.columns,
    },
    apply: ({ topic, records }) => addToLedger(client, 'pg_temp', topic, records),
    // Its repeats are told by sequence alone.
    skipTo: () => Promise.resolve(),
    async addOpenMinutes() {
      // A call that is not metered begins the month too, and leaves no event; so may no month be later
      // than the current one.
      await client.query(`
        UPDATE pg_temp.key_meters m
        SET month = e.month,
            month_calls = CASE WHEN m.month = e.month THEN m.month_calls ELSE 0 END + coalesce(
              (SELECT sum(u.calls) FROM ledger.usage_minutes u
               WHERE u.key_id = m.key_id
                 AND date_trunc('month', u.minute AT TIME ZONE 'UTC')::date = e.month), 0),
            month_links = CASE WHEN m.month = e.month THEN m.month_links ELSE 0 END,
            month_qr_codes = CASE WHEN m.month = e.month THEN m.month_qr_codes ELSE 0 END
        FROM (
          SELECT f.key_id, greatest(f.month, least(l.month,
                   date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date)) AS month
          FROM pg_temp.key_meters f JOIN ledger.key_meters l USING (key_id)
        ) e
        WHERE e.key_id = m.key_id`);
    },
  };
};
