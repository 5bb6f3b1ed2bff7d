import type { WebhookEvent } from '../../schemas/events/catalogue.js';
import type { DeletedWebhook, Webhook } from '../../schemas/folds/webhook.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { tableOfTerms } from './rows.js';

export const webhookTable = tableOfTerms<Webhook, DeletedWebhook, WebhookEvent>(
  'webhooks',
  'deleted',
  ['url', 'types', 'domain', 'description', 'disabledReason', 'secrets', 'createdAt'],
  (webhook) => ({ ...webhook, secrets: JSON.stringify(webhook.secrets) }),
);

export const webhooks = webhookTable.rows;

/** Webhooks of all accounts that are read at most. */
const maxRead = 1_000;

/** Webhooks that are not deleted, by ID, the oldest first. @param account `null`: of all. @param id `null`: all */
export const readWebhooks = async (
  postgres: Queryable,
  account: string | null,
  id: string | null = null,
): Promise<ReadonlyMap<string, Webhook>> => {
  const { rows } = await postgres.query<Parameters<typeof webhookTable.activeOf>[0]>({
    name: 'webhooks-read',
    text: `SELECT ${webhookTable.columns()} FROM ledger.webhooks
           WHERE status <> 'deleted' AND ($1::text IS NULL OR account = $1) AND ($2::text IS NULL OR id = $2)
           ORDER BY created_at, id LIMIT ${maxRead}`,
    values: [account, id],
  });
  return new Map(rows.map((row) => [row.id, webhookTable.activeOf(row)]));
};
