import { z } from 'zod';

/** The scopes of keys. */
export const scopeNames = [
  'links:create',
  'links:read',
  'links:write',
  'links:import',
  'stats:read',
  'qr:read',
  'keys:manage',
  'domains:manage',
  'events:read',
  'webhooks:manage',
  'people:read',
  'people:manage',
] as const;

export const scopeName = z.enum(scopeNames);

export type Scope = z.infer<typeof scopeName>;

/** The scopes of keys from before there were scopes. */
export const firstScopes: readonly Scope[] = ['links:create', 'stats:read', 'qr:read'];

/** All scopes before there were domains. */
export const scopesBeforeDomains: readonly Scope[] = [
  'links:create',
  'links:read',
  'links:write',
  'stats:read',
  'qr:read',
  'keys:manage',
];

/** The stored form of scopes. `null`: all, including those that later versions add. */
export const storedScopes = (scopes: readonly Scope[]): Scope[] | null =>
  scopes.length === scopeNames.length ? null : [...scopes];

/** The scopes in the order of `scopeNames`, without duplicates. */
export const inOrder = (scopes: readonly Scope[]): readonly Scope[] =>
  scopeNames.filter((scope) => scopes.includes(scope));
