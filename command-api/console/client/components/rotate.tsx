import type { ComponentChildren } from 'preact';
import { callApi } from '../app/api.js';
import { onSubmit, useAction } from '../app/hooks.js';
import { Dialog } from './dialog.js';
import { Select } from './field.js';
import { Trouble } from './trouble.js';
import { texts } from '../../texts.js';

const text = texts.components;

const overlaps = [
  ['0', text.now],
  ['3600', text.inAnHour],
  ['86400', text.inADay],
  ['604800', text.inAWeek],
] as const;

interface Props<Rotated> {
  readonly title: string;
  /** The path of the key or webhook. */
  readonly path: string;
  readonly children: ComponentChildren;
  readonly onRotated: (rotated: Rotated) => void;
  readonly onClose: () => void;
}

/** Replaces the secret of a key or webhook. */
export const Rotate = <Rotated,>(props: Props<Rotated>) => {
  const { title, path, children, onRotated, onClose } = props;
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const body = { overlapSeconds: Number(new FormData(form).get('overlapSeconds')) };
    const done = await run(() => callApi<Rotated>(`${path}/rotate`, { method: 'POST', body }));
    if (done) onRotated(done.value);
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <p>{children}</p>
        <Select label={text.oldSecretEnds} name="overlapSeconds" value="0" options={overlaps} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          {text.rotate}
        </button>
      </form>
    </Dialog>
  );
};
