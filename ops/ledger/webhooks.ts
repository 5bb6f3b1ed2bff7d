import type { WebhookEvent } from '../../schemas/events/catalogue.js';
import { exists, type Webhook, type WebhookState } from '../../schemas/folds/webhook.js';
import type { Client, Queryable } from '../platform/postgres/pool.js';
import { upsert, type LedgerRows, type LedgerSchema } from './decide.js';

/** A row of `ledger.webhooks`. Most columns are `null` if the webhook was deleted. */
interface WebhookRow extends Omit<Webhook, 'status' | 'createdAt'> {
  readonly id: string;
  readonly status: Webhook['status'] | 'deleted';
  readonly createdAt: Date;
}

export const webhookColumns = `w.id, w.account, w.status, w.url, w.types, w.domain, w.description,
  w.disabled_reason AS "disabledReason", w.secrets, w.created_at AS "createdAt", w.sequence,
  w.last_event_at AS "lastEventAt"`;

/** Webhooks of all accounts that are read at most. */
const maxRead = 1_000;

const stateOfRow = (row: WebhookRow): WebhookState => {
  const { account, status, sequence, lastEventAt } = row;
  if (status === 'deleted') return { status, account, sequence, lastEventAt };
  const { url, types, domain, description, disabledReason, secrets, createdAt } = row;
  return {
    ...{ account, status, sequence, lastEventAt, url, types, domain, description },
    ...{ disabledReason, secrets, createdAt: createdAt.toISOString() },
  };
};

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

const rowOfWebhook = (id: string, state: Exclude<WebhookState, { readonly status: 'none' }>) => {
  const webhook = exists(state) ? state : null;
  return {
    id,
    account: state.account,
    status: state.status,
    url: webhook?.url,
    types: webhook?.types,
    domain: webhook?.domain,
    description: webhook?.description,
    disabled_reason: webhook?.disabledReason,
    secrets: webhook && JSON.stringify(webhook.secrets),
    created_at: webhook?.createdAt,
    sequence: state.sequence,
    last_event_at: state.lastEventAt,
  };
};

export const webhooks: LedgerRows<WebhookState, WebhookEvent> = {
  lock: lockWebhooks,
  save: (states, schema = 'ledger') =>
    [...states].flatMap(([id, state]) =>
      state.status === 'none' ? [] : upsert(`${schema}.webhooks`, 'id', rowOfWebhook(id, state)),
    ),
};

/** Webhooks that are not deleted, by ID, the oldest first. @param account `null`: of all. @param id `null`: all */
export const readWebhooks = async (
  postgres: Queryable,
  account: string | null,
  id: string | null = null,
): Promise<ReadonlyMap<string, Webhook>> => {
  const { rows } = await postgres.query<WebhookRow>({
    name: 'webhooks-read',
    text: `SELECT ${webhookColumns} FROM ledger.webhooks w
           WHERE status <> 'deleted' AND ($1::text IS NULL OR account = $1) AND ($2::text IS NULL OR id = $2)
           ORDER BY created_at, id LIMIT ${maxRead}`,
    values: [account, id],
  });
  return new Map(rows.map((row) => [row.id, webhookOfRow(row)]));
};
