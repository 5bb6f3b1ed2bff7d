import { render, type ComponentChildren, type ComponentType } from 'preact';
import { LocationProvider, Route, Router, useLocation } from 'preact-iso/router';
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { chooseZone, formatTime, isZoneUnknown, ownZoneOf } from '../../format.js';
import { language } from '../../locale.js';
import { texts } from '../../texts.js';
import { Dialog } from '../components/dialog.js';
import { Check, ZoneField } from '../components/field.js';
import { Icon } from '../components/icon.js';
import { closePopover } from '../components/popover.js';
import { richText } from '../components/rich-text.js';
import { Changes } from './changes.js';
import { NeedsScope, type ScopeProps, useOwner } from './owner.js';

const { common, app: text } = texts;

/** Keys that are typed one after another, such as `g l`, and the page that they open. */
interface Shortcut {
  readonly keys: string;
  readonly path: string;
  readonly title: string;
  /** Focuses the field for a search on the page. */
  readonly isSearch?: boolean;
}

/** The time between two keys (ms). */
const sequenceMs = 1_500;

const storageKey = 'linklog-shortcuts';

export const isApple = /Mac|iP(?:ad|hone)/.test(navigator.userAgent);
/** The keys of the command palette. */
export const paletteKeys = isApple ? '⌘ K' : text.controlK;

export const areShortcutsOff = (): boolean => localStorage.getItem(storageKey) === 'off';

/** Whether keys are input of the focused element. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) ||
    target.closest('dialog') !== null);

/** Focuses the search field of the page as soon as it exists. */
const focusSearch = (attempts = 20): void => {
  const field = document.querySelector<HTMLInputElement>('input[type=search]');
  if (field) field.focus();
  else if (attempts > 0) {
    setTimeout(() => focusSearch(attempts - 1), 50);
  }
};

/** Handles typed keys that are no input of a field. WCAG 2.1.4: the user can switch them off. */
export const useKeys = (
  handle: (event: KeyboardEvent) => void,
  inputs: readonly unknown[],
): void => {
  useEffect(() => {
    const handleUnlessTyping = (event: KeyboardEvent): void => {
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
      if (!hasModifier && !isTyping(event.target) && !areShortcutsOff()) handle(event);
    };
    document.addEventListener('keydown', handleUnlessTyping);
    return () => document.removeEventListener('keydown', handleUnlessTyping);
  }, inputs);
};

/** Handles shortcuts of one key or two. */
const Shortcuts = ({ shortcuts }: { readonly shortcuts: readonly Shortcut[] }) => {
  const [isOpen, setOpen] = useState(false);
  const previous = useRef({ key: '', at: 0 });
  useKeys(
    (event) => {
      const { key, timeStamp: at } = event;
      const last = previous.current;
      const typed = at - last.at < sequenceMs ? `${last.key} ${key}` : key;
      previous.current = { key, at };
      if (key === '?') setOpen(true);
      const shortcut = shortcuts.find(({ keys }) => keys === typed || keys === key);
      if (!shortcut) return;
      event.preventDefault();
      // A click on the link of the menu: the page may ask before unsaved changes are lost.
      document.querySelector<HTMLAnchorElement>(`a[href="${shortcut.path}"]`)?.click();
      if (shortcut.isSearch === true) focusSearch();
    },
    [shortcuts],
  );
  return (
    <>
      <button
        type="button"
        class="quiet small keys"
        aria-label={text.shortcuts}
        onClick={() => setOpen(true)}
      >
        <kbd aria-hidden="true">?</kbd>
      </button>
      {isOpen && (
        <Dialog title={text.shortcuts} onClose={() => setOpen(false)}>
          <dl class="data">
            {[
              ...shortcuts,
              { keys: 'd w m y', title: texts.statistics.period },
              { keys: paletteKeys, title: common.search },
              { keys: '?', title: text.shortcuts },
            ].map(({ keys, title }) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{title}</dd>
              </div>
            ))}
          </dl>
          <Check
            defaultChecked={!areShortcutsOff()}
            onChecked={(isChecked) => localStorage.setItem(storageKey, isChecked ? 'on' : 'off')}
            label={text.useShortcuts}
          />
        </Dialog>
      )}
    </>
  );
};

