// Writes types/, the .d.ts files of the package, from the JSDoc of its modules: npm calls it before it packs or installs this folder.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";

const root = new URL(".", import.meta.url).pathname;
const compiler = `${root}node_modules/.bin/tsc`;
if (!existsSync(compiler)) {
  console.error("The types need TypeScript: run npm ci in clients/market first");
  process.exit(1);
}
const options = ["--allowJs", "--declaration", "--emitDeclarationOnly", "--target", "esnext", "--module", "esnext"];
rmSync(`${root}types`, { recursive: true, force: true });
execFileSync(compiler, [...options, "--moduleResolution", "bundler", "--lib", "esnext,dom", "--rootDir", root, "--outDir", `${root}types`, `${root}index.js`, `${root}wallets.js`], { stdio: "inherit" });
for (const name of readdirSync(`${root}src`).filter((file) => file.endsWith(".d.ts"))) copyFileSync(`${root}src/${name}`, `${root}types/src/${name}`);
