import { Server, ServerCredentials } from '@grpc/grpc-js';
import { GossipService, ServerFeaturesService, StreamsService } from './protocol.js';
import { featuresService, gossipService, streamsService, type Behaviour } from './service.js';
import { Streams } from './streams.js';
import { deferred, type Deferred } from '../../../platform/concurrency/deferred.js';

export interface DoubleOptions {
  /** A free port by default. */
  readonly port?: number;
  /** Stores the streams; they are only in memory by default. */
  readonly file?: string;
  readonly maxAppendSize?: number;
  /** With TLS, the server requires credentials; the client sends them only over TLS. */
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer; readonly credentials: string };
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

export const startEventStoreDouble = async (
  options: DoubleOptions = {},
): Promise<EventStoreDouble> => {
  const streams = new Streams(options.file);
  const calls = { read: 0, append: 0, batchAppend: 0 };
  let stalled: Deferred<void> | null = null;
  const server = new Server();
  server.addService(
    StreamsService,
    streamsService({
      streams,
      maxAppendSize: options.maxAppendSize ?? 1_048_576,
      credentials: options.tls?.credentials ?? null,
      async called(method) {
        calls[method] += 1;
        await stalled?.promise;
      },
    }),
  );
  server.addService(ServerFeaturesService, featuresService());
  server.addService(
    GossipService,
    gossipService(() => port),
  );
  const { tls } = options;
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(
      `127.0.0.1:${options.port ?? 0}`,
      tls
        ? ServerCredentials.createSsl(null, [{ private_key: tls.key, cert_chain: tls.cert }])
        : ServerCredentials.createInsecure(),
      (error, bound) => {
        if (error) reject(error);
        else resolve(bound);
      },
    );
  });
  return {
    port,
    url: tls ? `esdb://${tls.credentials}@localhost:${port}` : `esdb://127.0.0.1:${port}?tls=false`,
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