/** During maintenance: since when, and for operators by whom. */
const MaintenanceBanner = () => {
  const { maintenance } = useContext(Changes);
  if (!maintenance) return null;
  const { since, actor } = maintenance;
  return (
    <p class="banner" role="status">
      {richText(actor === null ? text.maintenance : text.maintenanceBy, {
        since: formatTime(since),
        actor: <bdi>{actor}</bdi>,
      })}
    </p>
  );
};

const zoneKey = 'linklog-zone';

/** If the browser does not report a zone that the API knows: the zone of all times, and a choice of it. */
const ZoneBanner = () =>
  isZoneUnknown() ? (
    <div class="banner" role="note">
      <p>{text.zoneUnknown}</p>
      <ZoneField
        value={ownZoneOf()}
        onChange={(zone) => {
          localStorage.setItem(zoneKey, zone);
          location.reload();
        }}
      />
    </div>
  ) : null;

export interface ConsolePage {
  readonly path: string;
  /** The name in the menu; absent: other pages link to the page. */
  readonly title?: string;
  /** Absent: the page is not one of the console. */
  readonly component?: ComponentType;
  /** The scope without which the page is not in the menu, and only names the scope. */
  readonly scope?: Scope;
}

interface Props {
  readonly name: string;
  readonly pages: readonly ConsolePage[];
  readonly shortcuts: readonly Shortcut[];
  readonly palette: ComponentChildren;
  readonly onSignOut: () => void;
  /** The user. */
  readonly children: ComponentChildren;
}

/** Whether a menu item is the current page, or the parent of it. */
const currentOf = (path: string, at: string): 'page' | 'true' | undefined => {
  if (path === at) return 'page';
  return path !== '/console' && at.startsWith(`${path}/`) ? 'true' : undefined;
};

/** Entries of the bar on a phone, before "More". */
const barEntries = 3;

/** The menu. On a phone, it is a bar at the bottom, and the other pages are in a sheet. */
const Menu = ({ pages }: Pick<Props, 'pages'>) => {
  const { path } = useLocation();
  const entries = pages.flatMap(({ path: to, title }) =>
    title === undefined
      ? []
      : [
          <li key={to}>
            <a href={to} aria-current={currentOf(to, path)}>
              <Icon name={to} />
              {title}
            </a>
          </li>,
        ],
  );
  return (
    <nav aria-label={text.pages}>
      <ul>{entries.slice(0, barEntries)}</ul>
      <button type="button" class="quiet" popovertarget="more">
        <Icon name="more" />
        {text.more}
      </button>
      <ul
        id="more"
        popover="auto"
        class="card"
        onClick={({ target, currentTarget }) => {
          if (target !== currentTarget) closePopover(currentTarget);
        }}
      >
        {entries.slice(barEntries)}
      </ul>
    </nav>
  );
};

/** Positions of pages (px), by address. */
const positions = new Map<string, number>();
/** How long a page may take until it is as long as before (ms). */
const restoreMs = 5_000;

let isBack = false;

window.addEventListener('popstate', () => {
  isBack = true;
});

/** Another page, or page of a list, starts at its top. Back and Forward restore the position. */
const useScrollPosition = (): void => {
  const { url, query } = useLocation();
  const { after } = query;
  const lastAfter = useRef(after);
  useLayoutEffect(() => {
    history.scrollRestoration = 'manual';
    const top = isBack ? (positions.get(url) ?? 0) : 0;
    if (!isBack && after !== lastAfter.current) scrollTo(0, 0);
    isBack = false;
    lastAfter.current = after;
    const observer = new ResizeObserver(() => {
      scrollTo(0, top);
      if (scrollY > top - 1) observer.disconnect();
    });
    if (top > 0) observer.observe(document.body);
    const timer = setTimeout(() => observer.disconnect(), restoreMs);
    const keep = () => positions.set(url, scrollY);
    addEventListener('scroll', keep);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
      removeEventListener('scroll', keep);
    };
  }, [url]);
};

