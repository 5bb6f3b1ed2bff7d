import { foldText } from '../../schemas/fold-text.js';

/** Whether two tags differ in case only, as in the filter of the API. */
export const areEqualTags = (a: string, b: string): boolean => foldText(a) === foldText(b);

/** Splits a comma-separated list of tags; removes duplicates. */
export const splitTags = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ''),
  ),
];
