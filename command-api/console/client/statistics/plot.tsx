import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type UPlot from 'uplot';
import { formatNumber } from '../../locale.js';
import { texts } from '../../texts.js';

export type PlotLibrary = typeof UPlot;

/**
 * The plot library, loaded from a separate file while the page waits for its statistics. `undefined` until then; `null` if
 * it cannot be loaded.
 */
export const usePlotLibrary = (): PlotLibrary | null | undefined => {
  const [library, setLibrary] = useState<PlotLibrary | null>();
  // A layout effect loads it in parallel with the statistics.
  useLayoutEffect(() => {
    import('uplot').then(
      ({ default: loaded }) => setLibrary(() => loaded),
      () => setLibrary(null),
    );
  }, []);
  return library;
};

interface PlottedSeries {
  readonly labels: readonly string[];
  readonly clicks: readonly number[];
  /** The same of the compared period, by interval of this one. */
  readonly before:
    readonly ({ readonly label: string; readonly clicks: number } | null)[] | undefined;
}

interface Props extends PlottedSeries {
  readonly library: PlotLibrary;
  readonly title: string;
  /** Called with the index of the clicked interval. */
  readonly onPick: ((index: number) => void) | undefined;
}

const height = 240;

/** Possible distances of grid lines. */
const steps = Array.from({ length: 9 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

/** The colours of the page in the current scheme. */
const coloursOf = (element: Element) => {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--plot-${name}`);
  return {
    bar: colour('bar'),
    before: colour('before'),
    text: colour('text'),
    grid: colour('grid'),
  };
};

/** The values of the interval under the pointer. */
const tooltip = ({ labels, clicks, before }: PlottedSeries): UPlot.Plugin => {
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  const { clicksAt } = texts.statistics;
  const text = (index: number): string => {
    const earlier = before?.[index];
    return [
      clicksAt(labels[index] ?? '', clicks[index] ?? 0),
      ...(earlier ? [clicksAt(earlier.label, earlier.clicks)] : []),
    ].join('\n');
  };
  return {
    hooks: {
      init: (plot) => plot.over.append(tip),
      setCursor: ({ cursor: { idx, left = -1 }, over }) => {
        tip.hidden = typeof idx !== 'number' || left < 0;
        if (typeof idx !== 'number') return;
        tip.textContent = text(idx);
        // The tooltip is on the side with more space.
        tip.style.left = left * 2 < over.clientWidth ? `${left + 12}px` : 'auto';
        tip.style.right =
          left * 2 < over.clientWidth ? 'auto' : `${over.clientWidth - left + 12}px`;
      },
    },
  };
};

const draw = (element: HTMLElement, props: Props): UPlot => {
  const { library, labels, clicks, before, onPick } = props;
  const colour = coloursOf(element);
  const axis = {
    stroke: colour.text,
    font: `12px ${getComputedStyle(element).fontFamily}`,
    grid: { stroke: colour.grid, width: 1 },
    ticks: { show: false },
  };
  const data: UPlot.AlignedData = [
    labels.map((_, index) => index),
    [...clicks],
    ...(before ? [labels.map((_, index) => before[index]?.clicks ?? null)] : []),
  ];
  const plot = new library(
    {
      width: element.clientWidth,
      height,
      // The x values are indexes, because the labels are already local times.
      scales: {
        x: { time: false, range: [-0.6, labels.length - 0.4] },
        y: { range: (_, __, most) => [0, Math.max(4, most * 1.05)] },
      },
      axes: [
        {
          ...axis,
          size: 30,
          grid: { show: false },
          space: 70,
          incrs: [1, 2, 3, 4, 6, 7, 12, 14, 24, 30, 48, 60, 90, 120],
          values: (_, splits) => splits.map((index) => labels[index] ?? ''),
        },
        {
          ...axis,
          size: 56,
          incrs: steps,
          values: (_, splits) => splits.map(formatNumber),
        },
      ],
      series: [
        {},
        {
          fill: colour.bar,
          stroke: colour.bar,
          width: 0,
          points: { show: false },
          ...(library.paths.bars && {
            paths: library.paths.bars({ size: [0.75, 48], radius: 0.15 }),
          }),
        },
        ...(before
          ? [
              {
                stroke: colour.before,
                width: 2,
                dash: [4, 4],
                points: { show: false },
              },
            ]
          : []),
      ],
      legend: { show: false },
      plugins: [tooltip(props)],
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
    },
    data,
    element,
  );
  plot.over.addEventListener('click', () => {
    const { idx } = plot.cursor;
    if (typeof idx === 'number') onPick?.(idx);
  });
  return plot;
};

/** The clicks of a period as bars, those of the compared period as a line. */
export const Plot = (props: Props) => {
  const { title, labels, clicks, before } = props;
  const frame = useRef<HTMLDivElement>(null);
  const identity = JSON.stringify([labels, clicks, before]);
  // A layout effect runs before the page is painted, so that it is painted once.
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    let plot = draw(element, props);
    const redraw = (): void => {
      plot.destroy();
      plot = draw(element, props);
    };
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const resized = new ResizeObserver(() => {
      if (element.clientWidth !== plot.width) plot.setSize({ width: element.clientWidth, height });
    });
    resized.observe(element);
    dark.addEventListener('change', redraw);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', redraw);
      plot.destroy();
    };
  }, [identity]);
  return <div class="plot" ref={frame} role="img" aria-label={title} />;
};
