/** Objects with names in the OpenAPI and AsyncAPI documents: bodies, and every object that is part of another one. */
import { z } from 'zod';

export const requestParts = z.registry<{ id: string }>();

/** Also parts of events. */
export const responseParts = z.registry<{ id: string }>();

/** An object of responses with its name in the documents. */
export const named = <const Shape extends z.ZodRawShape>(id: string, shape: Shape) =>
  z.object(shape).register(responseParts, { id });
