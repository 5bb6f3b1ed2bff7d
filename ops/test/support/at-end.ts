type Step = () => unknown;

const steps: Step[] = [];

/**
 * Registers the end of a server that all files of this mocha process share. In a worker of `mocha --parallel` it is not
 * called: there, servers end with the process.
 */
export const atEnd = (step: Step): void => {
  steps.push(step);
};

/** Ends the shared servers, the last one first. */
export const endShared = async (): Promise<void> => {
  for (const step of steps.splice(0).reverse()) await step();
};
