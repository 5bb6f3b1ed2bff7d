import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { originOf } from '../../../../schemas/events/envelope.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { spendingOf } from '../../../../schemas/folds/key-meter.js';
import { isLimitedVisit } from '../../../ledger/rebuild/folds.js';
import { partitionOf } from '../../../platform/event-log/partition.js';
import type { LogRecord } from '../../../platform/event-log/port.js';
import type { Difference } from './report.js';

/** Which events a row is a fold of. */
export interface Pattern {
  readonly topics: readonly TopicName[];
  readonly partition?: number;
  /** The key of their records, where they have one in common: what has another is not even read. */
  readonly key?: string;
  readonly matches: (event: LinklogEvent | null, record: LogRecord) => boolean;
}

const { links, visits, accounts, platform, usage } = topics;

const bySubject = (topic: { readonly name: TopicName }, key: unknown): Pattern => ({
  topics: [topic.name],
  key: String(key),
  matches: (event) => event !== null,
});

const bySpending = (keyId: unknown, month?: unknown): Pattern => ({
  topics: [links.name, usage.name],
  matches(event) {
    const spending = event && spendingOf(event);
    return spending?.keyId === keyId && (month === undefined || spending?.month === month);
  },
});

/** The tables that every projection has. */
const ofProjection = (table: string, key: Difference['key']): Pattern | null => {
  const inPartition = {
    topics: [key['topic'] as TopicName],
    partition: Number(key['partition']),
  };
  if (table === 'high_water_marks') {
    return {
      ...inPartition,
      matches: (event) => event !== null && originOf(event) === key['origin'],
    };
  }
  if (table === 'dead_letters') {
    return { ...inPartition, matches: (_event, { offset }) => offset === key['record_offset'] };
  }
  return null;
};

/** A table that is not named here is none of links or keys: its differences are told all the same. */
export const patternOf = ({ model, table, key }: Difference): Pattern | null => {
  switch (`${model}.${table}`) {
    case 'redirects.links':
    case 'stats.links':
      return bySubject(links, key['code']);
    case 'history.events':
      return {
        ...bySubject(links, key['code']),
        matches: (event) => event?.sequence === key['sequence'],
      };
    case 'stats.clicks':
      return bySubject(visits, key['code']);
    case 'quotas.months':
      return bySpending(key['key_id'], key['month']);
    case 'ledger.links':
      return {
        ...bySubject(links, key['code']),
        topics: [links.name, visits.name],
        matches: (event) =>
          event !== null && (event.type !== 'linklog.LinkVisited.v1' || isLimitedVisit(event)),
      };
    case 'ledger.key_meters':
      return bySpending(key['key_id']);
    case 'ledger.api_keys':
      return bySubject(accounts, key['id']);
    case 'ledger.alias_overrides':
      return bySubject(accounts, key['alias']);
    case 'ledger.platform':
      return { topics: [platform.name], matches: (event) => event !== null };
    default:
      return model === 'ledger' ? null : ofProjection(table, key);
  }
};

const partitionCounts = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

/** Whether a partition may hold events of the pattern. */
export const mayHold = (pattern: Pattern, topic: TopicName, partition: number): boolean => {
  if (!pattern.topics.includes(topic)) return false;
  const { key } = pattern;
  const only =
    key === undefined ? pattern.partition : partitionOf(key, partitionCounts.get(topic) ?? 1);
  return (only ?? partition) === partition;
};
