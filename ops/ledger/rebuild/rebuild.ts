import {
  isAliasOverrideEvent,
  isApiKeyEvent,
  isCreation,
  isDomainEvent,
  isLinkEvent,
  isPlatformEvent,
  isUsageEvent,
  isWebhookEvent,
  type CreationEvent,
  type LinklogEvent,
} from '../../../schemas/events/catalogue.js';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import type { EventLog, LogRecord } from '../../event-log/port.js';
import { lockOverrides, saveOverrides } from '../alias-overrides.js';
import { lockKeys, saveKey } from '../api-keys.js';
import { lockDomains, saveDomain } from '../domains.js';
import { insertLinks, lockLinks, saveLinks } from '../links.js';
import { lockWebhooks, saveWebhook } from '../webhooks.js';
import { lockStoredMeters, saveFoldedMeters } from '../meters.js';
import { readableEvents } from '../readable-events.js';
import { readPlatform, savePlatform } from '../platform.js';
import type { LedgerSchema } from '../decide.js';
import { execute, transaction, type Client, type Pool } from '../../platform/postgres/pool.js';
import { writeOnly } from '../../platform/postgres/statement.js';
import {
  foldDomains,
  foldLedgerLinks,
  foldKeys,
  foldMeters,
  foldOverrides,
  foldPlatform,
  foldWebhooks,
  isLimitedVisit,
} from './folds.js';

type EventOfLink = Parameters<typeof foldLedgerLinks>[1][number];

const subjectsOf = (events: readonly LinklogEvent[]): string[] => [
  ...new Set(events.map(({ subject }) => subject)),
];

/** Folds events of one topic into the tables of a ledger. */
type Add<Event extends LinklogEvent = LinklogEvent> = (
  tx: Client,
  schema: LedgerSchema,
  events: readonly Event[],
) => Promise<void>;

const addAccounts: Add = async (tx, schema, events) => {
  const keyEvents = events.filter(isApiKeyEvent);
  const keys = await lockKeys(tx, subjectsOf(keyEvents), schema);
  const savedKeys = [...foldKeys(keys, keyEvents).values()].flatMap((state) =>
    saveKey(state, schema),
  );
  await execute(tx, writeOnly(savedKeys));

  const overrideEvents = events.filter(isAliasOverrideEvent);
  const overrides = await lockOverrides(tx, subjectsOf(overrideEvents), schema);
  await execute(tx, writeOnly([saveOverrides(foldOverrides(overrides, overrideEvents), schema)]));

  const domainEvents = events.filter(isDomainEvent);
  const domains = await lockDomains(tx, subjectsOf(domainEvents), schema);
  const savedDomains = [...foldDomains(domains, domainEvents)].map(([name, domain]) =>
    saveDomain(name, domain, schema),
  );
  await execute(tx, writeOnly(savedDomains));

  const webhookEvents = events.filter(isWebhookEvent);
  const webhooks = await lockWebhooks(tx, subjectsOf(webhookEvents), schema);
  const savedWebhooks = [...foldWebhooks(webhooks, webhookEvents)].flatMap(([id, webhook]) =>
    saveWebhook(id, webhook, schema),
  );
  await execute(tx, writeOnly(savedWebhooks));
};

const addPlatform: Add = async (tx, schema, events) => {
  const known = await readPlatform(tx, 'FOR UPDATE', schema);
  const platform = foldPlatform(known, events.filter(isPlatformEvent));
  await execute(tx, writeOnly([savePlatform(platform, schema)]));
};

const addSpendings: Add<Parameters<typeof foldMeters>[1][number]> = async (tx, schema, events) => {
  const keyIds = events.map((event) => (isCreation(event) ? event.data.keyId : event.subject));
  const stored = await lockStoredMeters(tx, keyIds, schema);
  const meters = new Map(stored.map((meter) => [meter.keyId, meter]));
  await execute(tx, writeOnly(saveFoldedMeters(foldMeters(meters, events), schema)));
};

const addToLinks = async (
  tx: Client,
  schema: LedgerSchema,
  events: readonly EventOfLink[],
): Promise<readonly CreationEvent[]> => {
  const known = await lockLinks(tx, subjectsOf(events), schema);
  const { changed, creations } = foldLedgerLinks(known, events);
  const links = [...changed.values()];
  const added = links.filter(({ subject }) => !known.has(subject));
  const saved = links.filter(({ subject }) => known.has(subject));
  await execute(tx, writeOnly([...insertLinks(added, schema), ...saveLinks(saved, schema)]));
  return creations;
};

const addLinks: Add = async (tx, schema, events) => {
  const creations = await addToLinks(tx, schema, events.filter(isLinkEvent));
  if (creations.length > 0) await addSpendings(tx, schema, creations);
};

/** The topics, in an order in which events refer only to earlier topics. */
const steps: readonly {
  readonly topic: TopicName;
  readonly add: Add;
  /** Selects the events to fold; by default all. */
  readonly only?: (event: LinklogEvent) => boolean;
}[] = [
  { topic: topics.accounts.name, add: addAccounts },
  { topic: topics.platform.name, add: addPlatform },
  { topic: topics.links.name, add: addLinks },
  {
    topic: topics.visits.name,
    // Most visits are of links without a limit, which are not part of the ledger.
    only: isLimitedVisit,
    async add(tx, schema, events) {
      await addToLinks(tx, schema, events.filter(isLimitedVisit));
    },
  },
  {
    topic: topics.usage.name,
    add: (tx, schema, events) => addSpendings(tx, schema, events.filter(isUsageEvent)),
  },
];

/** The topics in the order in which they are folded. */
export const ledgerTopics: readonly TopicName[] = steps.map(({ topic }) => topic);

/** Folds records of a topic into a ledger that contains the earlier topics. */
export const addToLedger = async (
  tx: Client,
  schema: LedgerSchema,
  topic: TopicName,
  records: readonly LogRecord[],
): Promise<void> => {
  const step = steps.find((known) => known.topic === topic);
  if (!step) throw new Error(`the ledger does not fold ${topic}`);
  const events = readableEvents(records).filter((event) => step.only?.(event) ?? true);
  if (events.length > 0) await step.add(tx, schema, events);
};

/** Folds the log into an empty ledger, which no other process may write. Memory is bounded by a batch. */
export const rebuildLedger = async (options: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly progress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}): Promise<void> => {
  const { pool, log, progress, signal } = options;
  const ranges = await Promise.all(ledgerTopics.map((topic) => log.ranges(topic)));
  const total = ranges.flat().reduce((sum, { first, next }) => sum + next - first, 0);
  let done = 0;
  for (const [index, topic] of ledgerTopics.entries()) {
    for (const { partition, first, next } of ranges[index] ?? []) {
      for await (const { records } of log.read(topic, partition, first, next)) {
        signal?.throwIfAborted();
        await transaction(pool, (tx) => addToLedger(tx, 'ledger', topic, records));
        done += records.length;
        progress?.(done, total);
      }
    }
  }
};
