/** Common selections of the scopes of a key. */
import type { Scope } from '../../schemas/scopes.js';

const presetNames = ['read', 'create', 'all'] as const;
type ScopePreset = (typeof presetNames)[number];

const scopesOf: Readonly<Record<Exclude<ScopePreset, 'all'>, readonly Scope[]>> = {
  read: ['links:read', 'stats:read', 'events:read'],
  create: ['links:create', 'links:read', 'stats:read', 'qr:read'],
};

export const presetScopes = (preset: ScopePreset, offered: readonly Scope[]): readonly Scope[] =>
  preset === 'all' ? offered : offered.filter((scope) => scopesOf[preset].includes(scope));

export const presetsOf = (offered: readonly Scope[]): readonly ScopePreset[] =>
  presetNames.filter((preset) => presetScopes(preset, offered).length > 0);

/** The preset that has exactly these scopes; `null`: none. */
export const presetOf = (
  chosen: readonly string[],
  offered: readonly Scope[],
): ScopePreset | null => {
  const isChosen = (preset: ScopePreset): boolean => {
    const scopes = presetScopes(preset, offered);
    return scopes.length === chosen.length && scopes.every((scope) => chosen.includes(scope));
  };
  return presetsOf(offered).findLast(isChosen) ?? null;
};
