import type { ListedPerson } from '../../ops/ledger/people.js';
import type { ListedInvitation } from '../../ops/ledger/invitations.js';
import { installation, type Person } from '../../schemas/folds/person.js';
import type {
  InvitationResponse,
  OperatorsPerson,
  PersonResponse,
} from '../../schemas/http/people.js';
import type { InstallationRole, Role } from '../../schemas/roles.js';

/** The roles of a person in accounts, by name. */
export const accountRolesOf = ({ roles }: Person) =>
  [...roles]
    .filter(([account]) => account !== installation)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([account, { role, source }]) => ({ account, role: role as Role, source }));

/** The role of a person in the installation; `null`: none. */
export const installationRoleOf = ({ roles }: Person): InstallationRole | null =>
  (roles.get(installation)?.role as InstallationRole | undefined) ?? null;

/** A person as the account sees it; `null` without a role there. */
export const personOf = (person: ListedPerson, account: string): PersonResponse | null => {
  const { id, name, email, lastSeenAt } = person;
  const found = person.roles.get(account);
  if (!found) return null;
  return {
    ...{ id, name, email, role: found.role as Role, source: found.source },
    ...{ lastSeenAt: lastSeenAt?.toISOString() ?? null, createdAt: found.addedAt },
  };
};

export const operatorsPersonOf = (person: ListedPerson): OperatorsPerson => {
  const { id, name, email, lastSeenAt, createdAt } = person;
  return {
    ...{ id, name, email, installation: installationRoleOf(person), roles: accountRolesOf(person) },
    ...{ lastSeenAt: lastSeenAt?.toISOString() ?? null, createdAt },
  };
};

export const invitationOf = ({
  id,
  role,
  email,
  expiresAt,
}: ListedInvitation): InvitationResponse => ({
  ...{ id, role, email, expiresAt },
});
