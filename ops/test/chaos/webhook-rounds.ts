/** Webhooks to receivers that fail, while the processes that deliver are killed: no event may be lost. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { sendRequest } from '../support/http.js';
import { percentile } from '../support/median.js';
import { seededRandom } from '../support/random.js';
import type { FeedTarget } from './feed-target.js';

/** `fast` always responds with 204, `failing` with 500 to 30 % of its requests, and `dead` refuses connections at first. */
const receiverNames = ['fast', 'failing', 'dead'] as const;

interface WebhookPlan {
  readonly events: number;
  /** All by default. */
  readonly receivers?: readonly (typeof receiverNames)[number][];
  readonly kills: number;
  /** How long the receiver `dead` refuses connections (ms). */
  readonly deadMs: number;
  readonly seed: number;
}

interface WebhookResult {
  readonly broken: readonly string[];
  readonly events: number;
  /** How late events arrive at the fast receiver (ms). */
  readonly fastMs: { readonly median: number; readonly p99: number };
}

/** The environment of the product: receivers are on loopback. */
export const webhookEnvironment = { WEBHOOK_NETWORKS: '127.0.0.0/8' };

/** Not of webhooks, because the receivers get one after the other. */
const types = ['LinkCreated', 'LinkDescribed'];

const editsOfCall = 20;
const finalMs = 300_000;

const identityOf = ({ source, id }: Pick<LinklogEvent, 'source' | 'id'>): string =>
  `${source} ${id}`;

/** A receiver on loopback. `failing`: the part of the requests that it answers with 500. */
const startReceiver = async (name: string, failing: number, seed: number) => {
  const random = seededRandom(seed);
  /** The webhook-ids by event. */
  const ids = new Map<string, Set<string>>();
  const delivered = new Set<string>();
  const latencies: number[] = [];
  const listen = async (port: number): Promise<Server> => {
    const server = createServer((request, response) => {
      void (async () => {
        const id = String(request.headers['webhook-id']);
        const body = JSON.parse(await text(request)) as LinklogEvent | LinklogEvent[];
        const isFailing = random.between(0, 1) < failing;
        for (const event of [body].flat()) {
          const identity = identityOf(event);
          ids.set(identity, (ids.get(identity) ?? new Set()).add(id));
          if (isFailing) continue;
          if (!delivered.has(identity)) latencies.push(Date.now() - Date.parse(event.time));
          delivered.add(identity);
        }
        response.writeHead(isFailing ? 500 : 204).end();
      })();
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return {
    name,
    url: `http://127.0.0.1:${port}/${name}`,
    ids,
    delivered,
    latencies,
    stop,
    async dieFor(ms: number): Promise<void> {
      await stop();
      await sleep(ms);
      server = await listen(port);
    },
  };
};

export const runWebhookRounds = async (
  target: FeedTarget,
  plan: WebhookPlan,
): Promise<WebhookResult> => {
  const key = await target.createKey('acme');
  const call = (path: string, body?: object, method = body ? 'POST' : 'GET') =>
    sendRequest(`${target.api()}/v2${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}` },
      ...(body && { body }),
      timeoutMs: 10_000,
    });
  const receivers = await Promise.all(
    (plan.receivers ?? receiverNames).map((name) =>
      startReceiver(name, name === 'failing' ? 0.3 : 0, plan.seed),
    ),
  );
  const named = (wanted: (typeof receiverNames)[number]) =>
    receivers.find(({ name }) => name === wanted);
  const latencies = named('fast')?.latencies ?? [];
  const webhooks: string[] = [];
  for (const { url } of receivers) {
    const response = await call('/webhooks', { url, types });
    if (response.status !== 201) throw new Error(`no webhook: ${response.text}`);
    webhooks.push((response.json() as { id: string }).id);
  }
  const codes: string[] = [];
  for (let index = 0; index < editsOfCall * 5; index += 1) {
    const response = await call('/shorten', { url: `https://example.com/${index}` });
    codes.push((response.json() as { shortCode: string }).shortCode);
  }

  let written = codes.length;
  const write = async (): Promise<void> => {
    for (let round = 0; written < plan.events; round += 1) {
      const first = (round * editsOfCall) % codes.length;
      const shortCodes = codes.slice(first, first + editsOfCall);
      try {
        const body = { shortCodes, change: { tags: [`t${round}`] } };
        if ((await call('/links/bulk', body)).status === 200) written += shortCodes.length;
      } catch {
        // The process was killed: what it had committed is in the log.
        await sleep(50);
      }
    }
  };
  let kills = 0;
  const killAll = async (): Promise<void> => {
    while (kills < plan.kills) {
      const due = ((kills + 0.5) / plan.kills) * plan.events;
      if (written < due) {
        await sleep(20);
        continue;
      }
      await target.kill();
      kills += 1;
    }
  };
  await Promise.all([write(), killAll(), named('dead')?.dieFor(plan.deadMs)]);

  const logEvents = (await target.readLog()).filter(
    ({ account, name }) => account === 'acme' && types.includes(name),
  );
  /** Retries are due after up to a day, so the account repeats them now. */
  const retryPending = async (): Promise<void> => {
    for (const id of webhooks) {
      const page = await call(`/webhooks/${id}/deliveries?status=pending&limit=1000`);
      const { deliveries } = page.json() as { deliveries: { id: string }[] };
      for (const delivery of deliveries) {
        await call(`/webhooks/${id}/deliveries/${delivery.id}/retry`, {});
      }
    }
  };
  const isComplete = (): boolean =>
    receivers.every(({ delivered }) => logEvents.every(({ identity }) => delivered.has(identity)));
  // The comparison below names what is missing at the deadline.
  const deadline = performance.now() + finalMs;
  while (!isComplete() && performance.now() < deadline) {
    await retryPending();
    await sleep(500);
  }
  await Promise.all(receivers.map(({ stop }) => stop()));

  const known = new Set(logEvents.map(({ identity }) => identity));
  const broken = receivers.flatMap(({ name, ids, delivered }) => {
    const missing = [...known].filter((identity) => !delivered.has(identity));
    const unknown = [...delivered].filter((identity) => !known.has(identity));
    const several = [...ids].filter(([, webhookIds]) => webhookIds.size > 1);
    return [
      ...missing.slice(0, 5).map((identity) => `${name} lacks ${identity}`),
      ...unknown.slice(0, 5).map((identity) => `${name} got ${identity}, not for this webhook`),
      ...several.slice(0, 5).map(([identity]) => `${name} got ${identity} in several deliveries`),
    ];
  });
  return {
    broken,
    events: logEvents.length,
    fastMs: { median: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) },
  };
};
