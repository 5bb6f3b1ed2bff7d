import { createBatcher } from '../../../ops/platform/concurrency/batcher.js';
import type { LedgerClock } from '../../../ops/ledger/clock.js';
import { countCalls, lockCalls, saveMeters, type LockedCalls } from '../../../ops/ledger/meters.js';
import type { PlatformSwitches } from '../../../schemas/folds/platform.js';
import { lockActiveDomains, type LockedDomain } from '../../../ops/ledger/domains.js';
import { findTaken, insertLinks, isSubjectTaken } from '../../../ops/ledger/links.js';
import { traced } from '../../../ops/ledger/traced.js';
import { newId } from '../../../ops/platform/new-id.js';
import type { Outbox, OutboxPosition } from '../../../ops/event-log/outbox/port.js';
import { mayBeCausedByOneCommand } from '../../../ops/platform/error-codes.js';
import { lockingTransaction, type Client, type Pool } from '../../../ops/platform/postgres/pool.js';
import { mapResult, writeAfter, type Write } from '../../../ops/platform/postgres/statement.js';
import type { EventNamed } from '../../../schemas/events/catalogue.js';
import type { CommandRequest } from '../../../schemas/decision.js';
import { linkOfSubject } from '../../../schemas/link-subject.js';
import {
  openGroup,
  type CreateLink,
  type GenerateCode,
  type ReusedLink,
  type ShortenOutcome,
} from './command.js';
import type { Admission } from '../../admission/admission.js';
import {
  admitGroup,
  type Admitted,
  type AdmittedCall,
  type CallByHash,
} from '../../admission/command.js';
import {
  findRecords,
  maxRecordBytes,
  saveRecords,
  type IdempotencyRecord,
  type IdempotencyScope,
  type IdempotentRequest,
} from '../../admission/idempotency.js';
import { keyInvalid } from '../../admission/admitted-call.js';
import { refusedWith, type Read, type Refused } from '../../http/requests.js';
import { findAllReusable } from './reusable-links.js';
import { isStorable, outlineOf, toResponse, type ResponseForm } from './view.js';

/** A request of an admitted call or of an operator: a link, or the links of a batch, with one outcome per link. */
export interface ShortenCommand {
  /** SHA-256 of the secret of the calling key; `null` for an operator, whose links use no quota. */
  readonly keyHash: string | null;
  /** The plan's monthly links; `null` for no limit. */
  readonly linkLimit: number | null;
  readonly links: readonly CommandRequest<CreateLink>[];
  /** `null` without an Idempotency-Key. `form` builds the stored response. */
  readonly idempotency: (IdempotentRequest & { readonly form: ResponseForm }) | null;
}

/** A request whose call the transaction admits. It has no alias, domain or Idempotency-Key, and does not reuse links. */
interface UnadmittedRequest<Request> {
  readonly call: CallByHash;
  readonly request: Request;
  readonly traceparent?: string | undefined;
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
  | { readonly type: 'recorded'; readonly record: IdempotencyRecord }
  | Refused;

interface CreationResult {
  /** `null`: the call was admitted before. */
  readonly admitted: Admitted | null;
  /** `null` if the call was not admitted. */
  readonly result: ShortenResult | null;
}

export type ShortenHandler = ReturnType<typeof createShortenHandler>;

/** A domain is active on every edge after this time (ms). */
const domainLiveMs = 1_000;

/** Milliseconds until every edge serves the domains. */
export const liveIn = (domains: ReadonlyMap<string, LockedDomain>): number =>
  Math.max(0, ...Array.from(domains.values(), ({ age }) => domainLiveMs - Math.max(0, age)));

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
  readonly generateCode: GenerateCode;
}

/** Decides the calls of unadmitted requests, and their commands. */
interface CallDecider<Request> {
  readonly admission: Pick<Admission, 'table' | 'remember'>;
  /** The command of an admitted request. Pure: a retried transaction calls it again. */
  readonly commandOf: (
    request: Request,
    call: AdmittedCall,
    platform: PlatformSwitches,
  ) => Read<ShortenCommand>;
}

/** A request of a group. */
interface Item {
  readonly keyHash: string | null;
  /** The call to admit; `null`: the call was admitted before, or the request is an operator's. */
  readonly call: CallByHash | null;
  readonly links: ShortenCommand['links'];
  readonly scope: IdempotencyScope | null;
  readonly traceparent: string | undefined;
  /** Pure. Returns `null` if the call was not admitted. */
  readonly commandOf: (admitted: Admitted | null, keys: LockedCalls) => Read<ShortenCommand> | null;
}

/** The state that a group's transaction reads under its locks. */
type Locked = readonly [
  keys: LockedCalls,
  domains: ReadonlyMap<string, LockedDomain>,
  records: readonly (IdempotencyRecord | null)[],
  taken: ReadonlySet<string>,
  reusable: ReadonlyMap<string, ReusedLink>,
];

/**
 * Creates links: admission, alias, monthly quota, event and idempotency record in one transaction. If it fails, no call is
 * spent. Lock order: meters, keys, domains, links, partitions of the log; each in the order of its key.
 */
