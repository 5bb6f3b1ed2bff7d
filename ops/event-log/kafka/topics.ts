import kafkajs, { type Admin } from 'kafkajs';
import { topicNames, topics, type TopicName } from '../../../schemas/events/topics.js';
import { TopicMissing } from './log-faults.js';
import type { KafkaSettings } from './settings.js';

/** A topic exists, and is not as the log needs it: no record in it would be safe. */
export class TopicDiffers extends Error {
  readonly code = 'TOPIC_DIFFERS';
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

const partitionsByTopic = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

/** The number of partitions of a topic that Linklog uses. */
export const partitionCountOf = (topic: TopicName): number => partitionsByTopic.get(topic) ?? 1;

/** The number of partitions of each topic, by its name in the cluster. */
export const partitionCounts = (settings: KafkaSettings): ReadonlyMap<string, number> =>
  new Map(
    Object.values(topics).map(({ name, partitions }) => [topicIn(settings, name), partitions]),
  );

const create = async (
  admin: Admin,
  settings: KafkaSettings,
  created: ReadonlySet<TopicName>,
): Promise<void> => {
  const known = new Set(await admin.listTopics());
  const missing = Object.values(topics).filter(({ name }) => !known.has(topicIn(settings, name)));
  if (missing.length === 0) return;
  const deleted = missing.find(({ name }) => created.has(name));
  if (deleted) throw new TopicMissing(topicIn(settings, deleted.name));
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
    const found = metadata.topics.find((known) => known.name === topic)?.partitions.length ?? 0;
    // More are tolerated: Linklog neither writes nor reads the added ones.
    if (found < partitions) {
      throw new TopicDiffers(
        `The topic ${topic} has ${found || 'no'} partitions, this version wants ${partitions}`,
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
 * Creates the topics that no earlier start has `created`, and checks that each is as the log needs it.
 *
 * @throws TopicDiffers, TopicMissing
 */
export const ensureTopics = async (
  admin: Admin,
  settings: KafkaSettings,
  created: ReadonlySet<TopicName>,
): Promise<void> => {
  await create(admin, settings, created);
  await check(admin, settings);
};

/** Of each topic, how many partitions it has now; of a missing one `null`. */
export const countPartitions = async (
  admin: Admin,
  settings: KafkaSettings,
): Promise<ReadonlyMap<TopicName, number | null>> => {
  const counts = async (some: readonly TopicName[]) => {
    const names = some.map((topic) => topicIn(settings, topic));
    const { topics: found } = await admin.fetchTopicMetadata({ topics: names });
    return new Map(found.map(({ name, partitions }) => [name, partitions.length]));
  };
  const found = await counts(topicNames).catch(async (error: unknown) => {
    if ((error as { readonly type?: unknown }).type !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error;
    const existing = new Set(await admin.listTopics());
    const some = topicNames.filter((topic) => existing.has(topicIn(settings, topic)));
    // Without a name, the metadata of all topics would be fetched.
    return some.length === 0 ? new Map<string, number>() : counts(some);
  });
  return new Map(topicNames.map((topic) => [topic, found.get(topicIn(settings, topic)) ?? null]));
};
