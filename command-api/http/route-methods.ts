/** `GET` includes `HEAD`. */
export const routeMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type RouteMethod = (typeof routeMethods)[number];
