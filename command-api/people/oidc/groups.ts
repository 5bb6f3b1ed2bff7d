import { isHigher, type AnyRole } from '../../../schemas/roles.js';

/** A role that a group gives. */
export interface GroupRole {
  readonly group: string;
  /** Empty: the installation. */
  readonly account: string;
  readonly role: AnyRole;
}

/** The groups in a claim; `null`: the claim is missing, or no list of texts. @param path of the claim */
export const groupsIn = (claims: object, path: readonly string[]): readonly string[] | null => {
  let value: unknown = claims;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  if (typeof value === 'string') return [value];
  return Array.isArray(value)
    ? value.filter((group): group is string => typeof group === 'string')
    : null;
};

/** The roles of a person by account: the highest of those of its groups. */
export const rolesOfGroups = (
  groups: readonly string[],
  mapping: readonly GroupRole[],
): ReadonlyMap<string, AnyRole> => {
  const own = new Set(groups);
  const roles = new Map<string, AnyRole>();
  for (const { group, account, role } of mapping) {
    if (!own.has(group)) continue;
    const other = roles.get(account);
    if (other === undefined || isHigher(role, other)) roles.set(account, role);
  }
  return roles;
};
