import fc from 'fast-check';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { readEvent, topicOf } from '../../../schemas/events/codec.js';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import { linkOfSubject } from '../../../schemas/link-subject.js';
import {
  at,
  blocked,
  created,
  described,
  domainClaimed,
  domainVerified,
  firstVisitRecordOf,
  idOf,
  keyChanged,
  keyCreated,
  overrideGranted,
  recordOf,
  spooledVisit,
  unblocked,
  webhookChanged,
  webhookCreated,
  webhookDisabled,
} from '../../../schemas/testing/events.js';
import { history } from '../../../projectors/history/projection.js';
import { createBatchHandler } from '../../../projectors/runtime/batch.js';
import { catchUp, endsOf, type CatchUpTarget } from '../../../projectors/runtime/catch-up.js';
import { liveSchema } from '../../../projectors/runtime/projection.js';
import type { EventLog, NewRecord } from '../../event-log/port.js';
import type { FeedEvent, FeedFilter } from '../../feed/filter.js';
import { createLogger } from '../../platform/logging.js';
import type { Pool } from '../../platform/postgres/pool.js';

const kinds = [
  'link',
  'key',
  'domain',
  'webhook',
  'visit',
  'oldVisit',
  'override',
  'broken',
] as const;

const subjects = 6;

/** A record of the log. It names no account, so that a run can choose new ones. */
const someStep = fc.record({
  kind: fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(...kinds) },
    { weight: 2, arbitrary: fc.constantFrom('link', 'visit') },
  ),
  subject: fc.nat(subjects - 1),
  account: fc.nat(2),
  /** Times are not in the order of the log. */
  seconds: fc.nat(100),
  noteLength: fc.oneof(fc.constant(0), fc.nat(2_000)),
});

type FeedStep = typeof someStep extends fc.Arbitrary<infer Step> ? Step : never;

export const someSteps = (
  minLength: number,
  maxLength: number,
): fc.Arbitrary<readonly FeedStep[]> => fc.array(someStep, { minLength, maxLength, size: 'max' });

export interface FeedRecord extends NewRecord {
  readonly topic: TopicName;
  /** `null` for an unreadable record. */
  readonly event: LinklogEvent | null;
}

/** The accounts and links of a run. */
export const namesOf = (run: number) => {
  const accounts = [`acme-${run}`, `acme-${run}.b`, `other-${run}`] as const;
  const domains = [`go${run}.example`, `go${run}.example.com`] as const;
  const links = [
    `a-${run}`,
    `b-${run}`,
    `${domains[0]}/a-${run}`,
    `${domains[0]}/b-${run}`,
    `${domains[1]}/a-${run}`,
    // The id of a key may equal a code.
    idOf(`key ${run}`),
  ] as const;
  return { accounts, domains, links };
};