/** The pages that the scopes allow. */
export const useOffered = (pages: readonly ConsolePage[]): readonly ConsolePage[] => {
  const { scopes } = useOwner();
  return pages.filter(({ scope }) => scope === undefined || scopes.includes(scope));
};

/** The pages of a console, in a frame with navigation and the user. */
export const Shell = ({ name, pages, shortcuts, palette, onSignOut, children }: Props) => {
  useScrollPosition();
  const offered = useOffered(pages);
  const isOffered = (shortcut: Shortcut): boolean =>
    offered.some((page) => page.path === shortcut.path);
  return (
    <div class="shell">
      <a class="skip" href="#content">
        {text.skip}
      </a>
      <header class="top">
        <a class="brand" href="/console">
          <img src={new URL('../icon.svg', import.meta.url).href} alt="" width="28" height="28" />
          {name}
        </a>
        <Shortcuts shortcuts={shortcuts.filter(isOffered)} />
        {palette}
        <Menu pages={offered} />
        <div class="who">
          <div class="clip">
            {children}
            <br />
            <a href="/console/sessions">{text.sessions}</a>
          </div>
          <button type="button" class="quiet" onClick={onSignOut}>
            {common.signOut}
          </button>
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <MaintenanceBanner />
        <ZoneBanner />
        <Router>
          {pages.map((page) => {
            const { path: at, title, scope, component = NoPage } = page;
            return scope === undefined || offered.includes(page) ? (
              <Route key={at} path={at} component={component} />
            ) : (
              <Route key={at} path={at} component={LackingPage} {...{ title, scope }} />
            );
          })}
          <Route default component={NoPage} />
        </Router>
      </main>
    </div>
  );
};

interface PageProps {
  readonly title: string;
  /** Shown next to the heading. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

let isFirstPage = true;

const isField = (element: Element | null): boolean =>
  element?.matches('input, select, textarea') ?? false;

/** A page. Except on the first one, its heading gets the focus, so that a screen reader starts there. */
export const Page = ({ title, aside, children }: PageProps) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const name = document.title.split(' · ').at(-1) ?? '';
    document.title = `${title} · ${name}`;
    // A field that has the focus was focused by the page itself, or by a shortcut.
    if (!isFirstPage && !isField(document.activeElement))
      heading.current?.focus({ preventScroll: true });
    isFirstPage = false;
  }, [title]);
  return (
    <>
      <div class="row spread heading">
        <h1 ref={heading} tabIndex={-1}>
          <bdi>{title}</bdi>
        </h1>
        {aside}
      </div>
      {children}
    </>
  );
};

/** @param back the address of the page above it */
export const NoPage = (props: {
  readonly back?: string;
  readonly children?: ComponentChildren;
}) => {
  const { back = '/console' } = props;
  return (
    <Page title={text.noPage}>
      <p>
        <a href={back}>{back === '/console' ? text.firstPage : text.pageAbove}</a>
      </p>
    </Page>
  );
};

const LackingPage = ({ title, scope }: ScopeProps & { readonly title: string | undefined }) => (
  <Page title={title ?? text.noPage}>
    <NeedsScope scope={scope} />
  </Page>
);

export const startConsole = (console: ComponentChildren): void => {
  document.documentElement.lang = language;
  if (isZoneUnknown()) chooseZone(localStorage.getItem(zoneKey) ?? '');
  const root = document.querySelector('#app');
  if (root) render(<LocationProvider scope="/console">{console}</LocationProvider>, root);
};
