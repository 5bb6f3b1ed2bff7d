import pLimit from 'p-limit';

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
