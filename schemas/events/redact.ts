import { z } from 'zod';
import { catalogue, type LinklogEvent } from './catalogue.js';
import { writeSequence } from './envelope.js';

/** Also for a schema that makes a secret one optional or nullable: such schemas do not inherit its metadata. */
const isSecret = (schema: unknown): boolean => {
  if (!(schema instanceof z.ZodType)) return false;
  if (z.globalRegistry.get(schema)?.['secret'] === true) return true;
  const isWrapper =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodNullable;
  return isWrapper && isSecret(schema.unwrap());
};

export const secretFieldsOf = (data: z.ZodObject): readonly string[] =>
  Object.entries(data.shape)
    .filter(([, schema]) => isSecret(schema))
    .map(([name]) => name);

const secretsByType = new Map<string, readonly string[]>(
  Object.values(catalogue).map(({ type, data }) => [type, secretFieldsOf(data)]),
);

/** The data of an event without its secret fields. */
export const publicDataOf = (event: LinklogEvent) => {
  const secrets = secretsByType.get(event.type) ?? [];
  return Object.fromEntries(Object.entries(event.data).filter(([name]) => !secrets.includes(name)));
};

/** The CloudEvents object of the log without secret fields, for exports, archives and operators. */
export const withoutSecrets = (event: LinklogEvent): object => ({
  ...event,
  sequence: writeSequence(event.sequence),
  data: publicDataOf(event),
});
