/** The options of a link in forms, except for rules. */
import type { LinkDetails } from '../../schemas/http/links.js';
import type { OptionName } from '../../schemas/link-options.js';
import { withScheme } from './destination.js';

type Option = Exclude<OptionName, 'rules'>;
type Fields = Readonly<Record<string, string | undefined>>;

/** How the value of each option is read from the fields of a form, as in a PATCH. */
const readers: Readonly<Record<Option, (fields: Fields) => unknown>> = {
  redirectStatus: ({ redirectStatus }) => (redirectStatus ? Number(redirectStatus) : null),
  forwardQuery: ({ forwardQuery }) => forwardQuery !== undefined,
  forwardPath: ({ forwardPath }) => (forwardPath === undefined ? null : true),
  expiredUrl: ({ expiredUrl }) => (expiredUrl ? withScheme(expiredUrl) : null),
  card: ({ cardTitle, cardDescription, cardImage }) =>
    cardTitle || cardDescription || cardImage
      ? {
          title: cardTitle ?? '',
          ...(cardDescription && { description: cardDescription }),
          ...(cardImage && { image: withScheme(cardImage) }),
        }
      : null,
};

export const optionNames = ['rules', ...Object.keys(readers)] as readonly OptionName[];

/** A link without these options. */
const without = { forwardQuery: false };

/** Equal for equal values. The API returns the properties of objects in any order; their values are texts. */
const textOf = (value: unknown): string =>
  JSON.stringify(
    value,
    typeof value === 'object' && value !== null ? Object.keys(value).sort() : undefined,
  );

/** The options of a form that a link does not have yet. @param link absent for a new link */
export const changedOptions = (
  fields: Fields,
  link: Partial<Pick<LinkDetails, Option>> = without,
): Readonly<Partial<Record<Option, unknown>>> =>
  Object.fromEntries(
    (Object.keys(readers) as Option[]).flatMap((name) => {
      const value = readers[name](fields);
      return textOf(value) === textOf(link[name] ?? null) ? [] : [[name, value]];
    }),
  );
