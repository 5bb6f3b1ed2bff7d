import type { ComponentChildren } from 'preact';
import { formatPeriod } from '../../format.js';
import {
  addDays,
  comparedDays,
  type Days,
  intervalsOf,
  presets,
  type StatisticsView,
} from '../../periods.js';
import { texts } from '../../texts.js';
import { Check, Input, Select, withValue, ZoneField } from '../components/field.js';

interface Props {
  readonly view: StatisticsView;
  readonly onChange: (change: Partial<StatisticsView>) => void;
}

const text = texts.statistics;

const inWords = ({ from, to }: Days): string => formatPeriod(from, to);

const dates = (props: Props) => {
  const { view, onChange } = props;
  // The shown end is inclusive.
  const last = addDays(view.to, -1);
  return (
    <>
      <Input
        label={text.from}
        type="date"
        value={view.from}
        max={last}
        onChange={(event) => {
          const from = event.currentTarget.value;
          if (from !== '' && from < view.to) onChange({ preset: 'custom', from });
        }}
      />
      <Input
        label={text.to}
        type="date"
        value={last}
        min={view.from}
        onChange={(event) => {
          const day = event.currentTarget.value;
          if (day >= view.from) onChange({ preset: 'custom', to: addDays(day, 1) });
        }}
      />
    </>
  );
};

export const PeriodPicker = (props: Props & { readonly children: ComponentChildren }) => {
  const { view, onChange } = props;
  const possible = intervalsOf(view);
  return (
    <form class="picker" aria-label={text.period} onSubmit={(event) => event.preventDefault()}>
      {props.children}
      <Select
        label={text.period}
        value={view.preset}
        options={presets.map((preset) => [preset, text.presets[preset]])}
        onChange={withValue((value) => onChange({ preset: value as StatisticsView['preset'] }))}
      />
      {view.preset === 'custom' && dates(props)}
      <Select
        label={text.interval}
        value={view.interval}
        options={possible.map((interval) => [interval, text.intervals[interval]])}
        onChange={withValue((value) => onChange({ interval: value as StatisticsView['interval'] }))}
      />
      <ZoneField value={view.tz} onChange={(tz) => onChange({ tz })} />
      <Check
        checked={view.compare}
        onChecked={(isChecked) => onChange({ compare: isChecked })}
        label={text.compare}
      />
      <p class="soft">
        {view.compare
          ? text.comparedWith(inWords(view), inWords(comparedDays(view, new Date())))
          : inWords(view)}
      </p>
    </form>
  );
};
