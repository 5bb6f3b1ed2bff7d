/** English texts: the pages of links, and redirect rules. */
import type { FormatNumber } from '../../locale.js';

export const links = (number: FormatNumber) => {
  const linksOf = (count: number): string => (count === 1 ? 'one link' : `${number(count)} links`);
  return {
    export: 'Export',
    count: (count: number) =>
      count === 0 ? 'No links match.' : count === 1 ? '1 link' : `${number(count)} links`,
    countAbove: (count: number) => `More than ${number(count)} links`,
    onThisPage: (count: number) =>
      count === 1 ? 'One link on this page' : `${number(count)} links on this page`,
    noneOfThese: 'None of these match.',
    clicksOf30Days: 'Clicks in 30 days',
    /** @param clicks those of all time */
    byDay: (numbers: string, clicks: number) =>
      `Clicks of the last 30 days: ${numbers}. In total: ${number(clicks)}`,
    titleOrDestination: 'Title or destination',
    searchHint: 'Link, title, note, tag',
    status: 'Status',
    notDeleted: 'Not deleted',
    order: 'Order',
    destinationHost: 'Destination host',
    createdFrom: 'Created from',
    createdTo: 'Created to',
    select: (link: string) => `Select ${link}`,
    selectAll: 'Select all on this page',
    changeSelected: 'Change the selected links',
    selectSome: 'Select links to change them together.',
    selected: (count: number) => `${linksOf(count)} selected`,
    addTags: 'Add tags',
    removeTags: 'Remove tags',
    addTagsTo: (count: number) => `Add tags to ${linksOf(count)}`,
    removeTagsFrom: (count: number) => `Remove tags from ${linksOf(count)}`,
    add: 'Add',
    deleteLinks: (count: number) => `Delete ${linksOf(count)}?`,
    andMore: (count: number) => `and ${linksOf(count)} more`,
    deleteWarning:
      'They stop redirecting. You can restore them for 30 days. Their codes are never given to other links.',
    changed: (count: number) =>
      count === 1 ? 'One link changed.' : `${number(count)} links changed.`,
    undo: 'Undo',
  };
};

export const link = (number: FormatNumber) => ({
  aboutLink: 'About the link',
  theLink: 'The link',
  destinationIs: 'destination: {url}',
  clicks: (count: number) => (count === 1 ? 'One click' : `${number(count)} clicks`),
  clicksLeft: (count: number) => `${number(count)} left`,
  createdAt: (time: string) => `created ${time}`,
  startsAt: (time: string) => `starts ${time}`,
  expiresAt: (time: string) => `expires ${time}`,
  expiredAt: (time: string) => `expired ${time}`,
  /** Why a link does not redirect. */
  isDisabled: 'It does not redirect because it is disabled.',
  isScheduled: (time: string) => `It does not redirect before ${time}.`,
  isExpired: (time: string) => `It does not redirect because it expired on ${time}.`,
  isUsedUp: (limit: string) =>
    `It does not redirect because its click limit of ${limit} is reached.`,
  isUsedUpSince: (limit: string, time: string) =>
    `It does not redirect because its click limit of ${limit} was reached on ${time}.`,
  isBlocked: 'It does not redirect because it was blocked. Contact the operator of this service.',
  isDeleted: 'It does not redirect because it was deleted. Its statistics and history stay.',
  isDeletedUntil: (time: string) =>
    `It does not redirect because it was deleted. It can be restored until ${time}.`,
  changeStart: 'Change the start',
  changeEnd: 'Change the end',
  changeLimit: 'Change the click limit',
  createAnother: 'Create another link',
  removePassword: 'Remove the password',
  saved: 'Saved',
  nothingChanged: 'Nothing is changed yet.',
  conflict: 'The link was changed in the meantime',
  loadTheirs: 'Load theirs',
  theirsLoaded: 'The current values are shown.',
  keepMine: 'Keep mine',
  keepMineHint: 'Keep mine saves the fields that you changed. Theirs stay in all others.',
  stop: 'Stop it',
  disableHint: 'A disabled link does not redirect until it is enabled again.',
  deleteLink: (link: string) => `Delete ${link}?`,
  deleteWarning:
    'It stops redirecting. You can restore it for 30 days. Its code is never given to another link.',
  shares: 'Shared statistics',
  sharesHint: 'A secret address shows the statistics of the link without a key.',
  share: 'Share the statistics',
  showDestination: 'Show the destination',
  endShare: 'End',
  endShareTitle: 'End this share?',
  endShareText: 'Its address no longer shows the statistics.',
  codes: 'Further codes',
  limits: 'Start, end, click limit and password',
  codesHint: 'They redirect as the first one does, and count together with it.',
  addCode: 'Add a code',
  deleteCode: (code: string) => `Delete the code ${code}?`,
  deleteCodeWarning:
    'It stops redirecting permanently, and is never assigned again. The link stays.',
  size: 'Size, pixels',
  sizeHint: 'At most 4,000. An SVG has any size.',
  margin: 'Margin, modules',
  correction: 'Error correction',
  correctionHint: 'How much may be damaged or covered.',
  correctionOfLogo: 'A logo needs the highest level.',
  corrections: {
    L: 'Low: 7%',
    M: 'Medium: 15%',
    Q: 'High: 25%',
    H: 'Highest: 30%',
  },
  dark: 'Dark',
  light: 'Light',
  mark: 'Count its visits apart, as “QR code”',
  logo: 'Logo',
  logoHint: 'PNG or SVG, at most 1 MB. It covers a fifth of the width.',
  removeLogo: 'Remove the logo',
  logoFaults: {
    type: 'The logo must be a PNG or SVG file.',
    size: 'The logo must have at most 1 MB.',
    content: 'The logo cannot be read as an image.',
  },
  lowContrast:
    'Scanners cannot read these colours: the dark one must be clearly darker than the light one, with a contrast of at least 3:1.',
  previewHint: 'A sample with your settings. Saving creates the QR code of the link.',
  qrCost: 'A saved QR code counts as one of the month. Saving it again, in either format, is free.',
  theQrCode: 'The QR code',
  qrOf: (link: string) => `QR code of ${link}`,
  saveAs: { png: 'Save as PNG', svg: 'Save as SVG' },
});

