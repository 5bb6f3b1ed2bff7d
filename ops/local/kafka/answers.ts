import { Kafka, logLevel } from 'kafkajs';

/** Whether the broker of this cluster answers there, itself a member of it. */
export const brokerAnswers = async (brokers: string, clusterId: string): Promise<boolean> => {
  const admin = new Kafka({
    brokers: [brokers],
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING,
  }).admin();
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    // Another process may have taken the port; and until it is registered, a broker knows of none.
    return cluster.clusterId === clusterId && cluster.brokers.length > 0;
  } catch {
    // Whatever it is, it is tried again until the deadline, and an end of the broker is seen as such.
    return false;
  } finally {
    await admin.disconnect();
  }
};
