import type { FormatNumber } from '../../numbers.js';

export const make = (number: FormatNumber) => ({
  newLink: 'New link',
  howMany: 'How many',
  oneLink: 'One link',
  manyLinks: 'Many links',
  destination: 'Destination',
  result: 'Redirects to {url}',
  alias: 'Alias',
  aliasHint:
    'The end of the short link: letters, digits, hyphens and underscores. Without it, Linklog generates one.',
  more: 'More options',
  clickLimit: 'Click limit',
  password: 'Password',
  passwordHint: 'Visitors must enter it.',
  create: 'Create the link',
  isLive: 'Your link is live',
  redirectsTo: 'redirects to {url}',
  statistics: 'Statistics',
  qrCode: 'QR code',
  utm: 'Campaign parameters (UTM)',
  utmHint: 'They are added to the destination, for your analytics.',
  utmNames: {
    source: 'Source',
    medium: 'Medium',
    campaign: 'Campaign',
    term: 'Term',
    content: 'Content',
  },
  useLast: 'Use the last values',
  bookmarklet: 'Create links from any page',
  bookmarkletHint:
    'Drag this link to your bookmarks bar. A click on it opens this form for the page that you are reading.',
  bookmarkletName: 'Shorten with Linklog',
  dragIt: 'Drag it to the bookmarks bar instead of clicking it.',
  destinations: 'Destinations',
  destinationsHint: (max: number, batch: number) =>
    `One per line, at most ${number(max)}; or cells of a table: URL, alias, title and tags. ${number(batch)} links cost one call; each link counts.`,
  tooMany: (count: number, max: number) =>
    `These are ${number(count)} links. Only the first ${number(max)} are used.`,
  tagsOfAll: 'Of all these links.',
  createMany: (count: number) =>
    count === 1 ? 'Create one link' : `Create ${number(count)} links`,
  stillToCreate: (count: number) =>
    count === 1
      ? 'One link is still to be created.'
      : `${number(count)} links are still to be created.`,
  leaveOut: 'Skip the others',
  results: 'Results',
  created: (count: number, total: number) => `${number(count)} of ${number(total)} created`,
  theShortLinks: 'the short links',
  saveCsv: 'Save as CSV',
  tableOfResults: 'Table of results',
  shortLink: 'Short link',
  /** The header of the saved table. */
  columns: { destination: 'destination', shortLink: 'short link', error: 'error' },
  preview: 'Preview',
  line: 'Line',
  title: 'Title',
  tags: 'Tags',
  generated: 'generated',
  leftOut: 'It is skipped.',
  eachLineIsUrl: 'Each line is one URL',
  delimiters: { '\t': 'tabs', ';': 'semicolons', ',': 'commas', ' ': 'spaces' },
  columnsBetween: (delimiter: string) => `Columns are separated by ${delimiter}.`,
  assumedColumns: (names: string) => `Without a header, the columns are read as ${names}.`,
  unused: (names: string) => `Not used: ${names}.`,
  unnamed: (count: number) =>
    `The lines seem to have ${number(count)} columns. A first line with their names separates them: url, code, title, tags.`,
  onlyFirstLines: (count: number) => `The preview shows the first ${number(count)} lines.`,
  cellsInsteadOf: (cells: number, width: number) =>
    `The line has ${number(cells)} cells instead of ${number(width)}.`,
  noUrl: 'The line has no URL.',
});
