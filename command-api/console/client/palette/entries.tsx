import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { LinkPage } from '../../../../schemas/http/links.js';
import { codeOfShortUrl, pastedLink } from '../../../../schemas/pasted-code.js';
import { linkPage, subjectOfLink, withQuery } from '../../link-address.js';
import { texts } from '../../texts.js';
import { callApi, type Result } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { useOwner, useScope } from '../app/owner.js';
import type { ConsolePage } from '../app/shell.js';
import { useActiveDomains } from '../components/own-domains.js';
import { Trouble } from '../components/trouble.js';

const { common, app: text } = texts;

type Found = Pick<LinkPage, 'links'>;

const none: Result<Found> = { ok: true, status: 200, value: { links: [] } };

/** A search starts after this time without input (ms). */
const pauseMs = 150;

/** The terms of a text that the API searches for: those of at least two characters. */
const searchOf = (typed: string): string =>
  typed
    .split(/\s+/)
    .filter((term) => Array.from(term).length > 1)
    .join(' ');

/** The links that match a text. A short URL finds the links whose code contains its code. */
const useLinks = (typed: string) => {
  const { shortUrlHost, keyId } = useOwner();
  const isOperator = keyId === null;
  const canRead = useScope('links:read') || isOperator;
  const domains = useActiveDomains();
  const search = canRead ? searchOf(typed) : '';
  const [started, setStarted] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setStarted(search), pauseMs);
    return () => clearTimeout(timer);
  }, [search]);
  const loaded = useLoad(async () => {
    if (started === '') return none;
    const isActive = (name: string) => Promise.resolve(domains.includes(name));
    const { domain, code } = await pastedLink(started, { shortUrlHost, isActive });
    const query =
      domain !== null && domains.includes(domain)
        ? { domain, search: code }
        : { search: codeOfShortUrl(started, shortUrlHost) ?? started };
    return callApi<Found>(
      withQuery(isOperator ? '/admin/links' : '/v2/links', { limit: '8', ...query }),
    );
  }, started);
  return { ...loaded, isLoading: loaded.isLoading || started !== search };
};

interface Props {
  readonly pages: readonly ConsolePage[];
  readonly onClose: () => void;
}

/** A combobox: the focus stays in its field, and the arrow keys move along the options of its list. */
export const Entries = ({ pages, onClose }: Props) => {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const [isEntered, setEntered] = useState(false);
  const { value, failure, isLoading, reload } = useLinks(typed);
  const wanted = typed.trim().toLowerCase();
  const found = pages.flatMap(({ path, title }) =>
    title?.toLowerCase().includes(wanted) === true
      ? [{ href: path, name: title, about: null }]
      : [],
  );
  const links = failure ? [] : (value?.links ?? []);
  const foundLinks = links.map((link) => ({
    ...{ href: linkPage(link), name: subjectOfLink(link), about: link.title ?? link.url },
  }));
  const options = [...found, ...foundLinks];
  const groups = [
    { title: text.pages, entries: found, first: 0 },
    { title: common.links, entries: foundLinks, first: found.length },
  ];
  const selected = Math.min(active, options.length - 1);
  /** Whether the first option is a link, and may be another one after the search. */
  const isWaiting = isLoading && found.length === 0 && active === 0;
  const option = () => list.current?.querySelectorAll('a')[selected];
  // If the dialog opens later, it moves the focus to the field with `autofocus`.
  useLayoutEffect(() => field.current?.focus(), []);
  useLayoutEffect(() => option()?.scrollIntoView({ block: 'nearest' }), [selected]);
  useLayoutEffect(() => {
    if (!isEntered || isWaiting) return;
    setEntered(false);
    option()?.click();
  }, [isEntered, isWaiting]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: options.length - 1 }[event.key];
    if (event.isComposing || (step === undefined && event.key !== 'Enter')) return;
    event.preventDefault();
    if (step === undefined) setEntered(true);
    else if (options.length > 0) setActive((selected + step) % options.length);
  };
  return (
    <div class="stack palette">
      <input
        ref={field}
        autofocus
        role="combobox"
        aria-label={common.search}
        aria-autocomplete="list"
        aria-expanded={options.length > 0}
        aria-controls={id}
        aria-activedescendant={options.length > 0 ? `${id}-${selected}` : undefined}
        maxLength={200}
        autocomplete="off"
        onKeyDown={onKeyDown}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setActive(0);
          setEntered(false);
        }}
      />
      <p role="status">{options.length === 0 && !isLoading && !failure && text.nothingFound}</p>
      <Trouble failure={failure} onRetry={reload} keepsFocus />
      <div ref={list} id={id} role="listbox" aria-label={common.search} onClick={onClose}>
        {groups.map(({ title, entries, first }) =>
          entries.length === 0 ? null : (
            <div key={title} role="group" aria-label={title}>
              <div class="hint" aria-hidden="true">
                {title}
              </div>
              {entries.map(({ href, name, about }, position) => {
                const index = first + position;
                return (
                  <a
                    key={`${href} ${name}`}
                    {...{ id: `${id}-${index}`, href, tabIndex: -1 }}
                    role="option"
                    onPointerMove={() => setActive(index)}
                    aria-selected={index === selected}
                  >
                    <bdi class="clip">{name}</bdi> <bdi class="clip soft">{about}</bdi>
                  </a>
                );
              })}
            </div>
          ),
        )}
      </div>
    </div>
  );
};
