import { useState } from 'preact/hooks';
import { ownZoneOf } from '../../format.js';
import { Select, withValue } from './field.js';
import { texts } from '../../texts.js';

interface Props {
  readonly label?: string;
  readonly value: string;
  readonly onChange: (tz: string) => void;
}

/** The list of zones is loaded on demand, because that can take 0.25 s. */
export const ZoneField = ({ label = texts.components.timeZone, value, onChange }: Props) => {
  const [zones, setZones] = useState<readonly string[]>([]);
  // Both events are before the list opens.
  const fill = (): void => {
    setZones((known) => (known.length > 0 ? known : Intl.supportedValuesOf('timeZone')));
  };
  return (
    <Select
      label={label}
      value={value}
      options={[...new Set([value, 'UTC', ownZoneOf(), ...zones])].map((zone) => [
        zone,
        zone.replaceAll('_', ' '),
      ])}
      onFocus={fill}
      onPointerDown={fill}
      onChange={withValue(onChange)}
    />
  );
};
