import { z } from 'zod';
import { catalogue, type EventName, type EventNamed, type LinklogEvent } from './catalogue.js';
import { envelope, ledgerSource, writeSequence } from './envelope.js';
import type { EventType } from './event-type.js';
import { readSpooledVisit } from './spooled-visit.js';
import { topics, type TopicName } from './topics.js';

type AnyEventType = EventType<string, number, z.ZodType>;

/** A record that is not JSON, not a CloudEvent, of an unknown type, or malformed. */
export class UnreadableEvent extends Error {
  readonly code = 'UNREADABLE_EVENT';

  constructor(reason: string, options?: ErrorOptions) {
    super(`The record holds no event that can be read: ${reason}`, options);
  }
}

/** An event type or version that a later version of Linklog may know. */
export class UnknownEventType extends UnreadableEvent {
  constructor(readonly type: string) {
    super(`unknown type ${type}`);
  }
}

const unknownType = (type: string): UnreadableEvent =>
  type.startsWith('linklog.')
    ? new UnknownEventType(type)
    : new UnreadableEvent(`unknown type ${type}`);

/** How to read one version of an event type: its schema, and the upcasts to the current version. */
interface Reader {
  readonly definition: AnyEventType;
  readonly data: z.ZodType;
  readonly upcasts: readonly ((data: never) => unknown)[];
}

const readersOf = (types: readonly AnyEventType[]): ReadonlyMap<string, Reader> => {
  const readers = new Map<string, Reader>();
  for (const definition of types) {
    readers.set(definition.type, { definition, data: definition.data, upcasts: [] });
    definition.retired.forEach(({ version, data }, index) => {
      const upcasts = definition.retired.slice(index).map((retired) => retired.upcast);
      readers.set(`linklog.${definition.name}.v${version}`, { definition, data, upcasts });
    });
  }
  return readers;
};

const upcast = ({ upcasts }: Reader, data: unknown): unknown =>
  upcasts.reduce((older, next) => next(older as never), data);

/** Creates a function that parses, validates and upcasts the value of a record. */
export const eventReader = (types: readonly AnyEventType[]): ((value: string) => LinklogEvent) => {
  const readers = readersOf(types);

  return (value) => {
    let json: unknown;
    try {
      json = JSON.parse(value);
    } catch (cause) {
      throw new UnreadableEvent('not JSON', { cause });
    }
    const parsed = envelope.safeParse(json);
    if (!parsed.success) throw new UnreadableEvent(z.prettifyError(parsed.error));
    const reader = readers.get(parsed.data.type);
    if (!reader) throw unknownType(parsed.data.type);
    const data = reader.data.safeParse(parsed.data.data);
    if (!data.success) {
      throw new UnreadableEvent(`${parsed.data.type}: ${z.prettifyError(data.error)}`);
    }
    const current = upcast(reader, data.data);
    return { ...parsed.data, type: reader.definition.type, data: current } as LinklogEvent;
  };
};

const readAnyEvent = eventReader(Object.values(catalogue));

const knownReaders = readersOf(Object.values(catalogue));

/** Upcasts an event that an earlier version of Linklog wrote without its secrets. It is not validated. */
export const inCurrentVersion = <Event extends { readonly type: string; readonly data: object }>(
  event: Event,
): Event => {
  const reader = knownReaders.get(event.type);
  if (!reader || reader.upcasts.length === 0) return event;
  try {
    return { ...event, type: reader.definition.type, data: upcast(reader, event.data) };
  } catch {
    // Its data were changed: upcasts accept all data of their version.
    return event;
  }
};

/**
 * Reads the value of a record as an event in its current version. Old versions are upcast only here.
 *
 * @throws UnreadableEvent
 */
export const readEvent = (value: string): LinklogEvent =>
  readSpooledVisit(value) ?? readAnyEvent(value);

/** `null` for a record without a readable event, which projections store as a dead letter. @throws UnknownEventType */
export const readKnownEvent = (value: string): LinklogEvent | null => {
  try {
    return readEvent(value);
  } catch (error) {
    if (error instanceof UnreadableEvent && !(error instanceof UnknownEventType)) return null;
    throw error;
  }
};

/** The value of a record: one CloudEvents JSON object in structured mode. */
export const writeEvent = (event: LinklogEvent): string =>
  JSON.stringify({ ...event, sequence: writeSequence(event.sequence) });

const topicByType = new Map<string, TopicName>(
  Object.values(catalogue).map(({ type, topic }) => [type, topics[topic].name]),
);

export const topicOf = (event: Pick<LinklogEvent, 'type'>): TopicName => {
  const topic = topicByType.get(event.type);
  if (!topic) throw new Error(`No topic for ${event.type}`);
  return topic;
};

/** The attributes of a new event, except its name and data. */
export interface EventMetadata {
  readonly id: string;
  readonly subject: string;
  readonly time: Date;
  readonly sequence: number;
  readonly source?: string;
  readonly account?: string | undefined;
  readonly actor?: string | undefined;
  readonly correlationId?: string | undefined;
  readonly causationId?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly client?: string | undefined;
}

/** Creates an event of the current version. The default source is the ledger. */
export const newEvent = <Name extends EventName>(
  name: Name,
  data: EventNamed<Name>['data'],
  metadata: EventMetadata,
): EventNamed<Name> => {
  const { account, actor, correlationId, causationId, traceparent, client } = metadata;
  const event = {
    specversion: '1.0',
    id: metadata.id,
    type: catalogue[name].type,
    source: metadata.source ?? ledgerSource,
    subject: metadata.subject,
    time: metadata.time.toISOString(),
    datacontenttype: 'application/json',
    sequence: metadata.sequence,
    ...(account !== undefined && { account }),
    ...(actor !== undefined && { actor }),
    ...(correlationId !== undefined && { correlationid: correlationId }),
    ...(causationId !== undefined && { causationid: causationId }),
    ...(traceparent !== undefined && { traceparent }),
    ...(client !== undefined && { client }),
    data,
  };
  return event as unknown as EventNamed<Name>;
};
