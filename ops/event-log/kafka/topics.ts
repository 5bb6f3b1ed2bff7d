import kafkajs, { type Admin } from 'kafkajs';
import { topicNames, topics, type TopicName } from '../../../schemas/events/topics.js';
import { TopicMissing } from './log-faults.js';
import type { KafkaSettings } from './settings.js';

/** The configuration of an existing topic would lose records. */
export class TopicDiffers extends Error {
  readonly code = 'TOPIC_DIFFERS';
}

/** Disables deletion by age, by size and by compaction. */
const required = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
} as const;

const replicasAtMost = 3;

/** Returns the name of a topic in the cluster. */
export const topicIn = (settings: KafkaSettings, topic: TopicName): string =>
  `${settings.prefix}${topic}`;

/** Returns the number of partitions by the topic's name in the cluster. */
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
  // Returns false if another process creates them first; every topic is checked afterwards.
  await admin.createTopics({
    topics: missing.map(({ name, partitions }) => ({
      topic: topicIn(settings, name),
      numPartitions: partitions,
      replicationFactor: replicas,
      configEntries,
    })),
  });
};

/** How Kafka stores a topic. */
export interface TopicSettings {
  /** The name with the prefix of the installation. */
  readonly name: string;
  /** Of its partition with the fewest. */
  readonly replicas: number;
  readonly config: ReadonlyMap<string, string>;
}

const configOf = async (
  admin: Admin,
  names: readonly string[],
  configNames: string[],
): Promise<ReadonlyMap<string, TopicSettings['config']>> => {
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: names.map((name) => ({ type, name, configNames })),
  });
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
};

/** Returns the settings of all topics on which the durability of the log depends. */
export const describeTopics = async (
  admin: Admin,
  settings: KafkaSettings,
): Promise<readonly TopicSettings[]> => {
  const names = topicNames.map((topic) => topicIn(settings, topic));
  const metadata = await admin.fetchTopicMetadata({ topics: names });
  const durability = ['min.insync.replicas', 'unclean.leader.election.enable'];
  const config = await configOf(admin, names, [...Object.keys(required), ...durability]);
  return metadata.topics.map(({ name, partitions }) => ({
    name,
    replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
    config: config.get(name) ?? new Map<string, string>(),
  }));
};

/** Why a topic would lose records by itself; `null` if it would not. */
export const retentionFault = (
  name: string,
  config: TopicSettings['config'] | undefined,
): string | null => {
  for (const [key, wanted] of Object.entries(required)) {
    const value = config?.get(key) ?? 'unknown';
    if (value !== wanted) return `The topic ${name} has ${key}=${value}, the log needs ${wanted}`;
  }
  return null;
};

const check = async (admin: Admin, settings: KafkaSettings): Promise<void> => {
  const names = Object.values(topics).map(({ name }) => topicIn(settings, name));
  const metadata = await admin.fetchTopicMetadata({ topics: names });
  for (const { name, partitions } of Object.values(topics)) {
    const topic = topicIn(settings, name);
    const found = metadata.topics.find((known) => known.name === topic)?.partitions.length ?? 0;
    // Linklog ignores added partitions.
    if (found < partitions) {
      throw new TopicDiffers(
        `The topic ${topic} has ${found || 'no'} partitions, this version needs ${partitions}`,
      );
    }
  }
  const config = await configOf(admin, names, Object.keys(required));
  for (const name of names) {
    const fault = retentionFault(name, config.get(name));
    if (fault !== null) throw new TopicDiffers(fault);
  }
};

/** Creates the topics that are not in `created`, and checks all of them. @throws TopicDiffers, TopicMissing */
export const ensureTopics = async (
  admin: Admin,
  settings: KafkaSettings,
  created: ReadonlySet<TopicName>,
): Promise<void> => {
  await create(admin, settings, created);
  await check(admin, settings);
};

/** Returns the current number of partitions of each topic; `null` if it is missing. */
export const countPartitions = async (
  admin: Admin,
  settings: KafkaSettings,
): Promise<ReadonlyMap<TopicName, number | null>> => {
  const counts = async (queried: readonly TopicName[]) => {
    const names = queried.map((topic) => topicIn(settings, topic));
    const { topics: found } = await admin.fetchTopicMetadata({ topics: names });
    return new Map(found.map(({ name, partitions }) => [name, partitions.length]));
  };
  const found = await counts(topicNames).catch(async (error: unknown) => {
    if ((error as { readonly type?: unknown }).type !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error;
    const existing = new Set(await admin.listTopics());
    const remaining = topicNames.filter((topic) => existing.has(topicIn(settings, topic)));
    // An empty list would fetch the metadata of all topics.
    return remaining.length === 0 ? new Map<string, number>() : counts(remaining);
  });
  return new Map(topicNames.map((topic) => [topic, found.get(topicIn(settings, topic)) ?? null]));
};
