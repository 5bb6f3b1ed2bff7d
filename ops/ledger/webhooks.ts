import type { WebhookEvent } from '../../schemas/events/catalogue.js';
import { exists, type Webhook, type WebhookState } from '../../schemas/folds/webhook.js';
import type { Client, Queryable } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerRows, LedgerSchema } from './decide.js';

/** A row of `ledger.webhooks`. Most columns are `null` if the webhook was deleted. */
interface WebhookRow extends Omit<Webhook, 'status' | 'createdAt'> {
  readonly id: string;
  readonly status: Webhook['status'] | 'deleted';
  readonly createdAt: Date;
}

export const webhookColumns = `w.id, w.account, w.status, w.url, w.types, w.domain, w.description,
  w.disabled_reason AS "disabledReason", w.secrets, w.created_at AS "createdAt", w.sequence,
  w.last_event_at AS "lastEventAt"`;

const stateOfRow = ({ id: _, status, createdAt, ...row }: WebhookRow): WebhookState => {
  const { account, sequence, lastEventAt } = row;
  return status === 'deleted'
    ? { status, account, sequence, lastEventAt }
    : { ...row, status, createdAt: createdAt.toISOString() };
};

/** The webhook of a row that is not deleted. */
export const webhookOfRow = (row: WebhookRow): Webhook => {
  const state = stateOfRow(row);
  if (!exists(state)) throw new Error(`the webhook ${row.id} was deleted`);
  return state;
};

/** Locks the table against the few other writers, because the number of webhooks of an account is limited. */
export const lockWebhooks = async (
  tx: Client,
  ids: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlyMap<string, WebhookState>> => {
  await tx.query(`LOCK TABLE ${schema}.webhooks IN SHARE ROW EXCLUSIVE MODE`);
  const { rows } = await tx.query<WebhookRow>(
    `SELECT ${webhookColumns} FROM ${schema}.webhooks w
     WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, stateOfRow(row)]));
};

export const saveWebhook = (
  id: string,
  state: WebhookState,
  schema: LedgerSchema = 'ledger',
): readonly Statement[] => {
  if (state.status === 'none') return [];
  const webhook = exists(state) ? state : null;
  return [
    {
      text: `INSERT INTO ${schema}.webhooks
               (id, account, status, url, types, domain, description, disabled_reason, secrets,
                created_at, sequence, last_event_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
             ON CONFLICT (id) DO UPDATE SET account = excluded.account, status = excluded.status,
               url = excluded.url, types = excluded.types, domain = excluded.domain,
               description = excluded.description, disabled_reason = excluded.disabled_reason,
               secrets = excluded.secrets, created_at = excluded.created_at,
               sequence = excluded.sequence, last_event_at = excluded.last_event_at`,
      values: [
        ...[id, state.account, state.status, webhook?.url, webhook?.types, webhook?.domain],
        ...[webhook?.description, webhook?.disabledReason],
        ...[webhook && JSON.stringify(webhook.secrets), webhook?.createdAt],
        ...[state.sequence, state.lastEventAt],
      ],
    },
  ];
};

export const webhooks: LedgerRows<WebhookState, WebhookEvent> = {
  lock: lockWebhooks,
  save: (states) => [...states].flatMap(([id, state]) => saveWebhook(id, state)),
};

/** The webhooks of an account that are not deleted, by ID, the oldest first. @param id only this one */
export const readWebhooksOf = async (
  postgres: Queryable,
  account: string,
  id: string | null = null,
): Promise<ReadonlyMap<string, Webhook>> => {
  const { rows } = await postgres.query<WebhookRow>({
    name: 'webhooks-of-account',
    text: `SELECT ${webhookColumns} FROM ledger.webhooks w
           WHERE account = $1 AND status <> 'deleted' AND ($2::text IS NULL OR id = $2)
           ORDER BY created_at, id`,
    values: [account, id],
  });
  return new Map(rows.map((row) => [row.id, webhookOfRow(row)]));
};
