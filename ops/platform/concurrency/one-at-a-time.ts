/** Runs a piece of work when all that came before it is done. */
export type Turn = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Takes pieces of work of several sources, and runs them one after the other. */
export const oneAtATime = (): Turn => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    // Work goes on after a failure, of which `done` tells whoever brought that work.
    last = Promise.allSettled([done]);
    return done;
  };
};
