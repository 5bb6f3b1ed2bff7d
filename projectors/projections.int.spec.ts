import { expect } from 'chai';
import { topicNames } from '../schemas/events/topics.js';
import { projections } from './projections.js';
import { liveSchema, projectionNames, type ProjectionSchema } from './runtime/projection.js';
import { describeSchema } from './testing/tables.js';
import { databaseFixture } from '../ops/test/support/fixtures.js';

const runtimeTables = ['checkpoints', 'dead_letters', 'high_water_marks', 'missing_events'];

describe('projectors: every projection', () => {
  const database = databaseFixture('projections');

  before(async () => {
    await database.pool.query(`SELECT public.create_projection('of_the_spec')`);
  });

  const tablesOf = async (schema: string): Promise<readonly string[]> => {
    const { rows } = await database.pool.query<{ tablename: string }>(
      'SELECT tablename FROM pg_tables WHERE schemaname = $1',
      [schema],
    );
    return rows.map(({ tablename }) => tablename);
  };

  it('has its name in the list of names', () => {
    const hint = 'the name in <name>/projection.ts must be the one in projectionNames';
    expect(
      projections.map(({ name }) => name),
      hint,
    ).to.deep.equal([...projectionNames]);
  });

  it('check the sequences of each topic once', () => {
    const checked = projections.flatMap(({ topics, checksSequencesOf = [] }) =>
      checksSequencesOf.filter((topic) => topics.includes(topic)),
    );
    expect(checked).to.have.members(topicNames);
  });

  for (const name of projectionNames) {
    it(`has tables of a migration: ${name}`, async () => {
      const hint = `add a numbered file to ops/migrations/ with SELECT public.create_projection('${name}') and the tables of projection_${name}`;
      const tables = await tablesOf(liveSchema(name));
      expect(tables, hint).to.include.members(runtimeTables);
      expect(tables.length, hint).to.be.greaterThan(runtimeTables.length);
    });

    it(`has the tables of create_projection: ${name}`, async () => {
      const [own, expected] = await Promise.all(
        [liveSchema(name), 'projection_of_the_spec' as ProjectionSchema].map(async (schema) => {
          const relations = (await describeSchema(database.pool, schema)) as {
            readonly relname: string;
          }[];
          return relations.filter(({ relname }) =>
            runtimeTables.some((table) => relname.startsWith(table)),
          );
        }),
      );
      expect(own).to.deep.equal(expected);
    });
  }
});
