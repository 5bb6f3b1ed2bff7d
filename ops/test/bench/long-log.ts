import { v7 as uuidv7 } from 'uuid';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { scopeNames } from '../../../schemas/scopes.js';
import { newEvent, topicOf, writeEvent } from '../../../schemas/events/codec.js';
import { ledgerSource, spoolSource } from '../../../schemas/events/envelope.js';
import { someVisit } from '../../../schemas/testing/events.js';
import type { EventLog } from '../../event-log/port.js';

const keys = 20;
const batchSize = 1_000;

const append = async (log: EventLog, events: readonly LinklogEvent[]): Promise<void> => {
  const [first] = events;
  if (!first) return;
  await log.append(
    topicOf(first),
    events.map((event) => ({
      key: event.subject,
      value: writeEvent(event),
      ledgerSequence: event.source === ledgerSource ? event.sequence : null,
    })),
  );
};

const inBatches = async (
  log: EventLog,
  count: number,
  make: (index: number) => LinklogEvent,
): Promise<void> => {
  for (let from = 0; from < count; from += batchSize) {
    const length = Math.min(batchSize, count - from);
    await append(
      log,
      Array.from({ length }, (_, index) => make(from + index)),
    );
  }
};

/** A log as years of work leave it: a tenth of the links limited, with every visit of theirs. */
export const fillLog = async (log: EventLog, links: number, visits: number): Promise<void> => {
  const start = Date.now() - 86_400_000;
  const keyIds = Array.from({ length: keys }, () => uuidv7());
  const keyOf = (index: number): string => keyIds[index % keys] ?? '';
  const codeOf = (index: number): string => `code${index.toString(36).padStart(5, '0')}`;
  const common = (subject: string, index: number) => ({
    id: uuidv7(),
    subject,
    time: new Date(start + index),
    account: 'default',
    correlationId: uuidv7(),
  });
  await inBatches(log, keys, (index) =>
    newEvent(
      'ApiKeyCreated',
      {
        name: 'a key',
        plan: 'PRO',
        scopes: [...scopeNames],
        expiresAt: null,
        ancestors: [],
        account: 'default',
        hash: keyOf(index).replaceAll('-', '').padEnd(64, '0'),
      },
      { ...common(keyOf(index), index), sequence: 1, actor: 'bench' },
    ),
  );
  await inBatches(log, links, (index) =>
    newEvent(
      'LinkCreated',
      {
        url: `https://example.com/some/where/${index}?utm_source=newsletter&utm_campaign=spring`,
        custom: false,
        expiresAt: null,
        maxClicks: index % 10 === 0 ? 1_000_000 : null,
        passwordHash: null,
        keyId: keyOf(index),
      },
      { ...common(codeOf(index), index), sequence: 1, actor: keyOf(index) },
    ),
  );
  const spool = spoolSource(uuidv7());
  const clicks = new Map<number, number>();
  await inBatches(log, visits, (index) => {
    const link = (index * 7_919) % links;
    const limited = link % 10 === 0;
    const click = (clicks.get(link) ?? 0) + 1;
    if (limited) clicks.set(link, click);
    return newEvent(
      'LinkVisited',
      { ...someVisit, click: limited ? click : null, bot: index % 20 === 0 },
      {
        ...common(codeOf(link), links + index),
        ...(!limited && { source: spool }),
        sequence: limited ? click : index + 1,
      },
    );
  });
};
