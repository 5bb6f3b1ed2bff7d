import { z } from 'zod';
import type { ResponseState } from './reply.js';

const maxNames = 10;
/** The maximum of a name. Clients accept about 16 KB of headers. */
const maxCharacters = 50;

const encoded = (name: string): string =>
  encodeURIComponent(Array.from(name.toWellFormed()).slice(0, maxCharacters).join(''));

/** The first fields of a body that a schema strips, in the order of the body. Nested fields are `change.title`. */
const strippedFields = (schema: z.ZodObject, body: object): readonly string[] => {
  const names: string[] = [];
  for (const name of Object.keys(body)) {
    if (names.length >= maxNames) break;
    const value = (body as Readonly<Record<string, unknown>>)[name];
    const field: unknown = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
    if (field === undefined) names.push(encoded(name));
    else if (field instanceof z.ZodObject && typeof value === 'object' && value !== null) {
      names.push(...strippedFields(field, value).map((inner) => `${name}.${inner}`));
    }
  }
  return names;
};

/** Sets `Linklog-Ignored-Fields` of a successful response, which helps to find misspelled fields. */
export const noteIgnoredFields = (state: ResponseState, schema: z.ZodType, body: unknown): void => {
  // The fields of a transformed object are those of the object.
  const object = schema instanceof z.ZodPipe ? schema.in : schema;
  if (!(object instanceof z.ZodObject) || typeof body !== 'object' || body === null) return;
  const names = strippedFields(object, body).slice(0, maxNames);
  if (names.length > 0) state.ignoredFields = names.join(', ');
};
