import { expect } from 'chai';
import { topicNames } from '../schemas/events/topics.js';
import { projectionNames, projections } from './projections.js';
import { liveSchema, type ProjectionSchema } from './runtime/projection.js';
import { describeSchema } from './testing/tables.js';
import { databaseFixture } from '../ops/test/support/fixtures.js';

describe('projectors: every projection', () => {
  const database = databaseFixture('projections');

  before(async () => {
    await database.pool.query(`SELECT public.create_projection('of_the_spec')`);
  });

  it('check the sequences of each topic once', () => {
    const checked = projections.flatMap(({ topics, checksSequencesOf = [] }) =>
      checksSequencesOf.filter((topic) => topics.includes(topic)),
    );
    expect(checked).to.have.members(topicNames);
  });

  for (const name of projectionNames) {
    it(`has the tables of create_projection, and others of a migration: ${name}`, async () => {
      const relationsOf = async (schema: ProjectionSchema) =>
        (await describeSchema(database.pool, schema)) as { readonly relname: string }[];
      const own = await relationsOf(liveSchema(name));
      const expected = await relationsOf('projection_of_the_spec');
      const isExpected = ({ relname }: { readonly relname: string }) =>
        expected.some((relation) => relation.relname === relname);
      const hint = `add a numbered file to ops/migrations/ with SELECT public.create_projection('${name}') and the tables of projection_${name}`;
      expect(own.filter(isExpected), hint).to.deep.equal(expected);
      expect(own.length, hint).to.be.greaterThan(expected.length);
    });
  }
});
