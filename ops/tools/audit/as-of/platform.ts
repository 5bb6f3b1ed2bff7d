import {
  isLinkEvent,
  isPlatformEvent,
  type LinkEvent,
} from '../../../../schemas/events/catalogue.js';
import { topics } from '../../../../schemas/events/topics.js';
import { initialFields, type LedgerLink } from '../../../../schemas/folds/ledger-link.js';
import { initialPlatform } from '../../../../schemas/folds/platform.js';
import { foldLedgerLinks, foldPlatform } from '../../../ledger/rebuild/folds.js';
import { murmur2 } from '../../../event-log/partition.js';
import { Accounts, shownKey } from './key.js';
import { happenedBy, partsOf, readParts, type AsOfQuery, type LogPart } from './read.js';

/** A partition with more records is read several times, each time for a subset of its links, to bound memory. */
const maxSliceRecords = 1_000_000;

const slicesOf = (part: LogPart, sliceRecords: number): readonly LogPart[] => {
  const slices = Math.max(1, Math.ceil((part.next - part.first) / sliceRecords));
  if (slices === 1) return [part];
  return Array.from({ length: slices }, (_, slice) => ({
    ...part,
    // The lowest bits of the hash are the same for all keys of a partition.
    only: (key) => (murmur2(Buffer.from(key)) >>> 8) % slices === slice,
  }));
};

const isBlocked = 1;
const isExpired = 2;
const isOver = 4;
const sequenceUnit = 8;

/** Counts links by state. To save memory, each link is packed into one number; it is unpacked for its batch only. */
class LinkCounts {
  readonly counts = { active: 0, expired: 0, blocked: 0 };
  readonly #links = new Map<string, number>();

  constructor(private readonly moment: Date) {}

  add(events: readonly LinkEvent[]): void {
    const known = new Map<string, LedgerLink>();
    for (const { subject } of events) {
      const bits = this.#links.get(subject);
      if (bits !== undefined) known.set(subject, this.#unpack(subject, bits));
    }
    for (const [subject, link] of foldLedgerLinks(known, events).changed) {
      this.#links.set(subject, this.#pack(link));
    }
  }

  /** Adds the links of the current slice to the counts and discards them. */
  endSlice(): void {
    for (const bits of this.#links.values()) {
      if (bits & isBlocked) this.counts.blocked += 1;
      else if (bits & (isExpired | isOver)) this.counts.expired += 1;
      else this.counts.active += 1;
    }
    this.#links.clear();
  }

  #pack({ sequence, blocked, expired, expiresAt }: LedgerLink): number {
    const over = expiresAt !== null && expiresAt <= this.moment;
    return (
      sequence * sequenceUnit +
      (blocked ? isBlocked : 0) +
      (expired === null ? 0 : isExpired) +
      (over ? isOver : 0)
    );
  }

  #unpack(subject: string, bits: number): LedgerLink {
    return {
      ...initialFields,
      subject,
      keyId: '',
      account: '',
      createdAt: this.moment,
      reuseKey: null,
      startsAt: null,
      expired: bits & isExpired ? 'time' : null,
      blocked: (bits & isBlocked) !== 0,
      expiresAt: bits & isOver ? this.moment : null,
      maxClicks: null,
      sequence: Math.floor(bits / sequenceUnit),
      lastEventAt: this.moment,
    };
  }
}

/**
 * Returns the switches, overrides, domains, keys and numbers of links at a moment. Links of `sliceRecords` records are in memory
 * together.
 */
export const platformAsOf = async (query: AsOfQuery, sliceRecords = maxSliceRecords) => {
  const { log, moment } = query;
  const happened = happenedBy(moment);
  // The ends of links are read first, so that the keys that created them are read too.
  const linkParts = await partsOf(log, topics.links.name);
  const accountParts = await partsOf(log, topics.accounts.name);
  const platformParts = await partsOf(log, topics.platform.name);

  const accounts = new Accounts();
  const links = new LinkCounts(moment);
  let platform = initialPlatform;
  let current: LogPart | undefined;
  const slices = linkParts.flatMap((part) => slicesOf(part, sliceRecords));
  const parts = [...accountParts, ...platformParts, ...slices];
  const summary = await readParts(query, parts, (readings, part) => {
    if (part !== current) links.endSlice();
    current = part;
    const events = readings.map(({ event }) => event).filter(happened);
    accounts.add(events);
    platform = foldPlatform(platform, events.filter(isPlatformEvent));
    links.add(events.filter(isLinkEvent));
  });
  links.endSlice();

  const { maintenance, features } = platform;
  return {
    asOf: moment.toISOString(),
    maintenance,
    features,
    overrides: [...accounts.overrides].flatMap(([alias, { account }]) =>
      account === null ? [] : [{ alias, account }],
    ),
    domains: [...accounts.domains].flatMap(([domain, { owner }]) =>
      owner ? [{ domain, account: owner.account }] : [],
    ),
    links: links.counts,
    keys: [...accounts.keys.values()].map((key) => shownKey(accounts, key)),
    ...summary,
  };
};

export type PlatformSnapshot = Awaited<ReturnType<typeof platformAsOf>>;
