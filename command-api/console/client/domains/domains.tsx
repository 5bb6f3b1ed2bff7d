import { useEffect } from 'preact/hooks';
import type { DomainResponse } from '../../../../schemas/http/domains.js';
import type { Scope } from '../../../../schemas/scopes.js';
import { formatDate } from '../../format.js';
import { hostIn } from '../../link-filter.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { question, useActions, type Action } from '../components/actions.js';
import { Input } from '../components/field.js';
import { NeedsScope } from '../components/needs-scope.js';
import { useDomains } from '../components/own-domains.js';
import { ResourceList, type Description } from '../components/resource-list.js';
import { Verification } from './verification.js';

const { common, domains: text } = texts;

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
          <Input
            key={name}
            label={text.redirects[name]}
            name={name}
            inputMode="url"
            maxLength={2_048}
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
    content: (
      <Input
        label={texts.components.domain}
        name="domain"
        required
        maxLength={2_048}
        placeholder={text.domainExample}
        hint={text.domainHint}
      />
    ),
  },
  call: (data) => {
    const fields = fieldsOf(data);
    const body = { ...fields, domain: hostIn(fields['domain'] ?? '') };
    return callApi('/v2/domains', { method: 'POST', body });
  },
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

/** The domains of the account. @param scopes those of the session's key */
export const Domains = ({ scopes }: { readonly scopes: readonly Scope[] }) => {
  const loaded = useDomains();
  const tools = useActions(loaded.reload);
  const canRead = scopes.includes('links:read');
  const canManage = canRead && scopes.includes('domains:manage');
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
              onVerified={() => {
                tools.succeed(text.verified, true);
              }}
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
      {!canRead && <NeedsScope scope="links:read" />}
      {canRead && !canManage && <NeedsScope scope="domains:manage" />}
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
