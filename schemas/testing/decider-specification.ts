import { expect } from 'chai';

/** How events become a state. */
export interface Fold<State, Event> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
}

/** A fold, and what is decided by its state. */
export interface Decider<State, Event, Command, Decision> extends Fold<State, Event> {
  readonly decide: (command: Command, state: State) => Decision;
}

/** Given what happened, when this is asked for, then that is decided; after emmett's. */
export const deciderSpecification =
  <State, Event, Command, Decision>(decider: Decider<State, Event, Command, Decision>) =>
  (...history: readonly Event[]) => ({
    when: (command: Command) => {
      const decision = decider.decide(
        command,
        history.reduce(decider.evolve, decider.initialState),
      );
      return {
        decision,
        then: (expected: Decision): void => {
          expect(decision).to.deep.equal(expected);
        },
      };
    },
  });

/** Given what happened, then this is the state; or, when this happens too, that one. */
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
        thenNothingChanges: (): void => {
          thenState(evolve(given, event))(given);
        },
        thenThrows: (message: RegExp): void => {
          expect(() => evolve(given, event)).to.throw(message);
        },
      }),
    };
  };