export const createShortenHandler = <Request = never>(
  deps: ShortenDeps,
  calls: CallDecider<Request> | null = null,
) => {
  const { pool, outbox, clock, generateCode } = deps;
  /** Decides the calls of a group, and then the links of the admitted ones. */
  const decideLocked = (
    items: readonly Item[],
    [keys, domains, records, taken, reusable]: Locked,
  ): Write<readonly CreationResult[]> => {
    const { now } = keys.time;
    const unadmitted = items.flatMap(({ call }) => call ?? []);
    const group = calls && admitGroup(keys, unadmitted, calls.admission.table);
    const admitted = [...(group?.admitted ?? [])];
    const spent = group?.spent ?? new Set();
    const links = openGroup({ taken, domains, reusable, now }, { generateCode, newId });
    const decided = items.map(({ keyHash, call, commandOf }, index) => {
      const outcome = (call && admitted.shift()) ?? null;
      const read = commandOf(outcome, keys);
      const record = records[index] ?? null;
      const command = read?.type === 'read' && !record ? read.value : null;
      const meter = keys.meters.get(keys.keys.get(keyHash)?.rootId ?? '') ?? null;
      const outcomes = (command?.links ?? []).map((link) =>
        links.decideLink(link, command?.linkLimit ?? null, meter),
      );
      const events = outcomes.flatMap(createdBy);
      if (meter && events.length > 0) spent.add(meter);
      const newRecord = command && recordToStore(command, outcomes);
      return { admitted: outcome, read, record, outcomes, events, newRecord };
    });
    const saved = [
      ...insertLinks([...links.ledgerLinks.values()]),
      ...saveMeters(spent),
      ...saveRecords(
        decided.flatMap(({ newRecord }) => newRecord ?? []),
        now,
      ),
      ...(group ? countCalls(group, now) : []),
    ];
    const recorded = writeAfter(saved, outbox.record(decided.flatMap(({ events }) => events)));
    const write = mapResult(recorded, (position) =>
      decided.map(({ admitted: call, read, record, outcomes, events }): CreationResult => {
        if (read?.type !== 'read') return { admitted: call, result: read };
        if (record) return { admitted: call, result: { type: 'recorded', record } };
        // A command waits for its own events only: another partition may be stalled.
        const outboxPosition = outbox.positionOf(events, position);
        const decision = { outcomes, outboxPosition, liveIn: liveIn(domains) };
        return { admitted: call, result: { type: 'decided', ...decision } };
      }),
    );
    return {
      ...write,
      afterCommit() {
        if (group) calls.admission.remember(group);
        write.afterCommit?.();
      },
    };
  };

  /**
   * Decides a group in one transaction. Reads whether the subjects of `contested` are taken.
   *
   * @throws an error for which `isSubjectTaken` is true if another transaction took a subject
   */
  const decide = (items: readonly Item[], contested: readonly string[]) => {
    const links = items.flatMap((item) => item.links);
    const hashes = items.map(({ keyHash }) => keyHash);
    const scopes = items.map(({ scope }) => scope);
    const domains = links.flatMap(({ subject }) => linkOfSubject(subject).domain ?? []);
    // Requests with the same Idempotency-Key, or the same destination to reuse, wait for the lock of their meter.
    const lock = (tx: Client): Promise<Locked> =>
      Promise.all([
        lockCalls(tx, hashes, clock),
        lockActiveDomains(tx, [...new Set(domains)]),
        findRecords(tx, scopes, clock),
        findTaken(tx, contested),
        findAllReusable(tx, outbox, links),
      ]);
    return traced(pool, items, () =>
      lockingTransaction(pool, lock, (locked) => decideLocked(items, locked)),
    );
  };

  const run = async (items: readonly Item[]) => {
    const links = items.flatMap((item) => item.links);
    // A generated code is almost always free.
    let contested = links.filter(({ data }) => data.custom);
    for (;;) {
      try {
        return await decide(
          items,
          contested.map(({ subject }) => subject),
        );
      } catch (error) {
        // The next attempt generates other codes for unadmitted requests.
        if (!isSubjectTaken(error)) throw error;
        contested = links;
      }
    }
  };

  // A batch of links is one command.
  const batcher = createBatcher({ maxBatch: 200, maxWaiting: 5_000, run, mayBeCausedByOneCommand });
  return {
    /** Creates the links of an operator or of an admitted call, whose key may have ended since. */
    shorten: async (command: ShortenCommand): Promise<ShortenResult> => {
      const { keyHash, links, idempotency } = command;
      const { result } = await batcher.submit({
        ...{ keyHash, call: null, links, scope: idempotency?.scope ?? null },
        // The links of a command have the same cause.
        traceparent: links[0]?.metadata.traceparent,
        commandOf: (_admitted, { keys }) =>
          keyHash === null || keys.has(keyHash)
            ? { type: 'read', value: command }
            : refusedWith(keyInvalid),
      });
      if (!result) throw new Error('the command of an admitted call has no result');
      return result;
    },
    /** Admits a call, and creates its link. */
    admitAndCreate: async ({
      call,
      request,
      traceparent,
    }: UnadmittedRequest<Request>): Promise<CreationResult & { readonly admitted: Admitted }> => {
      const { admitted, result } = await batcher.submit({
        ...{ keyHash: call.keyHash, call, links: [], scope: null, traceparent },
        commandOf: (outcome) =>
          calls && outcome?.admission.type === 'admitted'
            ? calls.commandOf(request, outcome.admission.call, outcome.platform)
            : null,
      });
      if (!admitted) throw new Error('the call has no outcome');
      return { admitted, result };
    },
  };
};
