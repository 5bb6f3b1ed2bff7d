/** The page of shared statistics, in the languages of the console. It has no script: the chart is SVG. */
import { createPage, escapeHtml, passwordFields, type Page } from '../../ops/http/page.js';
import type { StatsResponse } from '../../schemas/http/statistics.js';
import { dimensionNames } from '../../schemas/statistics/document.js';
import { listOf } from '../console/comparison.js';
import { createFormatValue } from '../console/format.js';
import { once } from '../console/locale.js';
import * as german from '../console/texts/de/texts.js';
import * as english from '../console/texts/en/texts.js';
import { createTexts } from '../console/texts.js';

/** Texts that the console does not have, in English and German. `{}` is replaced. */
const ownTexts = {
  heading: ['Statistics of {}', 'Statistik von {}'],
  total: ['Clicks in total', 'Klicks insgesamt'],
  inPeriod: ['Clicks in this period', 'Klicks in diesem Zeitraum'],
  password: ['Password required', 'Passwort nötig'],
  wrong: ['That password is wrong. Please try again.', 'Das Passwort ist falsch.'],
  404: ['There are no statistics at this address', 'Unter dieser Adresse gibt es keine Statistik'],
  410: ['This link has been deleted', 'Dieser Link wurde gelöscht'],
  429: ['Too many requests. Try again in {} s.', 'Zu viele Anfragen. Wieder möglich in {} s.'],
} as const;

const style = `main { max-width: 56rem; align-self: start; }
svg { display: block; width: 100%; height: 10rem; margin-top: 1rem; fill: var(--strong); }
section { margin-top: 1.5rem; }
h2 { margin: 0; font-size: 1.125rem; }
table { width: 100%; border-collapse: collapse; }
th { text-align: start; font-weight: 400; }
td { text-align: end; font-variant-numeric: tabular-nums; }
th, td { padding: .125rem 0; border-bottom: 1px solid var(--line); }`;

export const pageLanguages = ['en', 'de'] as const;
type PageLanguage = (typeof pageLanguages)[number];

/** Statistics without the destination, unless it is shared. */
export type SharedStats = Omit<StatsResponse, 'url'> & Partial<Pick<StatsResponse, 'url'>>;

type Rows = readonly (readonly [name: string, value: string])[];

const tableOf = (rows: Rows): string =>
  `<table>${rows
    .map(
      ([name, value]) =>
        `<tr><th scope="row"><bdi>${escapeHtml(name)}</bdi></th><td>${value}</td></tr>`,
    )
    .join('\n')}</table>`;

const sectionOf = (title: string, content: string): string =>
  `<section>\n<h2>${title}</h2>\n${content}\n</section>`;

const createPages = (language: PageLanguage) => {
  const catalogue = language === 'de' ? german : english;
  const numbers = new Intl.NumberFormat(language);
  const days = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' });
  const number = (value: number): string => numbers.format(value);
  /** A local day, without regard to the offset. */
  const dayOf = (time: string): string => days.format(new Date(time.slice(0, 10)));
  const { common, live, statistics, values } = createTexts(catalogue, number);
  const namesOf = (type: Intl.DisplayNamesType) =>
    once(() => new Intl.DisplayNames(language, { type }));
  const formatValue = createFormatValue(values, namesOf('region'), namesOf('language'));
  const text = (name: keyof typeof ownTexts, value = ''): string =>
    ownTexts[name][pageLanguages.indexOf(language)]?.replace('{}', () => value) ?? '';

  const chartOf = (series: NonNullable<StatsResponse['timeseries']>): string => {
    const most = Math.max(1, ...series.map(({ clicks }) => clicks));
    const bars = series.map(({ start, clicks }, index) => {
      const height = (100 * clicks) / most;
      const title = escapeHtml(statistics.clicksAt(dayOf(start), clicks));
      return `<rect x="${index * 10}" y="${100 - height}" width="8" height="${height}"><title>${title}</title></rect>`;
    });
    const rows = series.map(({ start, clicks }) => [dayOf(start), number(clicks)] as const);
    const label = escapeHtml(statistics.clicksOverTime);
    return `<svg viewBox="0 0 ${series.length * 10} 100" preserveAspectRatio="none" role="img" aria-label="${label}">
${bars.join('\n')}
</svg>
<details><summary>${statistics.asTable}</summary>${tableOf(rows)}</details>`;
  };

  return {
    statistics(stats: SharedStats): Page {
      const { shortCode, url, clickCount, period, timeseries = [], bots = 0 } = stats;
      const title = text('heading', escapeHtml(shortCode));
      const last = timeseries.at(-1)?.start ?? '';
      const summary: Rows = [
        ...(url === undefined ? [] : [[common.destination, escapeHtml(url)] as const]),
        [text('total'), number(clickCount)],
        [text('inPeriod'), number(period?.clickCount ?? 0)],
        [statistics.bots, number(bots)],
      ];
      const lists = dimensionNames.map((name) => {
        const rows = listOf(stats, name).map(({ value, clicks }): Rows[number] => [
          formatValue(name, value),
          number(clicks),
        ]);
        return rows.length === 0 ? '' : sectionOf(statistics.dimensions[name], tableOf(rows));
      });
      const days = period && `${dayOf(period.from)} – ${dayOf(last)}, ${escapeHtml(period.tz)}`;
      const chart = chartOf(timeseries);
      const body = [
        tableOf(summary),
        sectionOf(statistics.clicksOverTime, `<p>${days ?? ''}</p>${chart}`),
        ...lists,
      ];
      return createPage({ title, language, style, body: body.join('\n') });
    },

    password: (isWrong: boolean): Page =>
      createPage({
        title: text('password'),
        language,
        formAction: "'self'",
        body: passwordFields({
          ...{ text: '', label: common.password, button: live.continue },
          error: isWrong ? text('wrong') : null,
        }),
      }),

    /** @param message the text of an error that is not translated */
    error(status: number, message: string, retryAfter = 0): Page {
      const isKnown = status === 404 || status === 410 || status === 429;
      const title = isKnown ? text(status, String(retryAfter)) : escapeHtml(message);
      return createPage({ title, language, body: '' });
    },
  };
};

/** The pages in each language, created at their first use. */
export const pagesIn = { en: once(() => createPages('en')), de: once(() => createPages('de')) };
export type Pages = ReturnType<typeof createPages>;
