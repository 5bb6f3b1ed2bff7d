import { z } from 'zod';

/** The scopes of keys. */
export const scopeNames = [
  'links:create',
  'links:read',
  'links:write',
  'stats:read',
  'qr:read',
  'keys:manage',
] as const;

export const scopeName = z.enum(scopeNames);

export type Scope = z.infer<typeof scopeName>;

/** The scopes of keys from before there were scopes. */
export const firstScopes: readonly Scope[] = ['links:create', 'stats:read', 'qr:read'];

/** The scopes in the order of `scopeNames`, without duplicates. */
export const inOrder = (scopes: readonly Scope[]): readonly Scope[] =>
  scopeNames.filter((scope) => scopes.includes(scope));
