import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import { formatDate } from '../../format.js';
import { writeFilter, noFilter } from '../../link-filter.js';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { DomainPage, OperatorsDomain } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Dialog } from '../components/dialog.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { hostIn } from '../../link-filter.js';
import { texts } from '../../texts.js';

const text = texts.operators;

interface DialogProps {
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

const Add = ({ onClose, onChanged }: DialogProps) => {
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const fields = fieldsOf(form);
    const body = { ...fields, domain: hostIn(fields['domain'] ?? '') };
    if (await run(() => callApi('/admin/domains', { method: 'POST', body }))) onChanged();
  });
  return (
    <Dialog title={text.addDomain} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <Input
          label={texts.components.domain}
          name="domain"
          required
          maxLength={2_048}
          placeholder="go.example.com"
          hint={text.addDomainHint}
        />
        <Input label={text.account} name="account" required pattern="[A-Za-z0-9._\-]{1,64}" />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          {text.addTheDomain}
        </button>
      </form>
    </Dialog>
  );
};

const Release = (props: DialogProps & { readonly subject: OperatorsDomain }) => {
  const { subject, onClose, onChanged } = props;
  const { domain, account } = subject;
  return (
    <Confirm
      title={text.releaseDomain(domain)}
      verb={text.release}
      call={() => callApi(`/admin/domains/${domain}`, { method: 'DELETE' })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>{text.releaseEffect(account)}</p>
    </Confirm>
  );
};

const Row = (props: { readonly subject: OperatorsDomain; readonly onRelease: () => void }) => {
  const { domain, account, linkCount, verification, verifiedAt } = props.subject;
  const links = writeFilter({ ...noFilter, domain, account, sort: 'created', after: '' });
  return (
    <li class="card stack">
      <div class="row spread">
        <h2 class="row">
          <span class="long">{domain}</span> <span class="badge">{text.ofAccount(account)}</span>
        </h2>
        <div class="row" role="group" aria-label={domain}>
          <button type="button" class="small danger" onClick={props.onRelease}>
            {text.release}
          </button>
        </div>
      </div>
      <p class="soft">
        <a href={`/console/links?${links}`}>{text.links(linkCount)}</a>.{' '}
        {(verification === null ? text.addedByOperator : text.verified)(
          verifiedAt === null ? null : formatDate(verifiedAt),
        )}
      </p>
    </li>
  );
};

/** The domains of all accounts, page by page. */
export const AllDomains = () => {
  const { query } = useLocation();
  const path = `/admin/domains?${new URLSearchParams(query).toString()}`;
  const { value, failure, reload } = useLoad(() => callApi<DomainPage>(path), path);
  const [isAdding, setAdding] = useState(false);
  const [releasing, setReleasing] = useState<OperatorsDomain>();
  const close = (): void => {
    setAdding(false);
    setReleasing(undefined);
  };
  const dialog = {
    onClose: close,
    onChanged: () => {
      close();
      reload();
    },
  };
  return (
    <Page
      title={texts.app.domains}
      aside={
        <button
          type="button"
          class="primary"
          onClick={() => {
            setAdding(true);
          }}
        >
          {text.addDomain}
        </button>
      }
    >
      <Trouble failure={failure} onRetry={reload} />
      {value?.domains.length === 0 && <p class="soft">{text.noDomains}</p>}
      <ul class="plain stack">
        {value?.domains.map((subject) => (
          <Row
            key={subject.domain}
            subject={subject}
            onRelease={() => {
              setReleasing(subject);
            }}
          />
        ))}
      </ul>
      {value?.next != null && (
        <p>
          <a class="button" href={`/console/domains?after=${value.next}`}>
            {texts.components.nextPage}
          </a>
        </p>
      )}
      {isAdding && <Add {...dialog} />}
      {releasing && <Release {...dialog} subject={releasing} />}
    </Page>
  );
};
