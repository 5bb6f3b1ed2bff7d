import { expect } from 'chai';
import fc from 'fast-check';
import { createLogger } from '../../ops/platform/logging.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import { blocked, created, unblocked } from '../../schemas/testing/events.js';
import { Freshness } from './freshness.js';
import { LinkCache, LinkReader } from './link-reader.js';
import { DatabaseClock, SharedCache, type CopyStore } from './shared-cache.js';

const subjects = ['a', 'b'] as const;
const edgeCount = 3;

/** Events of edges, PostgreSQL and the store, and how often they happen. */
const weights = {
  ...{ change: 2, visit: 8, notify: 3, evict: 3, lose: 1, regain: 1, flush: 1, wait: 1 },
  // The end of a call.
  ...{ postgres: 4, read: 3, write: 3 },
} as const;
type Action = keyof typeof weights;
type Step = readonly [action: Action, edge: number, subject: string, seconds: number];

const action = fc.oneof(
  ...Object.entries(weights).map(([name, weight]) => {
    return { weight, arbitrary: fc.constant(name as Action) };
  }),
);
const step: fc.Arbitrary<Step> = fc.tuple(
  action,
  fc.nat({ max: edgeCount - 1 }),
  fc.constantFrom(...subjects),
  fc.constantFrom(1, 5, 20, 61, 130),
);

const ticks = async (): Promise<void> => {
  for (let index = 0; index < 2; index += 1) await new Promise(setImmediate);
};

/** Calls that wait until they are released. */
class Gate {
  readonly #waiting: (() => void)[] = [];
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
  release(): boolean {
    const next = this.#waiting.shift();
    next?.();
    return next !== undefined;
  }
}

