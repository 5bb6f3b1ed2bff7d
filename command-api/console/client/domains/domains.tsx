import { useEffect } from 'preact/hooks';
import type { DomainResponse } from '../../../../schemas/http/domains.js';
import { formatDate } from '../../format.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, useAction } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { type Action, question, useActions } from '../components/actions.js';
import { CopyButton } from '../components/copy-button.js';
import { UrlInput } from '../components/field.js';
import { NewDomainFields, newDomainIn } from '../components/new-domain.js';
import { useDomains } from '../components/own-domains.js';
import { type Description, ResourceList } from '../components/resource-list.js';
import { NeedsScope, useScope } from '../app/owner.js';
import { richText } from '../components/rich-text.js';
import { Trouble } from '../components/trouble.js';

const { common, domains: text } = texts;

type TxtRecord = NonNullable<DomainResponse['verification']>;

const parts = ['type', 'name', 'value'] as const;

/** Describes the TXT record that DNS has instead. */
const Found = ({
  failure,
  name,
}: Pick<ReturnType<typeof useAction>, 'failure'> & { readonly name: string }) => {
  if (failure?.kind !== 'refused' || failure.found === undefined) return null;
  const { found } = failure;
  return found.length === 0 ? (
    <>{richText(text.noRecord, { name: <code class="long">{name}</code> })}</>
  ) : (
    <>
      {text.found}{' '}
      {found.map((value, index) => (
        <span key={index}>
          {index > 0 && ', '}
          <code class="long">{value}</code>
        </span>
      ))}
    </>
  );
};

/** The TXT record of a claim, and its verification. */
const Verification = (props: {
  readonly domain: string;
  readonly record: TxtRecord;
  readonly canManage: boolean;
  readonly onVerified: () => void;
}) => {
  const { domain, record, canManage, onVerified } = props;
  const { isBusy, failure, run } = useAction();
  const verify = async (): Promise<void> => {
    const path = `/v2/domains/${domain}/verify`;
    if (await run(() => callApi(path, { method: 'POST' }))) onVerified();
  };
  return (
    <>
      <p>{text.recordHint}</p>
      <dl class="data record">
        {parts.map((part) => (
          <div key={part}>
            <dt>{text.record[part]}</dt>
            <dd class="row">
              <code class="long">{record[part]}</code>{' '}
              <CopyButton text={record[part]} what={text.recordPart[part]} />
            </dd>
          </div>
        ))}
      </dl>
      <Trouble failure={failure}>
        <Found failure={failure} name={record.name} />
      </Trouble>
      {canManage && (
        <button type="button" class="primary" aria-disabled={isBusy} onClick={() => void verify()}>
          {text.verify}
        </button>
      )}
    </>
  );
};

const redirects = ['rootRedirect', 'notFoundRedirect', 'expiredRedirect'] as const;

const editRedirects = (domain: DomainResponse): Action => ({
  verb: text.edit,
  dialog: {
    title: text.editTitle(domain.domain),
    verb: common.save,
    content: (
      <>
        <p class="hint">{text.editHint}</p>
        {redirects.map((name) => (
          <UrlInput
            key={name}
            label={text.redirects[name]}
            name={name}
            defaultValue={domain[name] ?? ''}
            hint={text.redirectHints[name]}
          />
        ))}
      </>
    ),
  },
  call: (data) => {
    const fields = fieldsOf(data);
    const changed = redirects
      .map((name) => [name, fields[name] ?? null] as const)
      .filter(([name, url]) => url !== domain[name]);
    if (changed.length === 0) return null;
    const body = Object.fromEntries(changed);
    return callApi(`/v2/domains/${domain.domain}`, { method: 'PATCH', body });
  },
  done: text.saved,
});

const remove = ({ domain, status }: DomainResponse): Action => ({
  verb: common.remove,
  isDanger: true,
  ...question(
    text.removeTitle(domain),
    <p>{status === 'pending' ? text.removePending : text.removeActive}</p>,
  ),
  call: () => callApi(`/v2/domains/${domain}`, { method: 'DELETE' }),
  done: text.removed,
  isRemoval: true,
});

const claim: Action = {
  verb: text.claim,
  dialog: {
    title: text.newDomain,
    content: <NewDomainFields hint={text.domainHint} />,
  },
  call: (data) => callApi('/v2/domains', { method: 'POST', body: newDomainIn(data) }),
  done: text.claimed,
};

const Redirects = ({ domain }: { readonly domain: DomainResponse }) => (
  <dl class="data">
    {redirects.map((name) => (
      <div key={name}>
        <dt>{text.redirects[name]}</dt>
        <dd>
          <bdi>{domain[name] ?? text.ownPage}</bdi>
        </dd>
      </div>
    ))}
  </dl>
);

/** The domains of the account. */
export const Domains = () => {
  const loaded = useDomains();
  const tools = useActions(loaded.reload);
  const canRead = useScope('links:read');
  const canManage = useScope('domains:manage') && canRead;
  useEffect(() => {
    // The list may be older than this page.
    if (!loaded.isLoading) loaded.reload();
  }, []);
  const describe = (domain: DomainResponse): Description => {
    const { domain: name, status, verification, linkCount, createdAt, verifiedAt } = domain;
    const isActive = status === 'active';
    const sinceOf =
      verification === null ? text.added : isActive ? text.verifiedOn : text.claimedOn;
    return {
      id: name,
      heading: (
        <h2 class="row">
          <span class="long">{name}</span>{' '}
          <span class={`badge ${isActive ? 'active' : 'scheduled'}`}>{text.status[status]}</span>
        </h2>
      ),
      ...(canManage && {
        actions: isActive ? [editRedirects(domain), remove(domain)] : [remove(domain)],
      }),
      content: (
        <>
          {isActive && <Redirects domain={domain} />}
          {!isActive && verification && (
            <Verification
              domain={name}
              record={verification}
              canManage={canManage}
              onVerified={() => tools.succeed(text.verified, true)}
            />
          )}
          <p class="soft">
            <a href={`/console/links?domain=${name}`}>{common.countLinks(linkCount)}</a>.{' '}
            {sinceOf(formatDate(verifiedAt ?? createdAt))}
          </p>
        </>
      ),
    };
  };
  return (
    <Page title={texts.app.domains}>
      <NeedsScope scope="links:read">
        <NeedsScope scope="domains:manage" />
      </NeedsScope>
      <ResourceList
        tools={tools}
        loaded={loaded}
        items={loaded.value?.domains}
        describe={describe}
        {...(canRead && { none: text.none })}
        {...(canManage && { create: claim })}
      />
    </Page>
  );
};
