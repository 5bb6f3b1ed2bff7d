/** One Ctrl-C may come twice, from the terminal and from npm: only a later one is a second one. */
const againAfterMs = 500;

/**
 * Hears SIGINT and SIGTERM: `first` is to end things well, `again` is for those who do not want to
 * wait for that.
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
