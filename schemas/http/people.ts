import { z } from 'zod';
import { named, requestParts, responseParts } from '../components.js';
import { timestamp } from '../events/envelope.js';
import { topics } from '../events/topics.js';
import { installationRole, personIdPattern, roleName, roleNames, roleSource } from '../roles.js';
import { scopeName, scopeNames } from '../scopes.js';
import { createdAt, optional } from './fields.js';
import { accountName } from './keys.js';
import { limitUpTo, nextPage } from './paging.js';
import { call, changed, done, found, json, routeGroup, type OperatorRows } from './route.js';

const roleMessage = `role must be one of ${roleNames.join(', ')}`;
const role = z.enum(roleNames, { error: roleMessage }).describe('The role in the account.');

export const roleRequest = z
  .object({ role }, { error: roleMessage })
  .register(requestParts, { id: 'RoleRequest' });

const emailMessage = 'email must be an e-mail address';
const email = z
  .string({ error: emailMessage })
  .trim()
  .max(254, { error: emailMessage, abort: true })
  .regex(/^[^\s@\u0000-\u001f\u007f-\u009f]+@[^\s@\u0000-\u001f\u007f-\u009f]+$/, emailMessage);

export const inviteRequest = z
  .object(
    {
      role,
      email: optional(email).meta({
        description: 'Only a person with this verified address can accept. Default: every person.',
      }),
    },
    { error: roleMessage },
  )
  .register(requestParts, { id: 'InvitationRequest' });

const personId = z.string().regex(personIdPattern).describe('The ID of the person.');

const shownPerson = {
  id: personId,
  name: z.string().nullable().describe('As the identity provider has it.'),
  email: z.string().nullable().describe('As the identity provider has verified it.'),
};
const seen = {
  lastSeenAt: timestamp.nullable().describe('To the hour; `null`: before the first session.'),
  createdAt,
};

const person = named('Person', {
  ...shownPerson,
  role: roleName.describe('The role in the account.'),
  source: roleSource.describe('How the person got the role.'),
  ...seen,
});
export type PersonResponse = z.infer<typeof person>;

const personPage = named('PersonPage', {
  people: z.array(person).describe('The people of the account, in the order of their IDs.'),
  next: nextPage,
});

const invitation = named('Invitation', {
  id: z.uuid().describe('For the paths of invitations.'),
  role: roleName.describe('The role that it gives.'),
  email: z.string().nullable().describe('The only address that can accept it.'),
  expiresAt: timestamp.describe('The end of its validity.'),
});
export type InvitationResponse = z.infer<typeof invitation>;

const createdInvitation = invitation
  .extend({ url: z.url().describe('The secret address. Only this response has it.') })
  .register(responseParts, { id: 'CreatedInvitation' });

const invitationList = named('InvitationList', {
  invitations: z.array(invitation).max(100).describe('Those that are pending, oldest first.'),
});

const removedPerson = named('RemovedPerson', {
  keys: z.array(z.uuid()).describe('The IDs of the live keys that the person created.'),
});

const scopes = z.array(scopeName).describe('What the caller may do.');
const account = z.string().describe('The account in which the caller acts.');

const accountRole = named('AccountRole', {
  account: z.string().describe('The account.'),
  role: roleName.describe('The role in it.'),
});

/** GET /v2/me. A person has the first fields, and a key has `key`. */
export const meResponse = named('Caller', {
  id: personId.exactOptional(),
  name: shownPerson.name.exactOptional(),
  email: shownPerson.email.exactOptional(),
  role: roleName.exactOptional().describe('The role of the person in the account.'),
  accounts: z.array(accountRole).exactOptional().describe('All accounts of the person, by name.'),
  key: named('CallingKey', {
    id: z.uuid().describe('The ID of the key.'),
    name: z.string().describe('The name of the key.'),
  })
    .exactOptional()
    .describe('The calling key.'),
  account,
  scopes,
});
export type MeResponse = z.infer<typeof meResponse>;

const after = z
  .string({ error: 'after must be given once' })
  .regex(personIdPattern, { error: 'after must be the id of a person' })
  .optional()
  .describe('The `next` of the previous page.');

export const peopleQuery = z.object({ limit: limitUpTo(100).default(100), after });

const revokeKeys = z
  .enum(['1'], { error: 'revokeKeys must be 1' })
  .optional()
  .describe('`1`: the live keys that the person created are revoked, too.');

export const removePersonQuery = z.object({ revokeKeys });

