import { expect } from 'chai';
import type { Command, CommandMetadata, Decider, Refusal } from '../decision.js';

/** How events become a state. */
export interface Fold<State, Event> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
}

/** A command whose data stands beside its type, as specifications write it. */
export type FlatCommand<Requested extends Command> =
  Requested extends Command<infer Type, infer Data> ? { readonly type: Type } & Data : never;

export const commandOf =
  <Requested extends Command>(subject: string, metadata: CommandMetadata) =>
  ({ type, ...data }: FlatCommand<Requested>): Requested =>
    ({ type, subject, data, metadata }) as unknown as Requested;

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
