import { customAlphabet } from 'nanoid';
import { v7 as uuidv7 } from 'uuid';
import {
  apiKeys,
  keyColumns,
  apiKeyOfRow,
  type KeyRow,
  type KnownKey,
} from '../../ops/ledger/api-keys.js';
import { decideOne } from '../../ops/ledger/decide.js';
import type { Outbox, Receipt } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import type { PlanName } from '../../schemas/plans.js';
import { decideApiKey, type ApiKeyCommand, type ApiKeyRefusal } from '../domain/api-key.js';
import { hashKeyToken, keyAlphabet, keySecretLength, keyToken } from '../domain/key-token.js';

const randomSecret = customAlphabet(keyAlphabet, keySecretLength);

export type ApiKeyOutcome =
  | { readonly type: 'done'; readonly state: KnownKey; readonly receipt: Receipt }
  | { readonly type: 'refused'; readonly reason: ApiKeyRefusal };

/** A new key and its token, which is shown this once and kept nowhere. */
export interface IssuedKey {
  readonly token: string;
  readonly state: KnownKey;
  readonly receipt: Receipt;
}

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

export type ApiKeyHandler = ReturnType<typeof createApiKeyHandler>;

export const createApiKeyHandler = (pool: Pool, outbox: Outbox) => {
  const query = async (
    condition: string,
    values: readonly unknown[],
  ): Promise<readonly KeyWithUsage[]> => {
    const { rows } = await pool.query<KeyRow & Omit<KeyWithUsage, 'state'>>(
      `SELECT ${keyColumns}, now.month,
              CASE WHEN now.time < m.window_start + interval '60 seconds'
                THEN m.window_calls ELSE 0 END AS "minuteCalls",
              CASE WHEN m.month = now.month THEN m.month_calls
                ELSE coalesce((m.other_months -> now.month::text ->> 0)::bigint, 0) END AS calls,
              CASE WHEN m.month = now.month THEN m.month_links
                ELSE coalesce((m.other_months -> now.month::text ->> 1)::bigint, 0) END AS links,
              CASE WHEN m.month = now.month THEN m.month_qr_codes
                ELSE coalesce((m.other_months -> now.month::text ->> 2)::bigint, 0) END AS "qrCodes"
       FROM ledger.api_keys k JOIN ledger.key_meters m ON m.key_id = k.id
       CROSS JOIN (
         SELECT clock_timestamp() AS time,
                date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date AS month
       ) now
       ${condition}`,
      [...values],
    );
    return rows.map(({ minuteCalls, month, calls, links, qrCodes, ...row }) => {
      return { state: apiKeyOfRow(row), minuteCalls, month, calls, links, qrCodes };
    });
  };

  /** Decides one change and records its event, in one transaction. */
  const handle = async (
    subject: string,
    command: ApiKeyCommand,
    actor: Actor,
  ): Promise<ApiKeyOutcome> => {
    const { decision, state, receipt } = await decideOne({ pool, outbox }, apiKeys, decideApiKey, {
      subject,
      command,
      actor,
    });
    if (decision.type === 'refused') return decision;
    if (state.status === 'none') throw new Error('A decided key is known');
    return { type: 'done', state, receipt };
  };

  return {
    handle,
    /** Creates a key with a random secret. */
    async issue(
      key: { readonly name: string; readonly plan: PlanName; readonly account: string },
      actor: Actor,
    ): Promise<IssuedKey> {
      const token = keyToken(randomSecret());
      const id = uuidv7();
      const command = { type: 'CreateApiKey', id, ...key, hash: hashKeyToken(token) } as const;
      const outcome = await handle(id, command, actor);
      if (outcome.type === 'refused') throw new Error(`A new key was refused: ${outcome.reason}`);
      return { token, state: outcome.state, receipt: outcome.receipt };
    },
    /** The keys in the order of their making, after `after` (an id) if given. */
    list: (limit: number, after: string | null) =>
      query('WHERE k.id > $2 ORDER BY k.id LIMIT $1', [limit, after ?? '']),
    find: async (id: string) => (await query('WHERE k.id = $1', [id]))[0] ?? null,
    async any() {
      const { rows } = await pool.query('SELECT FROM ledger.api_keys LIMIT 1');
      return rows.length > 0;
    },
  };
};
