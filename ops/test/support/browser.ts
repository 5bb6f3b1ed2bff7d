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

/** The part of the DOM that is used here: the project compiles without the types of browsers. */
declare const document: {
  readonly activeElement: { readonly tagName: string };
  readonly documentElement: { readonly style: { fontSize: string } };
};
declare const getComputedStyle: (element: { readonly tagName: string }) => {
  readonly outlineStyle: string;
  readonly outlineWidth: string;
};

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
