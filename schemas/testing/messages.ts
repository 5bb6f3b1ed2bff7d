import { expect } from 'chai';
import type { z } from 'zod';

/** The first message of a schema for a value; `null` if the schema accepts the value. */
export const messageOf = (schema: z.ZodType, value: unknown): string | null => {
  const { error } = schema.safeParse(value);
  return error ? (error.issues[0]?.message ?? '') : null;
};

/** Rows of a message and the values that have it; `null`: the values are accepted. */
export type MessageRows = readonly (readonly [message: string | null, ...values: unknown[]])[];

/** Specifies the message of each value. @param bodyOf makes the body of a value, such as `{ name: value }` */
export const specifyMessages = (
  schema: z.ZodType,
  rows: MessageRows,
  bodyOf: (value: unknown) => unknown = (value) => value,
): void => {
  for (const [message, ...values] of rows) {
    const list = values.map((value) => JSON.stringify([bodyOf(value)]).slice(1, -1)).join(', ');
    const title = `${message === null ? 'accepts' : 'refuses'} ${list.slice(0, 80)}`;
    it(message === null ? title : `${title}: ${message}`, () => {
      for (const value of values) {
        expect(messageOf(schema, bodyOf(value)), JSON.stringify(value)).to.equal(message);
      }
    });
  }
};
