import type { Browser, Page } from 'playwright-core';
import { atEnd } from './at-end.js';
import { findProgram } from './needs.js';

/** Any of them; Debian's build without a window needs a tenth less CPU time than `chromium --headless`. */
export const browserPrograms = ['chromium-headless-shell', 'chromium', 'google-chrome'];

/**
 * Starts the Chromium of the system, headless and (playwright's default) without a sandbox, which root and many
 * containers cannot use: it opens only our own pages.
 */
export const launchBrowser = async (): Promise<Browser> => {
  // Loaded here, because most specs with the fixtures use no browser.
  const { chromium } = await import('playwright-core');
  const executablePath = findProgram(...browserPrograms);
  if (executablePath === null) throw new Error(`${browserPrograms[0]} missing: npm run test:setup`);
  return chromium.launch({ executablePath });
};

// Shared by all files of a mocha process; each test opens contexts of its own.
let shared: Promise<Browser> | null = null;

/** The browser of this process. */
export const sharedBrowser = (): Promise<Browser> => {
  shared ??= launchBrowser().then((browser) => {
    atEnd(() => browser.close());
    return browser;
  });
  return shared;
};

/** The part of the DOM that the audit uses: the project compiles without the types of browsers. */
interface Box {
  readonly left: number;
  readonly right: number;
  readonly width: number;
  readonly height: number;
}

interface Element {
  readonly tagName: string;
  readonly textContent: string;
  readonly parentElement: Element | null;
  readonly childNodes: Iterable<{ readonly nodeType: number; readonly textContent: string }>;
  readonly labels?: { readonly length: number };
  readonly scrollWidth: number;
  readonly clientWidth: number;
  getBoundingClientRect(): Box;
  matches(selector: string): boolean;
}

declare const document: {
  readonly title: string;
  readonly activeElement: Element;
  readonly documentElement: Element & {
    readonly lang: string;
    readonly style: { fontSize: string };
  };
  querySelectorAll(selector: string): Iterable<Element>;
};
declare const getComputedStyle: (element: Element) => {
  readonly color: string;
  readonly backgroundColor: string;
  readonly borderTopColor: string;
  readonly outlineStyle: string;
  readonly outlineWidth: string;
};
declare const innerWidth: number;

/** Runs in the page, without access to other code. */
const audit = (): string[] => {
  const faults: string[] = [];
  const select = (selector: string): Element[] => [...document.querySelectorAll(selector)];
  const nameOf = (element: Element): string =>
    `<${element.tagName.toLowerCase()}> ${element.textContent.trim().slice(0, 40)}`;

  const { documentElement: root } = document;
  if (root.lang === '') faults.push('the page has no language');
  if (document.title === '') faults.push('the page has no title');
  for (const [what, count] of [
    ['main', 1],
    ['h1', 1],
    ['meta[name=viewport]', 1],
    ['script, link, img, iframe, body [style]', 0],
  ] as const) {
    const { length } = select(what);
    if (length !== count) faults.push(`${what} matches ${length} elements, not ${count}`);
  }
  for (const input of select('input:not([type=hidden])')) {
    if (!input.labels?.length) faults.push('a field has no label');
  }
  for (const control of select('a, button')) {
    if (control.textContent.trim() === '') faults.push(`${nameOf(control)} has no name`);
  }

  if (root.scrollWidth > innerWidth) faults.push(`the page is ${root.scrollWidth} pixels wide`);
  for (const element of select('body *')) {
    const { left, right } = element.getBoundingClientRect();
    if (left < 0 || right > innerWidth) faults.push(`${nameOf(element)} is outside of the window`);
    if (element.scrollWidth > element.clientWidth && element.clientWidth > 0) {
      faults.push(`${nameOf(element)} is cut off`);
    }
  }

  /** Red, green and blue from 0 to 255, and alpha from 0 to 1. */
  const channels = (colour: string): readonly number[] => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = (colour.match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue, alpha];
  };
  const backgroundOf = (element: Element | null): string => {
    if (!element) return 'rgb(255, 255, 255)';
    const { backgroundColor } = getComputedStyle(element);
    return channels(backgroundColor)[3] === 1
      ? backgroundColor
      : backgroundOf(element.parentElement);
  };
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const expectContrast = (what: string, front: string, back: string, minimum: number): void => {
    const [low = 0, high = 0] = [luminance(front), luminance(back)].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < minimum) faults.push(`${what} has a contrast of ${contrast.toFixed(2)}`);
  };
  for (const element of select('body *')) {
    const hasText = [...element.childNodes].some(
      ({ nodeType, textContent }) => nodeType === 3 && textContent.trim() !== '',
    );
    const { color, borderTopColor } = getComputedStyle(element);
    if (hasText || element.matches('input')) {
      expectContrast(nameOf(element), color, backgroundOf(element), 4.5);
    }
    if (element.matches('input')) {
      expectContrast('a border', borderTopColor, backgroundOf(element.parentElement), 3);
    }
  }
  return faults;
};

/**
 * Faults of a page: landmarks, names, contrast (WCAG 2.2 AA), and elements that do not fit into the width of the
 * window.
 */
export const auditPage = (page: Page): Promise<string[]> => page.evaluate(audit);

/** Sets the text size that a visitor can choose. */
export const zoomText = (page: Page, percent: number): Promise<void> =>
  page.evaluate((size) => {
    document.documentElement.style.fontSize = size;
  }, `${percent}%`);

/** The tag of the focused element, and the width of its focus ring. */
export const focused = (page: Page): Promise<{ readonly tag: string; readonly ring: number }> =>
  page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    const ring = outlineStyle === 'none' ? 0 : Number.parseFloat(outlineWidth);
    return { tag: document.activeElement.tagName, ring };
  });
