import { linkPath, subjectOfLink, type AddressedLink } from '../../link-address.js';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { OperatorsLink } from '../app/types.js';
import { History } from '../components/history.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { LinkSummary } from '../link/link-summary.js';
import { LinkTabs, useLinkRoute } from '../link/link-tabs.js';
import { Settings } from '../link/settings.js';
import { Statistics, usePeriodStats } from '../statistics/statistics.js';
import { texts } from '../../texts.js';

const text = texts.operators;

const base = '/admin/links';

const Block = (props: {
  readonly address: AddressedLink;
  readonly isBlocked: boolean;
  readonly onChanged: () => void;
}) => {
  const { address, isBlocked, onChanged } = props;
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const call = { method: 'POST', body: fieldsOf(form) } as const;
    const path = linkPath(base, address, isBlocked ? '/unblock' : '/block');
    if (!(await run(() => callApi(path, call)))) return;
    form.reset();
    onChanged();
  });
  return (
    <form class="card stack" onSubmit={submit}>
      <Input
        label={isBlocked ? text.unblockReason : text.blockReason}
        name="reason"
        required
        maxLength={500}
        hint={text.reasonHint}
      />
      <Trouble failure={failure} />
      <button class={isBlocked ? '' : 'danger'} aria-disabled={isBusy}>
        {isBlocked ? text.unblock : text.block}
      </button>
    </form>
  );
};

const tabs = [
  ['', text.history],
  ['statistics', text.statistics],
  ['settings', text.settings],
] as const;

const LinkStatistics = ({ code }: { readonly code: string }) => (
  <Statistics stats={usePeriodStats(code, { base: '/admin/stats' })} />
);

const OneLink = (props: { readonly address: AddressedLink; readonly tab: string }) => {
  const { address, tab } = props;
  const path = linkPath(base, address);
  const { value: link, failure, reload } = useLoad(() => callApi<OperatorsLink>(path), path);
  return (
    <Page title={subjectOfLink(address)}>
      <Trouble failure={failure} onRetry={reload} />
      {link && (
        <>
          <LinkSummary link={link}>
            <span class="badge">{text.ofAccount(link.account)}</span>
          </LinkSummary>
          {link.status !== 'deleted' && (
            <Block address={address} isBlocked={link.status === 'blocked'} onChanged={reload} />
          )}
          <LinkTabs tabs={tabs} address={address} tab={tab} />
          {tab === 'statistics' && <LinkStatistics code={address.shortCode} />}
          {tab === '' && <History key={link.version} base={base} link={address} />}
          {tab === 'settings' && <Settings link={link} path={path} onChanged={reload} />}
        </>
      )}
    </Page>
  );
};

/** A link of any account, with history and settings. */
export const AnyLink = () => {
  const { address, tab } = useLinkRoute();
  // A new key resets the state for another link.
  return <OneLink key={subjectOfLink(address)} address={address} tab={tab} />;
};
