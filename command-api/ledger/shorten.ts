import { v7 as uuidv7 } from 'uuid';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import { findTaken, insertLinks, isCodeTaken } from '../../ops/ledger/links.js';
import { nothingRecorded, type Outbox, type Receipt } from '../../ops/platform/outbox/port.js';
import { lockingTransaction, mayBlameOne, type Pool } from '../../ops/platform/postgres/pool.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { evolveLedgerLink, freeCode, type LedgerLink } from '../../schemas/folds/ledger-link.js';
import {
  decideCreateLink,
  type CreateLink,
  type ShortenOutcome,
  answerOf,
  isKept,
  type AnswerForm,
} from '../domain/link.js';
import {
  findAnswers,
  saveAnswers,
  type IdempotentRequest,
  type KeptAnswer,
} from './kept-answers.js';
import { lockMeters, saveMeters, type LockedMeter } from './meters.js';

/** One request: a link, or the links of a batch, each with its own outcome. */
export interface ShortenCommand {
  /** The root key. */
  readonly keyId: string;
  /** The plan's monthly links; `null` for no limit. */
  readonly linkLimit: number | null;
  readonly links: readonly CreateLink[];
  /** `null` for a request without an Idempotency-Key; `form` makes the answer that is kept. */
  readonly idempotency: (IdempotentRequest & { readonly form: AnswerForm }) | null;
}

export type ShortenResult =
  | {
      readonly type: 'decided';
      readonly outcomes: readonly ShortenOutcome[];
      /** Of the links that were made, and those decided together with them. */
      readonly receipt: Receipt;
    }
  /** The same request was answered before, perhaps by another node a moment ago. */
  | { readonly type: 'answered'; readonly answer: KeptAnswer };

export type ShortenHandler = ReturnType<typeof createShortenHandler>;

/** Commands in a group; a batch of 50 links is one command. */
const maxGroup = 200;
const maxWaiting = 5_000;

/** A link of a group; it gets its outcome when the group is decided. */
interface Candidate {
  create: CreateLink;
  readonly linkLimit: number | null;
  readonly meter: LockedMeter;
  outcome?: ShortenOutcome;
}

/**
 * Gives each link its outcome, one after the other, as if every code were free that is not in
 * `taken`. Returns the rows to insert.
 */
const plan = (
  candidates: readonly Candidate[],
  taken: ReadonlySet<string>,
  now: Date,
  generateCode: () => string,
): readonly LedgerLink[] => {
  const ledgerLinks = new Map<string, LedgerLink>();
  const inUse = (code: string): boolean => taken.has(code) || ledgerLinks.has(code);
  for (const candidate of candidates) {
    const { meter, linkLimit } = candidate;
    if (linkLimit !== null && meter.links >= linkLimit) {
      candidate.outcome = { type: 'linksExhausted' };
      continue;
    }
    while (!candidate.create.custom && inUse(candidate.create.code)) {
      candidate.create = { ...candidate.create, code: generateCode() };
    }
    const { create } = candidate;
    if (inUse(create.code)) {
      candidate.outcome = { type: 'aliasTaken' };
      continue;
    }
    const { actor, requestId } = create;
    const context = { now, newId: uuidv7, actor, requestId };
    const decision = decideCreateLink(create, freeCode, context);
    const event = decision.type === 'accepted' ? decision.events[0] : undefined;
    if (!event) throw new Error('A free code was refused');
    const ledgerLink = evolveLedgerLink(freeCode, event);
    if (ledgerLink.status === 'free') throw new Error('LinkCreated takes its code');
    ledgerLinks.set(create.code, ledgerLink);
    meter.links += 1;
    meter.allLinks += 1;
    candidate.outcome = { type: 'created', event };
  }
  return [...ledgerLinks.values()];
};

const outcomeOf = ({ outcome }: Candidate): ShortenOutcome => {
  if (!outcome) throw new Error('A link was left undecided');
  return outcome;
};

const createdBy = (outcome: ShortenOutcome): readonly EventNamed<'LinkCreated'>[] =>
  outcome.type === 'created' ? [outcome.event] : [];

/** What is kept of a request's answer; `null` where a retry is decided anew. */
const answerToKeep = (
  { idempotency }: ShortenCommand,
  outcomes: readonly ShortenOutcome[],
): KeptAnswer | null => {
  if (!idempotency) return null;
  const { scope, bodyHash, form } = idempotency;
  const answer = answerOf(form, outcomes);
  if (!answer || !isKept(answer)) return null;
  const codes = outcomes.flatMap(createdBy).map(({ subject }) => subject);
  return { ...scope, bodyHash, status: answer.status, answer: JSON.stringify(answer.body), codes };
};

/** Creates links: alias, monthly quota, event and kept answer in one transaction. */
export const createShortenHandler = (options: {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
  readonly generateCode: () => string;
}) => {
  const { pool, outbox, clock, generateCode } = options;

  /**
   * Decides a group of commands in one transaction, in which `rivalled` codes may be taken already. Locks are taken
   * in one order everywhere: the keys' meters, then the codes, then the log's partitions; each in the order
   * of its own keys.
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
          findAnswers(tx, scopes, clock),
          findTaken(tx, rivalled),
        ]);
      },
      async (tx, [{ meters, now }, answered, taken]) => {
        const candidates = commands.map(({ keyId, linkLimit, links }, index) => {
          const meter = meters.get(keyId);
          if (!meter) throw new Error(`The key ${keyId} has no meter`);
          return answered[index]
            ? []
            : links.map((create): Candidate => ({ create, linkLimit, meter }));
        });
        const ledgerLinks = plan(candidates.flat(), taken, now, generateCode);
        const decided = candidates.map((links) => links.map(outcomeOf));
        const events = decided.flat().flatMap(createdBy);
        const answers = commands.flatMap((command, index) =>
          answered[index] ? [] : (answerToKeep(command, decided[index] ?? []) ?? []),
        );
        const [, , , receipt] = await Promise.all([
          insertLinks(tx, ledgerLinks),
          events.length > 0 ? saveMeters(tx, meters.values()) : null,
          saveAnswers(tx, answers, now),
          outbox.record(tx, events),
        ]);
        return decided.map((outcomes, index) => {
          const answer = answered[index];
          if (answer) return { type: 'answered', answer };
          const made = outcomes.some(({ type }) => type === 'created');
          return { type: 'decided', outcomes, receipt: made ? receipt : nothingRecorded };
        });
      },
    );

  const run = async (commands: readonly ShortenCommand[]): Promise<readonly ShortenResult[]> => {
    const links = commands.flatMap((command) => command.links);
    // A generated code is as good as free.
    let rivalled = links.filter(({ custom }) => custom);
    for (;;) {
      try {
        return await decide(
          commands,
          rivalled.map(({ code }) => code),
        );
      } catch (error) {
        if (!isCodeTaken(error)) throw error;
        rivalled = links;
      }
    }
  };

  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBlameOne });
  return { shorten: (command: ShortenCommand) => batcher.submit(command) };
};
