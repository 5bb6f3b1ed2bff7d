import { customAlphabet } from 'nanoid';
import { v7 as uuidv7 } from 'uuid';
import {
  apiKeys,
  keyColumns,
  apiKeyOfRow,
  lockKeys,
  type KeyRow,
  type KnownKey,
} from '../../ops/ledger/api-keys.js';
import { decideIn, type LedgerCommand } from '../../ops/ledger/decide.js';
import type { Outbox, Receipt } from '../../ops/event-log/outbox/port.js';
import { advisoryLocks } from '../../ops/advisory-locks.js';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import { noKey, type ApiKeyState } from '../../schemas/folds/api-key.js';
import type { PlanName } from '../../schemas/plans.js';
import { decideApiKey, maxLiveKeys, type ApiKeyCommand, type ApiKeyRefusal } from './command.js';
import { hashKeyToken, keyAlphabet, keySecretLength, keyToken } from './key-token.js';

const randomSecret = customAlphabet(keyAlphabet, keySecretLength);

export interface DoneWithKey {
  readonly type: 'done';
  readonly state: KnownKey;
  readonly receipt: Receipt;
}

export type ApiKeyOutcome =
  DoneWithKey | { readonly type: 'refused'; readonly reason: ApiKeyRefusal };

/** A token is shown this once and kept nowhere. */
export type WithToken<Outcome> = Outcome & { readonly token: string };

/** A new key and its token. */
export type IssuedKey = WithToken<DoneWithKey>;

type CommandOf<Type extends ApiKeyCommand['type']> = Extract<
  ApiKeyCommand,
  { readonly type: Type }
>;

/** A command of an operator. */
export type OperatorsCommand =
  | CommandOf<'CreateApiKey'>
  | Omit<CommandOf<'ChangeApiKey'>, 'by'>
  | Omit<CommandOf<'RevokeApiKey'>, 'by'>;

/** What a key asks for on itself or on a key that descends from it. */
export type KeysCommand =
  | Omit<CommandOf<'ChangeApiKey'>, 'by' | 'plan' | 'expiresIn'>
  | Omit<CommandOf<'RotateApiKey'>, 'by'>
  | Omit<CommandOf<'RevokeApiKey'>, 'by'>;

type KeyLedgerCommand = LedgerCommand<ApiKeyState, ReturnType<typeof decideApiKey>>;

/** A key to make, below the key that asks. */
type DeriveKey = Omit<CommandOf<'DeriveApiKey'>, 'type' | 'by' | 'liveKeys'> & {
  readonly asking: AskingKey;
};

/** The key that asks, and in which request. */
export interface AskingKey {
  readonly id: string;
  readonly account: string;
  readonly requestId: string;
}

