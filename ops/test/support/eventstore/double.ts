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
  /** The streams of a cluster, or of a server that was restarted. */
  readonly streams?: Streams;
  readonly maxAppendSize?: number;
  readonly maxAppendEventSize?: number;
  readonly commitTimeoutMs?: number;
  /** The other nodes; by default, the server is a cluster of one node. */
  readonly cluster?: Pick<Behaviour, 'leader' | 'members'>;
}

/** A test double of EventStoreDB with its gRPC protocol. */
export const startEventStoreDouble = async ({
  port: wantedPort = 0,
  file,
  streams = new Streams(file),
  maxAppendSize = 1_048_576,
  maxAppendEventSize = Infinity,
  commitTimeoutMs = 2_000,
  cluster,
}: DoubleOptions = {}) => {
  const calls = { read: 0, append: 0, gossip: 0 };
  let stalled: Deferred<void> | null = null;
  const server = new Server();
  let port = wantedPort;
  const behaviour = {
    ...{ streams, maxAppendSize, maxAppendEventSize, commitTimeoutMs, mayAppend: true },
    async called(method: 'read' | 'append' | 'gossip') {
      calls[method] += 1;
      await stalled?.promise;
    },
    get port() {
      return port;
    },
    ...(cluster ?? { leader: () => port, members: () => [port] }),
  };
  server.addService(StreamsService, streamsService(behaviour));
  server.addService(GossipService, gossipService(behaviour));
  port = await new Promise<number>((resolve, reject) => {
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
    /** Rejects appends of the user, or accepts them again. */
    permitAppends(mayAppend: boolean) {
      behaviour.mayAppend = mayAppend;
    },
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
