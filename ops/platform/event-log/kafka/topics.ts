import kafkajs, { type Admin } from 'kafkajs';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import type { KafkaSettings } from './settings.js';

/** A topic exists, and is not as the log needs it: no record in it would be safe. */
export class TopicDiffers extends Error {
  readonly code = 'TOPIC_DIFFERS';
  readonly retryable = false;
}

/** Nothing is ever deleted from the log: neither by age, nor by size, nor by compaction. */
const required = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
} as const;

const replicasAtMost = 3;

/** The name of a topic in the cluster. */
export const topicIn = (settings: KafkaSettings, topic: TopicName): string =>
  `${settings.prefix}${topic}`;

const partitionCounts = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

export const partitionCountOf = (topic: TopicName): number => partitionCounts.get(topic) ?? 1;

const create = async (admin: Admin, settings: KafkaSettings): Promise<void> => {
  const known = new Set(await admin.listTopics());
  const missing = Object.values(topics).filter(({ name }) => !known.has(topicIn(settings, name)));
  if (missing.length === 0) return;
  const { brokers } = await admin.describeCluster();
  const replicas = settings.replicas ?? Math.min(brokers.length, replicasAtMost);
  const inSync = settings.minInsyncReplicas ?? Math.max(1, replicas - 1);
  const configEntries = Object.entries({
    ...required,
    'min.insync.replicas': String(inSync),
  }).map(([name, value]) => ({ name, value }));
  // Another process may be quicker. That is no failure: every topic is checked later.
  await admin.createTopics({
    topics: missing.map(({ name, partitions }) => ({
      topic: topicIn(settings, name),
      numPartitions: partitions,
      replicationFactor: replicas,
      configEntries,
    })),
  });
};

const check = async (admin: Admin, settings: KafkaSettings): Promise<void> => {
  const names = Object.values(topics).map(({ name }) => topicIn(settings, name));
  const metadata = await admin.fetchTopicMetadata({ topics: names });
  for (const { name, partitions } of Object.values(topics)) {
    const topic = topicIn(settings, name);
    const found = metadata.topics.find((known) => known.name === topic)?.partitions.length;
    if (found !== partitions) {
      throw new TopicDiffers(
        `The topic ${topic} has ${found ?? 'no'} partitions, this version wants ${partitions}`,
      );
    }
  }
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: names.map((name) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      configNames: Object.keys(required),
    })),
  });
  for (const { resourceName, configEntries } of resources) {
    for (const [key, wanted] of Object.entries(required)) {
      const value = configEntries.find(({ configName }) => configName === key)?.configValue;
      if (value === wanted) continue;
      throw new TopicDiffers(
        `The topic ${resourceName} has ${key}=${value ?? 'unknown'}, the log needs ${wanted}`,
      );
    }
  }
};

/**
 * Creates the missing topics, and checks that each is as the log needs it.
 *
 * @throws TopicDiffers
 */
export const ensureTopics = async (admin: Admin, settings: KafkaSettings): Promise<void> => {
  await create(admin, settings);
  await check(admin, settings);
};
