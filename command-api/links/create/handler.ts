import { createBatcher } from '../../../ops/platform/concurrency/batcher.js';
import { ledgerNow, type LedgerClock } from '../../../ops/ledger/clock.js';
import { lockMeters, saveMeters, type LockedMeter } from '../../../ops/ledger/meters.js';
import { lockActiveDomains, type LockedDomain } from '../../../ops/ledger/domains.js';
import { findTaken, insertLinks, isSubjectTaken } from '../../../ops/ledger/links.js';
import { traced } from '../../../ops/ledger/traced.js';
import { newId } from '../../../ops/platform/new-id.js';
import type { Outbox, OutboxPosition } from '../../../ops/event-log/outbox/port.js';
import { mayBeCausedByOneCommand } from '../../../ops/platform/error-codes.js';
import { lockingTransaction, type Client, type Pool } from '../../../ops/platform/postgres/pool.js';
import { mapResult, writeAfter, type Write } from '../../../ops/platform/postgres/statement.js';
import type { EventNamed } from '../../../schemas/events/catalogue.js';
import type { Actor, CommandRequest } from '../../../schemas/decision.js';
import type { LedgerLink } from '../../../schemas/folds/ledger-link.js';
import { linkOfSubject, subjectOf } from '../../../schemas/link-subject.js';
import {
  createLinkDecider,
  type CreateLink,
  type ReusedLink,
  type ShortenOutcome,
} from './command.js';
import { toResponse, isStorable, outlineOf, type ResponseForm } from './view.js';
import {
  countCalls,
  type Admission,
  type Admitted,
  type CallByHash,
  type PlatformSwitches,
} from '../../admission/admission.js';
import {
  findRecords,
  maxRecordBytes,
  saveRecords,
  type IdempotentRequest,
  type IdempotencyRecord,
} from '../../admission/idempotency-records.js';
import type { AdmittedCall } from '../../admission/command.js';
import type { Read, Refused } from '../../http/requests.js';
import { findReusable, type Destination } from './reusable-links.js';

/** A request: a link, or the links of a batch, with one outcome per link. */
export interface ShortenCommand {
  /** The root key; `null` for an operator, whose links use no quota. */
  readonly keyId: string | null;
  /** The plan's monthly links; `null` for no limit. */
  readonly linkLimit: number | null;
  readonly links: readonly CommandRequest<CreateLink>[];
  /** `null` without an Idempotency-Key. `form` builds the stored response. */
  readonly idempotency: (IdempotentRequest & { readonly form: ResponseForm }) | null;
}

export type ShortenResult =
  | {
      readonly type: 'decided';
      readonly outcomes: readonly ShortenOutcome[];
      /** Position of the group's events. */
      readonly outboxPosition: OutboxPosition;
      /** Milliseconds until every edge serves the domains of the links. */
      readonly liveIn: number;
    }
  | { readonly type: 'recorded'; readonly record: IdempotencyRecord };

/** A request whose call is admitted in the transaction that creates its link. */
export interface UnadmittedRequest<Request> {
  readonly call: CallByHash;
  readonly request: Request;
  readonly traceparent?: string | undefined;
}

export interface AdmittedCreation {
  readonly admitted: Admitted;
  /** `null` if the call was not admitted. */
  readonly result: ShortenResult | Refused | null;
}

/** The links of a request have the same. */
const causesOf = (commands: readonly ShortenCommand[]): readonly Actor[] =>
  commands.flatMap(({ links: [link] }) => link?.metadata ?? []);

export type ShortenHandler = ReturnType<typeof createShortenHandler>;

/** Maximum number of commands in a group; a batch is one command. */
const maxGroup = 200;
const maxWaiting = 5_000;

/** A domain is active on every edge after this time (ms). */
const domainLiveMs = 1_000;

const nameOf = ({ account, url, domain }: Destination): string =>
  `${account}\n${domain ?? ''}\n${url}`;

const destinationOf = ({ data, subject }: CommandRequest<CreateLink>): Destination => ({
  account: data.account,
  url: data.url,
  domain: linkOfSubject(subject).domain,
});

/**
 * Decides links one after the other, under the locks. Subjects that are not in `taken` count as free. Requests with `reuse`
 * reuse links of the same group.
 */
