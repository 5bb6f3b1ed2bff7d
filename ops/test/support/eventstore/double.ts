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
export const startEventStoreDouble = async ({
  port: wantedPort = 0,
  file,
  maxAppendSize = 1_048_576,
}: DoubleOptions = {}) => {
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
    /** The connection string. */
    url: `esdb://127.0.0.1:${port}?tls=false`,
    streams,
    /** The number of calls by method. */
    calls,
    /** Delays the responses until `resume`; connections stay open. */
    stall() {
      stalled ??= deferred();
    },
    resume() {
      stalled?.resolve();
      stalled = null;
    },
    /** Closes the server and all connections immediately. */
    kill() {
      server.forceShutdown();
      streams.close();
    },
  };
};

export type EventStoreDouble = Awaited<ReturnType<typeof startEventStoreDouble>>;
