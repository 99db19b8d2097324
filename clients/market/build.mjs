// Prints the client with all that it imports, for pages that have no bundler: make market-client.
import { build } from "esbuild";

const { outputFiles: [bundle] } = await build({
  entryPoints: [new URL("index.js", import.meta.url).pathname],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  banner: { js: "// @ts-nocheck\n/* eslint-disable */\n/* nft-marketplace-client, MIT. */" },
  write: false,
});
process.stdout.write(bundle.text);
