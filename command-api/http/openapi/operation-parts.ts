/** Parts of several operations. */
import type { Scope } from '../../../schemas/scopes.js';
import { refTo, type SchemaName, type SchemaPart } from './schemas.js';

export const body = (name: SchemaName, examples: SchemaPart): SchemaPart => ({
  required: true,
  content: { 'application/json': { schema: refTo(name), examples } },
});

export const needs = (scope: Scope): SchemaPart => ({ security: [{ apiKey: [scope] }] });
