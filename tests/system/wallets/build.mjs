// One bundle of main.mjs, or of another program, as a dApp's bundler makes it: these libraries are not written for Node.js' own loader.
// The demo's snippets stand in it, too, as functions of what was prepared and of what is paired.
import { readFileSync, readdirSync } from "node:fs";
import { build } from "esbuild";

const SNIPPETS = new URL("../../../marketplace/demo/snippets/", import.meta.url);

const relays = {
  name: "relays",
  setup(builder) {
    const ours = { path: new URL("./socket.cjs", import.meta.url).pathname };
    builder.onResolve({ filter: /^(isomorphic-)?ws$/ }, ({ importer }) =>
      importer.includes("node_modules") ? ours : undefined);
  },
};

const snippets = {
  name: "snippets",
  setup(builder) {
    builder.onResolve({ filter: /^snippets?(:|$)/ }, ({ path }) => ({ path, namespace: "snippets" }));
    builder.onLoad({ filter: /.*/, namespace: "snippets" }, ({ path }) => {
      const contents = path === "snippets" ? listOf() : functionOf(path.replace("snippet:", ""));
      return { contents, loader: "js", resolveDir: import.meta.dirname };
    });
  },
};

function listOf() {
  const names = readdirSync(SNIPPETS, { recursive: true }).filter((name) => /\.m?js$/.test(name));
  const imported = names.map((name, n) => `import run${n} from "snippet:${name}";`);
  return [...imported, `export default {${names.map((name, n) => `"${name}": run${n}`)}};`].join("\n");
}

function functionOf(name) {
  const lines = readFileSync(new URL(name, SNIPPETS), "utf8").split("\n");
  const [imports, body] = [true, false].map((are) =>
    lines.filter((line) => line.startsWith("import ") === are).join("\n"));
  const given = "PREPARED, { hashconnect, topic, signClient, session }, console";
  return `${imports}\nexport default async (${given}) => {\n${body}\n};`;
}

await build({
  entryPoints: [process.argv[3] ?? "main.mjs"],
  outfile: process.argv[2],
  bundle: true,
  minify: true,
  platform: "node",
  format: "esm",
  external: ["ws"],
  plugins: [relays, snippets],
  logLevel: "error",
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
});
