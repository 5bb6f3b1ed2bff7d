import type { FormatNumber } from '../../numbers.js';

export const tags = (number: FormatNumber) => ({
  tags: 'Tags',
  search: 'Search tags',
  searchButton: 'Search',
  tag: 'Tag',
  links: 'Links',
  clicks: 'Clicks',
  actions: 'Actions',
  rename: 'Rename',
  remove: 'Remove',
  none: 'There are no tags yet. Tags are added to links when you create or change them.',
  noneMatch: 'No tag matches.',
  atLeast: (count: number) => `${number(count)} or more`,
  unknown: 'unknown',
  renameTag: (tag: string) => `Rename the tag ${tag}`,
  removeTag: (tag: string) => `Remove the tag ${tag}`,
  newName: 'New name',
  cost: (count: number) =>
    count === 1
      ? 'One link is changed. This costs one call.'
      : `${number(count)} links are changed. Each costs one call.`,
  progress: (done: number, count: number) =>
    `${number(done)} of ${number(count)} links are changed.`,
  done: (count: number) =>
    count === 1 ? 'One link is changed.' : `${number(count)} links are changed.`,
  notChanged: 'These links are not changed:',
  noLinks: 'No link has this tag any more.',
});
