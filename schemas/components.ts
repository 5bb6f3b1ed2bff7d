/** Objects with a name of their own in the OpenAPI and AsyncAPI documents: every object that is part of another one. */
import { z } from 'zod';

export const requestParts = z.registry<{ id: string }>();

/** Also parts of events. */
export const responseParts = z.registry<{ id: string }>();
