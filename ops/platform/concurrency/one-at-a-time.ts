/** Runs a piece of work when all that came before it is done. */
export type Turn = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Takes pieces of work of several sources, and runs them one after the other. */
export const oneAtATime = (): Turn => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    // Whoever brought the work is told of its failure.
    last = done.catch(() => undefined);
    return done;
  };
};
