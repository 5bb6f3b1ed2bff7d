import { expect } from 'chai';
import fc from 'fast-check';
import { type TestDatabase } from '../../ops/test/support/database.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topicOf } from '../../schemas/events/codec.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { projections } from '../projections.js';
import {
  at,
  blocked,
  created,
  expired,
  metered,
  recordOf,
  rendered,
  unblocked,
  spooledVisit,
} from '../../schemas/testing/events.js';
import { feed, namedLog } from '../testing/harness.js';
import { dump, emptyTables } from '../testing/tables.js';
import { liveSchema, type Projection } from './projection.js';
import { redrive } from './redrive.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

/** A step within these days. The mark of a spool expires 30 days after its last visit. */
const stepWithin = (days: number) =>
  fc.record({
    kind: fc.constantFrom(
      ...(['create', 'poison', 'expire', 'block', 'unblock', 'visit', 'visit'] as const),
      ...(['meter', 'render'] as const),
    ),
    /** Few subjects and spools, so that steps concern the same ones. */
    subject: fc.integer({ min: 0, max: 3 }),
    spool: fc.integer({ min: 0, max: 1 }),
    seconds: fc.integer({ min: 0, max: days * 86_400 }),
    flag: fc.boolean(),
  });

type Step = ReturnType<typeof stepWithin> extends fc.Arbitrary<infer T> ? T : never;

/** A history in which sequences ascend, as in every log. */
const historyOf = (steps: readonly Step[]): readonly LinklogEvent[] => {
  const sequences = new Map<string, number>();
  const next = (origin: string): number => {
    const sequence = (sequences.get(origin) ?? 0) + 1;
    sequences.set(origin, sequence);
    return sequence;
  };
  return steps.map(({ kind, subject, spool, seconds, flag }): LinklogEvent => {
    const code = `code-${subject}`;
    const key = `key-${subject}`;
    const time = at(seconds);
    switch (kind) {
      case 'create':
        return created(code, { keyId: `key-${spool}` }, { sequence: next(`links ${code}`), time });
      case 'poison': {
        const sequence = next(`links ${code}`);
        return created(code, { maxClicks: 3_000_000_000 }, { sequence, time });
      }
      case 'expire':
        return expired(code, next(`links ${code}`), flag ? 'time' : 'clicks');
      case 'block':
        return blocked(code, next(`links ${code}`));
      case 'unblock':
        return unblocked(code, next(`links ${code}`));
      case 'visit': {
        const sequence = next(`spool ${spool}`);
        return spooledVisit(code, { spool: `spool-${spool}`, sequence, time, bot: flag });
      }
      case 'meter':
        return metered(key, next(`usage ${key}`), 1 + spool, time);
      case 'render':
        return rendered(key, next(`usage ${key}`), time);
    }
  });
};

interface Repeat {
  readonly after: number;
  readonly of: number;
}

/** Steps, repeats, and the sizes of the batches. */
const cutAnywhere = (days: number) =>
  [
    fc.array(stepWithin(days), { minLength: 1, maxLength: 40 }),
    fc.array(fc.record({ after: fc.nat(200), of: fc.nat(200) }), { maxLength: 15 }),
    fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 }),
  ] as const;

/** Days in which no mark expires. */
const someDays = 29;

/** Repeats an earlier event for each entry. */
const withRepeats = (
  events: readonly LinklogEvent[],
  repeats: readonly Repeat[],
): readonly LinklogEvent[] =>
  events.flatMap((event, index) => [
    event,
    ...repeats
      .filter(({ after }) => after % events.length === index)
      .map(({ of: offset }) => events[offset % (index + 1)] ?? event),
  ]);

const cut = (events: readonly LinklogEvent[], sizes: readonly number[]) => {
  const batches: (readonly LinklogEvent[])[] = [];
  for (let [index, from] = [0, 0]; from < events.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    batches.push(events.slice(from, from + size));
    from += size;
  }
  return batches;
};

