import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { formatTime } from '../../format.js';
import { texts } from '../../texts.js';
import { richText } from '../components/rich-text.js';
import { Changes } from './changes.js';
import { Shortcuts, type Shortcut } from './shortcuts.js';

const { common, app: text } = texts;

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

interface Props {
  readonly name: string;
  readonly pages: readonly (readonly [path: string, title: string])[];
  readonly shortcuts: readonly Shortcut[];
  readonly who: ComponentChildren;
  readonly onSignOut: () => void;
  readonly children: ComponentChildren;
}

/** Whether a menu item is the current page, or the parent of it. */
const currentOf = (path: string, at: string): 'page' | 'true' | undefined => {
  if (path === at) return 'page';
  return path !== '/console' && at.startsWith(`${path}/`) ? 'true' : undefined;
};

/** The frame of all pages: navigation and the user. */
export const Shell = ({ name, pages, shortcuts, who, onSignOut, children }: Props) => {
  const { path } = useLocation();
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
        <nav aria-label={text.pages}>
          <ul>
            {pages.map(([to, title]) => (
              <li key={to}>
                <a href={to} aria-current={currentOf(to, path)}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Shortcuts shortcuts={shortcuts} />
        <div class="who">
          <div class="clip">{who}</div>
          <button type="button" class="quiet" onClick={onSignOut}>
            {common.signOut}
          </button>
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <MaintenanceBanner />
        {children}
      </main>
    </div>
  );
};

interface PageProps {
  readonly title: string;
  /** Next to the heading. */
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
    if (!isFirstPage && !isField(document.activeElement)) heading.current?.focus();
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

/** The page of unknown addresses. */
export const NoPage = () => (
  <Page title={text.noPage}>
    <p>
      <a href="/console">{text.firstPage}</a>
    </p>
  </Page>
);
