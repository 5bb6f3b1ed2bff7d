import { useLocation } from 'preact-iso/router';
import { useRef } from 'preact/hooks';
import { codeOfShortUrl, pastedLink } from '../../../../schemas/pasted-code.js';
import { formatDay } from '../../format.js';
import { linkPage } from '../../link-address.js';
import {
  hostIn,
  type LinkFilter,
  noFilter,
  type Order,
  orders,
  showsAll,
  type Status,
  statuses,
} from '../../link-filter.js';
import { splitTags } from '../../tags.js';
import { texts } from '../../all-texts.js';
import { fieldsOf, onSubmit } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import { Chips } from '../components/chips.js';
import { Input, Select } from '../components/field.js';
import { TagInput } from '../components/link-texts.js';
import { DomainSelect, useActiveDomains } from '../components/own-domains.js';
import { Popover } from '../components/popover.js';
import { useText } from '../components/search-text.js';

const { common, components, links: text } = texts;

const examples = { host: 'example.com', domain: 'go.example.com' } as const;

const days = [
  ['from', text.createdFrom],
  ['to', text.createdTo],
] as const;

interface Props {
  readonly filter: LinkFilter;
  /** The address of the first page of another filter. */
  readonly hrefOf: (change: Partial<LinkFilter>) => string;
  /** @param isTyping whether the user is typing the search */
  readonly onChange: (change: Partial<LinkFilter>, isTyping: boolean) => void;
  /** Whether the links are those of all accounts, for operators. */
  readonly hasAccounts?: boolean;
}

const chipNames = ['search', 'account', 'domain', 'destination', 'status', 'from', 'to'] as const;

const valueOf = (filter: LinkFilter, name: (typeof chipNames)[number]): string => {
  if (name === 'status') return filter.status === '' ? '' : statuses[filter.status];
  if (name === 'from' || name === 'to') return filter[name] && formatDay(filter[name]);
  return filter[name];
};

const ActiveFilters = ({ filter, hrefOf }: Omit<Props, 'onChange'>) => {
  const { tags } = filter;
  const chips = [
    ...tags.map((tag) => ['tag', tag, { tags: tags.filter((other) => other !== tag) }] as const),
    ...chipNames.map((name) => [name, valueOf(filter, name), { [name]: '' }] as const),
  ].filter(([, value]) => value !== '');
  return (
    <Chips
      chips={chips.map(([name, value, without]) => [
        components.filter[name],
        value,
        hrefOf(without),
      ])}
      withoutFilters={hrefOf(noFilter)}
    />
  );
};

/** Search, filters and order of the list. They are in the address, which can be shared. */
export const Filters = (props: Props) => {
  const { filter, hasAccounts = false, onChange } = props;
  const { shortUrlHost } = useOwner();
  const form = useRef<HTMLFormElement>(null);
  const searchText = useText(filter.search, (typed) => {
    // The API refuses terms of one character.
    if (form.current && !/(?:^|\s)\S(?:\s|$)/u.test(typed)) {
      void apply(new FormData(form.current), true);
    }
  });
  const destination = useText(filter.destination);
  const account = useText(filter.account);
  const domain = useText(filter.domain);
  const domains = useActiveDomains();
  const { route } = useLocation();
  const apply = async (data: FormData, isTyping = false): Promise<void> => {
    const fields = fieldsOf(data);
    const tags = new Set([...filter.tags, ...splitTags(fields['tag'] ?? '')]);
    const field = (name: string): string => fields[name] ?? '';
    const isActive = (name: string) => Promise.resolve(domains.includes(name));
    // A short URL of the default domain is searched for by its code; one on a domain of the account is opened.
    const { domain: pasted, code } = await pastedLink(field('search'), { shortUrlHost, isActive });
    if (pasted !== null && domains.includes(pasted)) {
      if (!isTyping) route(linkPage({ shortCode: code, domain: pasted }));
      return;
    }
    const change = {
      search: codeOfShortUrl(field('search'), shortUrlHost) ?? field('search'),
      destination: hostIn(field('destination')),
      tags: [...tags],
      domain: hostIn(data.has('domain') ? field('domain') : filter.domain),
      status: field('status') as Status | '',
      ...{ from: field('from'), to: field('to'), sort: field('sort') as Order },
      ...(hasAccounts && { account: field('account') }),
    };
    onChange(change, isTyping);
  };
  return (
    <search class="stack">
      <form
        class="row"
        ref={form}
        onSubmit={onSubmit((data) => apply(data))}
        onChange={({ target, currentTarget }) => {
          // Another text than the search is applied with the next choice, or by Enter.
          if (target instanceof HTMLSelectElement || (target as HTMLInputElement).type === 'date') {
            currentTarget.requestSubmit();
          }
        }}
      >
        <input
          aria-label={common.search}
          name="search"
          type="search"
          minLength={2}
          maxLength={200}
          placeholder={text.searchHint}
          autocomplete="off"
          {...searchText}
        />
        <Popover label={components.filters}>
          <div class="columns">
            <Select
              label={text.status}
              name="status"
              value={filter.status}
              options={[['', text.notDeleted], ...Object.entries(statuses)]}
            />
            <Select
              label={text.order}
              name="sort"
              value={filter.sort}
              options={Object.entries(orders)}
            />
            {days.map(([name, label]) => (
              <Input
                key={name}
                {...{ label, name }}
                type="date"
                max="9999-12-30"
                value={filter[name]}
              />
            ))}
            {/* A new field after each added tag. */}
            <TagInput key={filter.tags.length} label={common.tag} name="tag" />
            <Input
              label={text.destinationHost}
              name="destination"
              placeholder={examples.host}
              {...destination}
            />
            {hasAccounts ? (
              <>
                <Input label={common.account} name="account" {...account} />
                <Input
                  label={components.domain}
                  name="domain"
                  placeholder={examples.domain}
                  {...domain}
                />
              </>
            ) : (
              <DomainSelect name="domain" none={common.allDomains} value={filter.domain} />
            )}
          </div>
          <button>{common.search}</button>
        </Popover>
      </form>
      {!showsAll(filter) && <ActiveFilters {...props} />}
    </search>
  );
};
