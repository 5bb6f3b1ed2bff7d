import type { z } from 'zod';
import type { domainListResponse } from '../../../../schemas/http/domains.js';
import { createContext, type ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { withQuery } from '../../link-address.js';
import { callApi, type Result } from '../app/api.js';
import { useLoad, type Loaded } from '../app/hooks.js';
import { useScope } from '../app/owner.js';
import { Select, withValue } from './field.js';
import { Trouble } from './trouble.js';
import { texts } from '../../texts.js';

type DomainPage = z.infer<typeof domainListResponse>;
type DomainList = Pick<DomainPage, 'domains'>;

const noDomains: Loaded<DomainList> = {
  value: { domains: [] },
  failure: undefined,
  isLoading: false,
  reload: () => undefined,
};

const Context = createContext(noDomains);

/** The account's domains, which are loaded once for all pages. */
export const useDomains = (): Loaded<DomainList> => useContext(Context);

const readAllPages = async (after = ''): Promise<Result<DomainList>> => {
  const path = withQuery('/v2/domains', { limit: '1000', after });
  const page = await callApi<DomainPage>(path);
  if (!page.ok || page.value.next === null) return page;
  const rest = await readAllPages(page.value.next);
  if (!rest.ok) return rest;
  return { ...rest, value: { domains: [...page.value.domains, ...rest.value.domains] } };
};

export const OwnDomains = ({ children }: { readonly children: ComponentChildren }) => {
  const canRead = useScope('links:read');
  const loaded = useLoad(
    () =>
      canRead
        ? readAllPages()
        : Promise.resolve({ ok: true as const, status: 200, value: { domains: [] } }),
    '',
  );
  return <Context.Provider value={loaded}>{children}</Context.Provider>;
};

const activeIn = (list: DomainList | undefined): readonly string[] =>
  (list?.domains ?? []).flatMap(({ domain, status }) => (status === 'active' ? [domain] : []));

export const useActiveDomains = (): readonly string[] => activeIn(useDomains().value);

interface SelectProps {
  /** The label of the empty value. */
  readonly none: string;
  readonly value?: string;
  readonly name?: string;
  readonly onChange?: (domain: string) => void;
}

/** A choice of one of the account's active domains. Nothing without any. */
export const DomainSelect = ({ none, value = '', name, onChange }: SelectProps) => {
  const { value: list, failure, reload } = useDomains();
  if (list === undefined) return <Trouble failure={failure} onRetry={reload} />;
  // A shared address may have a domain that is no longer active.
  const domains = new Set([...activeIn(list), ...(value === '' ? [] : [value])]);
  if (domains.size === 0) return null;
  return (
    <Select
      label={texts.components.domain}
      name={name}
      value={value}
      options={[['', none], ...[...domains].map((domain) => [domain, domain] as const)]}
      onChange={withValue((value) => onChange?.(value))}
    />
  );
};
