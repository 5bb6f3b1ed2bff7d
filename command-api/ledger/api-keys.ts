import { v7 as uuidv7 } from 'uuid';
import { ledgerNow } from '../../ops/ledger/clock.js';
import type { LedgerSchema } from '../../ops/ledger/schema.js';
import { nothingRecorded, type Outbox, type Receipt } from '../../ops/platform/outbox/port.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { evolveApiKey, noKey, type ApiKey, type ApiKeyState } from '../../schemas/folds/api-key.js';
import type { PlanName } from '../../schemas/plans.js';
import { decideApiKey, type ApiKeyCommand } from '../domain/api-key.js';

export type KnownKey = Exclude<ApiKeyState, { readonly status: 'none' }>;

export type ApiKeyOutcome =
  | { readonly type: 'done'; readonly state: KnownKey; readonly receipt: Receipt }
  | { readonly type: 'refused'; readonly reason: 'exists' | 'unknown' | 'revoked' };

/** A key with what it has spent in the open minute window and in the current month. */
export interface KeyWithUsage {
  readonly state: KnownKey;
  readonly minuteCalls: number;
  /** The month's first day. */
  readonly month: string;
  readonly calls: number;
  readonly links: number;
  readonly qrCodes: number;
}

interface Row {
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly account: string;
  readonly status: KnownKey['status'];
  readonly created_at: Date;
  readonly sequence: number;
  readonly last_event_at: Date;
}

const columns = `k.id, encode(k.hash, 'hex') AS hash, k.name, k.plan, k.account, k.status,
  k.created_at, k.sequence, k.last_event_at`;

const stateOf = (row: Row): KnownKey => {
  const key: ApiKey = {
    id: row.id,
    name: row.name,
    plan: row.plan,
    account: row.account,
    hash: row.hash,
    createdAt: row.created_at,
    sequence: row.sequence,
    lastEventAt: row.last_event_at,
  };
  return { status: row.status, key };
};

/** Takes the key's row until the transaction ends. */
export const lockKey = async (
  tx: Client,
  id: string,
  schema: LedgerSchema = 'ledger',
): Promise<ApiKeyState> => {
  const { rows } = await tx.query<Row>(
    `SELECT ${columns} FROM ${schema}.api_keys k WHERE id = $1 FOR NO KEY UPDATE`,
    [id],
  );
  return rows[0] ? stateOf(rows[0]) : noKey;
};

/** Writes a key, new or locked by the transaction; a new one gets its meter. */
export const saveKey = async (
  tx: Client,
  { status, key }: KnownKey,
  schema: LedgerSchema = 'ledger',
): Promise<void> => {
  await tx.query(
    `INSERT INTO ${schema}.api_keys
       (id, hash, name, plan, account, status, created_at, sequence, last_event_at)
     VALUES ($1, decode($2, 'hex'), $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, plan = excluded.plan,
       status = excluded.status, sequence = excluded.sequence,
       last_event_at = excluded.last_event_at`,
    [
      key.id,
      key.hash,
      key.name,
      key.plan,
      key.account,
      status,
      key.createdAt,
      key.sequence,
      key.lastEventAt,
    ],
  );
  await tx.query(`INSERT INTO ${schema}.key_meters (key_id) VALUES ($1) ON CONFLICT DO NOTHING`, [
    key.id,
  ]);
};

/** Who asks for a change, and in which request. */
export interface Actor {
  readonly actor: string;
  readonly requestId: string;
}

export interface ApiKeyHandler {
  /** Decides one change and records its event, in one transaction. */
  handle(id: string, command: ApiKeyCommand, actor: Actor): Promise<ApiKeyOutcome>;
  /** The keys in the order of their making, after `after` (an id) if given. */
  list(limit: number, after: string | null): Promise<readonly KeyWithUsage[]>;
  find(id: string): Promise<KeyWithUsage | null>;
  any(): Promise<boolean>;
}

export const createApiKeyHandler = (pool: Pool, outbox: Outbox): ApiKeyHandler => {
  const query = async (
    condition: string,
    values: readonly unknown[],
  ): Promise<readonly KeyWithUsage[]> => {
    const { rows } = await pool.query<Row & Omit<KeyWithUsage, 'state'>>(
      `SELECT ${columns}, now.month,
              CASE WHEN now.time < m.window_start + interval '60 seconds'
                THEN m.window_calls ELSE 0 END AS "minuteCalls",
              CASE WHEN m.month = now.month THEN m.month_calls ELSE 0 END AS calls,
              CASE WHEN m.month = now.month THEN m.month_links ELSE 0 END AS links,
              CASE WHEN m.month = now.month THEN m.month_qr_codes ELSE 0 END AS "qrCodes"
       FROM ledger.api_keys k JOIN ledger.key_meters m ON m.key_id = k.id
       CROSS JOIN (
         SELECT clock_timestamp() AS time,
                date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date AS month
       ) now
       ${condition}`,
      [...values],
    );
    return rows.map((row) => ({
      state: stateOf(row),
      minuteCalls: row.minuteCalls,
      month: row.month,
      calls: row.calls,
      links: row.links,
      qrCodes: row.qrCodes,
    }));
  };

  return {
    handle: (id, command, actor) =>
      transaction(pool, async (tx) => {
        const state = await lockKey(tx, id);
        const now = await ledgerNow(tx);
        const decision = decideApiKey(command, state, { ...actor, now, eventId: uuidv7() });
        if (decision.type === 'refused') return decision;
        const next = decision.type === 'accepted' ? evolveApiKey(state, decision.event) : state;
        if (next.status === 'none') throw new Error('A decided key is known');
        if (decision.type !== 'accepted') {
          return { type: 'done', state: next, receipt: nothingRecorded };
        }
        await saveKey(tx, next);
        return { type: 'done', state: next, receipt: await outbox.record(tx, [decision.event]) };
      }),
    list: (limit, after) => query('WHERE k.id > $2 ORDER BY k.id LIMIT $1', [limit, after ?? '']),
    find: async (id) => (await query('WHERE k.id = $1', [id]))[0] ?? null,
    async any() {
      const { rows } = await pool.query('SELECT FROM ledger.api_keys LIMIT 1');
      return rows.length > 0;
    },
  };
};
