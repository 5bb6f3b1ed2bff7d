import { newId } from '../platform/new-id.js';
import type { Actor, Decision, DecisionContext } from '../../schemas/decision.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { nothingRecorded, type Outbox } from '../platform/outbox/port.js';
import { transaction, type Client, type Pool } from '../platform/postgres/pool.js';
import { notifyChanges, type Change } from './changes.js';
import { ledgerNow } from './clock.js';

/** Where a ledger's tables are: the live ones, or temporary ones of one session, for a private fold. */
export type LedgerSchema = 'ledger' | 'pg_temp';

/** One kind of state in the ledger: how its rows are locked, folded and saved. */
export interface LedgerState<State, Event extends LinklogEvent> {
  /** Of a subject that has no row. */
  readonly initial: State;
  /** Locks the subjects' rows, in one order everywhere, until the transaction ends. */
  readonly lock: (tx: Client, subjects: readonly string[]) => Promise<ReadonlyMap<string, State>>;
  readonly evolve: (state: State, event: Event) => State;
  readonly save: (tx: Client, states: ReadonlyMap<string, State>) => Promise<void>;
  /** What other processes may have cached of it; `null` for an event that concerns no cache. */
  readonly changeOf?: (event: Event) => Change | null;
}

/** A command on one subject. */
export interface LedgerCommand<State, Outcome> extends Actor {
  readonly subject: string;
  readonly decide: (state: State, context: DecisionContext) => Outcome;
}

/**
 * Runs commands in a transaction: lock, decide, evolve, save, notify, record. Several commands on one
 * subject are decided in their order. Recording takes the log's locks, so call this as the
 * transaction's last step.
 *
 * @returns one result for each command, in their order, with the state after it
 */
export const decideAll = async <State, Event extends LinklogEvent, Reason extends string>(
  tx: Client,
  outbox: Outbox,
  kind: LedgerState<State, Event>,
  commands: readonly LedgerCommand<State, Decision<Event, Reason>>[],
) => {
  const states = new Map(await kind.lock(tx, [...new Set(commands.map((one) => one.subject))]));
  const now = await ledgerNow(tx);
  const changed = new Map<string, State>();
  const events: Event[] = [];
  const results = commands.map(({ subject, decide, actor, requestId }) => {
    const before = states.get(subject) ?? kind.initial;
    const decision = decide(before, { now, newId, actor, requestId });
    if (decision.type !== 'accepted') return { decision, state: before };
    const state = decision.events.reduce(kind.evolve, before);
    states.set(subject, state);
    changed.set(subject, state);
    events.push(...decision.events);
    return { decision, state };
  });
  if (events.length === 0) return { results, receipt: nothingRecorded };
  await kind.save(tx, changed);
  await notifyChanges(
    tx,
    events.flatMap((event) => kind.changeOf?.(event) ?? []),
  );
  return { results, receipt: await outbox.record(tx, events) };
};

/** Has a decider decide one command of `actor` on one subject, in a transaction of its own. */
export const decideOne = <State, Event extends LinklogEvent, Reason extends string, Command>(
  { pool, outbox }: { readonly pool: Pool; readonly outbox: Outbox },
  kind: LedgerState<State, Event>,
  decider: (command: Command, state: State, context: DecisionContext) => Decision<Event, Reason>,
  asked: { readonly subject: string; readonly command: Command; readonly actor: Actor },
) =>
  transaction(pool, async (tx) => {
    const { results, receipt } = await decideAll(tx, outbox, kind, [
      {
        ...asked.actor,
        subject: asked.subject,
        decide: (state, context) => decider(asked.command, state, context),
      },
    ]);
    const [result] = results;
    if (!result) throw new Error('One result a command is due');
    return { ...result, receipt };
  });
