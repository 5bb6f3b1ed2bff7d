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
import { decideOneIn } from '../../ops/ledger/decide.js';
import { traced } from '../../ops/ledger/traced.js';
import type { Outbox, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import { advisoryLocks } from '../../ops/advisory-locks.js';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor, CommandRequest } from '../../schemas/decision.js';
import type { Principal } from '../../schemas/principal.js';
import { noKey, rootIdOf, type ApiKeyState } from '../../schemas/folds/api-key.js';
import { isPersonId, scopesOfRole, type Role } from '../../schemas/roles.js';
import { scopeNames } from '../../schemas/scopes.js';
import type { PlanName } from '../../schemas/plans.js';
import {
  apiKeyDecider,
  maxLiveKeys,
  type ApiKeyCommand,
  type ApiKeyRefusal,
  type ChangeApiKey,
  type CreateApiKey,
  type DeriveApiKey,
  type KeyAuthority,
  type KeyChanges,
  type RevokeApiKey,
  type RotateApiKey,
} from './command.js';
import { actorIn, type RequestCause } from '../http/request-actor.js';
import { hashKeyToken, keyAlphabet, keySecretLength, keyToken } from './key-token.js';

const randomSecret = customAlphabet(keyAlphabet, keySecretLength);

export interface DoneWithKey {
  readonly type: 'done';
  readonly state: KnownKey;
  readonly outboxPosition: OutboxPosition;
}

export type ApiKeyOutcome =
  DoneWithKey | { readonly type: 'refused'; readonly refusal: ApiKeyRefusal };

/** The token is not stored. */
type WithToken<Outcome> = Outcome & { readonly token: string };

/** A command without the fields that the handler adds. */
interface Requested<KeyCommand extends ApiKeyCommand> {
  readonly type: KeyCommand['type'];
  readonly data: Omit<KeyCommand['data'], 'by'>;
}

export type OperatorCommand =
  Requested<CreateApiKey> | Requested<ChangeApiKey> | Requested<RevokeApiKey>;

/** A command of a key on itself or a descendant. */
export type KeyOwnerCommand =
  | { readonly type: 'ChangeApiKey'; readonly data: Omit<KeyChanges, 'plan' | 'expiresIn'> }
  | Requested<RotateApiKey>
  | Requested<RevokeApiKey>;

interface Derivation {
  readonly caller: CallingKey;
  readonly id: string;
  readonly data: Omit<DeriveApiKey['data'], 'by' | 'liveKeys'>;
}

/** A key or a person. `rootId` is the parent of the keys that a person creates. */
export type CallingKey = Readonly<RequestCause> &
  Pick<Principal, 'id' | 'account'> &
  Partial<Pick<Principal, 'rootId'>>;

/** A key with the usage of its root in the open minute window and in the current month. */
export interface KeyWithUsage {
  readonly state: KnownKey;
  readonly plan: PlanName;
  /** The minute of its last call. */
  readonly lastUsedAt: Date | null;
  readonly minuteCalls: number;
  /** The first day of the month. */
  readonly month: string;
  readonly calls: number;
  readonly links: number;
  readonly qrCodes: number;
}

const withAuthority = (
  subject: string,
  { type, data }: OperatorCommand | KeyOwnerCommand,
  by: KeyAuthority,
  metadata: Actor,
) =>
  ({ type, subject, data: { ...data, by }, metadata }) as unknown as CommandRequest<ApiKeyCommand>;

/**
 * The authority of a person over a key: that of the key's root, with the scopes of the person's role now. A person does not
 * manage the roots themselves.
 *
 * @param key a root is that of a new key
 */
