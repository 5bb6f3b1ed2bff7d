import { useEffect, useState } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { formatDate } from '../../format.js';
import { formatNumber } from '../../numbers.js';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { DomainResponse } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Dialog } from '../components/dialog.js';
import { Input } from '../components/field.js';
import { useDomains } from '../components/own-domains.js';
import { Trouble } from '../components/trouble.js';
import { Verification } from './verification.js';

const redirects = [
  ['rootRedirect', 'Home page', 'Replaces the page for the domain without a short code.'],
  ['notFoundRedirect', 'Unknown links', 'Replaces the page for links that do not exist.'],
  ['expiredRedirect', 'Ended links', 'Replaces the page for expired, disabled and deleted links.'],
] as const;

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
        .map(([name]) => [name, fields[name] ?? null] as const)
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
    <Dialog title={`Redirects of ${domain.domain}`} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <p class="hint">
          Browsers are redirected to these URLs. Without a URL, they get the page of Linklog, like
          other clients.
        </p>
        {redirects.map(([name, label, hint]) => (
          <Input
            key={name}
            label={label}
            name={name}
            inputMode="url"
            maxLength={2_048}
            defaultValue={domain[name] ?? ''}
            hint={hint}
          />
        ))}
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          Save
        </button>
      </form>
    </Dialog>
  );
};

const Remove = ({ domain: { domain, status }, onClose, onChanged }: Props) => (
  <Confirm
    title={`Remove ${domain}?`}
    verb="Remove"
    call={() => callApi(`/v2/domains/${domain}`, { method: 'DELETE' })}
    onDone={onChanged}
    onClose={onClose}
  >
    <p>
      {status === 'pending'
        ? 'The claim ends. A new claim gets another TXT record.'
        : 'This account can no longer create links on it, and another account may claim it. A domain with links cannot be removed: delete its links first.'}
    </p>
  </Confirm>
);

const ClaimForm = ({ onClaimed }: { readonly onClaimed: () => void }) => {
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const body = fieldsOf(form);
    if (!(await run(() => callApi('/v2/domains', { method: 'POST', body })))) return;
    form.reset();
    onClaimed();
  });
  return (
    <form class="card stack" onSubmit={submit} aria-labelledby="new-domain">
      <h2 id="new-domain">New domain</h2>
      <Input
        label="Domain"
        name="domain"
        required
        maxLength={253}
        placeholder="go.example.com"
        hint="A host name whose DNS records lead to this service. A TXT record verifies that it is yours."
      />
      <Trouble failure={failure} />
      <button class="primary" aria-disabled={isBusy}>
        Claim the domain
      </button>
    </form>
  );
};

const Redirects = ({ domain }: { readonly domain: DomainResponse }) => (
  <dl class="data">
    {redirects.map(([name, label]) => (
      <div key={name}>
        <dt>{label}</dt>
        <dd>
          <bdi>{domain[name] ?? 'the page of Linklog'}</bdi>
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
  readonly onChanged: () => void;
}) => {
  const { domain, canManage, onOpen, onChanged } = props;
  const { domain: name, status, verification, linkCount, createdAt, verifiedAt } = domain;
  const isActive = status === 'active';
  return (
    <li class="card stack">
      <div class="row spread">
        <h2 class="row">
          <span class="long">{name}</span>{' '}
          <span class={`badge ${isActive ? 'active' : 'scheduled'}`}>{status}</span>
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
                Change redirects
              </button>
            )}
            <button
              type="button"
              class="small danger"
              onClick={() => {
                onOpen({ what: 'remove', domain });
              }}
            >
              Remove
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
            onVerified={onChanged}
          />
        )
      )}
      <p class="soft">
        <a href={`/console/links?domain=${name}`}>
          {linkCount === 1 ? 'One link' : `${formatNumber(linkCount)} links`}
        </a>
        . {verification === null ? 'Added by an operator' : isActive ? 'Verified' : 'Claimed'} on{' '}
        {formatDate(verifiedAt ?? createdAt)}.
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
  const close = (): void => {
    setOpened(null);
  };
  const dialog = opened && {
    domain: opened.domain,
    onClose: close,
    onChanged: () => {
      close();
      reload();
    },
  };
  return (
    <Page title="Domains">
      <Trouble failure={failure} onRetry={reload} />
      {!canRead && <p>The key of this session cannot list domains.</p>}
      {canRead && value?.domains.length === 0 && (
        <p class="soft">This account has no domains of its own yet.</p>
      )}
      <ul class="plain stack">
        {value?.domains.map((domain) => (
          <Row
            key={domain.domain}
            domain={domain}
            canManage={canManage}
            onOpen={setOpened}
            onChanged={reload}
          />
        ))}
      </ul>
      {canManage && <ClaimForm onClaimed={reload} />}
      {dialog && opened.what === 'edit' && <EditRedirects {...dialog} />}
      {dialog && opened.what === 'remove' && <Remove {...dialog} />}
    </Page>
  );
};
