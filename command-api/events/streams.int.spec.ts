import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { startCursor } from '../../ops/feed/cursor.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { createLogger } from '../../ops/platform/logging.js';
import { collectGarbage } from '../../ops/test/support/collect-garbage.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { openStreams } from './streams.js';

type Deps = Parameters<typeof openStreams>[0];
type Request = Parameters<ReturnType<typeof openStreams>['start']>[0];

const filter = { account: 'acme', types: new Set<string>(), subject: null, domain: null };

const requestOf = (keyHash: string): Request => ({
  ...{ filter, from: startCursor },
  slot: { id: keyHash, rootId: keyHash },
  caller: { keyHash, sessionHash: null },
});

/** A response that records its end. */
const newResponse = () => {
  const response = Object.assign(new EventEmitter(), {
    ...{ isEnded: false, destroyed: false, write: () => true },
    end() {
      response.isEnded = true;
    },
  });
  return response;
};

/** A follower without events. */
const follow = () => {
  const closed = deferred();
  const next = () => closed.promise.then(() => []);
  return { cursor: startCursor, next, close: closed.resolve };
};

describe('streams of events', () => {
  it('that start while keys are checked go on; those of revoked keys end', async () => {
    const queries: { readonly keys: readonly string[]; readonly respond: () => void }[] = [];
    const pool = {
      query: ({ values }: { readonly values: readonly [readonly string[]] }) => {
        const result = deferred<unknown>();
        const [keys] = values;
        const valid = keys.filter((hash) => hash !== 'revoked');
        const rows = valid.map((hash) => ({ hash, scopes: ['events:read'] }));
        const respond = () => {
          result.resolve({ rows });
        };
        queries.push({ keys, respond });
        return result.promise;
      },
    };
    const streams = openStreams({
      pool,
      feed: { follow, encode: () => '' },
      slots: { renew: () => Promise.resolve(), release: () => Promise.resolve() },
      logger: createLogger('silent'),
    } as unknown as Deps);
    const start = (keyHash: string) => {
      const response = newResponse();
      streams.start(requestOf(keyHash), response as unknown as ServerResponse);
      return response;
    };
    const [live, revoked] = [start('live'), start('revoked')];
    await eventually('the keys are checked', () => queries.length === 1);
    const late = start('late');
    expect(queries[0]?.keys).to.have.members(['live', 'revoked']);
    queries[0]?.respond();
    await eventually('the stream of the revoked key ends', () => revoked.isEnded);
    await sleep(1);
    expect([live.isEnded, late.isEnded]).to.deep.equal([false, false]);
    const stopped = streams.stop();
    for (const { respond } of queries) respond();
    await stopped;
    await eventually('all streams end', () => live.isEnded && late.isEnded);
  });

  it('keep no event in memory while a client does not read, and request no more', async () => {
    const requested: WeakRef<object>[] = [];
    const written: unknown[] = [];
    const next = () => {
      const events = [{ index: 0, offset: 0, json: '{}' }];
      requested.push(new WeakRef(events));
      return Promise.resolve(events);
    };
    const streams = openStreams({
      pool: {},
      feed: {
        follow: () => ({ cursor: startCursor, next, close: () => undefined }),
        encode: () => 'cursor',
      },
      slots: { release: () => Promise.resolve() },
      logger: createLogger('silent'),
    } as unknown as Deps);
    const response = Object.assign(newResponse(), {
      write(part: unknown) {
        written.push(part);
        return written.length < 2;
      },
    });
    streams.start(requestOf('live'), response as unknown as ServerResponse);
    await eventually('the stream waits for the client', () => written.length === 2);
    await sleep(1);
    collectGarbage();
    expect(requested.map((events) => events.deref())).to.deep.equal([undefined]);
    expect(written[1]).to.deep.equal(Buffer.from('id: cursor\ndata: {}\n\n'));
    response.destroyed = true;
    response.emit('close');
    await eventually('the stream ends', () => response.isEnded);
    await streams.stop();
  });

  it('encode a portion once for all that get it', async () => {
    const portion = [{ index: 0, offset: 0, json: '{}' }];
    const written: unknown[] = [];
    const streams = openStreams({
      pool: {},
      feed: {
        follow() {
          const later = follow();
          let next = () => {
            ({ next } = later);
            return Promise.resolve(portion);
          };
          return { ...later, next: () => next() };
        },
        encode: () => 'cursor',
      },
      slots: { release: () => Promise.resolve() },
      logger: createLogger('silent'),
    } as unknown as Deps);
    for (const key of ['a', 'b']) {
      const write = (part: unknown) => Buffer.isBuffer(part) && written.push(part);
      const response = Object.assign(newResponse(), {
        write: (part: unknown) => write(part) || true,
      });
      streams.start(requestOf(key), response as unknown as ServerResponse);
    }
    await eventually('both have the portion', () => written.length === 2);
    expect(written[0]).to.equal(written[1]);
    await streams.stop();
  });

  it('release the slot of a request that left before its start, after a renewal in progress', async () => {
    const renewal = deferred();
    const released: string[] = [];
    let renewals = 0;
    const streams = openStreams({
      pool: { query: () => Promise.resolve({ rows: [{ hash: 'live', scopes: ['events:read'] }] }) },
      feed: { follow, encode: () => '' },
      slots: {
        renew() {
          renewals += 1;
          return renewal.promise;
        },
        release(id: string) {
          released.push(id);
          return Promise.resolve();
        },
      },
      logger: createLogger('silent'),
    } as unknown as Deps);
    streams.start(requestOf('live'), newResponse() as unknown as ServerResponse);
    await eventually('the slots are renewed', () => renewals === 1);
    streams.cancel(requestOf('left'));
    await sleep(1);
    expect(released).to.deep.equal([]);
    renewal.resolve();
    await eventually('the slot is released', () => released.includes('left'));
    await streams.stop();
  });
});
