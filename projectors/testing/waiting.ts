import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves when the condition holds; asks every 10 ms, for 10 s at most. */
export const eventually = async (condition: () => Promise<boolean>): Promise<void> => {
  const deadline = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('It did not come about in 10 s');
    await sleep(10);
  }
};
