export const statistics = {};
