import { useLocation } from 'preact-iso/router';
import type { OperatorsLinkPage } from '../../../../schemas/http/operators.js';
import type { LinkIdentity } from '../../../../schemas/link-subject.js';
import { pastedLink } from '../../../../schemas/pasted-code.js';
import { linkPage } from '../../link-address.js';
import { isServedDomain, type Failure, type Result } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import { Page } from '../app/shell.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { LinkList, useLinkList } from '../links/link-list.js';
import { texts } from '../../all-texts.js';

const { common, operators: text } = texts;

/** The link that a text names. As at the edge, a host that is not an active domain is the default domain. */
const readLink = async (text: string, shortUrlHost: string): Promise<Result<LinkIdentity>> => {
  const failures: Failure[] = [];
  const isActive = async (name: string): Promise<boolean> => {
    // It is served, too.
    if (name === new URL(shortUrlHost).hostname) return false;
    const served = await isServedDomain(name);
    if (!served.ok) failures.push(served.failure);
    return served.ok && served.value;
  };
  const value = await pastedLink(text, { shortUrlHost, isActive });
  const [failure] = failures;
  return failure ? { ok: false, failure } : { ok: true, status: 200, value };
};

/** Opens the page of a link by its code. */
const Find = () => {
  const { shortUrlHost } = useOwner();
  const { route } = useLocation();
  const { failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const { code: text = '' } = fieldsOf(form);
    const found = await run(() => readLink(text, shortUrlHost));
    if (found) route(linkPage({ shortCode: found.value.code, domain: found.value.domain }));
  });
  return (
    <form class="picker" onSubmit={submit} aria-label={common.oneLink}>
      <Input label={text.codeOrUrl} name="code" required />
      <button>{text.showLink}</button>
      <Trouble failure={failure} />
    </form>
  );
};

/** The links of all accounts, in the order of accounts. */
export const AllLinks = () => {
  const list = useLinkList<OperatorsLinkPage>(true);
  const { account, sort } = list.filter;
  return (
    <Page title={common.links}>
      <Find />
      {account === '' && sort === 'created' && <p class="soft">{text.linkOrder}</p>}
      <LinkList list={list} links={list.value?.links ?? []} hasAccounts />
    </Page>
  );
};
