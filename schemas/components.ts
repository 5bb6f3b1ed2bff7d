/** Objects with names in the OpenAPI and AsyncAPI documents: bodies, and every object that is part of another one. */
import { z } from 'zod';

export const requestParts = z.registry<{ id: string }>();

/** Also parts of events. */
export const responseParts = z.registry<{ id: string }>();

/** The fields, with the descriptions of the fields of another object with the same names. */
export const describedLike = <const Fields extends Readonly<Record<string, z.ZodType>>>(
  { shape }: z.ZodObject,
  fields: Fields,
): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const { description = '' } = shape[name] as z.ZodType;
      return [name, field.describe(description)];
    }),
  ) as Fields;

/** An object of responses with its name in the documents. */
export const named = <const Shape extends z.ZodRawShape>(id: string, shape: Shape) =>
  z.object(shape).register(responseParts, { id });

/** An object of requests. @param error the message for any other value */
export const objectOf = <const Shape extends z.ZodRawShape>(error: string, shape: Shape) =>
  z.object(shape, { error });

/** An object of requests with its name in the documents. */
export const request = <const Shape extends z.ZodRawShape>(
  id: string,
  error: string,
  shape: Shape,
) => objectOf(error, shape).register(requestParts, { id });
