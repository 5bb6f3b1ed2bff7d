/** People, and what their roles in an account permit. */
import { z } from 'zod';
import { scopeNames, type Scope } from './scopes.js';

/** The roles in an account, the lowest first. Each has the scopes of those before it. */
export const roleNames = ['viewer', 'editor', 'admin', 'owner'] as const;
export const roleName = z.enum(roleNames);
export type Role = z.infer<typeof roleName>;

/** The roles in the installation: all calls of the operators' console, or those that only read. */
export const installationRole = z.enum(['auditor', 'operator']);
export type InstallationRole = z.infer<typeof installationRole>;

/** A role in an account or in the installation, the lowest first. */
export const anyRole = z.enum([...roleNames, ...installationRole.options]);
export type AnyRole = z.infer<typeof anyRole>;

/** How a person got a role. */
export const roleSource = z.enum(['group', 'invitation', 'operator', 'signUp']);
export type RoleSource = z.infer<typeof roleSource>;

const addedScopes: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: ['links:read', 'stats:read', 'qr:read', 'events:read', 'people:read'],
  editor: ['links:create', 'links:write', 'links:import'],
  admin: ['domains:manage', 'webhooks:manage', 'keys:manage'],
  owner: ['people:manage'],
};

/** Whether a role is higher than another one of the same account, or of the installation. */
export const isHigher = (role: AnyRole, other: AnyRole): boolean =>
  anyRole.options.indexOf(role) > anyRole.options.indexOf(other);

/** The scopes of a role, in the order of `scopeNames`. */
export const scopesOfRole = (role: Role): readonly Scope[] => {
  const granted = roleNames
    .slice(0, roleNames.indexOf(role) + 1)
    .flatMap((name) => addedScopes[name]);
  return scopeNames.filter((scope) => granted.includes(scope));
};

export const personIdLength = 20;

/** The ID of a person, which is the `actor` of its changes. */
export const personIdPattern = new RegExp(`^usr_[0-9A-Za-z]{${personIdLength}}$`);
export const isPersonId = (actor: string): boolean => personIdPattern.test(actor);

const operatorPrefix = 'operator:';

/** The actor of changes that a person makes as an operator: accounts do not learn who it was. */
export const operatorActorOf = (personId: string): string => operatorPrefix + personId;

/** The person behind an actor; `null`: the actor is none. */
export const personOfActor = (actor: string): string | null => {
  const id = actor.startsWith(operatorPrefix) ? actor.slice(operatorPrefix.length) : actor;
  return isPersonId(id) ? id : null;
};