/** The rows of a schema without checkpoints and offsets, which repeats shift, and without redriven days. */
const contentOf = async (database: TestDatabase, projection: Projection): Promise<unknown> => {
  const schema = liveSchema(projection.name);
  const { checkpoints, dead_letters: deadLetters, ...rest } = await dump(database.pool, schema);
  delete rest['redriven_days'];
  if (rest['events']) {
    const { rows } = await database.pool.query<{ event: string }>(
      `SELECT (to_jsonb(e) - 'record_offset')::text AS event FROM ${schema}.events e ORDER BY 1`,
    );
    rest['events'] = rows.map(({ event }) => event);
  }
  const { rows } = await database.pool.query(
    `SELECT topic, subject, value, error IS NULL AS parked FROM ${schema}.dead_letters
     ORDER BY topic, partition, record_offset`,
  );
  expect([checkpoints, deadLetters]).not.to.include(undefined);
  return { ...rest, deadLetters: rows };
};

/** The subjects of a topic that have high-water marks, and those that have dead letters. */
const markedAndSetAside = async (database: TestDatabase, schema: string, topic: TopicName) => {
  const read = async (column: string, table: string): Promise<readonly string[]> => {
    const { rows } = await database.pool.query<{ name: string }>(
      `SELECT DISTINCT ${column} AS name FROM ${schema}.${table} WHERE topic = $1 ORDER BY 1`,
      [topic],
    );
    return rows.map(({ name }) => name);
  };
  return {
    marked: await read('origin', 'high_water_marks'),
    setAside: await read('subject', 'dead_letters'),
  };
};

describe('projectors: however a history is cut into batches', () => {
  for (const projection of projections) {
    describe(projection.name, () => {
      const database = databaseFixture('batching');

      /** @param sizes of the batches; by default one batch for each topic */
      const apply = async (
        history: readonly LinklogEvent[],
        sizes: readonly number[] = [Infinity],
        through = projection,
      ): Promise<unknown> => {
        await emptyTables(database.pool, liveSchema(projection.name));
        const live = feed(database.pool, through, namedLog());
        for (const topic of projection.topics) {
          const events = history.filter((event) => topicOf(event) === topic);
          for (const batch of cut(events, sizes)) await live.records(topic, batch.map(recordOf));
        }
        return contentOf(database, projection);
      };

      const repeated = (history: readonly LinklogEvent[], repeats: readonly Repeat[]) =>
        projection.topics.flatMap((topic) =>
          withRepeats(
            history.filter((event) => topicOf(event) === topic),
            repeats,
          ),
        );

      it('and with any repeats, the rows are those of one batch', async () => {
        await fc.assert(
          fc.asyncProperty(...cutAnywhere(someDays), async (steps, repeats, sizes) => {
            const history = historyOf(steps);
            const whole = await apply(history);
            expect(await apply(repeated(history, repeats), sizes)).to.deep.equal(whole);
            for (const topic of Object.keys(projection.sequences ?? {}) as TopicName[]) {
              const { name } = projection;
              const found = await markedAndSetAside(database, liveSchema(name), topic);
              // The rows have the sequences of other subjects.
              expect(found.marked).to.deep.equal(found.setAside);
            }
          }),
          { numRuns: 30 },
        );
      });

      it('the marks of spools expire at the same events', async () => {
        await fc.assert(
          fc.asyncProperty(...cutAnywhere(90), async (steps, repeats, sizes) => {
            const history = repeated(historyOf(steps), repeats);
            const whole = await apply(history);
            expect(await apply(history, sizes)).to.deep.equal(whole);
          }),
          { numRuns: 30 },
        );
      });

      it('and with any repeats, a repaired fault leaves no trace', async () => {
        const faulty: Projection<{ readonly subject: string; readonly change: unknown }> = {
          ...projection,
          toChange(event, recordOffset) {
            const change = projection.toChange(event, recordOffset);
            return change === null ? null : { subject: event.subject, change };
          },
          async apply(tx, schema, changes, partition) {
            if (changes.some(({ subject }) => subject.endsWith('0'))) throw new Error('a bug');
            const applied = changes.map(({ change }) => change);
            await projection.apply(tx, schema, applied, partition);
          },
        };
        await fc.assert(
          fc.asyncProperty(...cutAnywhere(someDays), async (steps, repeats, sizes) => {
            const history = historyOf(steps);
            const whole = await apply(history);
            await apply(repeated(history, repeats), sizes, faulty);
            await redrive({ pool: database.pool, log: namedLog(), projection });
            expect(await contentOf(database, projection)).to.deep.equal(whole);
          }),
          { numRuns: 25 },
        );
      });
    });
  }
});
