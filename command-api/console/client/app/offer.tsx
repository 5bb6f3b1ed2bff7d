/** What the address of a page can offer: the account of a one-time address, or that of an invitation. */
import type { ComponentChildren } from 'preact';
import type { Role } from '../../../../schemas/roles.js';
import { texts } from '../../texts.js';
import { richText } from '../components/rich-text.js';
import { permissionsOf } from '../components/roles.js';
import { Trouble } from '../components/trouble.js';
import type { Result } from './api.js';
import { useAction } from './hooks.js';

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

/** Asks before an address opens an account, because its sender may be an attacker. */
export const OfferForm = (props: {
  readonly verb: string;
  readonly accept: () => Promise<Result<unknown>>;
  /** The owner of the current session, which ends; `null`: none. */
  readonly current: ComponentChildren;
  readonly onRefused: () => void;
  /** What is offered. */
  readonly children: ComponentChildren;
}) => {
  const { isBusy, failure, run } = useAction();
  return (
    <div class="stack">
      <p>{props.children}</p>
      {props.current !== null && <p>{richText(text.replacesSession, { owner: props.current })}</p>}
      <Trouble failure={failure} />
      <div class="row">
        <button
          type="button"
          class="primary"
          aria-disabled={isBusy}
          onClick={() => void run(props.accept)}
        >
          {props.verb}
        </button>
        <button type="button" onClick={props.onRefused}>
          {text.decline}
        </button>
      </div>
    </div>
  );
};
