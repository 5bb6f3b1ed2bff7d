import { useState } from 'preact/hooks';
import { subjectOfLink } from '../../link-address.js';
import { haveEqualRules, toForm, toRequest, type RuleForm } from '../../rules-form.js';
import { splitTags } from '../../tags.js';
import { callApi } from '../app/api.js';
import { onSubmit, useAction } from '../app/hooks.js';
import type { LinkDetails } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Input, Select } from '../components/field.js';
import { LinkTexts } from '../components/link-texts.js';
import { Trouble } from '../components/trouble.js';
import { lifetimes } from '../make/one-link.js';
import { RuleEditor } from '../rules/rule-editor.js';

interface Props {
  readonly link: LinkDetails;
  /** The path and query of the link in `/v2` or `/admin`. */
  readonly path: string;
  readonly onChanged: () => void;
}

const unchanged = 'keep';

const textOf = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
};

/** The changed values of a form, as the body of a PATCH. */
const changeOf = (
  form: FormData,
  rules: readonly RuleForm[],
  link: LinkDetails,
): Readonly<Record<string, unknown>> => {
  const url = textOf(form, 'url');
  const title = textOf(form, 'title') || null;
  const note = textOf(form, 'note') || null;
  const tags = splitTags(textOf(form, 'tags'));
  const password = textOf(form, 'password');
  const expiresIn = textOf(form, 'expiresIn');
  const limit = textOf(form, 'maxClicks');
  const maxClicks = limit === '' ? null : Number(limit);
  const forwardQuery = form.has('forwardQuery');
  return {
    ...(url !== link.url && { url }),
    ...(title !== link.title && { title }),
    ...(note !== link.note && { note }),
    ...(tags.join() !== link.tags.join() && { tags }),
    ...(expiresIn !== unchanged && { expiresIn: expiresIn === '' ? null : Number(expiresIn) }),
    ...(maxClicks !== link.maxClicks && { maxClicks }),
    ...(!haveEqualRules(rules, toForm(link.rules)) && { rules: toRequest(rules) }),
    ...(forwardQuery !== link.forwardQuery && { forwardQuery }),
    ...(form.has('open') ? { password: null } : password !== '' && { password }),
  };
};

/** Changes a link, unless its version has changed. */
const send = ({ link, path }: Props, method: 'PATCH' | 'DELETE', body?: unknown) =>
  callApi<LinkDetails | undefined>(path, {
    method,
    headers: { 'If-Match': `"${link.version}"` },
    ...(body !== undefined && { body }),
  });

const Edit = (props: Props) => {
  const { link, onChanged } = props;
  const { isBusy, failure, run } = useAction();
  const [note, setNote] = useState('');
  const [rules, setRules] = useState(() => toForm(link.rules));
  const submit = onSubmit(async (form) => {
    const change = changeOf(new FormData(form), rules, link);
    setNote('');
    if (Object.keys(change).length === 0) {
      setNote('Nothing is changed yet.');
      return;
    }
    if (await run(() => send(props, 'PATCH', change))) onChanged();
  });
  return (
    <form class="card stack" onSubmit={submit}>
      <Input label="Destination" name="url" required maxLength={2_048} defaultValue={link.url} />
      <LinkTexts link={link} />
      <div class="columns">
        <Select
          label="Expires"
          name="expiresIn"
          value={unchanged}
          options={[[unchanged, 'As it is'], ...lifetimes]}
        />
        <Input
          label="Clicks at most"
          name="maxClicks"
          type="number"
          min={Math.max(1, link.clickCount)}
          max={1e9}
          defaultValue={link.maxClicks ?? ''}
          hint="Empty: no limit."
        />
        <Input
          label={link.hasPassword ? 'New password' : 'Password'}
          name="password"
          type="password"
          autocomplete="new-password"
          minLength={4}
          maxLength={100}
          hint={link.hasPassword ? 'Empty: as it is.' : 'Visitors must enter it.'}
        />
      </div>
      {link.hasPassword && (
        <label class="check">
          <input type="checkbox" name="open" /> Take the password away
        </label>
      )}
      <RuleEditor rules={rules} onChange={setRules} forwardsQuery={link.forwardQuery} />
      <Trouble failure={failure} />
      <p class="row">
        <button class="primary" aria-disabled={isBusy}>
          Save
        </button>
        <span role="status">{note}</span>
      </p>
    </form>
  );
};

export const Settings = (props: Props) => {
  const { link, onChanged } = props;
  const switching = useAction();
  const [isConfirming, setConfirming] = useState(false);
  if (link.status === 'deleted') {
    return <p class="card">This link is deleted. Its statistics and history stay.</p>;
  }
  const isDisabled = link.status === 'disabled';
  const toggle = async (): Promise<void> => {
    if (await switching.run(() => send(props, 'PATCH', { disabled: !isDisabled }))) onChanged();
  };
  return (
    <div class="stack">
      <Edit {...props} />
      <section class="card stack" aria-labelledby="end">
        <h2 id="end">Stop it</h2>
        <p class="hint">A disabled link does not redirect until it is enabled again.</p>
        <Trouble failure={switching.failure} />
        <div class="row">
          <button type="button" aria-disabled={switching.isBusy} onClick={() => void toggle()}>
            {isDisabled ? 'Enable' : 'Disable'}
          </button>
          <button
            type="button"
            class="danger"
            onClick={() => {
              setConfirming(true);
            }}
          >
            Delete
          </button>
        </div>
      </section>
      {isConfirming && (
        <Confirm
          title={`Delete ${subjectOfLink(link)}?`}
          verb="Delete"
          call={() => send(props, 'DELETE')}
          onDone={() => {
            setConfirming(false);
            onChanged();
          }}
          onClose={() => {
            setConfirming(false);
          }}
        >
          <p>
            It stops redirecting, for good. Its code is never given out again. Statistics and
            history stay.
          </p>
        </Confirm>
      )}
    </div>
  );
};
