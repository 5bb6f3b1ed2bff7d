/** The options of a link in requests and responses. */
import { z } from 'zod';
import { objectOf, requestParts } from '../components.js';
import {
  isPermanent,
  linkOptions,
  optionNames,
  optionsIn,
  redirectStatuses,
  type LinkOptions,
  type OptionFields,
  type OptionName,
} from '../link-options.js';
import { given, optional } from './fields.js';
import { destination, text, type Destinations } from './link-fields.js';
import { rulesField } from './rules.js';

const flag = (name: OptionName) => z.boolean({ error: `${name} must be true or false` });

const cardText = (name: string, minLength: number, maxLength: number) =>
  text(
    { minLength, maxLength },
    /^[^\u0000-\u001f\u007f-\u009f]*$/,
    `must have ${minLength} to ${maxLength} characters, none of them control characters`,
  ).describe(`The ${name} of the preview.`);

/** The field of a request for each option; its value is `null` or `false` for none. */
const requested: {
  readonly [Name in OptionName]: (accepted: Destinations) => z.ZodType<OptionFields[Name]>;
} = {
  rules: rulesField,
  forwardQuery: () =>
    flag('forwardQuery').describe(
      "Append the visitor's query to that of the destination. Default: false.",
    ),
  redirectStatus: () =>
    z
      .literal(redirectStatuses, {
        error: `redirectStatus must be one of: ${redirectStatuses.join(', ')}`,
      })
      .register(requestParts, { id: 'RedirectStatus' })
      .describe(
        'The status of the redirect. Browsers cache 301 and 308 for 60 s, and a link with one of them has neither ' +
          'a password nor a limit. A limited click is answered with 302, a form with 303.',
      ),
  expiredUrl: (accepted) =>
    destination({ ...accepted, schemes: [] }).describe(
      'Where browsers are redirected once the link is expired or its limit is used up. Other clients get 410.',
    ),
  forwardPath: () =>
    flag('forwardPath')
      .transform((forwards) => forwards || null)
      .describe(
        'Append what follows the first slash after the code to the path of the destination. Default: false.',
      ),
  card: (accepted) =>
    objectOf('must be an object', {
      title: cardText('title', 1, 200),
      description: cardText('description', 0, 500).nullish(),
      image: destination({ ...accepted, schemes: [] })
        .refine((url) => /^https:/i.test(url), 'must be an https URL')
        .nullish(),
    })
      .transform(({ title, description, image }) => ({
        title,
        ...(description && { description }),
        ...(image && { image }),
      }))
      .describe('What the preview of the link in messages and posts shows.')
      .register(requestParts, { id: 'LinkCard' }),
};

type Fields = { readonly [Name in OptionName]: z.ZodType<OptionFields[Name]> };

/** @param accepted what the installation accepts as destinations */
const fieldsOf = (
  accepted: Destinations,
  wrap: (schema: z.ZodType, name: OptionName) => z.ZodType,
): Fields =>
  Object.fromEntries(
    optionNames.map((name) => [name, wrap(requested[name](accepted), name)]),
  ) as Fields;

/** The options of a new link; absent and `null`: none. */
export const newOptions = (accepted: Destinations): Fields => fieldsOf(accepted, optional);

/** The options of a link of a file. */
export const optionsRequest = (accepted: Destinations) =>
  z.object(newOptions(accepted)).transform(optionsIn);

/** The options of a change; absent: unchanged. `null` removes an option, but means absent where `false` removes it. */
export const optionChanges = (accepted: Destinations): Fields =>
  fieldsOf(accepted, (schema, name) =>
    linkOptions[name].none === false
      ? given(schema)
      : schema.nullish().describe(`${schema.description ?? ''} \`null\`: none.`),
  );

/** A request with its options in one field. */
export const withOptions = <Fields extends OptionFields>(request: Fields) => {
  const others = Object.entries(request).filter(([name]) => !Object.hasOwn(linkOptions, name));
  const fields = Object.fromEntries(others) as Omit<Fields, OptionName>;
  return { ...fields, options: optionsIn(request) };
};

const shape = (schemaOf: (name: OptionName) => z.ZodType) =>
  Object.fromEntries(
    optionNames.map((name) => [name, schemaOf(name).describe(linkOptions[name].description)]),
  );

type Declared = typeof linkOptions;

/** The options in the response to a creation. */
export const createdOptions = shape((name) => linkOptions[name].value.optional()) as {
  readonly [Name in OptionName]: z.ZodOptional<Declared[Name]['value']>;
};

const permanentWarning =
  'Browsers cache this redirect: repeated visits within 60 s are not counted';

/** In responses to requests that make the redirect permanent. */
export const warning = z.literal(permanentWarning).exactOptional();

/** @param set the options of the request */
export const warningOf = ({ redirectStatus }: OptionFields) =>
  isPermanent(redirectStatus) ? { warning: permanentWarning as typeof permanentWarning } : {};

/** The options in other responses and in exports. */
export const shownOptions = shape((name) => {
  const { value, none, isAlwaysShown } = linkOptions[name];
  if (!isAlwaysShown) return value.exactOptional();
  return none === false ? z.boolean() : value.nullable();
}) as {
  readonly [Name in OptionName]: Declared[Name]['isAlwaysShown'] extends true
    ? Declared[Name]['none'] extends false
      ? z.ZodBoolean
      : z.ZodNullable<Declared[Name]['value']>
    : z.ZodExactOptional<Declared[Name]['value']>;
};

/** The options of a link as `shownOptions` has them. */
export const shown = (options: LinkOptions) =>
  Object.fromEntries(
    optionNames.flatMap((name) => {
      const { none, isAlwaysShown } = linkOptions[name];
      const value = options[name] ?? (isAlwaysShown ? none : undefined);
      return value === undefined ? [] : [[name, value]];
    }),
  ) as z.output<z.ZodObject<typeof shownOptions>>;
