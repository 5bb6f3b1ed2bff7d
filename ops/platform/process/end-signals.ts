/** One Ctrl-C may come twice, from the terminal and from npm: only a later signal counts as a second. */
const againAfterMs = 500;

/**
 * Listens to SIGINT and SIGTERM: `first` is to begin a clean stop, `again` to end at once.
 *
 * @returns how to stop hearing them
 */
export const onEndSignals = (handlers: {
  readonly first: (signal: NodeJS.Signals) => void;
  readonly again: () => void;
}): (() => void) => {
  let askedAt: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (askedAt === null) {
      askedAt = performance.now();
      handlers.first(signal);
    } else if (performance.now() - askedAt > againAfterMs) {
      handlers.again();
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
};
