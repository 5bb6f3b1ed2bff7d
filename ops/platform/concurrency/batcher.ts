import { deferred, type Deferred } from './deferred.js';

/** The batcher is full: the caller should answer 503. */
export class Overloaded extends Error {
  readonly code = 'OVERLOADED';

  constructor(waiting: number) {
    super(`${waiting} commands are waiting already`);
  }
}

export interface Batcher<Command, Outcome> {
  /** @throws Overloaded, or what `run` threw for the batch, or for this command alone. */
  submit(command: Command): Promise<Outcome>;
}

/** Runs that look for a failing command, at most: enough for two among 1,000, few where all fail. */
const maxRetries = 40;

/**
 * Decides commands in groups: those that come in one turn of the event loop after the other together, and
 * those that come while a group is being decided in the next. A group costs as much as many commands of it.
 * One group at a time, so the groups of a process never wait for each other's row locks.
 *
 * `run` gives one outcome a command, in the order of the commands.
 */
export const createBatcher = <Command, Outcome>(options: {
  /** Commands of a batch at most; with `sizeOf`, their sizes in all, unless it is only one. */
  readonly maxBatch: number;
  readonly sizeOf?: (command: Command) => number;
  readonly maxWaiting: number;
  /**
   * How long a group is gathered at most, 20 ms unless told: a busy event loop brings more with each turn, and
   * its turns take long.
   */
  readonly gatherMs?: number;
  readonly run: (commands: readonly Command[]) => Promise<readonly Outcome[]>;
  /**
   * Whether one command may be to blame for the failure of a run that had no effect. Then the halves of
   * the group are run again, so that this command fails alone. By default no failure is.
   */
  readonly mayBeCausedByOneCommand?: (error: unknown) => boolean;
}): Batcher<Command, Outcome> => {
  const waiting: { readonly command: Command; readonly outcome: Deferred<Outcome> }[] = [];
  /** The sum of the sizes of `waiting`. */
  let waitingSize = 0;
  let busy = false;
  const { maxBatch, sizeOf = () => 1, gatherMs = 20 } = options;

  const takeBatch = (): typeof waiting => {
    let size = 0;
    const end = waiting.findIndex(({ command }, index) => {
      const commandSize = sizeOf(command);
      if (index > 0 && size + commandSize > maxBatch) return true;
      size += commandSize;
      return false;
    });
    waitingSize -= size;
    return waiting.splice(0, end === -1 ? waiting.length : end);
  };

  const runBatch = async (batch: typeof waiting, retries: { left: number }): Promise<void> => {
    try {
      const outcomes = await options.run(batch.map(({ command }) => command));
      if (outcomes.length !== batch.length) {
        throw new Error(`run() returned ${outcomes.length} outcomes for ${batch.length} commands`);
      }
      batch.forEach(({ outcome }, index) => {
        outcome.resolve(outcomes[index] as Outcome);
      });
    } catch (error) {
      retries.left -= 2;
      if (
        batch.length === 1 ||
        retries.left < 0 ||
        options.mayBeCausedByOneCommand?.(error) !== true
      ) {
        for (const { outcome } of batch) outcome.reject(error);
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await runBatch(batch.slice(0, middle), retries);
      await runBatch(batch.slice(middle), retries);
    }
  };

  const runNext = async (): Promise<void> => {
    await runBatch(takeBatch(), { left: maxRetries });
    if (waiting.length > 0) runWhenGathered();
    else busy = false;
  };

  /** Runs the next group after a turn of the event loop that brought no more commands, when it is full, or late. */
  const runWhenGathered = (seen = 0, since = performance.now()): void => {
    setImmediate(() => {
      const { length } = waiting;
      const isGathered = length === seen || waitingSize >= maxBatch;
      if (isGathered || performance.now() - since >= gatherMs) void runNext();
      else runWhenGathered(length, since);
    });
  };

  return {
    submit(command) {
      if (waiting.length >= options.maxWaiting) {
        return Promise.reject(new Overloaded(waiting.length));
      }
      const outcome = deferred<Outcome>();
      waiting.push({ command, outcome });
      waitingSize += sizeOf(command);
      if (!busy) {
        busy = true;
        runWhenGathered();
      }
      return outcome.promise;
    },
  };
};