export const make = (number: FormatNumber) => ({
  howMany: 'How many',
  manyLinks: 'Many links',
  result: 'Redirects to {url}',
  aliasHint:
    'The end of the short link: letters, digits, hyphens and underscores. Without it, Linklog generates one.',
  more: 'More options',
  create: 'Create the link',
  isLive: 'Your link is live',
  utm: 'Campaign parameters (UTM)',
  utmHint: 'They are added to the destination and to those of the rules, for your analytics.',
  utmNames: {
    source: 'Source',
    medium: 'Medium',
    campaign: 'Campaign',
    term: 'Term',
    content: 'Content',
  },
  template: 'Template',
  saveTemplate: 'Save as template',
  templateHint: 'A name for these values. All of the account can use them.',
  templateSaved: 'The template was saved.',
  templateDeleted: 'The template was deleted. Its values stay in this form.',
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
  /** The header of the saved table. */
  columns: { destination: 'destination', shortLink: 'short link', error: 'error' },
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

export const tags = (number: FormatNumber) => ({
  search: 'Search tags',
  rename: 'Rename',
  none: 'There are no tags yet. Tags are added to links when you create or change them.',
  noneMatch: 'No tag matches.',
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
});

export const rules = {
  rules: 'Redirect rules',
  hint: 'Visitors get the URL of the first rule that matches, and without a match the destination.',
  nameOfRule: 'Name of the rule',
  nameRequirement: 'Letters, digits, hyphens and underscores',
  url: 'URL',
  entry: (number: number) => `Entry ${number}`,
  urlOfEntry: (number: number) => `URL of entry ${number}`,
  nameOfEntry: (number: number) => `Name of entry ${number}`,
  weightOfEntry: (number: number, share: string) => `Weight of entry ${number}, ${share}`,
  /** The thing in braces is only for screen readers. */
  removeEntry: 'Remove{entry}',
  unseenEntry: (number: number) => ` entry ${number}`,
  moveUp: 'Move up{rule}',
  moveDown: 'Move down{rule}',
  remove: 'Remove{rule}',
  unseenRule: (number: number) => ` rule ${number}`,
  addEntry: 'Add an entry',
  split: 'Split between several URLs',
  addRule: 'Add a rule',
  templates: {
    iphones: 'Send iPhones to …',
    country: 'By country …',
    'ab-test': 'A/B test …',
    weekends: 'Weekends …',
    rule: 'Other rule …',
  },
  addCondition: 'Add a condition',
  times: 'Start and end',
  moved: (name: string, number: number) => `${name} is now rule ${number}.`,
  removed: (name: string) => `${name} is removed.`,
  query: 'Query parameters',
  queryHint: 'One parameter a line: name=value, name=* for any value, !name for none.',
  networks: 'Networks',
  networksHint: 'IP addresses or CIDRs, such as 192.0.2.0/24.',
  address: 'IP address',
  any: 'any',
  searchIn: (list: string) => `Search ${list.toLowerCase()}`,
  weekly: 'Only at certain hours of the week',
  days: 'Days',
  fromTime: 'From (time of day)',
  toTime: 'To (time of day)',
  toTimeHint: 'Before the start: on the next day.',
  starts: 'Starts',
  ends: 'Ends',
  preview: 'What does a visitor get?',
  visitor: 'A visitor',
  time: 'Time',
  chooseTime: 'Choose a time.',
  noRule: '→ the destination (no rule)',
  byRule: '→ {destinations} (rule {rule})',
  unknownZone: 'This browser does not know a time zone of the rules.',
  /** Summaries of conditions. */
  allVisitors: 'All visitors',
  inCountries: (countries: string) => `in ${countries}`,
  inLanguages: (languages: string) => `language ${languages}`,
  from: (time: string) => `from ${time}`,
  until: (time: string) => `until ${time}`,
};

export const options = {
  options: 'Redirect and preview',
  usual: 'Usual (302)',
  permanent: (status: number) => `${status}, permanent`,
  statusHint: 'Browsers cache a permanent redirect for 60 s: repeated visits are not counted.',
  expiredUrlHint: 'Where visitors are led when its time is over or its clicks are used up.',
  cardHint: 'What messengers and social networks show instead of the destination’s own preview.',
  cardTitle: 'Heading',
  image: 'Image (https)',
};
