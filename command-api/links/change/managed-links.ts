import type { Uncounted } from '../../../ops/platform/concurrency/deadline.js';
import { readLinkStates } from '../../../ops/ledger/link-states.js';
import type { PasswordHasher } from '../../../ops/platform/passwords/password-hasher.js';
import type { Outbox, OutboxDelivery } from '../../../ops/event-log/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { Actor, CommandRequest } from '../../../schemas/decision.js';
import { linkStatusAt, type ExistingLink } from '../../../schemas/folds/link.js';
import { messages } from '../../../schemas/http/errors.js';
import { startsAfterEnd } from '../../../schemas/http/fields.js';
import { tagsMessage } from '../../../schemas/http/link-fields.js';
import type { ChangedLink, LinkDetails } from '../../../schemas/http/links.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import type { LinkChange, LinkCommand, LinkRefusal } from './command.js';
import { linkDetailsOf } from '../link-details.js';
import { createLinkChanges } from './handler.js';
import { noClicks, readClicks, readClicksTaken } from '../clicks.js';
import type { SafetyCheck } from '../../safety/safety-check.js';
import { goneReplies } from '../gone.js';
import { failure, unavailable, type Reply } from '../../http/reply.js';
import { safetyReplies } from '../../safety/safety-replies.js';

export interface ManagedLinksDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  readonly shortUrlHost: string;
  readonly safety: SafetyCheck;
  readonly passwords: Pick<PasswordHasher, 'hashAll'>;
}

/** Who asks for links, or for a change of them. */
export interface LinkCaller {
  readonly actor: Actor;
  /** Whose links alone there are; `null`: everybody's. */
  readonly account: string | null;
  /** Those who share it wait for each other's passwords to be hashed. */
  readonly hashingLane: string;
  /** Whether answers show clicks and texts of links. */
  readonly readsLinks: boolean;
  readonly uncounted: Uncounted;
}

/** A change that somebody wants of a link: see `LinkCommand`. */
export interface WantedChange {
  readonly code: string;
  readonly versions: LinkCommand['data']['versions'];
  readonly change:
    'delete' | (Omit<LinkChange, 'password'> & { readonly password?: string | null | undefined });
}

export interface VersionedLink {
  readonly link: ExistingLink;
  readonly version: number;
}

export type ChangeOutcome =
  | ({
      readonly type: 'settled';
      /** Whether the log has the events yet; the change holds all the same. */
      readonly logged: boolean;
    } & VersionedLink)
  | { readonly type: 'refused'; readonly reply: Reply };

const refusedWith = (reply: Reply): ChangeOutcome => ({ type: 'refused', reply });

type FinalRefusal = Exclude<LinkRefusal, { readonly type: 'unchecked' | 'unhashed' }>;

const refusalReply = (refusal: FinalRefusal, { readsLinks }: LinkCaller): Reply => {
  switch (refusal.type) {
    case 'notFound':
      return failure(404, messages.codeNotFound);
    case 'deleted':
      return goneReplies.deleted;
    case 'changedMeanwhile':
      return failure(412, messages.linkChanged);
    case 'startsAfterEnd':
      return failure(400, startsAfterEnd);
    case 'clicksTaken':
      return failure(
        400,
        readsLinks
          ? `maxClicks must be at least ${refusal.taken}, the clicks taken`
          : messages.limitBelowClicks,
      );
    case 'tooManyTags':
      return failure(400, tagsMessage);
    default: {
      const unknown: never = refusal;
      return unknown;
    }
  }
};

/** Milliseconds that an answer waits for the log: a client gets its answer within 2 s. */
const logWithinMs = 1_500;
/** A change is decided anew after each step that it turned out to need, and after rivals. */
const maxRounds = 6;

/** A wanted change, and what was done for it so far. */
interface Attempt {
  readonly wanted: WantedChange;
  readonly countedClicks: number;
  safeUrl: string | null;
  hash: string | null;
  outcome?: ChangeOutcome;
}

const commandOf = (
  { wanted, countedClicks, safeUrl, hash }: Attempt,
  { account, actor: metadata }: LinkCaller,
): CommandRequest<LinkCommand> => {
  const { code: subject, change, versions } = wanted;
  const data = { account, versions };
  if (change === 'delete') return { type: 'DeleteLink', subject, data, metadata };
  const { password, ...rest } = change;
  const hashed = password == null ? password : { hash };
  return {
    ...{ type: 'ChangeLink', subject, metadata },
    data: { ...data, safeUrl, countedClicks, change: { ...rest, password: hashed } },
  };
};

const codeOf = ({ code }: { readonly code: string }): string => code;

