import { expect } from 'chai';
import type { Decision } from '../decision.js';

/** How events become a state. */
export interface Fold<State, Event> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
}

/** A fold, and what is decided by its state. */
export interface Decider<State, Event, Command, Reason extends string> extends Fold<State, Event> {
  readonly decide: (command: Command, state: State) => Decision<NoInfer<Event>, Reason>;
}

/** Given what happened, when this is asked for, then that is decided; after emmett's. */
export const deciderSpecification =
  <State, Event, Command, Reason extends string>({
    initialState,
    evolve,
    decide,
  }: Decider<State, Event, Command, Reason>) =>
  (...history: readonly Event[]) => ({
    when: (command: Command) => {
      const decision = decide(command, history.reduce(evolve, initialState));
      return {
        decision,
        then: (...events: readonly Event[]): void => {
          expect(decision).to.deep.equal({ type: 'accepted', events });
        },
        thenNothing: (): void => {
          expect(decision).to.deep.equal({ type: 'unchanged' });
        },
        thenRefused: (reason: Reason): void => {
          expect(decision).to.deep.equal({ type: 'refused', reason });
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

/** Given what happened, when this is asked, then that is the answer: for what reads a state only. */
export const answerSpecification =
  <State, Event, Question, Answer>({
    initialState,
    evolve,
    answer,
  }: Fold<State, Event> & {
    readonly answer: (question: Question, state: State) => Answer;
  }) =>
  (...history: readonly Event[]) => ({
    when: (question: Question) => ({
      then: (expected: Answer): void => {
        expect(answer(question, history.reduce(evolve, initialState))).to.deep.equal(expected);
      },
    }),
  });
