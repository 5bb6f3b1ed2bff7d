import { createBatcher } from '../../../ops/platform/concurrency/batcher.js';
import { ledgerNow, type LedgerClock } from '../../../ops/ledger/clock.js';
import { lockMeters, saveMeters, type LockedMeter } from '../../../ops/ledger/meters.js';
import { findTaken, insertLinks, isCodeTaken } from '../../../ops/ledger/links.js';
import { newId } from '../../../ops/platform/new-id.js';
import {
  noPosition,
  type Outbox,
  type OutboxPosition,
} from '../../../ops/event-log/outbox/port.js';
import { mayBeCausedByOneCommand } from '../../../ops/platform/error-codes.js';
import { lockingTransaction, type Client, type Pool } from '../../../ops/platform/postgres/pool.js';
import { mapResult, writeAfter, type Write } from '../../../ops/platform/postgres/statement.js';
import type { EventNamed } from '../../../schemas/events/catalogue.js';
import type { CommandRequest } from '../../../schemas/decision.js';
import type { LedgerLink } from '../../../schemas/folds/ledger-link.js';
import {
  createLinkDecider,
  type CreateLink,
  type ReusedLink,
  type ShortenOutcome,
  answerOf,
  isStorable,
  outlineOf,
  type AnswerForm,
} from './command.js';
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
  /** The root key. */
  readonly keyId: string;
  /** The plan's monthly links; `null` for no limit. */
  readonly linkLimit: number | null;
  readonly links: readonly CommandRequest<CreateLink>[];
  /** `null` without an Idempotency-Key. `form` builds the stored response. */
  readonly idempotency: (IdempotentRequest & { readonly form: AnswerForm }) | null;
}

export type ShortenResult =
  | {
      readonly type: 'decided';
      readonly outcomes: readonly ShortenOutcome[];
      /** Position of the group's events. */
      readonly outboxPosition: OutboxPosition;
    }
  /** An idempotency record exists. */
  | { readonly type: 'answered'; readonly answer: IdempotencyRecord };

/** A request whose call is admitted in the transaction that creates its link. */
export interface UnadmittedRequest<Request> {
  readonly call: CallByHash;
  readonly request: Request;
}

export interface AdmittedCreation {
  readonly admitted: Admitted;
  /** `null` if the call was not admitted. */
  readonly result: ShortenResult | Refused | null;
}

export type ShortenHandler = ReturnType<typeof createShortenHandler>;

/** Commands in a group; a batch of 50 links is one command. */
const maxGroup = 200;
const maxWaiting = 5_000;

const nameOf = ({ account, url }: Destination): string => `${account}\n${url}`;

/** A link of a group, and its outcome when the group is decided. */
interface Candidate {
  create: CommandRequest<CreateLink>;
  readonly linkLimit: number | null;
  readonly meter: LockedMeter;
  outcome?: ShortenOutcome;
}

/**
 * Decides the links in their order; codes that are not in `taken` count as free. Returns the rows to insert. Later
 * requests with `reuse` reuse a link that the group creates.
 */
const decideGroup = (
  candidates: readonly Candidate[],
  { taken, reusable, now }: Pick<Locked, 'taken' | 'reusable' | 'now'>,
  generateCode: () => string,
): readonly LedgerLink[] => {
  const reused = new Map(reusable);
  const ledgerLinks = new Map<string, LedgerLink>();
  const inUse = (code: string): boolean => taken.has(code) || ledgerLinks.has(code);
  for (const candidate of candidates) {
    const { meter, linkLimit } = candidate;
    const { data } = candidate.create;
    const found = data.reuse ? reused.get(nameOf(data)) : undefined;
    if (found) {
      candidate.outcome = { type: 'reused', link: found };
      continue;
    }
    if (linkLimit !== null && meter.links >= linkLimit) {
      candidate.outcome = { type: 'linksExhausted' };
      continue;
    }
    while (!data.custom && inUse(candidate.create.subject)) {
      candidate.create = { ...candidate.create, subject: generateCode() };
    }
    const { create } = candidate;
    if (inUse(create.subject)) {
      candidate.outcome = { type: 'aliasTaken' };
      continue;
    }
    const metadata = { ...create.metadata, now, id: newId() };
    const { initialState, decide, evolve } = createLinkDecider;
    const decision = decide({ ...create, metadata }, initialState);
    const event = decision.type === 'accepted' ? decision.events[0] : undefined;
    if (!event)
      throw new Error(`decide() returned ${decision.type} for the unused code ${create.subject}`);
    const ledgerLink = evolve(initialState, event);
    if (ledgerLink.status === 'none')
      throw new Error(`evolve() returned no link for LinkCreated of ${create.subject}`);
    ledgerLinks.set(create.subject, ledgerLink);
    meter.links += 1;
    meter.allLinks += 1;
    candidate.outcome = { type: 'created', event };
    if (data.reuse) {
      reused.set(nameOf(data), { code: create.subject, url: data.url, createdAt: event.time });
    }
  }
  return [...ledgerLinks.values()];
};

