// Writes types/, the .d.ts files of the package, from the JSDoc of its modules: npm pack calls it.
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, rmSync } from "node:fs";

const root = new URL(".", import.meta.url).pathname;
const options = ["--allowJs", "--declaration", "--emitDeclarationOnly", "--target", "esnext", "--module", "esnext"];
rmSync(`${root}types`, { recursive: true, force: true });
execFileSync(`${root}node_modules/.bin/tsc`, [...options, "--moduleResolution", "bundler", "--lib", "esnext,dom", "--rootDir", root, "--outDir", `${root}types`, `${root}index.js`, `${root}wallets.js`], { stdio: "inherit" });
for (const name of readdirSync(`${root}src`).filter((file) => file.endsWith(".d.ts"))) copyFileSync(`${root}src/${name}`, `${root}types/src/${name}`);
