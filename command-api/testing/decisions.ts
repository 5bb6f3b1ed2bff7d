import type { Command, Decider, Refusal } from '../../schemas/decision.js';
import { commandSpecification } from '../../schemas/testing/decider-specification.js';
import type { deciderSpecification } from '../../schemas/testing/decider-specification.js';

export {
  commandMetadata,
  metadataOfEvent,
  type FlatCommand,
} from '../../schemas/testing/decider-specification.js';

/** The expectations of a decider specification, each as one call: history, command, decision. */
export const decisionsOf = <Requested, Event, Refused extends Refusal>(
  given: ReturnType<typeof deciderSpecification<Requested, Event, unknown, Refused>>,
) => ({
  given,
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

/** The expectations of commands on one subject. */
export const specify = <Requested extends Command, Event, State, Refused extends Refusal = never>(
  subject: string,
  decider: Decider<Requested, Event, State, Refused>,
  metadata?: Parameters<typeof commandSpecification>[2],
) => decisionsOf(commandSpecification(subject, decider, metadata));
