import { Overloaded } from '../../ops/platform/batcher.js';

export interface ClientGate {
  /** Runs `work` when the client has room for it. @throws Overloaded; what `work` threw. */
  pass<Result>(client: string, work: () => Promise<Result>): Promise<Result>;
}

/**
 * Lets few passwords of a client be in hand at once, whatever links they are for: who asks at a
 * thousand links at once waits for himself, not others for him.
 */
export const createClientGate = (options: {
  readonly atOnce: number;
  readonly maxWaiting: number;
}): ClientGate => {
  interface Place {
    inside: number;
    readonly waiting: (() => void)[];
  }
  const places = new Map<string, Place>();

  return {
    async pass(client, work) {
      const place = places.get(client) ?? { inside: 0, waiting: [] };
      places.set(client, place);
      if (place.inside < options.atOnce) place.inside += 1;
      else {
        if (place.waiting.length >= options.maxWaiting) throw new Overloaded(place.waiting.length);
        // Whoever leaves hands its place over: `inside` stays as it is.
        await new Promise<void>((enter) => place.waiting.push(enter));
      }
      try {
        return await work();
      } finally {
        const next = place.waiting.shift();
        if (next) next();
        else {
          place.inside -= 1;
          if (place.inside === 0) places.delete(client);
        }
      }
    },
  };
};
