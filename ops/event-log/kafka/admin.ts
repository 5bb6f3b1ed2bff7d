import type { Admin, Kafka } from 'kafkajs';
import { retry } from '../../platform/concurrency/retry.js';

/** Asks the cluster about itself. */
export const createClusterAdmin = (kafka: Kafka) => {
  let connected: Promise<Admin> | undefined;

  const connect = async (): Promise<Admin> => {
    const admin = kafka.admin();
    await admin.connect();
    return admin;
  };

  const askOnce = async <Result>(work: (admin: Admin) => Promise<Result>): Promise<Result> => {
    connected ??= connect();
    const used = connected;
    try {
      return await work(await used);
    } catch (error) {
      // Another caller may have left that connection meanwhile.
      if (connected === used) {
        connected = undefined;
        used.then((admin) => admin.disconnect()).catch(() => undefined); // It was broken before.
      }
      throw error;
    }
  };

  return {
    /**
     * Runs `work`, again on a new connection after a failure that may pass: kafkajs keeps to what it
     * knew of the cluster, also when the leader of a partition is another one by now.
     */
    ask: <Result>(work: (admin: Admin) => Promise<Result>): Promise<Result> =>
      retry(() => askOnce(work), {
        attempts: 6,
        pauses: { firstMs: 100, longestMs: 1_600 },
        isRetryable: (error) => (error as { retriable?: boolean }).retriable === true,
      }),
    /** Ends the connection; the next `ask` makes another, which fetches the cluster's metadata anew. */
    async close(): Promise<void> {
      const left = connected;
      connected = undefined;
      await (await left)?.disconnect();
    },
  };
};

export type ClusterAdmin = ReturnType<typeof createClusterAdmin>;
