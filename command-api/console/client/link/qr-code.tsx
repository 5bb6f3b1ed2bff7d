import { useEffect, useRef, useState } from 'preact/hooks';
import { type AddressedLink, linkPath, subjectOfLink } from '../../link-address.js';
import {
  isDarkInSample,
  isReadable,
  logoFaultOf,
  logoSquares,
  sampleSize,
  withLogo,
} from '../../qr-picture.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { Check, Field, Input, Select, withValue } from '../components/field.js';
import { saveFile } from '../components/save.js';
import { Alert, Trouble } from '../components/trouble.js';

const { common, link: text } = texts;

/** Pixels on a side. */
const side = 300;

interface Props {
  readonly dark: string;
  readonly light: string;
  readonly margin: number;
  readonly logo: HTMLImageElement | null;
}

const draw = (context: CanvasRenderingContext2D, { dark, light, margin, logo }: Props): void => {
  const scale = side / (sampleSize + 2 * margin);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = light;
  context.fillRect(0, 0, side, side);
  context.scale(scale, scale);
  context.fillStyle = dark;
  for (let y = 0; y < sampleSize; y += 1) {
    for (let x = 0; x < sampleSize; x += 1) {
      if (isDarkInSample(x, y)) context.fillRect(x + margin, y + margin, 1, 1);
    }
  }
  if (!logo) return;
  const { background, logo: inside } = logoSquares(sampleSize, margin);
  context.fillStyle = light;
  context.fillRect(background.start, background.start, background.side, background.side);
  const ratio = Math.max(logo.naturalWidth, logo.naturalHeight) / inside.side;
  const [width, height] = [logo.naturalWidth / ratio, logo.naturalHeight / ratio];
  const centre = inside.start + inside.side / 2;
  context.drawImage(logo, centre - width / 2, centre - height / 2, width, height);
};

/** The appearance of the QR code, before it is created: an arbitrary pattern, which no scanner reads. */
const QrPreview = (props: Props) => {
  const { dark, light, margin, logo } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context) draw(context, props);
  }, [dark, light, margin, logo]);
  return (
    <figure class="sample">
      <canvas
        ref={canvas}
        class="qr"
        width={side}
        height={side}
        role="img"
        aria-label={common.preview}
      />
      <figcaption class="hint">{text.previewHint}</figcaption>
      <span class="badge" aria-hidden="true">
        {common.preview}
      </span>
    </figure>
  );
};

const corrections = Object.entries(text.corrections);

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
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
};

/** An image with a `data:` URL. */
const readLogo = async (file: Blob): Promise<HTMLImageElement | null> => {
  const reader = new FileReader();
  const loaded = new Promise<string | null>((resolve) => {
    reader.onload = () => resolve(typeof reader.result === 'string' ? reader.result : null);
    reader.onerror = () => resolve(null);
  });
  reader.readAsDataURL(file);
  const address = await loaded;
  if (address === null) return null;
  const image = new Image();
  image.src = address;
  try {
    await image.decode();
    return image;
  } catch {
    // Not an image.
    return null;
  }
};

interface LogoProps {
  readonly onLogo: (logo: HTMLImageElement | null) => void;
}

const LogoField = ({ onLogo }: LogoProps) => {
  const [fault, setFault] = useState<keyof typeof text.logoFaults | null>(null);
  const choose = async (input: HTMLInputElement): Promise<void> => {
    const [file] = input.files ?? [];
    const refused = file ? logoFaultOf(file) : null;
    const logo = file && refused === null ? await readLogo(file) : null;
    const isUnreadable = file !== undefined && refused === null && logo === null;
    setFault(isUnreadable ? 'content' : refused);
    if (logo === null) input.value = '';
    onLogo(logo);
  };
  return (
    <>
      <Field label={text.logo} hint={text.logoHint}>
        {(control) => (
          <input
            {...control}
            type="file"
            accept="image/png,image/svg+xml"
            onChange={(event) => void choose(event.currentTarget)}
          />
        )}
      </Field>
      {fault !== null && <Alert>{text.logoFaults[fault]}</Alert>}
    </>
  );
};

