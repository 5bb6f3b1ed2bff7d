/** The lists of a response as tables, for CSV and the command line. */
import type {
  AccountStatsResponse,
  StatisticsTable,
  StatsResponse,
} from '../../schemas/http/statistics.js';
import { subjectOf } from '../../schemas/link-subject.js';

export type Stats = StatsResponse | AccountStatsResponse;

interface Table {
  /** Without that of the clicks. */
  readonly columns: readonly string[];
  /** `null`: not recorded. */
  readonly rows: readonly {
    readonly values: readonly (string | null)[];
    readonly clicks: number;
  }[];
}

type ListName = Exclude<StatisticsTable, 'timeseries'>;

export type Lists = Partial<Pick<StatsResponse & AccountStatsResponse, ListName>>;

/** The values of a row as one text; `null`: none was recorded. */
export const labelOf = (values: readonly (string | null)[]): string | null =>
  values.some((value) => value !== null) ? values.map((value) => value ?? '-').join(' / ') : null;

/** Empty if the response does not have the list. */
export const tableOf = (lists: Lists, name: ListName): Table => {
  if (name === 'campaigns') {
    const columns = ['campaign', 'source', 'medium'] as const;
    const rows = (lists.campaigns ?? []).map(({ clicks, ...row }) => {
      return { values: columns.map((column) => row[column]), clicks };
    });
    return { columns, rows };
  }
  const valueClicks =
    name === 'links'
      ? lists.links?.map(({ domain = null, shortCode: code, clicks }) => {
          return { value: subjectOf({ domain, code }), clicks };
        })
      : name === 'tags'
        ? lists.tags?.values
        : lists[name];
  const rows = (valueClicks ?? []).map(({ value, clicks }) => ({ values: [value], clicks }));
  return { columns: ['value'], rows };
};
