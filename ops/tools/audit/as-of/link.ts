import {
  isCreation,
  isLinkEvent,
  isVisit,
  type EventNamed,
  type LinkEvent,
} from '../../../../schemas/events/catalogue.js';
import { topics } from '../../../../schemas/events/topics.js';
import {
  evolveLink,
  linkStatusAt,
  initialState,
  type LinkState,
} from '../../../../schemas/folds/link.js';
import { shown } from '../../../../schemas/http/link-options.js';
import { linkOfSubject } from '../../../../schemas/link-subject.js';
import { repeatsOfPartition } from '../replay/repeats.js';
import { happenedBy, partsOf, readParts, type AsOfQuery } from './read.js';
import { millisecondsOf } from '../../../../schemas/events/time.js';
import { quarterAt } from '../../../../schemas/statistics/calendar.js';
import {
  addClick,
  addToSum,
  dimensionNames,
  emptyDocument,
  emptySum,
  valuesIn,
  type Document,
} from '../../../../schemas/statistics/document.js';
import { listsOf } from '../../../../command-api/statistics/breakdowns.js';

/** Folds the redirected visits of a link in the order of the log, as its statistics do. */
class VisitStatistics {
  clickCount = 0;
  botCount = 0;
  uniques = 0;
  lastAccessed: string | null = null;
  #newestDay = -Infinity;
  /** The documents by UTC day. Each keeps the first 100 values. */
  readonly #days = new Map<number, Document>();
  /** The visitors of the two newest days; those of older days are not distinguished. */
  readonly #visitors = new Map<number, Set<string>>();

  add({ time, data }: EventNamed<'LinkVisited'>): void {
    const { day } = quarterAt(millisecondsOf(time));
    this.#advanceTo(day);
    if (data.bot) {
      this.botCount += 1;
      return;
    }
    this.clickCount += 1;
    // A spool may ship late, so visits are not ordered by time.
    if (this.lastAccessed === null || time > this.lastAccessed) this.lastAccessed = time;
    const document = this.#days.get(day) ?? emptyDocument();
    this.#days.set(day, document);
    addClick(document, valuesIn(data), () => [document]);
    if (data.visitor === null || day < this.#newestDay - 1) return;
    const visitors = this.#visitors.get(day) ?? new Set();
    this.#visitors.set(day, visitors);
    if (!visitors.has(data.visitor)) this.uniques += 1;
    visitors.add(data.visitor);
  }

  lists(subject: string) {
    const sum = emptySum();
    for (const document of this.#days.values()) addToSum(sum, document);
    return listsOf(sum, dimensionNames, Infinity, subject);
  }

  #advanceTo(day: number): void {
    if (day <= this.#newestDay) return;
    this.#newestDay = day;
    for (const old of this.#visitors.keys()) if (old < day - 1) this.#visitors.delete(old);
  }
}

class LinkFold {
  state: LinkState = initialState;
  keyId = '';
  /** The opening balance of an imported link. */
  importedClicks = 0;
  blocked: { readonly at: string; readonly by: string | null; readonly reason: string } | null =
    null;
  /** The time of the link's creation if it is after the moment. */
  madeLater: string | null = null;

  add(event: LinkEvent): void {
    this.state = evolveLink(this.state, event);
    if (isCreation(event)) this.keyId = event.data.keyId;
    if (event.type === 'linklog.LinkImported.v1') this.importedClicks = event.data.clicks;
    if (event.type === 'linklog.LinkUnblocked.v1') this.blocked = null;
    else if (event.type === 'linklog.LinkBlocked.v1') {
      this.blocked = { at: event.time, by: event.actor ?? null, reason: event.data.reason };
    }
  }
}

export const linkAsOf = async (query: AsOfQuery, subject: string) => {
  const { log, moment } = query;
  const happened = happenedBy(moment);
  // The ends of visits are read first, so that every link event that a visit refers to is read too.
  const visitParts = await partsOf(log, topics.visits.name, subject);
  const linkParts = await partsOf(log, topics.links.name, subject);
  const fold = new LinkFold();
  const visits = new VisitStatistics();
  const repeats: Record<string, ReturnType<typeof repeatsOfPartition>> = {};
  const summary = await readParts(query, [...linkParts, ...visitParts], (events, { topic }) => {
    const isRepeat = (repeats[topic] ??= repeatsOfPartition());
    for (const event of events) {
      if (isRepeat(event)) continue;
      if (!happened(event)) {
        if (isCreation(event)) fold.madeLater = event.time;
      } else if (isVisit(event)) visits.add(event);
      else if (isLinkEvent(event)) fold.add(event);
    }
  });

  const { state, keyId, importedClicks, blocked, madeLater } = fold;
  const { clickCount, botCount, uniques, lastAccessed } = visits;
  const { domain, code } = linkOfSubject(subject);
  const common = { ...summary, asOf: moment.toISOString(), shortCode: code, domain };
  if (state.status === 'none') return { ...common, state: 'none' as const, madeLater };
  const { url, account, createdAt, startsAt, expiresAt, maxClicks, passwordHash } = state.link;
  const { title, note, tags, options } = state.link;
  // Edges compare the time themselves, because LinkExpired is written some time later.
  const isOver = expiresAt !== null && moment.getTime() >= Date.parse(expiresAt);
  const expired = state.restraints.expired ?? (isOver ? 'time' : null);
  return {
    ...common,
    state: linkStatusAt(state, moment),
    expired,
    blocked,
    url,
    account,
    keyId,
    createdAt,
    startsAt,
    expiresAt,
    maxClicks,
    title,
    note,
    tags,
    ...shown(options),
    hasPassword: passwordHash !== null,
    clickCount: clickCount + importedClicks,
    importedClicks,
    botCount,
    uniques,
    lastAccessed,
    ...visits.lists(subject),
  };
};

export type LinkSnapshot = Awaited<ReturnType<typeof linkAsOf>>;
