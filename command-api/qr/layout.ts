/** Where the modules of a code lie in its image. In pixels, but `modules`: how many on a side. */
export interface Layout {
  readonly size: number;
  readonly modules: number;
  /** Of a module. */
  readonly scale: number;
  /** Left of the code, and above it. */
  readonly start: number;
}

/**
 * Every module is a whole number of pixels, for modules of unequal widths are what readers fail on:
 * the quiet zone takes what is left over, so it is `margin` modules wide or wider, and narrower only
 * where the image has no room for it.
 */
export const layOut = (size: number, modules: number, margin: number): Layout => {
  const scale = Math.max(1, Math.floor(size / (modules + 2 * margin)));
  const start = Math.floor((size - modules * scale) / 2);
  // zbar does not find modules of one pixel that begin at an even one.
  const shift = scale === 1 && start % 2 === 0 && start + modules < size ? 1 : 0;
  return { size, modules, scale, start: start + shift };
};
