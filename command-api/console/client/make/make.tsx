import { useLocation } from 'preact-iso/router';
import { Page } from '../app/shell.js';
import { DomainSelect } from '../components/own-domains.js';
import { ManyLinks } from './many-links.js';
import { OneLink } from './one-link.js';

/** Creates one link with all options, or a link for each URL of a list. */
export const Make = ({ shortUrlHost }: { readonly shortUrlHost: string }) => {
  const domain = <DomainSelect name="domain" none={new URL(shortUrlHost).host} />;
  const isMany = useLocation().query['many'] !== undefined;
  return (
    <Page title="New link">
      <nav class="tabs" aria-label="How many">
        <a href="/console/new" aria-current={isMany ? undefined : 'page'}>
          One link
        </a>
        <a href="/console/new?many" aria-current={isMany ? 'page' : undefined}>
          Many links
        </a>
      </nav>
      {isMany ? <ManyLinks domain={domain} /> : <OneLink domain={domain} />}
    </Page>
  );
};
