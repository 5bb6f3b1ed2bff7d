import type { Refusal } from '../../schemas/decision.js';

interface Outcome<Event, Refused extends Refusal> {
  readonly then: (...events: readonly Event[]) => void;
  readonly thenNothing: () => void;
  readonly thenRefused: (type: Refused['type'], data?: Omit<Refused, 'type'> | object) => void;
}

type Specification<Requested, Event, Refused extends Refusal> = (...history: readonly Event[]) => {
  readonly when: (command: Requested) => Outcome<Event, Refused>;
};

/** The expectations of a decider specification, each as one call: history, command, decision. */
export const decisionsOf = <Requested, Event, Refused extends Refusal>(
  given: Specification<Requested, Event, Refused>,
) => ({
  accepts: (history: readonly Event[], command: Requested, ...events: readonly Event[]): void => {
    given(...history)
      .when(command)
      .then(...events);
  },
  ignores: (history: readonly Event[], command: Requested): void => {
    given(...history)
      .when(command)
      .thenNothing();
  },
  refuses: (
    history: readonly Event[],
    command: Requested,
    type: Refused['type'],
    data?: Omit<Refused, 'type'>,
  ): void => {
    given(...history)
      .when(command)
      .thenRefused(type, data);
  },
});
