// Shows our OpenAPI document, and in the sandbox its own, too.

// Scalar's parser would try to compile functions from text, which the page's policy forbids.
globalThis.__zod_globalConfig = { jitless: true };

const CLIENTS = ["shell/curl", "python/requests", "js/fetch"];

document.addEventListener("DOMContentLoaded", () => {
  const element = document.getElementById("reference");
  const { root, document: market, sandbox, token } = element.dataset;
  // This page's own origin, not the document's server: the browser may block responses of another origin. The
  // documents' site has no service at its origin.
  const home = element.dataset.home ?? location.origin + root;
  const sources = [
    {
      title: "Marketplace",
      slug: "marketplace",
      url: market,
      servers: [{ url: home }],
      authentication: {
        preferredSecurityScheme: "bearerToken",
        securitySchemes: { bearerToken: { token: token ?? "" } },
      },
    },
  ];
  if (sandbox) sources.push({ title: "Sandbox", slug: "sandbox", url: sandbox, servers: [{ url: `${home}/sandbox` }] });

  element.replaceChildren();
  Scalar.createApiReference(element, {
    sources,
    theme: "none",
    featuredClients: CLIENTS,
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    orderSchemaPropertiesBy: "preserve",
    persistAuth: false,
    // Send nothing to the servers of Scalar's makers.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: "never",
    hideClientButton: true,
  });
});
