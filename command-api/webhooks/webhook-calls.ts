import type { Cursor } from '../../ops/feed/cursor.js';
import type { Feed } from '../../ops/feed/feed.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { newId } from '../../ops/platform/new-id.js';
import { isDelivered, webhookFilter, type Sender } from '../../ops/webhooks/sender.js';
import { readProgress, replaceCursor, type Progress } from '../../ops/webhooks/store.js';
import { readWebhooks } from '../../ops/ledger/webhooks.js';
import type { Webhook } from '../../schemas/folds/webhook.js';
import { messages } from '../../schemas/http/errors.js';
import type { TestedWebhookResponse, WebhookResponse } from '../../schemas/http/webhooks.js';
import { defaultDomainOf } from '../../schemas/link-subject.js';
import { webhookTested } from '../../schemas/webhook-tested.js';
import type { V2State } from '../admission/admitted-call.js';
import { cursorOf } from '../events/route.js';
import type { Read } from '../http/requests.js';
import { acceptedForLater, failure, json, type Reply } from '../http/reply.js';
import { accountOf, type AdminState, type AnyRequest } from '../http/row-handlers.js';

export interface WebhookCallsDeps {
  readonly shortUrlHost: string;
  readonly pool: Pool;
  readonly feed: Feed;
  readonly sender: Sender;
}

/** Why an enabled webhook without a cursor delivers nothing. */
const cursorLost =
  'The position of this webhook was lost by a restore. Replay from a point of the log';

export const unknownWebhook = failure(404, messages.webhookNotFound);

/** Calls that accounts and operators share. */
export const createWebhookCalls = (deps: WebhookCallsDeps) => {
  const { pool, feed, sender, shortUrlHost } = deps;

  /** The webhook with an ID; `null` if the account of the request has none. */
  const find = async (state: V2State | AdminState, id: string): Promise<Webhook | null> =>
    (await readWebhooks(pool, accountOf(state), id)).get(id) ?? null;

  const termsOf = ({ url, types, domain, description, createdAt }: Webhook) => ({
    ...{ url, types, description, createdAt },
    domain: domain === '' ? (defaultDomainOf(shortUrlHost) ?? domain) : domain,
  });

  const lagOf = async (webhook: Webhook, progress: Progress): Promise<number> => {
    const cursor = await feed.decode(progress.cursor);
    const waiting =
      typeof cursor === 'string' ? 0 : await feed.countAfter(webhookFilter(webhook), cursor);
    return waiting + progress.pendingEvents;
  };

  const toResponse = async (
    id: string,
    webhook: Webhook,
    progress: Progress | undefined,
  ): Promise<WebhookResponse> => {
    const stopped = progress ? progress.stoppedReason : cursorLost;
    const isStopped = webhook.status === 'enabled' && stopped !== null;
    const last = progress?.lastDelivery;
    return {
      id,
      ...termsOf(webhook),
      status: isStopped ? 'disabled' : webhook.status,
      disabledReason: isStopped ? stopped : webhook.disabledReason,
      lag: progress ? await lagOf(webhook, progress) : 0,
      failingSince: progress?.failingSince?.toISOString() ?? null,
      lastDelivery: last ? { ...last, at: last.at.toISOString() } : null,
    };
  };

  const shown = async (webhooks: ReadonlyMap<string, Webhook>) => {
    const progress = await readProgress(pool, [...webhooks.keys()]);
    return Promise.all(
      [...webhooks].map(([id, webhook]) => toResponse(id, webhook, progress.get(id))),
    );
  };

  return {
    termsOf,

    /** The webhooks as responses show them, in order. */
    shown,

    find,

    test: async ({ state, parameter }: AnyRequest<'testWebhook'>): Promise<Reply> => {
      const id = parameter('id');
      const webhook = await find(state, id);
      if (!webhook) return unknownWebhook;
      const { uncounted, traceparent } = state;
      const eventId = newId();
      const { account } = webhook;
      const event = webhookTested({ id: eventId, webhookId: id, account, time: new Date() });
      const sending = sender.send(webhook, eventId, JSON.stringify(event), { traceparent });
      const { attempt } = await uncounted(sending);
      const { status, durationMs, error } = attempt;
      const body: TestedWebhookResponse = {
        ...{ delivered: isDelivered(attempt), status, durationMs, error },
      };
      return json(200, body);
    },

    replay: async ({
      body: { after },
      state,
      parameter,
    }: AnyRequest<'replayWebhook'>): Promise<Reply> => {
      const id = parameter('id');
      const webhook = await find(state, id);
      if (!webhook) return unknownWebhook;
      const cursor: Read<Cursor> =
        after instanceof Date
          ? { type: 'read', value: await feed.cursorAt(webhookFilter(webhook), after) }
          : await cursorOf(feed, after);
      if (cursor.type === 'refused') return cursor.reply;
      await replaceCursor(pool, id, feed.encode(cursor.value));
      return acceptedForLater;
    },
  };
};
