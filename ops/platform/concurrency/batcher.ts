import { firstWithin } from '../collections.js';
import { deferred, type Deferred } from './deferred.js';

/** The queue is full: the caller should respond with 503. */
export class Overloaded extends Error {
  readonly code = 'OVERLOADED';

  constructor(waiting: number) {
    super(`the queue is full: ${waiting} are waiting`);
  }
}

export interface Batcher<Command, Outcome> {
  /** @throws Overloaded; the error of `run` */
  submit(command: Command): Promise<Outcome>;
}

/** The maximum number of runs to find failing commands: enough for two among 1,000. */
const maxRetries = 40;

/**
 * Runs commands in groups, because a group costs little more than one command. A group contains the commands of
 * consecutive event-loop iterations. Groups run one at a time, so they never wait for each other's row locks.
 *
 * `run` returns the outcomes in the order of the commands.
 */
export const createBatcher = <Command, Outcome>(options: {
  /** The maximum number of commands of a batch, or their total size; a single command may be larger. */
  readonly maxBatch: number;
  readonly sizeOf?: (command: Command) => number;
  readonly maxWaiting: number;
  /** How long to gather a group (ms, by default 20), because a busy event loop brings commands in each iteration. */
  readonly gatherMs?: number;
  readonly run: (commands: readonly Command[]) => Promise<readonly Outcome[]>;
  /**
   * Whether a single command may be the cause of a failed run that had no effect. If so, the halves of the group are run
   * again, so that this command fails alone. By default `false`.
   */
  readonly mayBeCausedByOneCommand?: (error: unknown) => boolean;
}): Batcher<Command, Outcome> => {
  const waiting: { readonly command: Command; readonly outcome: Deferred<Outcome> }[] = [];
  let waitingSize = 0;
  let busy = false;
  const { maxBatch, sizeOf = () => 1, gatherMs = 20 } = options;

  const takeBatch = (): typeof waiting => {
    const { length } = firstWithin(waiting, maxBatch, ({ command }) => sizeOf(command));
    const batch = waiting.splice(0, length);
    for (const { command } of batch) waitingSize -= sizeOf(command);
    return batch;
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

  /** Runs the next group when it is full, after `gatherMs`, or after an iteration without new commands. */
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
