import type { OperatorsLink } from '../../../../schemas/http/operators.js';
import { type AddressedLink, linkPage, linkPath, subjectOfLink } from '../../link-address.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, useApi } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import { NoPage, Page } from '../app/shell.js';
import { Input } from '../components/field.js';
import { CallForm } from '../components/forms.js';
import { History } from '../components/history.js';
import { Trouble } from '../components/trouble.js';
import { LinkSummary, LinkTabs, useLinkRoute } from '../link/link-summary.js';
import { Settings } from '../link/settings.js';
import { usePeriodStats } from '../statistics/period-stats.js';
import { Statistics } from '../statistics/statistics.js';

const { common, operators: text } = texts;

const base = '/admin/links';

export const BlockReason = ({ isBlocked }: { readonly isBlocked: boolean }) => (
  <Input
    label={isBlocked ? text.unblockReason : text.blockReason}
    name="reason"
    required
    pattern=".*\S.*"
    title={text.reasonHint}
    maxLength={500}
    hint={text.reasonHint}
  />
);

const Block = (props: {
  readonly address: AddressedLink;
  readonly isBlocked: boolean;
  readonly onChanged: () => void;
}) => {
  const { address, isBlocked, onChanged } = props;
  const path = linkPath(base, address, isBlocked ? '/unblock' : '/block');
  return (
    <CallForm
      isCard
      verb={isBlocked ? text.unblock : text.block}
      isDanger={!isBlocked}
      call={(data) => callApi(path, { method: 'POST', body: fieldsOf(data) })}
      onDone={(_, form) => {
        form.reset();
        onChanged();
      }}
    >
      <BlockReason isBlocked={isBlocked} />
    </CallForm>
  );
};

const tabs = [
  ['', common.history],
  ['statistics', common.statistics],
  ['settings', common.settings],
] as const;

const LinkStatistics = ({ code }: { readonly code: string }) => (
  <Statistics stats={usePeriodStats(code, { base: '/admin/stats' })} />
);

const OneLink = (props: { readonly address: AddressedLink; readonly tab: string }) => {
  const { address, tab } = props;
  const { isReadOnly } = useOwner();
  const path = linkPath(base, address);
  const { value: link, failure, reload } = useApi<OperatorsLink>(path);
  if (tabs.every(([name]) => name !== tab)) return <NoPage back={linkPage(address)} />;
  return (
    <Page title={subjectOfLink(address)}>
      <Trouble failure={failure} onRetry={reload} />
      {link && (
        <>
          <LinkSummary link={link}>
            <span class="badge">{text.ofAccount(link.account)}</span>
          </LinkSummary>
          {link.status !== 'deleted' && !isReadOnly && (
            <Block address={address} isBlocked={link.status === 'blocked'} onChanged={reload} />
          )}
          <LinkTabs
            tabs={tabs.filter(([name]) => name !== 'settings' || !isReadOnly)}
            address={address}
            tab={tab}
          />
          {tab === 'statistics' && <LinkStatistics code={address.shortCode} />}
          {tab === '' && <History key={link.version} base={base} link={address} />}
          {tab === 'settings' && !isReadOnly && (
            <Settings link={link} path={path} onChanged={reload} />
          )}
        </>
      )}
    </Page>
  );
};

export const AnyLink = () => {
  const { address, tab } = useLinkRoute();
  // A new key resets the state for another link.
  return <OneLink key={subjectOfLink(address)} address={address} tab={tab} />;
};
