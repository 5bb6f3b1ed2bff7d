import { useLocation } from 'preact-iso/router';
import { texts } from '../../all-texts.js';
import { useOwner } from '../app/owner.js';
import { Page } from '../app/shell.js';
import { lazy } from '../components/lazy.js';
import { DomainSelect } from '../components/own-domains.js';
import { OneLink } from './one-link.js';

const { common, make: text } = texts;

const ManyLinks = lazy(() => import('./many-links.js').then((module) => module.ManyLinks));

/** Creates one link with all options, or a link for each URL of a list. */
export const Make = () => {
  const { shortUrlHost } = useOwner();
  const domain = <DomainSelect name="domain" none={new URL(shortUrlHost).host} />;
  const { query } = useLocation();
  const isMany = query['many'] !== undefined;
  return (
    <Page title={common.newLink}>
      <nav class="tabs" aria-label={text.howMany}>
        <a href="/console/new" aria-current={isMany ? undefined : 'page'}>
          {common.oneLink}
        </a>
        <a href="/console/new?many" aria-current={isMany ? 'page' : undefined}>
          {text.manyLinks}
        </a>
      </nav>
      {isMany ? (
        <ManyLinks domain={domain} />
      ) : (
        <OneLink
          domain={domain}
          prefilled={{ url: query['url'] ?? '', title: query['title'] ?? '' }}
        />
      )}
    </Page>
  );
};
