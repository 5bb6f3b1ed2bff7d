import fc from 'fast-check';
import type { VisitData } from '../../../ops/visitors/visit-data.js';
import type { NewVisit } from '../record.js';
import { codePoint } from '../../../schemas/testing/code-point.js';

/** Any text that fits into a record. */
const text = fc.oneof(
  fc.stringMatching(/^[\w.-]{1,40}$/),
  fc.string({ unit: codePoint, minLength: 1, maxLength: 60 }),
);
const textOrNull = fc.option(text);

/** Any visit, with any enumerated values. */
export const anyVisit: fc.Arbitrary<NewVisit> = fc.record({
  subject: text,
  account: text,
  at: fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }).map(Number),
  requestId: fc.option(text, { nil: undefined }),
  data: fc.record({
    bot: fc.boolean(),
    country: textOrNull,
    referrer: textOrNull,
    browser: textOrNull,
    os: textOrNull,
    device: textOrNull,
    language: textOrNull,
    visitor: textOrNull,
    trigger: textOrNull,
    version: fc.option(fc.integer({ min: 1, max: 2 ** 32 - 1 })),
    target: textOrNull,
  }) as fc.Arbitrary<VisitData>,
});