export const QrCode = ({ link }: { readonly link: AddressedLink }) => {
  const { isBusy, failure, run } = useAction();
  const [rendered, setRendered] = useState<RenderedCode>();
  const format = useRef<'png' | 'svg'>('png');
  const [dark, setDark] = useState('#000000');
  const [light, setLight] = useState('#ffffff');
  const [margin, setMargin] = useState(4);
  const [logo, setLogo] = useState<HTMLImageElement | null>(null);
  const [correction, setCorrection] = useState('M');
  /** A new number empties the field of the logo. */
  const [removals, setRemovals] = useState(0);
  const canScan = isReadable(dark, light);
  useEffect(
    () => () => {
      if (rendered) URL.revokeObjectURL(rendered.address);
    },
    [rendered],
  );

  const render = async (form: FormData): Promise<RenderedCode | null> => {
    const { size = '', mark } = fieldsOf(form);
    const path = linkPath('/v2/qr', link, '', {
      ...{ format: 'svg', size, margin: String(margin), dark, light },
      ecc: logo ? 'H' : correction,
      ...(mark !== undefined && { mark }),
    });
    const done = await run(() => callApi<Blob>(path, { method: 'POST', as: 'blob' }));
    if (!done) return null;
    const svg = logo
      ? new Blob([withLogo(await done.value.text(), logo.src, { light, margin })], {
          type: 'image/svg+xml',
        })
      : done.value;
    const code = { svg, size: Number(size), address: URL.createObjectURL(svg) };
    setRendered(code);
    return code;
  };
  const submit = onSubmit(async (form) => {
    if (!canScan) return;
    // The same code is saved again, because a new one would count.
    const code = rendered ?? (await render(form));
    const file = code && (format.current === 'svg' ? code.svg : await toPng(code));
    if (file) saveFile(`${link.shortCode}.${format.current}`, file);
  });
  const change = (): void => setRendered(undefined);

  return (
    <form class="columns wide" onSubmit={submit} onInput={change}>
      <section class="card stack" aria-label={text.theQrCode}>
        {rendered ? (
          <img
            class="qr"
            src={rendered.address}
            alt={text.qrOf(subjectOfLink(link))}
            width={side}
            height={side}
          />
        ) : (
          <QrPreview dark={dark} light={light} margin={margin} logo={logo} />
        )}
        {!canScan && <Alert>{text.lowContrast}</Alert>}
        <Trouble failure={failure} />
        <div class="row">
          {(['png', 'svg'] as const).map((name) => (
            <button
              key={name}
              class="primary"
              aria-disabled={isBusy || !canScan}
              onClick={() => {
                format.current = name;
              }}
            >
              {text.saveAs[name]}
            </button>
          ))}
        </div>
        <p class="hint">{text.qrCost}</p>
      </section>
      <section class="card stack" aria-label={common.settings}>
        <div class="columns">
          <Input
            label={text.size}
            name="size"
            type="number"
            min={100}
            max={4000}
            defaultValue={600}
            required
            hint={text.sizeHint}
          />
          <Input
            label={text.margin}
            type="number"
            min={0}
            max={10}
            value={margin}
            required
            onInput={(event) => {
              const { valueAsNumber } = event.currentTarget;
              if (valueAsNumber >= 0 && valueAsNumber <= 10) setMargin(Math.floor(valueAsNumber));
            }}
          />
          <Select
            label={text.correction}
            value={logo ? 'H' : correction}
            disabled={logo !== null}
            options={corrections}
            hint={logo ? text.correctionOfLogo : text.correctionHint}
            onChange={withValue(setCorrection)}
          />
          <Input label={text.dark} type="color" value={dark} onInput={withValue(setDark)} />
          <Input label={text.light} type="color" value={light} onInput={withValue(setLight)} />
        </div>
        <LogoField key={removals} onLogo={setLogo} />
        {logo && (
          <button
            type="button"
            class="small"
            onClick={() => {
              setLogo(null);
              change();
              setRemovals(removals + 1);
            }}
          >
            {text.removeLogo}
          </button>
        )}
        <Check name="mark" value="1" defaultChecked label={text.mark} />
      </section>
    </form>
  );
};
