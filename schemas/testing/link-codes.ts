import fc from 'fast-check';
import { linkCodeOf, maxCodeLength } from '../link-subject.js';

/** Codes of imported links: ASCII, letters with marks, other scripts, and every form of emoji. */
export const sampleCodes: readonly string[] = [
  ...['1', 'a', 'Abc', 'abc', 'a.b', '.htaccess', '...', '~', '-', '_', 'x'.repeat(190)],
  ...['café', 'İstanbul', 'ß', 'Ω', 'наука', '東京', 'กำ', 'हिन्दी', '٣', '𝒳', '🎉'.repeat(190)],
  // A text presentation, an emoji presentation, a skin tone, and a solitary regional indicator.
  ...['🎉', '☀', '☀️', '👍🏽', '🇩', '🇩🇪', '1️⃣', '#️⃣', '*️⃣', '©', '❤️‍🔥'],
  ...['👨‍👩‍👧‍👦', '🏳️‍🌈', '👩🏽‍🚀', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '🏃‍♀️‍➡️'],
];

const parts = [
  ...sampleCodes.filter((code) => code.length < 20),
  'a',
  'b',
  '0',
  '-',
  '_',
  '.',
  '~',
];

/** Random codes of imported links. */
export const arbitraryCode: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...parts), { minLength: 1, maxLength: maxCodeLength })
  .map((chosen) => chosen.join(''))
  .filter((text) => linkCodeOf(text) === text);
