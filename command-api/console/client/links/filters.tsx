import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { linkPage } from '../../link-address.js';
import {
  noFilter,
  orders,
  showsAll,
  statuses,
  type LinkFilter,
  type Order,
  type Status,
} from '../../link-filter.js';
import { codeOfShortUrl, pastedLink } from '../../../../schemas/pasted-code.js';
import { fieldsOf, onSubmit } from '../app/hooks.js';
import { Input, Select } from '../components/field.js';
import { DomainSelect, useActiveDomains } from '../components/own-domains.js';

interface Props {
  readonly filter: LinkFilter;
  /** A pasted short URL with this prefix is searched for by its code; one on a domain of the account is opened. */
  readonly shortUrlHost: string;
  /** The address of the first page of another filter. */
  readonly hrefOf: (change: Partial<LinkFilter>) => string;
  readonly onChange: (change: Partial<LinkFilter>) => void;
  /** For operators, who see the links of all accounts. */
  readonly hasAccounts?: boolean;
}

/** The props of a text field that follows the address until the user types. */
const useText = (value: string) => {
  const [text, setText] = useState(value);
  useEffect(() => {
    setText(value);
  }, [value]);
  return {
    value: text,
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => {
      setText(event.currentTarget.value);
    },
  };
};

/** The active filters, each with a link that removes it. */
const Chips = ({ filter, hrefOf }: Omit<Props, 'onChange' | 'shortUrlHost'>) => {
  const { search, tags, status, destination, domain, account } = filter;
  const chips = [
    ...(search === '' ? [] : [['text', search, { search: '' }] as const]),
    ...tags.map((tag) => ['tag', tag, { tags: tags.filter((other) => other !== tag) }] as const),
    ...(account === '' ? [] : [['account', account, { account: '' }] as const]),
    ...(domain === '' ? [] : [['domain', domain, { domain: '' }] as const]),
    ...(destination === '' ? [] : [['destination', destination, { destination: '' }] as const]),
    ...(status === '' ? [] : [['status', statuses[status], { status: '' }] as const]),
  ];
  return (
    <p class="row" role="group" aria-label="Filters">
      {chips.map(([what, value, without]) => (
        <a key={`${what} ${value}`} class="tag clip" href={hrefOf(without)}>
          <span class="unseen">Without the </span>
          {what} <bdi>{value}</bdi> <span aria-hidden="true">✕</span>
        </a>
      ))}
      <a href={hrefOf(noFilter)}>Show all</a>
    </p>
  );
};

/** Search, filters and order of the list. They are in the address, which can be shared. */
export const Filters = (props: Props) => {
  const { filter, shortUrlHost, hasAccounts = false, onChange } = props;
  const searchText = useText(filter.search);
  const destination = useText(filter.destination);
  const account = useText(filter.account);
  const domain = useText(filter.domain);
  const domains = useActiveDomains();
  const { route } = useLocation();
  const submit = onSubmit(async (form) => {
    const fields = fieldsOf(form);
    const { tag } = fields;
    const tags = tag === undefined ? filter.tags : [...new Set([...filter.tags, tag])];
    const text = (name: string): string => fields[name] ?? '';
    const isActive = (name: string) => Promise.resolve(domains.includes(name));
    const { domain: pasted, code } = await pastedLink(text('search'), { shortUrlHost, isActive });
    if (pasted !== null && domains.includes(pasted)) {
      route(linkPage({ shortCode: code, domain: pasted }));
      return;
    }
    onChange({
      search: codeOfShortUrl(text('search'), shortUrlHost) ?? text('search'),
      destination: text('destination'),
      tags,
      ...(hasAccounts && { account: text('account'), domain: text('domain') }),
    });
  });
  return (
    <search class="stack">
      <form class="picker" onSubmit={submit}>
        <Input
          label="Search"
          name="search"
          type="search"
          minLength={2}
          maxLength={200}
          placeholder="Link, title, note, tag"
          {...searchText}
        />
        <Select
          label="Status"
          value={filter.status}
          options={[['', 'Not deleted'], ...Object.entries(statuses)]}
          onChange={(event) => {
            onChange({ status: event.currentTarget.value as Status | '' });
          }}
        />
        {hasAccounts ? (
          <>
            <Input label="Account" name="account" {...account} />
            <Input label="Domain" name="domain" placeholder="go.example.com" {...domain} />
          </>
        ) : (
          <DomainSelect
            none="All domains"
            value={filter.domain}
            onChange={(chosen) => {
              onChange({ domain: chosen });
            }}
          />
        )}
        {/* The links of all accounts are ordered by account. */}
        {(!hasAccounts || filter.account !== '') && (
          <Select
            label="Order"
            value={filter.sort}
            options={Object.entries(orders)}
            onChange={(event) => {
              onChange({ sort: event.currentTarget.value as Order });
            }}
          />
        )}
        <Input
          label="Destination host"
          name="destination"
          placeholder="example.com"
          {...destination}
        />
        {/* A new field after each added tag. */}
        <Input key={filter.tags.length} label="Tag" name="tag" maxLength={50} />
        <button>Search</button>
      </form>
      {!showsAll(filter) && <Chips {...props} />}
    </search>
  );
};
