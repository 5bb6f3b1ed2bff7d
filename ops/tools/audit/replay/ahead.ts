/** Runs a piece of work when fewer than `limit` others run. */
export type Limiter = <Result>(work: () => Promise<Result>) => Promise<Result>;

export const atMost = (limit: number): Limiter => {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running < limit) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
};

/** Asks for the next value while the last one is worked on: one more is in memory, and no others. */
export async function* ahead<Value>(
  values: AsyncIterable<Value>,
  limited: Limiter,
): AsyncGenerator<Value> {
  const iterator = values[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<Value>> => {
    const asked = limited(() => iterator.next());
    // Its failure is told when it is waited for, and to nobody when nobody wants it any more.
    asked.catch(() => undefined);
    return asked;
  };
  let next = ask();
  try {
    for (;;) {
      const result = await next;
      if (result.done) return;
      next = ask();
      yield result.value;
    }
  } finally {
    await iterator.return?.();
  }
}
