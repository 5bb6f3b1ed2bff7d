import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { z } from 'zod';
import { cloudEventFaults } from '../testing/cloud-events.js';
import { catalogue } from './catalogue.js';
import { inCurrentVersion, readEvent, UnreadableEvent, writeEvent } from './codec.js';
import { envelope } from './envelope.js';
import { publicDataOf } from './redact.js';

// From dist/schemas/events: the golden files are not compiled.
const folder = new URL('../../../schemas/events/golden/', import.meta.url);
const files = readdirSync(folder).sort();

const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');

const parse = (text: string): Record<string, unknown> & { data: Record<string, unknown> } =>
  JSON.parse(text) as Record<string, unknown> & { data: Record<string, unknown> };

const definitions = Object.values(catalogue);
const currentTypes = new Set<string>(definitions.map(({ type }) => type));

/** `linklog.LinkEdited.v3 url` */
const optionalFields = new Set(
  definitions
    .flatMap(({ name, version, data, retired }) => [
      { name, version, data },
      ...retired.map((older) => ({ name, ...older })),
    ])
    .flatMap(({ name, version, data }) =>
      Object.entries((data as z.ZodObject).shape as Record<string, z.ZodType>)
        .filter(([, schema]) => schema instanceof z.ZodExactOptional)
        .map(([field]) => `linklog.${name}.v${version} ${field}`),
    ),
);

/** Optional attributes that the first golden files do not have. */
const addedLater = {
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  client: 'an-agent',
};

describe('schemas: golden files of the events', () => {
  it('exist for exactly the types and versions', () => {
    const versions = definitions.flatMap(({ name, version, retired }) =>
      [version, ...retired.map((older) => older.version)].map(
        (number) => `linklog.${name}.v${number}.json`,
      ),
    );
    expect(files).to.deep.equal(versions.sort());
  });

  for (const file of files) {
    const type = file.slice(0, -'.json'.length);

    it(`${type} is read as an event of the current version, and only with its attributes and data`, () => {
      const golden = read(file);
      const json = parse(golden);
      expect(cloudEventFaults(json)).to.deep.equal([]);
      expect(json).to.include({ type });
      const attributes = Object.keys(envelope.shape).filter((name) => !(name in addedLater));
      expect(json).to.include.all.keys(...attributes);
      const event = readEvent(golden);
      expect(currentTypes.has(event.type)).to.be.true;
      expect(event.type.split('.')[1]).to.equal(type.split('.')[1]);
      if (currentTypes.has(type)) {
        expect(JSON.parse(writeEvent(event))).to.deep.equal(json);
      }
      expect(readEvent(JSON.stringify({ ...json, ...addedLater }))).to.include(addedLater);

      // As an earlier version has archived it.
      const archived = {
        ...json,
        type,
        data: publicDataOf({ ...event, data: json.data } as never),
      };
      const current = { type: event.type, data: publicDataOf(event) };
      expect(inCurrentVersion(archived)).to.deep.include(current);

      const refuses = (changed: unknown): void => {
        expect(() => readEvent(JSON.stringify(changed))).to.throw(UnreadableEvent);
      };
      refuses({ ...json, extra: 'x' });
      refuses({ ...json, data: { ...json.data, extra: 'x' } });
      for (const field of Object.keys(json.data)) {
        const without = { ...json, data: { ...json.data, [field]: undefined } };
        if (optionalFields.has(`${type} ${field}`)) readEvent(JSON.stringify(without));
        else refuses(without);
      }
      for (const [attribute, schema] of Object.entries(envelope.shape)) {
        const without = { ...json, [attribute]: undefined };
        if (attribute === 'data' || !schema.safeParse(undefined).success) refuses(without);
        else readEvent(JSON.stringify(without));
      }
    });
  }
});