/** Several edges with one PostgreSQL and one store, and the changes that each edge must serve. */
class World {
  /** True time, in milliseconds. */
  now = 1_000_000;
  readonly log: LinkEvent[] = [];
  readonly store = new Map<string, { text: string; until: number }>();
  readonly violations: string[] = [];
  readonly edges = Array.from({ length: edgeCount }, (_, index) => this.#edge(index * 7_777_777));

  #edge(skew: number) {
    const gates = { postgres: new Gate(), read: new Gate(), write: new Gate() };
    const clock = (): number => this.now + skew;
    const pool = {
      query: ({ name }: { name: string }) =>
        Promise.resolve({
          rows: name === 'ledger-now' ? [{ now: new Date(this.now + 1.7e12) }] : [],
        }),
    } as unknown as Pool;
    const outbox = {
      after: async (_postgres: unknown, _topic: string, known: readonly { subject: string }[]) => {
        const subjects = known.map(({ subject }) => subject);
        const events = this.log.filter(({ subject }) => subjects.includes(subject));
        await gates.postgres.wait();
        return events;
      },
    } as unknown as Outbox;
    const store: Pick<CopyStore, 'read' | 'write'> = {
      read: async (requested) => {
        const texts = requested.map((key) => {
          const entry = this.store.get(key);
          return entry && entry.until > this.now ? entry.text : null;
        });
        await gates.read.wait();
        return texts;
      },
      write: async (texts, lifeMs) => {
        await gates.write.wait();
        for (const [key, text] of texts) this.store.set(key, { text, until: this.now + lifeMs });
      },
    };
    const freshness = new Freshness(clock);
    const databaseClock = new DatabaseClock(pool, clock);
    const shared = new SharedCache({
      key: Buffer.alloc(32),
      store,
      freshness,
      clock: databaseClock,
      logger: createLogger('silent'),
      timeoutMs: 60_000,
      now: clock,
    });
    const cache = new LinkCache(1e6);
    const links = new LinkReader(pool, outbox, cache, freshness, shared);
    return {
      ...{ gates, links, cache, shared, databaseClock },
      listening: false,
      /** The length of the log when the edge started to listen. */
      since: 0,
      pending: [] as LinkEvent[],
      notified: [] as LinkEvent[],
    };
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const edge of this.edges) {
      await edge.databaseClock.sync();
      edge.listening = true;
      edge.links.markAllStale(true);
    }
    this.now += 60_000;
    for (const next of steps) {
      this.#apply(next);
      // Other steps call nothing that is asynchronous.
      if (['visit', 'postgres', 'read', 'write'].includes(next[0])) await ticks();
    }
    // Releases all calls.
    for (let released = true; released;) {
      released = false;
      for (const { gates } of this.edges)
        for (const gate of Object.values(gates)) released = gate.release() || released;
      await ticks();
    }
  }

  /** The lowest sequence of the link that a visit may be served now. */
  #due(edge: World['edges'][number], subject: string): number {
    const known = this.log.filter(
      (event, index) =>
        event.subject === subject &&
        // Changes before the edge listens, or while it does not, are read from PostgreSQL.
        (event.sequence === 1 ||
          !edge.listening ||
          index < edge.since ||
          edge.notified.includes(event)),
    );
    return known.at(-1)?.sequence ?? 0;
  }

  #visit(edge: World['edges'][number], subject: string): void {
    const due = this.#due(edge, subject);
    const check = (sequence = 0): void => {
      if (sequence >= due) return;
      this.violations.push(`an edge served ${subject} at ${sequence}, expected ${due}`);
    };
    const known = edge.links.cached(subject);
    if (known) check(known.sequence);
    else {
      edge.links.read(subject).then(
        (link) => {
          check(link?.sequence);
        },
        (error: unknown) => this.violations.push(`an edge failed: ${String(error)}`),
      );
    }
  }

  #change(subject: string): void {
    const sequence = this.log.filter((event) => event.subject === subject).length + 1;
    const next = sequence % 2 === 0 ? blocked : unblocked;
    const event = sequence === 1 ? created(subject) : next(subject, sequence);
    this.log.push(event);
    if (sequence === 1) return;
    for (const edge of this.edges) if (edge.listening) edge.pending.push(event);
  }

  #apply([action, index, subject, seconds]: Step): void {
    const edge = this.edges[index];
    if (!edge) return;
    switch (action) {
      case 'change':
        this.#change(subject);
        break;
      case 'visit':
        this.#visit(edge, subject);
        break;
      case 'notify': {
        const event = edge.pending.shift();
        if (!event) break;
        edge.links.changed(event.subject, event.sequence);
        edge.notified.push(event);
        break;
      }
      case 'evict':
        for (const evicted of subjects) edge.cache.delete(evicted);
        break;
      case 'lose':
        if (!edge.listening) break;
        edge.listening = false;
        edge.pending.splice(0);
        edge.links.markAllStale(false);
        break;
      case 'regain':
        if (edge.listening) break;
        edge.listening = true;
        edge.since = this.log.length;
        edge.links.markAllStale(true);
        break;
      case 'flush':
        this.store.clear();
        break;
      case 'wait':
        this.now += seconds * 1_000;
        break;
      case 'postgres':
      case 'read':
      case 'write':
        edge.gates[action].release();
    }
  }
}

describe('redirect edge: shared cache', () => {
  it('never serves a state before a notified change, in any order of events', async () => {
    const lookups = { hit: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 120 }), async (steps) => {
        const world = new World();
        await world.run(steps);
        for (const { shared } of world.edges) {
          lookups.hit += shared.lookups.hit;
          lookups.refused += shared.lookups.refused;
        }
        expect(world.violations).to.deep.equal([]);
      }),
      { numRuns: 50 },
    );
    // The property covers hits and refusals.
    expect(lookups.hit).to.be.above(5);
    expect(lookups.refused).to.be.above(0);
  });

  it('does not cache a link whose read took longer than the lifetime of changes', async () => {
    const world = new World();
    const on = (subject: string) => (action: Action) => [action, 2, subject, 130] as const;
    // The notification of another change drops the old one.
    await world.run([
      ...(['change', 'visit', 'read', 'change', 'notify', 'wait'] as const).map(on('b')),
      ...(['change', 'change', 'notify'] as const).map(on('a')),
      ...(['postgres', 'visit'] as const).map(on('b')),
    ]);
    expect(world.violations).to.deep.equal([]);
  });
});
