import pLimit from 'p-limit';

/**
 * Does `work` for each of the items, `atOnce` at a time. A failure, or the signal, aborts the signal
 * that `work` gets, and no further item begins. Settles when all work that had begun has settled.
 *
 * @throws the first failure, or the signal's reason if that came first
 */
export const concurrently = async <Item>(
  items: Iterable<Item>,
  { atOnce, signal }: { readonly atOnce: number; readonly signal?: AbortSignal | undefined },
  work: (item: Item, ending: AbortSignal) => Promise<void>,
): Promise<void> => {
  const ending = new AbortController();
  const end = (): void => {
    ending.abort(signal?.reason);
  };
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end, { once: true });
  const limited = pLimit(atOnce);
  const doOne = async (item: Item): Promise<void> => {
    if (ending.signal.aborted) return;
    try {
      await work(item, ending.signal);
    } catch (error) {
      ending.abort(error);
    }
  };
  await Promise.all(Array.from(items, (item) => limited(doOne, item)));
  signal?.removeEventListener('abort', end);
  ending.signal.throwIfAborted();
};
