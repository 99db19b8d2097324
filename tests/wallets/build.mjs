// One bundle of all, as a dApp's bundler makes it: these libraries are not written for Node.js' own loader.
import { build } from "esbuild";

const relays = {
  name: "relays",
  setup(builder) {
    const ours = { path: new URL("./socket.cjs", import.meta.url).pathname };
    builder.onResolve({ filter: /^(isomorphic-)?ws$/ }, ({ importer }) =>
      importer.includes("node_modules") ? ours : undefined);
  },
};

await build({
  entryPoints: ["main.mjs"],
  outfile: "node_modules/.cache/main.mjs",
  bundle: true,
  minify: true,
  platform: "node",
  format: "esm",
  external: ["ws"],
  plugins: [relays],
  logLevel: "error",
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
});
