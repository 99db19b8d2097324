// Shows our OpenAPI document, and the sandbox's own where there is one.

// Its parser would try whether it may make functions of text. It may not: the page's policy forbids it.
globalThis.__zod_globalConfig = { jitless: true };

const CLIENTS = ["shell/curl", "python/requests", "js/fetch"];

document.addEventListener("DOMContentLoaded", () => {
  const element = document.getElementById("reference");
  const { root, document: market, sandbox, token } = element.dataset;
  // Where this page is from, and not what the document says: another origin's answers could not be read.
  const home = location.origin + root;
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
    // Nothing leaves for the servers of its makers.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: "never",
    hideClientButton: true,
  });
});
