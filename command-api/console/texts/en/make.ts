export const make = {};
