/** English texts: people, roles and invitations. */
export const people = {
  /** The lowest first. */
  roles: { viewer: 'Viewer', editor: 'Editor', admin: 'Admin', owner: 'Owner' },
  /** Each role permits what those before it do. */
  permissions: {
    viewer: 'Reads links, statistics, events and people, and creates QR codes.',
    editor: 'Also creates, changes, deletes and imports links.',
    admin: 'Also manages domains, webhooks and keys.',
    owner: 'Also manages people.',
  },
  installation: { auditor: 'auditor', operator: 'operator' },
  installationHint:
    'The identity provider also names operators, who use all of this console, and auditors, who only read it.',
  rolesTitle: 'Roles',
  role: 'Role',
  sources: {
    group: 'The identity provider manages this role.',
    invitation: 'Accepted an invitation.',
    operator: 'Added by an operator.',
    signUp: 'Signed up.',
  },
  you: 'you',
  none: 'No person has signed in with the identity provider yet.',
  noProvider: 'People cannot sign in: this installation has no identity provider (OIDC_ISSUER).',
  lastSeen: (time: string) => `Last seen ${time}.`,
  notSeen: 'Not seen yet.',
  changeRole: 'Change role',
  setRole: 'Set a role',
  changed: 'The role was changed.',
  removeTitle: (name: string) => `Remove ${name}?`,
  removeText: 'The access and its sessions end now.',
  revokeKeys: 'Revoke the keys that this person created',
  allAccounts: 'All accounts',
  removed: 'The person was removed.',
  invitations: 'Invitations',
  noInvitations: 'No invitation is pending.',
  anyPerson: 'Any person with the address',
  withdraw: 'Withdraw',
  withdrawn: 'The invitation was withdrawn.',
  invite: 'Invite',
  inviteTitle: 'Invite a person',
  inviteUse: 'Send it to the person. It is valid once, for 7 days.',
  email: 'E-mail',
  emailHint:
    'Only a person with this verified e-mail can accept. Empty: any person with the address.',
};
