import { expect } from 'chai';
import type {
  DeliveriesResponse,
  TestedWebhookResponse,
  WebhookResponse,
  WebhookWithSecretResponse,
} from '../../../schemas/http/webhooks.js';
import type { HttpResponse } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import type { IssuedKey } from '../support/product.js';
import { receiverFixture, type Hook, type ScriptedResponse } from '../support/receiver.js';
import { eventuallyPasses } from '../support/waiting.js';
import type { Bench } from './harness.js';

export type Delivery = DeliveriesResponse['deliveries'][number];

/** For PostgreSQL, projections, leases (1 s) and retries (5 s). */
export const deliveredWithinMs = 30_000;

interface Caller {
  readonly key: string;
}

interface Identified {
  readonly id: string;
}

const jsonOf = (response: HttpResponse, status: number): unknown => {
  expect(response.status, response.text).to.equal(status);
  return response.json();
};

/** Requests about webhooks to a running product. */
export const webhookCalls = (bench: Bench) => {
  const send = ({ key }: Caller, method: string, at = '', body?: unknown): Promise<HttpResponse> =>
    bench.api(`/v2/webhooks${at}`, key, { method, ...(body !== undefined && { body }) });

  const show = async (caller: Caller, { id }: Identified): Promise<WebhookResponse> =>
    jsonOf(await send(caller, 'GET', `/${id}`), 200) as WebhookResponse;

  const deliveries = async (
    caller: Caller,
    { id }: Identified,
    query = '',
  ): Promise<DeliveriesResponse> =>
    jsonOf(await send(caller, 'GET', `/${id}/deliveries?${query}`), 200) as DeliveriesResponse;

  const runSql = async (statement: string, { id }: Identified, ...values: unknown[]) => {
    await withLedger(bench.product, (pool) => pool.query(statement, [id, ...values]));
  };

  return {
    send,
    show,
    deliveries,
    runSql,

    create: async (caller: Caller, body: object): Promise<WebhookWithSecretResponse> =>
      jsonOf(await send(caller, 'POST', '', body), 201) as WebhookWithSecretResponse,

    change: async (caller: Caller, { id }: Identified, body: object): Promise<WebhookResponse> =>
      jsonOf(await send(caller, 'PATCH', `/${id}`, body), 200) as WebhookResponse,

    rotate: async (
      caller: Caller,
      { id }: Identified,
      body: object = {},
    ): Promise<WebhookWithSecretResponse> =>
      jsonOf(await send(caller, 'POST', `/${id}/rotate`, body), 200) as WebhookWithSecretResponse,

    test: async (caller: Caller, { id }: Identified): Promise<TestedWebhookResponse> =>
      jsonOf(await send(caller, 'POST', `/${id}/test`), 200) as TestedWebhookResponse,

    replay: async (caller: Caller, { id }: Identified, after: string): Promise<void> => {
      const response = await send(caller, 'POST', `/${id}/replay`, { after });
      expect([response.status, response.text]).to.deep.equal([202, '']);
    },

    /** Waits until the newest delivery has this number of attempts. Returns the delivery. */
    async expectAttempts(caller: Caller, webhook: Identified, count: number): Promise<Delivery> {
      let newest: Delivery | undefined;
      await eventuallyPasses(async () => {
        [newest] = (await deliveries(caller, webhook)).deliveries;
        expect(newest?.attempts).to.have.length(count);
      }, deliveredWithinMs);
      if (!newest) throw new Error('the webhook has no delivery');
      return newest;
    },

    expectShown: (caller: Caller, webhook: Identified, expected: object): Promise<void> =>
      eventuallyPasses(async () => {
        expect(await show(caller, webhook)).to.deep.include(expected);
      }, deliveredWithinMs),

    /** Ends the lease, so that no process delivers by an earlier state of the webhook. */
    endLease: (webhook: Identified): Promise<void> =>
      runSql(
        'UPDATE delivery.cursors SET owner = NULL, generation = generation + 1 WHERE webhook = $1',
        webhook,
      ),

    /** Makes deliveries due that wait for a retry. */
    makeDue: (webhook: Identified): Promise<void> =>
      runSql(
        `UPDATE delivery.deliveries SET next_attempt_at = clock_timestamp()
         WHERE webhook = $1 AND status = 'pending'`,
        webhook,
      ),
  };
};

/** A failure whose retry no test waits for. */
export const laterPlease: ScriptedResponse = { status: 503, headers: { 'Retry-After': '3600' } };

export interface Subscribed {
  readonly key: IssuedKey;
  readonly hook: Hook;
  readonly webhook: WebhookWithSecretResponse;
}

let accounts = 0;

/** Webhooks of a running product that deliver to a receiver. */
export const subscriptions = (bench: Bench) => {
  const receiver = receiverFixture();
  const calls = webhookCalls(bench);

  /** A key of a new account. */
  const newKey = (): Promise<IssuedKey> => {
    accounts += 1;
    return bench.key('PRO', { account: `subscriber-${accounts}` });
  };

  return {
    receiver,
    newKey,

    /** A webhook with a receiver of its own, by default for created links in a new account. */
    subscribe: async (body: object = {}, owner?: IssuedKey): Promise<Subscribed> => {
      const key = owner ?? (await newKey());
      const hook = receiver.hook();
      const terms = { url: hook.url, types: ['LinkCreated'], ...body };
      return { key, hook, webhook: await calls.create(key, terms) };
    },

    expectDeliveries: (hook: Hook, count: number): Promise<void> =>
      eventuallyPasses(() => {
        expect(hook.deliveries).to.have.length(count);
      }, deliveredWithinMs),

    expectEvents: (hook: Hook, subjects: readonly string[]): Promise<void> =>
      eventuallyPasses(() => {
        expect(hook.events.map(({ subject }) => subject)).to.have.members(subjects);
      }, deliveredWithinMs),

    pause: async ({ key, webhook }: Subscribed): Promise<void> => {
      const paused = { status: 'paused' };
      expect(await calls.change(key, webhook, paused)).to.include(paused);
      await calls.endLease(webhook);
    },

    enable: async ({ key, webhook }: Subscribed): Promise<void> => {
      const enabled = { status: 'enabled', disabledReason: null };
      expect(await calls.change(key, webhook, { status: 'enabled' })).to.include(enabled);
    },
  };
};
