import { useRoute } from 'preact-iso/router';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { OperatorsLink } from '../app/types.js';
import { History } from '../components/history.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { LinkSummary } from '../link/link-summary.js';
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
        label={isBlocked ? 'Why it shall redirect again' : 'Why it shall not redirect'}
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
          <LinkSummary link={link}>
            <span class="badge">
              account <bdi>{link.account}</bdi>
            </span>
          </LinkSummary>
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

/** A link of any account, with history and settings. */
export const AnyLink = () => {
  const { code = '', tab = '' } = useRoute().params;
  // A new key resets the state for another link.
  return <OneLink key={code} code={code} tab={tab} />;
};
