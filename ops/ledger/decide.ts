import { newId } from '../platform/new-id.js';
import type {
  Actor,
  Command,
  CommandRequest,
  Decider,
  Decision,
  Refusal,
} from '../../schemas/decision.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { only } from '../platform/collections.js';
import { createBatcher } from '../platform/concurrency/batcher.js';
import { mayBeCausedByOneCommand } from '../platform/error-codes.js';
import type { Outbox, OutboxPosition } from '../event-log/outbox/port.js';
import {
  execute,
  lockingTransaction,
  transaction,
  type Client,
  type Pool,
} from '../platform/postgres/pool.js';
import {
  mapResult,
  writeAfter,
  writeOnly,
  type Statement,
  type Write,
} from '../platform/postgres/statement.js';
import { notifyChanges, type Change } from './changes.js';
import { ledgerNow, type LedgerClock } from './clock.js';
import { traced } from './traced.js';

/** The schema of a ledger; `pg_temp` is private to a session. */
export type LedgerSchema = 'ledger' | 'pg_temp';

/** Reads and writes one kind of state. */
export interface LedgerRows<State, Event extends LinklogEvent> {
  /** Locks the subjects' rows with its first statement, always in the same order. */
  readonly lock: (
    tx: Client,
    subjects: readonly string[],
    schema?: LedgerSchema,
  ) => Promise<ReadonlyMap<string, State>>;
  /** Writes states whose rows are locked. */
  readonly save: (
    states: ReadonlyMap<string, State>,
    schema?: LedgerSchema,
  ) => readonly Statement[];
  /** Returns the change that invalidates caches; `null` if the event affects none. */
  readonly changeOf?: (event: Event) => Change | null;
}

interface Decided<Decidable extends Command, Event, State, Refused extends Refusal> {
  readonly command: Decidable;
  readonly decision: Decision<Event, Refused>;
  readonly state: State;
}

interface DecidedGroup<Decidable extends Command, Event, State, Refused extends Refusal> {
  /** The results in the order of the commands. */
  readonly results: readonly Decided<Decidable, Event, State, Refused>[];
  readonly outboxPosition: OutboxPosition;
}

/** Decisions that are not written yet. */
interface Prepared<Decidable extends Command, Event, State, Refused extends Refusal> {
  readonly results: readonly Decided<Decidable, Event, State, Refused>[];
  readonly statements: readonly Statement[];
  readonly events: readonly Event[];
}

type AnyPrepared = Pick<Prepared<Command, LinklogEvent, unknown, Refusal>, 'statements' | 'events'>;

interface LockedStates<State> {
  readonly states: ReadonlyMap<string, State>;
  readonly now: Date;
}

/** Locks the subjects of commands, then reads PostgreSQL's clock. */
const lockStates = async <State, Event extends LinklogEvent>(
  tx: Client,
  rows: LedgerRows<State, Event>,
  commands: readonly { readonly subject: string }[],
  clock?: LedgerClock,
): Promise<LockedStates<State>> => {
  const subjects = [...new Set(commands.map(({ subject }) => subject))];
  const [states, now] = await Promise.all([rows.lock(tx, subjects), ledgerNow(tx)]);
  return { states, now: clock?.clampedNow(now) ?? now };
};

/** Decides commands in order. Returns the statements that save and notify, and the events to record. */
const decideStates = <
  Decidable extends Command,
  Event extends LinklogEvent,
  State,
  Refused extends Refusal,
>(
  rows: LedgerRows<State, Event>,
  { initialState, decide, evolve }: Decider<Decidable, Event, State, Refused>,
  requests: readonly CommandRequest<Decidable>[],
  locked: LockedStates<State>,
): Prepared<Decidable, Event, State, Refused> => {
  const states = new Map(locked.states);
  const changed = new Map<string, State>();
  const events: Event[] = [];
  const results = requests.map((request) => {
    const metadata = { ...request.metadata, now: locked.now, id: newId() };
    const command = { ...request, metadata } as unknown as Decidable;
    const before = states.get(command.subject) ?? initialState;
    const decision = decide(command, before);
    if (decision.type !== 'accepted') return { command, decision, state: before };
    const state = decision.events.reduce(evolve, before);
    states.set(command.subject, state);
    changed.set(command.subject, state);
    events.push(...decision.events);
    return { command, decision, state };
  });
  const changes = events.flatMap((event) => rows.changeOf?.(event) ?? []);
  const saved = changed.size > 0 ? rows.save(changed) : [];
  return { results, statements: [...saved, ...notifyChanges(changes)], events };
};

/** Saves and records decisions. Once in a transaction, as its last step, because recording locks partitions of the log. */
const record = (outbox: Outbox, prepared: readonly AnyPrepared[]): Write<OutboxPosition> =>
  writeAfter(
    prepared.flatMap(({ statements }) => statements),
    outbox.record(prepared.flatMap(({ events }) => events)),
  );

/** Locks and decides commands in a transaction that decides commands of several kinds. `recordIn` writes them. */
export const prepareIn = async <
  Decidable extends Command,
  Event extends LinklogEvent,
  State,
  Refused extends Refusal,