/** A key with what its root has spent in the open minute window and in the current month. */
export interface KeyWithUsage {
  readonly state: KnownKey;
  /** Its root's. */
  readonly plan: PlanName;
  /** The minute of its last call. */
  readonly lastUsedAt: Date | null;
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
    const { rows } = await pool.query<
      KeyRow & Omit<KeyWithUsage, 'state' | 'plan'> & { rootPlan: PlanName }
    >(
      `SELECT ${keyColumns()}, r.plan AS "rootPlan", k.last_used_at AS "lastUsedAt", now.month,
              CASE WHEN now.time < m.window_start + interval '60 seconds'
                THEN m.window_calls ELSE 0 END AS "minuteCalls",
              CASE WHEN m.month = now.month THEN m.month_calls
                ELSE coalesce((m.other_months -> now.month::text ->> 0)::bigint, 0) END AS calls,
              CASE WHEN m.month = now.month THEN m.month_links
                ELSE coalesce((m.other_months -> now.month::text ->> 1)::bigint, 0) END AS links,
              CASE WHEN m.month = now.month THEN m.month_qr_codes
                ELSE coalesce((m.other_months -> now.month::text ->> 2)::bigint, 0) END AS "qrCodes"
       FROM ledger.api_keys k JOIN ledger.api_keys r ON r.id = k.root_id
       JOIN ledger.key_meters m ON m.key_id = r.id
       CROSS JOIN (
         SELECT clock_timestamp() AS time,
                date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date AS month
       ) now
       ${condition}`,
      [...values],
    );
    return rows.map(
      ({ rootPlan: plan, lastUsedAt, minuteCalls, month, calls, links, qrCodes, ...row }) => {
        const usage = { minuteCalls, month, calls, links, qrCodes };
        return { state: apiKeyOfRow(row), plan, lastUsedAt, ...usage };
      },
    );
  };

  /** Decides commands and records their events; the transaction's last step. */
  const decide = async (
    tx: Client,
    commands: readonly KeyLedgerCommand[],
  ): Promise<readonly ApiKeyOutcome[]> => {
    const { results, receipt } = await decideIn(tx, outbox, apiKeys, commands);
    return results.map(({ decision, state }) => {
      if (decision.type === 'refused') return decision;
      if (state.status === 'none') throw new Error('A decided key is known');
      return { type: 'done', state, receipt };
    });
  };

  const decideOne = async (
    tx: Client,
    subject: string,
    command: ApiKeyCommand,
    actor: Actor,
  ): Promise<ApiKeyOutcome> => {
    const [outcome] = await decide(tx, [
      { ...actor, subject, decide: (state, context) => decideApiKey(command, state, context) },
    ]);
    if (!outcome) throw new Error('One outcome a command is due');
    return outcome;
  };

  /** Decides one change of an operator. */
  const handle = (
    subject: string,
    command: OperatorsCommand,
    actor: Actor,
  ): Promise<ApiKeyOutcome> =>
    transaction(pool, (tx) => {
      const asked =
        command.type === 'CreateApiKey' ? command : { ...command, by: 'operator' as const };
      return decideOne(tx, subject, asked, actor);
    });

  /** Decides what a key asks for, by what it may do at that moment. */
  const handleFor = (
    { id, requestId }: AskingKey,
    subject: string,
    command: KeysCommand,
  ): Promise<ApiKeyOutcome> =>
    transaction(pool, async (tx) => {
      const keys = await lockKeys(tx, [id, subject]);
      const by = keys.get(id) ?? noKey;
      return decideOne(tx, subject, { ...command, by }, { actor: id, requestId });
    });

  /** Makes keys that descend from others; those of an account are counted one after the other. */
  const derive = (commands: readonly DeriveKey[]): Promise<readonly ApiKeyOutcome[]> =>
    transaction(pool, async (tx) => {
      const accounts = [...new Set(commands.map(({ asking }) => asking.account))];
      await tx.query(
        `SELECT pg_advisory_xact_lock($1, hash) FROM (
           SELECT DISTINCT hashtext(account) AS hash FROM unnest($2::text[]) AS a (account)
           ORDER BY hash
         ) AS in_one_order`,
        [advisoryLocks.accountKeys, accounts],
      );
      const keys = await lockKeys(tx, [...new Set(commands.map(({ asking }) => asking.id))]);
      const { rows } = await tx.query<{ account: string; live: number }>(
        `SELECT account, count(*) AS live FROM unnest($1::text[]) AS a (account)
         CROSS JOIN LATERAL (
           SELECT FROM ledger.api_keys k WHERE k.account = a.account AND k.status <> 'revoked'
             AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp()) LIMIT ${maxLiveKeys}
         ) AS live GROUP BY account`,
        [accounts],
      );
      const live = new Map(rows.map((row) => [row.account, row.live]));
      return decide(
        tx,
        commands.map(({ asking, ...key }) => ({
          subject: key.id,
          actor: asking.id,
          requestId: asking.requestId,
          decide(state, context) {
            const liveKeys = live.get(asking.account) ?? 0;
            const by = keys.get(asking.id) ?? noKey;
            const command = { type: 'DeriveApiKey', ...key, by, liveKeys } as const;
            const decision = decideApiKey(command, state, context);
            if (decision.type === 'accepted') live.set(asking.account, liveKeys + 1);
            return decision;
          },
        })),
      );
    });

  const derivations = createBatcher({
    maxBatch: 50,
    maxWaiting: 500,
    run: derive,
    mayBeCausedByOneCommand,
  });

  return {
    handle,
    handleFor,
    /** Creates a root with a random secret. */
    async issue(
      key: Omit<CommandOf<'CreateApiKey'>, 'type' | 'id' | 'hash'>,
      actor: Actor,
    ): Promise<IssuedKey> {
      const token = keyToken(randomSecret());
      const id = uuidv7();
      const command = { type: 'CreateApiKey', id, ...key, hash: hashKeyToken(token) } as const;
      const outcome = await handle(id, command, actor);
      if (outcome.type === 'refused') throw new Error(`A new key was refused: ${outcome.reason}`);
      return { ...outcome, token };
    },
    /** Creates a key that descends from the one that asks. */
    async derive(
      asking: AskingKey,
      key: Pick<CommandOf<'DeriveApiKey'>, 'name' | 'scopes' | 'expiresIn'>,
    ): Promise<WithToken<ApiKeyOutcome>> {
      const token = keyToken(randomSecret());
      const outcome = await derivations.submit({
        ...{ asking, ...key, id: uuidv7(), hash: hashKeyToken(token) },
      });
      return { ...outcome, token };
    },
    /** Gives a key another secret; the earlier ones end within `overlapSeconds`. */
    async rotate(
      asking: AskingKey,
      id: string,
      overlapSeconds: number,
    ): Promise<WithToken<ApiKeyOutcome>> {
      const token = keyToken(randomSecret());
      const command = { type: 'RotateApiKey', hash: hashKeyToken(token), overlapSeconds } as const;
      return { ...(await handleFor(asking, id, command)), token };
    },
    /** The keys in the order of their making, after `after` (an id) if given. */
    list: (limit: number, after: string | null) =>
      query('WHERE k.id > $2 ORDER BY k.id LIMIT $1', [limit, after ?? '']),
    /** A key and those that descend from it, but for revoked ones, as `list` has them. */
    listFor: (
      key: { readonly id: string; readonly rootId: string },
      limit: number,
      after: string | null,
    ) =>
      query(
        `WHERE k.root_id = $4 AND k.status <> 'revoked' AND (k.id = $3 OR $3 = ANY (k.ancestors))
           AND k.id > $2 ORDER BY k.id LIMIT $1`,
        [limit, after ?? '', key.id, key.rootId],
      ),
    find: async (id: string) => (await query('WHERE k.id = $1', [id]))[0] ?? null,
    async any() {
      const { rows } = await pool.query('SELECT FROM ledger.api_keys LIMIT 1');
      return rows.length > 0;
    },
  };
};