const openGroup = (
  { taken, reusable, domains, spent, now }: Locked,
  generateCode: () => string,
) => {
  const reused = new Map(reusable);
  const ledgerLinks = new Map<string, LedgerLink>();
  const isTaken = (subject: string): boolean => taken.has(subject) || ledgerLinks.has(subject);
  return {
    /** The rows to insert, by subject. */
    ledgerLinks,
    decideLink(
      request: CommandRequest<CreateLink>,
      linkLimit: number | null,
      meter: LockedMeter | null,
    ): ShortenOutcome {
      const { data } = request;
      const destination = destinationOf(request);
      const { domain } = destination;
      if (domain !== null && domains.get(domain)?.account !== data.account) {
        return { type: 'domainInactive' };
      }
      const link = data.reuse ? reused.get(nameOf(destination)) : undefined;
      if (link) return { type: 'reused', link };
      if (meter && linkLimit !== null && meter.links >= linkLimit)
        return { type: 'linksExhausted' };
      let { subject } = request;
      while (!data.custom && isTaken(subject))
        subject = subjectOf({ domain, code: generateCode() });
      if (isTaken(subject)) return { type: 'aliasTaken' };
      const metadata = { ...request.metadata, now, id: newId() };
      const { initialState, decide, evolve } = createLinkDecider;
      const decision = decide({ ...request, subject, metadata }, initialState);
      const event = decision.type === 'accepted' ? decision.events[0] : undefined;
      if (!event)
        throw new Error(`decide() returned ${decision.type} for the unused subject ${subject}`);
      const ledgerLink = evolve(initialState, event);
      if (ledgerLink.status === 'none')
        throw new Error(`evolve() returned no link for LinkCreated of ${subject}`);
      ledgerLinks.set(subject, ledgerLink);
      if (meter) {
        meter.links += 1;
        meter.allLinks += 1;
        spent.add(meter);
      }
      if (data.reuse) {
        reused.set(nameOf(destination), { subject, url: data.url, createdAt: event.time });
      }
      return { type: 'created', event };
    },
  };
};

const createdBy = (outcome: ShortenOutcome): readonly EventNamed<'LinkCreated'>[] =>
  outcome.type === 'created' ? [outcome.event] : [];

const subjectsOf = (outcome: ShortenOutcome): readonly string[] => {
  if (outcome.type === 'created') return [outcome.event.subject];
  return outcome.type === 'reused' ? [outcome.link.subject] : [];
};

/** The idempotency record of a response; `null` if a retry must be decided again. */
const recordToStore = (
  { idempotency }: ShortenCommand,
  outcomes: readonly ShortenOutcome[],
): IdempotencyRecord | null => {
  if (!idempotency) return null;
  const { scope, bodyHash, form } = idempotency;
  const response = toResponse(form, outcomes);
  if (!response || !isStorable(response)) return null;
  const subjects = outcomes.flatMap(subjectsOf);
  const { status } = response;
  const text = JSON.stringify(response.body);
  const isOutline = response.type === 'batch' && Buffer.byteLength(text) > maxRecordBytes;
  const body = isOutline ? JSON.stringify(outlineOf(response.body)) : text;
  return { ...scope, bodyHash, status, body, isOutline, subjects };
};

interface ShortenDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
  readonly generateCode: () => string;
}

/** The state that a group's transaction reads under its locks. */
interface Locked {
  readonly meters: ReadonlyMap<string, LockedMeter>;
  /** The meters to save. */
  readonly spent: Set<LockedMeter>;
  readonly now: Date;
  /** The existing idempotency records of the commands. */
  readonly records: readonly (IdempotencyRecord | null)[];
  readonly taken: ReadonlySet<string>;
  /** The active domains of the commands. */
  readonly domains: ReadonlyMap<string, LockedDomain>;
  /** Links for requests with `reuse`, by `nameOf`. */
  readonly reusable: ReadonlyMap<string, ReusedLink>;
}

const decideLocked = (
  { outbox, generateCode }: ShortenDeps,
  commands: readonly ShortenCommand[],
  locked: Locked,
): Write<readonly ShortenResult[]> => {
  const { meters, spent, now, records } = locked;
  const group = openGroup(locked, generateCode);
  const decided = commands.map(({ keyId, linkLimit, links }, index) => {
    const meter = keyId === null ? null : meters.get(keyId);
    if (meter === undefined) throw new Error(`The key ${keyId} has no meter`);
    return records[index] ? [] : links.map((link) => group.decideLink(link, linkLimit, meter));
  });
  const ages = Array.from(locked.domains.values(), ({ age }) => age);
  const liveIn = Math.max(0, ...ages.map((age) => domainLiveMs - Math.max(0, age)));
  const events = decided.flat().flatMap(createdBy);
  const newRecords = commands.flatMap((command, index) =>
    records[index] ? [] : (recordToStore(command, decided[index] ?? []) ?? []),
  );
  const saved = [
    ...insertLinks([...group.ledgerLinks.values()]),
    ...saveMeters(spent),
    ...saveRecords(newRecords, now),
  ];
  return mapResult(writeAfter(saved, outbox.record(events)), (position) =>
    decided.map((outcomes, index) => {
      const record = records[index];
      if (record) return { type: 'recorded', record };
      // A command waits for its own events only: another partition may be stalled.
      const outboxPosition = outbox.positionOf(outcomes.flatMap(createdBy), position);
      return { type: 'decided', outcomes, outboxPosition, liveIn };
    }),
  );
};

/**
 * Creates links: alias, monthly quota, event and idempotency record in one transaction. Lock order: meters, keys, domains,
 * links, partitions of the log; each in the order of its key.
 */
