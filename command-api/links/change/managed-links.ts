import { linkTooLarge } from '../../../schemas/link-size.js';
import type { Uncounted } from '../../../ops/platform/concurrency/deadline.js';
import { readLinkStates } from '../../../ops/ledger/link-states.js';
import type { PasswordHasher } from '../../../ops/platform/passwords/password-hasher.js';
import type { Outbox, OutboxDelivery } from '../../../ops/event-log/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { Actor, CommandRequest } from '../../../schemas/decision.js';
import { linkStatusAt, type ExistingLink } from '../../../schemas/folds/link.js';
import { messages } from '../../../schemas/http/errors.js';
import { linkOfSubject } from '../../../schemas/link-subject.js';
import { startsAfterEnd } from '../../../schemas/http/fields.js';
import { tagsMessage } from '../../../schemas/http/link-fields.js';
import type { ChangedLink, LinkDetails } from '../../../schemas/http/links.js';
import {
  type LinkFields,
  type LinkCommand,
  type LinkRefusal,
  linkChangeDecider,
  type ManagedLink,
} from './command.js';
import { linkDetailsOf, goneResponses } from '../view.js';
import { noClicks, readClicks, readClicksTaken } from '../clicks.js';
import { checkGroups, type SafetyCheck, safetyResponses } from '../../safety/safety-check.js';
import { failure, logWithinMs, unavailable, type Reply } from '../../http/reply.js';
import { decideAll, type LedgerRows } from '../../../ops/ledger/decide.js';
import { ledgerLinks } from '../../../ops/ledger/links.js';
import type { LinkEvent } from '../../../schemas/events/catalogue.js';

/** The ledger's rows of links with their current states. */
export const managedLinks = (outbox: Outbox): LedgerRows<ManagedLink, LinkEvent> => ({
  async lock(tx, codes) {
    const ledger = await ledgerLinks.lock(tx, codes);
    // While the rows are locked, no new events are written.
    const states = await readLinkStates(tx, outbox, codes);
    return new Map(
      codes.map((code) => [
        code,
        {
          ledger: ledger.get(code) ?? linkChangeDecider.initialState.ledger,
          current: states.get(code)?.state ?? linkChangeDecider.initialState.current,
        },
      ]),
    );
  },
  save: (states) =>
    ledgerLinks.save(new Map([...states].map(([code, { ledger }]) => [code, ledger]))),
  ...(ledgerLinks.changeOf && { changeOf: ledgerLinks.changeOf }),
});

/** Decides commands on links in one transaction. Returns a result for each, in the same order. */
export const createLinkChanges = (pool: Pool, outbox: Outbox) => {
  const rows = managedLinks(outbox);
  return (commands: readonly CommandRequest<LinkCommand>[]) =>
    decideAll({ pool, outbox }, rows, linkChangeDecider, commands);
};

export interface ManagedLinksDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  readonly shortUrlHost: string;
  readonly safety: SafetyCheck;
  readonly passwords: Pick<PasswordHasher, 'hashAll'>;
}

export interface LinkCaller {
  readonly actor: Actor;
  /** Only links of this account are visible; `null`: all links. */
  readonly account: string | null;
  /** Its passwords are hashed one after the other, and its look-ups of URLs are limited; `null`: an operator. */
  readonly rootId: string | null;
  /** Whether responses contain clicks and texts of links. */
  readonly readsLinks: boolean;
  readonly uncounted: Uncounted;
}

export interface RequestedChange {
  readonly subject: string;
  readonly versions: LinkCommand['data']['versions'];
  readonly change: 'delete' | 'restore' | LinkFields;
}

export interface VersionedLink {
  readonly link: ExistingLink;
  readonly version: number;
}

type ChangeOutcome =
  | ({
      readonly type: 'done';
      /** Whether the log has the events yet. The change is in effect in either case. */
      readonly published: boolean;
    } & VersionedLink)
  | { readonly type: 'refused'; readonly reply: Reply };

const refusedWith = (reply: Reply): ChangeOutcome => ({ type: 'refused', reply });

type FinalRefusal = Exclude<LinkRefusal, { readonly type: 'unchecked' | 'unhashed' }>;

const refusalReply = (refusal: FinalRefusal, { readsLinks }: LinkCaller): Reply => {
  switch (refusal.type) {
    case 'notFound':
      return failure(404, messages.codeNotFound);
    case 'deleted':
      return goneResponses.deleted;
    case 'deletedLongAgo':
      return { ...goneResponses.deleted, ...failure(410, messages.linkDeletedLongAgo) };
    case 'changedMeanwhile':
      return failure(412, messages.linkChanged);
    case 'startsAfterEnd':
      return failure(400, startsAfterEnd);
    case 'conflict':
      return failure(400, refusal.message);
    case 'clicksTaken':
      return failure(
        400,
        readsLinks
          ? `maxClicks must be at least ${refusal.taken}, the clicks taken`
          : messages.limitBelowClicks,
      );
    case 'tooLarge':
      return failure(400, linkTooLarge);
    case 'tooManyTags':
      return failure(400, tagsMessage);
    default: {
      const unknown: never = refusal;
      return unknown;
    }
  }
};

/** A change is decided again after a web-safety check, after hashing, and after conflicting changes. */
const maxRounds = 6;

interface Attempt {
  readonly requested: RequestedChange;
  readonly countedClicks: number;
  safeUrls: readonly string[];
  hash: string | null;
  outcome?: ChangeOutcome;
}

