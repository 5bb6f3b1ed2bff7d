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

const codes = ['a', 'b'] as const;
const edgeCount = 3;
const edgeIndex = fc.nat({ max: edgeCount - 1 });
const code = fc.constantFrom(...codes);

/** What may happen to edges, to PostgreSQL and to the store between them, in any order. */
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ type: fc.constant('change' as const), code }) },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constant('visit' as const), edge: edgeIndex, code }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('hear' as const), edge: edgeIndex }) },
  {
    weight: 10,
    arbitrary: fc.record({
      type: fc.constant('release' as const),
      edge: edgeIndex,
      what: fc.constantFrom('postgres' as const, 'read' as const, 'write' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('evict' as const), edge: edgeIndex }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom('lose' as const, 'regain' as const),
      edge: edgeIndex,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom(
        'flush' as const,
        'save' as const,
        'restore' as const,
        'break' as const,
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      seconds: fc.constantFrom(1, 5, 20, 61, 130),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const ticks = async (): Promise<void> => {
  for (let index = 0; index < 4; index += 1) await new Promise(setImmediate);
};

/** Things that are under way until they are let go. */
class Held {
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

/** Several edges on one PostgreSQL and one store, and what each edge must know. */
class World {
  /** True time, in milliseconds. */
  now = 1_000_000;
  readonly log: LinkEvent[] = [];
  /** Lives of the store's own making: it may be wrong. */
  store = new Map<string, { text: string; until: number }>();
  saved: World['store'] = new Map();
  broken = false;
  readonly violations: string[] = [];
  readonly edges = Array.from({ length: edgeCount }, (_, index) => this.#edge(index * 7_777_777));

  #edge(skew: number) {
    const held = { postgres: new Held(), read: new Held(), write: new Held() };
    const clock = (): number => this.now + skew;
    const pool = {
      query: ({ name }: { name: string }) =>
        Promise.resolve({
          rows: name === 'ledger-now' ? [{ now: new Date(this.now + 1.7e12) }] : [],
        }),
    } as unknown as Pool;
    const outbox = {
      after: async (_postgres: unknown, _topic: string, known: readonly { subject: string }[]) => {
        const seen = this.log.filter(({ subject }) => known.some((one) => one.subject === subject));
        await held.postgres.wait();
        return seen;
      },
    } as unknown as Outbox;
    const store: Pick<CopyStore, 'read' | 'write'> = {
      read: async (asked) => {
        if (this.broken) throw new Error('broken');
        const seen = asked.map((one) => {
          const entry = this.store.get(one);
          return entry && entry.until > this.now ? entry.text : null;
        });
        await held.read.wait();
        return seen;
      },
      write: async (texts, lifeMs) => {
        await held.write.wait();
        if (this.broken) throw new Error('broken');
        for (const [one, text] of texts) this.store.set(one, { text, until: this.now + lifeMs });
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
      ...{ held, links, cache, shared, databaseClock },
      listening: false,
      /** The log's length when it began to listen. */
      since: 0,
      unheard: [] as LinkEvent[],
      heard: [] as LinkEvent[],
    };
  }

  async start(): Promise<void> {
    for (const edge of this.edges) {
      await edge.databaseClock.sync();
      edge.listening = true;
      edge.links.markAllStale(true);
    }
    this.now += 60_000;
  }

  /** The least sequence with which a link may be served to who asks now. */
  #due(edge: World['edges'][number], asked: string): number {
    const known = this.log.filter(
      (event, index) =>
        event.subject === asked &&
        // Live at its 201; what was changed before it listened, or while it does not, is read.
        (event.sequence === 1 ||
          !edge.listening ||
          index < edge.since ||
          edge.heard.includes(event)),
    );
    return known.at(-1)?.sequence ?? 0;
  }

  #visit(index: number, asked: string): void {
    const edge = this.edges[index];
    if (!edge) return;
    const due = this.#due(edge, asked);
    const check = (sequence: number): void => {
      if (sequence < due) {
        this.violations.push(`edge ${index} served ${asked} of ${sequence}, due was ${due}`);
      }
    };
    const known = edge.links.cached(asked);
    if (known) check(known.sequence);
    else {
      edge.links.read(asked).then(
        (link) => {
          check(link?.sequence ?? 0);
        },
        (error: unknown) => this.violations.push(`edge ${index} failed: ${String(error)}`),
      );
    }
  }

  #change(subject: string): void {
    const last = this.log.filter((event) => event.subject === subject).at(-1);
    const sequence = (last?.sequence ?? 0) + 1;
    if (!last) {
      this.log.push(created(subject));
      return;
    }
    const event = (sequence % 2 === 0 ? blocked : unblocked)(subject, sequence);
    this.log.push(event);
    for (const edge of this.edges) if (edge.listening) edge.unheard.push(event);
  }

  async take(one: Step): Promise<void> {
    const edge = 'edge' in one ? this.edges[one.edge] : undefined;
    switch (one.type) {
      case 'change':
        this.#change(one.code);
        break;
      case 'visit':
        this.#visit(one.edge, one.code);
        break;
      case 'hear': {
        const event = edge?.unheard.shift();
        if (!event) break;
        edge?.links.changed(event.subject, event.sequence);
        edge?.heard.push(event);
        break;
      }
      case 'release':
        edge?.held[one.what].release();
        break;
      case 'evict':
        for (const each of codes) edge?.cache.delete(each);
        break;
      case 'lose':
        if (!edge?.listening) break;
        edge.listening = false;
        edge.unheard.splice(0);
        edge.links.markAllStale(false);
        break;
      case 'regain':
        if (!edge || edge.listening) break;
        edge.listening = true;
        edge.since = this.log.length;
        edge.links.markAllStale(true);
        break;
      case 'flush':
        this.store.clear();
        break;
      case 'save':
        this.saved = new Map(this.store);
        break;
      case 'restore':
        // As if the lives had been lost with the server's clock.
        this.store = new Map(
          [...this.saved].map(([key, { text }]) => [key, { text, until: Infinity }]),
        );
        break;
      case 'break':
        this.broken = !this.broken;
        break;
      case 'wait':
        this.now += one.seconds * 1_000;
        break;
    }
    await ticks();
  }

  /** Lets everything under way come to its end. */
  async end(): Promise<void> {
    for (let released = true; released;) {
      released = false;
      for (const { held } of this.edges) {
        for (const each of Object.values(held)) released = each.release() || released;
      }
      await ticks();
    }
  }
}

describe('redirect edge: shared cache', () => {
  it('never brings an edge back to a state before the changes that it knows, in any order of events', async function () {
    this.timeout(120_000);
    const lookups = { hit: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 120 }), async (steps) => {
        const world = new World();
        await world.start();
        for (const one of steps) await world.take(one);
        await world.end();
        for (const { shared } of world.edges) {
          lookups.hit += shared.lookups.hit;
          lookups.refused += shared.lookups.refused;
        }
        expect(world.violations).to.deep.equal([]);
      }),
      { numRuns: 300 },
    );
    // It was used, or nothing was proved.
    expect(lookups.hit).to.be.above(30);
    expect(lookups.refused).to.be.above(20);
  });

  it('keeps no link whose reading took longer than a change is remembered', async () => {
    const world = new World();
    await world.start();
    const steps: readonly Step[] = [
      { type: 'change', code: 'b' },
      { type: 'visit', edge: 2, code: 'b' },
      { type: 'release', edge: 2, what: 'read' },
      { type: 'change', code: 'b' },
      { type: 'hear', edge: 2 },
      { type: 'wait', seconds: 130 },
      // Hearing of another change, the edge drops the old one.
      { type: 'change', code: 'a' },
      { type: 'change', code: 'a' },
      { type: 'hear', edge: 2 },
      { type: 'release', edge: 2, what: 'postgres' },
      { type: 'visit', edge: 2, code: 'b' },
    ];
    for (const one of steps) await world.take(one);
    await world.end();
    expect(world.violations).to.deep.equal([]);
  });
});
