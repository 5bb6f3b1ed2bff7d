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
    ...{ isEnded: false, destroyed: false },
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

/** Streams whose dependencies are stubs. */
const open = (deps: object = {}) =>
  openStreams({
    pool: { query: () => Promise.resolve({ rows: [{ hash: 'live', scopes: ['events:read'] }] }) },
    feed: { follow, encode: () => 'cursor' },
    slots: { renew: () => Promise.resolve(), release: () => Promise.resolve() },
    logger: createLogger('silent'),
    ...deps,
  } as unknown as Deps);

/** @param write as the one of the response */
const start = (
  streams: ReturnType<typeof open>,
  keyHash: string,
  write?: (part: unknown) => boolean,
) => {
  const response = Object.assign(newResponse(), { write: write ?? (() => true) });
  streams.start(requestOf(keyHash), response as unknown as ServerResponse);
  return response;
};

describe('streams of events', () => {
  it('that start while keys are checked go on; those of revoked keys end', async () => {
    const queries: { readonly keys: readonly string[]; readonly respond: () => void }[] = [];
    const pool = {
      query: ({ values: [keys] }: { readonly values: readonly [readonly string[]] }) => {
        const result = deferred<unknown>();
        const valid = keys.filter((hash) => hash !== 'revoked');
        const rows = valid.map((hash) => ({ hash, scopes: ['events:read'] }));
        const respond = () => {
          result.resolve({ rows });
        };
        queries.push({ keys, respond });
        return result.promise;
      },
    };
    const streams = open({ pool });
    const [live, revoked] = [start(streams, 'live'), start(streams, 'revoked')];
    await eventually('the keys are checked', () => queries.length === 1);
    const late = start(streams, 'late');
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
    const reading = () => ({ cursor: startCursor, next, close: () => undefined });
    const streams = open({ feed: { follow: reading, encode: () => 'cursor' } });
    const response = start(streams, 'live', (part) => written.push(part) < 2);
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
    const followOnce = () => {
      const later = follow();
      let next = () => {
        ({ next } = later);
        return Promise.resolve(portion);
      };
      return { ...later, next: () => next() };
    };
    const streams = open({ feed: { follow: followOnce, encode: () => 'cursor' } });
    for (const key of ['a', 'b']) {
      start(streams, key, (part) => (Buffer.isBuffer(part) ? written.push(part) > 0 : true));
    }
    await eventually('both have the portion', () => written.length === 2);
    expect(written[0]).to.equal(written[1]);
    await streams.stop();
  });

  it('release the slot of a request that left before its start, after a renewal in progress', async () => {
    const renewal = deferred();
    const released: string[] = [];
    let renewals = 0;
    const slots = {
      renew() {
        renewals += 1;
        return renewal.promise;
      },
      release: (id: string) => Promise.resolve(released.push(id)),
    };
    const streams = open({ slots });
    start(streams, 'live');
    await eventually('the slots are renewed', () => renewals === 1);
    streams.cancel(requestOf('left'));
    await sleep(1);
    expect(released).to.deep.equal([]);
    renewal.resolve();
    await eventually('the slot is released', () => released.includes('left'));
    await streams.stop();
  });
});
