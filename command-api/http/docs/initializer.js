/* global SwaggerUIBundle */
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  // The validator is another's server.
  validatorUrl: null,
});
