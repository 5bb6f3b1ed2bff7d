export const link = {};
