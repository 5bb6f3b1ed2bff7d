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

/**
 * An event for exports, archives and operators: the CloudEvents object as it stands in the log, less
 * the fields that its schema marks as secret.
 */
export const withoutSecrets = (event: LinklogEvent): object => {
  const secrets = secretsByType.get(event.type) ?? [];
  const data = Object.entries(event.data).filter(([name]) => !secrets.includes(name));
  return {
    ...event,
    sequence: writeSequence(event.sequence),
    data: Object.fromEntries(data),
  };
};