>(
  tx: Client,
  rows: LedgerRows<State, Event>,
  decider: Decider<Decidable, Event, State, Refused>,
  commands: readonly CommandRequest<Decidable>[],
): Promise<Prepared<Decidable, Event, State, Refused>> =>
  commands.length === 0
    ? { results: [], statements: [], events: [] }
    : decideStates(rows, decider, commands, await lockStates(tx, rows, commands));

/** Writes prepared decisions as the last step of a transaction, because recording locks partitions of the log. */
export const recordIn = (
  tx: Client,
  outbox: Outbox,
  ...prepared: readonly AnyPrepared[]
): Promise<OutboxPosition> => execute(tx, record(outbox, prepared));

/** Decides one command as the last step of a transaction, because recording locks partitions of the log. */
export const decideOneIn = async <
  Decidable extends Command,
  Event extends LinklogEvent,
  State,
  Refused extends Refusal,
>(
  tx: Client,
  outbox: Outbox,
  rows: LedgerRows<State, Event>,
  decider: Decider<Decidable, Event, State, Refused>,
  command: CommandRequest<Decidable>,
) => {
  const { results, ...prepared } = await prepareIn(tx, rows, decider, [command]);
  return { ...only(results), outboxPosition: await recordIn(tx, outbox, prepared) };
};

export interface Ledger {
  readonly pool: Pool;
  readonly outbox: Outbox;
  /** The clock of decisions that depend on the month: a jump forward must not start the next month. */
  readonly clock?: LedgerClock;
}

/** Decides commands in a new transaction, in their order. */
export const decideAll = <
  Decidable extends Command,
  Event extends LinklogEvent,
  State,
  Refused extends Refusal,
>(
  { pool, outbox, clock }: Ledger,
  rows: LedgerRows<State, Event>,
  decider: Decider<Decidable, Event, State, Refused>,
  commands: readonly CommandRequest<Decidable>[],
): Promise<DecidedGroup<Decidable, Event, State, Refused>> =>
  traced(
    pool,
    commands.map(({ metadata }) => metadata),
    () =>
      lockingTransaction(
        pool,
        (tx) => lockStates(tx, rows, commands, clock),
        (locked) => {
          const { results, ...prepared } = decideStates(rows, decider, commands, locked);
          return mapResult(record(outbox, [prepared]), (outboxPosition) => ({
            ...{ results, outboxPosition },
          }));
        },
      ),
  );

/** Decides one command in a new transaction. */
export const decideOne = async <
  Decidable extends Command,
  Event extends LinklogEvent,
  State,
  Refused extends Refusal,
>(
  ledger: Ledger,
  rows: LedgerRows<State, Event>,
  decider: Decider<Decidable, Event, State, Refused>,
  command: CommandRequest<Decidable>,
) => {
  const { results, outboxPosition } = await decideAll(ledger, rows, decider, [command]);
  return { ...only(results), outboxPosition };
};

interface LockedRequest<Decidable extends Command, State> {
  readonly subject: string;
  readonly metadata: Actor;
  /** Returns the command, with what its decision needs. It gets the state of the subject under the lock. */
  readonly commandOf: (tx: Client, state: State) => Promise<Pick<Decidable, 'type' | 'data'>>;
}

/**
 * Decides commands of rows whose lock others wait for. One transaction decides a group of them, because each request that
 * waits for the lock would hold a connection. `commandOf` sees what the commands before it have saved.
 */
export const createLockedDecisions = <
  Decidable extends Command,
  Event extends LinklogEvent,
  State,
  Refused extends Refusal,
>(
  { pool, outbox }: Ledger,
  rows: LedgerRows<State, Event>,
  decider: Decider<Decidable, Event, State, Refused>,
) => {
  const decideIn = async (tx: Client, requests: readonly LockedRequest<Decidable, State>[]) => {
    const { states: locked, now } = await lockStates(tx, rows, requests);
    const states = new Map(locked);
    const events: Event[] = [];
    const results: Decided<Decidable, Event, State, Refused>[] = [];
    let saved = Promise.resolve();
    for (const { subject, metadata, commandOf } of requests) {
      const state = states.get(subject) ?? decider.initialState;
      // One round trip for each command: its reads follow the writes of the previous one.
      const [given] = await Promise.all([commandOf(tx, state), saved]);
      const request = { ...given, subject, metadata } as CommandRequest<Decidable>;
      const prepared = decideStates(rows, decider, [request], { states, now });
      const result = only(prepared.results);
      states.set(subject, result.state);
      results.push(result);
      events.push(...prepared.events);
      saved = execute(tx, writeOnly(prepared.statements));
    }
    await saved;
    const outboxPosition = await recordIn(tx, outbox, { statements: [], events });
    return results.map((result) => ({ ...result, outboxPosition }));
  };
  return createBatcher({
    ...{ maxBatch: 50, maxWaiting: 500, mayBeCausedByOneCommand },
    run: (requests: readonly LockedRequest<Decidable, State>[]) =>
      traced(
        pool,
        requests.map(({ metadata }) => metadata),
        () => transaction(pool, (tx) => decideIn(tx, requests)),
      ),
  });
};
