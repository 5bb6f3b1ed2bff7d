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
