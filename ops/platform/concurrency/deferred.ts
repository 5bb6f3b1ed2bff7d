import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
/** A promise with the functions that resolve and reject it. */
export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

/** `Promise.withResolvers`, which Node 20 does not have. */
export const deferred = <Value = void>(): Deferred<Value> => {
  let functions: Pick<Deferred<Value>, 'resolve' | 'reject'> | undefined;
  const promise = new Promise<Value>((resolve, reject) => {
    functions = { resolve, reject };
  });
  if (!functions) throw new Error('new Promise() did not run its executor');
  return { promise, ...functions };
};

/** Neither resolves nor rejects. */
export const never: Promise<never> = deferred<never>().promise;

/** Awaits a promise until the signal is aborted, whose reason it then throws. */
export const untilAborted = async <Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> => {
  const aborted = deferred<never>();
  const abort = (): void => {
    aborted.reject(signal.reason);
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
};

/** Never resolves. Rejects with the first rejection, which does not end the process if it is not handled. */
export const firstFailure = (promises: readonly Promise<unknown>[]): Promise<never> => {
  const failed = Promise.race(promises.map((promise) => promise.then(() => never)));
  // The creators of the promises log the failure.
  failed.catch(() => undefined);
  return failed;
};

/** Lets a loop sleep until there is work. After a `wake` of a running loop, the next sleep ends immediately. */
export class WakeUp {
  #pending = false;
  #sleeping: Deferred<void> | null = null;

  wake(): void {
    this.#pending = true;
    this.#sleeping?.resolve();
  }

  /** Resolves at the next `wake`, or `atMostMs` later. */
  async sleep(atMostMs = Infinity): Promise<void> {
    if (!this.#pending) {
      const sleeping = deferred();
      this.#sleeping = sleeping;
      const timer = Number.isFinite(atMostMs) ? setTimeout(sleeping.resolve, atMostMs) : undefined;
      await sleeping.promise;
      clearTimeout(timer);
      this.#sleeping = null;
    }
    this.#pending = false;
  }
}

/**
 * Returns a function that runs `work`, one run at a time: calls during a run share the next run, which starts at least
 * `pauseMs` later. So a call never gets the result of a run that started before it.
 */
export const coalesce = <Value>(
  work: () => Promise<Value>,
  pauseMs = 0,
): (() => Promise<Value>) => {
  let running: Promise<void> | null = null;
  let next: Promise<Value> | null = null;

  const run = (): Promise<Value> => {
    next = null;
    const result = work();
    const end = (): void => {
      running = null;
    };
    const pause = (): Promise<void> => sleep(pauseMs, undefined, { ref: false });
    running = (pauseMs === 0 ? result : result.then(pause, pause)).then(end, end);
    return result;
  };
  return () => {
    if (running) next ??= running.then(run);
    return next ?? run();
  };
};

/**
 * Runs `work` for each item, at most `concurrency` at a time. A failure or the signal aborts the signal of `work`, and no
 * other item is started. Waits until all started work has ended.
 *
 * @throws the first failure, or the signal's reason if the signal came first
 */
export const concurrently = async <Item>(
  items: Iterable<Item>,
  {
    concurrency,
    signal,
  }: { readonly concurrency: number; readonly signal?: AbortSignal | undefined },
  work: (item: Item, ending: AbortSignal) => Promise<void>,
): Promise<void> => {
  const ending = new AbortController();
  const end = (): void => {
    ending.abort(signal?.reason);
  };
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end, { once: true });
  const limited = pLimit(concurrency);
  const run = async (item: Item): Promise<void> => {
    if (ending.signal.aborted) return;
    try {
      await work(item, ending.signal);
    } catch (error) {
      ending.abort(error);
    }
  };
  await Promise.all(Array.from(items, (item) => limited(run, item)));
  signal?.removeEventListener('abort', end);
  ending.signal.throwIfAborted();
};
