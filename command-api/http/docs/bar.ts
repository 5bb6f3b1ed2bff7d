const pages = [
  ['docs', 'API'],
  ['docs/events', 'Events'],
  ['openapi.json', 'openapi.json'],
  ['asyncapi.json', 'asyncapi.json'],
] as const;

/**
 * The top bar of a page of the documentation.
 *
 * @param root the relative address of `/`, which is also correct behind a proxy
 * @param more HTML after the links
 */
export const bar = (
  current: 'docs' | 'docs/events',
  { root, hasConsole, more = '' }: { root: string; hasConsole: boolean; more?: string },
): string => {
  const links = [...(hasConsole ? ([['console', '← Console']] as const) : []), ...pages].map(
    ([path, name]) =>
      `<li><a href="${root}${path}"${path === current ? ' aria-current="page"' : ''}>${name}</a></li>`,
  );
  return `<header class="bar">
<nav aria-label="Documentation"><ul>
${links.join('\n')}
</ul></nav>
${more}</header>`;
};
