import { dropRepeats, type HighWaterMarks } from '../../../../projectors/runtime/checkpoints.js';
import {
  isLinkEvent,
  type EventNamed,
  type LinkEvent,
} from '../../../../schemas/events/catalogue.js';
import { topics } from '../../../../schemas/events/topics.js';
import {
  evolveLink,
  noLink,
  type ExpiryReason,
  type Link,
  type LinkState,
} from '../../../../schemas/folds/link.js';
import { happenedBy, partsOf, readParts, type LookBack } from './read.js';

/** Who did something to a link, and why. */
interface Deed {
  readonly at: string;
  readonly by: string | null;
  readonly reason: string;
}

/** The link as its own events tell it. */
class Story {
  state: LinkState = noLink;
  keyId = '';
  blocked: Deed | null = null;
  /** When the link was made, if that was after the moment. */
  madeLater: string | null = null;

  add(event: LinkEvent): void {
    this.state = evolveLink(this.state, event);
    if (event.type === 'linklog.LinkCreated.v1') this.keyId = event.data.keyId;
    if (this.state.status !== 'blocked') this.blocked = null;
    else if (event.type === 'linklog.LinkBlocked.v1') {
      this.blocked = { at: event.time, by: event.actor ?? null, reason: event.data.reason };
    }
  }
}

/** Visits that were redirected, those of bots apart. */
class Clicks {
  clickCount = 0;
  botCount = 0;
  lastAccessed: string | null = null;

  add({ time, data: { bot } }: EventNamed<'LinkVisited'>): void {
    if (bot) {
      this.botCount += 1;
      return;
    }
    this.clickCount += 1;
    // Spools ship when they can, so visits are not in the order of their times.
    if (this.lastAccessed === null || time > this.lastAccessed) this.lastAccessed = time;
  }
}

/** As the edge does, which compares the time itself: the sweeper writes LinkExpired some time later. */
const isOver = ({ expiresAt }: Link, moment: Date): boolean =>
  expiresAt !== null && moment.getTime() >= Date.parse(expiresAt);

const expiryOf = (state: Exclude<LinkState, { status: 'none' }>): ExpiryReason | null => {
  if (state.status === 'expired') return state.reason;
  return state.status === 'blocked' ? state.expired : null;
};

/** What a link was at a moment, by the log alone. */
export const linkAsOf = async (look: LookBack, code: string) => {
  const { log, moment } = look;
  const happened = happenedBy(moment);
  // The ends of visits first: so whatever they are visits of is read, too.
  const visitParts = await partsOf(log, topics.visits.name, code);
  const linkParts = await partsOf(log, topics.links.name, code);
  const story = new Story();
  const clicks = new Clicks();
  const seen: Record<string, HighWaterMarks> = {};
  const grounds = await readParts(look, [...linkParts, ...visitParts], (readings, { topic }) => {
    const known = (seen[topic] ??= new Map());
    const { fresh, raised } = dropRepeats(readings, known);
    for (const [origin, sequence] of raised) known.set(origin, sequence);
    for (const reading of fresh) {
      if (!('event' in reading)) continue;
      const { event } = reading;
      if (event.type === 'linklog.LinkVisited.v1') {
        if (happened(event)) clicks.add(event);
      } else if (isLinkEvent(event)) {
        if (happened(event)) story.add(event);
        else if (event.type === 'linklog.LinkCreated.v1') story.madeLater = event.time;
      }
    }
  });

  const { state, keyId, blocked, madeLater } = story;
  const common = { ...grounds, asOf: moment.toISOString(), shortCode: code };
  if (state.status === 'none') return { ...common, state: 'none' as const, madeLater };
  const { link } = state;
  const expired = expiryOf(state) ?? (isOver(link, moment) ? 'time' : null);
  const { url, account, createdAt, expiresAt, maxClicks } = link;
  const { clickCount, botCount, lastAccessed } = clicks;
  return {
    ...common,
    // As a visitor is told: a block hides whether the link has expired.
    state: blocked
      ? ('blocked' as const)
      : expired === null
        ? ('active' as const)
        : ('expired' as const),
    expired,
    blocked,
    url,
    account,
    keyId,
    createdAt,
    expiresAt,
    maxClicks,
    hasPassword: link.passwordHash !== null,
    clickCount,
    botCount,
    lastAccessed,
  };
};

export type LinkThen = Awaited<ReturnType<typeof linkAsOf>>;
