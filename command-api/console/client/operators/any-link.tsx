import { useRoute } from 'preact-iso/router';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { OperatorsLink } from '../app/types.js';
import { History } from '../components/history.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { LinkFacts } from '../link/link-facts.js';
import { Settings } from '../link/settings.js';

const Block = (props: {
  readonly path: string;
  readonly isBlocked: boolean;
  readonly onChanged: () => void;
}) => {
  const { path, isBlocked, onChanged } = props;
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const call = { method: 'POST', body: fieldsOf(form) } as const;
    const verb = isBlocked ? 'unblock' : 'block';
    if (!(await run(() => callApi(`${path}/${verb}`, call)))) return;
    form.reset();
    onChanged();
  });
  return (
    <form class="card stack" onSubmit={submit}>
      <Input
        label={isBlocked ? 'Why it shall redirect again' : 'Why it shall redirect nobody'}
        name="reason"
        required
        maxLength={500}
        hint="Stands in the history."
      />
      <Trouble failure={failure} />
      <button class={isBlocked ? '' : 'danger'} aria-disabled={isBusy}>
        {isBlocked ? 'Unblock' : 'Block'}
      </button>
    </form>
  );
};

const tabs = [
  ['', 'History'],
  ['settings', 'Settings'],
] as const;

const OneLink = ({ code, tab }: { readonly code: string; readonly tab: string }) => {
  const path = `/admin/links/${encodeURIComponent(code)}`;
  const { value: link, failure, reload } = useLoad(() => callApi<OperatorsLink>(path), path);
  return (
    <Page title={code}>
      <Trouble failure={failure} onRetry={reload} />
      {link && (
        <>
          <LinkFacts link={link}>
            <span class="badge">
              account <bdi>{link.account}</bdi>
            </span>
          </LinkFacts>
          {link.status !== 'deleted' && (
            <Block path={path} isBlocked={link.status === 'blocked'} onChanged={reload} />
          )}
          <nav class="tabs" aria-label="About the link">
            {tabs.map(([name, title]) => (
              <a
                key={name}
                href={`/console/links/${code}${name && `/${name}`}`}
                aria-current={name === tab ? 'page' : undefined}
              >
                {title}
              </a>
            ))}
          </nav>
          {tab === '' ? (
            <History key={link.version} path={`${path}/history`} />
          ) : (
            <Settings key={link.version} link={link} path={path} onChanged={reload} />
          )}
        </>
      )}
    </Page>
  );
};

/** A link of any account: what it is, what was done to it, and what can be done about it. */
export const AnyLink = () => {
  const { code = '', tab = '' } = useRoute().params;
  // Nothing of one link on the page of another.
  return <OneLink key={code} code={code} tab={tab} />;
};