const commandOf = (
  { requested, countedClicks, safeUrls, hash }: Attempt,
  { account, actor: metadata }: LinkCaller,
): CommandRequest<LinkCommand> => {
  const { subject, change, versions } = requested;
  const data = { account, versions };
  if (change === 'delete') return { type: 'DeleteLink', subject, data, metadata };
  if (change === 'restore') {
    return { type: 'RestoreLink', subject, data: { ...data, safeUrls }, metadata };
  }
  const { password, ...rest } = change;
  const hashed = password == null ? password : { hash };
  return {
    ...{ type: 'ChangeLink', subject, metadata },
    data: { ...data, safeUrls, countedClicks, change: { ...rest, password: hashed } },
  };
};

const subjectOf = ({ subject }: { readonly subject: string }): string => subject;

/** Reads and changes links, for owners and operators. */
export const createManagedLinks = (deps: ManagedLinksDeps) => {
  const { pool, outbox, delivery, shortUrlHost, safety, passwords } = deps;
  const decide = createLinkChanges(pool, outbox);

  /** Decides attempts without an outcome. @returns the destinations to check, by attempt */
  const decideOpen = async (attempts: readonly Attempt[], caller: LinkCaller) => {
    const { results, outboxPosition } = await decide(
      attempts.map((attempt) => commandOf(attempt, caller)),
    );
    const published = await delivery.published(outboxPosition, logWithinMs);
    const unchecked = new Map<Attempt, readonly string[]>();
    for (const [index, attempt] of attempts.entries()) {
      const result = results[index];
      if (!result) throw new Error(`decide() returned no result for command ${index}`);
      const { decision, state } = result;
      if (decision.type === 'refused') {
        const { refusal } = decision;
        if (refusal.type === 'unchecked') unchecked.set(attempt, refusal.urls);
        else if (refusal.type !== 'unhashed') {
          attempt.outcome = refusedWith(refusalReply(refusal, caller));
        }
      } else if (state.ledger.status === 'taken' && state.current.status !== 'none') {
        const { current: link, ledger } = state;
        attempt.outcome = { type: 'done', published, link, version: ledger.sequence };
      }
    }
    return unchecked;
  };

  const details = async (
    links: readonly VersionedLink[],
    now: Date,
  ): Promise<readonly LinkDetails[]> => {
    const states = links.map(({ link }) => link.link);
    const limited = states.filter(({ maxClicks }) => maxClicks !== null);
    const [clicksOf, takenOf] = await Promise.all([
      readClicks(pool, states.map(subjectOf)),
      readClicksTaken(pool, limited.map(subjectOf)),
    ]);
    return links.map(({ link, version }) => {
      const { subject } = link.link;
      const clicks = clicksOf.get(subject) ?? noClicks;
      const clicksTaken = takenOf.get(subject) ?? 0;
      return linkDetailsOf(link, { version, clicks, clicksTaken, shortUrlHost, now });
    });
  };

  return {
    details,

    /** The links after a change as the caller may see them, in the same order. */
    async changed(
      links: readonly VersionedLink[],
      { readsLinks }: LinkCaller,
      now: Date,
    ): Promise<readonly (LinkDetails | ChangedLink)[]> {
      if (readsLinks) return details(links, now);
      return links.map(({ link, version }) => {
        const { domain, code: shortCode } = linkOfSubject(link.link.subject);
        return { shortCode, domain, version, status: linkStatusAt(link, now) };
      });
    },

    /** Reads a link, including the newest changes; `null` if the account has no such link. */
    async find(subject: string, account: string | null): Promise<VersionedLink | null> {
      const found = (await readLinkStates(pool, outbox, [subject])).get(subject);
      if (!found || found.state.status === 'none') return null;
      const { state, sequence: version } = found;
      const isVisible = account === null || state.link.account === account;
      return isVisible ? { link: state, version } : null;
    },

    /**
     * Changes different links. Returns an outcome for each, in the same order. A destination is checked and a password
     * is hashed only if nothing else refuses the change.
     *
     * @throws Overloaded
     */
    async change(
      changes: readonly RequestedChange[],
      caller: LinkCaller,
    ): Promise<readonly ChangeOutcome[]> {
      const limited = changes.filter(
        ({ change }) => typeof change !== 'string' && change.maxClicks != null,
      );
      const clicks = await readClicks(pool, limited.map(subjectOf));
      const attempts = changes.map((requested): Attempt => {
        const countedClicks = clicks.get(requested.subject)?.clicks ?? 0;
        return { requested, countedClicks, safeUrls: [], hash: null };
      });
      for (let round = 0; round < maxRounds; round += 1) {
        const open = attempts.filter(({ outcome }) => outcome === undefined);
        if (open.length === 0) break;
        const unchecked = await decideOpen(open, caller);
        const groups = [...unchecked.values()];
        // The check has its own deadline.
        const verdicts =
          groups.length > 0
            ? await caller.uncounted(checkGroups(safety, groups, caller.rootId ?? undefined))
            : [];
        for (const [index, [attempt, urls]] of [...unchecked].entries()) {
          const reply = safetyResponses[verdicts[index] ?? 'unknown'];
          if (reply) attempt.outcome = refusedWith(reply);
          else attempt.safeUrls = urls;
        }
        for (const attempt of open) {
          const { change } = attempt.requested;
          if (attempt.outcome || unchecked.has(attempt) || typeof change === 'string') continue;
          if (change.password == null) continue;
          const hashing = passwords.hashAll(caller.rootId ?? 'operators', [change.password]);
          [attempt.hash = null] = await caller.uncounted(hashing);
        }
      }
      return attempts.map(({ outcome }) => outcome ?? refusedWith(unavailable()));
    },
  };
};