const admittedAt = (admitted: readonly Admitted[], index: number): Admitted => {
  const outcome = admitted[index];
  if (!outcome)
    throw new Error(`decideIn() returned ${admitted.length} outcomes; none for call ${index}`);
  return outcome;
};

const outcomeOf = ({ outcome }: Candidate): ShortenOutcome => {
  if (!outcome) throw new Error('decideGroup() left a link without an outcome');
  return outcome;
};

const createdBy = (outcome: ShortenOutcome): readonly EventNamed<'LinkCreated'>[] =>
  outcome.type === 'created' ? [outcome.event] : [];

const codeOf = (outcome: ShortenOutcome): string | null => {
  if (outcome.type === 'created') return outcome.event.subject;
  return outcome.type === 'reused' ? outcome.link.code : null;
};

/** The idempotency record of a response; `null` if a retry must be decided again. */
const recordToStore = (
  { idempotency }: ShortenCommand,
  outcomes: readonly ShortenOutcome[],
): IdempotencyRecord | null => {
  if (!idempotency) return null;
  const { scope, bodyHash, form } = idempotency;
  const answer = answerOf(form, outcomes);
  if (!answer || !isStorable(answer)) return null;
  const codes = outcomes.flatMap((outcome) => codeOf(outcome) ?? []);
  const { status } = answer;
  const text = JSON.stringify(answer.body);
  const isOutline = answer.type === 'batch' && Buffer.byteLength(text) > maxRecordBytes;
  const stored = isOutline ? JSON.stringify(outlineOf(answer.body)) : text;
  return { ...scope, bodyHash, status, answer: stored, isOutline, codes };
};

interface ShortenDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
  readonly generateCode: () => string;
}

/** What the transaction of a group reads, with the locks held. */
interface Locked {
  readonly meters: ReadonlyMap<string, LockedMeter>;
  /** The meters to save. */
  readonly spent: Set<LockedMeter>;
  readonly now: Date;
  /** The idempotency records of the commands. */
  readonly answered: readonly (IdempotencyRecord | null)[];
  readonly taken: ReadonlySet<string>;
  /** Links for requests with `reuse`, by `nameOf`. */
  readonly reusable: ReadonlyMap<string, ReusedLink>;
}

/** Decides commands. Returns the write. */
const decideLocked = (
  { outbox, generateCode }: ShortenDeps,
  commands: readonly ShortenCommand[],
  locked: Locked,
): Write<readonly ShortenResult[]> => {
  const { meters, spent, now, answered } = locked;
  const candidates = commands.map(({ keyId, linkLimit, links }, index) => {
    const meter = meters.get(keyId);
    if (!meter) throw new Error(`The key ${keyId} has no meter`);
    return answered[index] ? [] : links.map((create): Candidate => ({ create, linkLimit, meter }));
  });
  const ledgerLinks = decideGroup(candidates.flat(), locked, generateCode);
  for (const { outcome, meter } of candidates.flat()) {
    if (outcome?.type === 'created') spent.add(meter);
  }
  const decided = candidates.map((links) => links.map(outcomeOf));
  const events = decided.flat().flatMap(createdBy);
  const answers = commands.flatMap((command, index) =>
    answered[index] ? [] : (recordToStore(command, decided[index] ?? []) ?? []),
  );
  const saved = [...insertLinks(ledgerLinks), ...saveMeters(spent), ...saveRecords(answers, now)];
  return mapResult(writeAfter(saved, outbox.record(events)), (outboxPosition) =>
    decided.map((outcomes, index) => {
      const answer = answered[index];
      if (answer) return { type: 'answered', answer };
      const isRecorded = outcomes.some(({ type }) => type === 'created');
      return {
        type: 'decided',
        outcomes,
        outboxPosition: isRecorded ? outboxPosition : noPosition,
      };
    }),
  );
};

