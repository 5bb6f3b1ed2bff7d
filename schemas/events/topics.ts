/**
 * The topics of the log. Links and visits are separate, so that readers of links do not read all visits. The partition
 * count of a topic never changes: records are ordered only within a partition, so a key must keep its partition.
 */
export const topics = {
  links: { name: 'linklog.links.v1', partitions: 8 },
  visits: { name: 'linklog.visits.v1', partitions: 8 },
  accounts: { name: 'linklog.accounts.v1', partitions: 1 },
  platform: { name: 'linklog.platform.v1', partitions: 1 },
  usage: { name: 'linklog.usage.v1', partitions: 4 },
} as const;

export type TopicName = (typeof topics)[keyof typeof topics]['name'];

const partitionsByTopic = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

export const partitionCountOf = (topic: TopicName): number => partitionsByTopic.get(topic) ?? 1;

export const topicNames: readonly TopicName[] = Object.values(topics).map((topic) => topic.name);
