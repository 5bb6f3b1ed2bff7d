/** Thousands of webhooks of a running product, a part of which have dead receivers. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import pLimit from 'p-limit';
import type { FeedEvent } from './feed-event.js';
import { sendRequest } from './http.js';
import type { Product } from './product.js';

interface WebhooksPlan {
  readonly webhooks: number;
  /** The webhooks are distributed evenly. */
  readonly accounts: number;
  /** Webhooks whose receiver refuses connections (the even ones) or never responds. */
  readonly dead: number;
}

const concurrentCalls = 20;

/** A receiver on loopback. Its path is the number of the webhook; those below `dead` get no response. */
const startReceiver = async (dead: number) => {
  /** How late each first delivery of an event came (ms), by event and webhook. */
  const lateMs = new Map<string, number>();
  const server = createServer((request, response) => {
    void (async () => {
      const webhook = Number(request.url?.slice(1));
      const events = [JSON.parse(await text(request)) as FeedEvent | FeedEvent[]].flat();
      if (webhook < dead) return;
      for (const { id, time } of events) {
        const key = `${id} ${webhook}`;
        if (!lateMs.has(key)) lateMs.set(key, Date.now() - Date.parse(time));
      }
      response.writeHead(204).end();
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    lateMs,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

/**
 * Creates webhooks for new links.
 *
 * @param product the running one, with WEBHOOK_NETWORKS and plans without limits; it may be restarted
 */
export const createManyWebhooks = async (product: () => Product, plan: WebhooksPlan) => {
  const { webhooks, accounts, dead } = plan;
  const receiver = await startReceiver(dead);
  // No process listens on a port that was just closed.
  const closed = await startReceiver(0);
  await closed.stop();
  const limit = pLimit(concurrentCalls);
  const post = async (key: string, path: string, body: object): Promise<void> => {
    const headers = { Authorization: `Bearer ${key}` };
    const request = { method: 'POST', headers, body };
    const response = await sendRequest(`${product().api}/v2/${path}`, request);
    if (response.status !== 201) throw new Error(response.text);
  };
  const forEach = (count: number, work: (index: number) => Promise<void>) =>
    Promise.all(Array.from({ length: count }, (_, index) => limit(work, index)));

  const keys: string[] = [];
  await forEach(accounts, async (index) => {
    keys[index] = (await product().createKey({ plan: 'PRO', account: `many-${index}` })).key;
  });
  await forEach(webhooks, (index) => {
    const base = index < dead && index % 2 === 0 ? closed.url : receiver.url;
    const body = { url: `${base}/${index}`, types: ['LinkCreated'] };
    return post(keys[index % accounts] ?? '', 'webhooks', body);
  });
  let expected = 0;

  return {
    /** Creates a link in each account. */
    async createLinks(): Promise<void> {
      expected += webhooks - dead;
      await forEach(accounts, (index) =>
        post(keys[index] ?? '', 'shorten', { url: 'https://example.com' }),
      );
    },
    /** Waits until healthy receivers have all events. Returns how late they came (ms), and how many should have come. */
    async received(withinMs: number) {
      const deadline = performance.now() + withinMs;
      while (receiver.lateMs.size < expected && performance.now() < deadline) await sleep(50);
      return { expected, lateMs: [...receiver.lateMs.values()] };
    },
    stop: () => receiver.stop(),
  };
};