const maria: PersonResponse = {
  ...{ id: 'usr_6hQz1mV0bT8kXw2RfL4d', name: 'Maria', email: 'maria@example.com', role: 'editor' },
  ...{ source: 'invitation', lastSeenAt: '2026-05-01T12:00:00.000Z' },
  createdAt: '2026-04-01T12:00:00.000Z',
};

const invited: InvitationResponse = {
  ...{ id: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d72', role: 'editor', email: null },
  expiresAt: '2026-05-08T12:00:00.000Z',
};
const url = 'http://localhost:8080/console#i=V1StGXR8Z5jdHi6BmyT12wV1StGXR8Z5jdHi6BmyT12';
const key = { key: { id: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d71', name: 'Reader' } };

export const peopleRoutes = routeGroup(
  { tag: 'People', scope: 'people:manage', topic: topics.accounts.name },
  {
    getPeople: call('GET /people', 'List the people of the account', {
      scope: 'people:read',
      description: 'Those who sign in with an identity provider, in the order of their IDs.',
      query: peopleQuery,
      returns: { 200: json('A page.', personPage, { people: { people: [maria], next: null } }) },
    }),
    changePerson: call('PATCH /people/:id', 'Change the role of a person', {
      description: 'A caller can only give roles whose scopes it has.',
      parameters: { id: personId },
      body: roleRequest,
      examples: { editor: { role: 'editor' } },
      errors: [409],
      returns: { 200: json('The person.', person, { person: maria }) },
    }),
    removePerson: call('DELETE /people/:id', 'Remove a person from the account', {
      description: 'Its sessions in the account end within a second.',
      parameters: { id: personId },
      query: removePersonQuery,
      errors: [409],
      returns: { 200: json('The person is removed.', removedPerson, { none: { keys: [] } }) },
    }),
    invitePerson: call('POST /people/invitations', 'Invite a person to the account', {
      description:
        'Returns a secret address, which one person can use within seven days. At most 100 are pending. ' +
        'A caller can only give roles whose scopes it has.',
      body: inviteRequest,
      examples: { editor: { role: 'editor' }, one: { role: 'viewer', email: 'maria@example.com' } },
      returns: {
        201: json('The invitation.', createdInvitation, { created: { ...invited, url } }),
      },
    }),
    getInvitations: call('GET /people/invitations', 'List the pending invitations', {
      description: 'Without their addresses, which are not stored.',
      returns: {
        200: json('The invitations.', invitationList, { one: { invitations: [invited] } }),
      },
    }),
    getInvitation: call('GET /people/invitations/:id', 'Get a pending invitation', {
      description: 'Without its address.',
      parameters: { id: invitation.shape.id },
      returns: { 200: json('The invitation.', invitation, { one: invited }) },
    }),
    withdrawInvitation: call('DELETE /people/invitations/:id', 'Withdraw an invitation', {
      description: 'Its address is invalid from then on.',
      parameters: { id: invitation.shape.id },
      returns: { 204: done('The invitation is withdrawn.') },
    }),
    getMe: call('GET /me', 'Get the caller', {
      scope: null,
      description: 'A key, or in the console a person with its role and its other accounts.',
      returns: {
        200: json('The caller.', meResponse, {
          key: { ...key, account: 'default', scopes: [...scopeNames] },
        }),
      },
    }),
  },
);

/** A person with all its roles, for operators. */
const operatorsPerson = named('OperatorsPerson', {
  ...shownPerson,
  installation: installationRole.nullable().describe('The role in the installation.'),
  roles: z
    .array(
      named('OperatorsRole', {
        account: accountName,
        role: roleName.describe('The role in it.'),
        source: roleSource.describe('How the person got the role.'),
      }),
    )
    .describe('By account.'),
  ...seen,
});
export type OperatorsPerson = z.infer<typeof operatorsPerson>;

const operatorsPersonPage = named('OperatorsPersonPage', {
  people: z.array(operatorsPerson).describe('The people with roles, in the order of their IDs.'),
  next: nextPage,
});

export const operatorsPeopleRoutes = {
  listPeople: call('GET /people', 'List the people of all accounts', {
    query: peopleQuery,
    returns: found(operatorsPersonPage),
  }),
  setPersonsRole: call('PUT /people/:id/roles/:account', 'Give a person a role in an account', {
    body: roleRequest,
    errors: [409],
    returns: changed(operatorsPerson),
  }),
  removePersonsRole: call('DELETE /people/:id/roles/:account', 'Remove a person from an account', {
    errors: [409],
    returns: changed(operatorsPerson),
  }),
  removePersonEverywhere: call('DELETE /people/:id', 'Remove a person from all accounts', {
    errors: [409],
    returns: changed(operatorsPerson),
  }),
} satisfies OperatorRows;
