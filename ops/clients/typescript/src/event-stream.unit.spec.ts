import { expect } from 'chai';
import { mock } from 'node:test';
import { getEventListeners } from 'node:events';
import { rejection } from '../../../test/support/waiting.js';
import {
  cutStreamOf,
  openStreamOf,
  scriptedClient,
  silent,
  streamOf,
} from '../testing/scripted-fetch.js';
import { Deduplicator, type StreamOptions, type StreamQuery } from './event-stream.js';
import {
  AbortError,
  ConnectionError,
  LinklogError,
  TimeoutError,
  type CloudEvent,
} from './index.js';

const eventOf = (id: number, source = '/linklog/ledger') => ({ id: String(id), source });

/** Messages of events whose cursors are `c<id>`. */
const messages = (...ids: readonly number[]): string =>
  ids.map((id) => `id: c${id}\ndata: ${JSON.stringify(eventOf(id))}\n\n`).join('');

const opening = 'retry: 2000\n\n';

describe('client: stream of events', () => {
  beforeEach(() => {
    // Pauses between connections last no time.
    mock.method(Math, 'random', () => 0);
    const real = globalThis.setTimeout;
    const shortened = <Args extends unknown[]>(
      act: (...args: Args) => void,
      ms: number,
      ...args: Args
    ) => real(act, ms === 500 ? 0 : ms, ...args);
    mock.method(globalThis, 'setTimeout', shortened);
  });
  afterEach(() => {
    mock.restoreAll();
  });

  const start = (
    steps: Parameters<typeof scriptedClient>[0],
    query: StreamQuery = { after: 'start' },
    options?: StreamOptions,
  ) => {
    const { client, requests } = scriptedClient(steps);
    const failures: unknown[] = [];
    const onRetry = (error: unknown): void => void failures.push(error);
    const stream = client.events.stream(query, { onRetry, ...options });
    /** The parameter `after` of each request. */
    const cursors = () => requests.map(({ url }) => new URL(url).searchParams.get('after'));
    return { stream, requests, failures, cursors };
  };

  /** Reads events, up to a number. */
  const read = async (
    stream: AsyncIterable<CloudEvent>,
    most: number,
  ): Promise<readonly string[]> => {
    const ids: string[] = [];
    for await (const { id } of stream) if (ids.push(id) === most) break;
    return ids;
  };

  it('continues after the last event when the connection is cut, also in a message', async () => {
    const { stream, cursors, failures } = start([
      () => cutStreamOf(opening + messages(1, 2) + 'id: c3\ndata: {"id":'),
      new TypeError('fetch failed'),
      { status: 502, body: 'bad gateway' },
      () => streamOf(opening + messages(3)),
      () => streamOf(opening + messages(4, 5)),
    ]);
    expect(await read(stream, 5)).to.deep.equal(['1', '2', '3', '4', '5']);
    expect(cursors()).to.deep.equal(['start', 'c2', 'c2', 'c2', 'c3']);
    expect(stream.cursor).to.equal('c5');
    // The fourth connection ended regularly.
    expect(failures.map((error) => (error as Error).name)).to.deep.equal([
      ...['ConnectionError', 'ConnectionError', 'LinklogError'],
    ]);
  });

  it('drops repeats by source and id, and continues behind them', async () => {
    const other = `id: c9\ndata: ${JSON.stringify(eventOf(1, '/linklog/edge'))}\n\n`;
    const { stream, cursors } = start([
      () => streamOf(messages(1, 2)),
      () => streamOf(messages(1, 2) + other),
      () => streamOf(messages(3)),
    ]);
    expect(await read(stream, 4)).to.deep.equal(['1', '2', '1', '3']);
    expect(cursors()).to.deep.equal(['start', 'c2', 'c9']);
  });

  it('continues after the position that an idle connection reports', async () => {
    const position = 'event: position\nid: c7\ndata: {"time":"2026-12-01T00:00:00.000Z"}\n\n';
    const { stream, cursors } = start([() => cutStreamOf(position), () => streamOf(messages(8))]);
    expect(await read(stream, 1)).to.deep.equal(['8']);
    expect(cursors()).to.deep.equal(['start', 'c7']);
  });

  it('begins at the end of the log by default, and keeps that position through failures', async () => {
    const { stream, requests, cursors } = start(
      [
        { body: { events: [], next: 'c4' } },
        new TypeError('fetch failed'),
        () => streamOf(messages(5)),
      ],
      { types: ['LinkCreated'] },
    );
    expect(await read(stream, 1)).to.deep.equal(['5']);
    expect(cursors()).to.deep.equal(['now', 'c4', 'c4']);
    expect(requests.map(({ headers }) => headers['Accept'])).to.deep.equal([
      ...['application/json', 'text/event-stream', 'text/event-stream'],
    ]);
    expect(requests.every(({ url }) => url.includes('types=LinkCreated'))).to.equal(true);
  });

  for (const status of [400, 401, 403, 409]) {
    it(`ends with an error for ${status}`, async () => {
      const { stream, requests } = start([() => streamOf(messages(1)), { status }]);
      const error = await rejection(read(stream, 2));
      expect(error).to.be.instanceOf(LinklogError).and.to.include({ status });
      expect(requests).to.have.length(2);
    });
  }

  it('ends if its first response is another client error', async () => {
    const { stream } = start([{ status: 404 }]);
    expect(await rejection(read(stream, 1))).to.include({ status: 404 });
    const later = start([
      () => streamOf(messages(1)),
      { status: 404 },
      () => streamOf(messages(2)),
    ]);
    expect(await read(later.stream, 2)).to.deep.equal(['1', '2']);
  });

  it('connects again if there are no bytes for too long', async () => {
    const { stream, failures } = start(
      [() => openStreamOf(messages(1)), () => streamOf(messages(2))],
      { after: 'start' },
      { idleTimeoutMs: 20 },
    );
    expect(await read(stream, 2)).to.deep.equal(['1', '2']);
    expect(failures[0]).to.be.instanceOf(TimeoutError);
  });

  it('ends with an AbortError: while it connects, reads, or pauses', async () => {
    const { status, headers } = { status: 503, headers: { 'Retry-After': '60' } };
    const endless = () =>
      new Response(new ReadableStream({ pull: () => silent().then(() => undefined) }));
    for (const step of [silent, endless, { status, headers }]) {
      const controller = new AbortController();
      const { signal } = controller;
      const { stream } = start([step], { after: 'start' }, { signal });
      setTimeout(() => {
        controller.abort();
      }, 20);
      expect(await rejection(read(stream, 1))).to.be.instanceOf(AbortError);
      expect(getEventListeners(signal, 'abort')).to.have.length(0);
    }
  });

  it('closes its connection when the reader leaves', async () => {
    let isCancelled = false;
    const cancel = () => {
      isCancelled = true;
    };
    const { stream } = start([() => openStreamOf(messages(1, 2), cancel)]);
    expect(await read(stream, 1)).to.deep.equal(['1']);
    expect(isCancelled).to.equal(true);
    expect(stream.cursor).to.equal('c1');
  });

  it('reports a damaged message, and reads it again', async () => {
    const { stream, failures } = start([
      () => streamOf(messages(1) + 'id: c2\ndata: {"id"\n\n'),
      () => streamOf(messages(2)),
    ]);
    expect(await read(stream, 2)).to.deep.equal(['1', '2']);
    expect(failures[0]).to.be.instanceOf(SyntaxError).and.not.instanceOf(ConnectionError);
  });

  it('remembers a bounded number of events', () => {
    const deduplicator = new Deduplicator();
    for (let id = 0; id <= 10_000; id += 1) {
      expect(deduplicator.isRepeat(eventOf(id))).to.equal(false);
    }
    expect(deduplicator.isRepeat(eventOf(1))).to.equal(true);
    expect(deduplicator.isRepeat(eventOf(10_000))).to.equal(true);
    expect(deduplicator.isRepeat(eventOf(0))).to.equal(false);
  });
});
