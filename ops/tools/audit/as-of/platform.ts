import { isLinkEvent, type LinkEvent } from '../../../../schemas/events/catalogue.js';
import { topics } from '../../../../schemas/events/topics.js';
import type { LedgerLink } from '../../../../schemas/folds/ledger-link.js';
import { initialPlatform, platformSubject } from '../../../../schemas/folds/platform.js';
import { foldLedgerLinks } from '../../../ledger/rebuild/folds.js';
import { murmur2 } from '../../../event-log/partition.js';
import { LedgerAt, shownKey } from './key.js';
import { happenedBy, partsOf, readParts, type AsOfQuery, type LogPart } from './read.js';

/** A partition with more records is read several times, each time for a subset of its links, to bound memory. */
const maxSliceRecords = 250_000;

const slicesOf = (part: LogPart, sliceRecords: number): readonly LogPart[] => {
  const slices = Math.max(1, Math.ceil((part.next - part.first) / sliceRecords));
  if (slices === 1) return [part];
  return Array.from({ length: slices }, (_, slice) => ({
    ...part,
    // The lowest bits of the hash are the same for all keys of a partition.
    only: (key) => (murmur2(Buffer.from(key)) >>> 8) % slices === slice,
  }));
};

/** Counts the links of one slice after another by state. */
class LinkCounts {
  readonly counts = { active: 0, expired: 0, blocked: 0 };
  readonly #links = new Map<string, LedgerLink>();

  constructor(private readonly moment: Date) {}

  add(events: readonly LinkEvent[]): void {
    for (const [subject, link] of foldLedgerLinks(this.#links, events)) {
      if (link.status === 'taken') this.#links.set(subject, this.#withoutTexts(link));
    }
  }

  /** Adds the links of the current slice to the counts and discards them. */
  endSlice(): void {
    for (const { blocked, expired, expiresAt } of this.#links.values()) {
      const isOver = expired !== null || (expiresAt !== null && expiresAt <= this.moment);
      this.counts[blocked ? 'blocked' : isOver ? 'expired' : 'active'] += 1;
    }
    this.#links.clear();
  }

  /** The fields that the counts and the fold do not need take most of the memory. */
  #withoutTexts(link: LedgerLink): LedgerLink {
    const { moment } = this;
    const texts = { subject: '', keyId: '', account: '', edited: null };
    return { ...link, ...texts, startsAt: null, createdAt: moment, lastEventAt: moment };
  }
}

/**
 * Returns the switches, overrides, domains, UTM templates, keys and numbers of links at a moment. Links of `sliceRecords`
 * records are in memory together.
 */
export const platformAsOf = async (query: AsOfQuery, sliceRecords = maxSliceRecords) => {
  const { log, moment } = query;
  const happened = happenedBy(moment);
  // The ends of links are read first, so that the keys that created them are read too.
  const linkParts = await partsOf(log, topics.links.name);
  const accountParts = await partsOf(log, topics.accounts.name);
  const platformParts = await partsOf(log, topics.platform.name);

  const ledger = new LedgerAt();
  const links = new LinkCounts(moment);
  let current: LogPart | undefined;
  const slices = linkParts.flatMap((part) => slicesOf(part, sliceRecords));
  const parts = [...accountParts, ...platformParts, ...slices];
  const summary = await readParts(query, parts, (events, part) => {
    if (part !== current) links.endSlice();
    current = part;
    const past = events.filter(happened);
    ledger.add(past);
    links.add(past.filter(isLinkEvent));
  });
  links.endSlice();

  const { maintenance, features } = ledger.platform.get(platformSubject) ?? initialPlatform;
  return {
    asOf: moment.toISOString(),
    maintenance,
    features,
    overrides: [...ledger.overrides].flatMap(([alias, { account }]) =>
      account === null ? [] : [{ alias, account }],
    ),
    domains: [...ledger.domains].flatMap(([domain, { owner }]) =>
      owner ? [{ domain, account: owner.account }] : [],
    ),
    utmTemplates: [...ledger.utmTemplates.values()].flatMap((template) => {
      if (template.status !== 'saved') return [];
      const { account, name, source, medium, campaign, term, content } = template;
      return [{ account, name, source, medium, campaign, term, content }];
    }),
    links: links.counts,
    keys: [...ledger.keys.values()].map((key) => shownKey(ledger, key)),
    ...summary,
  };
};

export type PlatformSnapshot = Awaited<ReturnType<typeof platformAsOf>>;
