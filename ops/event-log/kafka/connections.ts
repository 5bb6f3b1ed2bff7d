import type { Admin, Cluster, Kafka } from 'kafkajs';
import { retry } from '../../platform/concurrency/retry.js';
import { TopicMissing } from './log-faults.js';
import { TopicDiffers } from './topics.js';

interface Client {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

/** A client of kafkajs, which is replaced after a failure, because it keeps outdated metadata of the cluster. */
const createConnection = <C extends Client>(create: () => C, attempts: number) => {
  let connected: { readonly client: C; readonly ready: Promise<void> } | undefined;
  let isClosed = false;
  const running = new Set<Promise<unknown>>();

  const connect = () => {
    const client = create();
    return { client, ready: client.connect() };
  };

  const tryOnce = async <Result>(work: (client: C) => Promise<Result>): Promise<Result> => {
    if (isClosed) throw new Error('the connection to Kafka was closed');
    const connection = (connected ??= connect());
    try {
      await connection.ready;
      return await work(connection.client);
    } catch (error) {
      // The connection works. A call that others make on it would open it again after the disconnect.
      if (error instanceof TopicDiffers || error instanceof TopicMissing) throw error;
      // Another caller may have replaced the connection.
      if (connected === connection) {
        connected = undefined;
        // A broken connection may fail to disconnect.
        connection.client.disconnect().catch(() => undefined);
      }
      throw error;
    }
  };

  const disconnect = async (): Promise<void> => {
    const connection = connected;
    connected = undefined;
    await connection?.ready;
    await connection?.client.disconnect();
  };

  return {
    /** Runs `work`, and retries it on a new connection. */
    run<Result>(work: (client: C) => Promise<Result>): Promise<Result> {
      const result = retry(() => tryOnce(work), {
        attempts,
        pauses: { firstMs: 100, longestMs: 1_600 },
        isRetryable: (error) => (error as { retriable?: boolean }).retriable === true,
      });
      running.add(result);
      const ended = (): void => {
        running.delete(result);
      };
      result.then(ended, ended);
      return result;
    },
    /** Closes the connection. The next `run` opens another one, with new metadata. */
    reconnect: disconnect,
    /** Closes the connection when the running calls have ended: kafkajs would open it again for them. */
    async close(): Promise<void> {
      isClosed = true;
      await Promise.allSettled(running);
      await disconnect();
    },
  };
};

export const createClusterAdmin = (kafka: Kafka) => createConnection<Admin>(() => kafka.admin(), 6);

type CreateCluster = (options: { readonly allowAutoTopicCreation: boolean }) => Cluster;

/** The brokers, which kafkajs shows to its own clients only. Calls are repeated for some 25 s: a broker may restart. */
export const createBrokerConnection = (kafka: Kafka) => {
  const internals = kafka as unknown as Readonly<Record<symbol, CreateCluster>>;
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const createCluster = name && internals[name];
  if (!createCluster) throw new Error('kafkajs has no function that creates a cluster');
  return createConnection(() => createCluster({ allowAutoTopicCreation: false }), 20);
};