/**
 * Creates links: alias, monthly quota, event and idempotency record in one transaction. Lock order: meters, keys, links,
 * partitions of the log; each in the order of its key.
 */
export const createShortenHandler = (deps: ShortenDeps) => {
  const { pool, outbox, clock } = deps;

  /** The lock of the meter excludes other requests of the key. */
  const findAllReusable = async (
    tx: Client,
    commands: readonly ShortenCommand[],
  ): Promise<Locked['reusable']> => {
    const wanted = new Map(
      commands
        .flatMap(({ links }) => links.filter(({ data }) => data.reuse))
        .map(({ data }) => [nameOf(data), data]),
    );
    const found = new Map<string, ReusedLink>();
    if (wanted.size === 0) return found;
    const now = await ledgerNow(tx);
    for (const [name, create] of wanted) {
      const link = await findReusable(tx, outbox, create, now);
      if (link) found.set(name, link);
    }
    return found;
  };

  /**
   * Decides a group in one transaction. Reads whether the codes of `contested` are taken.
   *
   * @throws an error for which `isCodeTaken` is true if another transaction took a code
   */
  const decide = (
    commands: readonly ShortenCommand[],
    contested: readonly string[],
  ): Promise<readonly ShortenResult[]> =>
    lockingTransaction(
      pool,
      (tx) => {
        const keyIds = commands.map(({ keyId }) => keyId);
        // The lock of the meter excludes other requests with the same Idempotency-Key.
        const scopes = commands.map(({ idempotency }) => idempotency?.scope ?? null);
        return Promise.all([
          lockMeters(tx, keyIds, clock),
          findRecords(tx, scopes, clock),
          findTaken(tx, contested),
          findAllReusable(tx, commands),
        ]);
      },
      ([locked, answered, taken, reusable]) =>
        decideLocked(deps, commands, { ...locked, spent: new Set(), answered, taken, reusable }),
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
        if (!isCodeTaken(error)) throw error;
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
  /** The command of an admitted request. Pure: a retried transaction calls it again. No alias, no Idempotency-Key. */
  readonly commandOf: (
    request: Request,
    call: AdmittedCall,
    platform: PlatformSwitches,
  ) => Read<ShortenCommand>;
}) => {
  const decide = (
    requests: readonly UnadmittedRequest<Request>[],
  ): Promise<readonly AdmittedCreation[]> =>
    lockingTransaction(
      deps.pool,
      (tx) =>
        admission.decideIn(
          tx,
          requests.map(({ call }) => call),
        ),
      (group) => {
        const { admitted, meters, spent, now, cache } = group;
        const commands = requests.map(({ request }, index) => {
          const { admission: outcome, platform } = admittedAt(admitted, index);
          return outcome.type === 'admitted' ? commandOf(request, outcome.call, platform) : null;
        });
        const accepted = commands.flatMap((command) =>
          command?.type === 'read' ? [command.value] : [],
        );
        const locked = { answered: [], taken: new Set<string>(), reusable: new Map() };
        const decided = decideLocked(deps, accepted, { meters, spent, now, ...locked });
        const write = mapResult(writeAfter(countCalls(group), decided), (results) => {
          const created = [...results];
          return commands.map((command, index): AdmittedCreation => ({
            admitted: admittedAt(admitted, index),
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
    );

  const run: typeof decide = async (requests) => {
    for (;;) {
      try {
        return await decide(requests);
      } catch (error) {
        // The next attempt generates other codes.
        if (!isCodeTaken(error)) throw error;
      }
    }
  };

  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBeCausedByOneCommand });
  return {
    admitAndCreate: (request: UnadmittedRequest<Request>) => batcher.submit(request),
  };
};
