/** A number with its label, in words. */
type Figure = readonly [label: string, value: string, isBad?: boolean];

/** Numbers that belong together. */
export const Figures = ({ figures }: { readonly figures: readonly Figure[] }) => (
  <dl class="figures">
    {figures.map(([label, value, isBad = false]) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd class={`figure ${isBad ? 'bad' : ''}`}>{value}</dd>
      </div>
    ))}
  </dl>
);