const authorityOfPerson = async (
  tx: Client,
  { id, account }: CallingKey,
  key: KnownKey | undefined,
): Promise<ApiKeyState> => {
  const { rows } = await tx.query<{ role: Role }>(
    'SELECT role FROM ledger.roles WHERE person_id = $1 AND account = $2 FOR SHARE',
    [id, account],
  );
  const [role] = rows;
  if (!role || key?.key.account !== account) return noKey;
  const rootId = rootIdOf(key.key);
  const root = rootId === key.key.id ? key : (await lockKeys(tx, [rootId])).get(rootId);
  if (!root) return noKey;
  return { status: root.status, key: { ...root.key, scopes: scopesOfRole(role.role) } };
};

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

  const decide = async (
    tx: Client,
    command: CommandRequest<ApiKeyCommand>,
  ): Promise<ApiKeyOutcome> => {
    const decided = await decideOneIn(tx, outbox, apiKeys, apiKeyDecider, command);
    const { decision, state, outboxPosition } = decided;
    if (decision.type === 'refused') return decision;
    if (state.status === 'none') throw new Error(`${command.type} returned no key`);
    return { type: 'done', state, outboxPosition };
  };

  const handle = (
    subject: string,
    command: OperatorCommand,
    metadata: Actor,
  ): Promise<ApiKeyOutcome> =>
    traced(pool, [metadata], () =>
      transaction(pool, (tx) => decide(tx, withAuthority(subject, command, 'operator', metadata))),
    );

  /** Decides a command of a key, with the key's current state as authority. */
  const handleFor = (
    caller: CallingKey,
    subject: string,
    command: KeyOwnerCommand,
  ): Promise<ApiKeyOutcome> =>
    traced(pool, [caller], () =>
      transaction(pool, async (tx) => {
        const keys = await lockKeys(tx, [caller.id, subject]);
        const key = keys.get(subject);
        if (isPersonId(caller.id) && key?.key.ancestors.length === 0) {
          return { type: 'refused', refusal: { type: 'unknown' } };
        }
        const by = isPersonId(caller.id)
          ? await authorityOfPerson(tx, caller, key)
          : (keys.get(caller.id) ?? noKey);
        return decide(tx, withAuthority(subject, command, by, actorIn(caller, caller.id)));
      }),
    );

  /** Creates a descendant. The keys of an account are counted under a lock. */
  const createDerived = ({ caller, id, data }: Derivation): Promise<ApiKeyOutcome> =>
    traced(pool, [caller], () =>
      transaction(pool, async (tx) => {
        const { account } = caller;
        await tx.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [
          advisoryLocks.accountKeys,
          account,
        ]);
        const { id: callerId, rootId = callerId } = caller;
        const keys = await lockKeys(tx, [isPersonId(callerId) ? rootId : callerId]);
        const { rows } = await tx.query<{ live: number }>(
          `SELECT count(*) AS live FROM (
           SELECT FROM ledger.api_keys WHERE account = $1 AND status <> 'revoked'
             AND (expires_at IS NULL OR expires_at > clock_timestamp()) LIMIT ${maxLiveKeys}
         ) AS live`,
          [account],
        );
        const by = isPersonId(caller.id)
          ? await authorityOfPerson(tx, caller, keys.get(rootId))
          : (keys.get(caller.id) ?? noKey);
        return decide(tx, {
          type: 'DeriveApiKey',
          subject: id,
          data: { ...data, by, liveKeys: rows[0]?.live ?? 0 },
          metadata: actorIn(caller, caller.id),
        });
      }),
    );

  // One at a time: each request that waits for the account's lock would hold a connection.
  const derivations = createBatcher({
    ...{ maxBatch: 1, maxWaiting: 500, mayBeCausedByOneCommand },
    run: (commands: readonly Derivation[]) => Promise.all(commands.map(createDerived)),
  });

  /** The keys of the account, except roots, whose scopes a person has. */
  const listForPerson = (
    { account, scopes }: Pick<Principal, 'account' | 'scopes'>,
    limit: number,
    after: string | null,
  ) =>
    query(
      `WHERE k.account = $3 AND k.ancestors <> '{}' AND k.status <> 'revoked'
         AND coalesce(k.scopes, $5) <@ $4 AND k.id > $2 ORDER BY k.id LIMIT $1`,
      [limit, after ?? '', account, scopes, scopeNames],
    );

  return {
    handle,
    handleFor,
    /** Creates a root with a random secret. */
    async issue(
      key: Omit<CreateApiKey['data'], 'hash'>,
      actor: Actor,
    ): Promise<WithToken<DoneWithKey>> {
      const token = keyToken(randomSecret());
      const id = uuidv7();
      const data = { ...key, hash: hashKeyToken(token) };
      const outcome = await handle(id, { type: 'CreateApiKey', data }, actor);
      if (outcome.type === 'refused') {
        throw new Error(`CreateApiKey with a new ID was refused: ${outcome.refusal.type}`);
      }
      return { ...outcome, token };
    },
    async derive(
      caller: CallingKey,
      key: Omit<Derivation['data'], 'hash'>,
    ): Promise<WithToken<ApiKeyOutcome>> {
      const token = keyToken(randomSecret());
      const data = { ...key, hash: hashKeyToken(token) };
      const outcome = await derivations.submit({ caller, id: uuidv7(), data });
      return { ...outcome, token };
    },
    /** Replaces the secret of a key. Earlier secrets end within `overlapSeconds`. */
    async rotate(
      caller: CallingKey,
      id: string,
      overlapSeconds: number,
    ): Promise<WithToken<ApiKeyOutcome>> {
      const token = keyToken(randomSecret());
      const data = { hash: hashKeyToken(token), overlapSeconds };
      return { ...(await handleFor(caller, id, { type: 'RotateApiKey', data })), token };
    },
    /** All keys, in the order of creation. @param after an id */
    list: (limit: number, after: string | null) =>
      query('WHERE k.id > $2 ORDER BY k.id LIMIT $1', [limit, after ?? '']),
    /** A key and its descendants, without revoked ones, in the order of creation. */
    listFor: (
      key: Pick<Principal, 'id' | 'rootId' | 'account' | 'scopes'>,
      limit: number,
      after: string | null,
    ) =>
      isPersonId(key.id)
        ? listForPerson(key, limit, after)
        : query(
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
