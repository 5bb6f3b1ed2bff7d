/**
 * The log's topics. Links and visits are apart so that whoever follows link changes never reads the
 * visit firehose. A topic's partition count is fixed when it is created: records keep their order
 * only within a partition, and a key keeps its partition for good.
 */
export const topics = {
  links: { name: 'linklog.links.v1', partitions: 8 },
  visits: { name: 'linklog.visits.v1', partitions: 8 },
  accounts: { name: 'linklog.accounts.v1', partitions: 1 },
  platform: { name: 'linklog.platform.v1', partitions: 1 },
  usage: { name: 'linklog.usage.v1', partitions: 4 },
} as const;

export type TopicName = (typeof topics)[keyof typeof topics]['name'];

export const topicNames: readonly TopicName[] = Object.values(topics).map((topic) => topic.name);
