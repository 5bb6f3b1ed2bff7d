import type { Refusal } from '../../schemas/decision.js';
import type { deciderSpecification } from '../../schemas/testing/decider-specification.js';

/** The expectations of a decider specification, each as one call: history, command, decision. */
export const decisionsOf = <Requested, Event, Refused extends Refusal>(
  given: ReturnType<typeof deciderSpecification<Requested, Event, unknown, Refused>>,
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
