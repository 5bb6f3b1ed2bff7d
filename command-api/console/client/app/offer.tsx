/** What the address of a page can offer: the account of a one-time address, or that of an invitation. */
import type { Role } from '../../../../schemas/roles.js';
import { texts } from '../../texts.js';
import { richText } from '../components/rich-text.js';
import { permissionsOf } from '../components/roles.js';

const text = texts.app;

/** The response to the start of a sign-in that accepts an invitation. */
export interface Invited {
  /** The page of the identity provider. */
  readonly location: string;
  readonly account: string;
  readonly role: Role;
}

export const Invitation = ({ account, role }: Invited) => (
  <>
    {richText(text.invited, {
      account: <strong>{account}</strong>,
      role: <strong>{texts.people.roles[role]}</strong>,
    })}{' '}
    {permissionsOf(role)}
  </>
);
