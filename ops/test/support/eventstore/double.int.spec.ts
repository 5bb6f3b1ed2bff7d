import {
  AccessDeniedError,
  BACKWARDS,
  DeadlineExceededError,
  END,
  EventStoreDBClient,
  jsonEvent,
  MaxAppendSizeExceededError,
  NO_STREAM,
  StreamDeletedError,
  StreamNotFoundError,
  UnavailableError,
  WrongExpectedVersionError,
  type AppendExpectedRevision,
} from '@eventstore/db-client';
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { appendFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { v7 as uuid } from 'uuid';
import { rejection } from '../waiting.js';
import { startEventStoreDouble, type DoubleOptions, type EventStoreDouble } from './double.js';
import { folderFixture } from '../fixtures.js';

const run = promisify(execFile);

const event = (id: string, data: object = { n: 1 }) =>
  jsonEvent({ id, type: 'happened', data: { ...data }, metadata: { by: 'test' } });

describe("test support: EventStoreDB's double", () => {
  const dir = folderFixture({ per: 'test' });
  let double: EventStoreDouble;
  let client: EventStoreDBClient;
  const ids = Array.from({ length: 6 }, () => uuid());
  const [a = '', b = '', c = '', d = ''] = ids;

  const start = async (options: DoubleOptions = {}): Promise<void> => {
    double = await startEventStoreDouble(options);
    client = EventStoreDBClient.connectionString(double.url);
  };

  afterEach(async () => {
    await client.dispose();
    double.kill();
  });

  const idsOf = async (options: Parameters<EventStoreDBClient['readStream']>[1] = {}) => {
    const found: (string | undefined)[] = [];
    for await (const { event: stored } of client.readStream('s', options)) found.push(stored?.id);
    return found;
  };

  for (const [rpc, options] of [
    ['batchAppend', {}],
    // With credentials, the client does not use batches.
    ['append', { credentials: { username: 'any', password: 'body' } }],
  ] as const) {
    describe(rpc, () => {
      const append = (expectedRevision: AppendExpectedRevision, ...events: readonly string[]) =>
        client.appendToStream(
          's',
          events.map((id) => event(id)),
          { ...options, expectedRevision },
        );

      const refusal = async (
        expectedRevision: AppendExpectedRevision,
        ...events: readonly string[]
      ): Promise<bigint | string> => {
        const error = await rejection(append(expectedRevision, ...events));
        if (!(error instanceof WrongExpectedVersionError)) throw error;
        expect(error.expectedVersion).to.equal(expectedRevision);
        return error.actualVersion;
      };

      it('appends at the expected version, and reads the stream', async () => {
        await start();
        expect((await append(NO_STREAM, a, b)).nextExpectedRevision).to.equal(1n);
        expect((await append(1n, c)).nextExpectedRevision).to.equal(2n);
        expect(double.calls[rpc]).to.equal(2);
        expect(await idsOf()).to.deep.equal([a, b, c]);
        expect(await idsOf({ fromRevision: 1n, maxCount: 1 })).to.deep.equal([b]);
        const latest = { direction: BACKWARDS, fromRevision: END, maxCount: 2 } as const;
        expect(await idsOf(latest)).to.deep.equal([c, b]);
        for await (const { event: stored } of client.readStream('s', { maxCount: 1 })) {
          expect(stored).to.deep.include({ type: 'happened', data: { n: 1 }, revision: 0n });
          expect(stored?.metadata).to.deep.equal({ by: 'test' });
        }
      });

      it('accepts a repeated append', async () => {
        await start();
        await append(NO_STREAM, a, b, c);
        expect((await append(NO_STREAM, a, b, c)).nextExpectedRevision).to.equal(2n);
        expect((await append(0n, b)).nextExpectedRevision).to.equal(1n);
        expect((await append('any', b, c)).nextExpectedRevision).to.equal(2n);
        expect(await idsOf()).to.deep.equal([a, b, c]);
      });

      it('refuses a wrong expected version, and a partly repeated append', async () => {
        await start();
        expect(await refusal(4n, a)).to.equal('no_stream');
        await append(NO_STREAM, a, b);
        expect(await refusal(NO_STREAM, c)).to.equal(1n);
        expect(await refusal(7n, c)).to.equal(1n);
        expect(await refusal(0n, a)).to.equal(1n);
        // Some of the events exist.
        expect(await refusal(NO_STREAM, a, b, c)).to.equal(1n);
        expect(await refusal('any', b, c)).to.equal(1n);
        expect(await idsOf()).to.deep.equal([a, b]);
      });

      it('stores an id twice at the correct version', async () => {
        await start();
        await append(NO_STREAM, a);
        await append(0n, a);
        expect(await idsOf()).to.deep.equal([a, a]);
      });

      it('refuses an append that is too large', async () => {
        await start({ maxAppendSize: 200 });
        await append(NO_STREAM, a);
        const many = ids.map((id) => event(id, { padding: 'x'.repeat(40) }));
        const error = await rejection(client.appendToStream('s', many, { ...options }));
        expect(error).to.be.instanceOf(MaxAppendSizeExceededError);
        expect(error).to.have.property('maxAppendSize', 200);
        expect(await idsOf()).to.deep.equal([a]);
      });

      it('refuses to append to a deleted stream', async () => {
        await start();
        await append(NO_STREAM, a);
        await client.tombstoneStream('s');
        expect(await rejection(append(0n, b))).to.be.instanceOf(StreamDeletedError);
        expect(await rejection(idsOf())).to.be.instanceOf(StreamDeletedError);
      });
    });
  }

  it('has no stream before its first event', async () => {
    await start();
    expect(await rejection(idsOf())).to.be.instanceOf(StreamNotFoundError);
  });

  it('requires credentials over TLS', async () => {
    const [key, cert] = [path.join(dir.path, 'key.pem'), path.join(dir.path, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const kind = ['-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    await run('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert]);
    const tls = { key: await readFile(key), cert: await readFile(cert), credentials: 'ops:right' };
    await start({ tls });
    const as = async (user: string): Promise<unknown> => {
      const url = `esdb://${user}localhost:${double.port}?tlsCAFile=${encodeURIComponent(cert)}`;
      const other = EventStoreDBClient.connectionString(url);
      const credentials = { username: 'ops', password: user === 'ops:right@' ? 'right' : 'wrong' };
      const options = user === '' ? {} : { credentials };
      // oxlint-disable-next-line typescript/no-misused-promises -- `finally` awaits the promise
      return other.appendToStream('s', event(a), options).finally(() => other.dispose());
    };
    expect(await rejection(as('ops:wrong@'))).to.be.instanceOf(AccessDeniedError);
    expect(await as('ops:right@')).to.include({ success: true });
  });

  it('delays responses while it is stalled', async () => {
    await start();
    double.stall();
    const credentials = { username: 'any', password: 'body' };
    const late = rejection(client.appendToStream('s', event(a), { credentials, deadline: 200 }));
    expect(await late).to.be.instanceOf(DeadlineExceededError);
    double.resume();
    await client.appendToStream('s', event(b), { credentials });
    // The late append is stored; its client cannot know that.
    expect(double.streams.events('s')).to.have.length(2);
  });

  it('has all streams after a kill and a restart', async () => {
    const file = path.join(dir.path, 'streams');
    await start({ file });
    await client.appendToStream('s', [event(a), event(b)]);
    await client.appendToStream('t', [event(c)]);
    const { port } = double;
    double.kill();
    const credentials = { username: 'any', password: 'body' };
    const error = await rejection(client.appendToStream('s', event(d), { credentials }));
    expect(error).to.be.instanceOf(UnavailableError);
    await appendFile(file, '{"stream":"s","at":1,"ev');
    double = await startEventStoreDouble({ file, port });
    expect(double.streams.names()).to.deep.equal(['s', 't']);
    expect(double.streams.events('s')?.map(({ id }) => id)).to.deep.equal([a, b]);
    await client.appendToStream('s', event(d), { credentials, expectedRevision: 1n });
    expect(await idsOf()).to.deep.equal([a, b, d]);
  });
});
