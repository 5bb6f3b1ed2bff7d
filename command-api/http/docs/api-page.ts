import { bar } from './bar.js';

/** The page of the OpenAPI document, which Swagger UI shows. */
export const apiPage = (hasConsole: boolean): Buffer => {
  const session = '<p id="session" role="status" data-address="console/session"></p>\n';
  return Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Linklog API</title>
<link rel="icon" href="favicon.ico">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/bar.css">
<link rel="stylesheet" href="docs/api.css">
</head>
<body>
${bar('docs', { root: '', hasConsole, ...(hasConsole && { more: session }) })}
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/initializer.js"></script>
</body>
</html>
`);
};
