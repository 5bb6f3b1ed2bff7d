/** More commands wait than the batcher may hold: the caller should answer 503. */
export class Overloaded extends Error {
  readonly code = 'OVERLOADED';
  readonly retryable = true;

  constructor(waiting: number) {
    super(`${waiting} commands are waiting already`);
  }
}

export interface Batcher<Command, Outcome> {
  /** @throws Overloaded, or what `run` threw for the whole batch. */
  submit(command: Command): Promise<Outcome>;
}

interface Waiting<Command, Outcome> {
  readonly command: Command;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Decides commands in groups: those of one event-loop tick together, and those that come while a
 * group is being decided in the next. One group at a time, so the groups of a process never wait
 * for each other's row locks.
 *
 * `run` gives one outcome a command, in the order of the commands.
 */
export const createBatcher = <Command, Outcome>(options: {
  readonly maxBatch: number;
  readonly maxWaiting: number;
  readonly run: (commands: readonly Command[]) => Promise<readonly Outcome[]>;
}): Batcher<Command, Outcome> => {
  const waiting: Waiting<Command, Outcome>[] = [];
  let busy = false;

  const runNext = async (): Promise<void> => {
    const batch = waiting.splice(0, options.maxBatch);
    try {
      const outcomes = await options.run(batch.map(({ command }) => command));
      if (outcomes.length !== batch.length) throw new Error('One outcome a command is due');
      batch.forEach(({ resolve }, index) => {
        resolve(outcomes[index] as Outcome);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    if (waiting.length > 0) setImmediate(() => void runNext());
    else busy = false;
  };

  return {
    submit(command) {
      if (waiting.length >= options.maxWaiting) {
        return Promise.reject(new Overloaded(waiting.length));
      }
      return new Promise((resolve, reject) => {
        waiting.push({ command, resolve, reject });
        if (busy) return;
        busy = true;
        setImmediate(() => void runNext());
      });
    },
  };
};
