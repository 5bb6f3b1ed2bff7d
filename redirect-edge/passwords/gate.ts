import { Overloaded } from '../../ops/platform/concurrency/batcher.js';

export interface Gate {
  /** Whether `pass` would refuse this name now. */
  isFull(name: string): boolean;
  /** Runs `work` when there is room for it at this name. @throws Overloaded; what `work` threw. */
  pass<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
}

/** Lets few works of a name be in hand at once, and few more wait: no name stands in another's way. */
export const createGate = (options: {
  readonly atOnce: number;
  readonly maxWaiting: number;
}): Gate => {
  interface Place {
    inside: number;
    readonly waiting: (() => void)[];
  }
  const places = new Map<string, Place>();

  return {
    isFull(name) {
      const place = places.get(name);
      if (!place || place.inside < options.atOnce) return false;
      return place.waiting.length >= options.maxWaiting;
    },
    async pass(name, work) {
      const place = places.get(name) ?? { inside: 0, waiting: [] };
      places.set(name, place);
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
          if (place.inside === 0) places.delete(name);
        }
      }
    },
  };
};
