import type { Scope } from '../../../../schemas/scopes.js';

/** Labels of scopes. */
const meanings: Readonly<Record<Scope, string>> = {
  'links:create': 'Make links',
  'links:read': 'Read links',
  'links:write': 'Change and delete links',
  'links:import': 'Import links from files',
  'stats:read': 'Read statistics',
  'qr:read': 'Make QR codes',
  'keys:manage': 'Manage keys',
  'domains:manage': 'Manage domains',
  'events:read': 'Read events',
  'webhooks:manage': 'Manage webhooks',
};

export const allScopes = Object.keys(meanings) as readonly Scope[];

/** Seconds until the end of a key; empty: never. */
export const keyLifetimes = [
  ['', 'Never'],
  ['86400', 'In a day'],
  ['2592000', 'In 30 days'],
  ['31536000', 'In a year'],
] as const;

interface Props {
  readonly offered: readonly Scope[];
  readonly chosen: readonly string[];
}

export const ScopeFields = ({ offered, chosen }: Props) => (
  <fieldset>
    <legend>Scopes</legend>
    {offered.map((scope) => (
      <label key={scope} class="check">
        <input type="checkbox" name="scope" value={scope} defaultChecked={chosen.includes(scope)} />
        {meanings[scope]} <code class="soft">{scope}</code>
      </label>
    ))}
  </fieldset>
);

/** The selected scopes of a form. */
export const scopesIn = (form: FormData): readonly FormDataEntryValue[] => form.getAll('scope');