/** The records of some steps in the order of the log; `run` numbers separate their subjects and accounts. */
export const recordsOfRun = (run: number) => {
  const { accounts, links } = namesOf(run);
  const sequences = new Map<string, number>();
  const next = (origin: string): number => {
    const sequence = (sequences.get(origin) ?? 0) + 1;
    sequences.set(origin, sequence);
    return sequence;
  };

  const eventOf = (step: FeedStep): LinklogEvent | null => {
    const { kind, subject: number, noteLength, seconds } = step;
    const time = at(seconds);
    const link = links[number] ?? '';
    // A link, a key or a webhook belongs to one account; several accounts claim a domain.
    const account = accounts[number % accounts.length] ?? '';
    const owner = { account, time, actor: idOf('key') };
    switch (kind) {
      case 'link': {
        const sequence = next(`link ${number}`);
        const attributes = { ...owner, sequence };
        if (sequence === 1) return created(link, {}, attributes);
        if (seconds % 4 === 0) return blocked(link, sequence, { ...attributes, actor: 'maria' });
        if (seconds % 4 === 1) return unblocked(link, sequence, { ...attributes, actor: 'maria' });
        return described(link, sequence, { note: 'ü'.repeat(noteLength) }, attributes);
      }
      case 'key': {
        const id = number === 5 ? link : idOf(`key ${run} ${number}`);
        const sequence = next(`key ${number}`);
        const attributes = { ...owner, sequence };
        if (sequence === 1) return keyCreated(id, { account }, attributes);
        return keyChanged(id, sequence, { name: 'x'.repeat(noteLength) }, attributes);
      }
      case 'domain': {
        const sequence = next(`domain ${number}`);
        const attributes = { ...owner, account: accounts[step.account] ?? '' };
        const name = `domain-${number}-${run}.example`;
        if (seconds % 3 === 0) return domainVerified(name, sequence, attributes);
        return domainClaimed(name, sequence, 'token', attributes);
      }
      case 'webhook': {
        const id = idOf(`webhook ${run} ${number}`);
        const sequence = next(`webhook ${number}`);
        const attributes = { ...owner, sequence };
        if (sequence === 1) return webhookCreated(id, {}, attributes);
        if (seconds % 3 === 0) return webhookDisabled(id, sequence, 'gone', attributes);
        return webhookChanged(id, sequence, { description: 'x'.repeat(noteLength) }, attributes);
      }
      case 'override':
        return overrideGranted(`alias-${run}`, next('override'), account, { time });
      case 'visit':
      case 'oldVisit': {
        const spool = `spool-${run}-${step.account}`;
        return spooledVisit(link, { spool, sequence: next(spool), account, time });
      }
      case 'broken':
        return null;
      default: {
        const unknown: never = kind;
        return unknown;
      }
    }
  };

  return (steps: readonly FeedStep[]): readonly FeedRecord[] =>
    steps.map((step) => {
      const event = eventOf(step);
      if (event === null) {
        const topic = [topics.links, topics.accounts, topics.visits][step.account] ?? topics.links;
        const value = `{"account":"${accounts[step.subject % accounts.length]}"`;
        return { topic: topic.name, key: `broken-${run}`, value, event: null };
      }
      const record =
        step.kind === 'oldVisit' && event.type === 'linklog.LinkVisited.v4'
          ? firstVisitRecordOf(event)
          : recordOf(event);
      return { ...record, topic: topicOf(event), event: readEvent(record.value) };
    });
};

/** Appends records in their order, with one append for consecutive records of a topic. */
export const appendTo = async (log: EventLog, records: readonly FeedRecord[]): Promise<void> => {
  let batch: FeedRecord[] = [];
  for (const [index, record] of records.entries()) {
    batch.push(record);
    if (records[index + 1]?.topic === record.topic) continue;
    await log.append(
      record.topic,
      batch.map(({ key, value }) => ({ key, value })),
    );
    batch = [];
  }
};

/** Applies the log to the history, up to some offsets or to its ends. */
export const projectHistory = async (
  pool: Pool,
  log: EventLog,
  targets?: readonly CatchUpTarget[],
): Promise<void> => {
  const logger = createLogger('silent');
  const handle = createBatchHandler({ pool, log, logger, projection: history });
  const readers = [{ projection: history, schema: liveSchema('history'), handle }];
  await catchUp(
    { pool, log, readers, onBatch: () => undefined },
    targets ?? (await endsOf(log, history.topics)),
  );
};

/** The events of a filter among records, without code of the feed. */
export const expectedEvents = (
  { account, types, subject, domain }: FeedFilter,
  records: readonly FeedRecord[],
): readonly LinklogEvent[] =>
  records.flatMap(({ event, topic }) => {
    if (event?.account !== account || !types.has(event.type)) return [];
    const isOfLink = topic !== topics.accounts.name;
    if (subject !== null && !(isOfLink && event.subject === subject)) return [];
    if (domain !== null && !(isOfLink && (linkOfSubject(event.subject).domain ?? '') === domain))
      return [];
    return event;
  });

const nameOf = ({ source, id }: { readonly source: string; readonly id: string }): string =>
  `${source} ${id}`;

/**
 * The part of a feed that clients may rely on: the names of all events, by topic and subject, in order and without
 * duplicates.
 */
export const guaranteedPart = (
  events: readonly LinklogEvent[],
): Readonly<Record<string, readonly string[]>> => {
  const names = new Map<string, Set<string>>();
  for (const event of events) {
    const key = `${topicOf(event)} ${event.subject}`;
    const known = names.get(key) ?? new Set<string>();
    names.set(key, known.add(nameOf(event)));
  }
  return Object.fromEntries([...names].map(([key, found]) => [key, [...found]]));
};

export const parseEvents = (events: readonly FeedEvent[]): readonly LinklogEvent[] =>
  events.map(({ json }) => JSON.parse(json) as LinklogEvent);
