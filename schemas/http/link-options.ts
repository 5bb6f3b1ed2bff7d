/** The options of a link in requests and responses. */
import { z } from 'zod';
import {
  linkOptions,
  optionNames,
  optionsIn,
  type LinkOptions,
  type OptionFields,
  type OptionName,
} from '../link-options.js';
import { given, optional } from './fields.js';
import { rulesField } from './rules.js';

type IsOwnHost = (destination: URL) => boolean;

/** The field of a request for each option; its value is `null` or `false` for none. */
const requested: {
  readonly [Name in OptionName]: (isOwnHost: IsOwnHost) => z.ZodType<OptionFields[Name]>;
} = {
  rules: rulesField,
  forwardQuery: () =>
    z.boolean({ error: 'forwardQuery must be true or false' }).meta({
      description: "Append the visitor's query to that of the destination. Default: false.",
    }),
};

type Fields = { readonly [Name in OptionName]: z.ZodType<OptionFields[Name]> };

/** @param isOwnHost whether a redirect to a destination would loop */
const fieldsOf = (
  isOwnHost: IsOwnHost,
  wrap: (schema: z.ZodType, name: OptionName) => z.ZodType,
): Fields =>
  Object.fromEntries(
    optionNames.map((name) => [name, wrap(requested[name](isOwnHost), name)]),
  ) as Fields;

/** The options of a new link; absent and `null`: none. */
export const newOptions = (isOwnHost: IsOwnHost): Fields => fieldsOf(isOwnHost, optional);

/** The options of a link of a file. */
export const optionsRequest = (isOwnHost: IsOwnHost) =>
  z.object(newOptions(isOwnHost)).transform(optionsIn);

/** The options of a change; absent: unchanged. `null` removes an option, but means absent where `false` removes it. */
export const optionChanges = (isOwnHost: IsOwnHost): Fields =>
  fieldsOf(isOwnHost, (schema, name) =>
    linkOptions[name].none === false
      ? given(schema)
      : schema.nullish().meta({ description: `${schema.description ?? ''} \`null\`: none.` }),
  );

/** A request with its options in one field. */
export const withOptions = <Fields extends OptionFields>({
  ...request
}: Fields): Omit<Fields, OptionName> & { readonly options: LinkOptions } => {
  const options = optionsIn(request);
  for (const name of optionNames) delete request[name];
  return { ...request, options };
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

/** The options in other responses and in exports. */
export const shownOptions = shape((name) => {
  const { value, none } = linkOptions[name];
  return none === false ? z.boolean() : value.nullable();
}) as {
  readonly [Name in OptionName]: Declared[Name]['none'] extends false
    ? z.ZodBoolean
    : z.ZodNullable<Declared[Name]['value']>;
};

/** The options of a link as `shownOptions` has them. */
export const shown = (options: LinkOptions) =>
  Object.fromEntries(
    optionNames.map((name) => [name, options[name] ?? linkOptions[name].none]),
  ) as z.output<z.ZodObject<typeof shownOptions>>;
