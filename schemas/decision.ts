/** Who asks for a change, and in which request. */
export interface Actor {
  readonly actor: string;
  /** `null` for what no request asked for. */
  readonly requestId: string | null;
}

/** Who acts where it is neither a key, by its id, nor an operator, by a name. */
export const ownActors = {
  system: 'system',
  webSafety: 'web-safety',
  visitor: 'visitor',
} as const;

/** What a decision needs from outside. `now` is PostgreSQL's time, read under the subject's lock. */
export interface DecisionContext extends Actor {
  readonly now: Date;
  readonly newId: () => string;
}

/** What every decider returns. */
export type Decision<Event, Reason extends string = never> =
  | { readonly type: 'accepted'; readonly events: readonly Event[] }
  /** Nothing to do: the state is as the command asks. */
  | { readonly type: 'unchanged' }
  | { readonly type: 'refused'; readonly reason: Reason };

export const accepted = <Event>(...events: readonly Event[]) =>
  ({ type: 'accepted', events }) as const;
export const unchanged = { type: 'unchanged' } as const;
export const refused = <Reason extends string>(reason: Reason) =>
  ({ type: 'refused', reason }) as const;

/** A time for a subject's next event: now, but never before its last one. */
export const notBefore = (now: Date, last: Date): Date => (now < last ? last : now);

/** The metadata of a subject's next event, but for its subject and account. */
export const nextEvent = (
  { sequence, lastEventAt }: { readonly sequence: number; readonly lastEventAt: Date },
  { now, newId, actor, requestId }: DecisionContext,
) => ({
  id: newId(),
  time: notBefore(now, lastEventAt),
  sequence: sequence + 1,
  actor,
  correlationId: requestId ?? undefined,
});
