import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';

/**
 * Attempts that may begin together, and how long each keeps its slot at most (ms). A silent receiver frees its slot long
 * before the timeout of the attempt.
 */
const healthy = { slots: 64, ms: 250 };
/**
 * The same for receivers whose last attempt failed. They keep their slot for the whole time, so at most 160 of their
 * attempts begin in a second: some 15 % of a core.
 */
const failing = { slots: 16, ms: 100 };

/** Bounds the attempts that begin together, so that failing receivers never take the slot of a healthy one. */
export const createAttemptSlots = () => {
  const limits = { healthy: pLimit(healthy.slots), failing: pLimit(failing.slots) };
  return async <Outcome>(isFailing: boolean, attempt: () => Promise<Outcome>): Promise<Outcome> => {
    const { outcome } = await (isFailing ? limits.failing : limits.healthy)(async () => {
      const outcome = attempt();
      const pause = sleep(isFailing ? failing.ms : healthy.ms);
      await Promise.race([pause, isFailing ? outcome.then(() => pause) : outcome]);
      return { outcome };
    });
    return outcome;
  };
};

export type AttemptSlots = ReturnType<typeof createAttemptSlots>;
