import type { EventNamed, LinklogEvent } from '../../../schemas/events/catalogue.js';
import { readEvent } from '../../../schemas/events/codec.js';
import { ledgerSource } from '../../../schemas/events/envelope.js';
import { topics } from '../../../schemas/events/topics.js';

interface CopiedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly value: string;
}

const increment = (counts: Map<string, number>, key: string): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1);
};

/**
 * An independent copy of the log, without repeats. It finds repeats by storing every sequence number of every origin (a
 * spool, or a subject of the ledger), and not by high-water marks as the product does.
 */
export class LogCopy {
  /** Descriptions of violated invariants. */
  readonly faults: string[] = [];
  /** LinkCreated events, by code. */
  readonly creations = new Map<string, EventNamed<'LinkCreated'>['data'][]>();
  /** The number of visits by code, without bots. */
  readonly visits = new Map<string, number>();
  /** The number of links by the id of their key. */
  readonly linksOfKey = new Map<string, number>();
  /** The number of links by destination. */
  readonly linksTo = new Map<string, number>();
  /** Source and id of the events of links, without visits. */
  readonly linkEvents = new Set<string>();
  readonly #next = new Map<string, number>();
  readonly #ids = new Map<string, Map<number, string>>();
  readonly #highest = new Map<string, number>();

  /** The next offset. */
  next(topic: string, partition: number): number {
    return this.#next.get(`${topic}/${partition}`) ?? 0;
  }

  add({ topic, partition, offset, value }: CopiedRecord): void {
    const next = this.next(topic, partition);
    if (offset < next) return;
    if (offset > next) this.faults.push(`${topic}/${partition} has no offset ${next}`);
    this.#next.set(`${topic}/${partition}`, offset + 1);
    try {
      const event = readEvent(value);
      if (!this.#isFirst(topic, partition, event)) return;
      if (topic === topics.links.name) this.linkEvents.add(`${event.source} ${event.id}`);
      this.#fold(event);
    } catch (error) {
      this.faults.push(`${topic}/${partition} at ${offset}: ${String(error)}`);
    }
  }

  /** Origins with missing sequence numbers: none if outbox and spools are empty. */
  gaps(): readonly string[] {
    return [...this.#ids].flatMap(([name, ids]) => {
      const highest = [...ids.keys()].reduce((most, sequence) => Math.max(most, sequence), 0);
      return highest === ids.size
        ? []
        : [`${name} has ${ids.size} events, and the sequence number ${highest}`];
    });
  }

  #isFirst(topic: string, partition: number, event: LinklogEvent): boolean {
    const { id, source, subject, sequence } = event;
    const origin = `${topic} ${source === ledgerSource ? subject : source}`;
    let ids = this.#ids.get(origin);
    if (!ids) this.#ids.set(origin, (ids = new Map<number, string>()));
    const known = ids.get(sequence);
    if (known !== undefined) {
      if (known !== id) this.faults.push(`${origin}: ${known} and ${id} are both ${sequence}`);
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

  #fold(event: LinklogEvent): void {
    if (event.type === 'linklog.LinkCreated.v4') {
      const { subject, data } = event;
      this.creations.set(subject, [...(this.creations.get(subject) ?? []), data]);
      increment(this.linksOfKey, data.keyId);
      increment(this.linksTo, data.url);
    } else if (event.type === 'linklog.LinkVisited.v4' && !event.data.bot) {
      increment(this.visits, event.subject);
    }
  }
}
