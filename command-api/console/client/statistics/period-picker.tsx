import { useState } from 'preact/hooks';
import { addDays, intervalsOf, presets, type StatisticsView } from '../../periods.js';
import { Input, Select } from '../components/field.js';

interface Props {
  readonly view: StatisticsView;
  readonly onChange: (change: Partial<StatisticsView>) => void;
}

const intervalNames = { hour: 'Hours', day: 'Days', week: 'Weeks', month: 'Months' } as const;

/** The list of zones is loaded on demand, because that can take 0.25 s. */
const ZoneField = ({ view, onChange }: Props) => {
  const [zones, setZones] = useState<readonly string[]>([]);
  // Both events are before the list opens.
  const fill = (): void => {
    setZones((known) => (known.length > 0 ? known : Intl.supportedValuesOf('timeZone')));
  };
  return (
    <Select
      label="Time zone"
      value={view.tz}
      options={[...new Set([view.tz, 'UTC', ...zones])].map((zone) => [
        zone,
        zone.replaceAll('_', ' '),
      ])}
      onFocus={fill}
      onPointerDown={fill}
      onChange={(event) => {
        onChange({ tz: event.currentTarget.value });
      }}
    />
  );
};

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

export const PeriodPicker = (props: Props) => {
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
      <ZoneField {...props} />
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
