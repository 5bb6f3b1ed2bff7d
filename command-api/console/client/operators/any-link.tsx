import { useLocation, useRoute } from 'preact-iso/router';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { OperatorsLink } from '../app/types.js';
import { History } from '../components/history.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { LinkFacts } from '../link/link-facts.js';
import { Settings } from '../link/settings.js';

/** Of any account: operators know a link by its code. */
export const FindLink = () => {
  const { route } = useLocation();
  const submit = onSubmit((form) => {
    const { code } = fieldsOf(form);
    if (code !== undefined) route(`/console/links/${encodeURIComponent(code)}`);
    return undefined;
  });
  return (
    <Page title="Links">
      <form class="card stack" role="search" onSubmit={submit}>
        <Input label="Short code" name="code" required pattern="[A-Za-z0-9_\-]{3,50}" />
        <button class="primary">Show the link</button>
      </form>
    </Page>
  );
};

const Block = (props: { readonly path: string; readonly onChanged: () => void }) => {
  const { isBusy, failure, run } = useAction();
  const submit =
    (verb: 'block' | 'unblock') =>
    async (form: HTMLFormElement | null): Promise<void> => {
      if (!form?.reportValidity()) return;
      const body = fieldsOf(form);
      if (!(await run(() => callApi(`${props.path}/${verb}`, { method: 'POST', body })))) return;
      form.reset();
      props.onChanged();
    };
  return (
    <form class="card stack" onSubmit={onSubmit(submit('block'))}>
      <Input label="Reason" name="reason" required maxLength={500} hint="Stands in the history." />
      <Trouble failure={failure} />
      <div class="row">
        <button class="danger" aria-disabled={isBusy}>
          Block
        </button>
        <button
          type="button"
          aria-disabled={isBusy}
          onClick={(event) => void submit('unblock')(event.currentTarget.form)}
        >
          Unblock
        </button>
      </div>
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
          <Block path={path} onChanged={reload} />
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
