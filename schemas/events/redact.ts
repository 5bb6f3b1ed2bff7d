import { z } from 'zod';
import { catalogue, type LinklogEvent } from './catalogue.js';
import { writeSequence } from './envelope.js';

/** The names of the data fields that each type marks as secret. */
const secretsByType = new Map<string, readonly string[]>(
  Object.values(catalogue).map(({ type, data }) => [
    type,
    Object.entries(data.shape)
      .filter(([, schema]) => z.globalRegistry.get(schema as z.ZodType)?.['secret'] === true)
      .map(([name]) => name),
  ]),
);

/** The data of an event, less the fields that its schema marks as secret. */
export const publicDataOf = (event: LinklogEvent) => {
  const secrets = secretsByType.get(event.type) ?? [];
  return Object.fromEntries(Object.entries(event.data).filter(([name]) => !secrets.includes(name)));
};

/** An event for exports, archives, operators: the CloudEvents object in the log, less its secrets. */
export const withoutSecrets = (event: LinklogEvent): object => ({
  ...event,
  sequence: writeSequence(event.sequence),
  data: publicDataOf(event),
});
