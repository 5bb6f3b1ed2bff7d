import { useEffect, useRef } from 'preact/hooks';
import { isDarkInSample, logoSquares, sampleSize } from '../../qr-picture.js';
import { texts } from '../../texts.js';

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
export const QrPreview = (props: Props) => {
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
