import {
  isAliasOverrideEvent,
  isApiKeyEvent,
  isCreation,
  isDomainEvent,
  isInvitationEvent,
  isLinkEvent,
  isPersonEvent,
  isPlatformEvent,
  isUsageEvent,
  isShareEvent,
  isUtmTemplateEvent,
  isWebhookEvent,
  type LinklogEvent,
} from '../../../schemas/events/catalogue.js';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import type { EventLog, LogRecord } from '../../event-log/port.js';
import { aliasOverrides } from '../alias-overrides.js';
import { apiKeys } from '../api-keys.js';
import { domains } from '../domains.js';
import { saveCodes } from '../codes.js';
import { insertLinks, ledgerLinks, lockLinks } from '../links.js';
import { invitations } from '../invitations.js';
import { people } from '../people.js';
import { shares } from '../shares.js';
import { utmTemplates } from '../utm-templates.js';
import { webhooks } from '../webhooks.js';
import { meterRows } from '../meters.js';
import { readableEvents } from '../readable-events.js';
import { platformSwitches } from '../platform.js';
import type { LedgerRows, LedgerSchema } from '../decide.js';
import { execute, transaction, type Client, type Pool } from '../../platform/postgres/pool.js';
import { writeOnly } from '../../platform/postgres/statement.js';
import {
  codesIn,
  creationsIn,
  foldDomains,
  foldInvitations,
  foldLedgerLinks,
  foldKeys,
  foldMeters,
  foldOverrides,
  foldPeople,
  foldPlatform,
  foldShares,
  foldUtmTemplates,
  foldWebhooks,
  isLimitedVisit,
  spenderOf,
  type Fold,
} from './folds.js';

/** Folds the events of one kind into the tables of a ledger. */
type Add = (tx: Client, schema: LedgerSchema, events: readonly LinklogEvent[]) => Promise<void>;

/** @param subjectOf the key of the event's row */
const into =
  <State, Event extends LinklogEvent>(
    rows: Pick<LedgerRows<State, never>, 'lock' | 'save'>,
    isEvent: (event: LinklogEvent) => event is Event,
    fold: Fold<State, Event>,
    subjectOf: (event: Event) => string = ({ subject }) => subject,
  ): Add =>
  async (tx, schema, events) => {
    const own = events.filter(isEvent);
    if (own.length === 0) return;
    const known = await rows.lock(tx, [...new Set(own.map(subjectOf))], schema);
    await execute(tx, writeOnly(rows.save(fold(known, own), schema)));
  };

const isAddedCode = (event: LinklogEvent) => event.type === 'linklog.LinkCodeAdded.v1';

const addSpendings = into(
  meterRows,
  (event) => isCreation(event) || isAddedCode(event) || isUsageEvent(event),
  foldMeters,
  spenderOf,
);

const addLinks: Add = async (tx, schema, events) => {
  const own = events.filter(isLinkEvent);
  const known = await lockLinks(tx, [...new Set(own.map(({ subject }) => subject))], schema);
  const links = foldLedgerLinks(known, own);
  const codes = codesIn(known, links, own);
  const changed = [...links];
  const added = changed.filter(([subject]) => !known.has(subject));
  const saved = changed.filter(([subject]) => known.has(subject));
  const statements = [
    ...insertLinks(
      added.flatMap(([, link]) => (link.status === 'taken' ? [link] : [])),
      schema,
    ),
    ...ledgerLinks.save(new Map(saved), schema),
    ...saveCodes(codes, schema, 'ON CONFLICT DO NOTHING'),
  ];
  await execute(tx, writeOnly(statements));
  await addSpendings(tx, schema, [...creationsIn(known, own), ...codes]);
};

/** The topics in an order in which events refer only to earlier topics. */
const steps: Readonly<Record<TopicName, readonly Add[]>> = {
  [topics.accounts.name]: [
    into(apiKeys, isApiKeyEvent, foldKeys),
    into(aliasOverrides, isAliasOverrideEvent, foldOverrides),
    into(domains, isDomainEvent, foldDomains),
    into(webhooks, isWebhookEvent, foldWebhooks),
    into(shares, isShareEvent, foldShares),
    into(people, isPersonEvent, foldPeople),
    into(invitations, isInvitationEvent, foldInvitations),
    into(utmTemplates, isUtmTemplateEvent, foldUtmTemplates),
  ],
  [topics.platform.name]: [into(platformSwitches, isPlatformEvent, foldPlatform)],
  [topics.links.name]: [addLinks],
  // Most visits are of links without a limit, which are not part of the ledger.
  [topics.visits.name]: [into(ledgerLinks, isLimitedVisit, foldLedgerLinks)],
  [topics.usage.name]: [into(meterRows, isUsageEvent, foldMeters)],
};

/** The topics in the order in which they are folded. */
export const ledgerTopics = Object.keys(steps) as readonly TopicName[];

/** Folds records of a topic into a ledger that contains the earlier topics. */
export const addToLedger = async (
  tx: Client,
  schema: LedgerSchema,
  topic: TopicName,
  records: readonly LogRecord[],
): Promise<void> => {
  const events = readableEvents(topic, records);
  for (const add of steps[topic]) await add(tx, schema, events);
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
