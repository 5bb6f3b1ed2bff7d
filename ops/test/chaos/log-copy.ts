import {
  isApiKeyEvent,
  isLinkEvent,
  type ApiKeyEvent,
  type EventNamed,
  type LinkEvent,
  type LinklogEvent,
} from '../../../schemas/events/catalogue.js';
import { readEvent } from '../../../schemas/events/codec.js';
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

/** An event of a link, and where it stands. */
export interface PositionedLinkEvent extends RecordPosition {
  readonly event: LinkEvent;
}

/** A spool, or a subject of the ledger, in a topic. */
interface Origin {
  readonly name: string;
  readonly isSpool: boolean;
  readonly count: number;
  readonly gaps: number;
}

/** Marks what happens to a key once: its rotation, its end. */
export const keyMarker = ({ type, subject }: Pick<ApiKeyEvent, 'type' | 'subject'>): string =>
  `${type} ${subject}`;

/**
 * What an outsider has read of the log, without repeats. It tells them in its own way, by remembering
 * every number of every origin, so that it does not err where the product's readers would.
 */
export class LogCopy {
  /** What no log of ours may hold, in words. */
  readonly faults: string[] = [];
  /** By code, each without repeats, in order. */
  readonly linkEvents = new Map<string, PositionedLinkEvent[]>();
  /** By code: where its visits stand that are no bot's, and when they were. */
  readonly visits = new Map<string, (RecordPosition & { readonly time: string })[]>();
  /** Links by the key that asked for them. */
  readonly linksOfKey = new Map<string, number>();
  /** Destinations, and how many links were made to each. */
  readonly linksTo = new Map<string, number>();
  /** What changes are marked with: names of keys, reasons of blocks, what happened to which key. */
  readonly markers = new Set<string>();
  /** The versions that visits name, by their requests where these have a name. */
  readonly served = new Map<string, { readonly code: string; readonly version: number | null }>();
  records = 0;
  repeats = 0;
  readonly #next = new Map<string, number>();
  readonly #ids = new Map<string, Map<number, string>>();
  readonly #highest = new Map<string, number>();

  /** The offset that comes next. */
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

  /** Of each origin: how many numbers the log has, and how many of those below the highest are missing. */
  origins(): readonly Origin[] {
    return [...this.#ids].map(([name, ids]) => {
      let highest = 0;
      for (const sequence of ids.keys()) highest = Math.max(highest, sequence);
      const isSpool = name.includes(` ${spoolSource('')}`);
      return { name, isSpool, count: ids.size, gaps: highest - ids.size };
    });
  }

  /** Origins of whose numbers some are missing: once senders are through, there is none. */
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
    const place = `${origin} ${partition}`;
    const highest = this.#highest.get(place) ?? 0;
    // Readers that know the highest number alone would take it for a repeat.
    if (sequence < highest) this.faults.push(`${place}: ${sequence} comes after ${highest}`);
    this.#highest.set(place, Math.max(sequence, highest));
    return true;
  }

  #fold(place: RecordPosition, event: LinklogEvent): void {
    if (isLinkEvent(event)) {
      const known = this.linkEvents.get(event.subject) ?? [];
      known.push({ ...place, event });
      this.linkEvents.set(event.subject, known);
      if (event.type === 'linklog.LinkCreated.v3') this.#foldCreation(event);
      else if ('reason' in event.data) this.markers.add(event.data.reason);
    } else if (event.type === 'linklog.LinkVisited.v2') {
      const { bot, version } = event.data;
      if (bot) return;
      if (event.correlationid !== undefined) {
        this.served.set(event.correlationid, { code: event.subject, version });
      }
      const known = this.visits.get(event.subject) ?? [];
      known.push({ ...place, time: event.time });
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
