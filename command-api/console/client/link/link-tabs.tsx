import { useRoute } from 'preact-iso/router';
import { linkPage, type AddressedLink } from '../../link-address.js';
import { texts } from '../../texts.js';

interface LinkRoute {
  readonly address: AddressedLink;
  /** Empty: the first tab. */
  readonly tab: string;
}

/** The link and the tab in the address of a link's page. */
export const useLinkRoute = (): LinkRoute => {
  const { params, query } = useRoute();
  const { code: shortCode = '', tab = '' } = params;
  const { domain = '' } = query;
  return { address: { shortCode, domain: domain === '' ? null : domain }, tab };
};

interface Props extends LinkRoute {
  readonly tabs: readonly (readonly [name: string, title: string])[];
}

export const LinkTabs = ({ tabs, address, tab }: Props) => (
  <nav class="tabs" aria-label={texts.link.aboutLink}>
    {tabs.map(([name, title]) => (
      <a key={name} href={linkPage(address, name)} aria-current={name === tab ? 'page' : undefined}>
        {title}
      </a>
    ))}
  </nav>
);
