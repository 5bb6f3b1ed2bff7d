import type { Admin, Kafka } from 'kafkajs';
import { retry } from '../../platform/concurrency/retry.js';
import { TopicMissing } from './log-faults.js';
import { TopicDiffers } from './topics.js';

export const createClusterAdmin = (kafka: Kafka) => {
  let connected: Promise<Admin> | undefined;
  let isClosed = false;
  const running = new Set<Promise<unknown>>();

  const connect = async (): Promise<Admin> => {
    const admin = kafka.admin();
    await admin.connect();
    return admin;
  };

  const tryOnce = async <Result>(work: (admin: Admin) => Promise<Result>): Promise<Result> => {
    if (isClosed) throw new Error('the connection to Kafka was closed');
    connected ??= connect();
    const connection = connected;
    try {
      return await work(await connection);
    } catch (error) {
      // The connection works. A call that others make on it would open it again after the disconnect.
      if (error instanceof TopicDiffers || error instanceof TopicMissing) throw error;
      // Another caller may have replaced the connection.
      if (connected === connection) {
        connected = undefined;
        // A broken connection may fail to disconnect.
        connection.then((admin) => admin.disconnect()).catch(() => undefined);
      }
      throw error;
    }
  };

  const disconnect = async (): Promise<void> => {
    const connection = connected;
    connected = undefined;
    await (await connection)?.disconnect();
  };

  return {
    /** Runs `work`, and retries it on a new connection, because kafkajs keeps outdated metadata of the cluster. */
    run<Result>(work: (admin: Admin) => Promise<Result>): Promise<Result> {
      const result = retry(() => tryOnce(work), {
        attempts: 6,
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

export type ClusterAdmin = ReturnType<typeof createClusterAdmin>;
