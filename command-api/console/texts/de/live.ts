import type { Texts } from '../en/texts.js';

export const live: Texts['live'] = {};
