/** A promise that is settled from outside. */
export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

/** `Promise.withResolvers`, which Node 20 does not have. */
export const deferred = <Value = void>(): Deferred<Value> => {
  let settle: Pick<Deferred<Value>, 'resolve' | 'reject'> | undefined;
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject };
  });
  if (!settle) throw new Error('A promise runs its executor at once');
  return { promise, ...settle };
};

/** Never settles. */
export const never: Promise<never> = deferred<never>().promise;

/** Awaits a promise until the signal at most; what comes of it afterwards is dropped. */
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

/**
 * Rejects with the first failure among the promises, and never resolves. A failure that nobody awaits
 * does not end the process.
 */
export const firstFailure = (promises: readonly Promise<unknown>[]): Promise<never> => {
  const failed = Promise.race(promises.map((promise) => promise.then(() => never)));
  // Callers may await it, and need not; who made the promises has logged the failure.
  failed.catch(() => undefined);
  return failed;
};

/** Waits until a promise settles, at most `ms`. Returns whether it settled; its result is dropped. */
export const settledWithin = async (promise: Promise<unknown>, ms: number): Promise<boolean> => {
  const late = deferred<boolean>();
  // A timer that stays behind would keep a command from its end.
  const timer = setTimeout(late.resolve, ms, false);
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, late.promise]).finally(() => {
    clearTimeout(timer);
  });
};
