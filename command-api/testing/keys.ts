import type { CommandRequest } from '../../schemas/decision.js';
import type { SpendQrCode } from '../links/qr/command.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { newId } from '../../ops/platform/new-id.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { PlanName } from '../../schemas/plans.js';
import { scopeNames } from '../../schemas/scopes.js';
import { hashKeyToken } from '../keys/key-token.js';
import { createApiKeyHandler } from '../keys/handler.js';

interface Ledger {
  readonly pool: Pool;
  readonly outbox: Outbox;
}

export interface TestKey {
  readonly id: string;
  readonly hash: string;
  readonly account: string;
}

/** Creates a descendant of a key. */
export const derivedKey = async (
  { pool, outbox }: Ledger,
  { id, account }: TestKey,
): Promise<TestKey> => {
  const caller = { id, account, requestId: 'request-1' };
  const key = { name: 'derived', scopes: null, expiresIn: null };
  const outcome = await createApiKeyHandler(pool, outbox).derive(caller, key);
  if (outcome.type !== 'done') throw new Error(`derive() refused: ${outcome.refusal.type}`);
  return { id: outcome.state.key.id, hash: hashKeyToken(outcome.token), account };
};

export const actor = { actor: 'maria', requestId: 'request-1' };

/** Creates a root key with its own account. */
export const newKey = async (
  { pool, outbox }: Ledger,
  plan: PlanName = 'FREE',
): Promise<TestKey> => {
  const id = newId();
  const key = { id, hash: hashKeyToken(id), account: `account-${id}` };
  const { hash, account } = key;
  const data = { name: 'test', plan, account, scopes: scopeNames, expiresIn: null, hash };
  const handler = createApiKeyHandler(pool, outbox);
  const outcome = await handler.handle(id, { type: 'CreateApiKey', data }, actor);
  if (outcome.type !== 'done') throw new Error(`handle() refused: ${outcome.refusal.type}`);
  return key;
};

/** The row of a key's meter. */
export const meterOf = async ({ pool }: Pick<Ledger, 'pool'>, { id }: TestKey) => {
  type Counts = Record<'window_calls' | 'month_calls' | 'month_links' | 'month_qr_codes', number>;
  const { rows } = await pool.query<Counts & { month: string }>(
    `SELECT window_calls, month, month_calls, month_links, month_qr_codes
     FROM ledger.key_meters WHERE key_id = $1`,
    [id],
  );
  if (!rows[0]) throw new Error(`key ${id} has no meter`);
  return rows[0];
};

/** SQL: the first day of the current month. */
export const thisMonth = `date_trunc('month', now() AT TIME ZONE 'UTC')`;

/** Sets columns of a key's meter. @param assignments SQL */
export const setMeter = async (
  { pool }: Pick<Ledger, 'pool'>,
  { id }: TestKey,
  assignments: string,
): Promise<void> => {
  await pool.query(`UPDATE ledger.key_meters SET ${assignments} WHERE key_id = $1`, [id]);
};

/** A command that spends a QR code of the key. @param limit of the month; `null` for no limit */
export const spendQrCode = (
  { id, account }: TestKey,
  limit: number | null,
  code = 'spring',
): CommandRequest<SpendQrCode> => ({
  type: 'SpendQrCode',
  subject: id,
  data: { account, code, limit },
  metadata: { actor: id, requestId: `request-${code}` },
});
