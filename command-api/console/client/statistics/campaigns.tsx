import { useId } from 'preact/hooks';
import { formatNumber } from '../../locale.js';
import { texts } from '../../texts.js';
import { DownloadCsv } from '../components/save.js';
import { ScrollTable } from '../components/tables.js';
import { fileNameOf, type LoadedStats } from './period-stats.js';

const { common, statistics: text, values } = texts;

/** The clicks of a period by campaign; nothing if no click has one. */
export const Campaigns = ({ stats }: { readonly stats: LoadedStats }) => {
  const id = useId();
  const rows = (stats.value?.campaigns ?? []).map(({ campaign, source, medium, clicks }) => {
    return { names: [campaign, source, medium], clicks };
  });
  const isNamed = ({ names }: (typeof rows)[number]) => names.some((name) => name !== null);
  if (!rows.some(isNamed)) return null;
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{text.campaigns}</h2>
      <ScrollTable
        label={text.campaigns}
        columns={[text.campaign, text.source, text.medium, { number: common.clicks }]}
      >
        {rows.map((row) => (
          <tr key={JSON.stringify(row.names)}>
            {row.names.map((name, column) => (
              <td key={column}>
                <bdi>{name === '(other)' ? values.allOthers : (name ?? '–')}</bdi>
              </td>
            ))}
            <td class="number">{formatNumber(row.clicks)}</td>
          </tr>
        ))}
      </ScrollTable>
      <DownloadCsv
        fileName={fileNameOf(stats, 'campaigns')}
        title={text.campaigns}
        rowsOf={() => [
          ['campaign', 'source', 'medium', 'clicks'],
          ...rows.map(({ names, clicks }) => [...names.map((name) => name ?? ''), String(clicks)]),
        ]}
      />
    </section>
  );
};
