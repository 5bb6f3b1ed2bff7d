import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka } from 'kafkajs';

const attempts = 6;
const firstPauseMs = 50;

/** Asks the cluster about itself. */
export interface ClusterAdmin {
  /**
   * Runs `work`, again on a new connection after a failure that may pass: kafkajs keeps to what it
   * knew of the cluster, also when the leader of a partition is another one by now.
   */
  ask<Result>(work: (admin: Admin) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

const mayPass = (error: unknown): boolean => (error as { retriable?: boolean }).retriable === true;

export const createClusterAdmin = (kafka: Kafka): ClusterAdmin => {
  let connected: Promise<Admin> | undefined;

  const connect = async (): Promise<Admin> => {
    const admin = kafka.admin();
    await admin.connect();
    return admin;
  };

  const leave = async (): Promise<void> => {
    const left = connected;
    connected = undefined;
    await (await left)?.disconnect();
  };

  const ask = async <Result>(work: (admin: Admin) => Promise<Result>): Promise<Result> => {
    for (let attempt = 1; ; attempt += 1) {
      connected ??= connect();
      const used = connected;
      try {
        return await work(await used);
      } catch (error) {
        // Others may have left that connection meanwhile.
        if (connected === used) {
          connected = undefined;
          used.then((admin) => admin.disconnect()).catch(() => undefined); // It was broken before.
        }
        if (!mayPass(error) || attempt === attempts) throw error;
        await sleep(firstPauseMs * 2 ** attempt);
      }
    }
  };

  return { ask, close: leave };
};
