import type { ComponentChildren } from 'preact';
import { addDays, intervalsOf, presets, type StatisticsView } from '../../periods.js';
import { Input, Select } from '../components/field.js';
import { ZoneField } from '../components/zone-field.js';

interface Props {
  readonly view: StatisticsView;
  readonly onChange: (change: Partial<StatisticsView>) => void;
}

const intervalNames = { hour: 'Hours', day: 'Days', week: 'Weeks', month: 'Months' } as const;

const dates = (props: Props) => {
  const { view, onChange } = props;
  // The shown end is inclusive.
  const last = addDays(view.to, -1);
  return (
    <>
      <Input
        label="From"
        type="date"
        value={view.from}
        max={last}
        onChange={(event) => {
          const from = event.currentTarget.value;
          if (from !== '' && from < view.to) onChange({ preset: 'custom', from });
        }}
      />
      <Input
        label="To"
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
    <form
      class="picker"
      aria-label="Period"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      {props.children}
      <Select
        label="Period"
        value={view.preset}
        options={Object.entries(presets)}
        onChange={(event) => {
          onChange({ preset: event.currentTarget.value as StatisticsView['preset'] });
        }}
      />
      {view.preset === 'custom' && dates(props)}
      <Select
        label="Interval"
        value={view.interval}
        options={possible.map((interval) => [interval, intervalNames[interval]])}
        onChange={(event) => {
          onChange({ interval: event.currentTarget.value as StatisticsView['interval'] });
        }}
      />
      <ZoneField
        value={view.tz}
        onChange={(tz) => {
          onChange({ tz });
        }}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={view.compare}
          onChange={(event) => {
            onChange({ compare: event.currentTarget.checked });
          }}
        />
        Compare with the period before
      </label>
    </form>
  );
};
