import { expect } from 'chai';
import type { Command, CommandMetadata, Decider, Refusal } from '../decision.js';
import { at, idOf, idOfEvent } from './events.js';

interface Fold<State, Event> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
}

/** A command with its data and type in one object, for short specifications. */
export type FlatCommand<Requested extends Command> =
  Requested extends Command<infer Type, infer Data> ? { readonly type: Type } & Data : never;

export const commandOf =
  <Requested extends Command>(subject: string, metadata: CommandMetadata) =>
  ({ type, ...data }: FlatCommand<Requested>): Requested =>
    ({ type, subject, data, metadata }) as unknown as Requested;

export const commandMetadata: CommandMetadata = {
  ...{ now: at(10), id: idOf(1), actor: 'maria', requestId: 'request-1' },
};

/** The metadata of an event that a command with `commandMetadata` causes. @param number from 1 */
export const metadataOfEvent = (number = 1) => ({
  ...{ id: idOfEvent(number), time: at(10), actor: 'maria', correlationId: 'request-1' },
});

/** `deciderSpecification` for flat commands on one subject. */
export const commandSpecification = <
  Requested extends Command,
  Event,
  State,
  Refused extends Refusal = never,
>(
  subject: string,
  decider: Decider<Requested, Event, State, Refused>,
  metadata = commandMetadata,
) => {
  const toCommand = commandOf<Requested>(subject, metadata);
  return deciderSpecification<FlatCommand<Requested>, Event, State, Refused>({
    ...decider,
    decide: (values, state) => decider.decide(toCommand(values), state),
  });
};

/** Given events, when a command is decided, then this is the decision; after emmett's. */
export const deciderSpecification =
  <Requested, Event, State, Refused extends Refusal = never>({
    initialState,
    evolve,
    decide,
  }: Decider<Requested, Event, State, Refused>) =>
  (...history: readonly Event[]) => ({
    when: (command: Requested) => {
      const decision = decide(command, history.reduce(evolve, initialState));
      return {
        decision,
        then: (...events: readonly Event[]): void => {
          expect(decision).to.deep.equal({ type: 'accepted', events });
        },
        thenNothing: (): void => {
          expect(decision).to.deep.equal({ type: 'unchanged' });
        },
        thenRefused: (type: Refused['type'], data: Omit<Refused, 'type'> | object = {}): void => {
          expect(decision).to.deep.equal({ type: 'refused', refusal: { type, ...data } });
        },
      };
    },
  });

/** Given events, then this is the state; when another event follows, then that is the state. */
export const foldSpecification =
  <State, Event>({ initialState, evolve }: Fold<State, Event>) =>
  (...history: readonly Event[]) => {
    const given = history.reduce(evolve, initialState);
    const thenState = (state: State) => (expected: State) => {
      expect(state).to.deep.equal(expected);
    };
    return {
      then: thenState(given),
      when: (event: Event) => ({
        then: (expected: State): void => {
          thenState(evolve(given, event))(expected);
        },
        /** The state has the sequence and the time of the event, and otherwise only this change. */
        thenChanges: (change: object): void => {
          const { sequence, time } = event as { readonly sequence: number; readonly time: string };
          const last = { sequence, lastEventAt: new Date(time) };
          expect(evolve(given, event)).to.deep.equal({ ...given, ...last, ...change });
        },
        thenNothingChanges: (): void => {
          thenState(evolve(given, event))(given);
        },
        thenThrows: (message: RegExp): void => {
          expect(() => evolve(given, event)).to.throw(message);
        },
      }),
    };
  };
