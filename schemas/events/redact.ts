import { z } from 'zod';
import { catalogue, type LinklogEvent } from './catalogue.js';
import { writeSequence } from './envelope.js';

export const secretFieldsOf = (data: z.ZodObject): readonly string[] =>
  Object.entries(data.shape)
    .filter(([, schema]) => z.globalRegistry.get(schema as z.ZodType)?.['secret'] === true)
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
