/** Who acts, and in which request. */
export interface Actor {
  /** ID of a key, name of an operator, or one of `ownActors`. */
  readonly actor: string;
  /** `null` for background work. */
  readonly requestId: string | null;
  /** The W3C trace context of the request, if it has one. */
  readonly traceparent?: string | undefined;
  /** The name of the client that an agent uses. */
  readonly client?: string | undefined;
}

/** Actors other than keys and operators. */
export const ownActors = {
  system: 'system',
  webSafety: 'web-safety',
  visitor: 'visitor',
} as const;

export interface CommandMetadata extends Actor {
  /** PostgreSQL's time, read under the subject's lock. */
  readonly now: Date;
  /** UUID of the command's first event; `nextEvent` derives those of further events. */
  readonly id: string;
}

/** A command is plain data. `subject` is the key of the state that decides it. */
export interface Command<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly subject: string;
  readonly data: Data;
  readonly metadata: CommandMetadata;
}

/** A command before the ledger has locked its subject, and adds the time and the ID. */
export type CommandRequest<Requested extends Command> = Requested extends Command
  ? Omit<Requested, 'metadata'> & { readonly metadata: Actor }
  : never;

/** A refusal has a type, and the data that its message needs. */
export interface Refusal {
  readonly type: string;
}

/** What every decider returns. `unchanged`: the state already is as the command requests. */
export type Decision<Event, Refused extends Refusal = never> =
  | { readonly type: 'accepted'; readonly events: readonly Event[] }
  | { readonly type: 'unchanged' }
  | { readonly type: 'refused'; readonly refusal: Refused };

/** The one shape of every decision: pure and synchronous functions. */
export interface Decider<Requested, Event, State, Refused extends Refusal = never> {
  readonly initialState: State;
  readonly decide: (command: Requested, state: State) => Decision<Event, Refused>;
  readonly evolve: (state: State, event: Event) => State;
}

export const accepted = <Event>(...events: readonly Event[]) =>
  ({ type: 'accepted', events }) as const;
export const unchanged = { type: 'unchanged' } as const;
export const refused = <const Refused extends Refusal>(refusal: Refused) =>
  ({ type: 'refused', refusal }) as const;

/** The time of a subject's next event: now, but never before its last event. */
export const notBefore = (now: Date, last: Date): Date => (now < last ? last : now);

/** Hexadecimal digits of a UUID that `eventId` counts in. */
const countedDigits = 8;

/** The ID of a command's event. `index`: 0 for the first event. */
export const eventId = (id: string, index: number): string => {
  if (index === 0) return id;
  const number = (parseInt(id.slice(-countedDigits), 16) + index) % 16 ** countedDigits;
  return id.slice(0, -countedDigits) + number.toString(16).padStart(countedDigits, '0');
};

/**
 * The metadata of a subject's next event, without subject and account.
 *
 * @param index of the event among those of its command
 */
export const nextEvent = (
  { sequence, lastEventAt }: { readonly sequence: number; readonly lastEventAt: Date },
  { now, id, actor, requestId, traceparent, client }: CommandMetadata,
  index = 0,
) => ({
  id: eventId(id, index),
  time: notBefore(now, lastEventAt),
  sequence: sequence + 1,
  actor,
  correlationId: requestId ?? undefined,
  traceparent,
  client,
});
