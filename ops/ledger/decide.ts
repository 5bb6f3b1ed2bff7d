import { newId } from '../platform/new-id.js';
import type { Actor, Decision, DecisionContext } from '../../schemas/decision.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import type { Outbox, Receipt } from '../event-log/outbox/port.js';
import { execute, lockingTransaction, type Client, type Pool } from '../platform/postgres/pool.js';
import {
  mapResult,
  writeAfter,
  type Statement,
  type Write,
} from '../platform/postgres/statement.js';
import { notifyChanges, type Change } from './changes.js';
import { ledgerNow } from './clock.js';

/** Where a ledger's tables are: the live ones, or temporary ones of one session, for a private fold. */
export type LedgerSchema = 'ledger' | 'pg_temp';

/** One kind of state in the ledger: how its rows are locked, folded and saved. */
export interface LedgerState<State, Event extends LinklogEvent> {
  /** Of a subject that has no row. */
  readonly initial: State;
  /** Locks the subjects' rows with its first statement, in one order everywhere, until the transaction ends. */
  readonly lock: (tx: Client, subjects: readonly string[]) => Promise<ReadonlyMap<string, State>>;
  readonly evolve: (state: State, event: Event) => State;
  /** Statements that write states whose rows the transaction has locked. */
  readonly save: (states: ReadonlyMap<string, State>) => readonly Statement[];
  /** What other processes may have cached of it; `null` for an event that concerns no cache. */
  readonly changeOf?: (event: Event) => Change | null;
}

/** A command on one subject. */
export interface LedgerCommand<State, Outcome> extends Actor {
  readonly subject: string;
  readonly decide: (state: State, context: DecisionContext) => Outcome;
}

/** What the commands of a transaction are decided by. */
interface LockedStates<State> {
  readonly states: ReadonlyMap<string, State>;
  readonly now: Date;
}

interface Decided<State, Event, Reason extends string> {
  /** One for each command, in their order, with the state after it. */
  readonly results: readonly {
    readonly decision: Decision<Event, Reason>;
    readonly state: State;
  }[];
  readonly receipt: Receipt;
}

/** Locks the subjects of commands. PostgreSQL reads its clock when it has locked them. */
const lockStates = async <State, Event extends LinklogEvent>(
  tx: Client,
  kind: LedgerState<State, Event>,
  commands: readonly { readonly subject: string }[],
): Promise<LockedStates<State>> => {
  const subjects = [...new Set(commands.map(({ subject }) => subject))];
  const [states, now] = await Promise.all([kind.lock(tx, subjects), ledgerNow(tx)]);
  return { states, now };
};

/** Decides commands one after the other: decide, evolve. Returns what to write: save, notify, record. */
const decideLocked = <State, Event extends LinklogEvent, Reason extends string>(
  outbox: Outbox,
  kind: LedgerState<State, Event>,
  commands: readonly LedgerCommand<State, Decision<Event, Reason>>[],
  locked: LockedStates<State>,
): Write<Decided<State, Event, Reason>> => {
  const states = new Map(locked.states);
  const changed = new Map<string, State>();
  const events: Event[] = [];
  const results = commands.map(({ subject, decide, actor, requestId }) => {
    const before = states.get(subject) ?? kind.initial;
    const decision = decide(before, { now: locked.now, newId, actor, requestId });
    if (decision.type !== 'accepted') return { decision, state: before };
    const state = decision.events.reduce(kind.evolve, before);
    states.set(subject, state);
    changed.set(subject, state);
    events.push(...decision.events);
    return { decision, state };
  });
  const changes = events.flatMap((event) => kind.changeOf?.(event) ?? []);
  const saved = changed.size > 0 ? kind.save(changed) : [];
  const write = writeAfter([...saved, ...notifyChanges(changes)], outbox.record(events));
  return mapResult(write, (receipt) => ({ results, receipt }));
};

/**
 * Decides commands in a transaction that has more to do: lock, decide, evolve, save, notify, record. Recording locks
 * the log's partitions, so call this as the transaction's last step.
 */
export const decideIn = async <State, Event extends LinklogEvent, Reason extends string>(
  tx: Client,
  outbox: Outbox,
  kind: LedgerState<State, Event>,
  commands: readonly LedgerCommand<State, Decision<Event, Reason>>[],
): Promise<Decided<State, Event, Reason>> =>
  execute(tx, decideLocked(outbox, kind, commands, await lockStates(tx, kind, commands)));

export interface Ledger {
  readonly pool: Pool;
  readonly outbox: Outbox;
}

/** Decides commands in a transaction of their own. Several commands on one subject are decided in their order. */
export const decideAll = <State, Event extends LinklogEvent, Reason extends string>(
  { pool, outbox }: Ledger,
  kind: LedgerState<State, Event>,
  commands: readonly LedgerCommand<State, Decision<Event, Reason>>[],
): Promise<Decided<State, Event, Reason>> =>
  lockingTransaction(
    pool,
    (tx) => lockStates(tx, kind, commands),
    (locked) => decideLocked(outbox, kind, commands, locked),
  );

/** Decides one command of `actor` on one subject with a decider. */
export const decideOne = async <State, Event extends LinklogEvent, Reason extends string, Command>(
  ledger: Ledger,
  kind: LedgerState<State, Event>,
  decider: (command: Command, state: State, context: DecisionContext) => Decision<Event, Reason>,
  asked: { readonly subject: string; readonly command: Command; readonly actor: Actor },
) => {
  const { results, receipt } = await decideAll(ledger, kind, [
    {
      ...asked.actor,
      subject: asked.subject,
      decide: (state, context) => decider(asked.command, state, context),
    },
  ]);
  const [result] = results;
  if (!result) throw new Error('decideAll() returned no result for 1 command');
  return { ...result, receipt };
};
