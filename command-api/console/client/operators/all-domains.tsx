import type { z } from 'zod';
import type { domainPageResponse, OperatorsDomain } from '../../../../schemas/http/domains.js';
import { formatDate } from '../../format.js';
import { noFilter, writeFilter } from '../../link-filter.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { useAddressedPage } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { question, useActions, type Action } from '../components/actions.js';
import { NewDomainFields, newDomainIn } from '../components/new-domain.js';
import { nextPage, ResourceList, type Description } from '../components/resource-list.js';
import { AccountInput } from './account-input.js';

const { common, operators: text } = texts;

const add: Action = {
  verb: text.addDomain,
  dialog: {
    title: text.addDomain,
    verb: text.addTheDomain,
    content: (
      <>
        <NewDomainFields hint={text.addDomainHint} />
        <AccountInput required />
      </>
    ),
  },
  call: (data) => callApi('/admin/domains', { method: 'POST', body: newDomainIn(data) }),
};

const describe = (subject: OperatorsDomain): Description => {
  const { domain, account, linkCount, verification, verifiedAt } = subject;
  const isPending = subject.status === 'pending';
  const links = writeFilter({ ...noFilter, domain, account, sort: 'created', after: '' });
  return {
    id: `${domain} ${account}`,
    name: domain,
    heading: (
      <h2 class="row">
        <span class="long">{domain}</span> <span class="badge">{text.ofAccount(account)}</span>{' '}
        {isPending && <span class="badge pending">{texts.domains.status.pending}</span>}
      </h2>
    ),
    actions: isPending
      ? []
      : [
          {
            verb: text.release,
            isDanger: true,
            ...question(text.releaseDomain(domain), <p>{text.releaseEffect(account)}</p>),
            call: () => callApi(`/admin/domains/${domain}`, { method: 'DELETE' }),
          },
        ],
    content: isPending ? (
      <p class="soft">{texts.domains.claimedOn(formatDate(subject.createdAt))}</p>
    ) : (
      <p class="soft">
        <a href={`/console/links?${links}`}>{common.countLinks(linkCount)}</a>.{' '}
        {(verification === null ? text.addedByOperator : text.verified)(
          verifiedAt === null ? null : formatDate(verifiedAt),
        )}
      </p>
    ),
  };
};

/** The domains of all accounts, page by page. */
export const AllDomains = () => {
  const loaded = useAddressedPage<z.infer<typeof domainPageResponse>>('/admin/domains', {
    claims: '1',
  });
  const tools = useActions(loaded.reload);
  return (
    <Page title={texts.app.domains} aside={tools.buttons([add], 'primary')}>
      <ResourceList
        tools={tools}
        loaded={loaded}
        items={loaded.value?.domains}
        describe={describe}
        none={text.noDomains}
        next={nextPage('/console/domains', loaded.value)}
      />
    </Page>
  );
};
