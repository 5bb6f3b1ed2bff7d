import type { LinkDetails } from '../../../../schemas/http/links.js';
import type { ShareResponse } from '../../../../schemas/http/shares.js';
import { formatTime } from '../../format.js';
import { linkPath } from '../../link-address.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, useApi } from '../app/hooks.js';
import { type Action, question, useActions } from '../components/actions.js';
import { Check, Input, Select } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { keyLifetimes } from '../keys/scope-fields.js';

const { common, keys, link: text } = texts;

/** The secret addresses of a link's statistics. */
export const Shares = ({ link }: { readonly link: LinkDetails }) => {
  const path = linkPath('/v2/links', link, '/share');
  const { value, failure, reload } = useApi<{ readonly shares: readonly ShareResponse[] }>(path);
  const tools = useActions(reload);
  const create: Action = {
    verb: text.share,
    secret: 'url',
    dialog: {
      title: text.share,
      content: (
        <>
          <Select label={common.expires} name="expiresIn" value="" options={keyLifetimes} />
          <Input label={common.password} name="password" autoComplete="new-password" />
          <Check name="showDestination" label={text.showDestination} />
        </>
      ),
    },
    call: (data) => {
      const { expiresIn, password, showDestination } = fieldsOf(data);
      const body = {
        ...(expiresIn !== undefined && { expiresIn: Number(expiresIn) }),
        ...(password !== undefined && { password }),
        showDestination: showDestination !== undefined,
      };
      return callApi(path, { method: 'POST', body });
    },
  };
  const end = ({ id, createdAt }: ShareResponse): Action => ({
    verb: text.endShare,
    unseen: formatTime(createdAt),
    ...{ isDanger: true, isRemoval: true },
    ...question(text.endShareTitle, <p>{text.endShareText}</p>),
    call: () => callApi(linkPath('/v2/links', link, `/share/${id}`), { method: 'DELETE' }),
  });
  return (
    <section class="card stack" aria-labelledby="shares">
      <h2 id="shares">{text.shares}</h2>
      <p class="hint">{text.sharesHint}</p>
      {tools.feedback}
      <Trouble failure={failure} onRetry={reload} />
      {value?.shares.map((share) => (
        <p key={share.id} class="row">
          <span>
            {keys.createdOn(formatTime(share.createdAt))}
            {share.expiresAt !== null && `, ${text.expiresAt(formatTime(share.expiresAt))}`}
          </span>
          {share.hasPassword && <span class="badge">{common.password}</span>}
          {tools.buttons([end(share)])}
        </p>
      ))}
      <p class="row">{tools.buttons([create], '')}</p>
      {tools.dialogs}
    </section>
  );
};
