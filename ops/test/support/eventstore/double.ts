import { Server, ServerCredentials } from '@grpc/grpc-js';
import { GossipService, StreamsService } from './protocol.js';
import { gossipService, streamsService, type Behaviour } from './service.js';
import { Streams } from './streams.js';
import { deferred, type Deferred } from '../../../platform/concurrency/deferred.js';

interface DoubleOptions {
  /** A free port by default. */
  readonly port?: number;
  /** Stores the streams; they are only in memory by default. */
  readonly file?: string;
  readonly maxAppendSize?: number;
}

/** A test double of EventStoreDB with its gRPC protocol. */
export interface EventStoreDouble {
  readonly port: number;
  /** The connection string. */
  readonly url: string;
  readonly streams: Streams;
  /** The number of calls by method. */
  readonly calls: Readonly<Record<Parameters<Behaviour['called']>[0], number>>;
  /** Delays the responses until `resume`; connections stay open. */
  stall(): void;
  resume(): void;
  /** Closes the server and all connections immediately. */
  kill(): void;
}

export const startEventStoreDouble = async ({
  port: wantedPort = 0,
  file,
  maxAppendSize = 1_048_576,
}: DoubleOptions = {}): Promise<EventStoreDouble> => {
  const streams = new Streams(file);
  const calls = { read: 0, append: 0 };
  let stalled: Deferred<void> | null = null;
  const server = new Server();
  const called: Behaviour['called'] = async (method) => {
    calls[method] += 1;
    await stalled?.promise;
  };
  server.addService(StreamsService, streamsService({ streams, maxAppendSize, called }));
  server.addService(
    GossipService,
    gossipService(() => port),
  );
  const port = await new Promise<number>((resolve, reject) => {
    const address = `127.0.0.1:${wantedPort}`;
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(error);
      else resolve(bound);
    });
  });
  return {
    port,
    url: `esdb://127.0.0.1:${port}?tls=false`,
    streams,
    calls,
    stall() {
      stalled ??= deferred();
    },
    resume() {
      stalled?.resolve();
      stalled = null;
    },
    kill() {
      server.forceShutdown();
      streams.close();
    },
  };
};