/** Reads and changes links for their owners, and for operators. */
export const createManagedLinks = (deps: ManagedLinksDeps) => {
  const { pool, outbox, delivery, shortUrlHost, safety, passwords } = deps;
  const decide = createLinkChanges(pool, outbox);

  /** Decides what is open. @returns the attempts that need a check of their destination, with it */
  const decideOpen = async (attempts: readonly Attempt[], caller: LinkCaller) => {
    const { results, outboxPosition } = await decide(
      attempts.map((attempt) => commandOf(attempt, caller)),
    );
    const logged = await delivery.published(outboxPosition, logWithinMs);
    const unchecked = new Map<Attempt, string>();
    for (const [index, attempt] of attempts.entries()) {
      const result = results[index];
      if (!result) throw new Error(`decide() returned no result for command ${index}`);
      const { decision, state } = result;
      if (decision.type === 'refused') {
        const { refusal } = decision;
        if (refusal.type === 'unchecked') unchecked.set(attempt, refusal.url);
        else if (refusal.type !== 'unhashed') {
          attempt.outcome = refusedWith(refusalReply(refusal, caller));
        }
      } else if (state.ledger.status === 'taken' && state.current.status !== 'none') {
        const { current: link, ledger } = state;
        attempt.outcome = { type: 'settled', logged, link, version: ledger.sequence };
      }
    }
    return unchecked;
  };

  /** One for each link, in their order. */
  const details = async (
    links: readonly VersionedLink[],
    now: Date,
  ): Promise<readonly LinkDetails[]> => {
    const all = links.map(({ link }) => link.link);
    const limited = all.filter(({ maxClicks }) => maxClicks !== null);
    const [clicksOf, takenOf] = await Promise.all([
      readClicks(pool, all.map(codeOf)),
      readClicksTaken(pool, limited.map(codeOf)),
    ]);
    return links.map(({ link, version }) => {
      const { code } = link.link;
      const clicks = clicksOf.get(code) ?? noClicks;
      const clicksTakenOfLink = takenOf.get(code) ?? 0;
      return linkDetailsOf(link, {
        ...{ version, clicks, clicksTaken: clicksTakenOfLink },
        ...{ shortUrlHost, now },
      });
    });
  };

  return {
    details,

    /** What the caller is shown of links after a change, one for each, in their order. */
    async changed(
      links: readonly VersionedLink[],
      { readsLinks }: LinkCaller,
      now: Date,
    ): Promise<readonly (LinkDetails | ChangedLink)[]> {
      if (readsLinks) return details(links, now);
      return links.map(({ link, version }) => {
        return { shortCode: link.link.code, version, status: linkStatusAt(link, now) };
      });
    },

    /** A link, as every node knows it once a change was answered; `null` where there is none for them. */
    async find(code: string, account: string | null): Promise<VersionedLink | null> {
      if (!shortCodePattern.test(code)) return null;
      const found = (await readLinkStates(pool, outbox, [code])).get(code);
      if (!found || found.state.status === 'none') return null;
      const { state, sequence: version } = found;
      const isTheirs = account === null || state.link.account === account;
      return isTheirs ? { link: state, version } : null;
    },

    /**
     * Makes changes of different links, each with its own outcome, in their order. A destination is checked,
     * and a password hashed, only when nothing else refuses the change.
     *
     * @throws Overloaded
     */
    async change(
      changes: readonly WantedChange[],
      caller: LinkCaller,
    ): Promise<readonly ChangeOutcome[]> {
      const limited = changes.filter(
        ({ change }) => change !== 'delete' && change.maxClicks != null,
      );
      const clicks = await readClicks(pool, limited.map(codeOf));
      const attempts = changes.map((wanted): Attempt => {
        const countedClicks = clicks.get(wanted.code)?.clicks ?? 0;
        const attempt = { wanted, countedClicks, safeUrl: null, hash: null };
        // Not every text can be asked for.
        if (shortCodePattern.test(wanted.code)) return attempt;
        return { ...attempt, outcome: refusedWith(failure(404, messages.codeNotFound)) };
      });
      for (let round = 0; round < maxRounds; round += 1) {
        const open = attempts.filter(({ outcome }) => outcome === undefined);
        if (open.length === 0) break;
        const unchecked = await decideOpen(open, caller);
        const urls = [...unchecked.values()];
        // Both have deadlines of their own.
        const verdicts = urls.length > 0 ? await caller.uncounted(safety.check(urls)) : [];
        for (const [index, [attempt, url]] of [...unchecked].entries()) {
          const reply = safetyReplies[verdicts[index] ?? 'unknown'];
          if (reply) attempt.outcome = refusedWith(reply);
          else attempt.safeUrl = url;
        }
        for (const attempt of open) {
          const { change } = attempt.wanted;
          if (attempt.outcome || unchecked.has(attempt) || change === 'delete') continue;
          if (change.password == null) continue;
          const hashing = passwords.hashAll(caller.hashingLane, [change.password]);
          [attempt.hash = null] = await caller.uncounted(hashing);
        }
      }
      return attempts.map(({ outcome }) => outcome ?? refusedWith(unavailable()));
    },
  };
};

export type ManagedLinks = ReturnType<typeof createManagedLinks>;
