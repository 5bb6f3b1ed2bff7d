import {
  isApiKeyEvent,
  isLinkEvent,
  type ApiKeyEvent,
  type EventNamed,
  type LinkEvent,
  type LinklogEvent,
} from '../../../schemas/events/catalogue.js';
import { readEvent, topicOf, writeEvent } from '../../../schemas/events/codec.js';
import { ledgerSource, spoolSource } from '../../../schemas/events/envelope.js';

export interface CopiedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly value: string;
}

interface RecordPosition {
  readonly partition: number;
  readonly offset: number;
}

/** An event of a link, with its position. */
export interface PositionedLinkEvent extends RecordPosition {
  readonly event: LinkEvent;
}

/** The sequence numbers of a spool, or of a subject of the ledger, in a topic. */
interface Origin {
  readonly name: string;
  readonly isSpool: boolean;
  readonly count: number;
  readonly gaps: number;
}

/** The marker of a rotation or revocation. */
export const keyMarker = ({ type, subject }: Pick<ApiKeyEvent, 'type' | 'subject'>): string =>
  `${type} ${subject}`;

/**
 * An independent copy of the log, without repeats. It finds repeats by storing every sequence number of every origin,
 * and not by high-water marks as the product does.
 */
export class LogCopy {
  /** Descriptions of violated invariants. */
  readonly faults: string[] = [];
  /** By code, in order. */
  readonly linkEvents = new Map<string, PositionedLinkEvent[]>();
  /** Visits by code, without bots. */
  readonly visits = new Map<string, (RecordPosition & { readonly time: string })[]>();
  /** The number of links by the id of their key. */
  readonly linksOfKey = new Map<string, number>();
  /** The number of links by destination. */
  readonly linksTo = new Map<string, number>();
  /** Markers of changes: names of keys, reasons of blocks, `keyMarker`. */
  readonly markers = new Set<string>();
  /** The versions that visits were served with, by request id. */
  readonly served = new Map<string, { readonly code: string; readonly version: number | null }>();
  records = 0;
  repeats = 0;
  readonly #next = new Map<string, number>();
  readonly #ids = new Map<string, Map<number, string>>();
  readonly #highest = new Map<string, number>();

  /** A copy of these events, all of them in partition 0 of their topic. */
  static of(...events: readonly LinklogEvent[]): LogCopy {
    const copy = new LogCopy();
    for (const event of events) {
      const topic = topicOf(event);
      copy.add({ topic, partition: 0, offset: copy.next(topic, 0), value: writeEvent(event) });
    }
    return copy;
  }

  /** The next offset. */
  next(topic: string, partition: number): number {
    return this.#next.get(`${topic}/${partition}`) ?? 0;
  }

  add({ topic, partition, offset, value }: CopiedRecord): void {
    const next = this.next(topic, partition);
    if (offset < next) return;
    if (offset > next) this.faults.push(`${topic}/${partition} has no offset ${next}`);
    this.#next.set(`${topic}/${partition}`, offset + 1);
    this.records += 1;
    let event: LinklogEvent;
    try {
      event = readEvent(value);
    } catch (error) {
      this.faults.push(`${topic}/${partition} at ${offset}: ${String(error)}`);
      return;
    }
    if (this.#isFirst(topic, partition, event)) this.#fold({ partition, offset }, event);
  }

  /** Counts the sequence numbers of each origin, and the missing ones below the highest. */
  origins(): readonly Origin[] {
    return [...this.#ids].map(([name, ids]) => {
      let highest = 0;
      for (const sequence of ids.keys()) highest = Math.max(highest, sequence);
      const isSpool = name.includes(` ${spoolSource('')}`);
      return { name, isSpool, count: ids.size, gaps: highest - ids.size };
    });
  }

  /** Origins with missing sequence numbers: none if outbox and spools are empty. */
  gaps(): readonly string[] {
    return this.origins().flatMap(({ name, count, gaps }) =>
      gaps === 0
        ? []
        : [`${name} has ${count} events, and ${gaps} of its sequence numbers are missing`],
    );
  }

  #isFirst(topic: string, partition: number, event: LinklogEvent): boolean {
    const { id, source, subject, sequence } = event;
    const origin = `${topic} ${source === ledgerSource ? subject : source}`;
    let ids = this.#ids.get(origin);
    if (!ids) this.#ids.set(origin, (ids = new Map<number, string>()));
    const known = ids.get(sequence);
    if (known !== undefined) {
      if (known !== id) this.faults.push(`${origin}: ${known} and ${id} are both ${sequence}`);
      this.repeats += 1;
      return false;
    }
    ids.set(sequence, id);
    const key = `${origin} ${partition}`;
    const highest = this.#highest.get(key) ?? 0;
    // The high-water mark of a reader would drop it as a repeat.
    if (sequence < highest) this.faults.push(`${key}: ${sequence} comes after ${highest}`);
    this.#highest.set(key, Math.max(sequence, highest));
    return true;
  }

  #fold(position: RecordPosition, event: LinklogEvent): void {
    if (isLinkEvent(event)) {
      const known = this.linkEvents.get(event.subject) ?? [];
      known.push({ ...position, event });
      this.linkEvents.set(event.subject, known);
      if (event.type === 'linklog.LinkCreated.v4') this.#foldCreation(event);
      else if ('reason' in event.data) this.markers.add(event.data.reason);
    } else if (event.type === 'linklog.LinkVisited.v3') {
      const { bot, version } = event.data;
      if (bot) return;
      if (event.correlationid !== undefined) {
        this.served.set(event.correlationid, { code: event.subject, version });
      }
      const known = this.visits.get(event.subject) ?? [];
      known.push({ ...position, time: event.time });
      this.visits.set(event.subject, known);
    } else if (isApiKeyEvent(event)) {
      this.markers.add('name' in event.data ? event.data.name : keyMarker(event));
    }
  }

  #foldCreation({ data: { keyId, url } }: EventNamed<'LinkCreated'>): void {
    this.linksOfKey.set(keyId, (this.linksOfKey.get(keyId) ?? 0) + 1);
    this.linksTo.set(url, (this.linksTo.get(url) ?? 0) + 1);
  }
}
