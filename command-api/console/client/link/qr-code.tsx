import { useEffect, useState } from 'preact/hooks';
import { linkPath, subjectOfLink, type AddressedLink } from '../../link-address.js';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { Input, Select } from '../components/field.js';
import { saveFile } from '../components/save.js';
import { Trouble } from '../components/trouble.js';

const corrections = [
  ['L', 'Low: 7 %'],
  ['M', 'Medium: 15 %'],
  ['Q', 'High: 25 %'],
  ['H', 'Highest: 30 %'],
] as const;

interface RenderedCode {
  readonly svg: Blob;
  /** Width and height in pixels. */
  readonly size: number;
  readonly address: string;
}

/** Converts the image to PNG in the browser, because the API would count another QR code. */
const toPng = async ({ address, size }: RenderedCode): Promise<Blob | null> => {
  const image = new Image(size, size);
  image.src = address;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = size;
  canvas.height = size;
  const context = canvas.getContext('2d');
  if (context) context.imageSmoothingEnabled = false;
  context?.drawImage(image, 0, 0, size, size);
  return new Promise((resolve) => {
    canvas.toBlob(resolve, 'image/png');
  });
};

export const QrCode = ({ link }: { readonly link: AddressedLink }) => {
  const { isBusy, failure, run } = useAction();
  const [rendered, setRendered] = useState<RenderedCode>();
  useEffect(
    () => () => {
      if (rendered) URL.revokeObjectURL(rendered.address);
    },
    [rendered],
  );

  const submit = onSubmit(async (form) => {
    const fields = fieldsOf(form);
    const path = linkPath('/v2/qr', link, '', { format: 'svg', ...fields });
    const done = await run(() => callApi<Blob>(path, { method: 'POST', as: 'blob' }));
    if (!done) return;
    const svg = done.value;
    setRendered({ svg, size: Number(fields['size']), address: URL.createObjectURL(svg) });
  });

  const savePng = async (picture: RenderedCode): Promise<void> => {
    const png = await toPng(picture);
    if (png) saveFile(`${link.shortCode}.png`, png);
  };

  return (
    <div class="columns wide">
      <form class="card stack" onSubmit={submit}>
        <div class="columns">
          <Input
            label="Size, pixels"
            name="size"
            type="number"
            min={100}
            max={4000}
            defaultValue={600}
            required
          />
          <Input
            label="Margin, modules"
            name="margin"
            type="number"
            min={0}
            max={10}
            defaultValue={4}
            required
          />
          <Select
            label="Error correction"
            name="ecc"
            value="M"
            options={corrections}
            hint="How much may be damaged or covered."
          />
          <Input label="Dark" name="dark" type="color" defaultValue="#000000" />
          <Input label="Light" name="light" type="color" defaultValue="#ffffff" />
        </div>
        <label class="check">
          <input type="checkbox" name="mark" value="1" defaultChecked />
          Count its visits apart, as “QR code”
        </label>
        <p class="hint">Each code that you make counts as one of the month. Saving it is free.</p>
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          Make the QR code
        </button>
      </form>
      {rendered && (
        <section class="card stack" aria-label="The QR code">
          <img
            class="qr"
            src={rendered.address}
            alt={`QR code of ${subjectOfLink(link)}`}
            width="300"
            height="300"
          />
          <div class="row">
            <button type="button" onClick={() => void savePng(rendered)}>
              Save as PNG
            </button>
            <button
              type="button"
              onClick={() => {
                saveFile(`${link.shortCode}.svg`, rendered.svg);
              }}
            >
              Save as SVG
            </button>
          </div>
        </section>
      )}
    </div>
  );
};