export const createShortenHandler = (deps: ShortenDeps) => {
  const { pool, outbox, clock } = deps;

  /** Concurrent requests of the key wait for the lock of its meter. */
  const findAllReusable = async (
    tx: Client,
    commands: readonly ShortenCommand[],
  ): Promise<Locked['reusable']> => {
    const wanted = new Map(
      commands
        .flatMap(({ links }) => links.filter(({ data }) => data.reuse))
        .map(destinationOf)
        .map((destination) => [nameOf(destination), destination]),
    );
    const found = new Map<string, ReusedLink>();
    if (wanted.size === 0) return found;
    const now = await ledgerNow(tx);
    for (const [name, destination] of wanted) {
      const link = await findReusable(tx, outbox, destination, now);
      if (link) found.set(name, link);
    }
    return found;
  };

  /**
   * Decides a group in one transaction. Reads whether the subjects of `contested` are taken.
   *
   * @throws an error for which `isSubjectTaken` is true if another transaction took a subject
   */
  const decide = (
    commands: readonly ShortenCommand[],
    contested: readonly string[],
  ): Promise<readonly ShortenResult[]> =>
    traced(pool, causesOf(commands), () =>
      lockingTransaction(
        pool,
        (tx) => {
          const keyIds = commands.flatMap(({ keyId }) => keyId ?? []);
          // Requests with the same Idempotency-Key wait for the lock of the meter.
          const scopes = commands.map(({ idempotency }) => idempotency?.scope ?? null);
          const domains = commands.flatMap(({ links }) =>
            links.flatMap(({ subject }) => linkOfSubject(subject).domain ?? []),
          );
          return Promise.all([
            lockMeters(tx, keyIds, clock),
            lockActiveDomains(tx, [...new Set(domains)]),
            findRecords(tx, scopes, clock),
            findTaken(tx, contested),
            findAllReusable(tx, commands),
          ]);
        },
        ([locked, domains, records, taken, reusable]) =>
          decideLocked(deps, commands, {
            ...locked,
            spent: new Set(),
            ...{ domains, records, taken, reusable },
          }),
      ),
    );

  const run = async (commands: readonly ShortenCommand[]): Promise<readonly ShortenResult[]> => {
    const links = commands.flatMap((command) => command.links);
    // A generated code is almost always free.
    let contested = links.filter(({ data }) => data.custom);
    for (;;) {
      try {
        return await decide(
          commands,
          contested.map(({ subject }) => subject),
        );
      } catch (error) {
        if (!isSubjectTaken(error)) throw error;
        contested = links;
      }
    }
  };

  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBeCausedByOneCommand });
  return { shorten: (command: ShortenCommand) => batcher.submit(command) };
};

/** Admits calls and creates their links in one transaction: if it fails, no call is spent. */
export const createAdmittingHandler = <Request>({
  admission,
  commandOf,
  ...deps
}: ShortenDeps & {
  readonly admission: Pick<Admission, 'decideIn'>;
  /**
   * The command of an admitted request. Pure: a retried transaction calls it again. No alias, domain or Idempotency-Key.
   */
  readonly commandOf: (
    request: Request,
    call: AdmittedCall,
    platform: PlatformSwitches,
  ) => Read<ShortenCommand>;
}) => {
  const decide = (
    requests: readonly UnadmittedRequest<Request>[],
  ): Promise<readonly AdmittedCreation[]> =>
    traced(deps.pool, requests, () =>
      lockingTransaction(
        deps.pool,
        (tx) =>
          admission.decideIn(
            tx,
            requests.map(({ call }) => call),
          ),
        (group) => {
          const { admitted, meters, spent, now, cache } = group;
          const decisions = requests.map(({ request }, index) => {
            const outcome = admitted[index];
            if (!outcome)
              throw new Error(
                `decideIn() returned ${admitted.length} outcomes; none for call ${index}`,
              );
            const { admission: call, platform } = outcome;
            const command =
              call.type === 'admitted' ? commandOf(request, call.call, platform) : null;
            return { admitted: outcome, command };
          });
          const accepted = decisions.flatMap(({ command }) =>
            command?.type === 'read' ? [command.value] : [],
          );
          const locked = {
            domains: new Map<string, LockedDomain>(),
            ...{ records: [], taken: new Set<string>(), reusable: new Map() },
          };
          const decided = decideLocked(deps, accepted, { meters, spent, now, ...locked });
          const write = mapResult(writeAfter(countCalls(group), decided), (results) => {
            const created = [...results];
            return decisions.map(({ command, ...outcome }): AdmittedCreation => ({
              ...outcome,
              result: command?.type === 'read' ? (created.shift() ?? null) : command,
            }));
          });
          return {
            ...write,
            afterCommit() {
              cache();
              decided.afterCommit?.();
            },
          };
        },
      ),
    );

  const run: typeof decide = async (requests) => {
    for (;;) {
      try {
        return await decide(requests);
      } catch (error) {
        // The next attempt generates other codes.
        if (!isSubjectTaken(error)) throw error;
      }
    }
  };

  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBeCausedByOneCommand });
  return {
    admitAndCreate: (request: UnadmittedRequest<Request>) => batcher.submit(request),
  };
};
