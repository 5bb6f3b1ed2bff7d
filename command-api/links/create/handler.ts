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
} from '../../admission/admission.js';
import {
  findRecords,
  maxRecordBytes,
  saveRecords,
  type IdempotentRequest,
  type IdempotencyRecord,
} from '../../admission/idempotency-records.js';
import { findReusable, type Destination } from './reusable-links.js';

/** One request: a link, or the links of a batch, each with its own outcome. */
export interface ShortenCommand {
  /** The root key. */
  readonly keyId: string;
  /** The plan's monthly links; `null` for no limit. */
  readonly linkLimit: number | null;
  readonly links: readonly CommandRequest<CreateLink>[];
  /** `null` for a request without an Idempotency-Key; `form` makes the answer that is kept. */
  readonly idempotency: (IdempotentRequest & { readonly form: AnswerForm }) | null;
}

export type ShortenResult =
  | {
      readonly type: 'decided';
      readonly outcomes: readonly ShortenOutcome[];
      /** Of the links that were made, and those decided together with them. */
      readonly outboxPosition: OutboxPosition;
    }
  /** The same request was answered before, perhaps by another node a moment ago. */
  | { readonly type: 'answered'; readonly answer: IdempotencyRecord };

/** A request whose call is admitted in the transaction that decides about its link. */
export interface UnadmittedRequest {
  readonly call: CallByHash;
  /**
   * The command, once the call was decided about; `null`: the request goes no further. It is called again where
   * the transaction is. The link has no alias, and the request no Idempotency-Key.
   */
  readonly commandFor: (admitted: Admitted) => ShortenCommand | null;
}

export type ShortenHandler = ReturnType<typeof createShortenHandler>;

/** Commands in a group; a batch of 50 links is one command. */
const maxGroup = 200;
const maxWaiting = 5_000;

const nameOf = ({ account, url }: Destination): string => `${account}\n${url}`;

/** A link of a group; it gets its outcome when the group is decided. */
interface Candidate {
  create: CommandRequest<CreateLink>;
  readonly linkLimit: number | null;
  readonly meter: LockedMeter;
  outcome?: ShortenOutcome;
}

/**
 * Gives each link its outcome, one after the other, as if every code were free that is not in
 * `taken`. Returns the rows to insert. A link that a request with `reuse` creates is reused by the later ones.
 */
const plan = (
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
      throw new Error(`CreateLink was ${decision.type} for the free code ${create.subject}`);
    const ledgerLink = evolve(initialState, event);
    if (ledgerLink.status === 'none') throw new Error(`LinkCreated left ${create.subject} free`);
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

const outcomeOf = ({ outcome }: Candidate): ShortenOutcome => {
  if (!outcome) throw new Error('A link was left undecided');
  return outcome;
};

const createdBy = (outcome: ShortenOutcome): readonly EventNamed<'LinkCreated'>[] =>
  outcome.type === 'created' ? [outcome.event] : [];

const codeOf = (outcome: ShortenOutcome): string | null => {
  if (outcome.type === 'created') return outcome.event.subject;
  return outcome.type === 'reused' ? outcome.link.code : null;
};

/** What is kept of a request's answer; `null` where a retry is decided anew. */
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

/** What the transaction of a group has locked and read. */
interface Locked {
  readonly meters: ReadonlyMap<string, LockedMeter>;
  /** The meters that are to be saved. */
  readonly spent: Set<LockedMeter>;
  readonly now: Date;
  /** The commands' answers of before. */
  readonly answered: readonly (IdempotencyRecord | null)[];
  readonly taken: ReadonlySet<string>;
  /** The links that requests with `reuse` get, by `nameOf`. */
  readonly reusable: ReadonlyMap<string, ReusedLink>;
}

/** Decides commands; returns what to write of them. */
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
  const ledgerLinks = plan(candidates.flat(), locked, generateCode);
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
      const made = outcomes.some(({ type }) => type === 'created');
      return { type: 'decided', outcomes, outboxPosition: made ? outboxPosition : noPosition };
    }),
  );
};

/**
 * Creates links: alias, monthly quota, event and kept answer in one transaction. Locks are taken in one order
 * everywhere: the keys' meters, the keys, the codes, the log's partitions; each in the order of its own keys.
 */
export const createShortenHandler = (deps: ShortenDeps) => {
  const { pool, outbox, clock } = deps;

  /** With the key's meter locked, no rival of the key can create such a link meanwhile. */
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
   * Decides a group in one transaction, in which `rivalled` codes may be taken already.
   *
   * @throws an error that `isCodeTaken` recognises: another group took a code meanwhile
   */
  const decide = (
    commands: readonly ShortenCommand[],
    rivalled: readonly string[],
  ): Promise<readonly ShortenResult[]> =>
    lockingTransaction(
      pool,
      (tx) => {
        const keyIds = commands.map(({ keyId }) => keyId);
        // With the key's meter locked, no rival can answer the same request meanwhile.
        const scopes = commands.map(({ idempotency }) => idempotency?.scope ?? null);
        return Promise.all([
          lockMeters(tx, keyIds, clock),
          findRecords(tx, scopes, clock),
          findTaken(tx, rivalled),
          findAllReusable(tx, commands),
        ]);
      },
      ([locked, answered, taken, reusable]) =>
        decideLocked(deps, commands, { ...locked, spent: new Set(), answered, taken, reusable }),
    );

  const run = async (commands: readonly ShortenCommand[]): Promise<readonly ShortenResult[]> => {
    const links = commands.flatMap((command) => command.links);
    // A generated code is as good as free.
    let rivalled = links.filter(({ data }) => data.custom);
    for (;;) {
      try {
        return await decide(
          commands,
          rivalled.map(({ subject }) => subject),
        );
      } catch (error) {
        if (!isCodeTaken(error)) throw error;
        rivalled = links;
      }
    }
  };

  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBeCausedByOneCommand });
  return { shorten: (command: ShortenCommand) => batcher.submit(command) };
};

/** Admits calls and creates their links in one transaction: where that fails, no call was spent. */
export const createAdmittingShortenHandler = (
  deps: ShortenDeps & { readonly admission: Pick<Admission, 'decideIn'> },
) => {
  const decide = (
    requests: readonly UnadmittedRequest[],
  ): Promise<readonly (ShortenResult | null)[]> => {
    const calls = requests.map(({ call }) => call);
    return lockingTransaction(
      deps.pool,
      (tx) => deps.admission.decideIn(tx, calls),
      (group) => {
        const { admitted, meters, spent, now, remember } = group;
        const commands = requests.map(({ commandFor }, index) => {
          const one = admitted[index];
          return one ? commandFor(one) : null;
        });
        const admittedCommands = commands.filter((command) => command !== null);
        // Such a request has no alias, and no `reuse`.
        const none = { answered: [], taken: new Set<string>(), reusable: new Map() };
        const locked = { meters, spent, now, ...none };
        const decided = decideLocked(deps, admittedCommands, locked);
        const write = mapResult(writeAfter(countCalls(group), decided), (decidedResults) => {
          const results = [...decidedResults];
          return commands.map((command) => command && (results.shift() ?? null));
        });
        return {
          ...write,
          afterCommit() {
            remember();
            decided.afterCommit?.();
          },
        };
      },
    );
  };

  const run: typeof decide = async (requests) => {
    for (;;) {
      try {
        return await decide(requests);
      } catch (error) {
        // Each time, other codes are generated.
        if (!isCodeTaken(error)) throw error;
      }
    }
  };

  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBeCausedByOneCommand });
  return { admitAndShorten: (request: UnadmittedRequest) => batcher.submit(request) };
};
