// Shows our OpenAPI document, and the sandbox's own where there is one.
const { document: marketplace, sandbox } = document.getElementById("reference").dataset;
const urls = [{ url: marketplace, name: "Marketplace" }];
if (sandbox) urls.push({ url: sandbox, name: "Sandbox" });

SwaggerUIBundle({
  urls,
  dom_id: "#reference",
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: "StandaloneLayout",
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
});
