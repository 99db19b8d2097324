// Prints a module of src/ with all that it imports, for pages that have no bundler: make wallet-link. Takes its name.
import { build } from "esbuild";

const license = "// @ts-nocheck\n/* eslint-disable */\n/* wallet-link, MIT. With @noble/ciphers, @noble/curves and @noble/hashes (Paul Miller) and uqr (Anthony Fu), MIT. */";
const { outputFiles: [bundle] } = await build({
  entryPoints: [new URL(`src/${process.argv[2]}.js`, import.meta.url).pathname],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  banner: { js: license },
  write: false,
});
process.stdout.write(bundle.text);
