import { useEffect, useState } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { formatDate } from '../../format.js';
import { hostIn } from '../../link-filter.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { DomainResponse } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Dialog } from '../components/dialog.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { NeedsScope } from '../components/needs-scope.js';
import { useNotice } from '../components/notice.js';
import { useDomains } from '../components/own-domains.js';
import { Verification } from './verification.js';

const text = texts.domains;

const redirects = ['rootRedirect', 'notFoundRedirect', 'expiredRedirect'] as const;

interface Props {
  readonly domain: DomainResponse;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

const EditRedirects = ({ domain, onClose, onChanged }: Props) => {
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const fields = fieldsOf(form);
    const body = Object.fromEntries(
      redirects
        .map((name) => [name, fields[name] ?? null] as const)
        .filter(([name, url]) => url !== domain[name]),
    );
    if (Object.keys(body).length === 0) {
      onClose();
      return;
    }
    const path = `/v2/domains/${domain.domain}`;
    if (await run(() => callApi(path, { method: 'PATCH', body }))) onChanged();
  });
  return (
    <Dialog title={text.editTitle(domain.domain)} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
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
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          {text.save}
        </button>
      </form>
    </Dialog>
  );
};

const Remove = ({ domain: { domain, status }, onClose, onChanged }: Props) => (
  <Confirm
    title={text.removeTitle(domain)}
    verb={text.remove}
    call={() => callApi(`/v2/domains/${domain}`, { method: 'DELETE' })}
    onDone={onChanged}
    onClose={onClose}
  >
    <p>{status === 'pending' ? text.removePending : text.removeActive}</p>
  </Confirm>
);

const ClaimForm = ({ onClaimed }: { readonly onClaimed: () => void }) => {
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const fields = fieldsOf(form);
    const body = { ...fields, domain: hostIn(fields['domain'] ?? '') };
    if (!(await run(() => callApi('/v2/domains', { method: 'POST', body })))) return;
    form.reset();
    onClaimed();
  });
  return (
    <form class="card stack" onSubmit={submit} aria-labelledby="new-domain">
      <h2 id="new-domain">{text.newDomain}</h2>
      <Input
        label={texts.components.domain}
        name="domain"
        required
        maxLength={2_048}
        placeholder={text.domainExample}
        hint={text.domainHint}
      />
      <Trouble failure={failure} />
      <button class="primary" aria-disabled={isBusy}>
        {text.claim}
      </button>
    </form>
  );
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

type Opened = { readonly what: 'edit' | 'remove'; readonly domain: DomainResponse } | null;

const Row = (props: {
  readonly domain: DomainResponse;
  readonly canManage: boolean;
  readonly onOpen: (opened: Opened) => void;
  readonly onVerified: () => void;
}) => {
  const { domain, canManage, onOpen, onVerified } = props;
  const { domain: name, status, verification, linkCount, createdAt, verifiedAt } = domain;
  const isActive = status === 'active';
  const sinceOf = verification === null ? text.added : isActive ? text.verifiedOn : text.claimedOn;
  return (
    <li class="card stack">
      <div class="row spread">
        <h2 class="row">
          <span class="long">{name}</span>{' '}
          <span class={`badge ${isActive ? 'active' : 'scheduled'}`}>{text.status[status]}</span>
        </h2>
        {canManage && (
          <div class="row" role="group" aria-label={name}>
            {isActive && (
              <button
                type="button"
                class="small"
                onClick={() => {
                  onOpen({ what: 'edit', domain });
                }}
              >
                {text.edit}
              </button>
            )}
            <button
              type="button"
              class="small danger"
              onClick={() => {
                onOpen({ what: 'remove', domain });
              }}
            >
              {text.remove}
            </button>
          </div>
        )}
      </div>
      {isActive ? (
        <Redirects domain={domain} />
      ) : (
        verification && (
          <Verification
            domain={name}
            record={verification}
            canManage={canManage}
            onVerified={onVerified}
          />
        )
      )}
      <p class="soft">
        <a href={`/console/links?domain=${name}`}>{text.links(linkCount)}</a>.{' '}
        {sinceOf(formatDate(verifiedAt ?? createdAt))}
      </p>
    </li>
  );
};

/** The domains of the account. @param scopes those of the session's key */
export const Domains = ({ scopes }: { readonly scopes: readonly Scope[] }) => {
  const { value, failure, isLoading, reload } = useDomains();
  const [opened, setOpened] = useState<Opened>(null);
  const canRead = scopes.includes('links:read');
  const canManage = canRead && scopes.includes('domains:manage');
  useEffect(() => {
    // The list may be older than this page.
    if (!isLoading) reload();
  }, []);
  const { notice, announce } = useNotice();
  const close = (): void => {
    setOpened(null);
  };
  const done =
    (message: string, isRemoved = false) =>
    (): void => {
      close();
      announce(message, isRemoved);
      reload();
    };
  const dialog = opened && { domain: opened.domain, onClose: close };
  return (
    <Page title={texts.app.domains}>
      {notice}
      <Trouble failure={failure} onRetry={reload} />
      {!canRead && <NeedsScope scope="links:read" />}
      {canRead && !canManage && <NeedsScope scope="domains:manage" />}
      {canRead && value?.domains.length === 0 && <p class="soft">{text.none}</p>}
      <ul class="plain stack">
        {value?.domains.map((domain) => (
          <Row
            key={domain.domain}
            domain={domain}
            canManage={canManage}
            onOpen={setOpened}
            onVerified={done(text.verified, true)}
          />
        ))}
      </ul>
      {canManage && <ClaimForm onClaimed={done(text.claimed)} />}
      {dialog && opened.what === 'edit' && (
        <EditRedirects {...dialog} onChanged={done(text.saved)} />
      )}
      {dialog && opened.what === 'remove' && (
        <Remove {...dialog} onChanged={done(text.removed, true)} />
      )}
    </Page>
  );
};
